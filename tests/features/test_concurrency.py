"""Many calls at once: blocking ones, quick ones, coroutines, and their results kept apart."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from driver import HttpSession, ProcessSession, StdioServer, StdioSession, request, wait_until

BUSY = """
import asyncio
import contextvars
import sys
import threading
import time

from snodo import Context, Server, current_context

server = Server("busy", version="1.0.0"{options})

together = threading.Barrier(2)
arrived = 0
everybody = asyncio.Event()
variable = contextvars.ContextVar("variable")


crowd = threading.Barrier(200)
gathered = 0
complete = asyncio.Event()
held = 0
gate = threading.Event()


@server.tool
def gather() -> str:
    crowd.wait(50)
    return "done"


@server.tool
async def gather_async() -> str:
    global gathered
    gathered += 1
    if gathered == 200:
        complete.set()
    await complete.wait()
    return "done"


@server.tool
def hold() -> str:
    print("hold begins", file=sys.stderr, flush=True)
    gate.wait(50)
    return "done"


@server.tool
async def hold_the_loop() -> str:
    return hold()


@server.tool
async def release_async() -> str:
    gate.set()
    return "released"


@server.tool
def release() -> str:
    gate.set()
    return "released"


@server.tool
def meets() -> str:
    together.wait(20)
    return "met"


@server.tool
async def meets_async() -> str:
    global arrived
    arrived += 1
    if arrived == 2:
        everybody.set()
    await asyncio.wait_for(everybody.wait(), 20)
    return "met"


@server.tool
def keeps_apart(name: str, context: Context) -> list[str]:
    variable.set(name)
    time.sleep(0.005)
    return [variable.get(), str(context.request_id), str(current_context().request_id)]


@server.tool
async def keeps_apart_async(name: str, context: Context) -> list[str]:
    variable.set(name)
    await asyncio.sleep(0.005)
    return [variable.get(), str(context.request_id), str(current_context().request_id)]


@server.tool
def quick(n: int) -> str:
    return str(n)


@server.tool
async def quick_async(n: int) -> str:
    return str(n)


@server.tool
def threads() -> int:
    return threading.active_count()


"""

SOURCE = BUSY.format(options="")

Open = Callable[[str], Path]
Opener = Callable[[Path], ProcessSession]


@pytest.fixture(params=[HttpSession, StdioSession], ids=["http", "stdio"])
def process(request: pytest.FixtureRequest) -> Opener:
    """Starts a server whose gate nobody has opened."""
    opener: Opener = request.param
    return opener


def together(session: Any, count: int, call: Callable[[int], Any]) -> list[Any]:
    """The results of `count` calls made at the same time."""
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(call, range(count)))


@pytest.mark.parametrize("tool", ["meets", "meets_async"])
def test_two_calls_run_at_the_same_time(serve_process: Any, tool: str) -> None:
    session = serve_process(SOURCE)
    assert together(session, 2, lambda _: session.text(tool)) == ["met", "met"]


@pytest.mark.parametrize("tool", ["keeps_apart", "keeps_apart_async"])
def test_calls_never_see_each_other(serve: Any, tool: str) -> None:
    session = serve(SOURCE)

    def call(n: int) -> None:
        seen = session.call(tool, {"name": f"caller {n}"})["structuredContent"]
        assert seen[0] == f"caller {n}"
        assert seen[1] == seen[2], "two contexts in one call"

    together(session, 40, call)


@pytest.mark.parametrize("tool", ["quick", "quick_async"])
def test_a_thousand_calls_get_their_own_answers(serve_process: Any, tool: str) -> None:
    session = serve_process(SOURCE)

    def call(worker: int) -> None:
        for n in range(worker * 1000, worker * 1000 + 50):
            assert session.text(tool, {"n": n}) == str(n)

    together(session, 20, call)


def test_a_thousand_calls_in_one_write_get_their_own_answers(
    write_app: Callable[[str], Path],
) -> None:
    server = StdioServer(write_app(SOURCE))
    try:
        for n in range(1000):
            tool = ("quick", "quick_async")[n % 2]
            server.write_message(request("tools/call", {"name": tool, "arguments": {"n": n}}, id=n))
        for _ in range(1000):
            message = server.read_message()
            assert message["result"]["content"][0]["text"] == str(message["id"])
    finally:
        server.close()


def holding(session: Any, count: int) -> None:
    """Waits until so many calls are held, each of which says so."""
    wait_until(lambda: session.log().count("hold begins") == count, "the calls that are held")


def test_blocking_tools_do_not_stop_the_others(write_app: Open, process: Opener) -> None:
    with closing(process(write_app(SOURCE))) as session, ThreadPoolExecutor(8) as pool:
        blocked = [pool.submit(session.text, "hold", timeout=50) for _ in range(8)]
        holding(session, 8)
        assert session.text("quick", {"n": 1}) == "1"
        assert session.text("quick_async", {"n": 1}) == "1"
        assert session.ask("tools/list")
        assert not any(future.done() for future in blocked)
        assert session.text("release") == "released"
        assert {future.result() for future in blocked} == {"done"}


def test_a_coroutine_that_blocks_its_loop_does_not_stop_plain_tools(
    write_app: Open, process: Opener
) -> None:
    with closing(process(write_app(SOURCE))) as session, ThreadPoolExecutor(1) as pool:
        blocked = pool.submit(session.text, "hold_the_loop", timeout=50)
        holding(session, 1)
        assert session.text("quick", {"n": 1}) == "1"
        assert session.ask("tools/list")
        assert not blocked.done()
        assert session.text("release") == "released"
        assert blocked.result() == "done"


def test_as_many_calls_block_at_once_as_there_may_be_threads(serve_process: Any) -> None:
    session = serve_process(BUSY.format(options=", timeout=50, threads=200"))
    results = together(session, 200, lambda _: session.text("gather", timeout=50))
    assert results == ["done"] * 200


def test_two_hundred_blocking_calls_finish_on_the_default_threads(
    write_app: Open, process: Opener
) -> None:
    with (
        closing(process(write_app(BUSY.format(options=", timeout=50")))) as session,
        ThreadPoolExecutor(200) as pool,
    ):
        calls = [pool.submit(session.text, "hold", timeout=50) for _ in range(200)]
        session.wait_for_log("hold begins")
        # Lists and coroutines need no thread of the lane.
        assert session.text("quick_async", {"n": 1}) == "1"
        assert session.ask("tools/list")
        assert not any(call.done() for call in calls)
        assert session.text("release_async") == "released"
        assert {call.result() for call in calls} == {"done"}


def test_two_hundred_coroutines_wait_at_once(serve: Any) -> None:
    session = serve(SOURCE)
    results = together(session, 200, lambda _: session.text("gather_async", timeout=50))
    assert results == ["done"] * 200


def test_quick_calls_do_not_grow_the_threads(serve_process: Any) -> None:
    session = serve_process(BUSY.format(options=", threads=64"))
    for n in range(300):
        session.text("quick", {"n": n})
    assert session.call("threads")["structuredContent"] < 12


SATURATED = """
import sys
import threading
import time

