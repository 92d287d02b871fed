"""One body, every era: the same tools ask 2026-07-28 clients and those of the handshake."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from driver import (
    ABLE,
    HANDSHAKES,
    VERSION,
    Handshake,
    HttpConversation,
    HttpHandshake,
    HttpServer,
    HttpSession,
    ProcessSession,
    Refusal,
    StdioHandshake,
    StdioServer,
    StdioSession,
)

ERAS = (VERSION, *HANDSHAKES)
# What a revision can ask: a form of the user, a visit to a page, the model, the roots.
FORMS = ERAS[:3]
PAGES = ERAS[:2]

APP = """
import asyncio
import dataclasses
from typing import Literal

from snodo import Context, Result, Server, State, elicit, roots, sampling

server = Server("eras", version="1.0.0", secret="s" * 32)
runs = []


@dataclasses.dataclass
class Order:
    item: str
    count: int = 1
    size: Literal["s", "m", "l"] = "m"
    gift: bool = False


ORDER = elicit.form("What would you like?", Order)
WORD = sampling.create_message("One word?", 16)


@server.tool
def takes_runs() -> list[str]:
    taken = list(runs)
    runs.clear()
    return taken


@server.tool
async def orders(context: Context) -> str:
    answer = await context.ask("order", ORDER)
    if not answer.accepted:
        return answer.action
    order = answer.value
    return f"{order.count} {order.item} of size {order.size}, gift: {order.gift}"


@server.tool
def insists(context: Context) -> str:
    return context.ask("order", ORDER).value.item


@server.tool
def pays(context: Context) -> str:
    return context.ask("pay", elicit.url("Pay here.", "https://example.com/pay/7")).action


@server.tool
def samples(context: Context) -> str:
    answer = context.ask("word", WORD).value
    return f"{answer.text} by {answer['model']}"


@server.tool
async def lists_roots(context: Context) -> str:
    answer = await context.ask("dirs", roots.list())
    return " ".join(f"{root.uri} {root.name}" for root in answer.value)


@server.tool
async def together(context: Context) -> str:
    answers = await context.ask({"word": WORD, "dirs": roots.list()})
    return f"{answers['word'].value.text}, {len(answers['dirs'].value)} roots"


@server.tool
def loops(context: Context, times: int) -> str:
    runs.append("runs")
    stamp = context.once("stamp", lambda: runs.append("once") or "stamped")
    words = []
    while len(words) < times:
        question = sampling.create_message(f"After {len(words)}?", 16)
        words.append(context.ask("next", question).value.text)
    return f"{stamp}: {' '.join(words)}"


@server.tool
def by_hand(context: Context):
    if context.request_state is None:
        return Result.input_required(input_requests={"word": WORD}, request_state="first")
    if context.request_state == "first":
        word = WORD.response(context, "word").value.text
        return Result.input_required(input_requests={"again": WORD}, request_state=word)
    return f"{context.request_state}, {WORD.response(context, 'again').value.text}"


@server.tool
def state_alone(context: Context):
    rounds = int(context.request_state or 0)
    return str(rounds) if rounds == 3 else Result.input_required(request_state=str(rounds + 1))


@server.tool
async def reports(context: Context) -> str:
    context.progress(1, 2)
    context.log("warning", "before")
    word = (await context.ask("word", WORD)).value.text
    context.log("warning", "after")
    context.progress(2, 2)
    return word


@server.tool
def fails(context: Context) -> str:
    raise ValueError(context.ask("word", WORD).value.text)


@server.tool
def whoami(context: Context) -> dict:
    return {
        "version": context.protocol_version,
        "transport": context.transport,
        "client": (context.client_info or {}).get("name"),
        "capabilities": sorted(context.client_capabilities),
    }


@server.prompt
def advises(topic: str, context: Context) -> str:
    return f"{topic}: {context.ask('word', WORD).value.text}"


@server.resource("secret://{name}", mime_type="text/plain")
async def secret(name: str, context: Context) -> str:
    return f"{name}: {(await context.ask('word', WORD)).value.text}"
