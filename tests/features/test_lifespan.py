"""The lifespan: once per process, before the first request, cleaned up at the end."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from driver import HttpServer, Process, StdioServer, request

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
        server.wait(10)
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
        assert server.wait(10) == 0
        assert "lifespan ends" in server.log()
    finally:
        server.close()


def test_it_has_begun_before_the_first_answer(write_app: Any) -> None:
    server = StdioServer(write_app(COUNTED))
    try:
        server.ask(request("server/discover"))
        server.wait_for_log("lifespan begins", timeout=5)
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
@pytest.mark.parametrize("debug", [False, True])
def test_a_server_whose_lifespan_fails_does_not_serve(
    write_app: Any, option: str, debug: bool
) -> None:
    server = Process(write_app(FAILS), option, *(["--debug"] if debug else []))
    try:
        assert server.wait(20) == 1
        *traceback, line = server.log().splitlines()
        assert line == "snodo: the lifespan failed: RuntimeError: no database"
        assert bool(traceback) == debug
    finally:
        server.close()


def test_an_error_of_the_system_in_a_lifespan_is_not_taken_for_the_transports(
    write_app: Any,
) -> None:
    server = Process(write_app(FAILS.replace("RuntimeError", "ConnectionRefusedError")), "--stdio")
    try:
        assert server.wait(20) == 1
        assert server.log() == "snodo: the lifespan failed: ConnectionRefusedError: no database\n"
    finally:
        server.close()


def test_a_lifespan_that_fails_at_its_end_is_told(write_app: Any) -> None:
    server = StdioServer(write_app(FAILS.replace("    raise", "    yield\n    raise")))
    try:
        server.ask(request("tools/list"))
        server.end_input()
        assert server.wait(20) == 1
        assert "snodo: the lifespan failed at its end: RuntimeError: no database" in server.log()
        assert "Traceback" not in server.log()
    finally:
        server.close()


SLOW_START = """
import asyncio
import sys

from snodo import Server

server = Server("slow start", version="1.0.0")


@server.lifespan
async def alive():
    try:
        print("lifespan begins", file=sys.stderr, flush=True)
        await asyncio.sleep(60)
    finally:
        print("lifespan ends", file=sys.stderr, flush=True)
    yield
"""


def test_ctrl_c_ends_a_process_whose_lifespan_has_not_begun_to_serve(
    write_app: Any,
) -> None:
    server = Process(write_app(SLOW_START), "--port=0")
    try:
        server.wait_for_log("lifespan begins")
        server.signal(signal.SIGINT)
        assert server.wait(10) == 130
        assert server.log() == "lifespan begins\nlifespan ends\n"
    finally:
        server.close()
