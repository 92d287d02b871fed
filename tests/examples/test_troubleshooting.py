"""Every error text in the troubleshooting tables is met by a client that does what they say."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from driver import HttpHandshake, HttpServer, StdioServer
from driver.handshake import initialize
from driver.http import head, read_reply

Heard = Callable[[HttpServer], str]

PAGE = Path(__file__).parents[2] / "docs/clients-and-revisions.md"
TABLES = PAGE.read_text().partition("## Troubleshooting")[2]
TEXTS = re.findall(r"^\| `([^`]+)`", TABLES, re.MULTILINE)

APP = """
from typing import Literal

from snodo import Context, Message, Server, elicit, sampling

limits = {"input_rounds": 2, "answer_timeout": 2, "streams": 1}
server = Server("asks", version="1.0.0", limits=limits)
WORD = sampling.create_message("One word?", 16)


@server.tool
def form(context: Context) -> str:
    return str(context.ask("form", elicit.form("How many?", int)).value)


@server.tool
def page(context: Context) -> str:
    return context.ask("page", elicit.url("Sign in.", "https://example.com/in")).action


@server.tool
def several(context: Context) -> str:
    question = elicit.form("Which?", list[Literal["a", "b"]])
    return str(context.ask("several", question).value)


@server.tool
def tools(context: Context) -> str:
    tool = {"name": "look", "inputSchema": {"type": "object"}}
    return context.ask("tools", sampling.create_message("Look.", 16, tools=[tool])).action


@server.tool
def sound(context: Context) -> str:
    block = {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}
    message = {"role": "user", "content": block}
    return context.ask("sound", sampling.create_message([message], 16)).action


@server.tool
def loop(context: Context) -> str:
    while True:
        context.ask("again", elicit.form("Again?", bool))


@server.resource("room://state")
def room() -> str:
    return "fine"