from snodo import Server

server = Server("saturated", version="1.0.0", threads=2)
gate = threading.Event()


@server.tool
def hold() -> str:
    print("hold begins", file=sys.stderr, flush=True)
    gate.wait(10)
    return "released"


@server.tool
async def release() -> str:
    gate.set()
    return "done"


@server.tool
def surprise() -> str:
    time.sleep(60)
    return "late"


@server.tool
def quick() -> str:
    return "done"
"""


def test_a_call_does_not_wait_behind_another_when_a_thread_is_free_again(
    write_app: Callable[[str], Path],
) -> None:
    """What waited for a thread is led by the first to come back, which may be held up in turn."""
    server = StdioServer(write_app(SATURATED))
    try:
        for n in range(2):
            server.write_message(request("tools/call", {"name": "hold"}, id=f"hold {n}"))
        wait_until(lambda: server.log().count("hold begins") == 2, "two held threads")
        time.sleep(0.2)  # by now nothing looks after the queue, for it has long been empty
        server.write_message(request("tools/call", {"name": "surprise"}, id="surprise"))
        server.write_message(request("tools/call", {"name": "quick"}, id="quick"))
        server.ask(request("tools/list", id="list"))
        server.write_message(request("tools/call", {"name": "release"}, id="release"))
        answered = {server.read_message()["id"] for _ in range(4)}
        assert answered == {"hold 0", "hold 1", "release", "quick"}, "quick waited for surprise"
    finally:
        server.close()


FLAKY = """
import asyncio

Task = asyncio.Task
tried = 0


def flaky(*args, **options):
    global tried
    tried += 1
    if tried == 1:
        args[0].close()
        raise MemoryError
    return Task(*args, **options)


class Flaky(Task):
    def __new__(cls, *args, **options):
        return flaky(*args, **options)


asyncio.Task = Flaky

from snodo import Server

server = Server("flaky", version="1.0.0")


@server.tool
async def echo(n: int) -> str:
    return str(n)
"""


def test_a_task_that_cannot_be_made_loses_its_own_call_only(
    write_app: Callable[[str], Path],
) -> None:
    server = StdioServer(write_app(FLAKY))
    try:
        calls = [
            request("tools/call", {"name": "echo", "arguments": {"n": n}}, id=n) for n in range(20)
        ]
        server.write(b"".join(json.dumps(call).encode() + b"\n" for call in calls))
        answers = [server.read_message() for _ in calls]
        failed = [answer for answer in answers if "error" in answer]
        assert [answer["id"] for answer in failed] == [0]
        assert failed[0]["error"]["code"] == -32603
    finally:
        server.close()
