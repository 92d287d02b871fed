"""Whoever cancels a call, client, deadline or shutdown: its handler is told, nothing is sent, and
nothing is left."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from driver import (
    HttpSession,
    ProcessSession,
    Refusal,
    StdioServer,
    StdioSession,
    request,
    wait_until,
)

CANCELLED = """
import asyncio
import itertools
import sys
import threading
import time

from snodo import Cancelled, Context, Server, current_context

server = Server("cancelled", version="1.0.0", timeout=TIMEOUT, limits=LIMITS, threads=8)
def say(text):
    print(text, file=sys.stderr, flush=True)


@server.tool
async def sleeps() -> str:
    say("sleeps begins")
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        say("sleeps cancelled")
        raise
    finally:
        await asyncio.sleep(0.02)  # a second cancellation would come in here
        say("sleeps cleaned up")
    return "awake"


@server.tool
async def groups() -> str:
    async def member():
        try:
            await asyncio.sleep(60)
        finally:
            say("groups cleaned up")

    say("groups begins")
    try:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(member())
            tasks.create_task(asyncio.sleep(60))
    except asyncio.CancelledError:
        say("groups cancelled")
        raise
    return "awake"


@server.tool
def polls(context: Context) -> str:
    say("polls begins")
    while not context.cancelled:
        time.sleep(0.005)
    say("polls cancelled")
    say("polls cleaned up")
    return "too late"


@server.tool
def checks(context: Context) -> str:
    say("checks begins")
    try:
        while True:
            context.check_cancelled()
            time.sleep(0.005)
    except Exception:
        say("checks swallowed it")
    except Cancelled:
        say("checks cancelled")
        raise
    finally:
        say("checks cleaned up")
    return "too late"


@server.tool
def checks_deep() -> str:
    def deep():
        while True:
            current_context().check_cancelled()
            time.sleep(0.005)

    say("checks_deep begins")
    try:
        deep()
    finally:
        say("checks_deep cancelled")
        say("checks_deep cleaned up")
    return "never"


@server.tool
def tracks(context: Context) -> str:
    say("tracks begins")
    try:
        for _ in context.track(itertools.count()):
            time.sleep(0.005)
    except Cancelled:
        say("tracks cancelled")
        raise
    finally:
        say("tracks cleaned up")
    return "never"


@server.tool
def insists(context: Context) -> str:
    say("insists begins")
    while not context.cancelled:
        time.sleep(0.005)
    context.progress(100, message="late")
    context.log("emergency", "late")
    say("insists cancelled")
    say("insists cleaned up")
    return "late"


@server.tool
async def insists_async(context: Context) -> str:
    say("insists_async begins")
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        pass
    context.progress(100, message="late")
    context.log("emergency", "late")
    say("insists_async cancelled")
    say("insists_async cleaned up")
    return "late"


@server.tool
def streams(context: Context) -> str:
    for n in itertools.count():
        context.progress(n)
        if n == 0:
            say("streams begins")
        if context.cancelled:
            break
        time.sleep(0.001)
    say("streams cancelled")
    say("streams cleaned up")
    return "late"


@server.tool
async def streams_async(context: Context) -> str:
    say("streams_async begins")
    try:
        for n in itertools.count():
            context.progress(n)
            await asyncio.sleep(0.001)
    except asyncio.CancelledError:
        say("streams_async cancelled")
        raise
    finally:
        say("streams_async cleaned up")
    return "late"


@server.tool(timeout=30)
def quick(context: Context) -> str:
    context.check_cancelled()
    return str(context.cancelled)


@server.tool
def raises() -> str:
    raise Cancelled


barrier = threading.Barrier(8)
barrier_async = asyncio.Barrier(8)


@server.tool
def meets() -> str:
    barrier.wait(20)
    return "met"


@server.tool
async def meets_async() -> str:
    async with asyncio.timeout(20):
        await barrier_async.wait()
    return "met"


@server.resource("x://sleeps")
async def read():
    say("read begins")
    try:
        await asyncio.sleep(60)
    finally:
        say("read cancelled")


