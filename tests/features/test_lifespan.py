"""The lifespan: once per process, before the first request, cleaned up at the end."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from driver import HttpServer, StdioServer, request

COUNTED = """
import contextlib
import sys

from snodo import Context, Server

server = Server("counted", version="1.0.0")
starts = 0


@server.lifespan
@contextlib.asynccontextmanager
async def lifespan(server):
    global starts
    starts += 1
    print("lifespan begins", file=sys.stderr, flush=True)
    try:
        yield {"database": "open", "starts": starts}
    finally:
        print("lifespan ends", file=sys.stderr, flush=True)


@server.tool
def state(context: Context):
    return context.state


@server.tool
async def state_async(context: Context):
    return context.state
"""


@pytest.mark.parametrize("tool", ["state", "state_async"])
def test_its_value_is_the_state_of_every_call(serve: Any, tool: str) -> None:
    session = serve(COUNTED)
    for _ in range(3):
        seen = session.call(tool)["structuredContent"]
        assert seen == {"database": "open", "starts": 1}


@pytest.mark.parametrize("kind", ["http", "stdio"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_is_cleaned_up_at_a_signal(write_app: Any, kind: str, number: int) -> None:
    path = write_app(COUNTED)
    server = HttpServer(path) if kind == "http" else StdioServer(path)
    try:
        if isinstance(server, HttpServer):
            server.send(request("tools/list"))
        else:
            server.ask(request("tools/list"))
        server.signal(number)
        server.wait(3)
        server._reader.join(5)
        assert server.log().count("lifespan begins") == 1
        assert server.log().count("lifespan ends") == 1
        assert "Traceback" not in server.log()
    finally:
        server.close()


def test_it_is_cleaned_up_at_the_end_of_input(write_app: Any) -> None:
    server = StdioServer(write_app(COUNTED))
    try:
        server.ask(request("tools/list"))
        server.end_input()
        assert server.wait(3) == 0
        server._reader.join(5)
        assert "lifespan ends" in server.log()
    finally:
        server.close()


def test_it_has_begun_before_the_first_answer(write_app: Any) -> None:
    server = StdioServer(write_app(COUNTED))
    try:
        server.ask(request("server/discover"))
        server.wait_for_log("lifespan begins", timeout=1)
    finally:
        server.close()


FAILS = """
import contextlib

from snodo import Server

server = Server("fails", version="1.0.0")


@server.lifespan
@contextlib.asynccontextmanager
async def lifespan(server):
    raise RuntimeError("no database")
    yield
"""


@pytest.mark.parametrize("option", ["--stdio", "--port=0"])
def test_a_server_whose_lifespan_fails_does_not_serve(write_app: Any, option: str) -> None:
    from driver import Process

    server = Process(write_app(FAILS), option)
    try:
        assert server.wait(5) not in (0, None)
        server._reader.join(5)
        assert "no database" in server.log()
    finally:
        server.close()