"""

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
NEW = {"MCP-Protocol-Version": "2026-07-28"}
OLD = {"MCP-Protocol-Version": "2025-11-25"}
NOBODY = {"Mcp-Session-Id": "0" * 32}
# What a client can be asked for, with everything there is.
ABLE = {"elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}}}


def request(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def post(message: Any, headers: Mapping[str, str] = {}) -> Heard:
    return lambda server: server.post(
        json.dumps(message).encode(), {**(headers or {})}
    ).body.decode()


def ask(
    tool: str,
    answer: dict[str, Any] | None = None,
    *,
    revision: str = "2025-11-25",
    capabilities: dict[str, Any] = ABLE,
) -> Heard:
    """Calls a tool in a session, and gives this answer to whatever is asked, or none."""

    def heard(server: HttpServer) -> str:
        session = HttpHandshake(server, revision, capabilities)
        with session.begin("tools/call", {"name": tool, "arguments": {}}) as conversation:
            while "method" in (message := conversation.next()):
                if answer is not None and "id" in message:
                    session.reply(message, answer)
        return json.dumps(message, ensure_ascii=False)

    return heard


def verb(name: str, headers: dict[str, str | None], path: str = "/mcp") -> Heard:
    def heard(server: HttpServer) -> str:
        with server.connect() as connection:
            connection.sendall(head(name, path, b"", {"Accept": "text/event-stream", **headers}))
            return read_reply(connection).body.decode()

    return heard


def within(
    heard: Callable[[HttpServer, dict[str, str | None]], str],
) -> Heard:
    return lambda server: heard(server, HttpHandshake(server, "2025-11-25", ABLE).headers)


def crowd(server: HttpServer) -> str:
    first = HttpHandshake(server, "2025-11-25")
    second = HttpHandshake(server, "2025-11-25")
    with first.changes():
        return verb("GET", second.headers)(server)


@dataclass
class Line:
    """A message on a pipe on which nothing was said before."""

    message: dict[str, Any]


CALL = {"name": "form", "arguments": {}}
HELLO = initialize("2025-11-25")
LARGE = {"name": "large", "version": "1.0.0", "title": "x" * 9000}
ACCEPT = {"action": "accept", "content": {"value": True}}

MET: dict[str, Heard | Line] = {
    "Unsupported protocol version; this server supports ...": post(
        request("tools/list"), {"MCP-Protocol-Version": "2025-01-01"}
    ),
    "Unsupported protocol version": Line(
        request("tools/list", _meta={**META, next(iter(META)): "2025-11-25"})
    ),
    "Required request _meta is missing": post(request("tools/list"), NEW),
    "Missing or repeated required header: mcp-protocol-version": post(
        request("tools/list", _meta=META)
    ),
    "Protocol header does not match request metadata": post(request("tools/list", _meta=META), OLD),
    "Send initialize first, or name 2026-07-28 as ...": Line(request("tools/list")),
    "Method not found: server/discover; it is one of 2026-07-28, ...": post(
        request("server/discover"), OLD
    ),
    "Method not found: logging/setLevel": post(
        request("logging/setLevel", level="info", _meta=META),
        {**NEW, "Mcp-Method": "logging/setLevel"},
    ),
    "initialize requires protocolVersion, capabilities and clientInfo name/version": post(
        request("initialize", protocolVersion="2025-11-25")
    ),
    "clientInfo and capabilities must not exceed 8192 bytes": post(
        {**HELLO, "params": {**HELLO["params"], "clientInfo": LARGE}}
    ),
    "Batches are not part of protocol revision ...": post([request("ping")], OLD),
    "initialize must not be part of a batch": post([HELLO]),
    "Session not found: it has ended. Send initialize to begin a new one": post(
        request("tools/list"), NOBODY
    ),
    "The MCP endpoint takes POST": verb("GET", {}),
    "There is no MCP endpoint at this path": verb("GET", {}, "/sse"),
    "Accept must admit text/event-stream": within(
        lambda server, headers: verb("GET", {**headers, "Accept": "application/json"})(server)
    ),
    "Accept must admit application/json": post(
        request("tools/list"), {"Accept": "text/event-stream"}
    ),
    "Unsupported MCP-Protocol-Version": verb(
        "GET", {**NOBODY, "MCP-Protocol-Version": "2025-01-01"}
    ),
    "Last-Event-ID is of no stream that is kept: send the request again": within(
        lambda server, headers: verb("GET", {**headers, "Last-Event-ID": "7-1"})(server)
    ),
    "resources/subscribe needs a session: send initialize first": post(
        request("resources/subscribe", uri="room://state"), OLD
    ),
    "Server subscription capacity exhausted": crowd,
    "This needs an answer of the client, which cannot be asked over its connection: ...": post(
        request("tools/call", **CALL), OLD
    ),
    "The client did not declare the capability that this needs: elicitation.form": ask(
        "form", capabilities={}
    ),
    "elicitation/create is no request of this protocol revision": ask(
        "form", revision="2025-03-26"
    ),
    "elicitation/create of a page is no request of this protocol revision": ask(
        "page", revision="2025-06-18"
    ),
    "elicitation/create with a choice of several at once is no request of this protocol revision": (
        ask("several", revision="2025-06-18")
    ),
    "sampling/createMessage with tools is no request of this protocol revision": ask(
        "tools", revision="2025-06-18"
    ),
    "sampling/createMessage with such content is no request of this protocol revision": ask(
        "sound", revision="2024-11-05"
    ),
    "This request needs the user to open a page first": post(
        request("tools/call", name="page", arguments={}), OLD
    ),
    "The client did not answer elicitation/create: The client did not answer in time (-32603)": ask(
        "form"
    ),
    "The client did not answer elicitation/create: ...": ask(
        "form", {"error": {"code": -1, "message": "Nobody is here"}}
    ),
    "The client's answer to elicitation/create is not valid": ask(
        "form", {"action": "accept", "content": {"value": "many"}}
    ),
    "Gave up after 32 rounds of questions": ask("loop", ACCEPT),
}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Path:
    app = tmp_path_factory.mktemp("asks") / "app.py"
    app.write_text(APP)
    return app


@pytest.fixture(scope="module")
def server(app: Path) -> Iterator[HttpServer]:
    server = HttpServer(app)
    yield server
    server.close()


def test_every_text_is_met_and_no_other() -> None:
    assert len(TEXTS) > 30
    assert sorted(TEXTS) == sorted(MET)


@pytest.mark.parametrize("text", TEXTS)
def test_text_is_met(server: HttpServer, app: Path, text: str) -> None:
    met = MET[text]
    if isinstance(met, Line):
        pipe = StdioServer(app)
        try:
            pipe.write_message(met.message)
            heard = json.dumps(pipe.read_message())
        finally:
            pipe.close()
    else:
        heard = met(server)
    # The limit is smaller here.
    for part in text.replace("32 rounds", "2 rounds").split("..."):
        assert part.strip() in heard, heard