"""

SAMPLED = {"role": "assistant", "content": {"type": "text", "text": "glad"}, "model": "m"}
ROOTS = {"roots": [{"uri": "file:///home/ada", "name": "Home"}, {"uri": "file:///tmp"}]}
TEA = {"action": "accept", "content": {"item": "tea", "count": 2, "size": "s", "gift": True}}


def answer(question: dict[str, Any]) -> dict[str, Any]:
    match question["method"]:
        case "sampling/createMessage":
            return SAMPLED
        case "roots/list":
            return ROOTS
        case _ if "url" in question["params"]:
            return {"action": "accept"}
        case _:
            return TEA


Open = Callable[..., ProcessSession]


@pytest.fixture(scope="module")
def http_server(write_app: Callable[[str], Path]) -> Iterator[HttpServer]:
    server = HttpServer(write_app(APP))
    yield server
    server.close()


@pytest.fixture(params=["http", "stdio"])
def connect(
    request: pytest.FixtureRequest, write_app: Callable[[str], Path], http_server: HttpServer
) -> Iterator[Open]:
    """Opens a client of a revision, with these capabilities: all there are, if none are given."""
    opened: list[ProcessSession] = []

    def connect(era: str, capabilities: dict[str, Any] | None = None) -> ProcessSession:
        session: ProcessSession
        if era == VERSION:
            session = (HttpSession if request.param == "http" else StdioSession)(write_app(APP))
        elif request.param == "http":
            session = HttpHandshake(http_server, era, capabilities)
        else:
            session = StdioHandshake(StdioServer(write_app(APP)), era, capabilities)
        opened.append(session)
        return session

    yield connect
    for session in opened:
        session.close()


def interview(
    session: ProcessSession,
    tool: str,
    arguments: dict[str, Any] | None = None,
    answer: Callable[[dict[str, Any]], Any] = answer,
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    params = {"name": tool, "arguments": arguments or {}}
    return session.questioned("tools/call", params, answer)


def said(result: dict[str, Any]) -> str:
    (block,) = result["content"]
    assert result.get("isError", False) is False, block
    text: str = block["text"]
    return text


def failed(result: dict[str, Any]) -> str:
    (block,) = result["content"]
    assert result["isError"] is True, block
    text: str = block["text"]
    return text


eras = pytest.mark.parametrize("era", ERAS)
handshakes = pytest.mark.parametrize("era", HANDSHAKES)


@pytest.mark.parametrize("era", FORMS)
def test_a_form_is_filled_in(connect: Open, era: str) -> None:
    asked, result = interview(connect(era), "orders")
    assert [question["method"] for question in asked] == ["elicitation/create"]
    assert asked[0]["params"]["message"] == "What would you like?"
    assert said(result) == "2 tea of size s, gift: True"


@pytest.mark.parametrize("era", FORMS)
@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_a_form_is_declined(connect: Open, era: str, action: str) -> None:
    session = connect(era)
    _, result = interview(session, "orders", answer=lambda _: {"action": action})
    assert said(result) == action
    _, result = interview(session, "insists", answer=lambda _: {"action": action})
    assert "What would you like?" in failed(result) or action in failed(result)


@pytest.mark.parametrize("era", PAGES)
def test_a_page_is_visited(connect: Open, era: str) -> None:
    asked, result = interview(connect(era), "pays")
    assert asked[0]["params"]["url"] == "https://example.com/pay/7"
    assert said(result) == "accept"


@eras
def test_the_model_is_asked(connect: Open, era: str) -> None:
    asked, result = interview(connect(era), "samples")
    assert asked == [
        {
            "method": "sampling/createMessage",
            "params": {
                "messages": [{"role": "user", "content": {"type": "text", "text": "One word?"}}],
                "maxTokens": 16,
            },
        }
    ]
    assert said(result) == "glad by m"


@eras
def test_the_roots_are_asked_for(connect: Open, era: str) -> None:
    asked, result = interview(connect(era), "lists_roots")
    assert [question["method"] for question in asked] == ["roots/list"]
    assert said(result) == "file:///home/ada Home file:///tmp None"


@eras
def test_several_things_are_asked_at_once(connect: Open, era: str) -> None:
    asked, result = interview(connect(era), "together")
    methods = sorted(question["method"] for question in asked)
    assert methods == ["roots/list", "sampling/createMessage"]
    assert said(result) == "glad, 2 roots"


@eras
def test_questions_follow_each_other_and_what_is_remembered_is_done_once(
    connect: Open, era: str
) -> None:
    session = connect(era)
    session.call("takes_runs")

    def count(question: dict[str, Any]) -> dict[str, Any]:
        text = question["params"]["messages"][0]["content"]["text"]
        content = {"type": "text", "text": text.strip("After?").strip()}
        return SAMPLED | {"content": content}

    asked, result = interview(session, "loops", {"times": 4}, count)
    texts = [question["params"]["messages"][0]["content"]["text"] for question in asked]
    assert texts == ["After 0?", "After 1?", "After 2?", "After 3?"]
    assert said(result) == "stamped: 0 1 2 3"
    runs = session.call("takes_runs")["content"][0]["text"]
    assert json.loads(runs) == ["runs", "once", "runs", "runs", "runs", "runs"]


@eras
def test_input_is_required_by_hand(connect: Open, era: str) -> None:
    session = connect(era)
    asked, result = interview(session, "by_hand")
    assert len(asked) == 2
    assert said(result) == "glad, glad"
    assert interview(session, "state_alone")[0] == []
    assert said(interview(session, "state_alone")[1]) == "3"


@eras
def test_a_prompt_asks(connect: Open, era: str) -> None:
    params = {"name": "advises", "arguments": {"topic": "tea"}}
    asked, result = connect(era).questioned("prompts/get", params, answer)
    assert len(asked) == 1
    assert result["messages"][0]["content"]["text"] == "tea: glad"


@eras
def test_a_resource_asks(connect: Open, era: str) -> None:
    asked, result = connect(era).questioned("resources/read", {"uri": "secret://soup"}, answer)
    assert len(asked) == 1
    assert result["contents"][0]["text"] == "soup: glad"


@eras
def test_a_tool_that_asked_fails_as_any_other(connect: Open, era: str) -> None:
    session = connect(era)
    assert failed(interview(session, "fails")[1]).startswith("Tool 'fails' failed (error id ")
    session.wait_for_log("ValueError: glad")


@eras
def test_a_tool_may_know_whom_it_serves(connect: Open, era: str) -> None:
    session = connect(era)
    (block,) = session.call("whoami")["content"]
    is_old = era != VERSION
    assert json.loads(block["text"]) == {
        "version": era,
        "transport": session.transport,
        "client": "old" if is_old else None,
        "capabilities": sorted(ABLE) if is_old else [],
    }


# What differs: how it is asked, and what cannot be


@pytest.mark.parametrize(
    ("era", "mode", "fields"),
    [
        (
            "2025-11-25",
            {"mode": "form"},
            {
                "item": {"type": "string"},
                "count": {"type": "integer", "default": 1},
                "size": {"type": "string", "enum": ["s", "m", "l"], "default": "m"},
                "gift": {"type": "boolean", "default": False},
            },
        ),
        (
            "2025-06-18",
            {},
            {
                "item": {"type": "string"},
                "count": {"type": "integer"},
                "size": {"type": "string", "enum": ["s", "m", "l"]},
                "gift": {"type": "boolean", "default": False},
            },
        ),
    ],
)
def test_a_form_is_spelled_for_its_revision(
    connect: Open, era: str, mode: dict[str, Any], fields: dict[str, Any]
) -> None:
    ((question,), _) = interview(connect(era), "orders")
    schema = question["params"]["requestedSchema"]
    assert question["params"] == {
        **mode,
        "message": "What would you like?",
        "requestedSchema": {
            "type": "object",
            "properties": fields,
            "required": ["item"],
        },
    }, schema


def test_a_page_is_known_by_an_id(connect: Open) -> None:
    ((question,), _) = interview(connect("2025-11-25"), "pays")
    id = question["params"].pop("elicitationId")
    assert len(id) >= 22
    assert question["params"] == {
        "mode": "url",
        "message": "Pay here.",
        "url": "https://example.com/pay/7",
    }


@pytest.mark.parametrize(
    ("era", "tool"),
    [
        ("2025-06-18", "pays"),
        ("2025-03-26", "orders"),
        ("2025-03-26", "pays"),
        ("2024-11-05", "orders"),
        ("2024-11-05", "pays"),
    ],
)
def test_what_a_revision_cannot_ask_fails_in_words(connect: Open, era: str, tool: str) -> None:
    asked, result = interview(connect(era), tool)
    assert asked == []
    text = failed(result)
    assert text.startswith("elicitation/create ")
    assert text.endswith("is no request of this protocol revision")


@handshakes
@pytest.mark.parametrize(("tool", "needs"), [("samples", "sampling"), ("lists_roots", "roots")])
def test_only_what_a_client_declared_is_asked(
    connect: Open, era: str, tool: str, needs: str
) -> None:
    session = connect(era, {})
    asked, result = interview(session, tool)
    assert asked == []
    assert failed(result) == (f"The client did not declare the capability that this needs: {needs}")
    with pytest.raises(Refusal) as refused:
        session.prompt("advises", {"topic": "tea"})
    assert refused.value.code == -32602
    assert "sampling" in refused.value.message
    with pytest.raises(Refusal) as refused:
        session.read("secret://soup")
    assert refused.value.code == -32602


@pytest.mark.parametrize("era", ["2025-11-25", "2025-06-18"])
def test_a_client_that_declares_elicitation_alone_takes_forms(connect: Open, era: str) -> None:
    session = connect(era, {"elicitation": {}})
    assert said(interview(session, "orders")[1]) == "2 tea of size s, gift: True"
    assert interview(session, "pays")[0] == []


@handshakes
@pytest.mark.parametrize(
    "refusal",
    [
        {"error": {"code": -1, "message": "User rejected sampling request"}},
        {"error": {"code": -32601, "message": "Method not found"}},
        {"error": {"code": -32603, "message": "x" * 10_000, "data": {"a": 1}}},
    ],
    ids=["rejected", "unknown", "long"],
)
def test_a_client_that_refuses_to_answer_fails_the_call(
    connect: Open, era: str, refusal: dict[str, Any]
) -> None:
    session = connect(era)
    _, result = interview(session, "samples", answer=lambda _: refusal)
    text = failed(result)
    assert text.startswith("The client did not answer sampling/createMessage: ")
    assert text.endswith(f" ({refusal['error']['code']})")
    assert len(text) < 1000
    params = {"name": "advises", "arguments": {"topic": "tea"}}
    with pytest.raises(Refusal) as refused:
        session.questioned("prompts/get", params, lambda _: refusal)
    assert refused.value.code == -32603


@handshakes
@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"role": "assistant", "content": {"type": "text", "text": "glad"}},
        SAMPLED | {"role": "system"},
        SAMPLED | {"content": "glad"},
    ],
    ids=["empty", "no model", "role", "content"],
)
def test_an_answer_that_is_none_fails_the_call(
    connect: Open, era: str, wrong: dict[str, Any]
) -> None:
    session = connect(era)
    asked, result = interview(session, "samples", answer=lambda _: wrong)
    assert len(asked) == 1
    told = "The client's answer to sampling/createMessage is not valid: response"
    assert failed(result).startswith(told)
    assert said(interview(session, "samples")[1]) == "glad by m"


@handshakes
def test_a_tool_speaks_before_and_after_it_asks(connect: Open, era: str) -> None:
    session = connect(era)
    assert isinstance(session, Handshake)
    params = {"name": "reports", "arguments": {}, "_meta": {"progressToken": "t"}}
    heard: list[str] = []
    with session.begin("tools/call", params) as conversation:
        while "method" in (message := conversation.next()):
            match message["method"]:
                case "notifications/progress":
                    heard.append(str(message["params"]["progress"]))
                case "notifications/message":
                    heard.append(message["params"]["data"])
                case _:
                    heard.append("asked")
                    session.reply(message, SAMPLED)
    # It runs again from the top: what it logs before it asks is logged again; progress only grows.
    assert heard == ["1", "before", "asked", "before", "after", "2"]
    assert said(message["result"]) == "glad"


@handshakes
def test_questions_of_calls_at_the_same_time_are_kept_apart(connect: Open, era: str) -> None:
    session = connect(era)
    assert isinstance(session, HttpHandshake | StdioHandshake)
    if session.transport == "stdio":
        first, second = asked_in_order(session)
    else:
        first, second = session.begin_call("samples"), session.begin_call("samples")
        first.question, second.question = first.next(), second.next()  # type: ignore[attr-defined]
    questions = [first.question, second.question]  # type: ignore[attr-defined]
    assert questions[0]["id"] != questions[1]["id"]
    for question, word in zip(reversed(questions), ("two", "one"), strict=True):
        content = {"type": "text", "text": word}
        session.reply(question, SAMPLED | {"content": content})
    texts = sorted(said(conversation.rest()[1]["result"]) for conversation in (first, second))
    assert texts == ["one by m", "two by m"]


def asked_in_order(session: StdioHandshake) -> tuple[Any, Any]:
    """On a pipe nothing says which request a question belongs to: one call begins after the other
    has asked.
    """
    first: Any = session.begin_call("samples")
    first.question = first.next()
    second: Any = session.begin_call("samples")
    second.question = second.next()
    return first, second


@handshakes
def test_an_answer_to_nothing_is_ignored(connect: Open, era: str) -> None:
    session = connect(era)
    assert isinstance(session, Handshake)

    def impostor(question: dict[str, Any]) -> dict[str, Any]:
        for id in (0, 1, "0" * 32, "", "x"):
            session.reply({"id": id}, {"error": {"code": -1, "message": "no"}})
        return SAMPLED

    assert said(interview(session, "samples", answer=impostor)[1]) == "glad by m"
    session.reply({"id": "f" * 32}, SAMPLED)
    assert said(interview(session, "samples")[1]) == "glad by m"


@handshakes
def test_ids_of_questions_cannot_be_guessed(connect: Open, era: str) -> None:
    session = connect(era)
    assert isinstance(session, Handshake)
    ids = set()
    for _ in range(5):
        with session.begin_call("samples") as conversation:
            question = conversation.next()
            ids.add(question["id"])
            session.reply(question, SAMPLED)
            conversation.rest()
    assert len(ids) == 5
    assert all(isinstance(id, str) and len(id) >= 22 for id in ids)


@handshakes
def test_a_call_that_is_cancelled_while_it_asks_ends_and_withdraws_its_question(
    connect: Open, era: str
) -> None:
    session = connect(era)
    assert isinstance(session, Handshake)
    session.call("takes_runs")
    with session.begin_call("loops", {"times": 2}) as conversation:
        question = conversation.next()
        session.notify("cancelled", requestId=conversation.message["id"], reason="unwanted")
        withdrawn = conversation.next()
        assert withdrawn["method"] == "notifications/cancelled"
        assert withdrawn["params"]["requestId"] == question["id"]
        conversation.left = True  # it is cancelled already
        if isinstance(conversation, HttpConversation):
            assert conversation.wait_for_end() == []
    session.reply(question, SAMPLED)  # too late
    assert said(interview(session, "samples")[1]) == "glad by m"
    runs = session.call("takes_runs")["content"][0]["text"]
    assert json.loads(runs) == ["runs", "once"]


@handshakes
def test_a_loop_of_questions_has_an_end(connect: Open, era: str) -> None:
    asked, result = interview(connect(era), "loops", {"times": 40})
    assert len(asked) == 32
    assert failed(result) == "Gave up after 32 rounds of questions"


HASTY = """
from snodo import Context, Server, sampling

