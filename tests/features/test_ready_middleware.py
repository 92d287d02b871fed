"""The ready-made middleware: what each refuses, in which words, and what it forgets in time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from driver import Refusal, wait_until

SOURCE = """
import asyncio
import threading
import time
from typing import Annotated, Any

import snodo
from snodo import Context, Error, Message, Result, Server, ToolError, elicit
from snodo.middleware import cache, concurrency, rate_limit, response_limit, retry, timeout

server = Server("ready", version="1.0.0", timeout=20)
counts = {}
gates = {}
now = 0.0


def count(name):
    counts[name] = counts.get(name, 0) + 1
    return counts[name]


def gate(name):
    return gates.setdefault(name, threading.Event())


def clock():
    return now


def caller(context):
    return context.meta.get("com.example/caller")


def broken(context):
    raise KeyError("secret")


@server.tool
def counted(name: str) -> int:
    return counts.get(name, 0)


@server.tool
def opens(name: str) -> str:
    gate(name).set()
    return name


@server.tool
def passes(seconds: float) -> str:
    global now
    now += seconds
    return "passed"


async def waits_for(name):
    while not gate(name).is_set():
        await asyncio.sleep(0.005)
    return name


# timeout

QUICK = timeout(0.05)
PATIENT = timeout(10)


@server.tool(middleware=[QUICK])
def slow(seconds: float) -> str:
    time.sleep(seconds)
    return "slept"


@server.tool(middleware=[QUICK])
async def slow_async(seconds: float) -> str:
    try:
        await asyncio.sleep(seconds)
    finally:
        count("slow_async ended")
    return "slept"


@server.tool(middleware=[QUICK])
def held(name: str) -> str:
    gate(name).wait(20)
    count(name)
    return name


@server.resource("x://slow", middleware=[QUICK])
def slow_resource() -> str:
    time.sleep(1)
    return ""


@server.prompt(middleware=[QUICK])
async def slow_prompt(a: str = "") -> str:
    await asyncio.sleep(1)
    return ""


@server.complete(slow_prompt, "a")
async def slow_completion(value: str) -> list[str]:
    await asyncio.sleep(1)
    return []


@server.tool(middleware=[PATIENT])
def patient(text: str) -> str:
    return text


@server.tool(middleware=[PATIENT])
async def patient_async(text: str) -> str:
    return text


@server.tool(middleware=[PATIENT])
async def exits() -> str:
    raise SystemExit(3)


@server.tool(middleware=[PATIENT])
async def asks_in_time(context: Context) -> str:
    return context.ask("name", elicit.form("Name?", str)).value


# concurrency

ONE = concurrency(1)


@server.tool(middleware=[ONE])
def one_at_a_time(name: str) -> str:
    count(name)
    gate(name).wait(10)
    return name


@server.tool(middleware=[ONE])
async def one_at_a_time_async(name: str) -> str:
    count(name)
    return await waits_for(name)


@server.resource("x://one/{name}", middleware=[ONE])
def one_resource(name: str) -> str:
    count(name)
    gate(name).wait(10)
    return name


@server.tool(middleware=[concurrency(1, key=caller)])
def one_each(name: str) -> str:
    count(name)
    gate(name).wait(10)
    return name


@server.tool(middleware=[ONE])
async def fails_or_asks(how: str, context: Context) -> str:
    if how == "ask":
        context.ask("name", elicit.form("Name?", str))
    if how == "raise":
        raise KeyError("x")
    if how == "exit":
        raise SystemExit(1)
    return how


# rate_limit

TWO = rate_limit(2, 10.0, clock=clock)


@server.tool(middleware=[TWO])
def two_in_ten() -> str:
    return "ok"


@server.tool(middleware=[TWO])
async def two_in_ten_async() -> str:
    return "ok"


@server.tool(middleware=[rate_limit(3, 10.0, clock=clock), TWO, TWO])
def twice_listed() -> str:
    return "ok"


@server.resource("x://two", middleware=[TWO])
def two_resource() -> str:
    return "ok"


@server.tool(middleware=[rate_limit(5, 10.0, max_keys=1, key=caller, clock=clock)])
def one_key() -> str:
    return "ok"


