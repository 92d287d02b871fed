"""Every bound a server is given holds, names itself, and leaves the server standing."""

from __future__ import annotations

from typing import Any

import pytest

from driver import Refusal, request

SMALL = """
from snodo import Server

server = Server(
    "small",
    version="1.0.0",
    limits={
        "json_depth": 8,
        "integer_digits": 5,
        "id_bytes": 10,
        "cursor_bytes": 20,
        "result_bytes": 2000,
    },
)


@server.tool(input_schema={"type": "object"})
def echo(arguments, context):
    return arguments


@server.tool
def big(characters: int) -> str:
    return "x" * characters


@server.tool
def deep(levels: int):
    value = []
    for _ in range(levels):
        value = [value]
    return value
"""


def code(session: Any, arguments: Any, **options: Any) -> int:
    """The code of an answer that must be an error."""
    _, answer = session.send(
        request("tools/call", {"name": "echo", "arguments": arguments}, **options)
    )
    found: int = answer["error"]["code"]
    return found


def test_nesting(serve: Any) -> None:
    session = serve(SMALL)
    assert session.call("echo", {"a": [[[[]]]]})["structuredContent"] == {"a": [[[[]]]]}
    assert code(session, {"a": [[[[[[]]]]]]}) == -32700


def test_integer_digits(serve: Any) -> None:
    session = serve(SMALL)
    assert session.call("echo", {"a": -99999})["structuredContent"] == {"a": -99999}
    assert code(session, {"a": 100000}) == -32700


def test_id_bytes(serve: Any) -> None:
    session = serve(SMALL)
    message = request("tools/list", id="é" * 5)
    assert session.send(message)[1]["id"] == "é" * 5
    assert code(session, {}, id="é" * 5 + "x") == -32600


def test_cursor_bytes(serve: Any) -> None:
    with pytest.raises(Refusal) as refused:
        serve(SMALL).ask("tools/list", {"cursor": "x" * 21})
    assert (refused.value.code, refused.value.message) == (-32602, "Invalid pagination cursor")


def test_a_result_too_large_to_send_is_the_servers_fault(serve: Any) -> None:
    session = serve(SMALL)
    assert len(session.text("big", {"characters": 1000})) == 1000
    with pytest.raises(Refusal) as refused:
        session.call("big", {"characters": 3000})
    assert refused.value.code == -32603
    assert session.text("big", {"characters": 1}) == "x"


def test_a_result_nested_without_end_is_the_servers_fault(serve: Any) -> None:
    session = serve(SMALL)
    with pytest.raises(Refusal) as refused:
        session.call("deep", {"levels": 50_000})
    assert refused.value.code == -32603
    assert session.text("big", {"characters": 1}) == "x"
