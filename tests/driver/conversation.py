"""One request whose server may speak before it answers: what it says, in order."""

from __future__ import annotations

import json
import queue
import socket
import time
from abc import ABC, abstractmethod
from collections import deque
from types import TracebackType
from typing import Any, Self

Message = dict[str, Any]


class Conversation(ABC):
    """What a server says of one request, in order, up to its answer."""

    # Whether the server may ask, while the request waits: clients that open with a handshake.
    askable = False

    def __init__(self, message: Message) -> None:
        self.message = message
        self.answered = False
        self.left = False
        # What came after the client left. Over HTTP nothing can.
        self.late: list[Message] = []

    @abstractmethod
    def _receive(self, timeout: float) -> Message:
        """The next message, whatever it is."""

    @abstractmethod
    def _leave(self) -> None:
        """Tells the server that nobody listens any more."""

    def next(self, timeout: float = 10) -> Message:
        """The next message. Fails when none comes in time."""
        assert not self.answered, "nothing follows the answer"
        message = self._receive(timeout)
        assert message.get("jsonrpc") == "2.0", message
        if "method" in message:
            assert self.askable or "id" not in message, f"a server sends no requests: {message}"
        else:
            assert ("result" in message) != ("error" in message), message
            if "id" in self.message:  # else it is the rest of another one
                assert message["id"] == self.message["id"], message
                assert type(message["id"]) is type(self.message["id"]), message
            self.answered = True
        return message

    def notice(self, timeout: float = 10) -> Message:
        """The next message, which must be a notification."""
        message = self.next(timeout)
        assert "method" in message, f"an answer where a notification was due: {message}"
        return message

    def rest(self, timeout: float = 10) -> tuple[list[Message], Message]:
        """All further notifications, and the answer."""
        notices: list[Message] = []
        while "method" in (message := self.next(timeout)):
            notices.append(message)
        return notices, message

    def leave(self) -> None:
        """Tells the server that nobody wants the answer any more."""
        if not self.left and not self.answered:
            self._leave()
        self.left = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.leave()


class Events:
    """Server-sent events as the protocol has them, read strictly: a message each, or a comment.

    Those of a session are numbered: each has an id to come back with, and one that is nothing but
    an id may be the first.
    """

    def __init__(self, *, numbered: bool = False) -> None:
        self.comments = 0
        self.ids: list[str] = []
        self.primed = False
        self._numbered = numbered
        self._text = b""

    def feed(self, data: bytes) -> list[Message]:
        """The messages that `data` completes."""
        *blocks, self._text = (self._text + data).split(b"\n\n")
        messages: list[Message] = []
        for block in blocks:
            if block.startswith(b":"):
                assert b"\n" not in block, block
                self.comments += 1
                continue
            if self._numbered:
                id, _, block = block.partition(b"\n")
                assert id.startswith(b"id: "), id[:500]
                self.ids.append(id.removeprefix(b"id: ").decode())
                if block == b"retry: 1000\ndata: ":
                    assert len(self.ids) == 1, "an event of nothing but an id comes first"
                    self.primed = True
                    continue
            event, _, text = block.partition(b"\n")
            assert event == b"event: message", block[:500]
            assert text.startswith(b"data: "), block[:500]
            assert b"\n" not in text, block[:500]
            assert b"\r" not in text, block[:500]
            message = json.loads(text.removeprefix(b"data: "))
            assert isinstance(message, dict), block[:500]
            messages.append(message)
        return messages

    def end(self) -> None:
        """Nothing may be cut off."""
        assert self._text == b"", f"the stream ended within {self._text[:500]!r}"


