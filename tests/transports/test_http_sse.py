"""HTTP+SSE of 2024-11-05, for old hosts: off unless `--legacy-sse` is given."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from driver import (
    AsgiServer,
    HttpHandshake,
    HttpReply,
    HttpServer,
    SseHandshake,
    exchange,
    head,
    wait_until,
)

APP = """
import sys
import threading

from snodo import Context, Server, sampling

server = Server("old", version="1.0.0")
gate = threading.Event()
WORD = sampling.create_message("One word?", 16)


@server.tool
def echo(text: str) -> str:
    return text


@server.tool
def reports(context: Context) -> str:
    context.progress(1, 2, "half")
    context.log("warning", "hot")
    return "reported"


@server.tool
def asks(context: Context) -> str:
    return context.ask("word", WORD).value.text


@server.tool
async def lasts() -> str:
    import asyncio
    print("lasts begins", file=sys.stderr, flush=True)
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        print("lasts cancelled", file=sys.stderr, flush=True)
        raise


@server.resource("note://{id}")
def note(id: str) -> str:
    return id


@server.tool
def announce(uri: str) -> str:
    server.notify.tools_changed()
    server.notify.resource_updated(uri)
    return "announced"
"""
SAMPLED = {"role": "assistant", "content": {"type": "text", "text": "glad"}, "model": "m"}


@pytest.fixture(scope="module", params=[HttpServer, AsgiServer], ids=["alone", "asgi"])
def server(
    request: pytest.FixtureRequest, write_app: Callable[[str], Path]
) -> Iterator[HttpServer]:
    server: HttpServer = request.param(write_app(APP), "--legacy-sse")
    yield server
    server.close()


@pytest.fixture
def client(server: HttpServer) -> Iterator[SseHandshake]:
    client = SseHandshake(server)
    yield client
    client.close()


def get(server: HttpServer, path: str, **headers: str | None) -> HttpReply:
    lines = {"Accept": "text/event-stream", "Content-Type": None} | headers
    return exchange(server, head("GET", path, headers=lines))


def test_it_is_off_by_default(write_app: Callable[[str], Path]) -> None:
    server = HttpServer(write_app(APP))
    try:
        assert get(server, "/sse").status == 404
        assert server.post(b"{}").status == 400
    finally:
        server.close()


def test_the_first_event_says_where_to_post(client: SseHandshake) -> None:
    assert client.box.startswith("/messages?")
    assert client.opened["protocolVersion"] == "2024-11-05"
    assert client.text("echo", {"text": "茶"}) == "茶"


def test_what_is_said_comes_on_the_stream(client: SseHandshake) -> None:
    params = {"name": "reports", "arguments": {}, "_meta": {"progressToken": "t"}}
    with client.begin("tools/call", params) as conversation:
        notices, answer = conversation.rest()
    assert [notice["method"] for notice in notices] == [
        "notifications/progress",
        "notifications/message",
    ]
    assert answer["result"]["content"][0]["text"] == "reported"


def test_the_client_is_asked(client: SseHandshake) -> None:
    asked, result = client.questioned("tools/call", {"name": "asks"}, lambda _: SAMPLED)
    assert len(asked) == 1
    assert result["content"][0]["text"] == "glad"


def test_changes_are_told(client: SseHandshake) -> None:
    client.ask("resources/subscribe", {"uri": "note://1"})
    client.text("announce", {"uri": "note://1"})
    heard = {client.changes().notice()["method"] for _ in range(2)}
    assert heard == {"notifications/tools/list_changed", "notifications/resources/updated"}


def test_a_call_is_cancelled(client: SseHandshake) -> None:
    with client.begin_call("lasts") as conversation:
        client.server.wait_for_log("lasts begins")
        conversation.leave()
    client.server.wait_for_log("lasts cancelled")
    assert client.text("echo", {"text": "on"}) == "on"


def test_newer_revisions_may_be_spoken_on_it(server: HttpServer) -> None:
    client = SseHandshake(server, "2025-06-18")
    assert client.call("echo", {"text": "x"})["content"][0]["text"] == "x"
    client.close()


def test_clients_are_kept_apart(server: HttpServer) -> None:
    one, other = SseHandshake(server), SseHandshake(server)
    assert one.box != other.box
    assert one.text("echo", {"text": "one"}) == "one"
    assert other.text("echo", {"text": "other"}) == "other"
    one.close()
    assert other.text("echo", {"text": "still"}) == "still"
    other.close()


def test_the_end_of_the_stream_is_the_end_of_the_session(server: HttpServer) -> None:
    client = SseHandshake(server)
    client.close()
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()

    def is_gone() -> bool:
        return exchange(server, head("POST", client.box, body) + body).status == 404

    wait_until(is_gone, "the end of the session")


@pytest.mark.parametrize(
    "box", ["/messages", "/messages?session=", "/messages?session=" + "0" * 32]
)
def test_a_box_that_never_was_takes_nothing(server: HttpServer, box: str) -> None:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()
    assert exchange(server, head("POST", box, body) + body).status == 404


@pytest.mark.parametrize("headers", [{"Origin": "http://evil.example.com"}, {"Host": "evil.com"}])
def test_a_strange_origin_is_refused(
    server: HttpServer, client: SseHandshake, headers: dict[str, str]
) -> None:
    assert get(server, "/sse", **headers).status == 403
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()
    assert exchange(server, head("POST", client.box, body, headers) + body).status == 403  # type: ignore[arg-type]


def test_the_newer_way_is_served_beside_it(server: HttpServer) -> None:
    assert HttpHandshake(server, "2025-11-25").text("echo", {"text": "new"}) == "new"


def test_a_signal_ends_the_streams(write_app: Callable[[str], Path]) -> None:
    server = HttpServer(write_app(APP), "--legacy-sse")
    try:
        clients = [SseHandshake(server) for _ in range(10)]
        server.signal(signal.SIGTERM)
        assert server.wait(10) == 0
        for client in clients:
            client.close()
    finally:
        server.close()
