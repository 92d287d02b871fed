"""Results that ask for input: they end the request, and the retry is a call of its own."""

from __future__ import annotations

from typing import Any

import pytest

from driver import ABLE, Refusal, StdioServer, request

MRTR = """
import dataclasses
import threading
from typing import NamedTuple, TypedDict

from snodo import Context, Result, Server, elicit, roots, sampling

server = Server("mrtr", version="1.0.0", limits={"running": 1, "queued": 9})
runs = 0


@dataclasses.dataclass
class Person:
    name: str
    age: int = 18


WHO = elicit.form("Who is it for?", Person)
SIGN = elicit.url("Sign here.", "https://example.com/sign")
WORD = sampling.create_message("One word for happy?", 16)
DIRS = roots.list()


@server.tool
def greets(greeting: str, context: Context):
    global runs
    runs += 1
    who = WHO.response(context, "who")
    if who is None:
        return Result.input_required(input_requests={"who": WHO})
    if not who.accepted:
        return f"{greeting}, whoever: {who.action}"
    assert isinstance(who.value, Person)
    return f"{greeting}, {who.value.name} ({who.value.age})!"


@server.tool
async def greets_async(greeting: str, context: Context):
    return greets(greeting, context)


@server.tool
def signs(context: Context):
    sign = SIGN.response(context, "sign")
    if sign is None:
        return Result.input_required(input_requests={"sign": SIGN}, request_state="waiting")
    return f"{sign.action} {context.request_state}"


@server.tool
def samples(context: Context):
    word = WORD.response(context, "word")
    if word is None:
        return Result.input_required(input_requests={"word": WORD})
    return f"{word.value.text} by {word.value['model']}"


@server.tool
def lists(context: Context):
    dirs = DIRS.response(context, "dirs")
    if dirs is None:
        return Result.input_required(input_requests={"dirs": DIRS})
    return [f"{root.name}={root.uri}" for root in dirs.value]


@server.tool
def several(context: Context):
    if context.input_responses is None:
        return Result.input_required(
            input_requests={"who": WHO, "sign": SIGN, "word": WORD, "dirs": DIRS},
            request_state="s",
        )
    found = [question.response(context, key) for key, question in
             {"who": WHO, "sign": SIGN, "word": WORD, "dirs": DIRS}.items()]
    return [answer.action if answer is not None else "missing" for answer in found]


@server.tool
def state_alone(context: Context):
    if context.request_state is None:
        return Result.input_required(request_state="1")
    if context.request_state == "1":
        return Result.input_required(request_state="2")
    return f"state {context.request_state}"


@server.tool
def count() -> int:
    return runs


@server.tool
def sees(context: Context):
    return {"responses": context.input_responses, "state": context.request_state}


@server.tool(output_schema={"type": "object", "required": ["n"]})
def with_output(context: Context):
    if context.input_responses is None:
        return Result.input_required(input_requests={"who": WHO})
    return {"n": 1}


@server.tool
def wire():
    return Result.wire({"resultType": "input_required",
                        "inputRequests": {"sign": {"method": "elicitation/create", "params": {
                            "mode": "url", "message": "m", "url": "https://example.com/"}}}})


def form(**properties):
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return elicit.form("?", schema)


FIELDS = {
    "short": form(v={"type": "string", "minLength": 1, "maxLength": 2}),
    "email": form(v={"type": "string", "format": "email"}),
    "uri": form(v={"type": "string", "format": "uri"}),
    "date": form(v={"type": "string", "format": "date"}),
    "date-time": form(v={"type": "string", "format": "date-time"}),
    "choice": form(v={"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"]}),
    "titled": form(v={"type": "string", "oneOf": [{"const": "a", "title": "A"}]}),
    "number": form(v={"type": "number", "minimum": 0, "maximum": 1}),
    "integer": form(v={"type": "integer"}),
    "boolean": form(v={"type": "boolean"}),
    "choices": form(v={"type": "array", "minItems": 1, "maxItems": 2,
                       "items": {"type": "string", "enum": ["a", "b"]}}),
    "titled choices": form(v={"type": "array",
                              "items": {"anyOf": [{"const": "a", "title": "A"}]}}),
}


@server.tool
def field(kind: str, context: Context):
    answer = FIELDS[kind].response(context, "x")
    if answer is None:
        return Result.input_required(input_requests={"x": FIELDS[kind]})
    return Result.structured({"v": answer.value["v"]})


BAD = {
    "unknown method": {"method": "tools/list"},
    "envelope": {"jsonrpc": "2.0", "id": 1, "method": "roots/list"},
    "no message": {"method": "elicitation/create", "params": {"mode": "form",
        "requestedSchema": {"type": "object", "properties": {}}}},
    "nested field": {"method": "elicitation/create", "params": {"message": "m",
        "requestedSchema": {"type": "object", "properties": {"a": {"type": "object"}}}}},
    "pattern": {"method": "elicitation/create", "params": {"message": "m",
        "requestedSchema": {"type": "object",
                            "properties": {"a": {"type": "string", "pattern": "x"}}}}},
    "relative url": {"method": "elicitation/create", "params": {
        "mode": "url", "message": "m", "url": "/x"}},
    "no messages": {"method": "sampling/createMessage", "params": {
        "messages": [], "maxTokens": 1}},
    "no tokens": {"method": "sampling/createMessage", "params": {
        "messages": [{"role": "user", "content": {"type": "text", "text": "x"}}],
        "maxTokens": 0}},
    "no object": "roots/list",
}


@server.tool
def bad(how: str):
    return Result.input_required(input_requests={"x": BAD[how]})


@server.tool
def neither() -> str:
    try:
        Result.input_required()
    except ValueError:
        return "refused"
    return "accepted"


@server.resource("x://{name}")
def read(name: str, context: Context):
    who = WHO.response(context, "who")
    if who is None:
        return Result.input_required(input_requests={"who": WHO}, request_state="s")
    return f"{name} for {who.value.name}"


@server.prompt
def ask(topic: str, context: Context):
    who = WHO.response(context, "who")
    if who is None:
        return Result.input_required(input_requests={"who": WHO})
    return f"{topic} for {who.value.name}"
"""