class HttpConversation(Conversation):
    """A response that is read as it comes: one JSON object, or server-sent events."""

    def __init__(
        self, connection: socket.socket, message: Message, *, numbered: bool = False
    ) -> None:
        super().__init__(message)
        self.connection = connection
        self.status = 0
        self.headers: dict[str, str] = {}
        # A stream so far, without its framing.
        self.body = bytearray()
        self._received = bytearray()
        self._events = Events(numbered=numbered)
        self._waiting: deque[Message] = deque()
        self._ended = False
        self._until = 0.0

    @property
    def streamed(self) -> bool:
        """Whether the response is a stream of events. Known once something came."""
        return self.headers.get("content-type") == "text/event-stream"

    @property
    def comments(self) -> int:
        """How many comments came so far."""
        return self._events.comments

    @property
    def ids(self) -> list[str]:
        """The ids of the events so far."""
        return self._events.ids

    @property
    def primed(self) -> bool:
        """Whether the first event was nothing but an id."""
        return self._events.primed

    def wait_for_priming(self, timeout: float = 10) -> None:
        """Waits for the event that is nothing but an id."""
        self._until = time.monotonic() + timeout
        while not self.primed:
            self._waiting.extend(self._events.feed(self._chunk()))

    def wait_for_end(self, timeout: float = 10) -> list[Message]:
        """Waits for the end of the stream; gives what came until then."""
        self._until = time.monotonic() + timeout
        while not self._ended:
            self._waiting.extend(self._events.feed(self._chunk()))
        self._events.end()
        self.connection.close()
        said, self._waiting = list(self._waiting), deque()
        return said

    def wait_for_comment(self, timeout: float = 10) -> None:
        """Waits for one more comment; messages that come meanwhile are kept."""
        self._until = time.monotonic() + timeout
        before = self.comments
        while self.comments == before:
            assert not self._ended, "the stream ended"
            self._waiting.extend(self._events.feed(self._chunk()))

    def _receive(self, timeout: float) -> Message:
        self._until = time.monotonic() + timeout
        if not self.headers:
            self._read_head()
        if not self.streamed:
            length = int(self.headers["content-length"])
            while len(self._received) < length:
                self._more()
            body = bytes(self._received[:length])
            self.connection.close()
            assert self.headers["content-type"] == "application/json", self.headers
            message: Message = json.loads(body)
            assert "method" not in message, message
            # An error that names no request is still this one's answer.
            return {"id": self.message["id"]} | message
        while not self._waiting:
            assert not self._ended, "the stream ended without an answer"
            self._waiting.extend(self._events.feed(self._chunk()))
        message = self._waiting.popleft()
        if "method" not in message:
            self._finish()
        return message

    def _finish(self) -> None:
        """The stream must end right after the answer."""
        while not self._ended:
            self._waiting.extend(self._events.feed(self._chunk()))
        self._events.end()
        assert not self._waiting, f"after the answer: {self._waiting}"
        self.connection.close()

    def _read_head(self) -> None:
        while b"\r\n\r\n" not in self._received:
            self._more()
        head, _, rest = bytes(self._received).partition(b"\r\n\r\n")
        self._received = bytearray(rest)
        status, *lines = head.decode("latin-1").split("\r\n")
        self.status = int(status.split()[1])
        for line in lines:
            name, _, value = line.partition(":")
            self.headers[name.lower()] = value.strip()
        if self.streamed:
            assert self.status == 200, head
            assert self.headers.get("transfer-encoding") == "chunked", head

    def _chunk(self) -> bytes:
        if not self.headers:
            self._read_head()
        while b"\r\n" not in self._received:
            self._more()
        line, _, _ = bytes(self._received).partition(b"\r\n")
        size = int(line, 16)
        del self._received[: len(line) + 2]
        while len(self._received) < size + 2:
            self._more()
        data = bytes(self._received[:size])
        assert self._received[size : size + 2] == b"\r\n", "a chunk is longer than it says"
        del self._received[: size + 2]
        self._ended = size == 0
        self.body += data
        return data

    def _more(self) -> None:
        self.connection.settimeout(max(0.001, self._until - time.monotonic()))
        try:
            data = self.connection.recv(1 << 16)
        except TimeoutError:
            raise AssertionError(f"nothing came in time for {self.message}") from None
        if not data:
            raise ConnectionError(f"closed within a response: {bytes(self._received[:500])!r}")
        self._received += data

    def _leave(self) -> None:
        self.connection.close()

    def leave(self) -> None:
        super().leave()
        self.connection.close()


class StdioConversation(Conversation):
    """The lines that belong to one request, sorted out by whoever reads them."""

    def __init__(self, message: Message, cancel: Any) -> None:
        super().__init__(message)
        self._lines: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self._cancel = cancel

    def take(self, message: Message) -> None:
        """Called with every line of this request."""
        if self.left:
            self.late.append(message)
        else:
            self._lines.put(message)

    def _receive(self, timeout: float) -> Message:
        try:
            return self._lines.get(timeout=timeout)
        except queue.Empty:
            raise AssertionError(f"nothing within {timeout} s for {self.message}") from None

    def _leave(self) -> None:
        self._cancel(self)
