"""`context.ask`: a tool that asks is written from top to bottom, and runs again for each answer."""

from __future__ import annotations

from typing import Any

import pytest

from driver import ABLE

ASK = """
import asyncio
import dataclasses
import datetime
import enum
from typing import Annotated, Literal, NamedTuple, TypedDict

import msgspec
import pydantic

from snodo import Arg, Context, Result, Server, ToolError, current_context, elicit, roots, sampling

server = Server("ask", version="1.0.0")
log = []
question = "Deploy?"


@dataclasses.dataclass
class Approval:
    approved: bool
    note: str = "none"


@server.tool
def takes_log() -> list[str]:
    taken = list(log)
    log.clear()
    return taken


@server.tool
def rewords(text: str) -> str:
    global question
    question = text
    return text


# One after the other, in a loop, in branches, together


@server.tool
def deploys(context: Context, target: str = "staging") -> str:
    log.append("begins")
    approval = context.ask("approve", elicit.form(question, Approval))
    log.append("approved")
    if not approval.value.approved:
        return "not approved"
    name = context.ask("name", elicit.form("Under which name?", str))
    log.append("named")
    return f"{name.value} on {target}: {approval.value.note}"


@server.tool
async def deploys_async(context: Context, target: str = "staging") -> str:
    log.append("begins")
    approval = await context.ask("approve", elicit.form(question, Approval))
    await asyncio.sleep(0)
    log.append("approved")
    if not approval.value.approved:
        return "not approved"
    name = context.ask("name", elicit.form("Under which name?", str))
    log.append("named")
    return f"{name.value} on {target}: {approval.value.note}"


@server.tool
def deploys_deep() -> str:
    def deep(key):
        return current_context().ask(key, elicit.form(f"{key}?", str)).value

    return deep("a") + deep("b")


@server.tool
def collects(context: Context) -> list[str]:
    found = []
    while True:
        answer = context.ask("next", elicit.form(f"What after {len(found)}?", str))
        if not answer.accepted:
            return found
        found.append(answer.value)


@server.tool
async def collects_async(context: Context) -> list[str]:
    found = []
    while (answer := await context.ask("next", elicit.form("Next?", str))).accepted:
        found.append(answer.value)
    return found


@server.tool
def branches(context: Context) -> str:
    kind = context.ask("kind", elicit.form("Which?", Literal["tea", "coffee"])).value
    if kind == "tea":
        return f"tea {context.ask('minutes', elicit.form('How long?', int)).value}"
    return f"coffee {context.ask('milk', elicit.form('Milk?', bool)).value}"


@server.tool
def together(context: Context):
    answers = context.ask({
        "who": elicit.form("Who?", str),
        "sign": elicit.url("Sign.", "https://example.com/sign"),
        "word": sampling.create_message("One word?", 16),
        "dirs": roots.list(),
    })
    assert list(answers) == ["who", "sign", "word", "dirs"]
    return [
        answers["who"].value,
        answers["sign"].action,
        answers["word"].value.text,
        answers["dirs"].value[0].uri,
    ]


@server.tool
async def together_async(context: Context):
    return together(context)


@server.tool
def for_ever(context: Context) -> str:
    n = 0
    while True:
        n += 1
        log.append("begins") if n == 1 else None
        context.ask(f"again {n}", elicit.form(f"Again {n}?", bool))


@server.tool
async def for_ever_under_one_key(context: Context) -> str:
    while True:
        await context.ask("again", elicit.form("Again?", bool))


@server.tool
def never_the_same(context: Context) -> str:
    log.append("begins")
    return context.ask("same", elicit.form(f"What after {len(log)}?", str)).value


# What is done once


@server.tool
def charges(context: Context) -> str:
    def charge():
        log.append("charged")
        return {"receipt": 7, "of": ["é", None]}

    receipt = context.once("charge", charge)
    if context.ask("email", elicit.form("By mail?", bool)).value:
        context.ask("address", elicit.form("To?", str))
    assert receipt == {"receipt": 7, "of": ["é", None]}
    return f"receipt {receipt['receipt']}"


@server.tool
async def charges_async(context: Context) -> str:
    async def charge():
        await asyncio.sleep(0)
        log.append("charged")
        return 7

    first = await context.once("charge", charge)
    context.ask("email", elicit.form("By mail?", bool))
    again = await context.once("charge again", charge)
    context.ask("address", elicit.form("To?", str))
    return f"receipt {first} {again}"


@server.tool
def once_in_a_loop(context: Context) -> list[int]:
    def step(n):
        log.append(f"step {n}")
        return n

    found = []
    for n in range(3):
        found.append(context.once("step", lambda: step(n)))
        if n:
            context.ask("next", elicit.form("Go on?", bool))
    return found


@server.tool
def once_of_no_json(context: Context) -> str:
    context.once("a", lambda: object())
    return "kept"


# How answers arrive


class Size(enum.Enum):
    SMALL = "s"
    LARGE = "l"


class Typed(TypedDict):
    n: int


class Named(NamedTuple):
    n: int
    s: str = "d"


class Model(pydantic.BaseModel):
    n: int


class Struct(msgspec.Struct):
    n: int


FIELDS = {
    "dataclass": Approval,
    "typed": Typed,
    "named": Named,
    "pydantic": Model,
    "msgspec": Struct,
    "fields": {"n": int, "size": Annotated[Size, Arg("How large")]},
    "schema": {"type": "object", "properties": {"n": {"type": "integer"}}},
    "str": str,
    "int": int,
    "float": float,
    "bool": bool,
    "literal": Literal["a", "b"],
    "enum": Size,
    "date": datetime.date,
    "datetime": datetime.datetime,
    "literals": list[Literal["a", "b"]],
    "enums": list[Size],
}


@server.tool
def typed(kind: str, context: Context):
    answer = context.ask("x", elicit.form("?", FIELDS[kind]))
    log.append(repr(answer.value))
    return answer.action


@server.tool
def declined(context: Context) -> str:
    return context.ask("x", elicit.form("?", str)).value


@server.tool
def declined_kindly(context: Context) -> str:
    answer = context.ask("x", elicit.form("?", str))
    return answer.value if answer.accepted else f"as you like: {answer.action}"


# What may stand around a question


@server.tool
def guards(context: Context) -> str:
    try:
        return context.ask("x", elicit.form("?", str)).value
    except Exception as error:
        log.append(f"swallowed {error!r}")
        return "swallowed"
    finally:
        log.append("cleaned up")


@server.tool
async def guards_async(context: Context) -> str:
    try:
        return (await context.ask("x", elicit.form("?", str))).value
    except Exception as error:
        log.append(f"swallowed {error!r}")
        return "swallowed"
    finally:
        await asyncio.sleep(0)
        log.append("cleaned up")


@server.tool
def wrong(how: str, context: Context) -> str:
    try:
        if how == "key":
            context.ask(5, elicit.form("?", str))
        elif how == "no request":
            context.ask("x", "?")
        elif how == "nothing":
            context.ask({})
    except (TypeError, ValueError):
        return "refused"
    return "accepted"


async def ask_one(context, key):
    return (await context.ask(key, elicit.form(f"{key}?", str))).value


@server.tool
async def in_a_thread(context: Context) -> str:
    return (await asyncio.to_thread(context.ask, "a", elicit.form("a?", str))).value


@server.tool
async def in_tasks(context: Context) -> str:
    return " ".join(await asyncio.gather(*(ask_one(context, key) for key in "abc")))


@server.tool
async def in_a_group(context: Context) -> str:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(ask_one(context, key)) for key in "abc"]
    return " ".join(task.result() for task in tasks)


@server.tool
async def within_a_time(context: Context) -> str:
    async with asyncio.timeout(20):
        return await asyncio.wait_for(ask_one(context, "a"), 20)


@server.tool
async def shielded(context: Context) -> str:
    return await asyncio.shield(ask_one(context, "a"))


@server.tool
def in_a_generator(context: Context):
    yield "before"
    yield context.ask("a", elicit.form("a?", str)).value
    yield "after"


@server.tool
async def in_an_async_generator(context: Context):
    yield "before"
    yield await ask_one(context, "a")
    yield "after"


@server.tool
def reports(context: Context) -> str:
    context.progress(1)
    answer = context.ask("x", elicit.form("?", str))
    context.progress(2)
    return answer.value


@server.resource("x://{name}")
def read(name: str, context: Context) -> str:
    return f"{name} for {context.ask('who', elicit.form('Who?', str)).value}"


@server.prompt
async def prompt(topic: str, context: Context) -> str:
    answer = await context.ask("who", elicit.form("Who?", str))
    return f"{topic} for {answer.value}"
"""


