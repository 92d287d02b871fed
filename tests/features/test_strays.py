"""What a coroutine tool throws into the event loop, or does to it, ends its own call alone."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from driver import Refusal, StdioServer, request

STRAYS = """
import asyncio
import sys

from snodo import Server

server = Server("strays", version="1.0.0")


async def leaves():
    sys.exit(3)


async def interrupts():
    raise KeyboardInterrupt


@server.lifespan
async def alive():
    yield
    print("lifespan ends", file=sys.stderr, flush=True)


@server.tool
async def wait_for() -> str:
    await asyncio.wait_for(leaves(), 1)
    return "unreached"


@server.tool
async def gather() -> str:
    await asyncio.gather(leaves(), interrupts())
    return "unreached"


@server.tool
async def group() -> str:
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(interrupts())
    return "unreached"


@server.tool
async def task() -> str:
    kept.append(asyncio.create_task(leaves()))
    return "begun"


@server.tool
async def callback() -> str:
    asyncio.get_running_loop().call_soon(sys.exit, 3)
    await asyncio.sleep(0.01)
    return "survived"


@server.tool
async def stop() -> str:
    asyncio.get_running_loop().stop()
    await asyncio.sleep(0.01)
    return "survived"


@server.tool
async def cancel_all() -> str:
    for task in asyncio.all_tasks():
        task.cancel()
    await asyncio.sleep(0.01)
    return "unreached"


@server.tool
async def ask() -> str:
    await asyncio.sleep(0.01)
    return "here"


kept = []
"""


@pytest.mark.parametrize(
    "tool", ["wait_for", "gather", "group", "task", "callback", "stop", "cancel_all"]
)
def test_the_server_goes_on(serve: Any, tool: str) -> None:
    session = serve(STRAYS)
    for _ in range(3):
        # What becomes of the call itself is told by its own exception.
        with contextlib.suppress(Refusal):
            session.call(tool)
        assert session.text("ask") == "here"


def test_what_came_is_logged_with_its_traceback(serve: Any) -> None:
    session = serve(STRAYS)
    assert session.text("callback") == "survived"
    session.wait_for_log("stray SystemExit in a task or callback")
    assert session.text("task") == "begun"
    session.wait_for_log("in leaves")


def test_a_signal_still_ends_it_and_its_lifespan(write_app: Callable[[str], Path]) -> None:
    server = StdioServer(write_app(STRAYS))
    try:
        for tool in ("callback", "stop", "cancel_all"):
            server.ask(request("tools/call", {"name": tool}))
        server.signal(signal.SIGTERM)
        assert server.wait(10) in (0, 143)
        assert "lifespan ends" in server.log()
    finally:
        server.close()
