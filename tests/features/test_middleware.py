"""Middleware: order, what it may do, what it never sees, and that it is the same everywhere."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from driver import Refusal, wait_until

SOURCE = """
import asyncio
import datetime
import threading
import time
from typing import Any

import snodo
from snodo import Context, Error, Message, Result, Server, StaticResource, ToolError, elicit

log = []
loop_thread = None


def around(name, sync):
    if sync:
        def wrapper(context, arguments, call_next):
            log.append(f"{name} in")
            try:
                return call_next(context, arguments)
            finally:
                log.append(f"{name} out")
    else:
        async def wrapper(context, arguments, call_next):
            log.append(f"{name} in")
            try:
                return await call_next(context, arguments)
            finally:
                log.append(f"{name} out")
    return wrapper


def outer(context, arguments, call_next):
    if context.method == "tools/call" and "hush" in arguments:
        return call_next()
    log.append("server in")
    try:
        return call_next()
    finally:
        log.append("server out")


server = Server("middleware", version="1.0.0", middleware=[outer], threads=4)


@server.tool
def takes_log(hush: bool = True) -> list[Any]:
    taken = list(log)
    log.clear()
    return taken


def declare(name, kinds, is_async):
    layers = [around(f"{place}", kind == "s") for place, kind in zip("ABC", kinds)]

    if is_async:
        @server.tool(name=name, middleware=layers)
        async def handler(x: int = 0) -> str:
            log.append("handler")
            return f"{x} {threading.current_thread() is not threading.main_thread()}"
    else:
        @server.tool(name=name, middleware=layers)
        def handler(x: int = 0) -> str:
            log.append("handler")
            try:
                asyncio.get_running_loop()
            except RuntimeError:
                return f"{x} no loop"
            return f"{x} on the loop"


for kinds in ("ss", "aa", "sa", "as", "sas", "asa"):
    declare(f"sync_{kinds}", kinds, False)
    declare(f"async_{kinds}", kinds, True)


def double(context, arguments, call_next):
    return call_next(context, {**arguments, "x": arguments["x"] * 2})


async def double_in_place(context, arguments, call_next):
    arguments["x"] *= 2
    return await call_next()


def stops(context, arguments, call_next):
    return "stopped"


async def stops_async(context, arguments, call_next):
    return "stopped"


@server.tool(middleware=(double, double_in_place))
def doubled(x: int) -> str:
    return str(x)


@server.tool(middleware=[stops])
def stopped(x: int) -> str:
    log.append("never")
    return ""


@server.tool(middleware=[stops_async])
async def stopped_async(x: int) -> str:
    log.append("never")
    return ""


def looks(context, arguments, call_next):
    value = call_next()
    assert value == {"when": DAY}, value
    return {"when": value["when"], "seen": True}


DAY = datetime.date(2026, 7, 28)


@server.tool(middleware=[looks])
def typed() -> dict:
    return {"when": DAY}


def twice(context, arguments, call_next):
    return call_next() + call_next()


@server.tool(middleware=[twice])
def counted() -> str:
    log.append("counted")
    return "x"


@server.tool(middleware=[twice])
async def counted_async() -> str:
    log.append("counted")
    return "x"


async def together(context, arguments, call_next):
    return "".join(await asyncio.gather(call_next(), call_next()))


@server.tool(middleware=[together])
def counted_together() -> str:
    log.append("counted")
    return "x"


# What a layer gets wrong


def to(value):
    def wrong(context, arguments, call_next):
        return call_next(context, value)
    return wrong


WRONG = [{"x": "5"}, {}, {"x": 1, "y": 2}, {"x": object()}, [1], {"x": float("nan")}]

for number, value in enumerate(WRONG):
    @server.tool(name=f"wrong{number}", middleware=[to(value)])
    def wrong(x: int) -> str:
        log.append("never")
        return ""


@server.tool(middleware=[to({"day": "not a day"})], input_schema={"type": "object"})
def untyped(arguments: dict, context: Context) -> str:
    return str(arguments)


@server.tool(middleware=[lambda context, arguments, call_next: call_next(arguments)])
def misordered(x: int) -> str:
    return ""


@server.tool(middleware=[around("A", True)])
def converts(day: datetime.date, x: float) -> str:
    return f"{day!r} {x!r}"