def accept(value: Any = None, **content: Any) -> dict[str, Any]:
    """An accepted form: of one value, or of fields."""
    return {"action": "accept", "content": content or {"value": value}}


YES = accept(approved=True, note="fine")
NO = {"action": "decline"}


def text(result: dict[str, Any]) -> str:
    assert result["resultType"] == "complete"
    assert not result["isError"], result
    found: str = result["content"][0]["text"]
    return found


def log(session: Any) -> list[str]:
    found: list[str] = session.call("takes_log")["structuredContent"]
    return found


def keys(asked: list[dict[str, Any]]) -> list[list[str]]:
    return [list(one["inputRequests"]) for one in asked]


@pytest.mark.parametrize("tool", ["deploys", "deploys_async"])
def test_two_questions_take_two_rounds_and_three_runs(serve: Any, tool: str) -> None:
    session = serve(ASK)
    log(session)
    answers = {"approve": YES, "name": accept("v2")}
    asked, result = session.interview(tool, answers, {"target": "live"})
    assert text(result) == "v2 on live: fine"
    assert keys(asked) == [["approve"], ["name"]]
    assert log(session) == [
        *["begins"],
        *["begins", "approved"],
        *["begins", "approved", "named"],
    ]


def test_the_answer_of_an_earlier_round_travels_in_the_state(serve: Any) -> None:
    """The retry carries answers of the latest round alone."""
    asked, result = serve(ASK).interview("deploys", {"approve": YES, "name": accept("v2")})
    assert text(result) == "v2 on staging: fine"
    assert asked[0]["requestState"] != asked[1]["requestState"]
    assert all("fine" not in one["requestState"] for one in asked)


