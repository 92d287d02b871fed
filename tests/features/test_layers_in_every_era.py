"""Middleware and dependencies are the same for clients that open with a handshake."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from driver import (
    HANDSHAKES,
    VERSION,
    HttpHandshake,
    HttpServer,
    HttpSession,
    ProcessSession,
    StdioHandshake,
    StdioServer,
    StdioSession,
)

APP = """
import asyncio
from typing import Annotated

from snodo import Context, Depends, Server, current_client_info, elicit
from snodo.middleware import cache, response_limit, timeout

log = []


async def late(context, arguments, call_next):
    log.append("in")
    try:
        return await call_next(context, arguments)
    finally:
        log.append("out")


def plain(context, arguments, call_next):
    return call_next()


server = Server("layers", version="1.0.0", middleware=[late, plain])


def opened():
    log.append("open")
    try:
        yield "opened"
    finally:
        log.append("close")


@server.tool
def takes_log() -> list[str]:
    taken = list(log[:-1])
    log.clear()
    return taken


@server.tool(middleware=[timeout(10), cache(60)])
def asks(context: Context, opened: Annotated[str, Depends(opened)]) -> str:
    return f"{context.ask('name', elicit.form('Name?', str)).value} {opened}"


@server.tool(middleware=[timeout(0.02)])
async def slow() -> str:
    await asyncio.sleep(30)
    return ""


@server.resource("x://slow", middleware=[timeout(0.02)])
async def slow_resource() -> str:
    await asyncio.sleep(30)
    return ""


@server.tool(middleware=[response_limit(10)])
def long() -> str:
    return "x" * 100


@server.tool
def who(info: Annotated[dict, current_client_info]) -> bool:
    return isinstance(info["name"], str)
"""

ERAS = (VERSION, *HANDSHAKES)
Open = Callable[[str], ProcessSession]


@pytest.fixture(params=["http", "stdio"])
def connect(request: pytest.FixtureRequest, write_app: Callable[[str], Path]) -> Iterator[Open]:
    opened: list[Any] = []

    def connect(era: str) -> ProcessSession:
        app = write_app(APP)
        session: ProcessSession
        if era == VERSION:
            session = (HttpSession if request.param == "http" else StdioSession)(app)
        elif request.param == "http":
            server = HttpServer(app)
            opened.append(server)
            session = HttpHandshake(server, era, None)
        else:
            session = StdioHandshake(StdioServer(app), era, None)
        opened.append(session)
        return session

    yield connect
    for each in reversed(opened):
        each.close()


@pytest.mark.parametrize("era", ERAS)
def test_refusals_and_links_are_for_every_client(connect: Open, era: str) -> None:
    session = connect(era)
    assert session.failure("slow") == "Component timed out"
    refusal = session.refusal("resources/read", {"uri": "x://slow"})
    assert (refusal.code, refusal.message) == (-32603, "Component timed out")
    blocks = session.call("long")["content"]
    uri = blocks[0]["text"].partition(" whole is at ")[2].partition("]")[0]
    assert session.read(uri)["text"] == "x" * 100
    assert session.call("takes_log")["isError"] is False


@pytest.mark.parametrize("era", ERAS[:3])
def test_a_question_runs_all_of_it_again(connect: Open, era: str) -> None:
    session = connect(era)
    asked, result = session.questioned(
        "tools/call",
        {"name": "asks", "arguments": {}},
        lambda question: {"action": "accept", "content": {"value": "Ada"}},
    )
    assert len(asked) == 1
    assert result["content"][0]["text"] == "Ada opened"
    log = session.call("takes_log")["content"][0]["text"]
    assert log == '["in","open","close","out","in","open","close","out"]'


@pytest.mark.parametrize("era", HANDSHAKES)
def test_a_client_is_known_by_its_handshake(connect: Open, era: str) -> None:
    assert connect(era).text("who") == "true"
