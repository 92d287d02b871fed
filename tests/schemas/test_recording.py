"""What overhears the servers of all other tests hears everything, and knows right from wrong."""

from __future__ import annotations

from typing import Any

import pytest

from driver import (
    HttpHandshake,
    HttpServer,
    ProcessSession,
    Session,
    StdioHandshake,
    StdioServer,
    head,
    list_everything,
    read_reply,
    recording,
    request,
)
from driver.recording import Talk
from driver.schemas import HANDSHAKE, NEWEST, REVISIONS, faults

APP = """
    from snodo import Context, Server

    server = Server("overheard", version="1.0.0")

    @server.tool
    def count(to: int, context: Context) -> dict:
        for done in range(to):
            context.progress(done)
        return {"to": to}
"""

TOOL = {"name": "add", "inputSchema": {"type": "object"}}
CACHED = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
TEXT = {"type": "text", "text": "x"}


def result(**members: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "result": members}


def error(code: int, **members: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": "x"} | members}


def notice(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": f"notifications/{method}", "params": params}


def test_every_call_is_overheard(serve: Any) -> None:
    session: Session = serve(APP)
    before = recording.seen(NEWEST)
    session.call("count", {"to": 0})
    session.ask("tools/list")
    assert recording.seen(NEWEST) == before + 2


def test_everything_on_a_stream_is_overheard(serve_process: Any) -> None:
    session: ProcessSession = serve_process(APP)
    before = recording.seen(NEWEST)
    notices, _ = session.hear("count", {"to": 3}, token="t")
    assert recording.seen(NEWEST) == before + len(notices) + 1 > before + 1


def test_several_responses_of_a_connection_are_overheard(write_app: Any) -> None:
    server = HttpServer(write_app(APP))
    try:
        before = recording.seen(NEWEST)
        with server.connect() as connection:
            for id in range(3):
                body = b'{"jsonrpc":"2.0","id":%d,"method":"no/such"}' % id
                headers = {"MCP-Protocol-Version": NEWEST, "Mcp-Method": "no/such"}
                connection.sendall(head("POST", server.path, body, headers) + body)
                read_reply(connection)
        assert recording.seen(NEWEST) == before + 3
    finally:
        server.close()


def test_what_is_listed_is_overheard_in_every_revision(write_app: Any) -> None:
    server = HttpServer(write_app(APP))
    try:
        before = {revision: recording.seen(revision) for revision in HANDSHAKE}
        list_everything(server)
        seen = {revision: recording.seen(revision) - before[revision] for revision in HANDSHAKE}
        assert seen == dict.fromkeys(HANDSHAKE, 4)
    finally:
        server.close()


@pytest.mark.parametrize("revision", HANDSHAKE)
def test_sessions_are_overheard_in_their_revision(write_app: Any, revision: str) -> None:
    http, pipe = HttpServer(write_app(APP)), StdioServer(write_app(APP))
    try:
        for client in (HttpHandshake(http, revision), StdioHandshake(pipe, revision)):
            before = recording.seen(revision)
            params = {"name": "count", "arguments": {"to": 3}, "_meta": {"progressToken": "t"}}
            with client.begin("tools/call", params) as conversation:
                notices, _ = conversation.rest()
            assert len(notices) == 3
            assert recording.seen(revision) == before + 4
    finally:
        http.close()
        pipe.close()


def test_what_breaks_a_schema_is_told() -> None:
    talk = Talk(NEWEST)
    talk.ask(request("tools/list"))
    talk.say(result(tools=[TOOL], **CACHED))
    assert recording.complaints() == []
    talk.say(result(tools=[TOOL]))
    (found, *_) = recording.complaints()
    assert found.startswith(f"{NEWEST}: ")
    assert "resultType" in found


@pytest.mark.parametrize("revision", REVISIONS)
def test_what_is_right_passes(revision: str) -> None:
    assert faults(revision, error(-32601), None) == []
    assert faults(revision, error(-32601) | {"id": "a"}, "x") == []
    assert faults(revision, notice("progress", progressToken=1, progress=0.5), None) == []
    assert faults(revision, notice("message", level="info", data=None), None) == []
    assert faults(revision, notice("tools/list_changed"), None) == []
    unread = error(-32700)
    del unread["id"]
    assert faults(revision, unread, None) == []


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize(
    "message",
    [
        {},
        [],
        "text",
        {"jsonrpc": "2.0", "id": 1, "result": None},
        {"jsonrpc": "1.0", "id": 1, "error": {"code": 1, "message": "x"}},
        {"jsonrpc": "2.0", "id": None, "error": {"code": 1, "message": "x"}},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": "1", "message": "x"}},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": 1}},
        notice("progress", progress=1),
        notice("message", level="loud", data=1),
        notice("unheard/of"),
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {}},
        {"jsonrpc": "2.0", "id": 1, "result": {"content": "x"}},
        {"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "smell"}]}},
        {"jsonrpc": "2.0", "id": 1, "result": {}},
    ],
    ids=str,
)
def test_what_is_wrong_in_every_revision_does_not_pass(revision: str, message: Any) -> None:
    assert faults(revision, message, "tools/call")


@pytest.mark.parametrize("revision", HANDSHAKE)
def test_the_newest_revision_is_not_spoken_to_older_clients(revision: str) -> None:
    assert faults(revision, result(content=[TEXT]), "tools/call") == []
    assert faults(revision, result(content=[TEXT], resultType="complete"), "tools/call")
    assert faults(revision, result(tools=[TOOL], **CACHED), "tools/list")
    assert faults(revision, result(supportedVersions=[revision]), "server/discover")
    assert faults(revision, error(-32021, data={"requiredCapabilities": {}}), "tools/call")
    assert faults(revision, notice("subscriptions/acknowledged", notifications={}), None)


def test_older_revisions_are_not_spoken_to_the_newest_clients() -> None:
    asked = {"jsonrpc": "2.0", "id": 1, "method": "roots/list"}
    assert faults(NEWEST, asked, None)
    assert faults(NEWEST, result(content=[TEXT]), "tools/call")
    assert faults(NEWEST, result(**CACHED), "ping")
    assert faults(NEWEST, error(-32002), "resources/read")
    assert faults(NEWEST, error(-32042, data={"elicitations": []}), "tools/call")
    assert faults("2025-11-25", asked, None) == []


def test_a_complete_result_lacks_nothing() -> None:
    """The published union would take it for one that asks for input."""
    assert faults(NEWEST, result(resultType="complete"), "tools/call")
    assert faults(NEWEST, result(resultType="complete", contents=[]), "resources/read")
    assert faults(NEWEST, result(resultType="input_required", requestState="s"), "tools/list")
    assert faults(NEWEST, result(resultType="input_required", requestState="s"), "tools/call") == []


@pytest.mark.parametrize("revision", ["2026-07-28", "2025-11-25"])
def test_numbers_of_a_form_may_be_fractions(revision: str) -> None:
    number = {"type": "number", "default": 95.5, "minimum": 0.5}
    schema = {"type": "object", "properties": {"score": number}}
    params = {"mode": "form", "message": "x", "requestedSchema": schema}
    asked = {"method": "elicitation/create", "params": params}
    if revision == NEWEST:
        message = result(resultType="input_required", inputRequests={"k": asked})
        wrong = result(resultType="input_required", inputRequests={"k": {"method": "ping"}})
    else:
        message = {"jsonrpc": "2.0", "id": "q", **asked}
        wrong = {**message, "params": {"message": 1}}
    assert faults(revision, message, "tools/call") == []
    assert faults(revision, wrong, "tools/call")
