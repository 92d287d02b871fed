"""Looks on at what servers say to the tests, and holds every message to the official schema.

Over HTTP each connection of the drivers is overheard, on pipes each line, and in this process each
call of `Server.handle`. Nothing is left out: what breaks a schema fails the test it was said in.
"""

from __future__ import annotations

import json
import socket
import threading
from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any

from driver import schemas

VERSION = "io.modelcontextprotocol/protocolVersion"

_lock = threading.Lock()
_complaints: list[str] = []
_counts: dict[str, int] = dict.fromkeys(schemas.REVISIONS, 0)


def complaints() -> list[str]:
    """What was found since this was asked last."""
    with _lock:
        found = _complaints[:]
        _complaints.clear()
    return found


def seen(revision: str) -> int:
    """How many messages of a revision were looked at so far."""
    return _counts[revision]


@dataclass
class Talk:
    """What is known of whoever a server talks to: a session, a pipe, or one request."""

    # Of the messages that do not say it themselves.
    revision: str = schemas.HANDSHAKE[0]
    # Whether the revision is known, rather than assumed.
    opened: bool = False
    asked: dict[tuple[type, Any], tuple[str, str]] = field(default_factory=dict)

    def ask(self, message: Any, revision: str | None = None) -> None:
        """A client says something."""
        for each in message if isinstance(message, list) else [message]:
            if isinstance(each, dict) and "method" in each and "id" in each:
                spoken = named_revision(each) or revision or self.revision
                method = each["method"]
                self.asked[key(each["id"])] = (str(method), spoken)

    def say(self, message: Any, revision: str | None = None) -> None:
        """A server says something."""
        if isinstance(message, list):
            for each in message:
                self.say(each, "2025-03-26")
            return
        method, spoken = None, revision or self.revision
        if isinstance(message, dict) and "method" not in message:
            method, spoken = self.asked.get(key(message.get("id")), (None, spoken))
            if method == "initialize" and "error" not in message:
                spoken = message["result"]["protocolVersion"]
                self.revision, self.opened = spoken, True
        elif isinstance(message, dict):
            spoken = revision or self.told_to(message) or spoken
        found = schemas.faults(spoken, message, method)
        with _lock:
            _counts[spoken] += 1
            _complaints.extend(f"{spoken}: {fault}\n  in {str(message)[:2000]}" for fault in found)

    def told_to(self, message: dict[str, Any]) -> str | None:
        """The revision of a notification, where more than one may be spoken: it has a mark of the
        newest one, or nobody has shaken hands.
        """
        params = message.get("params", {})
        if "io.modelcontextprotocol/subscriptionId" in params.get("_meta", {}):
            return schemas.NEWEST
        if message["method"] == "notifications/cancelled":
            return self.asked.get(key(params.get("requestId")), (None, None))[1]
        return None if self.opened else schemas.NEWEST


def key(id: Any) -> tuple[type, Any]:
    return (type(id), id if isinstance(id, (str, int)) else None)


def named_revision(message: Any) -> str | None:
    """The revision that a message names itself."""
    params = message.get("params") if isinstance(message, dict) else None
    meta = params.get("_meta") if isinstance(params, dict) else None
    if not isinstance(meta, dict) or VERSION not in meta:
        return None
    # What nobody speaks is refused in the words of the newest.
    named = meta[VERSION]
    return named if named in schemas.REVISIONS else schemas.NEWEST