def test_questions_may_be_asked_far_from_the_handler(serve: Any) -> None:
    _, result = serve(ASK).interview("deploys_deep", {"a": accept("A"), "b": accept("B")})
    assert text(result) == "AB"


@pytest.mark.parametrize("tool", ["collects", "collects_async"])
@pytest.mark.parametrize("times", [0, 1, 5])
def test_one_key_may_be_asked_in_a_loop(serve: Any, tool: str, times: int) -> None:
    words = iter([accept(f"word {n}") for n in range(times)] + [NO])
    asked, result = serve(ASK).interview(tool, lambda key, question: next(words))
    assert result["structuredContent"] == [f"word {n}" for n in range(times)]
    wanted = ["next", *[f"next#{n}" for n in range(2, times + 2)]]
    assert keys(asked) == [[key] for key in wanted]


@pytest.mark.parametrize(
    ("kind", "answers", "said"),
    [
        ("tea", {"minutes": accept(4)}, "tea 4"),
        ("coffee", {"milk": accept(False)}, "coffee False"),
    ],
)
def test_what_is_asked_may_depend_on_answers(
    serve: Any, kind: str, answers: dict[str, Any], said: str
) -> None:
    asked, result = serve(ASK).interview("branches", {"kind": accept(kind), **answers})
    assert text(result) == said
    assert keys(asked) == [["kind"], list(answers)]


TOGETHER = {
    "who": accept("Ada"),
    "sign": {"action": "accept"},
    "word": {
        "role": "assistant",
        "content": [{"type": "text", "text": "glad"}],
        "model": "m",
        "stopReason": "endTurn",
    },
    "dirs": {"roots": [{"uri": "file:///home/ada"}]},
}


@pytest.mark.parametrize("tool", ["together", "together_async"])
def test_several_questions_go_in_one_round(serve: Any, tool: str) -> None:
    asked, result = serve(ASK).interview(tool, TOGETHER)
    assert result["structuredContent"] == ["Ada", "accept", "glad", "file:///home/ada"]
    assert keys(asked) == [["who", "sign", "word", "dirs"]]


