"""Clients that open with a handshake: over HTTP with a session, and on a pipe.

They say who they are once, are asked by requests of the server, and hear of changes unasked.
"""

from __future__ import annotations

import contextlib
import json
import queue
import socket
import threading
from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

from driver.conversation import Conversation, HttpConversation, StdioConversation
from driver.http import HttpReply, HttpServer, head, read_reply
from driver.messages import ABLE, ProcessSession, Refusal
from driver.stdio import StdioServer, same

HANDSHAKES = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")

# Revisions that want theirs in a header of every request after the handshake.
WITH_HEADER = HANDSHAKES[:2]


def initialize(
    revision: str, capabilities: dict[str, Any] | None = None, *, id: Any = 0
) -> dict[str, Any]:
    """The request that opens."""
    params = {
        "protocolVersion": revision,
        "capabilities": capabilities or {},
        "clientInfo": {"name": "old", "version": "1.0"},
    }
    return {"jsonrpc": "2.0", "id": id, "method": "initialize", "params": params}


INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


LISTS = ("tools/list", "resources/list", "resources/templates/list", "prompts/list")


def list_everything(server: HttpServer) -> None:
    """Asks for all lists in each of these revisions, so that they are looked at."""
    for revision in HANDSHAKES:
        for method in LISTS:
            params: dict[str, Any] = {}
            while True:
                message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
                body = json.dumps(message).encode()
                answer = server.post(body, {"MCP-Protocol-Version": revision}).json()
                cursor = answer.get("result", {}).get("nextCursor")
                if cursor is None:
                    break
                params = {"cursor": cursor}


class Handshake(ProcessSession):
    """A client of one of the revisions that open with a handshake."""

    revision: str
    capabilities: dict[str, Any]
    # What the server said of itself.
    opened: dict[str, Any]

    @abstractmethod
    def say(self, message: dict[str, Any]) -> None:
        """Sends a notification, or the response to a request of the server."""

    @abstractmethod
    def changes(self) -> Conversation:
        """What the server says unasked, from here on."""

    def compose(
        self, method: str, params: dict[str, Any] | None = None, *, id: Any, **meta_fields: Any
    ) -> dict[str, Any]:
        assert not meta_fields, f"said once, in the handshake: {meta_fields}"
        message = {"jsonrpc": "2.0", "id": id, "method": method}
        return message if params is None else message | {"params": params}

    def notify(self, method: str, **params: Any) -> None:
        """Sends a notification."""
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": f"notifications/{method}"}
        self.say(message | ({"params": params} if params else {}))

    def reply(self, question: dict[str, Any], answer: dict[str, Any]) -> None:
        """Responds to a request of the server; an answer with an `error` is one."""
        response = answer if "error" in answer else {"result": answer}
        self.say({"jsonrpc": "2.0", "id": question["id"]} | response)

    def send(
        self, message: dict[str, Any], *, timeout: float = 10
    ) -> tuple[int | None, dict[str, Any]]:
        with self.converse(message) as conversation:
            _, answer = conversation.rest(timeout)
            return getattr(conversation, "status", None), answer

    def questioned(
        self, method: str, params: dict[str, Any], answer: Callable[[dict[str, Any]], Any]
    ) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        asked: list[dict[str, Any]] = []
        with self.begin(method, params) as conversation:
            while "method" in (message := conversation.next()):
                if "id" in message:
                    question = {key: message[key] for key in ("method", "params") if key in message}
                    asked.append(question)
                    self.reply(message, answer(question))
        if "error" in message:
            raise Refusal(message["error"])
        result: dict[str, Any] = message["result"]
        return asked, result


class HttpHandshake(Handshake):
    """A session with a server, each request on a connection of its own."""

    transport = "http"

    def __init__(
        self, server: HttpServer, revision: str, capabilities: dict[str, Any] | None = None
    ) -> None:
        super().__init__()
        self.server, self.revision = server, revision
        self.capabilities = ABLE if capabilities is None else capabilities
        message = initialize(revision, self.capabilities)
        reply = server.post(json.dumps(message).encode())
        assert reply.status == 200, reply
        self.opened = reply.json()["result"]
        assert self.opened["protocolVersion"] == revision
        self.id = reply.headers["mcp-session-id"]
        self.headers: dict[str, str | None] = {"Mcp-Session-Id": self.id}
        if revision in WITH_HEADER:
            self.headers["MCP-Protocol-Version"] = revision
        self.say(INITIALIZED)

    def converse(
        self, message: dict[str, Any], headers: dict[str, str | None] | None = None
    ) -> HttpConversation:
        return self._begin("POST", message, headers or {})

    def _begin(
        self, verb: str, message: dict[str, Any], headers: dict[str, str | None]
    ) -> HttpConversation:
        body = json.dumps(message).encode() if message else b""
        connection = self.server.connect()
        lines = self.headers | headers
        connection.sendall(head(verb, self.server.path, body, lines) + body)
        conversation = HttpConversation(connection, message, numbered=True)
        conversation.askable = True
        return conversation

    def post(self, message: Any) -> HttpReply:
        """POSTs within the session and reads the one response, whatever it is."""
        return self.server.post(json.dumps(message).encode(), self.headers)

    def say(self, message: dict[str, Any]) -> None:
        reply = self.post(message)
        assert (reply.status, reply.body) == (202, b""), reply

    def changes(self, after: str | None = None) -> HttpConversation:
        """The stream of the session that belongs to no request, from when it is open; or (`after`)
        the rest of the stream of this event.
        """
        headers: dict[str, str | None] = {"Accept": "text/event-stream", "Content-Type": None}
        if after is not None:
            headers["Last-Event-ID"] = after
        conversation = self._begin("GET", {}, headers)
        if after is None:
            conversation.wait_for_comment()
        return conversation

    def delete(self) -> HttpReply:
        """Ends the session."""
        with self.server.connect() as connection:
            connection.sendall(head("DELETE", self.server.path, b"", self.headers))
            return read_reply(connection)

    def log(self) -> str:
        return self.server.log()

    def wait_for_log(self, text: str) -> str:
        return self.server.wait_for_log(text)

    def close(self) -> None:
        assert self.delete().status == 204