ADA = {"action": "accept", "content": {"name": "Ada", "age": 36}}
WORD = {"role": "assistant", "content": {"type": "text", "text": "glad"}, "model": "m"}
DIRS = {"roots": [{"uri": "file:///home/ada", "name": "Home"}, {"uri": "file:///tmp"}]}
EVERYTHING = {"who": ADA, "sign": {"action": "accept"}, "word": WORD, "dirs": DIRS}


def text(result: dict[str, Any]) -> str:
    assert result["resultType"] == "complete"
    assert not result["isError"], result
    found: str = result["content"][0]["text"]
    return found


@pytest.mark.parametrize("tool", ["greets", "greets_async"])
@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (ADA, "Hello, Ada (36)!"),
        ({"action": "accept", "content": {"name": "Bo"}}, "Hello, Bo (18)!"),
        ({"action": "decline"}, "Hello, whoever: decline"),
        # Content means something only if it was accepted (MCP 2026-07-28, elicitation).
        ({"action": "decline", "content": None}, "Hello, whoever: decline"),
        ({"action": "decline", "content": {"name": {"x": 1}}}, "Hello, whoever: decline"),
        ({"action": "cancel", "content": {"name": "x"}}, "Hello, whoever: cancel"),
    ],
)
def test_a_form_is_asked_and_its_answer_read(
    serve: Any, tool: str, answer: dict[str, Any], said: str
) -> None:
    asked, result = serve(MRTR).interview(tool, {"who": answer}, {"greeting": "Hello"})
    assert text(result) == said
    ((key, question),) = asked[0]["inputRequests"].items()
    assert (key, question["method"], len(asked)) == ("who", "elicitation/create", 1)
    schema = question["params"]["requestedSchema"]
    assert question["params"]["message"] == "Who is it for?"
    assert schema["type"] == "object"
    assert schema["properties"]["name"]["type"] == "string"
    assert schema["properties"]["age"] == {"type": "integer", "default": 18}
    assert schema["required"] == ["name"]