@server.tool(middleware=[rate_limit(2, 10.0, method="gcra", clock=clock)])
def evenly() -> str:
    return "ok"


@server.tool(middleware=[rate_limit(2, 0.2)])
def real_time() -> str:
    return "ok"


for layer in (concurrency, rate_limit):
    server.tool(name=f"broken_{layer.__name__}", middleware=[layer(key=broken)])(lambda: "")
server.tool(name="broken_cache", middleware=[cache(1, key=broken)])(lambda: "")
server.resource("x://broken", name="b", middleware=[rate_limit(key=broken)])(lambda: "")
server.tool(name="no_key", middleware=[rate_limit(key=lambda context: object())])(lambda: "")


# retry


@server.tool(middleware=[retry(3, backoff=0)])
def third_time(name: str) -> str:
    if count(name) < 3:
        raise ConnectionError("secret")
    return "at last"


@server.tool(middleware=[retry(3, on=LookupError, backoff=lambda made: made / 1000)])
async def third_time_async(name: str) -> str:
    if count(name) < 3:
        raise KeyError("secret")
    return "at last"


@server.tool(middleware=[retry(2, backoff=0)])
def never(name: str) -> str:
    count(name)
    raise TimeoutError("secret")


@server.tool(middleware=[retry(5, backoff=0)])
def other_reasons(name: str) -> str:
    count(name)
    raise ToolError("own words")


# cache


@server.tool(middleware=[cache(10, clock=clock)])
def remembered(name: str, x: int = 0) -> int:
    return count(name)


@server.tool(middleware=[cache(10, clock=clock)])
async def remembered_async(name: str, x: int = 0) -> int:
    return count(name)


@server.tool(middleware=[cache(10, key=caller, clock=clock)])
def remembered_for(name: str) -> int:
    return count(name)


@server.tool(middleware=[cache(10, max_entries=2, clock=clock)])
def remembers_two(name: str) -> int:
    return count(name)


@server.tool(middleware=[cache(10, clock=clock)])
def bad_days(name: str, how: str) -> str:
    n = count(name)
    if how == "raise":
        raise ToolError(f"failed {n}")
    if how == "result":
        return Result.error(f"failed {n}")
    if how == "raw":
        return Result.raw({"content": [], "isError": True, "structuredContent": {"n": n}})
    if how == "returned":
        return Error(-32010, f"failed {n}")
    return f"{n}"


@server.tool(middleware=[cache(10, clock=clock)])
def asks_and_keeps(context: Context, name: str) -> str:
    answer = context.ask("name", elicit.form("Name?", str))
    return f"{answer.value} {count(name)}"


@server.tool(middleware=[cache(10, clock=clock)])
def single(name: str) -> str:
    count(name)
    gate(name).wait(10)
    return name


@server.tool(middleware=[cache(10, clock=clock)])
async def single_async(name: str) -> str:
    count(name)
    return await waits_for(name)


@server.tool(middleware=[cache(10, clock=clock)])
async def single_fails(name: str) -> str:
    count(name)
    await waits_for(name)
    raise ToolError("failed once for all")


@server.tool(middleware=[cache(10, clock=clock)])
async def first_leaves(name: str) -> str:
    n = count(name)
    await waits_for(name)
    return f"{n}"


class Anything(snodo.Resource):
    name = "anything"
    uri_template = "any://{+rest}"
    middleware = [cache(10, clock=clock)]

    def matches(self, uri):
        return uri.startswith("any://")

    def read(self, params, context):
        return f"{params['uri']} {count('anything')}"


server.add(Anything)


@server.prompt(middleware=[cache(10, clock=clock)])
def kept_prompt(a: str = "") -> str:
    return f"{count('kept_prompt')}"


@server.complete(kept_prompt, "a")
def kept_completion(value: str) -> list[str]:
    return [f"{count('kept_completion')}"]


@server.resource(
    "x://both/{a}/{b}",
    middleware=[cache(10, clock=clock)],
    complete={"a": lambda value: ["first"], "b": lambda value: ["second"]},
)
def both(a: str, b: str) -> str:
    return a + b


@server.prompt(
    middleware=[cache(10, clock=clock)],
    complete={"a": lambda value: ["first"], "b": lambda value: ["second"]},
)
def both_prompt(a: str = "", b: str = "") -> str:
    return a + b


