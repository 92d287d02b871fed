"""A server that listens on a free port, and HTTP/1.1 spoken by hand."""

from __future__ import annotations

import base64
import json
import re
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from driver.conversation import HttpConversation
from driver.messages import PREFIX, ProcessSession
from driver.process import Process
from driver.recording import Recorded

NAMED_BY = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    # Of the extension that the tests have.
    "jobs/get": "jobId",
    "jobs/finish": "jobId",
}


@dataclass
class HttpReply:
    """One response, its header names in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        """The body, which must be JSON and say so."""
        assert self.headers.get("content-type", "").split(";")[0] == "application/json", self
        return json.loads(self.body)


class HttpServer(Process):
    """`serve TARGET --port 0`; the start line on stderr tells where it listens."""

    def __init__(self, target: Path | str, *options: str, **settings: Any) -> None:
        super().__init__(target, "--port", "0", *options, **settings)
        try:
            said = self.wait_for_log("http://", 40)
            found = re.search(r"http://([^/:\s]+|\[[^\]]+\]):(\d+)(/\S*)?", said)
            assert found, f"no URL in the start line:\n{said}"
        except BaseException:
            self.close()
            raise
        self.host, self.port = found[1].strip("[]"), int(found[2])
        self.path = (found[3] or "/mcp").rstrip(",;.")

    @property
    def url(self) -> str:
        """Where clients should connect."""
        return f"http://{self.host}:{self.port}{self.path}"

    def connect(self, timeout: float = 10) -> socket.socket:
        """A new connection; every operation on it is bounded by `timeout`."""
        connection = Recorded.connect_to((self.host, self.port), timeout)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def post(self, body: bytes, headers: dict[str, str | None] | None = None) -> HttpReply:
        """POSTs `body` on a connection of its own. A header given as None is left out."""
        with self.connect() as connection:
            connection.sendall(head("POST", self.path, body, headers) + body)
            return read_reply(connection)

    def converse(self, message: dict[str, Any], timeout: float = 10) -> HttpConversation:
        """POSTs a message on a connection of its own and waits for nothing."""
        body = json.dumps(message).encode()
        connection = self.connect(timeout)
        connection.sendall(head("POST", self.path, body, dict(mirrored(message))) + body)
        return HttpConversation(connection, message)

    def send(self, message: dict[str, Any], **headers: str | None) -> HttpReply:
        """POSTs a message with the headers it needs; `headers` (with `_` for `-`) override."""
        wanted: dict[str, str | None] = dict(mirrored(message))
        overrides = {name.replace("_", "-").lower(): value for name, value in headers.items()}
        wanted = {name: value for name, value in wanted.items() if name.lower() not in overrides}
        return self.post(json.dumps(message).encode(), wanted | overrides)


def mirrored(message: dict[str, Any]) -> dict[str, str]:
    """The headers that repeat what the body says."""
    params = message.get("params") or {}
    headers = {"Mcp-Method": message["method"]}
    version = params.get("_meta", {}).get(PREFIX + "protocolVersion")
    if version is not None:
        headers["MCP-Protocol-Version"] = version
    name = params.get(NAMED_BY.get(message["method"], ""))
    if isinstance(name, str):
        headers["Mcp-Name"] = plain_or_base64(name)
    return headers


def plain_or_base64(value: str) -> str:
    """A header value: as it is if that is safe, else in the sentinel form."""
    if value.isascii() and value.isprintable() and value == value.strip():
        return value
    return f"=?base64?{base64.b64encode(value.encode()).decode()}?="


def head(
    verb: str, path: str, body: bytes = b"", headers: dict[str, str | None] | None = None
) -> bytes:
    """A request head that any server would take, but for what `headers` changes or (None) drops."""
    lines: dict[str, tuple[str, str | None]] = {
        "host": ("Host", "localhost"),
        "content-type": ("Content-Type", "application/json"),
        "accept": ("Accept", "application/json, text/event-stream"),
        "content-length": ("Content-Length", str(len(body))),
    }
    lines |= {name.lower(): (name, value) for name, value in (headers or {}).items()}
    shown = [f"{name}: {value}" for name, value in lines.values() if value is not None]
    return "\r\n".join([f"{verb} {path} HTTP/1.1", *shown, "", ""]).encode("latin-1")


def read_reply(connection: socket.socket, *, bodyless: bool = False) -> HttpReply:
    """Reads exactly one response, so that the connection can be used again."""
    received = bytearray()

    def read_more() -> None:
        chunk = connection.recv(65536)
        if not chunk:
            raise ConnectionError(f"closed in the middle of a response: {bytes(received)!r}")
        received.extend(chunk)

    while b"\r\n\r\n" not in received:
        read_more()
    raw_head, _, rest = bytes(received).partition(b"\r\n\r\n")
    status_line, *raw_headers = raw_head.decode("latin-1").split("\r\n")
    headers = {
        name.lower(): value.strip()
        for name, _, value in (line.partition(":") for line in raw_headers)
    }
    status = int(status_line.split()[1])
    received = bytearray(rest)
    if bodyless or status in (204, 304):
        return HttpReply(status, headers, b"")
    if headers.get("transfer-encoding") == "chunked":
        return HttpReply(status, headers, _read_chunks(received, read_more))
    length = int(headers.get("content-length", 0))
    while len(received) < length:
        read_more()
    return HttpReply(status, headers, bytes(received[:length]))


def _read_chunks(received: bytearray, read_more: Any) -> bytes:
    body = bytearray()
    while True:
        while b"\r\n" not in received:
            read_more()
        line, _, _ = bytes(received).partition(b"\r\n")
        size = int(line.split(b";")[0], 16)
        del received[: len(line) + 2]
        while len(received) < size + 2:
            read_more()
        body += received[:size]
        del received[: size + 2]
        if size == 0:
            return bytes(body)


def exchange(server: HttpServer, raw: bytes) -> HttpReply:
    """Sends bytes as they are on a new connection and reads one response."""
    with server.connect() as connection:
        connection.sendall(raw)
        return read_reply(connection)


class HttpSession(ProcessSession):
    """Requests one after the other on one kept-alive connection, in any number of threads."""

    transport = "http"
    opener = HttpServer

    def __init__(self, target: Path, *options: str) -> None:
        super().__init__()
        self.server = self.opener(target, *options)

    def send(
        self, message: dict[str, Any], *, timeout: float = 10
    ) -> tuple[int | None, dict[str, Any]]:
        body = json.dumps(message).encode()
        with self.server.connect(timeout) as connection:
            connection.sendall(head("POST", self.server.path, body, dict(mirrored(message))) + body)
            reply = read_reply(connection)
        response: dict[str, Any] = reply.json()
        return reply.status, response

    def converse(self, message: dict[str, Any]) -> HttpConversation:
        return self.server.converse(message)

    def log(self) -> str:
        return self.server.log()

    def wait_for_log(self, text: str) -> str:
        return self.server.wait_for_log(text)

    def close(self) -> None:
        self.server.close()