class Piped(Handshake):
    """All that a server says comes the same way, and is handed to whom it belongs."""

    def __init__(self, revision: str, capabilities: dict[str, Any] | None) -> None:
        super().__init__()
        self.revision = revision
        self.capabilities = ABLE if capabilities is None else capabilities
        self._arrived = threading.Lock()
        self._conversations: list[_Lines] = []
        self._changes = _Unasked({})

    def open(self, messages: Iterator[dict[str, Any]]) -> None:
        """Shakes hands; from then on `messages` is what the server says."""
        self.say(initialize(self.revision, self.capabilities))
        self.opened = next(messages)["result"]
        assert self.opened["protocolVersion"] == self.revision
        self.say(INITIALIZED)
        threading.Thread(target=self._collect, args=(messages,), daemon=True).start()

    def _collect(self, messages: Iterator[dict[str, Any]]) -> None:
        for message in messages:
            with self._arrived:
                owners = [each for each in self._conversations if each.owns(message)]
                for owner in owners:
                    owner.take(message)
                if "method" not in message:
                    self._conversations = [
                        each for each in self._conversations if each not in owners or each.left
                    ]
                if not owners:
                    self._changes.take(message)

    def converse(self, message: dict[str, Any]) -> StdioConversation:
        conversation = _Lines(message, self._cancel)
        with self._arrived:
            self._conversations.append(conversation)
        self.say(message)
        return conversation

    def _cancel(self, conversation: Conversation) -> None:
        self.notify("cancelled", requestId=conversation.message["id"])

    def changes(self) -> Conversation:
        return self._changes


class StdioHandshake(Piped):
    """A server on a pipe, which is one session."""

    transport = "stdio"

    def __init__(
        self, server: StdioServer, revision: str, capabilities: dict[str, Any] | None = None
    ) -> None:
        super().__init__(revision, capabilities)
        self.server = server
        self._writing = threading.Lock()
        lines = iter(server._lines.get, None)
        self.open(json.loads(line) for line in lines)

    def say(self, message: dict[str, Any]) -> None:
        with self._writing:
            self.server.write_message(message)

    def log(self) -> str:
        return self.server.log()

    def wait_for_log(self, text: str) -> str:
        return self.server.wait_for_log(text)

    def close(self) -> None:
        self.server.close()


class SseHandshake(Piped):
    """A stream of events down and a post box up: HTTP+SSE of 2024-11-05."""

    transport = "http"

    def __init__(
        self,
        server: HttpServer,
        revision: str = "2024-11-05",
        capabilities: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(revision, capabilities)
        self.server = server
        self.connection = server.connect(60)
        self.connection.sendall(
            head("GET", "/sse", headers={"Accept": "text/event-stream", "Content-Type": None})
        )
        events = self._events()
        kind, self.box = next(events)
        assert kind == "endpoint"
        self.open(json.loads(text) for _, text in events)

    def _events(self) -> Iterator[tuple[str, str]]:
        with self.connection, self.connection.makefile("rb") as lines:
            status = lines.readline()
            assert status.split()[1] == b"200", status
            while lines.readline() != b"\r\n":
                """The headers."""
            text = b""
            while size := int(lines.readline() or b"0", 16):
                text += lines.read(size)
                lines.readline()
                *blocks, text = text.split(b"\n\n")
                for block in blocks:
                    if not block.startswith(b":"):
                        event, _, data = block.decode().partition("\n")
                        yield event.removeprefix("event: "), data.removeprefix("data: ")

    def say(self, message: dict[str, Any]) -> None:
        body = json.dumps(message).encode()
        with self.server.connect() as connection:
            connection.sendall(head("POST", self.box, body) + body)
            reply = read_reply(connection)
        assert (reply.status, reply.body) == (202, b""), reply

    def log(self) -> str:
        return self.server.log()

    def wait_for_log(self, text: str) -> str:
        return self.server.wait_for_log(text)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)


class _Lines(StdioConversation):
    """The lines of one request. A question and a log message name none: they are everybody's."""

    askable = True

    def owns(self, message: dict[str, Any]) -> bool:
        params = message.get("params", {})
        match message.get("method"):
            case None:
                return same(message.get("id"), self.message["id"])
            case "notifications/progress":
                meta = self.message.get("params", {}).get("_meta", {})
                return same(params["progressToken"], meta.get("progressToken"))
            case "notifications/message" | "notifications/cancelled":
                return True
            case _:
                return "id" in message


class _Unasked(Conversation):
    """What belongs to no request."""

    def __init__(self, message: dict[str, Any]) -> None:
        super().__init__(message)
        self._lines: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()

    def take(self, message: dict[str, Any]) -> None:
        self._lines.put(message)

    def _receive(self, timeout: float) -> dict[str, Any]:
        try:
            return self._lines.get(timeout=timeout)
        except queue.Empty:
            raise AssertionError(f"nothing came unasked within {timeout} s") from None

    def _leave(self) -> None:
        """A pipe has no stream to leave."""