def test_every_kind_of_question_is_asked_and_read(serve: Any) -> None:
    session = serve(MRTR)
    for tool, said in [
        ("signs", "accept waiting"),
        ("samples", "glad by m"),
        ("state_alone", "state 2"),
    ]:
        assert text(session.interview(tool, EVERYTHING)[1]) == said
    _, result = session.interview("lists", EVERYTHING)
    assert result["structuredContent"] == ["Home=file:///home/ada", "None=file:///tmp"]
    asked, result = session.interview("several", EVERYTHING)
    assert list(asked[0]["inputRequests"]) == ["who", "sign", "word", "dirs"]
    assert result["structuredContent"] == ["accept"] * 4


def test_state_alone_makes_as_many_rounds_as_it_likes(serve: Any) -> None:
    asked, _ = serve(MRTR).interview("state_alone")
    assert [one["requestState"] for one in asked] == ["1", "2"]
    assert all("inputRequests" not in one for one in asked)


def test_a_question_holds_neither_place_nor_lock(serve: Any) -> None:
    """There is one place; whoever is asked may never come back."""
    session = serve(MRTR)
    for _ in range(50):
        params = {"name": "greets", "arguments": {"greeting": "Hello"}}
        result = session.ask("tools/call", params, clientCapabilities=ABLE)
        assert result["resultType"] == "input_required"
        assert session.call("count")["structuredContent"] > 0


def test_each_round_runs_the_handler_from_the_top(serve: Any) -> None:
    session = serve(MRTR)
    before = session.call("count")["structuredContent"]
    session.interview("greets", {"who": ADA}, {"greeting": "Hello"})
    assert session.call("count")["structuredContent"] == before + 2


@pytest.mark.parametrize(
    "retry",
    [
        {"requestState": 5},
        {"requestState": None},
        {"inputResponses": None},
        {"inputResponses": []},
        {"inputResponses": {"who": 1}},
        {"inputResponses": {"who": ADA, "other": "x"}},
    ],
)
def test_a_malformed_retry_is_refused_before_anything_runs(
    serve: Any, retry: dict[str, Any]
) -> None:
    session = serve(MRTR)
    before = session.call("count")["structuredContent"]
    params = {"name": "greets", "arguments": {"greeting": "Hello"}} | retry
    refused = session.refusal("tools/call", params, clientCapabilities=ABLE)
    assert refused.code == -32602
    assert session.call("count")["structuredContent"] == before


def test_a_retry_is_validated_like_any_call(serve: Any) -> None:
    session = serve(MRTR)
    before = session.call("count")["structuredContent"]
    params = {"name": "greets", "arguments": {"greeting": 5}, "inputResponses": {"who": ADA}}
    assert session.ask("tools/call", params, clientCapabilities=ABLE)["isError"]
    assert session.call("count")["structuredContent"] == before


def test_retry_data_never_reaches_the_arguments(serve: Any) -> None:
    params = {"name": "sees", "inputResponses": {"a": {"b": [1]}}, "requestState": "s"}
    result = serve(MRTR).ask("tools/call", params)
    assert result["structuredContent"] == {"responses": {"a": {"b": [1]}}, "state": "s"}
    assert serve(MRTR).call("sees")["structuredContent"] == {"responses": None, "state": None}


SAID = {"role": "assistant", "content": {"type": "text", "text": "secret"}}


