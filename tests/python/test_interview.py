"""`context.ask` and `context.once`: what a run is told, what it asks, and what is remembered."""

from __future__ import annotations

import asyncio
import dataclasses
import gc
import json
import threading
import weakref
from collections.abc import Callable
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snodo import (
    Answer,
    Context,
    Error,
    Message,
    Result,
    Server,
    State,
    elicit,
    roots,
    sampling,
)
from snodo._interview import InputNeeded, needed_in

CAPABILITIES = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}
Asked = dict[str, Any]


@dataclasses.dataclass
class Approval:
    approve: bool
    why: str = "no reason"


class Client:
    """Calls a server's only tool, and answers what it asks."""

    def __init__(self, server: Server, name: str = "tool", **arguments: Any) -> None:
        self.server = server
        self.params: dict[str, Any] = {"name": name, "arguments": arguments}
        self.method = "tools/call"
        self.state: str | None = None

    def send(self, responses: dict[str, Any] | None = None) -> dict[str, Any]:
        """Gives the result of one round, or the error."""
        params = {
            **self.params,
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": CAPABILITIES,
            },
        }
        if responses is not None:
            params["inputResponses"] = responses
        if self.state is not None:
            params["requestState"] = self.state
        message = {"jsonrpc": "2.0", "id": 1, "method": self.method, "params": params}
        answer = self.server.handle(message)
        assert answer is not None
        result: dict[str, Any] = answer.get("result") or answer["error"]
        if "requestState" in result:
            self.state = result["requestState"]
        return result

    def talk(self, *rounds: dict[str, Any]) -> str:
        """Answers round after round, and gives the text of the last result."""
        result = self.send()
        for responses in rounds:
            assert result["resultType"] == "input_required", result
            assert result["inputRequests"].keys() >= responses.keys()
            result = self.send(responses)
        return text_of(result)


def text_of(result: dict[str, Any]) -> str:
    assert result.get("resultType") == "complete", result
    text: str = result["content"][0]["text"]
    return text


def accept(**content: Any) -> dict[str, Any]:
    return {"action": "accept", "content": content}


def serve(function: Callable[..., Any], **options: Any) -> Server:
    server = Server("test", **options)
    server.tool(name="tool")(function)
    return server


def test_a_question_ends_the_request_and_its_answer_comes_typed() -> None:
    def tool(context: Context) -> str:
        answer = context.ask("confirm", elicit.form("Deploy?", Approval))
        assert type(answer.value) is Approval
        return f"{answer.value.approve} {answer.value.why}"

    client = Client(serve(tool))
    asked = client.send()
    assert asked["resultType"] == "input_required"
    assert asked["inputRequests"] == {"confirm": elicit.form("Deploy?", Approval)}
    assert text_of(client.send({"confirm": accept(approve=True)})) == "True no reason"


def test_coroutines_ask_with_and_without_await() -> None:
    async def tool(context: Context) -> str:
        first = await context.ask("a", elicit.form("A?", str))
        second = context.ask("b", elicit.form("B?", str))
        return first.value + second.value

    assert Client(serve(tool)).talk({"a": accept(value="x")}, {"b": accept(value="y")}) == "xy"


def test_answers_of_earlier_rounds_are_remembered() -> None:
    runs = []

    def tool(context: Context) -> str:
        runs.append(1)
        names = [context.ask(key, elicit.form(f"{key}?", str)).value for key in ("a", "b", "c")]
        return "".join(names)

    rounds = [{key: accept(value=key.upper())} for key in ("a", "b", "c")]
    assert Client(serve(tool)).talk(*rounds) == "ABC"
    assert len(runs) == 4


def test_several_questions_go_in_one_round_and_only_what_is_missing_is_asked_again() -> None:
    async def tool(context: Context) -> str:
        answers = await context.ask(
            {
                "who": elicit.form("Who?", str),
                "dirs": roots.list(),
                "word": sampling.create_message("One word for happy?", 16),
            }
        )
        said = answers["word"].value.text
        return f"{answers['who'].value} {answers['dirs'].value[0].uri} {said}"

    client = Client(serve(tool))
    assert client.send()["inputRequests"].keys() == {"who", "dirs", "word"}
    left = client.send({"who": accept(value="Ada"), "dirs": {"roots": [{"uri": "file:///a"}]}})
    assert left["inputRequests"].keys() == {"word"}
    word = {"role": "assistant", "content": {"type": "text", "text": "glad"}, "model": "m"}
    assert text_of(client.send({"word": word})) == "Ada file:///a glad"