server = Server("hasty", version="1.0.0", timeout=1, limits={"answer_timeout": LIMIT})


@server.tool
def samples(context: Context) -> str:
    return context.ask("word", sampling.create_message("One word?", 16)).value.text
"""


@pytest.fixture(params=["http", "stdio"])
def hasty(
    request: pytest.FixtureRequest, write_app: Callable[[str], Path]
) -> Iterator[Callable[[float], Handshake]]:
    """A server with little time for its own work, and this much for its clients' answers."""
    servers: list[HttpServer | StdioServer] = []

    def hasty(answer_timeout: float) -> Handshake:
        path = write_app(HASTY.replace("LIMIT", str(answer_timeout)))
        if request.param == "http":
            servers.append(server := HttpServer(path))
            return HttpHandshake(server, "2025-11-25")
        servers.append(pipe := StdioServer(path))
        return StdioHandshake(pipe, "2025-11-25")

    yield hasty
    for server in servers:
        server.close()


def test_a_client_that_does_not_answer_is_not_waited_for_for_ever(
    hasty: Callable[[float], Handshake],
) -> None:
    session = hasty(0.3)
    with session.begin_call("samples") as conversation:
        question = conversation.next()
        withdrawn = conversation.next()
        assert withdrawn["method"] == "notifications/cancelled"
        assert withdrawn["params"]["requestId"] == question["id"]
        text = failed(conversation.rest()[1]["result"])
    assert text.startswith("The client did not answer sampling/createMessage: ")
    assert "in time" in text


def test_the_time_that_a_client_takes_is_not_the_calls(
    hasty: Callable[[float], Handshake],
) -> None:
    session = hasty(30)
    with session.begin_call("samples") as conversation:
        question = conversation.next()
        threading.Event().wait(2)  # twice the time that the call may take
        session.reply(question, SAMPLED)
        assert said(conversation.rest()[1]["result"]) == "glad"
