"""Dependencies: hidden, resolved once a call, left in the opposite order, and replaced in tests."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from driver import wait_until

SOURCE = """
import asyncio
import contextlib
import threading
import time
from typing import Annotated, Any

import snodo
from snodo import (
    Context, Depends, Error, Result, Server, ToolError, current_auth, current_client_info,
    current_headers, current_request_id, current_state, elicit,
)

server = Server("dependencies", version="1.0.0", threads=8)
log = []


@server.lifespan
async def lifespan():
    yield {"greeting": "hello"}


def on_the_loop():
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def note(text):
    log.append(f"{text}{' on the loop' if on_the_loop() else ''}")


@server.tool
def takes_log() -> list[Any]:
    taken = list(log)
    log.clear()
    return taken


def plain() -> str:
    note("plain")
    return "plain"


async def late() -> str:
    note("late")
    return "late"


def opened():
    note("open")
    try:
        yield "opened"
    except BaseException as error:
        note(f"saw {type(error).__name__}")
        raise
    finally:
        note("close")


async def opened_late(under: Annotated[str, Depends(opened)], context: Context):
    note("open late")
    try:
        yield f"{under} late {context.method}"
    finally:
        await asyncio.sleep(0)
        note("close late")


@contextlib.contextmanager
def managed(a: Annotated[str, Depends(plain)]):
    note("enter")
    yield f"managed {a}"
    note("exit")


@contextlib.asynccontextmanager
async def managed_late(b: Annotated[str, Depends(late)]):
    note("enter late")
    yield f"managed {b}"
    note("exit late")


class Settings:
    def __init__(self, context: Context, size: int = 3) -> None:
        self.size = size


Plain = Annotated[str, Depends(plain)]


@server.tool
def sync_plain(n: int, a: Plain, b: str = Depends(plain)) -> str:
    note("handler")
    return f"{n} {a} {b}"


@server.tool
async def async_plain(n: int, a: Plain, *, settings: Annotated[Settings, Depends(Settings)]) -> str:
    note("handler")
    return f"{n} {a} {settings.size}"


@server.tool
def sync_late(a: Annotated[str, Depends(late)], n: int = 1) -> str:
    note("handler")
    return f"{n} {a}"


@server.tool
def sync_opened(how: str, context: Context, a: Annotated[str, Depends(opened)]) -> str:
    note("handler")
    return ends(how, a, context)


@server.tool
async def async_opened(
    how: str, context: Context, b: Annotated[str, Depends(opened_late)],
    a: Annotated[str, Depends(opened)],
) -> str:
    note("handler")
    if how == "wait":
        await asyncio.sleep(60)
    return ends(how, f"{a} {b}", context)


@server.tool
def sync_opened_late(
    how: str, context: Context, b: Annotated[str, Depends(opened_late)],
) -> str:
    note("handler")
    if how == "wait":
        while True:
            context.check_cancelled()
            time.sleep(0.01)
    return ends(how, b, context)


def ends(how, value, context):
    if how == "raise":
        raise KeyError("secret")
    if how == "fail":
        raise ToolError("own words")
    if how == "ask":
        return context.ask("name", elicit.form("Name?", str)).value
    return value


@server.tool
async def managers(
    a: Annotated[str, Depends(managed)], b: Annotated[str, Depends(managed_late)],
) -> list[Any]:
    yield a
    yield b


def swallows():
    try:
        yield 1
    except KeyError:
        note("swallowed")


@server.tool
def swallowed(a: Annotated[int, Depends(swallows)]) -> str:
    raise KeyError("secret")


def fails_late():
    yield 1
    raise KeyError("secret")


@server.tool
async def cleaned_badly(
    a: Annotated[str, Depends(opened)], b: Annotated[int, Depends(fails_late)]
) -> str:
    return "never seen"


def refuses() -> str:
    raise ToolError("not today")


@server.tool
def refused(a: Annotated[str, Depends(opened)], b: Annotated[str, Depends(refuses)]) -> str:
    note("never")
    return ""


@server.tool
def current(
    auth: Annotated[Any, current_auth],
    headers: Annotated[dict, Depends(current_headers)],
    state: Annotated[dict, current_state],
    info: Annotated[Any, current_client_info],
    request: Annotated[int, current_request_id],
) -> list[Any]:
    assert current_request_id() == request
    return [auth, sorted(headers)[:0], state, info]


@server.tool(input_schema={"type": "object"})
def raw(arguments: dict, context: Context, a: Plain) -> str:
    return f"{arguments} {context.method} {a}"


