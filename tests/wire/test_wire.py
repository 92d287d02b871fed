"""Runs every case of `wire/<revision>/` over every transport. The format is in README.md."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

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
    )


@pytest.fixture(scope="module")
def http() -> Iterator[HttpServer]:
    server = HttpServer(HERE / "2026-07-28" / "server.py")
    yield server
    server.close()


@pytest.fixture(scope="module")
def stdio() -> Iterator[StdioServer]:
    server = StdioServer(HERE / "2026-07-28" / "server.py")
    yield server
    server.close()


@pytest.fixture(scope="module")
def direct() -> Iterator[DirectSession]:
    session = DirectSession(HERE / "2026-07-28" / "server.py")
    yield session
    session.close()


def ids(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def pick(transport: str) -> pytest.MarkDecorator:
    chosen = [path for path in CASES if transport in load(path).transports]
    return pytest.mark.parametrize("path", chosen, ids=ids)


@pick("http")
def test_over_http(http: HttpServer, path: Path) -> None:
    case = load(path)
    reply = http.post(case.request, case.headers)
    assert (reply.status, reply.body) == (case.status, case.response)
    if case.response:
        assert reply.headers["content-type"] == "application/json"
    headers: dict[str, str | None] = {
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "server/discover",
    }
    assert http.post(AFTER, headers).status == 200


@pick("stdio")
def test_over_stdio(stdio: StdioServer, path: Path) -> None:
    case = load(path)
    stdio.write(case.request + b"\n")
    if case.response_stdio:
        assert stdio.read_line() == case.response_stdio + b"\n"
    stdio.write(AFTER + b"\n")
    assert stdio.read_message()["id"] == "after", "an answer nobody should get"


@pick("direct")
def test_through_handle(direct: DirectSession, path: Path) -> None:
    case = load(path)
    expected = json.loads(case.response_stdio) if case.response_stdio else None
    assert direct.handle(case.request) == expected
    assert direct.handle(AFTER) is not None


def test_every_case_says_what_it_shows() -> None:
    assert len(CASES) > 50
    for path in CASES:
        assert path.read_bytes().splitlines()[0].endswith(b"."), path
