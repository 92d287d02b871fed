"""Sessions over HTTP: how they begin and end, their streams, and what is kept of these."""

from __future__ import annotations

import json
import re
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from driver import (
    HANDSHAKES,
    HttpHandshake,
    HttpReply,
    HttpServer,
    exchange,
    head,
    initialize,
    read_reply,
    wait_until,
)

APP = """
import asyncio
import sys
import threading

from snodo import Context, Server, sampling

server = Server("sessions", version="1.0.0", limits=LIMITS)
gate = threading.Event()
WORD = sampling.create_message("One word?", 16)


@server.tool
def quick() -> str:
    return "quick"


@server.tool
def opens_gate() -> str:
    gate.set()
    return "open"


@server.tool
def waits(context: Context) -> str:
    gate.clear()
    context.progress(1, 3)
    print("waits begins", file=sys.stderr, flush=True)
    gate.wait(30)
    context.progress(2, 3)
    context.log("warning", "waited")
    print("waits ends", file=sys.stderr, flush=True)
    return "waited"


@server.tool
async def lasts(context: Context) -> str:
    context.progress(1)
    print("lasts begins", file=sys.stderr, flush=True)
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        print("lasts cancelled", file=sys.stderr, flush=True)
        raise
    return "never"


@server.tool
def counts(context: Context, to: int) -> str:
    for done in range(to):
        context.log("warning", done)
    return "counted"


@server.tool
def asks(context: Context) -> str:
    return context.ask("word", WORD).value.text


@server.resource("note://{id}")
def note(id: str) -> str:
    return id


@server.tool
def announce(uri: str) -> str:
    server.notify.tools_changed()
    server.notify.resource_updated(uri)
    return "announced"
"""

# So long that no request of a client that goes on is late, however slow the machine is.
IDLE = 1.0

SAMPLED = {"role": "assistant", "content": {"type": "text", "text": "glad"}, "model": "m"}


@pytest.fixture(scope="module")
def serve_with(write_app: Callable[[str], Path]) -> Iterator[Callable[..., HttpServer]]:
    """A server with these limits; each is started once."""
    opened: dict[str, HttpServer] = {}

    def serve_with(**limits: float) -> HttpServer:
        source = APP.replace("LIMITS", repr(limits))
        if source not in opened:
            opened[source] = HttpServer(write_app(source))
        return opened[source]

    yield serve_with
    for server in opened.values():
        server.close()


@pytest.fixture
def server(serve_with: Callable[..., HttpServer]) -> HttpServer:
    return serve_with()


def verb(server: HttpServer, name: str, **headers: str | None) -> HttpReply:
    """A request without a body; `headers` with `_` for `-`."""
    lines = {key.replace("_", "-"): value for key, value in headers.items()}
    if name == "GET":
        lines = {"Accept": "text/event-stream"} | lines
    return exchange(server, head(name, server.path, b"", lines | {"Content-Type": None}))


def refused(reply: HttpReply, status: int) -> str:
    assert reply.status == status, reply
    error = reply.json()["error"]
    assert error["code"] == -32600
    message: str = error["message"]
    return message


def call(tool: str, arguments: dict[str, Any] | None = None, **meta: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments or {}} | ({"_meta": meta} if meta else {})
    return {"jsonrpc": "2.0", "id": f"call {tool}", "method": "tools/call", "params": params}


def text(answer: dict[str, Any]) -> str:
    (block,) = answer["result"]["content"]
    found: str = block["text"]
    return found


handshakes = pytest.mark.parametrize("revision", HANDSHAKES)


# Beginning and end


@handshakes
def test_a_handshake_begins_a_session_whose_id_nobody_guesses(
    server: HttpServer, revision: str
) -> None:
    sessions = [HttpHandshake(server, revision) for _ in range(20)]
    ids = {session.id for session in sessions}
    assert len(ids) == 20
    for id in ids:
        assert re.fullmatch(r"[\x21-\x7e]{22,}", id), id
    firsts = {id[:6] for id in ids}
    assert len(firsts) > 15, "ids have much in common"


def test_a_handshake_that_is_refused_begins_none(server: HttpServer) -> None:
    message = initialize("2025-11-25")
    del message["params"]["clientInfo"]
    reply = server.post(json.dumps(message).encode())
    assert reply.json()["error"]["code"] == -32602
    assert "mcp-session-id" not in reply.headers