@server.prompt
def ask(context: Context):
    say("ask begins")
    while not context.cancelled:
        time.sleep(0.005)
    say("ask cancelled")
    return ""


@server.tool
async def left() -> dict[str, int]:
    await asyncio.sleep(0)
    return {
        "tasks": len(asyncio.all_tasks()) - 1,
        "threads": threading.active_count(),
    }
"""

TOOLS = [
    "sleeps",
    "groups",
    "polls",
    "checks",
    "checks_deep",
    "tracks",
    "insists",
    "insists_async",
    "streams",
    "streams_async",
]

PATIENT = CANCELLED.replace("TIMEOUT", "30").replace(
    "LIMITS", '{"drain_timeout": 0.3, "eof_timeout": 0.3}'
)
HASTY = CANCELLED.replace("TIMEOUT", "0.6").replace("LIMITS", "{}")
# One of each way to find out.
SOME = ["sleeps", "polls", "checks", "tracks", "insists_async"]
# Every call reports and logs to whoever wants it.
ALL = {"token": "t", "level": "debug"}


def ended(session: Any, tool: str) -> None:
    session.server.wait_for_log(f"{tool} cancelled")
    session.server.wait_for_log(f"{tool} cleaned up")
    assert "swallowed" not in session.log()
    assert "Traceback" not in session.log()


@pytest.mark.parametrize("tool", TOOLS)
def test_a_client_that_leaves_cancels(serve_process: Any, tool: str) -> None:
    session = serve_process(PATIENT)
    conversation = session.begin_call(tool, **ALL)
    session.server.wait_for_log(f"{tool} begins")
    conversation.leave()
    ended(session, tool)
    # What was on its way when the client left may still come; what was made later may not.
    session.text("quick")
    assert all("result" not in message for message in conversation.late)
    assert all(message["params"].get("message") != "late" for message in conversation.late)
    assert all(message["params"].get("data") != "late" for message in conversation.late)
    if session.transport == "stdio":
        assert session.strays == []


@pytest.mark.parametrize("tool", ["streams", "streams_async"])
def test_a_client_that_leaves_in_the_middle_of_a_stream_cancels(
    serve_process: Any, tool: str
) -> None:
    session = serve_process(PATIENT.replace('"cancelled"', f'"{tool}"', 1))
    conversation = session.begin_call(tool, **ALL)
    for _ in range(5):
        conversation.notice()
    conversation.leave()
    ended(session, tool)
    session.text("quick")  # what was said before that has come
    before = len(conversation.late)
    session.text("quick")
    session.text("quick")
    assert len(conversation.late) == before, "still told after it was cancelled"


@pytest.mark.parametrize(
    ("method", "params", "what"),
    [
        ("resources/read", {"uri": "x://sleeps"}, "read"),
        ("prompts/get", {"name": "ask"}, "ask"),
    ],
)
def test_reads_and_prompts_are_cancelled_too(
    serve_process: Any, method: str, params: dict[str, Any], what: str
) -> None:
    session = serve_process(PATIENT)
    conversation = session.begin(method, params)
    session.server.wait_for_log(f"{what} begins")
    conversation.leave()
    session.server.wait_for_log(f"{what} cancelled")
    assert conversation.late == []


@pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize("tool", TOOLS)
def test_a_deadline_cancels(serve_process: Any, tool: str, streamed: bool) -> None:
    session = serve_process(HASTY)
    notices, answer = session.hear(tool, **(ALL if streamed else {}))
    assert answer["error"]["code"] == -32603
    assert "timed out" in answer["error"]["message"]
    # Up to its answer the call may still speak.
    assert notices == [] or streamed
    ended(session, tool)
    session.text("quick")
    if session.transport == "stdio":
        assert session.strays == []


@pytest.fixture
def open_process(write_app: Callable[[str], Path]) -> Iterator[Callable[[str, str], Any]]:
    opened: list[ProcessSession] = []

    def open(transport: str, source: str) -> ProcessSession:
        session = {"http": HttpSession, "stdio": StdioSession}[transport](write_app(source))
        opened.append(session)
        return session

    yield open
    for session in opened:
        session.close()


@pytest.mark.parametrize("transport", ["http", "stdio"])
@pytest.mark.parametrize("tool", SOME)
def test_shutdown_cancels(
    open_process: Callable[[str, str], Any], transport: str, tool: str
) -> None:
    session = open_process(transport, PATIENT)
    conversation = session.begin_call(tool, **ALL)
    session.server.wait_for_log(f"{tool} begins")
    session.server.signal(signal.SIGTERM)
    session.server.wait(10)
    ended(session, tool)
    if transport == "http":
        conversation.leave()


@pytest.mark.parametrize("tool", SOME)
def test_the_end_of_input_cancels(open_process: Callable[[str, str], Any], tool: str) -> None:
    session = open_process("stdio", PATIENT)
    session.begin_call(tool, **ALL)
    session.server.wait_for_log(f"{tool} begins")
    session.server.end_input()
    session.server.wait(10)
    ended(session, tool)


def test_nothing_is_cancelled_without_a_reason(serve: Any) -> None:
    assert serve(PATIENT).text("quick") == "False"


def test_a_handler_that_gives_up_by_itself_fails_alone(serve: Any) -> None:
    session = serve(PATIENT)
    try:
        assert session.call("raises")["isError"]
    except Refusal as refused:
        assert refused.code == -32603  # noqa: PT017 - either way of failing is one
    assert session.text("quick") == "False"


# Ten thousand of them

QUIET = """
def say(text):
    if text.endswith("begins"):
        current_context().progress(-1)