def another_day(context, arguments, call_next):
    return call_next(context, {**arguments, "day": "1999-01-01", "x": 3})


@server.tool(middleware=[another_day])
def converts_again(day: datetime.date, x: float) -> str:
    return f"{day!r} {x!r}"


@server.tool(middleware=[around("A", True), around("B", False)])
def fails(how: str) -> str:
    if how == "tool":
        raise ToolError("own words")
    if how == "error":
        raise Error(-32011, "refused")
    if how == "exit":
        raise SystemExit(3)
    if how == "returned":
        return Error(-32012, "returned")
    raise KeyError("secret")


def mends(context, arguments, call_next):
    try:
        return call_next()
    except KeyError:
        return "mended"


@server.tool(middleware=[mends])
def mended() -> str:
    raise KeyError("x")


# Other kinds


def shouts(context, arguments, call_next):
    value = call_next()
    return value.upper() if isinstance(value, str) else value


async def notes(context, arguments, call_next, options):
    told = [options[key] for key in ("component", "kind", "operation", "slot", "level")]
    log.append([*told, dict(arguments)])
    return await call_next()


OPTIONS = [(notes, {"level": 3}), shouts]


@server.resource("x://direct", middleware=OPTIONS)
def direct() -> str:
    return "text"


COMPLETE = {"name": lambda value: [value, "ada"]}


@server.resource(
    "x://people/{name}/{number}", name="people", middleware=OPTIONS, complete=COMPLETE
)
def people(name: str, number: int) -> dict[str, str]:
    return {"name": name, "number": number}


@server.prompt(middleware=OPTIONS)
async def prompts(name: str) -> list:
    return [Message("assistant", f"for {name}")]


@server.complete("prompts", "name")
async def names(value: str, arguments: dict[str, str]) -> list[str]:
    return [f"{value}{n}" for n in range(2)]


class Raw(snodo.Prompt):
    name = "raw"
    arguments = [{"name": "a"}]
    middleware = [to({"a": 5})]

    def render(self, arguments, context):
        return "never"


class Shown(snodo.Tool):
    name = "shown"
    middleware = OPTIONS

    async def call(self, arguments, context):
        return "shown"


class Read(snodo.Resource):
    name = "read"
    uri_template = "y://{a}"
    middleware = [to({"a": "b"})]

    def read(self, params, context):
        return f"{params['a']} {params['uri']}"


server.add(Raw, Shown, Read, StaticResource("x://static", text="never changes"))


# Questions and endings


@server.tool(middleware=[around("A", True), around("B", False), around("C", True)])
def asks(context: Context) -> str:
    return context.ask("name", elicit.form("Name?", str)).value


@server.tool(middleware=[around("A", False), around("B", True)])
async def asks_async(context: Context) -> str:
    return context.ask("name", elicit.form("Name?", str)).value


@server.tool(middleware=[around("A", False), around("B", True)])
async def waits() -> str:
    log.append("waiting")
    try:
        await asyncio.sleep(60)
    finally:
        log.append("cleaned")
    return ""


@server.tool(middleware=[around("A", False), around("B", False)])
def blocks(context: Context) -> str:
    log.append("waiting")
    try:
        while True:
            context.check_cancelled()
            time.sleep(0.01)
    finally:
        log.append("cleaned")


@server.tool
def adds(name: str) -> str:
    with server.changes() as changes:
        changes.add(snodo.tool(name=name, middleware=[around("A", True)])(lambda: name))
    return name
