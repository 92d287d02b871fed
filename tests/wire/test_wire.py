"""Runs every case of `wire/<revision>/` over every transport. The format is in README.md."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import pytest

from driver import DirectSession, HttpConversation, HttpServer, StdioServer, head

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
    # Where the server speaks before it answers, or does not answer at all.
    stream: list[bytes] | None = None
    stream_stdio: list[bytes] = field(default_factory=list)
    stays_open: bool = False
    meanwhile: bytes | None = None
    headers: dict[str, str | None] = field(default_factory=dict)
    transports: tuple[str, ...] = TRANSPORTS
    server: str = "server.py"


def load(path: Path) -> Case:
    _, *parts = path.read_bytes().split(b"\n--- ")
    sections: dict[str, bytes] = {}
    for part in parts:
        title, _, content = part.partition(b"\n")
        sections[title.decode()] = content.removesuffix(b"\n")
    lines = sections.get("headers", b"").decode("latin-1").splitlines()
    stream = None
    if "stream" in sections or "opens" in sections:
        stream = sections.get("stream", sections.get("opens", b"")).split(b"\n")
        status, response = "200", b"" if "opens" in sections else stream[-1]
    else:
        (status,) = (title.split()[1] for title in sections if title[-3:].isdigit())
        response = sections[f"response {status}"]
    return Case(
        request=sections["request"],
        status=int(status),
        response=response,
        response_stdio=sections.get("response stdio", response),
        stream=stream,
        stream_stdio=(
            sections["stream stdio"].split(b"\n") if "stream stdio" in sections else stream or []
        ),
        stays_open="opens" in sections,
        meanwhile=sections.get("meanwhile"),
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


EVENT_STREAM = {
    "content-type": "text/event-stream",
    "cache-control": "no-store",
    "x-accel-buffering": "no",
    "transfer-encoding": "chunked",
}


def as_events(messages: list[bytes]) -> bytes:
    return b"".join(b"event: message\ndata: " + message + b"\n\n" for message in messages)


@pick("http")
def test_over_http(http: Served[HttpServer], path: Path) -> None:
    case = load(path)
    server = http(path, case)
    if case.stream is None:
        reply = server.post(case.request, case.headers)
        assert (reply.status, reply.body) == (case.status, case.response)
        if case.response:
            assert reply.headers["content-type"] == "application/json"
    else:
        stream_over_http(server, case, case.stream)
    headers: dict[str, str | None] = {
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "server/discover",
    }
    assert server.post(AFTER, headers).status == 200


def stream_over_http(server: HttpServer, case: Case, messages: list[bytes]) -> None:
    connection = server.connect()
    connection.sendall(head("POST", "/mcp", case.request, case.headers) + case.request)
    with HttpConversation(connection, json.loads(case.request)) as conversation:
        for at in range(len(messages)):
            if at == 1 and case.meanwhile:
                assert server.send(json.loads(case.meanwhile)).status == 200
            conversation.next()
        assert bytes(conversation.body) == as_events(messages)
        assert EVENT_STREAM.items() <= conversation.headers.items()
        assert conversation.answered is not case.stays_open


@pick("stdio")
def test_over_stdio(stdio: Served[StdioServer], path: Path) -> None:
    case = load(path)
    server = stdio(path, case)
    server.write(case.request + b"\n")
    if case.stream is not None:
        stream_over_stdio(server, case)
    elif case.response_stdio:
        assert server.read_line() == case.response_stdio + b"\n"
    server.write(AFTER + b"\n")
    assert server.read_message()["id"] == "after", "an answer nobody should get"


def stream_over_stdio(server: StdioServer, case: Case) -> None:
    lines = []
    for at in range(len(case.stream_stdio)):
        if at == 1 and case.meanwhile:
            server.write(case.meanwhile + b"\n")
        lines.append(server.read_line())
    if case.meanwhile:
        lines.append(server.read_line())
        lines = [line for line in lines if b'"id":"meanwhile"' not in line]
    assert lines == [line + b"\n" for line in case.stream_stdio]
    if case.stays_open:
        params = {"requestId": json.loads(case.request)["id"]}
        cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
        server.write_message(cancelled)


@pick("direct")
def test_through_handle(direct: Served[DirectSession], path: Path) -> None:
    case = load(path)
    session = direct(path, case)
    # There is nobody to hear what is said before the answer.
    expected = json.loads(case.response_stdio) if case.response_stdio else None
    assert session.handle(case.request) == expected
    assert session.handle(AFTER) is not None


def test_every_case_says_what_it_shows() -> None:
    assert len(CASES) > 50
    for path in CASES:
        assert path.read_bytes().splitlines()[0].endswith(b"."), path