def parsed(text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


class Lines:
    """A pipe."""

    def __init__(self) -> None:
        self._talk = Talk()
        self._rest = bytearray()

    def sent(self, data: bytes) -> None:
        """Bytes on their way to the server."""
        self._rest += data
        if b"\n" not in data:
            return  # a line may be very long
        *lines, self._rest = self._rest.split(b"\n")
        for line in lines:
            self._talk.ask(parsed(bytes(line)))

    def received(self, line: bytes) -> None:
        """One line of the server."""
        message = parsed(line)
        if message is not None:  # else its reader complains
            if self._rest:
                self._talk.ask(parsed(bytes(self._rest)))  # answered before its line ended
            self._talk.say(message)


def handled(message: Any, answer: Any) -> None:
    """One call of `Server.handle`."""
    talk = Talk()
    talk.ask(parsed(message) if isinstance(message, (bytes, str)) else message)
    if answer is not None:
        talk.say(answer)


# Sessions over HTTP by their ids, which are never the same twice.
_sessions: dict[str, Talk] = {}


@dataclass
class Request:
    """One HTTP request, as far as it was sent."""

    verb: str
    headers: dict[str, str]
    path: str = ""
    body: bytearray = field(default_factory=bytearray)

    def talk(self) -> Talk:
        """To whom an answer is given, and in which revision."""
        message = parsed(bytes(self.body))
        header = self.headers.get("mcp-protocol-version")
        box = self.path.partition("?session=")[2]
        session = _sessions.get(box or self.headers.get("mcp-session-id", ""))
        named = named_revision(message)
        if session is not None and named is None and header != schemas.NEWEST:
            return session
        talk = Talk()
        if named is not None:
            talk.revision = named
        elif header is not None:
            talk.revision = header if header in schemas.REVISIONS else schemas.NEWEST
        elif isinstance(message, list) or "initialize" not in str(message)[:2000]:
            talk.revision = "2025-03-26"
        talk.ask(message)
        return talk


class Recorded(socket.socket):
    """A connection to a server over HTTP that is overheard."""

    @classmethod
    def connect_to(cls, address: tuple[str, int], timeout: float) -> Recorded:
        """A new connection; every operation on it is bounded by `timeout`."""
        plain = socket.create_connection(address, timeout)
        connection = cls(plain.family, plain.type, plain.proto, fileno=plain.detach())
        connection.settimeout(timeout)
        connection.overheard = Overheard()
        return connection

    def dup(self) -> Recorded:
        again = super().dup()
        again.overheard = self.overheard
        return again

    def sendall(self, data: Any, flags: int = 0, /) -> None:
        self.overheard.sent(bytes(data))
        super().sendall(data, flags)

    def send(self, data: Any, flags: int = 0, /) -> int:
        count = super().send(data, flags)
        self.overheard.sent(bytes(data[:count]))
        return count

    def recv(self, size: int, flags: int = 0, /) -> bytes:
        data = super().recv(size, flags)
        self.overheard.received(data)
        return data

    def recv_into(self, buffer: Any, size: int = 0, flags: int = 0, /) -> int:
        count = super().recv_into(buffer, size, flags)
        self.overheard.received(bytes(memoryview(buffer)[:count]))
        return count

    overheard: Overheard


class Overheard:
    """What went over a connection: the requests, and response after response."""

    def __init__(self) -> None:
        self._requests: deque[Request] = deque()
        self._sent = Reader(self._read_requests)
        self._received = Reader(self._read_responses)

    def sent(self, data: bytes) -> None:
        """Bytes on their way to the server."""
        self._sent.feed(data)

    def received(self, data: bytes) -> None:
        """Bytes of the server, none at the end."""
        self._received.feed(data)

    def _read_requests(self, reader: Reader) -> Steps:
        while True:
            line, headers = yield from reader.head()
            verb, path, _ = line.split(" ", 2)
            request = Request(verb, headers, path)
            self._requests.append(request)
            if headers.get("transfer-encoding") == "chunked":
                while chunk := (yield from reader.chunk()):
                    request.body += chunk
            else:
                request.body += yield from reader.exactly(int(headers.get("content-length", "0")))
            # Before the answer, which may come elsewhere.
            request.talk().ask(parsed(bytes(request.body)))

    def _read_responses(self, reader: Reader) -> Steps:
        while True:
            line, headers = yield from reader.head()
            status = int(line.split(" ")[1])
            if status == 100:
                continue
            request = self._requests.popleft() if self._requests else Request("POST", {})
            if request.verb == "HEAD" or status in (204, 304):
                continue
            talk = request.talk()
            if headers.get("transfer-encoding") == "chunked":
                events = b""
                while chunk := (yield from reader.chunk()):
                    *blocks, events = (events + chunk).split(b"\n\n")
                    for line in b"\n".join(blocks).split(b"\n"):
                        if line.startswith((b"data: {", b"data: [")):
                            say(line.removeprefix(b"data: "), talk, headers)
                        elif line.startswith(b"data: /"):
                            _sessions[line.decode().partition("?session=")[2]] = talk
            else:
                body = yield from reader.exactly(int(headers.get("content-length", "0")))
                if headers.get("content-type") == "application/json":
                    say(body, talk, headers)


def say(text: bytes, talk: Talk, headers: dict[str, str]) -> None:
    message = parsed(text)
    if message is None:
        return  # its reader complains
    talk.say(message, talk.revision if isinstance(message, dict) and "method" in message else None)
    session = headers.get("mcp-session-id")
    if session is not None:
        _sessions[session] = talk


Steps = Generator[None, None, Any]


class Reader:
    """HTTP, read as it comes. What is no HTTP is read no further: its reader complains."""

    def __init__(self, read: Callable[[Reader], Steps]) -> None:
        self._buffer = bytearray()
        self._steps: Steps | None = read(self)

    def feed(self, data: bytes) -> None:
        """Some more."""
        self._buffer += data
        try:
            if self._steps is not None:
                next(self._steps)
        except (ValueError, IndexError):
            self._steps = None

    def head(self) -> Steps:
        """The first line, and the headers."""
        while b"\r\n\r\n" not in self._buffer:
            yield
        head, _, _ = bytes(self._buffer).partition(b"\r\n\r\n")
        del self._buffer[: len(head) + 4]
        line, *fields = head.decode("latin-1").split("\r\n")
        pairs = (each.partition(":") for each in fields)
        return line, {name.strip().lower(): value.strip() for name, _, value in pairs}

    def exactly(self, count: int) -> Steps:
        """So many bytes."""
        while len(self._buffer) < count:
            yield
        data = bytes(self._buffer[:count])
        del self._buffer[:count]
        return data

    def chunk(self) -> Steps:
        """One chunk of a body; the last one is empty."""
        while b"\r\n" not in self._buffer:
            yield
        line, _, _ = bytes(self._buffer).partition(b"\r\n")
        del self._buffer[: len(line) + 2]
        data = yield from self.exactly(int(line.split(b";")[0], 16) + 2)
        return data[:-2]