@server.tool(middleware=[cache(10, clock=clock)], output_schema=None)
def first_unfit(name: str) -> dict[str, Any]:
    return {"x": object()} if count(name) == 1 else {"x": "fit"}


@server.tool(middleware=[cache(10, clock=clock)])
async def first_breaks_its_schema(name: str) -> dict[str, str]:
    return {"x": 1} if count(name) == 1 else {"x": "fit"}


@server.resource("x://unfit/{name}", middleware=[cache(10, clock=clock)])
def first_unfit_resource(name: str) -> Any:
    return None if count(name) == 1 else [snodo.Text("fit")]


@server.prompt(middleware=[cache(10, clock=clock)])
def first_unfit_prompt(name: str) -> Any:
    return [object()] if count(name) == 1 else [Message("user", "fit")]


LIVE = []


@server.tool(middleware=[cache(10, clock=clock)], output_schema=None)
def live(name: str) -> list[int]:
    LIVE.append(1)
    return LIVE


def spoils(context, arguments, call_next):
    value = call_next()
    value["list"].append("spoilt")
    return value


@server.tool(middleware=[spoils, cache(10, clock=clock)], output_schema=None)
def spoilt(name: str, how: str) -> Any:
    value = {"list": [count(name)]}
    return value if how == "plain" else Spelled(value["list"])


class Spelled(dict):
    def __init__(self, value):
        super().__init__(list=value)


@server.tool(middleware=[cache(10, clock=clock)])
def live_result(name: str) -> Any:
    LIVE.append(1)
    return Result.structured({"list": LIVE}, metadata={"com.example/n": LIVE})


# response_limit

SHORT = response_limit(40, head=10, tail=5)


@server.tool(middleware=[SHORT])
def long_text(n: int) -> str:
    return "".join(chr(97 + i % 26) for i in range(n))


@server.tool(middleware=[SHORT], output_schema=None)
async def long_data(n: int) -> dict[str, Any]:
    return {"values": list(range(n))}


@server.tool(middleware=[SHORT])
def long_output(n: int) -> dict[str, Any]:
    return {"values": list(range(n))}


@server.tool(middleware=[SHORT], output_schema=None)
def long_content(n: int) -> Any:
    return [snodo.Text("x" * n), snodo.Image(b"\\x89PNG\\r\\n\\x1a\\n", "image/png")]


@server.tool(middleware=[response_limit(max_bytes=10)])
def long_bytes(text: str) -> str:
    return text


@server.tool(middleware=[SHORT])
def long_error() -> str:
    raise ToolError("e" * 100)