@server.tool"""
MANY = CANCELLED.replace("TIMEOUT", "30").replace("LIMITS", '{"running": 8, "queued": 2000}')
MANY = MANY.replace("\n@server.tool", QUIET, 1)


@pytest.mark.parametrize("tools", [["sleeps"], ["polls"], ["streams_async", "checks", "groups"]])
def test_thousands_of_cancelled_calls_leave_nothing(
    write_app: Callable[[str], Path], tools: list[str]
) -> None:
    """Places are counted to the last one: afterwards eight calls meet, which takes all eight."""
    server = StdioServer(write_app(MANY))

    def left() -> dict[str, int]:
        server.write_message(request("tools/call", {"name": "left"}, id="left"))
        while (message := server.read_message(30)).get("id") != "left":
            assert message.get("method") == "notifications/progress", message
        found: dict[str, int] = message["result"]["structuredContent"]
        return found

    try:
        before = left()
        for start in range(0, 3400, 8):
            numbers = range(start, start + 8)
            batch = b""
            for number in numbers:
                params = {"name": tools[number % len(tools)], "_meta": {"progressToken": number}}
                batch += json.dumps(request("tools/call", params, id=number)).encode() + b"\n"
            server.write(batch)
            # Half of them have begun by then, the others have or have not.
            begun: set[int] = set()
            while len(begun & set(numbers)) < 4:
                begun.add(server.read_message(30)["params"]["progressToken"])
            batch = b""
            for number in numbers:
                cancelled = {
                    "jsonrpc": "2.0",
                    "method": "notifications/cancelled",
                    "params": {"requestId": number, "reason": "enough"},
                }
                batch += json.dumps(cancelled).encode() + b"\n"
            server.write(batch)
        wait_until(lambda: left()["tasks"] <= before["tasks"], "the end of all tasks")
        # A thread for each place, and what asyncio keeps for its own.
        assert left()["threads"] <= before["threads"] + 8 + 6, "threads pile up"
        for tool in ("meets", "meets_async"):
            for number in range(8):
                server.write_message(request("tools/call", {"name": tool}, id=number))
            for _ in range(8):
                answer = server.read_message(30)["result"]
                assert answer["content"][0]["text"] == "met", f"a place is lost: {answer}"
    finally:
        server.close()