def test_loops_may_ask_under_one_key() -> None:
    def tool(context: Context) -> str:
        items: list[str] = []
        while True:
            answer = context.ask("item", elicit.form("Another?", str))
            if not answer.accepted:
                return ",".join(items)
            items.append(answer.value)

    rounds = [
        {"item": accept(value="a")},
        {"item#2": accept(value="b")},
        {"item#3": {"action": "decline"}},
    ]
    assert Client(serve(tool)).talk(*rounds) == "a,b"


def test_a_key_that_looks_like_a_second_use_is_one_of_its_own() -> None:
    def tool(context: Context) -> str:
        return "".join(context.ask(key, elicit.form("?", str)).value for key in ("a", "a", "a#2"))

    rounds = [{key: accept(value=key)} for key in ("a", "a#2", "a#2#2")]
    assert Client(serve(tool)).talk(*rounds) == "aa#2a#2#2"


def test_branches_ask_what_the_answers_make_of_them() -> None:
    def tool(context: Context) -> str:
        if context.ask("kind", elicit.form("?", Literal["a", "b"])).value == "a":
            return context.ask("more", elicit.form("How many?", int)).value * "a"
        return "b"

    server = serve(tool)
    assert Client(server).talk({"kind": accept(value="b")}) == "b"
    assert Client(server).talk({"kind": accept(value="a")}, {"more": accept(value=3)}) == "aaa"


def test_a_question_that_reads_otherwise_is_asked_again() -> None:
    price = [1]

    def tool(context: Context) -> str:
        answer = context.ask("buy", elicit.form(f"Pay {price[0]}?", bool))
        context.ask("then", elicit.form("Sure?", bool))
        return f"paid {price[0]}: {answer.value}"

    client = Client(serve(tool))
    client.send()
    price[0] = 2
    again = client.send({"buy": accept(value=True)})
    assert again["inputRequests"]["buy"]["params"]["message"] == "Pay 2?"
    client.send({"buy": accept(value=True)})
    price[0] = 3
    again = client.send({"then": accept(value=True)})
    assert again["inputRequests"].keys() == {"buy"}
    # The answer to the other question still stands.
    assert text_of(client.send({"buy": accept(value=False)})) == "paid 3: False"


def test_a_missing_answer_is_asked_for_again() -> None:
    def tool(context: Context) -> str:
        return context.ask("a", elicit.form("?", str)).value

    client = Client(serve(tool))
    first, second = client.send(), client.send({"b": accept(value="x")})
    assert first["inputRequests"] == second["inputRequests"]
    assert text_of(client.send({"a": accept(value="x")})) == "x"


def test_an_answer_to_what_was_not_asked_is_ignored() -> None:
    def tool(context: Context) -> str:
        context.ask("a", elicit.form("A?", str))
        return context.ask("b", elicit.form("B?", str)).value

    client = Client(serve(tool))
    client.send()
    early = {"a": accept(value="x"), "b": accept(value="forged")}
    assert client.send(early)["inputRequests"].keys() == {"b"}
    assert text_of(client.send({"b": accept(value="y")})) == "y"


def test_answers_without_state_are_taken_if_they_fit() -> None:
    def tool(context: Context) -> str:
        first = context.ask("a", elicit.form("A?", int)).value
        return str(first + context.ask("b", elicit.form("B?", int)).value)

    client = Client(serve(tool))
    assert client.send({"a": accept(value=1)})["inputRequests"].keys() == {"b"}
    assert text_of(client.send({"b": accept(value=2)})) == "3"