"""


@pytest.fixture
def session(serve: Any) -> Any:
    return serve(SOURCE)


def count(session: Any, name: str) -> int:
    found: int = session.call("counted", {"name": name})["structuredContent"]
    return found


def reached(session: Any, name: str, number: int = 1) -> None:
    wait_until(lambda: count(session, name) >= number, f"{number} calls of {name} run")


# timeout


@pytest.mark.parametrize("tool", ["slow", "slow_async"])
def test_what_takes_too_long_is_given_up(session: Any, tool: str) -> None:
    assert session.failure(tool, {"seconds": 1}, timeout=5) == "Component timed out"


@pytest.mark.parametrize("tool", ["patient", "patient_async"])
def test_what_is_in_time_is_given(session: Any, tool: str) -> None:
    assert session.text(tool, {"text": "in time"}) == "in time"


def test_a_coroutine_that_is_given_up_is_cancelled(session: Any) -> None:
    before = count(session, "slow_async ended")
    assert session.failure("slow_async", {"seconds": 30}) == "Component timed out"
    reached(session, "slow_async ended", before + 1)


def test_a_plain_function_that_is_given_up_is_not_waited_for(session: Any) -> None:
    name = f"held {session.transport}"
    assert session.failure("held", {"name": name}) == "Component timed out"
    assert count(session, name) == 0
    session.call("opens", {"name": name})
    reached(session, name)


def test_what_is_no_tool_refuses_with_an_error(session: Any) -> None:
    completion = {"ref": {"type": "ref/prompt", "name": "slow_prompt"}}
    for method, params in (
        ("resources/read", {"uri": "x://slow"}),
        ("prompts/get", {"name": "slow_prompt"}),
        ("completion/complete", completion | {"argument": {"name": "a", "value": ""}}),
    ):
        refusal = session.refusal(method, params)
        assert (refusal.code, refusal.message) == (-32603, "Component timed out")


def test_exiting_ends_the_call_alone(session: Any) -> None:
    assert session.failure("exits").startswith("Tool 'exits' failed (error id ")
    assert session.text("patient", {"text": "alive"}) == "alive"


def test_questions_pass_the_time_limit(session: Any) -> None:
    answers = {"name": {"action": "accept", "content": {"value": "Ada"}}}
    rounds, result = session.interview("asks_in_time", answers)
    assert len(rounds) == 1
    assert result["content"][0]["text"] == "Ada"


# concurrency


@pytest.mark.parametrize("tool", ["one_at_a_time", "one_at_a_time_async"])
def test_no_more_calls_than_the_limit_run_at_once(session: Any, tool: str) -> None:
    name = f"{tool} {session.transport}"
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(session.text, tool, {"name": name})
        reached(session, name)
        assert session.failure(tool, {"name": name}) == "Component concurrency limit reached"
        session.call("opens", {"name": name})
        assert first.result(timeout=10) == name
    assert session.text(tool, {"name": name}) == name


def test_a_resource_has_a_limit_of_its_own(session: Any) -> None:
    name = f"resource-{session.transport}"
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(session.read, f"x://one/{name}")
        reached(session, name)
        refusal = session.refusal("resources/read", {"uri": f"x://one/{name}"})
        assert (refusal.code, refusal.message) == (-32603, "Component concurrency limit reached")
        other = pool.submit(session.text, "one_at_a_time", {"name": name})
        reached(session, name, 2)
        session.call("opens", {"name": name})
        assert first.result(timeout=10)["text"] == name
        assert other.result(timeout=10) == name


def call_as(session: Any, who: str, tool: str, **arguments: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments, "_meta": {"com.example/caller": who}}
    result: dict[str, Any] = session.ask("tools/call", params)
    return result


def test_each_key_has_a_limit_of_its_own(session: Any) -> None:
    name = f"each {session.transport}"
    with ThreadPoolExecutor(2) as pool:
        calls = [
            pool.submit(call_as, session, who, "one_each", name=name) for who in ("ada", "bob")
        ]
        reached(session, name, 2)
        result = call_as(session, "ada", "one_each", name=name)
        assert result["content"][0]["text"] == "Component concurrency limit reached"
        session.call("opens", {"name": name})
        assert not any(call.result(timeout=10)["isError"] for call in calls)


def test_a_permit_comes_back_however_a_call_ends(session: Any) -> None:
    for how in ("raise", "exit", "ask", "plain") * 3:
        session.ask(
            "tools/call",
            {"name": "fails_or_asks", "arguments": {"how": how}},
            clientCapabilities={"elicitation": {"form": {}}},
        )
    assert session.text("fails_or_asks", {"how": "plain"}) == "plain"


def test_a_permit_comes_back_when_a_caller_leaves(serve_process: Any) -> None:
    session = serve_process(SOURCE)
    name = f"leaves {session.transport}"
    given = {"name": "one_at_a_time_async", "arguments": {"name": name}}
    with session.begin("tools/call", given) as conversation:
        reached(session, name)
        conversation.leave()
    session.call("opens", {"name": name})

    def free() -> bool:
        return not session.call("one_at_a_time_async", {"name": name}).get("isError")

    wait_until(free, "the permit comes back")


# rate_limit


@pytest.mark.parametrize("tool", ["two_in_ten", "two_in_ten_async"])
def test_no_more_calls_than_the_limit_begin_in_a_window(session: Any, tool: str) -> None:
    session.call("passes", {"seconds": 100})
    assert [session.text(tool) for _ in range(2)] == ["ok", "ok"]
    assert session.failure(tool) == "Component rate limit reached"
    session.call("passes", {"seconds": 9.5})
    assert session.failure(tool) == "Component rate limit reached"
    session.call("passes", {"seconds": 0.5})
    assert session.text(tool) == "ok"


def test_a_window_ends_by_the_clock_of_the_machine(session: Any) -> None:
    results = [session.call("real_time")["content"][0]["text"] for _ in range(3)]
    if results[2] != "ok":  # a busy machine may have let the window pass
        assert results == ["ok", "ok", "Component rate limit reached"]
    wait_until(lambda: not session.call("real_time")["isError"], "the window passes")


def test_each_place_in_a_list_counts_by_itself(session: Any) -> None:
    session.call("passes", {"seconds": 100})
    assert [session.text("twice_listed") for _ in range(2)] == ["ok", "ok"]
    assert session.failure("twice_listed") == "Component rate limit reached"
    # The same object elsewhere has counted nothing.
    assert session.text("two_in_ten") == "ok"
    assert session.read("x://two")["text"] == "ok"
    session.read("x://two")
    refusal = session.refusal("resources/read", {"uri": "x://two"})
    assert (refusal.code, refusal.message) == (-32603, "Component rate limit reached")


def test_no_more_keys_than_allowed_are_remembered(session: Any) -> None:
    session.call("passes", {"seconds": 100})
    assert call_as(session, "ada", "one_key")["isError"] is False
    result = call_as(session, "bob", "one_key")
    assert result["isError"] is True
    assert result["content"][0]["text"] == "Component rate key capacity reached"
    assert call_as(session, "ada", "one_key")["isError"] is False
    session.call("passes", {"seconds": 10})
    assert call_as(session, "bob", "one_key")["isError"] is False


def test_a_bucket_fills_evenly(session: Any) -> None:
    session.call("passes", {"seconds": 100})
    assert [session.text("evenly") for _ in range(2)] == ["ok", "ok"]
    assert session.failure("evenly") == "Component rate limit reached"
    session.call("passes", {"seconds": 5})
    assert session.text("evenly") == "ok"
    assert session.failure("evenly") == "Component rate limit reached"


@pytest.mark.parametrize(
    ("tool", "what"),
    [
        ("broken_concurrency", "concurrency"),
        ("broken_rate_limit", "rate"),
        ("broken_cache", "cache"),
        ("no_key", "rate"),
    ],
)
def test_a_key_that_fails_is_told_without_its_reason(session: Any, tool: str, what: str) -> None:
    assert session.failure(tool) == f"Component {what} key failed"
    session.wait_for_log(tool)


def test_a_key_that_fails_is_an_error_of_a_resource(session: Any) -> None:
    refusal = session.refusal("resources/read", {"uri": "x://broken"})
    assert (refusal.code, refusal.message) == (-32603, "Component rate key failed")


# retry


@pytest.mark.parametrize("tool", ["third_time", "third_time_async"])
def test_what_failed_is_tried_again(session: Any, tool: str) -> None:
    name = f"{tool} {session.transport}"
    assert session.text(tool, {"name": name}) == "at last"
    assert count(session, name) == 3


def test_it_is_tried_so_often_and_no_more(session: Any) -> None:
    name = f"never {session.transport}"
    assert session.failure("never", {"name": name}).startswith("Tool 'never' failed")
    assert count(session, name) == 2


def test_what_a_tool_says_itself_is_not_tried_again(session: Any) -> None:
    name = f"other {session.transport}"
    assert session.failure("other_reasons", {"name": name}) == "own words"
    assert count(session, name) == 1


# cache


@pytest.mark.parametrize("tool", ["remembered", "remembered_async"])
def test_the_same_arguments_are_answered_from_memory(session: Any, tool: str) -> None:
    name = f"{tool} {session.transport}"

    def call(**arguments: Any) -> Any:
        return session.call(tool, {"name": name, **arguments})["structuredContent"]

    assert [call(), call(), call(x=0), call(x=1), call(x=1)] == [1, 1, 2, 3, 3]
    session.call("passes", {"seconds": 9.9})
    assert call() == 1
    session.call("passes", {"seconds": 0.1})
    assert call() == 4


def test_a_key_says_who_shares(session: Any) -> None:
    name = f"for {session.transport}"

    def call(who: str) -> Any:
        return call_as(session, who, "remembered_for", name=name)["structuredContent"]

    assert [call("ada"), call("bob"), call("ada"), call("bob")] == [1, 2, 1, 2]


def test_memory_has_an_end(session: Any) -> None:
    names = [f"{letter} {session.transport}" for letter in "abc"]

    def call(name: str) -> Any:
        return session.call("remembers_two", {"name": name})["structuredContent"]

    assert [call(names[0]), call(names[1]), call(names[0])] == [1, 1, 1]
    assert call(names[2]) == 1  # and b, given longest ago, is forgotten
    assert [call(names[0]), call(names[1])] == [1, 2]


@pytest.mark.parametrize("how", ["raise", "result", "raw", "returned"])
def test_failures_are_not_remembered(session: Any, how: str) -> None:
    name = f"{how} {session.transport}"
    for number in (1, 2):
        given = {"name": name, "how": how}
        if how == "returned":
            refusal = session.refusal("tools/call", {"name": "bad_days", "arguments": given})
            assert refusal.message == f"failed {number}"
        else:
            session.call("bad_days", given)
        assert count(session, name) == number


def test_questions_and_their_answers_are_not_remembered(session: Any) -> None:
    name = f"asks {session.transport}"
    for number, who in enumerate(["Ada", "Bob"], 1):
        answers = {"name": {"action": "accept", "content": {"value": who}}}
        rounds, result = session.interview("asks_and_keeps", answers, {"name": name})
        assert len(rounds) == 1
        assert result["content"][0]["text"] == f"{who} {number}"


@pytest.mark.parametrize("tool", ["single", "single_async"])
def test_those_who_wait_for_the_same_share_one_call(session: Any, tool: str) -> None:
    name = f"{tool} {session.transport}"
    with ThreadPoolExecutor(8) as pool:
        calls = [pool.submit(session.text, tool, {"name": name}) for _ in range(8)]
        reached(session, name)
        session.call("opens", {"name": name})
        assert [call.result(timeout=10) for call in calls] == [name] * 8
    assert count(session, name) == 1


def test_those_who_wait_share_a_failure_too(session: Any) -> None:
    name = f"fails {session.transport}"
    with ThreadPoolExecutor(4) as pool:
        calls = [pool.submit(session.failure, "single_fails", {"name": name}) for _ in range(4)]
        reached(session, name)
        session.call("opens", {"name": name})
        assert {call.result(timeout=10) for call in calls} == {"failed once for all"}


def test_one_who_leaves_takes_nothing_from_the_others(serve_process: Any) -> None:
    session = serve_process(SOURCE)
    name = f"first leaves {session.transport}"
    given = {"name": "first_leaves", "arguments": {"name": name}}
    with ThreadPoolExecutor(2) as pool:
        with session.begin("tools/call", given) as conversation:
            reached(session, name)
            second = pool.submit(session.text, "first_leaves", {"name": name})
            conversation.leave()
        reached(session, name, 2)
        session.call("opens", {"name": name})
        assert second.result(timeout=10) == "2"


def test_uris_are_kept_apart(session: Any) -> None:
    session.call("passes", {"seconds": 100})
    first, again, other = (session.read(uri)["text"] for uri in ("any://a", "any://a", "any://b"))
    assert first == again
    assert other.startswith("any://b ")


def test_a_prompt_and_its_completion_are_kept_apart(session: Any) -> None:
    session.call("passes", {"seconds": 100})
    before = count(session, "kept_prompt"), count(session, "kept_completion")
    for _ in range(2):
        session.prompt("kept_prompt", {"a": ""})
        session.complete("kept_prompt", "a")
    after = count(session, "kept_prompt"), count(session, "kept_completion")
    assert after == (before[0] + 1, before[1] + 1)


def test_arguments_are_completed_apart(session: Any) -> None:
    for kind in ({"type": "ref/resource", "uri": "x://both/{a}/{b}"}, None):
        ref = kind or {"type": "ref/prompt", "name": "both_prompt"}
        for name, expected in [("a", "first"), ("b", "second")] * 2:
            params = {"ref": ref, "argument": {"name": name, "value": ""}}
            assert session.ask("completion/complete", params)["completion"]["values"] == [expected]


@pytest.mark.parametrize("tool", ["first_unfit", "first_breaks_its_schema"])
def test_a_value_that_is_refused_is_not_remembered(session: Any, tool: str) -> None:
    given = {"name": f"{tool} {session.transport}"}
    refusal = session.refusal("tools/call", {"name": tool, "arguments": given})
    assert refusal.code == -32603
    for _ in range(2):
        assert '"fit"' in session.text(tool, given)
    assert count(session, given["name"]) == 2


def test_contents_and_messages_that_are_refused_are_not_remembered(session: Any) -> None:
    name = f"unfit-{session.transport}"
    assert session.refusal("resources/read", {"uri": f"x://unfit/{name}"}).code == -32603
    assert [session.read(f"x://unfit/{name}")["text"] for _ in range(2)] == ["fit", "fit"]
    assert count(session, name) == 2
    prompt = {"name": "first_unfit_prompt", "arguments": {"name": f"prompt {name}"}}
    assert session.refusal("prompts/get", prompt).code == -32603
    for _ in range(2):
        message = session.ask("prompts/get", prompt)["messages"][0]
        assert message["content"]["text"] == "fit"
    assert count(session, f"prompt {name}") == 2


@pytest.mark.parametrize("tool", ["live", "live_result"])
def test_what_changes_later_is_remembered_as_it_was(session: Any, tool: str) -> None:
    name = f"{tool} {session.transport}"
    before = session.call(tool, {"name": name})
    session.call(tool, {"name": f"another {name}"})  # makes the list longer
    after = session.call(tool, {"name": name})
    assert after["content"] == before["content"]
    key = "com.example/n"
    assert after.get("_meta", {}).get(key) == before.get("_meta", {}).get(key)


@pytest.mark.parametrize("how", ["plain", "own class"])
def test_a_layer_outside_cannot_change_what_is_remembered(session: Any, how: str) -> None:
    given = {"name": f"spoilt {how} {session.transport}", "how": how}
    texts = {session.text("spoilt", given) for _ in range(3)}
    assert texts == {'{"list":[1,"spoilt"]}'}
    assert count(session, given["name"]) == 1


# response_limit


def test_a_long_text_keeps_its_ends_and_links_to_the_whole(session: Any) -> None:
    assert session.text("long_text", {"n": 40})
    result = session.call("long_text", {"n": 50})
    text, link = result["content"]
    assert result["isError"] is False
    uri = link["uri"]
    assert text["text"] == (
        f"abcdefghij\n[35 of 50 characters are left out here; the whole is at {uri}]\ntuvwx"
    )
    assert link["type"] == "resource_link"
    assert (link["mimeType"], link["size"]) == ("text/plain", 50)
    contents = session.read(uri)
    assert contents["uri"] == uri
    assert contents["text"] == "abcdefghijklmnopqrstuvwxyz" + "abcdefghijklmnopqrstuvwx"


def test_long_data_is_cut_as_its_json(session: Any) -> None:
    result = session.call("long_data", {"n": 100})
    text, link = result["content"]
    assert text["text"].startswith('{"values":')
    assert "structuredContent" not in result
    whole = session.read(link["uri"])
    assert whole["mimeType"] == "application/json"
    assert whole["text"] == '{"values":[' + ",".join(map(str, range(100))) + "]}"


def test_less_than_the_whole_is_no_output(session: Any) -> None:
    assert session.call("long_output", {"n": 1})["structuredContent"] == {"values": [0]}
    result = session.call("long_output", {"n": 100})
    assert result["isError"] is True
    assert session.read(result["content"][1]["uri"])["text"].endswith(",99]}")


def test_other_content_stays(session: Any) -> None:
    result = session.call("long_content", {"n": 100})
    assert [block["type"] for block in result["content"]] == ["text", "image", "resource_link"]


def test_bytes_are_cut_between_characters(session: Any) -> None:
    text = session.call("long_bytes", {"text": "äöüäöüäö"})["content"][0]["text"]
    assert text.startswith("äö\n[6 of 16 bytes")
    assert text.endswith("]\näö")


def test_what_a_tool_says_when_it_fails_is_whole(session: Any) -> None:
    assert session.failure("long_error") == "e" * 100


def test_the_template_is_offered_by_itself(session: Any) -> None:
    templates = session.ask("resources/templates/list")["resourceTemplates"]
    assert "kept://responses/{id}" in [one["uriTemplate"] for one in templates]
    with pytest.raises(Refusal, match="Resource not found"):
        session.read("kept://responses/nothing")
