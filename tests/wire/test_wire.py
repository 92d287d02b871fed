"""Runs every case of `wire/<revision>/` over every transport. The format is in README.md."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import pytest

from driver import DirectSession, HttpServer, StdioServer

HERE = Path(__file__).parent
CASES = sorted(HERE.glob("*/*.case"))
TRANSPORTS = ("http", "stdio", "direct")

AFTER = (
    b'{"jsonrpc":"2.0","id":"after","method":"server/discover","params":{"_meta":{'
    b'"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
    b'"io.modelcontextprotocol/clientCapabilities":{}}}}'
)


@dataclass
class Case:
    """One file of literal bytes."""

    request: bytes
    status: int
    response: bytes
    response_stdio: bytes
    headers: dict[str, str | None] = field(default_factory=dict)
    transports: tuple[str, ...] = TRANSPORTS
    server: str = "server.py"


def load(path: Path) -> Case:
    _, *parts = path.read_bytes().split(b"\n--- ")
    sections: dict[str, bytes] = {}
    for part in parts:
        title, _, content = part.partition(b"\n")
        sections[title.decode()] = content.removesuffix(b"\n")
    (status,) = (title.split()[1] for title in sections if title[-3:].isdigit())
    response = sections[f"response {status}"]
    lines = sections.get("headers", b"").decode("latin-1").splitlines()
    return Case(
        request=sections["request"],
        status=int(status),
        response=response,
        response_stdio=sections.get("response stdio", response),
        headers={name: value for name, _, value in (line.partition(": ") for line in lines)},
        transports=tuple(sections["only"].decode().split()) if "only" in sections else TRANSPORTS,
        server=sections.get("server", b"server.py").decode(),
    )


S = TypeVar("S", HttpServer, StdioServer, DirectSession)
Served = Callable[[Path, Case], S]


def _served(opener: Callable[[Path], S]) -> Iterator[Served[S]]:
    """Gives the server a case is for; each is started once."""
    opened: dict[Path, S] = {}

    def served(path: Path, case: Case) -> S:
        target = path.parent / case.server
        if target not in opened:
            opened[target] = opener(target)
        return opened[target]

    yield served
    for server in opened.values():
        server.close()


@pytest.fixture(scope="module")
def http() -> Iterator[Served[HttpServer]]:
    yield from _served(HttpServer)


@pytest.fixture(scope="module")
def stdio() -> Iterator[Served[StdioServer]]:
    yield from _served(StdioServer)


@pytest.fixture(scope="module")
def direct() -> Iterator[Served[DirectSession]]:
    yield from _served(DirectSession)


def ids(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def pick(transport: str) -> pytest.MarkDecorator:
    chosen = [path for path in CASES if transport in load(path).transports]
    return pytest.mark.parametrize("path", chosen, ids=ids)


@pick("http")
def test_over_http(http: Served[HttpServer], path: Path) -> None:
    case = load(path)
    server = http(path, case)
    reply = server.post(case.request, case.headers)
    assert (reply.status, reply.body) == (case.status, case.response)
    if case.response:
        assert reply.headers["content-type"] == "application/json"
    headers: dict[str, str | None] = {
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "server/discover",
    }
    assert server.post(AFTER, headers).status == 200


@pick("stdio")
def test_over_stdio(stdio: Served[StdioServer], path: Path) -> None:
    case = load(path)
    server = stdio(path, case)
    server.write(case.request + b"\n")
    if case.response_stdio:
        assert server.read_line() == case.response_stdio + b"\n"
    server.write(AFTER + b"\n")
    assert server.read_message()["id"] == "after", "an answer nobody should get"


@pick("direct")
def test_through_handle(direct: Served[DirectSession], path: Path) -> None:
    case = load(path)
    session = direct(path, case)
    expected = json.loads(case.response_stdio) if case.response_stdio else None
    assert session.handle(case.request) == expected
    assert session.handle(AFTER) is not None


def test_every_case_says_what_it_shows() -> None:
    assert len(CASES) > 50
    for path in CASES:
        assert path.read_bytes().splitlines()[0].endswith(b"."), path