@handshakes
def test_a_session_that_was_ended_is_not_found(server: HttpServer, revision: str) -> None:
    session = HttpHandshake(server, revision)
    assert session.post({"jsonrpc": "2.0", "id": 1, "method": "ping"}).status == 200
    reply = session.delete()
    assert (reply.status, reply.body) == (204, b"")
    for message in (
        {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": "x", "result": {}},
        call("quick"),
    ):
        assert "initialize" in refused(session.post(message), 404)
    assert "initialize" in refused(session.delete(), 404)
    assert "initialize" in refused(verb(server, "GET", Mcp_Session_Id=session.id), 404)
    again = session.post(initialize(revision))
    assert again.status == 200
    assert again.headers["mcp-session-id"] != session.id


@pytest.mark.parametrize("id", ["", "x", "0" * 32, "0" * 31, "A" * 32, "é" * 16, "x" * 5000])
def test_a_session_that_never_was_is_not_found(server: HttpServer, id: str) -> None:
    body = json.dumps(call("quick")).encode()
    headers: dict[str, str | None] = {"Mcp-Session-Id": id, "MCP-Protocol-Version": "2025-11-25"}
    refused(server.post(body, headers), 404)
    refused(verb(server, "GET", Mcp_Session_Id=id), 404)
    refused(verb(server, "DELETE", Mcp_Session_Id=id), 404)


def test_two_session_ids_are_none(server: HttpServer) -> None:
    one, two = HttpHandshake(server, "2025-11-25"), HttpHandshake(server, "2025-11-25")
    raw = head("DELETE", server.path, b"", one.headers).replace(
        b"Mcp-Session-Id", f"Mcp-Session-Id: {two.id}\r\nMcp-Session-Id".encode()
    )
    refused(exchange(server, raw), 404)
    assert one.text("quick") == two.text("quick") == "quick"


@pytest.mark.parametrize("name", ["GET", "DELETE"])
def test_without_a_session_only_post_is_taken(server: HttpServer, name: str) -> None:
    reply = verb(server, name)
    assert "POST" in refused(reply, 405)
    assert reply.headers["allow"] == "POST"


@pytest.mark.parametrize("name", ["GET", "DELETE"])
def test_sessions_are_of_older_revisions(server: HttpServer, name: str) -> None:
    """The newest revision ignores the header."""
    session = HttpHandshake(server, "2025-11-25")
    headers = {"Mcp_Session_Id": session.id, "MCP_Protocol_Version": "2026-07-28"}
    refused(verb(server, name, **headers), 405)
    assert session.text("quick") == "quick"


def test_a_server_of_the_newest_revision_alone_has_no_sessions(
    write_app: Callable[[str], Path],
) -> None:
    app = (
        'from snodo import Server\nserver = Server("new", version="1", protocols=["2026-07-28"])\n'
    )
    server = HttpServer(write_app(app))
    try:
        refused(verb(server, "DELETE", Mcp_Session_Id="0" * 32), 405)
        refused(verb(server, "GET", Mcp_Session_Id="0" * 32), 405)
    finally:
        server.close()


@pytest.mark.parametrize("name", ["POST", "GET", "DELETE"])
def test_a_strange_origin_gets_nowhere_near_a_session(server: HttpServer, name: str) -> None:
    session = HttpHandshake(server, "2025-11-25")
    for headers in ({"Origin": "http://evil.example.com"}, {"Host": "evil.example.com"}):
        body = json.dumps(call("quick")).encode() if name == "POST" else b""
        accept = {"Accept": "text/event-stream"} if name == "GET" else {}
        raw = head(name, server.path, body, session.headers | accept | headers) + body
        refused(exchange(server, raw), 403)
    assert session.text("quick") == "quick"


def test_a_page_of_an_allowed_origin_may_have_a_session(server: HttpServer) -> None:
    origin: dict[str, str | None] = {"Origin": f"http://localhost:{server.port}"}
    reply = server.post(json.dumps(initialize("2025-11-25")).encode(), origin)
    assert "Mcp-Session-Id" in reply.headers["access-control-expose-headers"]
    asks = {"Access-Control-Request-Method": "DELETE"} | origin
    allowed = exchange(server, head("OPTIONS", server.path, b"", asks)).headers
    assert "DELETE" in allowed["access-control-allow-methods"]
    assert "GET" in allowed["access-control-allow-methods"]
    assert "Last-Event-ID" in allowed["access-control-allow-headers"]
    assert "Mcp-Session-Id" in allowed["access-control-allow-headers"]


def test_ending_a_session_cancels_its_calls(server: HttpServer) -> None:
    session = HttpHandshake(server, "2025-11-25")
    with session.converse(call("lasts", progressToken=1)) as conversation:
        conversation.notice()
        assert session.delete().status == 204
        server.wait_for_log("lasts cancelled")
        assert conversation.wait_for_end() == []


def test_there_are_only_so_many_sessions(serve_with: Callable[..., HttpServer]) -> None:
    server = serve_with(sessions=3)
    first, second, third = (HttpHandshake(server, "2025-11-25") for _ in range(3))
    assert first.text("quick") == "quick"  # now it is the second that is idle longest
    fourth = HttpHandshake(server, "2025-11-25")
    refused(second.post(call("quick")), 404)
    for session in (first, third, fourth):
        assert session.text("quick") == "quick"


def test_an_idle_session_ends(serve_with: Callable[..., HttpServer]) -> None:
    server = serve_with(session_idle=IDLE)
    session = HttpHandshake(server, "2025-11-25")
    assert session.text("quick") == "quick"
    wait_until(lambda: is_gone(server, session), "the end of an idle session", 10)


def test_a_session_in_use_is_not_idle(serve_with: Callable[..., HttpServer]) -> None:
    server = serve_with(session_idle=IDLE)
    listens, works = HttpHandshake(server, "2025-11-25"), HttpHandshake(server, "2025-11-25")
    with listens.changes(), works.converse(call("waits", progressToken=1)) as conversation:
        conversation.notice()
        others = [HttpHandshake(server, "2025-11-25") for _ in range(2)]
        for other in others:  # as long as it takes these to end
            wait_until(partial(is_gone, server, other), "the end of an idle session", 10)
        assert listens.text("opens_gate") == "open"
        assert text(conversation.rest()[1]) == "waited"


def is_gone(server: HttpServer, session: HttpHandshake) -> bool:
    """Looks from time to time, for whoever looks too often keeps it alive."""
    threading.Event().wait(IDLE * 1.1)
    return session.post({"jsonrpc": "2.0", "id": 1, "method": "ping"}).status == 404


# The streams of requests


@handshakes
def test_events_of_a_session_have_ids(server: HttpServer, revision: str) -> None:
    session = HttpHandshake(server, revision)
    seen: set[str] = set()
    for _ in range(2):
        with session.converse(call("counts", {"to": 3})) as conversation:
            notices, answer = conversation.rest()
        assert [notice["params"]["data"] for notice in notices] == [0, 1, 2]
        assert text(answer) == "counted"
        assert len(conversation.ids) == 4 + conversation.primed
        assert conversation.primed == (revision == "2025-11-25")
        assert seen.isdisjoint(conversation.ids)
        seen.update(conversation.ids)


def test_without_a_session_events_have_none(server: HttpServer) -> None:
    message = call("counts", {"to": 2})
    body = json.dumps(message).encode()
    headers: dict[str, str | None] = {"MCP-Protocol-Version": "2025-11-25"}
    reply = server.post(body, headers)
    assert reply.headers["content-type"] == "text/event-stream"
    assert reply.body.count(b"event: message\ndata: {") == 3
    assert b"id: " not in reply.body


def test_a_quick_answer_is_plain_json(server: HttpServer) -> None:
    session = HttpHandshake(server, "2025-11-25")
    reply = session.post(call("quick"))
    assert reply.headers["content-type"] == "application/json"
    assert text(reply.json()) == "quick"


def test_who_takes_no_events_gets_the_answer_alone(server: HttpServer) -> None:
    session = HttpHandshake(server, "2025-11-25")
    body = json.dumps(call("counts", {"to": 3}, progressToken=1)).encode()
    reply = server.post(body, session.headers | {"Accept": "application/json"})
    assert text(reply.json()) == "counted"


@handshakes
def test_a_lost_connection_cancels_nothing(server: HttpServer, revision: str) -> None:
    session = HttpHandshake(server, revision)
    before = server.log().count("waits ends")
    conversation = session.converse(call("waits", progressToken=1))
    conversation.notice()
    conversation.leave()
    assert session.text("opens_gate") == "open"
    wait_until(lambda: server.log().count("waits ends") > before, "the end of the work")


def test_nor_without_a_session(server: HttpServer) -> None:
    before = server.log().count("waits ends")
    begun = server.log().count("waits begins")
    body = json.dumps(call("waits")).encode()
    with server.connect() as connection:
        headers: dict[str, str | None] = {"MCP-Protocol-Version": "2025-06-18"}
        connection.sendall(head("POST", server.path, body, headers) + body)
        wait_until(lambda: server.log().count("waits begins") > begun, "the work")
    session = HttpHandshake(server, "2025-06-18")
    assert session.text("opens_gate") == "open"
    wait_until(lambda: server.log().count("waits ends") > before, "the end of the work")


@handshakes
def test_a_lost_stream_is_taken_up_where_it_broke(server: HttpServer, revision: str) -> None:
    session = HttpHandshake(server, revision)
    conversation = session.converse(call("waits", progressToken="t"))
    assert conversation.notice()["params"]["progress"] == 1
    last = conversation.ids[-1]
    conversation.leave()
    assert session.text("opens_gate") == "open"
    with session.changes(after=last) as again:
        notices, answer = again.rest()
    assert [notice["method"] for notice in notices] == [
        "notifications/progress",
        "notifications/message",
    ]
    assert answer["id"] == "call waits"
    assert text(answer) == "waited"
    # Once more: nobody knows what of it arrived.
    with session.changes(after=last) as again:
        assert again.rest() == (notices, answer)
    with session.changes(after=again.ids[0]) as rest:
        assert rest.rest() == (notices[1:], answer)


def test_a_stream_is_taken_up_from_its_priming_event(server: HttpServer) -> None:
    """MCP 2025-11-25: a client that comes back with the id of the first event hears everything."""
    session = HttpHandshake(server, "2025-11-25")
    with session.converse(call("counts", {"to": 2})) as conversation:
        whole = conversation.rest()
    with session.changes(after=conversation.ids[0]) as again:
        assert again.rest() == whole
    assert again.ids == conversation.ids[1:]


def test_a_silent_call_can_be_taken_up_too(server: HttpServer) -> None:
    """Its stream begins with the priming event alone."""
    session = HttpHandshake(server, "2025-11-25")
    begun = server.log().count("waits begins")
    conversation = session.converse(call("waits"))  # no token: nothing is said before the answer
    conversation.wait_for_priming()
    wait_until(lambda: server.log().count("waits begins") > begun, "the work")
    conversation.leave()
    assert session.text("opens_gate") == "open"
    with session.changes(after=conversation.ids[0]) as again:
        notices, answer = again.rest()
    assert [notice["method"] for notice in notices] == ["notifications/message"]
    assert text(answer) == "waited"


def test_a_question_survives_a_lost_connection(server: HttpServer) -> None:
    session = HttpHandshake(server, "2025-11-25")
    conversation = session.converse(call("asks"))
    conversation.wait_for_priming()
    conversation.leave()
    with session.changes(after=conversation.ids[0]) as again:
        question = again.next()
        assert question["method"] == "sampling/createMessage"
        session.reply(question, SAMPLED)
        _, answer = again.rest()
    assert text(answer) == "glad"


def test_only_the_stream_of_the_event_is_told_again(server: HttpServer) -> None:
    session = HttpHandshake(server, "2025-11-25")
    with session.converse(call("counts", {"to": 1})) as one:
        one.rest()
    with session.converse(call("counts", {"to": 5})) as other:
        other.rest()
    with session.changes(after=one.ids[0]) as again:
        notices, _ = again.rest()
    assert len(notices) == 1


def test_a_stream_of_another_session_is_not_told(server: HttpServer) -> None:
    one, other = HttpHandshake(server, "2025-11-25"), HttpHandshake(server, "2025-11-25")
    with one.converse(call("counts", {"to": 3})) as conversation:
        conversation.rest()
    with other.converse(call("counts", {"to": 1})) as mine:
        mine.rest()
    # Streams are numbered in each session: the same id is another stream there.
    with other.changes(after=mine.ids[0]) as again:
        assert len(again.rest()[0]) == 1


@pytest.mark.parametrize("id", ["", "x", "1", "1-", "999-1", "1-2-3", "-1-1", "1e3-1", "é"])
def test_an_event_that_never_was_is_refused(server: HttpServer, id: str) -> None:
    session = HttpHandshake(server, "2025-11-25")
    reply = verb(server, "GET", Mcp_Session_Id=session.id, Last_Event_ID=id)
    assert "Last-Event-ID" in refused(reply, 400)


def test_what_is_kept_is_bounded(serve_with: Callable[..., HttpServer]) -> None:
    server = serve_with(replay_events=4)
    session = HttpHandshake(server, "2025-11-25")
    with session.converse(call("counts", {"to": 50})) as conversation:
        conversation.rest()
    with session.changes(after=conversation.ids[0]) as again:
        notices, answer = again.rest()
    assert [notice["params"]["data"] for notice in notices] == [47, 48, 49]
    assert text(answer) == "counted"


@handshakes
def test_a_call_is_cancelled_by_a_notification(server: HttpServer, revision: str) -> None:
    session = HttpHandshake(server, revision)
    before = server.log().count("lasts cancelled")
    with session.converse(call("lasts", progressToken=1)) as conversation:
        conversation.notice()
        session.notify("cancelled", requestId="call lasts")
        wait_until(lambda: server.log().count("lasts cancelled") > before, "cancellation")
        assert conversation.wait_for_end() == []


def test_nobody_cancels_the_calls_of_another_session(server: HttpServer) -> None:
    one, other = HttpHandshake(server, "2025-11-25"), HttpHandshake(server, "2025-11-25")
    with one.converse(call("waits", progressToken=1)) as conversation:
        conversation.notice()
        other.notify("cancelled", requestId="call waits")
        params = {"requestId": "call waits"}
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
        assert server.post(json.dumps(cancel).encode()).status == 202
        assert other.text("opens_gate") == "open"
        assert text(conversation.rest()[1]) == "waited"


def test_nobody_answers_the_questions_of_another_session(server: HttpServer) -> None:
    one, other = HttpHandshake(server, "2025-11-25"), HttpHandshake(server, "2025-11-25")
    with one.converse(call("asks")) as conversation:
        question = conversation.next()
        other.reply(question, SAMPLED | {"content": {"type": "text", "text": "forged"}})
        one.reply(question, SAMPLED)
        assert text(conversation.rest()[1]) == "glad"


# The stream of the session


@handshakes
def test_a_session_hears_of_changes_on_one_stream(server: HttpServer, revision: str) -> None:
    session = HttpHandshake(server, revision)
    session.ask("resources/subscribe", {"uri": "note://1"})
    with session.changes() as stream:
        session.text("announce", {"uri": "note://2"})
        assert stream.notice()["method"] == "notifications/tools/list_changed"
        session.text("announce", {"uri": "note://1"})
        heard = [stream.notice() for _ in range(2)]
        assert "notifications/tools/list_changed" in [message["method"] for message in heard]
        assert {"uri": "note://1"} in [message.get("params") for message in heard]
        session.ask("resources/unsubscribe", {"uri": "note://1"})
        session.text("announce", {"uri": "note://1"})
        assert stream.notice()["method"] == "notifications/tools/list_changed"
        assert session.delete().status == 204
        assert stream.wait_for_end() == []


def test_a_second_stream_takes_the_place_of_the_first(server: HttpServer) -> None:
    """Never is one message sent on several streams."""
    session = HttpHandshake(server, "2025-11-25")
    first = session.changes()
    with session.changes() as second:
        assert first.wait_for_end() == []
        session.text("announce", {"uri": "note://1"})
        assert second.notice()["method"] == "notifications/tools/list_changed"


def test_changes_that_were_missed_are_told_to_who_comes_back(server: HttpServer) -> None:
    session = HttpHandshake(server, "2025-11-25")
    with session.changes() as stream:
        session.text("announce", {"uri": "note://1"})
        stream.notice()
        session.ask("resources/subscribe", {"uri": "note://1"})
        session.text("announce", {"uri": "note://1"})
        stream.notice()
        stream.notice()
    first = stream.ids[0]
    with session.changes(after=first) as again:
        heard = {again.notice()["method"] for _ in range(2)}
    assert heard == {"notifications/tools/list_changed", "notifications/resources/updated"}


def test_a_stream_of_changes_wants_events(server: HttpServer) -> None:
    session = HttpHandshake(server, "2025-11-25")
    reply = verb(server, "GET", Mcp_Session_Id=session.id, Accept="application/json")
    refused(reply, 406)


def test_requests_are_answered_on_their_own_stream(server: HttpServer) -> None:
    session = HttpHandshake(server, "2025-11-25")
    with session.changes() as stream:
        with session.converse(call("counts", {"to": 3})) as conversation:
            assert len(conversation.rest()[0]) == 3
        session.text("announce", {"uri": "note://1"})
        assert stream.notice()["method"] == "notifications/tools/list_changed"


# The level of the log


def test_a_level_is_the_sessions(server: HttpServer) -> None:
    one, other = HttpHandshake(server, "2025-11-25"), HttpHandshake(server, "2025-11-25")
    one.ask("logging/setLevel", {"level": "error"})
    with one.converse(call("counts", {"to": 2})) as conversation:
        assert conversation.rest()[0] == []
    with other.converse(call("counts", {"to": 2})) as conversation:
        assert len(conversation.rest()[0]) == 2


# Many


@pytest.mark.timeout(240)
def test_fifty_thousand_handshakes_cost_no_more_than_the_cap(server: HttpServer) -> None:
    body = json.dumps(initialize("2025-11-25", {"roots": {}})).encode()
    raw = head("POST", server.path, body) + body
    first = HttpHandshake(server, "2025-11-25")

    def open_many(count: int) -> None:
        with server.connect(60) as connection:
            for _ in range(count):
                connection.sendall(raw)
                assert read_reply(connection).status == 200

    def grow(count: int) -> int:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(open_many, [count // 4] * 4))
        return resident(server.popen.pid)

    before = grow(200)
    at_cap = grow(12_000)
    assert at_cap - before < 10_000 * 2048 + (4 << 20), "an idle session takes less than 2 KB"
    refused(first.post(call("quick")), 404)
    assert grow(38_000) - at_cap < 8 << 20
    assert HttpHandshake(server, "2025-11-25").text("quick") == "quick"


def test_clients_that_vanish_when_they_are_asked_leave_nothing(server: HttpServer) -> None:
    session = HttpHandshake(server, "2025-11-25")
    for number in range(600):  # more than may be asked at a time
        session.post({"jsonrpc": "2.0", "id": 1, "method": "ping"})
        one = HttpHandshake(server, "2025-11-25") if number % 2 else session
        conversation = one.converse(call("asks") | {"id": number})
        conversation.wait_for_priming()
        conversation.leave()
        if one is session:
            session.notify("cancelled", requestId=number)
        else:
            assert one.delete().status == 204
    with session.converse(call("asks")) as conversation:
        session.reply(conversation.next(), SAMPLED)
        assert text(conversation.rest()[1]) == "glad"


def resident(pid: int) -> int:
    """Bytes in memory."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no VmRSS")


@pytest.mark.timeout(240)
def test_a_thousand_open_streams_end_with_the_server(write_app: Callable[[str], Path]) -> None:
    server = HttpServer(write_app(APP.replace("LIMITS", "{}")))
    with ExitStack() as stack:
        stack.callback(server.close)
        streams = []
        for _ in range(1000):
            session = HttpHandshake(server, "2025-11-25")
            streams.append(stack.enter_context(session.changes()))
        session.text("announce", {"uri": "note://1"})
        for stream in streams:
            assert stream.notice()["method"] == "notifications/tools/list_changed"
        server.signal(signal.SIGTERM)
        for stream in streams:
            assert stream.wait_for_end() == []
            stream.left = True
        assert server.wait(20) == 0


def test_a_question_does_not_hold_a_server_that_ends(write_app: Callable[[str], Path]) -> None:
    server = HttpServer(write_app(APP.replace("LIMITS", '{"drain_timeout": 0.5}')))
    with ExitStack() as stack:
        stack.callback(server.close)
        session = HttpHandshake(server, "2025-11-25")
        conversation = stack.enter_context(session.converse(call("asks")))
        assert conversation.next()["method"] == "sampling/createMessage"
        server.signal(signal.SIGTERM)
        server.wait(10)