class Shown(snodo.Tool):
    name = "shown"

    async def call(self, arguments, context, a: Annotated[str, Depends(opened)]):
        return f"{arguments} {a}"


server.add(Shown)


@server.resource("x://direct")
def direct(a: Plain) -> str:
    return a


@server.resource("x://people/{name}")
async def people(name: str, a: Annotated[str, Depends(opened_late)]) -> str:
    return f"{name} {a}"


@server.prompt
def prompt(name: str, a: Plain) -> str:
    return f"{name} {a}"


@server.complete(prompt, "name")
async def names(value: str, a: Annotated[str, Depends(late)]) -> list[str]:
    return [f"{value} {a}"]


async def around(context, arguments, call_next):
    assert "a" not in arguments
    return await call_next(context, {**arguments, "n": arguments["n"] + 1})


@server.tool(middleware=[around])
def surrounded(n: int, a: Annotated[str, Depends(opened)]) -> str:
    return f"{n} {a}"


# Replaced while it serves


async def other(context: Context, a: Annotated[str, Depends(late)]):
    note("fake")
    yield f"other {a}"
    note("fake gone")


def slow(context: Context):
    while not context.cancelled:
        time.sleep(0.005)
    try:
        yield "slow"
    finally:
        note("close slow")


def after() -> str:
    note("after")
    return "after"


@server.tool(timeout=0.5)
def out_of_time(
    slow: Annotated[str, Depends(slow)], after: Annotated[str, Depends(after)]
) -> str:
    note("handler")
    return "late"


FAKES = []


@server.tool
def overrides(on: bool) -> str:
    if on:
        block = server.overrides({opened: other, plain: lambda: "fake", current_auth: lambda: "me"})
        block.__enter__()
        FAKES.append(block)
    else:
        FAKES.pop().__exit__(None, None, None)
    return "done"
