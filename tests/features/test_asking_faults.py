"""What goes wrong with questions is told to whoever can mend it: the author and the operator."""

from __future__ import annotations

import json
from typing import Any

import pytest

from driver import ABLE

SOURCE = """
import asyncio
import threading
from dataclasses import dataclass

from snodo import Context, Server, State, elicit

server = Server("faults", version="1.0.0")
state = State()
kept = []


@dataclass
class Size:
    width: int
    note: str | None = None


QUESTION = elicit.form("Which size?", Size)


@server.tool
def sizes(context: Context) -> str:
    size = context.ask("size", QUESTION).value
    return f"{size.width} {size.note}"


@server.tool
def swallows(context: Context) -> str:
    try:
        context.ask("size", QUESTION)
    except:
        pass
    return "all the same"


@server.tool
def asks_from_a_thread(context: Context) -> str:
    def asks():
        try:
            context.ask("size", QUESTION)
        except BaseException:
            pass

    thread = threading.Thread(target=asks)
    thread.start()
    thread.join()
    return "all the same"


@server.tool
async def swallows_late(context: Context) -> str:
    try:
        await context.ask("size", QUESTION)
    except BaseException:
        return "all the same"


@server.tool
def keeps(context: Context) -> str:
    kept.append(context)
    return "kept"


@server.tool
def asks_with_an_old_context(what: str) -> str:
    try:
        if what == "ask":
            kept[0].ask("size", QUESTION)
        else:
            kept[0].once("size", lambda: 1)
    except RuntimeError as error:
        return str(error)


@server.tool
def goes_on(context: Context) -> str:
    try:
        return context.ask("size", QUESTION).value.note or "no note"
    except Exception:
        return "went on"


@server.tool
def opens_and_goes_on(context: Context) -> str:
    try:
        return repr(state.open(context))
    except Exception:
        return "went on"


@server.prompt
def asks(context: Context) -> str:
    return str(context.ask("size", QUESTION).value.width)


@server.tool
def opens(context: Context) -> str:
    return repr(state.open(context))
"""


@pytest.fixture(scope="module")
def session(serve: Any) -> Any:
    return serve(SOURCE)


@pytest.mark.parametrize("tool", ["swallows", "asks_from_a_thread", "swallows_late"])
def test_a_question_that_is_lost_is_told(session: Any, tool: str) -> None:
    result = session.call(tool, clientCapabilities=ABLE)
    assert result["content"][0]["text"] == "all the same"
    log = session.wait_for_log(f'Tool "{tool}" asked its client something')
    assert "must not be caught" in log


@pytest.mark.parametrize("what", ["ask", "once"])
def test_a_context_asks_nothing_when_its_request_is_over(session: Any, what: str) -> None:
    assert session.text("keeps") == "kept"
    assert session.text("asks_with_an_old_context", {"what": what}).startswith(
        "this request is over"
    )


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ({"width": "a secret"}, "response.content.width is not what the form asks for"),
        ({}, "response.content.width is required"),
        ({"width": None}, "response.content.width is required"),
        ({"width": 1, "note": {"a": 1}}, "response.content must be an object of strings"),
    ],
)
def test_why_an_answer_is_refused_is_in_the_log(session: Any, content: Any, why: str) -> None:
    answers = {"size": {"action": "accept", "content": content}}
    params = {"name": "sizes", "arguments": {}, "inputResponses": answers}
    refusal = session.refusal("tools/call", params, clientCapabilities=ABLE)
    assert refusal.message == "Invalid elicitation response"
    log = session.wait_for_log(f"the client's elicitation response to 'size' was refused: {why}")
    assert "a secret" not in log


def test_a_field_left_empty_may_come_as_null(session: Any) -> None:
    answer = {"action": "accept", "content": {"width": 3, "note": None}}
    _, result = session.interview("sizes", {"size": answer})
    assert result["content"][0]["text"] == "3 None"


@pytest.mark.parametrize(
    ("token", "why"),
    [
        ("nonsense", "it is not a sealed state"),
        ("snodo1.abcdefghijkl." + "A" * 100, "it names a key that this server does not have"),
    ],
)
def test_why_a_state_does_not_open_is_in_the_log(session: Any, token: str, why: str) -> None:
    for tool in ("sizes", "opens"):
        params = {"name": tool, "arguments": {}, "requestState": token}
        refusal = session.refusal("tools/call", params, clientCapabilities=ABLE)
        assert refusal.message == "Invalid or expired request state"
        assert refusal.data is None
        session.wait_for_log(f'request state of tools/call "{tool}" does not open: {why}')


def test_a_state_of_another_request_is_told_from_a_changed_one_by_nobody(session: Any) -> None:
    asked = session.call("sizes", clientCapabilities=ABLE)
    token = asked["requestState"]
    changed = token[:-1] + ("A" if token[-1] != "A" else "B")
    refusals = []
    for tool, sent in (("opens", token), ("sizes", changed)):
        params = {"name": tool, "arguments": {}, "requestState": sent}
        refusal = session.refusal("tools/call", params, clientCapabilities=ABLE)
        refusals.append(json.dumps([refusal.code, refusal.message, refusal.data]))
    assert len(set(refusals)) == 1
    session.wait_for_log("does not open: it was changed, or belongs to another request")


def test_a_handler_that_goes_on_does_not_make_up_for_what_a_client_made_up(session: Any) -> None:
    wrong = {"size": {"action": "accept", "content": {"width": "x"}}}
    for tool, params in (
        ("goes_on", {"requestState": "snodo1.forged.AAAA"}),
        ("goes_on", {"inputResponses": wrong}),
        ("opens_and_goes_on", {"requestState": "snodo1.forged.AAAA"}),
    ):
        params = {"name": tool, "arguments": {}, **params}
        assert session.refusal("tools/call", params, clientCapabilities=ABLE).code == -32602


@pytest.mark.parametrize(("action", "verb"), [("decline", "declined"), ("cancel", "cancelled")])
def test_what_a_prompt_did_not_get_is_told(session: Any, action: str, verb: str) -> None:
    params = {"name": "asks", "inputResponses": {"size": {"action": action}}}
    refusal = session.refusal("prompts/get", params, clientCapabilities=ABLE)
    assert refusal.message == f"The user {verb} the request for input"
    assert refusal.code == -32603