@pytest.mark.parametrize("stateless", [True, False])
def test_an_answer_that_does_not_fit_fails_the_request(stateless: bool) -> None:
    def tool(context: Context) -> str:
        return context.ask("a", elicit.form("A?", int)).value * "x"

    client = Client(serve(tool))
    if not stateless:
        client.send()
    error = client.send({"a": accept(value="secret")})
    assert error == {"code": -32602, "message": "Invalid elicitation response"}
    assert text_of(client.send({"a": accept(value=2)})) == "xx"


def test_what_was_declined_fails_the_tool_with_words_for_the_model() -> None:
    def tool(context: Context) -> str:
        return context.ask("a", elicit.form("A?", str)).value

    client = Client(serve(tool))
    client.send()
    result = client.send({"a": {"action": "cancel"}})
    assert result["isError"] is True
    assert text_of(result) == "The user cancelled the request for input"


def test_rounds_are_bounded() -> None:
    def tool(context: Context) -> str:
        while True:
            context.ask("a", elicit.form("?", str))

    client = Client(serve(tool, limits={"input_rounds": 3}))
    result, rounds = client.send(), 0
    while result["resultType"] == "input_required":
        rounds += 1
        result = client.send({key: accept(value="x") for key in result["inputRequests"]})
    assert rounds == 3
    assert result["isError"] is True
    assert text_of(result) == "Gave up after 3 rounds of questions"


def test_there_are_32_rounds_by_default() -> None:
    def tool(context: Context) -> str:
        context.ask(f"{context.input_responses}", elicit.form("?", str))
        return ""

    client = Client(serve(tool))
    rounds = 0
    while client.send({str(rounds): {}})["resultType"] == "input_required":
        rounds += 1
    assert rounds == 32


