"""A pipe is one session: whoever opens it with a handshake, and whoever else speaks on it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from driver import (
    HANDSHAKES,
    INITIALIZED,
    SUBSCRIPTION,
    StdioHandshake,
    StdioServer,
    initialize,
    request,
)

APP = """
import asyncio
import sys

from snodo import Context, Server, sampling

server = Server("pipe", version="1.0.0")
WORD = sampling.create_message("One word?", 16)


@server.tool
def echo(text: str) -> str:
    return text


@server.tool
def logs(context: Context) -> str:
    context.log("debug", "low")
    context.log("info", "middle")
    context.log("error", "high")
    return "logged"


@server.tool
def asks(context: Context) -> str:
    return context.ask("word", WORD).value.text


@server.tool
async def lasts() -> str:
    print("lasts begins", file=sys.stderr, flush=True)
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        print("lasts cancelled", file=sys.stderr, flush=True)
        raise
    return "never"


@server.tool
def announce(uri: str) -> str:
    server.notify.tools_changed()
    server.notify.resource_updated(uri)
    return "announced"


@server.resource("note://{id}")
def note(id: str) -> str:
    return id
"""

SAMPLED = {"role": "assistant", "content": {"type": "text", "text": "glad"}, "model": "m"}


@pytest.fixture
def pipe(write_app: Callable[[str], Path]) -> Iterator[StdioServer]:
    """A server to which nobody has said anything."""
    server = StdioServer(write_app(APP))
    yield server
    server.close()


def bare(method: str, params: dict[str, Any] | None = None, id: Any = 1) -> dict[str, Any]:
    message = {"jsonrpc": "2.0", "id": id, "method": method}
    return message if params is None else message | {"params": params}


def echo(text: str, id: Any = 1) -> dict[str, Any]:
    return bare("tools/call", {"name": "echo", "arguments": {"text": text}}, id)


def text(answer: dict[str, Any]) -> str:
    (block,) = answer["result"]["content"]
    found: str = block["text"]
    return found


def unordered(client: StdioHandshake, count: int) -> list[Any]:
    """What came unasked, by kind."""
    heard = [client.changes().notice() for _ in range(count)]
    return sorted((each["method"], each.get("params", {}).get("uri", "")) for each in heard)


handshakes = pytest.mark.parametrize("revision", HANDSHAKES)
TOOLS = ("notifications/tools/list_changed", "")


def updated(uri: str) -> tuple[str, str]:
    return ("notifications/resources/updated", uri)


def test_before_the_handshake_only_a_ping_is_answered(pipe: StdioServer) -> None:
    assert pipe.ask(bare("ping"))["result"] == {}
    for method in ("tools/list", "tools/call", "logging/setLevel", "resources/subscribe"):
        error = pipe.ask(bare(method))["error"]
        assert error["code"] == -32602
        assert "initialize" in error["message"]
        assert "2026-07-28" in error["message"]
    assert pipe.ask(initialize("2025-11-25"))["result"]["protocolVersion"] == "2025-11-25"
    assert text(pipe.ask(echo("served"))) == "served"


@handshakes
def test_a_client_that_probes_with_the_newest_revision_may_shake_hands_then(
    pipe: StdioServer, revision: str
) -> None:
    discovered = pipe.ask(request("server/discover"))["result"]
    assert revision in discovered["supportedVersions"]
    assert pipe.ask(initialize(revision))["result"]["protocolVersion"] == revision
    pipe.write_message(INITIALIZED)
    assert text(pipe.ask(echo("served"))) == "served"


@handshakes
def test_both_eras_are_spoken_on_one_pipe(pipe: StdioServer, revision: str) -> None:
    client = StdioHandshake(pipe, revision, {})
    old = client.call("echo", {"text": "old"})
    assert "resultType" not in old
    params = {"name": "echo", "arguments": {"text": "new"}}
    message = request("tools/call", params, id="new")
    with client.converse(message) as conversation:
        _, new = conversation.rest()
    assert new["result"]["resultType"] == "complete"
    # Only what says so itself is of the newest revision.
    assert "resultType" not in client.call("echo", {"text": "old"})


def test_the_newest_revision_is_never_asked_by_requests(pipe: StdioServer) -> None:
    client = StdioHandshake(pipe, "2025-11-25")
    able = {"clientCapabilities": {"sampling": {}}}
    params = {"name": "asks", "arguments": {}}
    with client.converse(request("tools/call", params, id="new", **able)) as conversation:
        _, answer = conversation.rest()
    assert answer["result"]["resultType"] == "input_required"
    asked, result = client.questioned("tools/call", params, lambda _: SAMPLED)
    assert len(asked) == 1
    assert result["content"][0]["text"] == "glad"


def test_each_era_hears_of_changes_in_its_own_way(pipe: StdioServer) -> None:
    client = StdioHandshake(pipe, "2025-11-25")
    client.ask("resources/subscribe", {"uri": "note://1"})
    wanted = {"notifications": {"resourceSubscriptions": ["note://2"]}}
    client.say(request("subscriptions/listen", wanted, id="new"))
    acknowledged = client.changes().notice()
    assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
    client.text("announce", {"uri": "note://1"})
    assert unordered(client, 2) == [updated("note://1"), TOOLS]
    client.text("announce", {"uri": "note://2"})
    heard = [client.changes().notice() for _ in range(2)]
    (new,) = [each for each in heard if SUBSCRIPTION in each.get("params", {}).get("_meta", {})]
    assert new["params"]["uri"] == "note://2"


@handshakes
def test_a_pipe_remembers_the_level(pipe: StdioServer, revision: str) -> None:
    client = StdioHandshake(pipe, revision)

    def heard() -> list[str]:
        with client.begin_call("logs") as conversation:
            notices, _ = conversation.rest()
        return [notice["params"]["data"] for notice in notices]

    assert heard() == ["middle", "high"]
    for level, expected in (("debug", ["low", "middle", "high"]), ("critical", [])):
        assert client.ask("logging/setLevel", {"level": level}) == {}
        assert heard() == expected


@handshakes
def test_a_pipe_hears_of_what_it_watches(pipe: StdioServer, revision: str) -> None:
    client = StdioHandshake(pipe, revision)
    client.text("announce", {"uri": "note://1"})
    assert unordered(client, 1) == [TOOLS]
    client.ask("resources/subscribe", {"uri": "note://1"})
    client.ask("resources/subscribe", {"uri": "note://1"})  # twice is once
    client.text("announce", {"uri": "note://1"})
    assert unordered(client, 2) == [updated("note://1"), TOOLS]
    client.text("announce", {"uri": "note://2"})
    assert unordered(client, 1) == [TOOLS]
    client.ask("resources/unsubscribe", {"uri": "note://1"})
    client.text("announce", {"uri": "note://1"})
    client.text("announce", {"uri": "note://1"})
    assert unordered(client, 2) == [TOOLS, TOOLS]


def test_a_second_handshake_begins_anew(pipe: StdioServer) -> None:
    client = StdioHandshake(pipe, "2025-11-25", {})
    client.ask("resources/subscribe", {"uri": "note://1"})
    client.ask("logging/setLevel", {"level": "critical"})
    opened = client.ask("initialize", initialize("2024-11-05", {"sampling": {}})["params"])
    assert opened["protocolVersion"] == "2024-11-05"
    client.say(INITIALIZED)
    with client.begin_call("logs") as conversation:
        assert len(conversation.rest()[0]) == 2
    client.text("announce", {"uri": "note://1"})
    assert unordered(client, 1) == [TOOLS]
    asked, _ = client.questioned("tools/call", {"name": "asks"}, lambda _: SAMPLED)
    assert len(asked) == 1


def test_both_sides_may_use_the_same_ids(pipe: StdioServer) -> None:
    """MCP 2025-11-25: either side has an id space of its own."""
    client = StdioHandshake(pipe, "2025-11-25")
    with client.begin("tools/call", {"name": "asks", "arguments": {}}, id=1) as conversation:
        question = conversation.next()
        # A request of the client under the very id of the server's.
        with client.begin("ping", id=question["id"]) as ping:
            assert ping.rest()[1]["result"] == {}
        client.reply(question, SAMPLED)
        assert text(conversation.rest()[1]) == "glad"


@handshakes
def test_a_call_is_cancelled_by_a_notification(pipe: StdioServer, revision: str) -> None:
    client = StdioHandshake(pipe, revision)
    with client.begin_call("lasts") as conversation:
        pipe.wait_for_log("lasts begins")
        conversation.leave()
        pipe.wait_for_log("lasts cancelled")
    assert client.text("echo", {"text": "on"}) == "on"
    assert conversation.late == []


def test_the_handshake_itself_is_not_cancelled(pipe: StdioServer) -> None:
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 0}}
    body = json.dumps(initialize("2025-11-25")) + "\n" + json.dumps(cancel) + "\n"
    pipe.write(body.encode())
    assert pipe.read_message()["result"]["protocolVersion"] == "2025-11-25"
    assert text(pipe.ask(echo("served"))) == "served"


def test_messages_that_come_together_are_answered_together(pipe: StdioServer) -> None:
    pipe.ask(initialize("2025-03-26"))
    batch = [bare("ping", id=1), echo("two", 2), INITIALIZED, bare("no/such", id=3)]
    pipe.write_message(batch)
    answers = json.loads(pipe.read_line())
    assert isinstance(answers, list)
    by_id = {answer["id"]: answer for answer in answers}
    assert sorted(by_id) == [1, 2, 3]
    assert by_id[1]["result"] == {}
    assert text(by_id[2]) == "two"
    assert by_id[3]["error"]["code"] == -32601
    assert text(pipe.ask(echo("after"))) == "after"


def test_the_answer_to_a_question_may_come_in_a_batch(pipe: StdioServer) -> None:
    pipe.ask(initialize("2025-03-26", {"sampling": {}}))
    pipe.write_message(bare("tools/call", {"name": "asks", "arguments": {}}, 7))
    question = pipe.read_message()
    assert question["method"] == "sampling/createMessage"
    response = {"jsonrpc": "2.0", "id": question["id"], "result": SAMPLED}
    pipe.write_message([response, bare("ping", id=8)])
    answers = [json.loads(pipe.read_line()) for _ in range(2)]
    assert [{"jsonrpc": "2.0", "id": 8, "result": {}}] in answers
    (answer,) = [each for each in answers if isinstance(each, dict)]
    assert text(answer) == "glad"


def test_a_pipe_that_ends_while_it_is_asked_ends_the_server(pipe: StdioServer) -> None:
    pipe.ask(initialize("2025-11-25", {"sampling": {}}))
    pipe.write_message(bare("tools/call", {"name": "asks", "arguments": {}}, 7))
    assert pipe.read_message()["method"] == "sampling/createMessage"
    pipe.end_input()
    assert pipe.wait(10) == 0


def test_who_is_asked_need_not_answer_in_order(pipe: StdioServer) -> None:
    """The reader waits for nobody: whatever is open, everything else is served."""
    client = StdioHandshake(pipe, "2025-11-25")
    open_calls = []
    for _ in range(20):
        conversation = client.begin_call("asks")
        open_calls.append((conversation, conversation.next()))
        assert client.text("echo", {"text": "meanwhile"}) == "meanwhile"
    for _, question in reversed(open_calls):
        client.reply(question, SAMPLED)
    for conversation, _ in open_calls:
        assert text(conversation.rest()[1]) == "glad"