"""

OPENED = ["open", "handler", "close"]


@pytest.fixture
def session(serve: Any) -> Any:
    session = serve(SOURCE)
    session.call("takes_log")
    return session


def takes(session: Any) -> list[Any]:
    taken: list[Any] = session.call("takes_log")["structuredContent"]
    return taken


def test_they_are_no_arguments(session: Any) -> None:
    tools = session.tools()
    assert list(tools["sync_plain"]["inputSchema"]["properties"]) == ["n"]
    assert list(tools["async_plain"]["inputSchema"]["properties"]) == ["n"]
    assert tools["current"]["inputSchema"]["properties"] == {}
    (prompt,) = session.ask("prompts/list")["prompts"]
    assert [argument["name"] for argument in prompt["arguments"]] == ["name"]
    assert "unknown argument" in session.failure("sync_plain", {"n": 1, "a": "mine"})


def test_each_runs_once_a_call(session: Any) -> None:
    assert session.text("sync_plain", {"n": 1}) == "1 plain plain"
    assert takes(session) == ["plain", "handler"]
    assert session.text("sync_plain", {"n": 2}) == "2 plain plain"
    assert takes(session) == ["plain", "handler"]


def test_plain_ones_never_run_on_the_loop(session: Any) -> None:
    assert session.text("async_plain", {"n": 1}) == "1 plain 3"
    assert takes(session) == ["plain", "handler on the loop"]
    assert session.text("sync_late") == "1 late"
    assert takes(session) == ["late on the loop", "handler"]


def test_they_are_left_in_the_opposite_order(session: Any) -> None:
    assert session.text("sync_opened", {"how": ""}) == "opened"
    assert takes(session) == OPENED
    text = session.text("async_opened", {"how": ""})
    assert text == "opened opened late tools/call"
    assert takes(session) == [
        "open",
        "open late on the loop",
        "handler on the loop",
        "close late on the loop",
        "close",
    ]


LATE = ["open", "open late on the loop", "handler", "close late on the loop"]


@pytest.mark.parametrize(
    ("how", "saw"), [("raise", "KeyError"), ("fail", "ToolError"), ("ask", "InputNeeded")]
)
def test_they_are_left_however_the_handler_ends(session: Any, how: str, saw: str) -> None:
    for tool, before in (("sync_opened", OPENED[:2]), ("sync_opened_late", LATE)):
        session.ask(
            "tools/call",
            {"name": tool, "arguments": {"how": how}},
            clientCapabilities={"elicitation": {"form": {}}},
        )
        assert takes(session) == [*before, f"saw {saw}", "close"]


def test_an_answered_question_opens_them_anew(session: Any) -> None:
    answers = {"name": {"action": "accept", "content": {"value": "Ada"}}}
    _, result = session.interview("async_opened", answers, {"how": "ask"})
    assert result["content"][0]["text"] == "Ada"
    assert takes(session).count("close") == 2


@pytest.mark.parametrize("tool", ["async_opened", "sync_opened_late"])
def test_they_are_left_when_the_caller_leaves(serve_process: Any, tool: str) -> None:
    session = serve_process(SOURCE)
    seen: list[str] = []

    def saw(text: str) -> bool:
        seen.extend(takes(session))
        return any(line.startswith(text) for line in seen)

    with session.begin("tools/call", {"name": tool, "arguments": {"how": "wait"}}) as conversation:
        wait_until(lambda: saw("handler"), "the handler runs")
        conversation.leave()
    wait_until(lambda: saw("close late") and saw("saw ") and saw("close"), "all is left")
    assert seen[-3:] == ["close late on the loop", "saw CancelledError", "close"]


def test_nothing_is_begun_when_the_time_is_over(session: Any) -> None:
    refusal = session.refusal("tools/call", {"name": "out_of_time", "arguments": {}})
    assert refusal.message == "Request execution timed out"
    seen: list[str] = []

    def closed() -> bool:
        seen.extend(takes(session))
        return bool(seen)

    wait_until(closed, "what was opened is closed")
    assert seen == ["close slow"]


def test_context_managers_are_entered(session: Any) -> None:
    result = session.call("managers")
    assert result["structuredContent"] == ["managed plain", "managed late"]
    log = [line.removesuffix(" on the loop") for line in takes(session)]
    assert log == ["plain", "enter", "late", "enter late", "exit late", "exit"]


def test_none_takes_back_what_was_raised(session: Any) -> None:
    assert session.failure("swallowed").startswith("Tool 'swallowed' failed")
    assert takes(session) == ["swallowed"]


def test_cleaning_up_badly_fails_the_call_and_leaves_the_others(session: Any) -> None:
    assert session.failure("cleaned_badly").startswith("Tool 'cleaned_badly' failed")
    assert takes(session) == ["open", "saw KeyError", "close"]


def test_one_may_refuse_the_call(session: Any) -> None:
    assert session.failure("refused") == "not today"
    assert takes(session) == ["open", "saw ToolError", "close"]


def test_parts_of_the_request_are_there(session: Any) -> None:
    result = session.call("current")
    assert result["structuredContent"] == [None, [], {"greeting": "hello"}, None]


def test_every_form_of_component_has_them(session: Any) -> None:
    assert session.text("raw", {"b": 1}) == "{'b': 1} tools/call plain"
    assert session.text("shown", {"b": 1}) == "{'b': 1} opened"
    assert session.read("x://direct")["text"] == "plain"
    assert session.read("x://people/ada")["text"] == "ada opened late resources/read"
    (message,) = session.prompt("prompt", {"name": "ada"})
    assert message["content"]["text"] == "ada plain"
    assert session.complete("prompt", "name", "a")["values"] == ["a late"]


def test_middleware_is_outside_of_them(session: Any) -> None:
    assert session.text("surrounded", {"n": 1}) == "2 opened"
    assert takes(session) == ["open", "close"]


def test_they_are_replaced_in_a_server_in_use(session: Any) -> None:
    assert session.text("sync_opened", {"how": ""}) == "opened"
    takes(session)
    session.call("overrides", {"on": True})
    try:
        # What stands in may be async where the original is not, and need other things.
        assert session.text("sync_opened", {"how": ""}) == "other late"
        assert [line.removesuffix(" on the loop") for line in takes(session)] == [
            "late",
            "fake",
            "handler",
            "fake gone",
        ]
        assert session.text("sync_plain", {"n": 1}) == "1 fake fake"
        assert session.text("raw", {}) == "{} tools/call fake"
        assert session.text("surrounded", {"n": 1}) == "2 other late"
        assert session.read("x://direct")["text"] == "fake"
        assert session.call("current")["structuredContent"][0] == "me"
        assert session.prompt("prompt", {"name": "ada"})[0]["content"]["text"] == "ada fake"
    finally:
        session.call("overrides", {"on": False})
    assert session.text("sync_opened", {"how": ""}) == "opened"
    assert session.text("sync_plain", {"n": 1}) == "1 plain plain"


def test_many_calls_keep_theirs_apart(session: Any) -> None:
    def call(number: int) -> str:
        text: str = session.text("async_plain", {"n": number}, timeout=30)
        return text

    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(call, range(100))) == [f"{n} plain 3" for n in range(100)]
