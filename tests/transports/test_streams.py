"""How streams of events live and end: their bytes, comments while nothing happens, shutdown."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from driver import (
    SUBSCRIPTION,
    Conversation,
    Events,
    HttpConversation,
    HttpServer,
    HttpSession,
    Process,
    StdioServer,
    StdioSession,
    head,
    request,
)
from driver.http import mirrored

STREAMS = """
import sys
import threading

from snodo import Context, Event, Server

server = Server("streams", version="1.0.0", limits=LIMITS)
gate = threading.Event()


@server.tool
def counts(context: Context) -> str:
    context.progress(1, 2)
    context.progress(2, 2)
    return "counted"


@server.tool
def waits(context: Context, reports: bool = True) -> str:
    if reports:
        context.progress(1)
    print("waits begins", file=sys.stderr, flush=True)
    gate.wait(20)
    gate.clear()
    return "waited"


@server.tool
def release() -> str:
    gate.set()
    return "released"


@server.tool
def pads(times: int) -> str:
    for n in range(times):
        server.notify.publish(Event.tools_changed({"com.example/pad": "x" * 20_000}))
    print("padded", file=sys.stderr, flush=True)
    return "padded"


@server.tool
def changes(times: int = 1) -> str:
    for n in range(times):
        server.notify.tools_changed()
        server.notify.resource_updated("x://a")
    return "told"


@server.resource("x://a")
def a_resource() -> str:
    return "x"
