"""Runs every case of `wire/<revision>/` over every transport. The format is in README.md."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import pytest

from driver import AsgiServer, DirectSession, HttpConversation, HttpServer, StdioServer, head

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
    # What a client says before, where it opens with a handshake, and to questions after.
    handshake: list[bytes] = field(default_factory=list)
    replies: list[bytes] = field(default_factory=list)
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
        handshake=sections["handshake"].split(b"\n") if "handshake" in sections else [],
        replies=sections["replies"].split(b"\n") if "replies" in sections else [],
        headers={name: value for name, _, value in (line.partition(": ") for line in lines)},
        transports=(
            tuple(sections["only"].decode().split())
            if "only" in sections
            # There is no session through `handle`.
            else TRANSPORTS[:2]
            if "handshake" in sections
            else TRANSPORTS
        ),
        server=sections.get("server", b"server.py").decode(),
    )


S = TypeVar("S", HttpServer, StdioServer, DirectSession)
Served = Callable[[Path, Case], S]


def _served(opener: Callable[[Path], S]) -> Iterator[Served[S]]:
    """Gives the server a case is for; each is started once. On a pipe a handshake is for good:
    cases without one have a server of their own.
    """
    opened: dict[tuple[Path, bool], S] = {}

    def served(path: Path, case: Case) -> S:
        target = path.parent / case.server
        if not target.exists():
            target = HERE / "2026-07-28" / case.server
        shakes_hands = bool(case.handshake) or b'"initialize"' in case.request
        if (target, shakes_hands) not in opened:
            opened[target, shakes_hands] = opener(target)
        return opened[target, shakes_hands]

    yield served
    for server in opened.values():
        server.close()


@pytest.fixture(scope="module")
def http() -> Iterator[Served[HttpServer]]:
    yield from _served(HttpServer)


@pytest.fixture(scope="module")
def asgi() -> Iterator[Served[AsgiServer]]:
    yield from _served(AsgiServer)


@pytest.fixture(scope="module")
def stdio() -> Iterator[Served[StdioServer]]:
    yield from _served(StdioServer)


@pytest.fixture(scope="module")
def direct() -> Iterator[Served[DirectSession]]:
    yield from _served(DirectSession)


def ids(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def pick(transport: str, revision: str = "") -> pytest.MarkDecorator:
    chosen = [
        path
        for path in CASES
        if transport in load(path).transports and path.parent.name.startswith(revision)
    ]
    return pytest.mark.parametrize("path", chosen, ids=ids)


EVENT_STREAM = {
    "content-type": "text/event-stream",
    "cache-control": "no-store",
    "x-accel-buffering": "no",
    "transfer-encoding": "chunked",
}


# Ids of the server's own requests, and of sessions: nobody can guess them.
RANDOM = re.compile(rb'(?<=")[0-9a-f]{32}(?=")')


def as_events(messages: list[bytes], numbered: bytes = b"") -> bytes:
    """Their bytes; of a session's stream each has the stream's number and its own."""
    events = []
    for number, message in enumerate(messages, 1):
        id = b"id: %b-%d\n" % (numbered, number) if numbered else b""
        events.append(id + b"event: message\ndata: " + message + b"\n\n")
    return b"".join(events)


class Names:
    """Numbers for what cannot be guessed, in the order in which it comes."""

    def __init__(self) -> None:
        self.random: list[bytes] = []

    def hide(self, message: bytes) -> bytes:
        """The message as the case has it."""

        def name(found: re.Match[bytes]) -> bytes:
            if found[0] not in self.random:
                self.random.append(found[0])
            return b"{%d}" % (self.random.index(found[0]) + 1)

        return RANDOM.sub(name, message)

    def show(self, message: bytes) -> bytes | None:
        """What is sent for a line of the case, once everything in it is known."""
        for number, random in enumerate(self.random, 1):
            message = message.replace(b"{%d}" % number, random)
        return None if re.search(rb"\{\d+\}", message) else message

    def due(self, replies: list[bytes]) -> list[bytes]:
        """Takes the replies that can be sent now."""
        ready = []
        while replies and (reply := self.show(replies[0])) is not None:
            ready.append(reply)
            replies.pop(0)
        return ready


@pick("http")
def test_over_http(http: Served[HttpServer], path: Path) -> None:
    case = load(path)
    server = http(path, case)
    if case.handshake:
        case.headers |= open_over_http(server, case)
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


@pick("http", "2026-07-28")
def test_within_an_asgi_server(asgi: Served[HttpServer], path: Path) -> None:
    test_over_http(asgi, path)


@pytest.mark.parametrize("name", ["ask-form", "ask-json-only", "ask-sampling", "call-text"])
def test_sessions_within_an_asgi_server(asgi: Served[HttpServer], name: str) -> None:
    test_over_http(asgi, HERE / "2025-11-25" / f"{name}.case")


def open_over_http(server: HttpServer, case: Case) -> dict[str, str | None]:
    """Shakes hands; gives the header of the session, unless the case has another."""
    initialize, *further = case.handshake
    reply = server.post(initialize)
    assert reply.status == 200, reply
    session: dict[str, str | None] = {"Mcp-Session-Id": reply.headers["mcp-session-id"]}
    for message in further:
        assert server.post(message, session).status in (200, 202)
    return {} if "Mcp-Session-Id" in case.headers else session


def stream_over_http(server: HttpServer, case: Case, messages: list[bytes]) -> None:
    connection = server.connect()
    connection.sendall(head("POST", "/mcp", case.request, case.headers) + case.request)
    names = Names()
    in_session = "Mcp-Session-Id" in case.headers
    message = json.loads(case.request)
    with HttpConversation(connection, message, numbered=in_session) as conversation:
        conversation.askable = in_session
        for at in range(len(messages)):
            if at == 1 and case.meanwhile:
                assert server.send(json.loads(case.meanwhile)).status == 200
            conversation.next()
            names.hide(bytes(conversation.body))
            for reply in names.due(case.replies):
                assert server.post(reply, case.headers).status == 202
        stream, _, _ = (conversation.ids or [""])[0].partition("-")
        priming = b"id: %b-0\nretry: 1000\ndata: \n\n" % stream.encode()
        expected = as_events(messages, stream.encode())
        assert conversation.primed == (in_session and "2025-11-25" in case.handshake[0].decode())
        expected = priming + expected if conversation.primed else expected
        assert names.hide(bytes(conversation.body)) == expected
        assert not case.replies
        assert EVENT_STREAM.items() <= conversation.headers.items()
        assert conversation.answered is not case.stays_open


@pick("stdio")
def test_over_stdio(stdio: Served[StdioServer], path: Path) -> None:
    case = load(path)
    server = stdio(path, case)
    for line in case.handshake:
        server.write(line + b"\n")
        if b'"id":' in line:
            assert b'"result"' in server.read_line()
    server.write(case.request + b"\n")
    if case.stream is not None:
        stream_over_stdio(server, case)
    elif case.response_stdio:
        assert server.read_line() == case.response_stdio + b"\n"
    server.write(AFTER + b"\n")
    assert server.read_message()["id"] == "after", "an answer nobody should get"


def stream_over_stdio(server: StdioServer, case: Case) -> None:
    lines = []
    names = Names()
    for at in range(len(case.stream_stdio)):
        if at == 1 and case.meanwhile:
            server.write(case.meanwhile + b"\n")
        lines.append(names.hide(server.read_line()))
        for reply in names.due(case.replies):
            server.write(reply + b"\n")
    assert not case.replies
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