@pytest.mark.parametrize(
    ("tool", "key", "answer"),
    [
        ("greets", "who", {}),
        ("greets", "who", {"action": "maybe"}),
        ("greets", "who", {"action": "accept"}),
        ("greets", "who", {"action": "accept", "content": {"name": 5}}),
        ("greets", "who", {"action": "accept", "content": {"name": "secret", "age": "old"}}),
        ("greets", "who", {"action": "accept", "content": {"name": "secret", "age": 1.5}}),
        ("greets", "who", {"action": "accept", "content": {"name": "secret", "x": {"y": 1}}}),
        ("greets", "who", {"action": "accept", "content": {"name": {"secret": 1}}}),
        ("greets", "who", WORD),
        ("signs", "sign", {"action": "yes"}),
        ("samples", "word", SAID),
        ("samples", "word", SAID | {"role": "system", "model": "m"}),
        ("samples", "word", SAID | {"content": {"type": "smell"}, "model": "m"}),
        ("samples", "word", SAID | {"content": [], "model": "m"}),
        ("samples", "word", SAID | {"model": 5}),
        ("samples", "word", WORD | {"stopReason": 5}),
        ("lists", "dirs", {}),
        ("lists", "dirs", {"roots": {}}),
        ("lists", "dirs", {"roots": [{"uri": "https://secret.example/"}]}),
        ("lists", "dirs", {"roots": [{"name": "no uri"}]}),
    ],
)
def test_an_answer_that_does_not_fit_is_refused_without_repeating_it(
    serve: Any, tool: str, key: str, answer: dict[str, Any]
) -> None:
    arguments = {"greeting": "Hello"} if tool == "greets" else {}
    params = {"name": tool, "arguments": arguments, "inputResponses": {key: answer}}
    refused = serve(MRTR).refusal("tools/call", params, clientCapabilities=ABLE)
    what = {"word": "sampling", "dirs": "roots"}.get(key, "elicitation")
    assert refused.error == {"code": -32602, "message": f"Invalid {what} response"}


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ("short", ["a", "茶茶", "🏴🏴"], ["", "abc", "e\u0301e", 5, None]),
        ("email", ["a@b.c", "é@x"], ["a", "a b@c", "@", "a@", "@b"]),
        ("uri", ["https://a.example/x", "urn:x"], ["/x", "x", ""]),
        ("date", ["2026-07-28", "2024-02-29"], ["2026-02-29", "28.7.2026", "2026-07-28T00:00:00Z"]),
        (
            "date-time",
            ["2026-07-28T01:02:03Z", "2026-07-28t01:02:03.5+02:00", "2026-07-28t01:02:03z"],
            ["2026-07-28", "2026-07-28T01:02:03", "2026-07-28T25:00:00Z"],
        ),
        ("choice", ["a", "b"], ["A", "c", "", None]),
        ("titled", ["a"], ["A", "b"]),
        ("number", [0, 1, 0.5], [-0.1, 1.1, "1", True]),
        ("integer", [0, -7, 2**62], [1.5, "1", False]),
        ("boolean", [True, False], [0, "true", None]),
        ("choices", [["a"], ["b", "a"]], [[], ["a", "b", "a"], ["c"], "a", [1]]),
        ("titled choices", [[], ["a"]], [["A"], {"a": True}]),
    ],
)
def test_every_kind_of_field_takes_what_it_says_and_nothing_else(
    serve: Any, kind: str, good: list[Any], bad: list[Any]
) -> None:
    session = serve(MRTR)

    def answered(value: Any) -> dict[str, Any]:
        answer = {"x": {"action": "accept", "content": {"v": value}}}
        return {"name": "field", "arguments": {"kind": kind}, "inputResponses": answer}

    for value in good:
        result = session.ask("tools/call", answered(value), clientCapabilities=ABLE)
        assert result["structuredContent"] == {"v": value}
    for value in bad:
        refused = session.refusal("tools/call", answered(value), clientCapabilities=ABLE)
        assert refused.message == "Invalid elicitation response", value


def test_extra_fields_of_an_answer_are_let_pass(serve: Any) -> None:
    answer = ADA | {"extra": 1, "content": {"name": "Ada", "age": 36, "shoe": 39}, "_meta": {}}
    answers = {"who": answer, "nobody asked": {"x": 1}}
    params = {"name": "greets", "arguments": {"greeting": "Hi"}, "inputResponses": answers}
    result = serve(MRTR).ask("tools/call", params, clientCapabilities=ABLE)
    assert text(result) == "Hi, Ada (36)!"


def test_a_missing_answer_is_asked_for_again(serve: Any) -> None:
    params = {"name": "greets", "arguments": {"greeting": "Hi"}, "inputResponses": {"x": ADA}}
    result = serve(MRTR).ask("tools/call", params, clientCapabilities=ABLE)
    assert list(result["inputRequests"]) == ["who"]