"""

WANTED = {"toolsListChanged": True, "resourceSubscriptions": ["x://a"]}


@pytest.fixture
def serve_with(write_app: Callable[[str], Path]) -> Iterator[Callable[..., Any]]:
    opened: list[Any] = []

    def open(session: Callable[[Path], Any], **limits: float) -> Any:
        opened.append(session(write_app(STREAMS.replace("LIMITS", repr(limits)))))
        return opened[-1]

    yield open
    for session in opened:
        session.close()


def body_of(raw: bytes) -> bytes:
    """A chunked body without its framing, which must be whole."""
    body = b""
    while True:
        size, _, raw = raw.partition(b"\r\n")
        length = int(size, 16)
        body += raw[:length]
        assert raw[length : length + 2] == b"\r\n"
        raw = raw[length + 2 :]
        if length == 0:
            assert raw == b""
            return body


def test_the_bytes_of_a_stream(serve_with: Callable[..., Any]) -> None:
    server: HttpServer = serve_with(HttpServer)
    message = request("tools/call", {"name": "counts", "_meta": {"progressToken": "p"}}, id=9)
    body = json.dumps(message).encode()
    headers = mirrored(message) | {"Connection": "close"}
    with server.connect() as connection:
        connection.sendall(head("POST", "/mcp", body, dict(headers)) + body)
        raw = b""
        while chunk := connection.recv(65536):
            raw += chunk
    top, _, rest = raw.partition(b"\r\n\r\n")
    status, *lines = top.decode().lower().split("\r\n")
    assert status == "http/1.1 200 ok"
    assert sorted(line for line in lines if not line.startswith("date: ")) == [
        "cache-control: no-store",
        "connection: close",
        "content-type: text/event-stream",
        "transfer-encoding: chunked",
        "x-accel-buffering: no",
    ]
    assert body_of(rest) == (
        b"event: message\n"
        b'data: {"jsonrpc":"2.0","method":"notifications/progress",'
        b'"params":{"progressToken":"p","progress":1,"total":2}}\n'
        b"\n"
        b"event: message\n"
        b'data: {"jsonrpc":"2.0","method":"notifications/progress",'
        b'"params":{"progressToken":"p","progress":2,"total":2}}\n'
        b"\n"
        b"event: message\n"
        b'data: {"jsonrpc":"2.0","id":9,"result":{"resultType":"complete",'
        b'"content":[{"type":"text","text":"counted"}],"isError":false,'
        b'"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"streams","version":"1.0.0"}}}}\n'
        b"\n"
    )


def test_a_kept_connection_serves_on_after_a_stream(serve_with: Callable[..., Any]) -> None:
    server: HttpServer = serve_with(HttpServer)
    message = request("tools/call", {"name": "counts", "_meta": {"progressToken": 1}})
    body = json.dumps(message).encode()
    whole = head("POST", "/mcp", body, dict(mirrored(message))) + body
    with server.connect() as connection:
        for _ in range(3):
            connection.sendall(whole)
            conversation = HttpConversation(connection.dup(), message)
            notices, answer = conversation.rest()
            assert len(notices) == 2
            assert answer["result"]["content"][0]["text"] == "counted"


def test_a_page_of_an_allowed_origin_may_read_a_stream(serve_with: Callable[..., Any]) -> None:
    server: HttpServer = serve_with(HttpServer)
    message = request("tools/call", {"name": "counts", "_meta": {"progressToken": 1}})
    reply = server.send(message, origin=f"http://127.0.0.1:{server.port}")
    assert reply.headers["content-type"] == "text/event-stream"
    assert reply.headers["access-control-allow-origin"] == f"http://127.0.0.1:{server.port}"


def test_a_client_of_http_1_0_gets_a_stream_that_ends_with_its_connection(
    serve_with: Callable[..., Any],
) -> None:
    server: HttpServer = serve_with(HttpServer)
    message = request("tools/call", {"name": "counts", "_meta": {"progressToken": 1}})
    body = json.dumps(message).encode()
    sent = head("POST", "/mcp", body, dict(mirrored(message))).replace(b"HTTP/1.1", b"HTTP/1.0")
    with server.connect() as connection:
        connection.sendall(sent + body)
        raw = b""
        while chunk := connection.recv(65536):
            raw += chunk
    top, _, rest = raw.partition(b"\r\n\r\n")
    assert b"transfer-encoding" not in top.lower()
    events = Events()
    assert len(events.feed(rest)) == 3
    events.end()


def test_comments_keep_a_quiet_stream_alive(serve_with: Callable[..., Any]) -> None:
    session: HttpSession = serve_with(HttpSession, keep_alive_interval=0.05)
    with session.listen(**WANTED) as listening, session.begin_call("waits", token=1) as waiting:
        assert isinstance(listening, HttpConversation)
        assert isinstance(waiting, HttpConversation)
        assert waiting.notice()["params"]["progress"] == 1
        for _ in range(3):
            listening.wait_for_comment()
            waiting.wait_for_comment()
        # Between comments everything goes on as ever.
        session.text("changes")
        assert listening.notice()["method"] == "notifications/tools/list_changed"
        assert listening.notice()["method"] == "notifications/resources/updated"
        listening.wait_for_comment()
        session.text("release")
        notices, answer = waiting.rest()
        assert (notices, answer["result"]["content"][0]["text"]) == ([], "waited")


@pytest.mark.parametrize("token", [1, None], ids=["asked", "not asked"])
def test_a_silent_call_is_kept_alive_if_its_client_takes_events(
    serve_with: Callable[..., Any], token: int | None
) -> None:
    """Who asked for nothing gets plain JSON, however long it takes."""
    session: HttpSession = serve_with(HttpSession, keep_alive_interval=0.02)
    with session.listen() as listening:
        assert isinstance(listening, HttpConversation)
        waiting = session.begin_call("waits", {"reports": False}, token=token)
        assert isinstance(waiting, HttpConversation)
        session.server.wait_for_log("waits begins")
        for _ in range(5):
            listening.wait_for_comment()
        session.text("release")
        notices, answer = waiting.rest()
        assert (notices, answer["result"]["content"][0]["text"]) == ([], "waited")
        assert waiting.streamed is (token is not None)
        assert (waiting.comments > 0) is waiting.streamed


def test_no_time_limit_of_anything_else_ends_a_stream(serve_with: Callable[..., Any]) -> None:
    times = ("head_timeout", "body_timeout", "write_timeout", "keep_alive_interval")
    session: HttpSession = serve_with(HttpSession, **dict.fromkeys(times, 0.5))
    with session.listen(**WANTED) as listening, session.begin_call("waits", token=1) as waiting:
        assert isinstance(listening, HttpConversation)
        assert isinstance(waiting, HttpConversation)
        waiting.notice()
        for _ in range(3):
            listening.wait_for_comment()
            waiting.wait_for_comment()
        session.text("changes")
        assert listening.notice()["method"] == "notifications/tools/list_changed"
        session.text("release")
        assert waiting.rest()[1]["result"]["content"][0]["text"] == "waited"


def test_the_time_for_a_call_is_no_time_for_a_subscription(
    write_app: Callable[[str], Path],
) -> None:
    source = STREAMS.replace("limits=LIMITS", 'timeout=1.0, limits={"keep_alive_interval": 0.2}')
    session = HttpSession(write_app(source))
    try:
        with session.listen(**WANTED) as listening:
            assert isinstance(listening, HttpConversation)
            for _ in range(6):
                listening.wait_for_comment()
            session.text("changes")
            assert listening.notice()["method"] == "notifications/tools/list_changed"
    finally:
        session.close()


# Shutdown


def completed(conversation: Conversation) -> list[str]:
    """What was told before the graceful end, which must follow."""
    notices, answer = conversation.rest()
    id = conversation.message["id"]
    assert answer["result"]["resultType"] == "complete"
    assert answer["result"]["_meta"][SUBSCRIPTION] == id
    return [notice["method"] for notice in notices]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_completes_all_streams_over_http(
    serve_with: Callable[..., Any], number: int
) -> None:
    session: HttpSession = serve_with(HttpSession)
    listening = [session.listen(**WANTED) for _ in range(20)]
    with session.begin_call("waits", token=1) as waiting:
        assert waiting.notice()["params"]["progress"] == 1
        session.text("changes")
        session.text("release")
        session.server.signal(number)
        # What was published before is told before the end.
        for conversation in listening:
            assert completed(conversation) == [
                "notifications/tools/list_changed",
                "notifications/resources/updated",
            ]
        assert waiting.rest()[1]["result"]["content"][0]["text"] == "waited"
    assert session.server.wait(10) == 0
    assert "Traceback" not in session.log()


@pytest.mark.parametrize("how", ["the end of input", "a signal"])
def test_streams_complete_over_stdio_and_in_order(serve_with: Callable[..., Any], how: str) -> None:
    session: StdioSession = serve_with(StdioSession)
    listening = [session.listen(**WANTED) for _ in range(20)]
    session.text("changes")
    if how == "a signal":
        session.server.signal(signal.SIGTERM)
    else:
        session.server.end_input()
    for conversation in listening:
        assert completed(conversation) == [
            "notifications/tools/list_changed",
            "notifications/resources/updated",
        ]
    assert session.server.wait(10) in (0, 128 + signal.SIGTERM)
    assert "Traceback" not in session.log()


def test_a_client_that_left_is_told_nothing_at_the_end(serve_with: Callable[..., Any]) -> None:
    server: StdioServer = serve_with(StdioServer)
    for id in ("stays", "leaves"):
        server.write_message(request("subscriptions/listen", {"notifications": WANTED}, id=id))
        acknowledged = server.read_message()
        assert acknowledged["params"]["_meta"][SUBSCRIPTION] == id
    params = {"requestId": "leaves"}
    server.write_message({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
    server.ask(request("tools/list", id="after"))
    server.end_input()
    last = [json.loads(line) for line in server.rest()]
    assert [(message.get("method"), message["id"]) for message in last] == [(None, "stays")]
    assert server.wait(10) == 0


def test_a_listener_does_not_hold_a_server_that_is_told_twice(
    serve_with: Callable[..., Any],
) -> None:
    session: HttpSession = serve_with(HttpSession)
    with session.listen(**WANTED):
        session.server.signal(signal.SIGTERM)
        assert session.server.wait(10) == 0, "an open stream held the server"


def test_listeners_that_do_not_read_hold_no_server(serve_with: Callable[..., Any]) -> None:
    session: HttpSession = serve_with(HttpSession, drain_timeout=0.5)
    listening = [session.listen(**WANTED) for _ in range(5)]
    session.text("pads", {"times": 1000})
    session.server.signal(signal.SIGTERM)
    session.server.wait(10)
    for conversation in listening:
        conversation.leave()


@pytest.mark.parametrize("how", ["the end of input", "a signal"])
def test_a_pipe_that_nobody_reads_holds_no_server(
    write_app: Callable[[str], Path], how: str
) -> None:
    limits = {"drain_timeout": 0.5, "eof_timeout": 0.5, "write_timeout": 8}
    server = Process(write_app(STREAMS.replace("LIMITS", repr(limits))), "--stdio")
    try:
        stdin = server.popen.stdin
        assert stdin is not None
        call = {"name": "pads", "arguments": {"times": 1000}}
        for message in [
            request("subscriptions/listen", {"notifications": WANTED}, id="w"),
            request("tools/call", call, id="pads"),
        ]:
            stdin.write(json.dumps(message).encode() + b"\n")
        stdin.flush()
        server.wait_for_log("padded")
        if how == "a signal":
            server.signal(signal.SIGTERM)
        else:
            stdin.close()
        server.wait(20)
    finally:
        server.close()
