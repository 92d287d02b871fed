"""The two failure shapes, and every way a tool can break without breaking the server."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from driver import Refusal

BROKEN = """
import asyncio
import os
import sys
import threading

from snodo import Error, Result, Server, ToolError

server = Server("broken", version="1.0.0")


class Odd(BaseException):
    pass


class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError("no text")
    __repr__ = __str__


def make(kind: str) -> BaseException:
    match kind:
        case "ValueError":
            return ValueError("secret-123")
        case "BaseException":
            return Odd("secret-123")
        case "SystemExit":
            return SystemExit("secret-123")
        case "KeyboardInterrupt":
            return KeyboardInterrupt("secret-123")
        case "GeneratorExit":
            return GeneratorExit("secret-123")
        case "CancelledError":
            return asyncio.CancelledError("secret-123")
        case "StopIteration":
            return StopIteration("secret-123")
        case "StopAsyncIteration":
            return StopAsyncIteration("secret-123")
        case "RecursionError":
            return RecursionError("secret-123")
        case "MemoryError":
            return MemoryError("secret-123")
        case "ExceptionGroup":
            return ExceptionGroup("secret-123", [ValueError("secret-123")])
        case "TimeoutError":
            return TimeoutError("secret-123")
        case "Unprintable":
            return Unprintable()
        case "Surrogate":
            return ValueError("secret-123 \\ud800")
    raise AssertionError(kind)


@server.tool
def breaks(kind: str) -> str:
    raise make(kind)


@server.tool
async def breaks_async(kind: str) -> str:
    raise make(kind)


@server.tool
async def breaks_later(kind: str) -> str:
    await asyncio.sleep(0)
    raise make(kind)


@server.tool
def exits() -> str:
    sys.exit(3)


@server.tool
async def exits_async() -> str:
    sys.exit(3)


@server.tool
async def cancels_itself() -> str:
    asyncio.current_task().cancel()
    await asyncio.sleep(30)
    return "never"


@server.tool
def recurses() -> str:
    return recurses()


@server.tool
def tool_error() -> str:
    raise ToolError("upstream down")


@server.tool
def tool_error_from() -> str:
    try:
        raise ValueError("secret-123")
    except ValueError as error:
        raise ToolError("upstream down") from error


@server.tool
def tool_error_empty() -> str:
    raise ToolError()


@server.tool
def protocol_error() -> str:
    raise Error(7001, "not today", data={"retry": False})


@server.tool
def protocol_error_plain() -> str:
    raise Error(7001, "not today")


@server.tool
def protocol_error_returned():
    return Error(7001, "not today", data=[1])


@server.tool
def protocol_error_params() -> str:
    raise Error.invalid_params("no such shop", data={"shop": 1})


@server.tool
def protocol_error_cause() -> str:
    raise Error.internal("it broke") from ValueError("secret-123")


@server.tool
def protocol_error_data() -> str:
    raise Error(7001, "secret-123", data={"x": object()})


@server.tool
def protocol_error_reserved(code: int) -> str:
    raise Error(code, "secret-123")


@server.tool
def fine() -> str:
    return "fine"


@server.tool
async def fine_async() -> str:
    return "fine"
