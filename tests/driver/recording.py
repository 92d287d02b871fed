"""Looks on at what servers say to the tests, and holds every message to the official schema.

Over HTTP each connection of the drivers is overheard, on pipes each line, and in this process each
call of `Server.handle`. Nothing is left out: what breaks a schema fails the test it was said in.
"""

from __future__ import annotations

import json
import socket
import threading
from collections import deque
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
        self._rest = b""

    def sent(self, data: bytes) -> None:
        """Bytes on their way to the server."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._talk.ask(parsed(line))

    def received(self, line: bytes) -> None:
        """One line of the server."""
        message = parsed(line)
        if message is not None:  # else its reader complains
            if self._rest:
                self._talk.ask(parsed(self._rest))  # answered before its line ended
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
    length: int
    body: bytearray = field(default_factory=bytearray)

    def talk(self) -> Talk:
        """To whom an answer is given, and in which revision."""
        message = parsed(bytes(self.body))
        header = self.headers.get("mcp-protocol-version")
        session = _sessions.get(self.headers.get("mcp-session-id", ""))
        named = named_revision(message)
        if session is not None and named is None and header != schemas.NEWEST:
            session.ask(message)
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

    def __init__(self, plain: socket.socket) -> None:
        timeout = plain.gettimeout()
        super().__init__(plain.family, plain.type, plain.proto, fileno=plain.detach())
        self.settimeout(timeout)
        self._sending = bytearray()
        self._body: Request | None = None
        self._lost = False
        self._requests: deque[Request] = deque()
        self._response = Response(self._requests)

    def sendall(self, data: Any, flags: int = 0, /) -> None:
        self._sent(bytes(data))
        super().sendall(data, flags)

    def send(self, data: Any, flags: int = 0, /) -> int:
        count = super().send(data, flags)
        self._sent(bytes(data[:count]))
        return count

    def recv(self, size: int, flags: int = 0, /) -> bytes:
        data = super().recv(size, flags)
        self._response.feed(data)
        return data

    def _sent(self, data: bytes) -> None:
        self._sending += data
        while self._sending and not self._lost:
            if self._body is not None:
                wanted = self._body.length - len(self._body.body)
                self._body.body += self._sending[:wanted]
                del self._sending[:wanted]
                if len(self._body.body) == self._body.length:
                    self._body = None
                continue
            head, end, _ = bytes(self._sending).partition(b"\r\n\r\n")
            if not end:
                return
            del self._sending[: len(head) + len(end)]
            try:
                self._begin(head.decode("latin-1"))
            except ValueError:
                self._lost = (
                    True  # no HTTP: whatever is answered, it is to nothing that could be read
                )

    def _begin(self, head: str) -> None:
        line, *fields = head.split("\r\n")
        headers = {
            name.strip().lower(): value.strip()
            for name, _, value in (each.partition(":") for each in fields)
        }
        if "transfer-encoding" in headers:
            raise ValueError
        request = Request(line.split(" ")[0], headers, int(headers.get("content-length", "0")))
        self._requests.append(request)
        if request.length:
            self._body = request


class Response:
    """What comes back on a connection, response after response."""

    def __init__(self, requests: deque[Request]) -> None:
        self._requests = requests
        self._buffer = bytearray()
        self._parts = self._read()
        next(self._parts)
        self._broken = False

    def feed(self, data: bytes) -> None:
        """Bytes of the server, none at the end."""
        self._buffer += data
        if data and not self._broken:
            try:
                next(self._parts)
            except (StopIteration, ValueError, IndexError):
                self._broken = True  # its reader complains

    def _line(self) -> Any:
        while b"\r\n" not in self._buffer:
            yield
        line, _, _ = bytes(self._buffer).partition(b"\r\n")
        del self._buffer[: len(line) + 2]
        return line.decode("latin-1")

    def _bytes(self, count: int) -> Any:
        while len(self._buffer) < count:
            yield
        data = bytes(self._buffer[:count])
        del self._buffer[:count]
        return data

    def _read(self) -> Any:
        yield
        while True:
            status = int((yield from self._line()).split(" ")[1])
            headers: dict[str, str] = {}
            while line := (yield from self._line()):
                name, _, value = line.partition(":")
                headers[name.lower()] = value.strip()
            if status == 100:
                continue
            request = self._requests.popleft() if self._requests else Request("POST", {}, 0)
            if request.verb == "HEAD" or status in (204, 304):
                continue
            talk = request.talk()
            if headers.get("transfer-encoding") == "chunked":
                events = b""
                while size := int((yield from self._line()).split(";")[0], 16):
                    events += yield from self._bytes(size)
                    yield from self._bytes(2)
                    *blocks, events = events.split(b"\n\n")
                    for block in blocks:
                        self._event(block, talk, headers)
                yield from self._bytes(2)
            else:
                body = yield from self._bytes(int(headers.get("content-length", "0")))
                if headers.get("content-type") == "application/json":
                    self._message(body, talk, headers)

    def _event(self, block: bytes, talk: Talk, headers: dict[str, str]) -> None:
        for line in block.split(b"\n"):
            if line.startswith(b"data: {"):
                self._message(line.removeprefix(b"data: "), talk, headers)

    def _message(self, text: bytes, talk: Talk, headers: dict[str, str]) -> None:
        message = parsed(text)
        if message is None:
            return
        revision = talk.revision if isinstance(message, dict) and "method" in message else None
        talk.say(message, revision)
        session = headers.get("mcp-session-id")
        if session is not None:
            _sessions[session] = talk