def test_of_several_questions_only_the_unanswered_are_asked_again(serve: Any) -> None:
    session = serve(ASK)
    params = {"name": "together"}
    first = session.ask("tools/call", params, clientCapabilities=ABLE)
    retry = {
        "requestState": first["requestState"],
        "inputResponses": {"who": TOGETHER["who"], "dirs": TOGETHER["dirs"], "other": NO},
    }
    second = session.ask("tools/call", params | retry, clientCapabilities=ABLE)
    assert list(second["inputRequests"]) == ["sign", "word"]
    retry = {
        "requestState": second["requestState"],
        "inputResponses": {"sign": TOGETHER["sign"], "word": TOGETHER["word"]},
    }
    last = session.ask("tools/call", params | retry, clientCapabilities=ABLE)
    assert last["structuredContent"] == ["Ada", "accept", "glad", "file:///home/ada"]


def test_answers_may_come_with_the_first_call(serve: Any) -> None:
    session = serve(ASK)
    params = {"name": "deploys", "inputResponses": {"approve": YES, "name": accept("v2")}}
    result = session.ask("tools/call", params, clientCapabilities=ABLE)
    assert text(result) == "v2 on staging: fine"


@pytest.mark.parametrize("tool", ["for_ever", "for_ever_under_one_key"])
def test_a_tool_that_asks_for_ever_is_stopped(serve: Any, tool: str) -> None:
    session = serve(ASK)
    asked, result = session.interview(tool, lambda key, question: accept(True))
    assert result["isError"]
    assert len(asked) == 32
    log(session)


def test_a_question_that_changed_is_asked_again(serve: Any) -> None:
    session = serve(ASK)
    session.text("rewords", {"text": "Deploy?"})
    params = {"name": "deploys", "arguments": {}}
    first = session.ask("tools/call", params, clientCapabilities=ABLE)
    session.text("rewords", {"text": "Deploy although it is Friday?"})
    retry = {"requestState": first["requestState"], "inputResponses": {"approve": YES}}
    second = session.ask("tools/call", params | retry, clientCapabilities=ABLE)
    assert (
        second["inputRequests"]["approve"]["params"]["message"] == "Deploy although it is Friday?"
    )
    # The answer to the new wording counts, and goes on counting while the wording stays.
    retry = {"requestState": second["requestState"], "inputResponses": {"approve": YES}}
    third = session.ask("tools/call", params | retry, clientCapabilities=ABLE)
    assert list(third["inputRequests"]) == ["name"]
    session.text("rewords", {"text": "Deploy?"})
    retry = {"requestState": third["requestState"], "inputResponses": {"name": accept("v2")}}
    fourth = session.ask("tools/call", params | retry, clientCapabilities=ABLE)
    assert list(fourth["inputRequests"]) == ["approve"], "an answer to another question counted"


def test_a_question_that_always_changes_is_bounded(serve: Any) -> None:
    session = serve(ASK)
    asked, result = session.interview("never_the_same", lambda key, question: accept("x"))
    assert result["isError"]
    assert 1 < len(asked) <= 32
    log(session)


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"action": "maybe"},
        {"action": "accept"},
        accept(approved="secret"),
        accept(approved=True, note=5),
        accept(approved=True, note={"secret": 1}),
        {"role": "assistant", "content": {"type": "text", "text": "secret"}, "model": "m"},
    ],
)
@pytest.mark.parametrize("tool", ["deploys", "deploys_async"])
def test_an_answer_that_does_not_fit_is_refused_without_repeating_it(
    serve: Any, tool: str, answer: dict[str, Any]
) -> None:
    session = serve(ASK)
    params = {"name": tool, "arguments": {}}
    first = session.ask("tools/call", params, clientCapabilities=ABLE)
    retry = {"requestState": first["requestState"], "inputResponses": {"approve": answer}}
    refused = session.refusal("tools/call", params | retry, clientCapabilities=ABLE)
    assert refused.error == {"code": -32602, "message": "Invalid elicitation response"}
    log(session)