"""

CHAINS = ["ss", "aa", "sa", "as", "sas", "asa"]


def takes(session: Any) -> list[Any]:
    taken: list[Any] = session.call("takes_log", {"hush": True})["structuredContent"]
    return taken


@pytest.fixture
def session(serve: Any) -> Any:
    session = serve(SOURCE)
    session.call("takes_log", {"hush": True})
    return session


@pytest.mark.parametrize("kind", ["sync", "async"])
@pytest.mark.parametrize("chain", CHAINS)
def test_layers_run_outermost_first_whatever_they_are(session: Any, chain: str, kind: str) -> None:
    text = session.text(f"{kind}_{chain}", {"x": 4})
    assert text.startswith("4 ")
    names = "ABC"[: len(chain)]
    entered = ["server in", *(f"{name} in" for name in names)]
    left = [f"{name} out" for name in reversed(names)]
    assert takes(session) == [*entered, "handler", *left, "server out"]


@pytest.mark.parametrize("chain", CHAINS)
def test_a_plain_function_never_runs_on_the_loop(session: Any, chain: str) -> None:
    assert session.text(f"sync_{chain}", {"x": 4}) == "4 no loop"


def test_it_runs_only_after_the_checks(session: Any) -> None:
    result = session.call("sync_ss", {"x": "no"})
    assert result["isError"] is True
    assert takes(session) == []
    with pytest.raises(Refusal):
        session.call("nobody")
    assert takes(session) == []
    session.text("sync_ss", {"x": 1})
    assert takes(session)[0] == "server in"


def test_it_may_change_arguments(session: Any) -> None:
    assert session.text("doubled", {"x": 3}) == "12"


@pytest.mark.parametrize("tool", ["stopped", "stopped_async"])
def test_it_may_answer_itself(session: Any, tool: str) -> None:
    assert session.text(tool, {"x": 3}) == "stopped"
    assert takes(session) == ["server in", "server out"]


def test_it_sees_what_the_function_returned(session: Any) -> None:
    result = session.call("typed")
    assert result["structuredContent"] == {"when": "2026-07-28", "seen": True}


@pytest.mark.parametrize("tool", ["counted", "counted_async", "counted_together"])
def test_it_may_call_on_twice(session: Any, tool: str) -> None:
    assert session.text(tool) == "xx"
    assert takes(session) == ["server in", "counted", "counted", "server out"]


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (0, "Invalid arguments at /x: expected integer"),
        (1, "Missing required arguments: x"),
        (2, "unknown argument"),
        (3, "objects of type object are not JSON"),
        (4, "call_next takes the arguments as a dict, not list"),
        (5, "NaN and infinities are not JSON (at /x)"),
    ],
)
def test_arguments_that_do_not_fit_are_the_authors_to_mend(
    session: Any, number: int, reason: str
) -> None:
    result = session.call(f"wrong{number}", {"x": 1})
    assert result["isError"] is True
    (block,) = result["content"]
    assert block["text"].startswith(f"Tool 'wrong{number}' failed (error id ")
    identifier = block["text"].rpartition(" ")[2].rstrip(")")
    log = session.wait_for_log(identifier)
    assert reason in log.partition(identifier)[2]
    assert "never" not in takes(session)


def test_arguments_that_any_object_fits_are_taken(session: Any) -> None:
    assert session.text("untyped", {}) == "{'day': 'not a day'}"


def test_call_next_says_how_it_is_called(session: Any) -> None:
    result = session.call("misordered", {"x": 1})
    assert result["isError"] is True
    session.wait_for_log("call_next(context, arguments)")


def test_changed_arguments_are_converted_as_those_that_come(session: Any) -> None:
    given = {"day": "2026-07-28", "x": 2}
    assert session.text("converts", given) == "datetime.date(2026, 7, 28) 2.0"
    assert session.text("converts_again", given) == "datetime.date(1999, 1, 1) 3.0"
    result = session.call("converts", {"day": "2026-02-30", "x": 2})
    assert result["isError"] is True
    assert "/day" in result["content"][0]["text"]


def test_what_a_tool_raises_passes_through(session: Any) -> None:
    result = session.call("fails", {"how": "tool"})
    assert result["content"] == [{"type": "text", "text": "own words"}]
    for how, code in (("error", -32011), ("returned", -32012)):
        with pytest.raises(Refusal) as refusal:
            session.call("fails", {"how": how})
        assert refusal.value.code == code
    for how in ("exit", "key"):
        text = session.call("fails", {"how": how})["content"][0]["text"]
        assert text.startswith("Tool 'fails' failed (error id ")
    assert takes(session).count("A out") == 5
    assert session.text("mended") == "mended"


def test_it_surrounds_resources(session: Any) -> None:
    (contents,) = session.ask("resources/read", {"uri": "x://direct"})["contents"]
    assert contents["text"] == "TEXT"
    noted = ["direct", "resource", "resources/read", 1, 3, {}]
    assert takes(session) == ["server in", noted, "server out"]


def test_it_surrounds_what_never_changes(session: Any) -> None:
    (contents,) = session.ask("resources/read", {"uri": "x://static"})["contents"]
    assert contents == {"uri": "x://static", "text": "never changes"}
    assert takes(session) == ["server in", "server out"]


def test_it_surrounds_templates(session: Any) -> None:
    (contents,) = session.ask("resources/read", {"uri": "x://people/ada/3"})["contents"]
    assert json.loads(contents["text"]) == {"name": "ada", "number": 3}
    assert takes(session)[1] == [
        "people",
        "resource_template",
        "resources/read",
        1,
        3,
        {"name": "ada", "number": "3"},
    ]
    with pytest.raises(Refusal, match="Resource not found"):
        session.ask("resources/read", {"uri": "x://people/ada/three"})
    assert session.ask("resources/read", {"uri": "y://c"})["contents"][0]["text"] == "b y://c"


def test_it_surrounds_prompts_and_their_completion(session: Any) -> None:
    given = {"name": "prompts", "arguments": {"name": "ada"}}
    (message,) = session.ask("prompts/get", given)["messages"]
    assert message == {"role": "assistant", "content": {"type": "text", "text": "for ada"}}
    assert takes(session)[1] == ["prompts", "prompt", "prompts/get", 1, 3, {"name": "ada"}]
    argument = {"name": "name", "value": "a"}
    for reference, expected in (
        ({"type": "ref/prompt", "name": "prompts"}, ["a0", "a1"]),
        ({"type": "ref/resource", "uri": "x://people/{name}/{number}"}, ["a", "ada"]),
    ):
        params = {"ref": reference, "argument": argument}
        assert session.ask("completion/complete", params)["completion"]["values"] == expected
        noted = takes(session)[1]
        assert noted[2:5] == ["completion/complete", 1, 3]
        assert noted[5]["value"] == "a"


def test_it_surrounds_classes(session: Any) -> None:
    assert session.text("shown") == "SHOWN"
    with pytest.raises(Refusal) as refusal:
        session.ask("prompts/get", {"name": "raw", "arguments": {"a": "b"}})
    assert refusal.value.code == -32603
    session.wait_for_log("a is no string")


@pytest.mark.parametrize("tool", ["asks", "asks_async"])
def test_questions_unwind_through_it(session: Any, tool: str) -> None:
    rounds, result = session.rounds(
        "tools/call",
        {"name": tool, "arguments": {}},
        {"name": {"action": "accept", "content": {"value": "Ada"}}},
    )
    assert len(rounds) == 1
    assert result["content"] == [{"type": "text", "text": "Ada"}]
    log = takes(session)
    assert log.count("A in") == log.count("A out") == log.count("server out") == 2


@pytest.mark.parametrize("tool", ["waits", "blocks"])
def test_cancellation_unwinds_through_it(session: Any, tool: str) -> None:
    if session.transport == "direct":
        pytest.skip("nobody can leave")
    seen: list[str] = []

    def waiting() -> bool:
        seen.extend(takes(session))
        return "waiting" in seen

    with session.begin("tools/call", {"name": tool, "arguments": {}}) as conversation:
        wait_until(waiting, "the handler runs")
        conversation.leave()

    def cleaned() -> bool:
        seen.extend(takes(session))
        return "server out" in seen

    wait_until(cleaned, "everything unwound")
    assert [line for line in seen if line.endswith("out") or line == "cleaned"] == [
        "cleaned",
        "B out",
        "A out",
        "server out",
    ]


def test_changes_keep_the_servers_middleware(session: Any) -> None:
    name = f"added_{session.transport}"
    session.call("adds", {"name": name})
    takes(session)
    assert session.text(name) == name
    assert takes(session) == ["server in", "A in", "A out", "server out"]


def test_many_calls_at_once_are_all_answered(session: Any) -> None:
    tools = [f"{kind}_{chain}" for kind in ("sync", "async") for chain in CHAINS]

    def call(number: int) -> bool:
        text: str = session.text(tools[number % len(tools)], {"x": number}, timeout=30)
        return text.startswith(f"{number} ")

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(call, range(240)))


def test_one_thread_is_enough(serve: Any) -> None:
    session = serve(SOURCE.replace("threads=4", "threads=1"))
    for chain in CHAINS:
        for kind in ("sync", "async"):
            assert session.text(f"{kind}_{chain}", {"x": 1}).startswith("1 ")