"""

EXCEPTIONS = [
    *("ValueError", "BaseException", "SystemExit", "KeyboardInterrupt", "GeneratorExit"),
    *("CancelledError", "StopIteration", "StopAsyncIteration", "RecursionError", "MemoryError"),
    *("ExceptionGroup", "TimeoutError", "Unprintable", "Surrogate"),
]

UNEXPECTED = re.compile(r"^Tool '(\w+)' failed \(error id ([0-9a-f]{8})\)$")


def alive(session: Any) -> None:
    assert session.text("fine") == "fine", "the thread lane went on"
    assert session.text("fine_async") == "fine", "the event loop went on"


@pytest.mark.parametrize("tool", ["breaks", "breaks_async", "breaks_later"])
@pytest.mark.parametrize("kind", EXCEPTIONS)
def test_an_unexpected_exception_ends_only_its_call_and_tells_nothing(
    serve_process: Any, tool: str, kind: str
) -> None:
    session = serve_process(BROKEN)
    text = session.failure(tool, {"kind": kind})
    found = UNEXPECTED.match(text)
    assert found, text
    assert found[1] == tool
    alive(session)


@pytest.mark.parametrize("tool", ["breaks", "breaks_async"])
def test_the_error_id_finds_the_traceback_in_the_log(serve: Any, tool: str) -> None:
    session = serve(BROKEN)
    found = UNEXPECTED.match(session.failure(tool, {"kind": "ValueError"}))
    assert found
    log = session.wait_for_log(found[2])
    log = session.wait_for_log("ValueError: secret-123")
    assert "raise make(kind)" in log, "the traceback reaches the tool's own line"


def test_error_ids_differ(serve: Any) -> None:
    session = serve(BROKEN)
    texts = {session.failure("breaks", {"kind": "ValueError"}) for _ in range(10)}
    assert len(texts) == 10


@pytest.mark.parametrize("tool", ["exits", "exits_async", "cancels_itself", "recurses"])
def test_a_tool_cannot_end_the_server(serve_process: Any, tool: str) -> None:
    session = serve_process(BROKEN)
    assert UNEXPECTED.match(session.failure(tool, {}))
    alive(session)


def test_a_tool_error_is_a_result_with_its_text(serve: Any) -> None:
    result = serve(BROKEN).call("tool_error", {})
    assert result["isError"] is True
    assert result["content"] == [{"type": "text", "text": "upstream down"}]
    assert "structuredContent" not in result


def test_the_cause_of_a_tool_error_stays_here(serve: Any) -> None:
    result = serve(BROKEN).call("tool_error_from", {})
    assert "secret-123" not in json.dumps(result)
    assert result["content"][0]["text"] == "upstream down"


def test_a_tool_error_without_text_still_says_something(serve: Any) -> None:
    assert serve(BROKEN).failure("tool_error_empty", {}) == "Tool execution failed"


@pytest.mark.parametrize(
    ("tool", "error"),
    [
        ("protocol_error", {"code": 7001, "message": "not today", "data": {"retry": False}}),
        ("protocol_error_plain", {"code": 7001, "message": "not today"}),
        ("protocol_error_returned", {"code": 7001, "message": "not today", "data": [1]}),
        ("protocol_error_params", {"code": -32602, "message": "no such shop", "data": {"shop": 1}}),
        ("protocol_error_cause", {"code": -32603, "message": "it broke"}),
        ("protocol_error_data", {"code": -32603, "message": "Internal error"}),
    ],
)
def test_an_error_fails_the_request_as_it_is(serve: Any, tool: str, error: dict[str, Any]) -> None:
    with pytest.raises(Refusal) as refused:
        serve(BROKEN).call(tool, {})
    assert refused.value.error == error


@pytest.mark.parametrize(
    ("tool", "status"),
    [("protocol_error", 200), ("protocol_error_params", 400), ("protocol_error_cause", 500)],
)
def test_http_statuses_follow_the_code(serve: Any, tool: str, status: int) -> None:
    session = serve(BROKEN)
    with pytest.raises(Refusal) as refused:
        session.call(tool, {})
    assert refused.value.status == (status if session.transport == "http" else None)


@pytest.mark.parametrize("code", [-32050, -32099, -32002])
def test_a_code_the_protocol_keeps_to_itself_is_never_sent(serve: Any, code: int) -> None:
    """MCP 2026-07-28: undefined codes of -32020 to -32099, and -32002, stay off the wire."""
    with pytest.raises(Refusal) as refused:
        serve(BROKEN).call("protocol_error_reserved", {"code": code})
    assert refused.value.error == {"code": -32603, "message": "Internal error"}


DEBUG = """
from snodo import Server

server = Server("debug", version="1.0.0", debug=True)

@server.tool
def breaks() -> str:
    raise ValueError("a-detail")
"""


def test_debug_shows_the_exception(serve: Any) -> None:
    assert "a-detail" in serve(DEBUG).failure("breaks", {})