@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_that_the_user_declines_is_told_unless_the_tool_looks(serve: Any, action: str) -> None:
    session = serve(ASK)
    answers = {"x": {"action": action}}
    _, result = session.interview("declined", answers)
    assert result["isError"]
    assert action in result["content"][0]["text"].lower()
    _, result = session.interview("declined_kindly", answers)
    assert text(result) == f"as you like: {action}"


def test_the_state_of_other_arguments_is_refused(serve: Any) -> None:
    session = serve(ASK)
    params = {"name": "deploys", "arguments": {"target": "staging"}}
    first = session.ask("tools/call", params, clientCapabilities=ABLE)
    retry = {"requestState": first["requestState"], "inputResponses": {"approve": YES}}
    for name, arguments in [
        ("deploys", {"target": "live"}),
        ("deploys_async", {}),
        ("deploys", {}),
    ]:
        changed = {"name": name, "arguments": arguments} | retry
        refused = session.refusal("tools/call", changed, clientCapabilities=ABLE)
        assert refused.error == {"code": -32602, "message": "Invalid or expired request state"}
    result = session.ask("tools/call", params | retry, clientCapabilities=ABLE)
    assert list(result["inputRequests"]) == ["name"]


# `once`


@pytest.mark.parametrize(
    ("tool", "said", "times"),
    [("charges", "receipt 7", 1), ("charges_async", "receipt 7 7", 2)],
)
def test_what_is_done_once_is_done_once_in_all_rounds(
    serve: Any, tool: str, said: str, times: int
) -> None:
    session = serve(ASK)
    log(session)
    asked, result = session.interview(tool, {"email": accept(True), "address": accept("a@b.c")})
    assert text(result) == said
    assert len(asked) == 2
    assert log(session) == ["charged"] * times
    assert session.interview(tool, {"email": accept(True), "address": accept("x")})[0]
    assert log(session) == ["charged"] * times, "another call is charged anew"


def test_what_is_done_in_a_loop_is_done_once_each_time_round(serve: Any) -> None:
    session = serve(ASK)
    log(session)
    asked, result = session.interview("once_in_a_loop", lambda key, question: accept(True))
    assert result["structuredContent"] == [0, 1, 2]
    assert len(asked) == 2
    assert log(session) == ["step 0", "step 1", "step 2"]


def test_what_is_remembered_must_be_json(serve: Any) -> None:
    assert serve(ASK).call("once_of_no_json")["isError"]


# Types


@pytest.mark.parametrize(
    ("kind", "answer", "value"),
    [
        ("dataclass", accept(approved=False), "Approval(approved=False, note='none')"),
        ("typed", accept(n=1), "{'n': 1}"),
        ("named", accept(n=1), "Named(n=1, s='d')"),
        ("pydantic", accept(n=1), "Model(n=1)"),
        ("msgspec", accept(n=1), "Struct(n=1)"),
        ("fields", accept(n=1, size="s"), "{'n': 1, 'size': <Size.SMALL: 's'>}"),
        ("schema", accept(n=1), "{'n': 1}"),
        ("str", accept("x"), "'x'"),
        ("int", accept(5), "5"),
        ("float", accept(1.5), "1.5"),
        ("bool", accept(True), "True"),
        ("literal", accept("b"), "'b'"),
        ("enum", accept("l"), "<Size.LARGE: 'l'>"),
        ("date", accept("2026-07-28"), "datetime.date(2026, 7, 28)"),
        (
            "datetime",
            accept("2026-07-28T01:02:03Z"),
            "datetime.datetime(2026, 7, 28, 1, 2, 3, tzinfo=datetime.timezone.utc)",
        ),
        ("literals", accept(["b", "a"]), "['b', 'a']"),
        ("enums", accept(["s"]), "[<Size.SMALL: 's'>]"),
    ],
)
def test_an_answer_arrives_in_the_type_it_was_asked_in(
    serve: Any, kind: str, answer: dict[str, Any], value: str
) -> None:
    session = serve(ASK)
    log(session)
    asked, result = session.interview("typed", {"x": answer}, {"kind": kind})
    assert text(result) == "accept"
    assert log(session) == [value]
    question = asked[0]["inputRequests"]["x"]
    assert question["method"] == "elicitation/create"
    assert question["params"]["requestedSchema"]["type"] == "object"


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("str", 5),
        ("int", "5"),
        ("int", 1.5),
        ("int", True),
        ("float", "1"),
        ("bool", 1),
        ("literal", "c"),
        ("enum", "x"),
        ("date", "28.7.2026"),
        ("date", "2026-13-01"),
        ("datetime", "2026-07-28"),
        ("literals", ["c"]),
        ("literals", "a"),
        ("enums", [1]),
        ("str", None),
    ],
)
def test_what_is_of_another_type_is_no_answer(serve: Any, kind: str, value: Any) -> None:
    session = serve(ASK)
    params = {"name": "typed", "arguments": {"kind": kind}}
    retry = {"inputResponses": {"x": accept(value)}}
    refused = session.refusal("tools/call", params | retry, clientCapabilities=ABLE)
    assert refused.error == {"code": -32602, "message": "Invalid elicitation response"}