@pytest.mark.parametrize(
    ("tool", "declared", "missing"),
    [
        ("greets", {}, {"elicitation": {"form": {}}}),
        ("greets", {"elicitation": {"url": {}}}, {"elicitation": {"form": {}}}),
        ("signs", {"elicitation": {}}, {"elicitation": {"url": {}}}),
        ("wire", {"elicitation": {}}, {"elicitation": {"url": {}}}),
        ("samples", {"elicitation": {}}, {"sampling": {}}),
        ("lists", {}, {"roots": {}}),
        (
            "several",
            {"elicitation": {}, "roots": {}},
            {"elicitation": {"url": {}}, "sampling": {}},
        ),
        ("state_alone", {}, None),
        ("greets", {"elicitation": {"form": {}}}, None),
        ("greets", {"elicitation": {}}, None),
        ("lists", {"roots": {"listChanged": True}}, None),
    ],
)
def test_only_what_the_client_declared_is_asked(
    serve: Any, tool: str, declared: dict[str, Any], missing: dict[str, Any] | None
) -> None:
    session = serve(MRTR)
    params = {"name": tool, "arguments": {"greeting": "Hello"} if tool == "greets" else {}}
    if missing is None:
        result = session.ask("tools/call", params, clientCapabilities=declared)
        assert result["resultType"] == "input_required"
        return
    with pytest.raises(Refusal) as refused:
        session.ask("tools/call", params, clientCapabilities=declared)
    assert refused.value.code == -32021
    assert refused.value.data == {"requiredCapabilities": missing}
    assert refused.value.status == (400 if session.transport == "http" else None)


@pytest.mark.parametrize(
    "how",
    [
        "unknown method",
        "envelope",
        "no message",
        "nested field",
        "pattern",
        "relative url",
        "no messages",
        "no tokens",
        "no object",
    ],
)
def test_a_question_that_is_none_is_the_servers_fault(serve: Any, how: str) -> None:
    params = {"name": "bad", "arguments": {"how": how}}
    refused = serve(MRTR).refusal("tools/call", params, clientCapabilities=ABLE)
    assert refused.error == {"code": -32603, "message": "Invalid input-required result"}


def test_asking_for_neither_input_nor_state_is_refused_where_it_is_written(serve: Any) -> None:
    assert serve(MRTR).text("neither") == "refused"


def test_a_question_needs_no_structured_output(serve: Any) -> None:
    asked, result = serve(MRTR).interview("with_output", {"who": ADA})
    assert "structuredContent" not in asked[0]
    assert result["structuredContent"] == {"n": 1}


def test_resources_and_prompts_ask_too(serve: Any) -> None:
    session = serve(MRTR)
    asked, result = session.rounds("resources/read", {"uri": "x://tea"}, {"who": ADA})
    assert result["contents"][0]["text"] == "tea for Ada"
    assert "ttlMs" in result
    assert "ttlMs" not in asked[0]
    assert "cacheScope" not in asked[0]
    params = {"name": "ask", "arguments": {"topic": "tea"}}
    asked, result = session.rounds("prompts/get", params, {"who": ADA})
    assert result["messages"][0]["content"]["text"] == "tea for Ada"
    assert list(asked[0]["inputRequests"]) == ["who"]


def test_flows_that_are_given_up_leave_nothing(write_app: Any) -> None:
    """A server keeps nothing of a question: its memory does not grow with them."""
    server = StdioServer(write_app(MRTR))

    def memory() -> int:
        with open(f"/proc/{server.popen.pid}/statm") as statm:
            return int(statm.read().split()[1]) * 4096

    def ask(times: int) -> None:
        for start in range(0, times, 100):
            for number in range(100):
                params = {"name": "state_alone", "arguments": {}}
                server.write_message(request("tools/call", params, id=start + number))
                server.read_message()

    try:
        ask(1000)
        before = memory()
        ask(3000)
        assert memory() - before < 8 << 20, "questions pile up"
    finally:
        server.close()