def test_answers_that_are_too_long_to_remember_fail_the_tool(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def tool(context: Context) -> str:
        context.once("note", lambda: "short")
        context.ask("a", elicit.form("?", str))
        return context.ask("b", elicit.form("?", str)).value

    client = Client(serve(tool))
    client.send()
    result = client.send({"a": accept(value="x" * 20_000)})
    assert result["isError"] is True
    assert text_of(result) == (
        "The answers so far and what once() remembers are over 16 KiB together: too long to go on"
        " asking"
    )
    assert "tools/call: too long to go on asking, the largest of 2: ask('a') 20," in caplog.text
    assert "bytes, once('note') " in caplog.text
    assert "xxx" not in caplog.text


@pytest.mark.parametrize("first", ["ask", "state"])
def test_ask_and_state_on_one_request_are_a_mistake_of_the_author(
    first: str, caplog: pytest.LogCaptureFixture
) -> None:
    kept = State()

    def tool(context: Context) -> Any:
        if first == "state" and context.request_state is None:
            return Result.input_required(request_state=kept.seal({}, context))
        if first == "ask":
            kept.open(context)
        return context.ask("a", elicit.form("?", str)).value

    client = Client(serve(tool))
    assert client.send()["resultType"] == "input_required"
    result = client.send({"a": accept(value="x")})
    assert result["isError"] is True
    assert "RuntimeError: context.ask and State do not mix" in caplog.text


@pytest.mark.parametrize(
    "spoil", [lambda token: token[:-1], lambda token: token + "A", lambda _: ""]
)
def test_a_state_that_does_not_open_fails_the_request(
    spoil: Callable[[str], str], caplog: pytest.LogCaptureFixture
) -> None:
    def tool(context: Context) -> str:
        return context.ask("a", elicit.form("?", str)).value

    client = Client(serve(tool))
    client.send()
    assert client.state is not None
    client.state = spoil(client.state)
    error = client.send({"a": accept(value="x")})
    assert error == {"code": -32602, "message": "Invalid or expired request state"}
    assert caplog.text.count("does not open") == 1


def test_state_belongs_to_the_arguments_and_to_the_tool() -> None:
    def tool(context: Context, amount: int) -> str:
        return context.ask("a", elicit.form("?", str)).value

    server = serve(tool)
    server.tool(name="other")(tool)
    client = Client(server, amount=1)
    client.send()
    for name, amount in (("tool", 2), ("other", 1)):
        thief = Client(server, name, amount=amount)
        thief.state = client.state
        assert thief.send({"a": accept(value="x")})["code"] == -32602
    assert text_of(client.send({"a": accept(value="x")})) == "x"


def test_processes_with_one_secret_continue_each_other() -> None:
    def tool(context: Context) -> str:
        return context.ask("a", elicit.form("?", str)).value

    secret = "s" * 32
    client = Client(serve(tool, secret=secret))
    client.send()
    client.server = serve(tool, secret=["n" * 32, secret])
    assert text_of(client.send({"a": accept(value="x")})) == "x"
    client.server = serve(tool)
    assert client.send({"a": accept(value="x")})["code"] == -32602


def test_once_runs_in_one_run_alone() -> None:
    runs: list[str] = []

    def tool(context: Context) -> str:
        token = context.once("token", lambda: runs.append("token") or {"id": (1, 2)})
        context.ask("a", elicit.form("?", str))
        assert token == {"id": [1, 2]}
        token["id"].append(3)  # its own copy
        context.ask("b", elicit.form("?", str))
        return json.dumps(context.once("other", lambda: Approval(True)))

    said = Client(serve(tool)).talk({"a": accept(value="x")}, {"b": accept(value="y")})
    assert json.loads(said) == {"approve": True, "why": "no reason"}
    assert runs == ["token"]


def test_once_remembers_none_and_counts_its_uses() -> None:
    runs: list[int] = []

    def tool(context: Context) -> str:
        for number in range(3):
            assert context.once("step", lambda number=number: runs.append(number)) is None  # type: ignore[misc]
        context.ask("a", elicit.form("?", str))
        return "done"

    assert Client(serve(tool)).talk({"a": accept(value="x")}) == "done"
    assert runs == [0, 1, 2]


def test_coroutine_functions_are_awaited_in_every_run() -> None:
    runs: list[str] = []

    async def fetch() -> dict[str, int]:
        await asyncio.sleep(0)
        runs.append("fetch")
        return {"a": 1}

    async def tool(context: Context) -> str:
        first = await context.once("fetch", fetch)
        second = await context.once("lambda", lambda: fetch())
        context.ask("a", elicit.form("?", str))
        return json.dumps([first, second])

    assert json.loads(Client(serve(tool)).talk({"a": accept(value="x")})) == [{"a": 1}, {"a": 1}]
    assert runs == ["fetch", "fetch"]


def test_an_exception_of_once_is_not_remembered() -> None:
    tries: list[int] = []

    def flaky() -> str:
        tries.append(1)
        if len(tries) == 1:
            raise OSError("down")
        return "up"

    def tool(context: Context) -> str:
        try:
            said = context.once("net", flaky)
        except OSError as error:
            said = str(error)
        context.ask("a", elicit.form("?", str))
        return said

    assert Client(serve(tool)).talk({"a": accept(value="x")}) == "up"


def test_once_remembers_json_alone() -> None:
    def tool(context: Context) -> str:
        with pytest.raises(TypeError, match=r"once\('a'\) remembers JSON alone: objects of type"):
            context.once("a", object)
        return "refused"

    assert Client(serve(tool)).talk() == "refused"


def test_changing_what_once_gave_changes_nothing() -> None:
    def tool(context: Context) -> str:
        values = context.once("a", lambda: [1])
        values.append(2)
        context.ask("a", elicit.form("?", str))
        return json.dumps(values)

    assert Client(serve(tool)).talk({"a": accept(value="x")}) == "[1, 2]"


def test_prompts_and_reads_may_ask() -> None:
    server = Server("test")

    @server.prompt
    def introduce(context: Context) -> Message:
        return Message.user(context.ask("who", elicit.form("Who?", str)).value)

    @server.resource("note://today")
    def note(context: Context) -> str:
        return context.ask("who", elicit.form("Who?", str)).value

    for method, params in (
        ("prompts/get", {"name": "introduce"}),
        ("resources/read", {"uri": "note://today"}),
    ):
        client = Client(server)
        client.method, client.params = method, params
        assert client.send()["inputRequests"].keys() == {"who"}
        assert "Ada" in json.dumps(client.send({"who": accept(value="Ada")}))


def test_completions_may_not_ask() -> None:
    server = Server("test")

    @server.prompt
    def introduce(name: str) -> str:
        return name

    @server.complete("introduce", "name")
    def names(value: str, context: Context) -> list[str]:
        context.ask("a", elicit.form("?", str))
        return []

    client = Client(server)
    client.method = "completion/complete"
    client.params = {
        "ref": {"type": "ref/prompt", "name": "introduce"},
        "argument": {"name": "name", "value": ""},
    }
    words = "Input-required result is not permitted for this operation"
    assert client.send() == {"code": -32603, "message": words}


def test_tasks_of_one_run_ask_at_the_same_time() -> None:
    async def tool(context: Context) -> str:
        found: dict[str, str] = {}

        async def one(key: str) -> None:
            await asyncio.sleep(0)
            found[key] = context.ask(key, elicit.form(f"{key}?", str)).value

        async with asyncio.TaskGroup() as group:
            for key in ("a", "b"):
                group.create_task(one(key))
        return found["a"] + found["b"]

    client = Client(serve(tool))
    result = client.send()
    while result["resultType"] == "input_required":
        result = client.send({k: accept(value=k.upper()) for k in result["inputRequests"]})
    assert text_of(result) == "AB"


def test_threads_of_one_run_share_what_is_remembered() -> None:
    def tool(context: Context) -> str:
        ended: list[BaseException] = []
        together = threading.Barrier(8)

        def work(key: str) -> None:
            together.wait(10)
            try:
                context.once(key, lambda: key)
                context.ask(key, elicit.form("?", str))
            except BaseException as error:
                ended.append(error)

        threads = [threading.Thread(target=work, args=(f"k{n}",)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
        if ended:
            raise ended[0]
        return "done"

    client = Client(serve(tool))
    asked = client.send()["inputRequests"]
    assert asked.keys() == {f"k{n}" for n in range(8)}
    assert text_of(client.send({key: accept(value="x") for key in asked})) == "done"


def test_another_exception_beside_a_question_is_not_hidden() -> None:
    needed = InputNeeded.__new__(InputNeeded)
    assert needed_in(needed) is needed
    inner = BaseExceptionGroup("", [needed, needed])
    assert needed_in(BaseExceptionGroup("", [inner, needed])) is needed
    assert needed_in(BaseExceptionGroup("", [needed, ValueError()])) is None
    assert needed_in(ValueError()) is None
    assert needed_in(KeyboardInterrupt()) is None


def test_a_run_that_asked_is_freed() -> None:
    runs: list[weakref.ref[Any]] = []

    def tool(context: Context) -> str:
        try:
            return context.ask("a", elicit.form("?", str)).value
        finally:
            runs.append(weakref.ref(context._interview))

    client = Client(serve(tool))
    for _ in range(3):
        client.state = None
        assert client.talk({"a": accept(value="x")}) == "x"
    gc.collect()
    # A thread keeps the context of its last call until the next one.
    assert [run() for run in runs[:-1]] == [None] * 5


SIZE = elicit.form("Which size?", Literal["S", "M"])


@pytest.mark.parametrize("value", [SIZE, roots.list(), {"size": SIZE}])
@pytest.mark.parametrize("kind", ["tool", "prompt", "resource"])
def test_a_question_that_is_returned_is_refused(
    value: Any, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    server = Server("test")
    declare = {
        "tool": server.tool(name="it"),
        "prompt": server.prompt(name="it"),
        "resource": server.resource("it://", name="it"),
    }

    @declare[kind]
    def forgot():  # type: ignore[no-untyped-def]
        return value

    client = Client(server, "it")
    client.method = {"tool": "tools/call", "prompt": "prompts/get", "resource": "resources/read"}[
        kind
    ]
    if kind == "resource":
        client.params = {"uri": "it://"}
    answer = client.send()
    assert answer["code"] == -32603
    words = 'a question is no result: ask it with context.ask("key", ...), or send it with'
    assert words in answer["message"]
    assert words in caplog.text


@pytest.mark.parametrize("bare", [SIZE, roots.list(), dict(SIZE)])
def test_a_question_without_a_key_is_refused_where_it_is_given(bare: Any) -> None:
    with pytest.raises(TypeError, match=r'put it under a key, as \{"size": \.\.\.\}'):
        Result.input_required(input_requests=bare)


def test_except_exception_does_not_catch_a_question() -> None:
    def tool(context: Context) -> str:
        try:
            return context.ask("a", elicit.form("?", str)).value
        except Exception:
            return "caught"

    assert Client(serve(tool)).talk({"a": accept(value="x")}) == "x"


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda c: c.ask("a", {"method": "roots/list"}), "ask takes what elicit.form"),
        (lambda c: c.ask("a"), r"a request beside its key: context.ask\('a', ...\)"),
        (lambda c: c.ask(roots.list()), r"ask needs a key .*: context.ask\(\"key\", ...\)"),
        (lambda c: c.ask(roots.list(), "a"), "ask needs a key to find the answer by"),
        (lambda c: c.ask("", roots.list()), "key of a question must be a non-empty string"),
        (lambda c: c.ask(3, roots.list()), "ask takes a key and a request, or a dict .*, not int"),
        (lambda c: c.ask({}), "ask takes a key and a request, or a dict .*, not an empty dict"),
        (lambda c: c.ask({"a": roots.list()}, roots.list()), "no request beside a dict"),
        (lambda c: c.ask({3: roots.list()}), "must be a non-empty string, not int"),
        (lambda c: c.once("", list), "key of what is done once must be"),
        (lambda c: c.once("a", 3), "once takes a function, not int"),
    ],
)
def test_misuse_is_a_type_error(ask: Callable[[Any], Any], words: str) -> None:
    def tool(context: Context) -> str:
        with pytest.raises(TypeError, match=words):
            ask(context)
        return "refused"

    assert Client(serve(tool)).talk() == "refused"


def test_a_client_that_cannot_be_asked_is_told_what_it_lacks() -> None:
    def tool(context: Context) -> str:
        return context.ask("a", elicit.url("Open", "https://example.org/")).value or ""

    client = Client(serve(tool))
    before = CAPABILITIES.pop("elicitation")
    try:
        error = client.send()
    finally:
        CAPABILITIES["elicitation"] = before
    assert error["code"] == -32021
    assert error["data"] == {"requiredCapabilities": {"elicitation": {"url": {}}}}


def test_an_interview_may_be_answered_by_hand_too() -> None:
    def tool(context: Context) -> str:
        request = elicit.form("?", int)
        answer: Answer[int] | None = request.response(context, "a")
        if answer is None:
            from snodo import Result

            return Result.input_required(input_requests={"a": request})  # type: ignore[return-value]
        return str(answer.value)

    client = Client(serve(tool))
    assert client.send()["inputRequests"] == {"a": elicit.form("?", int)}
    assert text_of(client.send({"a": accept(value=3)})) == "3"
    error = client.send({"a": accept(value="3")})
    assert error["message"] == Error.invalid_params("Invalid elicitation response").message


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from(["ask", "once"]), st.text(max_size=3)),
        max_size=8,
    )
)
def test_every_run_replays_what_was_said(script: list[tuple[str, str, str]]) -> None:
    """Whatever is asked and done in whatever order: each once, and all runs see the same."""
    done: list[int] = []

    def tool(context: Context) -> str:
        seen: list[Any] = []
        for number, (key, verb, text) in enumerate(script):
            if verb == "ask":
                seen.append(context.ask(key, elicit.form(text, int)).value)
            else:
                seen.append(context.once(key, lambda number=number: done.append(number) or number))
        return json.dumps(seen)

    client = Client(serve(tool))
    result, given, expected = client.send(), 100, []
    for number, (_, verb, _) in enumerate(script):
        if verb == "once":
            expected.append(number)
            continue
        assert len(result["inputRequests"]) == 1
        given += 1
        expected.append(given)
        result = client.send({key: accept(value=given) for key in result["inputRequests"]})
    assert json.loads(text_of(result)) == expected
    assert done == [n for n, (_, verb, _) in enumerate(script) if verb == "once"]