# Around a question


@pytest.mark.parametrize("tool", ["guards", "guards_async"])
def test_a_question_passes_by_what_catches_exceptions(serve: Any, tool: str) -> None:
    session = serve(ASK)
    log(session)
    _, result = session.interview(tool, {"x": accept("through")})
    assert text(result) == "through"
    assert log(session) == ["cleaned up", "cleaned up"]


@pytest.mark.parametrize(
    ("tool", "said", "at_once"),
    [
        ("in_a_thread", "A", ["a"]),
        ("in_tasks", "A B C", ["a", "b", "c"]),
        ("in_a_group", "A B C", ["a", "b", "c"]),
        ("within_a_time", "A", ["a"]),
        ("shielded", "A", ["a"]),
        ("in_a_generator", '["before","A","after"]', ["a"]),
        ("in_an_async_generator", '["before","A","after"]', ["a"]),
    ],
)
def test_a_question_may_come_from_wherever_asyncio_takes_it(
    serve: Any, tool: str, said: str, at_once: list[str]
) -> None:
    session = serve(ASK)
    asked, result = session.interview(tool, lambda key, question: accept(key.upper()))
    assert text(result) == said
    assert [sorted(found) for found in keys(asked)] == [at_once]


@pytest.mark.parametrize("how", ["key", "no request", "nothing"])
def test_what_is_no_question_is_refused_where_it_is_written(serve: Any, how: str) -> None:
    assert serve(ASK).text("wrong", {"how": how}) == "refused"


def test_only_what_the_client_can_answer_is_asked(serve: Any) -> None:
    session = serve(ASK)
    for tool, declared, missing in [
        ("declined", {}, {"elicitation": {"form": {}}}),
        (
            "together",
            {"elicitation": {}, "roots": {}},
            {"elicitation": {"url": {}}, "sampling": {}},
        ),
    ]:
        params = {"name": tool}
        refused = session.refusal("tools/call", params, clientCapabilities=declared)
        assert refused.code == -32021
        assert refused.data == {"requiredCapabilities": missing}


def test_a_question_may_follow_a_report(serve_process: Any) -> None:
    session = serve_process(ASK)
    with session.begin_call("reports", token="t", clientCapabilities=ABLE) as conversation:
        notices, answer = conversation.rest()
    assert [notice["params"]["progress"] for notice in notices] == [1]
    result = answer["result"]
    retry = {
        "name": "reports",
        "arguments": {},
        "requestState": result["requestState"],
        "inputResponses": {"x": accept("done")},
    }
    options = {"token": "t", "clientCapabilities": ABLE}
    with session.begin("tools/call", retry, **options) as conversation:
        notices, answer = conversation.rest()
    assert [notice["params"]["progress"] for notice in notices] == [1, 2]
    assert text(answer["result"]) == "done"


def test_resources_and_prompts_ask_too(serve: Any) -> None:
    session = serve(ASK)
    answers = {"who": accept("Ada")}
    asked, result = session.rounds("resources/read", {"uri": "x://tea"}, answers)
    assert (len(asked), result["contents"][0]["text"]) == (1, "tea for Ada")
    params = {"name": "prompt", "arguments": {"topic": "tea"}}
    asked, result = session.rounds("prompts/get", params, answers)
    assert (len(asked), result["messages"][0]["content"]["text"]) == (1, "tea for Ada")
