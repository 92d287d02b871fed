"""Tools that ask and tell actors: what a client gets, whatever becomes of the actor."""

# ruff: noqa: E501 - a table reads best with a case a line

from __future__ import annotations

import contextlib
import json
import threading
import time
from typing import Any

import pytest

from driver import HANDSHAKES, HttpHandshake, HttpServer, Refusal, request, wait_until

COUNTER = """
import asyncio
from dataclasses import dataclass
from typing import Any

from snodo import Actor, Error, Server, Supervisor, ToolError
from snodo.actors import actor_call, actor_cast

server = Server("tally", version="1.0.0", validator="passthrough")
go = asyncio.Event()
NOTHING = {"type": "object", "additionalProperties": False}
BY = {
    "type": "object",
    "properties": {"by": {"type": "integer"}},
    "required": ["by"],
    "additionalProperties": False,
}
ANY = {"type": "object"}


class Counter(Actor):
    def __init__(self):
        self.count = 0
        self.seen = []

    async def handle_call(self, message):
        if message != "seen":
            self.seen.append(message)
        match message:
            case ("add", by):
                self.count += by
            case "late":
                await go.wait()
                go.clear()
                self.count += 1
            case "seen":
                return list(self.seen)
            case "crash":
                raise KeyError("secret")
            case "exit":
                raise SystemExit("secret")
            case "itself":
                return await self.ask("get")
            case "task":
                return await asyncio.create_task(self.asked())
            case "thread":
                return await asyncio.to_thread(lambda: self.ask("get").wait())
            case "cycle":
                return await other.ask("back")
        return self.count

    async def handle_cast(self, message):
        self.seen.append(message)

    async def asked(self):
        return await self.ask("get")


class Other(Actor):
    async def handle_call(self, message):
        return await counter.ask("get")


@server.tool
async def let_go() -> str:
    go.set()
    return "gone"


def value(count):
    return {"value": count}


def breaks(_count):
    raise KeyError("secret")


@dataclass
class Value:
    value: int


actor_call(
    server, "add", target="tally", input_schema=BY, message=lambda args: ("add", args["by"]),
    encode_reply=value, timeout_ms=2_000,
)
actor_call(server, "get", target="tally", input_schema=NOTHING, message="get", encode_reply=value)
actor_call(server, "seen", target="tally", input_schema=NOTHING, message="seen", encode_reply=value)
actor_call(
    server, "late", target="tally", input_schema=NOTHING, message="late", encode_reply=value,
    timeout_ms=50,
)
actor_cast(server, "poke", target="tally", input_schema=NOTHING, message="poke")
actor_cast(server, "poke_by", target="tally", input_schema=BY, message=lambda args: args["by"])
actor_call(server, "absent", target="nobody", input_schema=NOTHING, message=1, encode_reply=value)
actor_cast(server, "cast_absent", target="nobody", input_schema=NOTHING, message=1)
actor_call(server, "crash", target="tally", input_schema=NOTHING, message="crash", encode_reply=value)
actor_call(server, "exit", target="tally", input_schema=NOTHING, message="exit", encode_reply=value)
actor_call(server, "itself", target="tally", input_schema=NOTHING, message="itself", encode_reply=value)
actor_call(server, "task", target="tally", input_schema=NOTHING, message="task", encode_reply=value)
actor_call(server, "thread", target="tally", input_schema=NOTHING, message="thread", encode_reply=value)
actor_call(server, "cycle", target="tally", input_schema=NOTHING, message="cycle", encode_reply=value)
actor_call(server, "breaks", target="tally", input_schema=NOTHING, message="get", encode_reply=breaks)
actor_call(server, "list", target="tally", input_schema=NOTHING, message="get", encode_reply=lambda n: [n])
actor_call(server, "number", target="tally", input_schema=NOTHING, message="get", encode_reply=lambda n: n)
actor_call(server, "dataclass", target="tally", input_schema=NOTHING, message="get", encode_reply=Value)
actor_call(
    server, "within", target="tally", input_schema=NOTHING, message="get",
    encode_reply=lambda n: {"value": Value(n)},
)
actor_call(
    server, "surrogate", target="tally", input_schema=NOTHING, message="get",
    encode_reply=lambda n: {"value": "\\ud800"},
)
actor_call(
    server, "infinite", target="tally", input_schema=NOTHING, message="get",
    encode_reply=lambda n: {"value": float("inf")},
)
actor_call(
    server, "no_encoder", target="tally", input_schema=NOTHING, message="get",
    encode_reply=lambda n, m: {},
)
actor_call(
    server, "later", target="tally", input_schema=NOTHING, message="get",
    encode_reply=asyncio.sleep,
)


@server.actor_call("refuses", target="tally", input_schema=NOTHING, encode_reply=value)
def refuses(args):
    raise Error.authorization(-32003, "Peer not allowed")


@server.actor_call("gives", target="tally", input_schema=NOTHING, encode_reply=value)
def gives(args):
    return Error(-32003, "Peer not allowed", {"why": 1})


@server.actor_cast("cast_refuses", target="tally", input_schema=NOTHING)
def cast_refuses(args, context):
    raise Error.authorization(-32003, "Peer not allowed")


@server.actor_call("unbuilt", target="tally", input_schema=NOTHING, encode_reply=value)
def unbuilt(args):
    raise KeyError("secret")


@server.actor_call("tool_error", target="tally", input_schema=NOTHING, encode_reply=value)
def tool_error(args):
    raise ToolError("secret")


@server.actor_cast("cast_exits", target="tally", input_schema=NOTHING)
def cast_exits(args):
    raise SystemExit("secret")


@server.actor_cast("method", target="tally", input_schema=ANY)
def method(args, context):
    return (context.method, args)


@server.lifespan
async def lifespan():
    global counter, other
    # Restarted at once and for ever, so that the tests do not come in each other's way.
    forever = Supervisor(10_000, backoff=0.001, longest=0.001)
    async with (
        Counter.start(name="tally", supervisor=forever) as counter,
        Other.start(name="other", supervisor=forever) as other,
    ):
        yield
"""


@pytest.fixture
def session(serve: Any) -> Any:
    """The counter, at nothing: a crash makes a new one."""
    session = serve(COUNTER)
    _begin_anew(session)
    return session


def _begin_anew(session: Any) -> None:
    session.failure("crash")
    end = time.monotonic() + 20
    while session.call("seen").get("structuredContent") != {"value": []}:
        assert time.monotonic() < end, "the counter does not come back"


def _renamed(source: str) -> str:
    """The same with other actors: names are the process's."""
    for name in ("tally", "other", "blocks", "stuck", "drops"):
        source = source.replace(f'"{name}"', f'"another {name}"')
    return source


def seen(session: Any) -> Any:
    return session.call("seen")["structuredContent"]["value"]


def test_a_call_gives_the_encoded_reply(session: Any) -> None:
    assert session.call("add", {"by": 3})["structuredContent"] == {"value": 3}
    assert session.call("add", {"by": 4})["structuredContent"] == {"value": 7}


def test_a_cast_is_acknowledged_and_no_more(session: Any) -> None:
    result = session.call("poke", {})
    assert result["structuredContent"] == {"sent": True}
    assert result["isError"] is False
    assert session.call("poke_by", {"by": 5})["structuredContent"] == {"sent": True}
    assert seen(session) == ["poke", 5]


def test_arguments_are_always_held_to_the_basic_validator(session: Any) -> None:
    text = session.failure("add", {"by": "x"})
    assert text == "Invalid tool arguments: value is not one of the declared JSON types"
    assert session.failure("poke", {"more": 1}).startswith("Invalid tool arguments: ")
    assert seen(session) == []


def test_the_router_speaks_first(session: Any) -> None:
    assert session.failure("add", {}) == "Missing required arguments: by"


def test_the_servers_own_validator_speaks_before_the_actors(serve: Any) -> None:
    basic = serve(_renamed(COUNTER).replace('"passthrough"', '"basic"'))
    text = basic.failure("add", {"by": "x"})
    assert text == "Invalid arguments at /by: value is not one of the declared JSON types"
    assert basic.failure("add", {}) == "Missing required arguments: by"


def test_a_constant_message_is_sent_as_it_is(session: Any) -> None:
    session.call("get")
    assert seen(session) == ["get"]


def test_a_builder_is_given_the_context(session: Any) -> None:
    session.call("method", {"a": [1, {"b": None}]})
    assert seen(session) == [["tools/call", {"a": [1, {"b": None}]}]]


@pytest.mark.parametrize(
    ("tool", "data"), [("refuses", None), ("gives", {"why": 1}), ("cast_refuses", None)]
)
def test_a_builder_refuses_and_nothing_is_sent(session: Any, tool: str, data: Any) -> None:
    with pytest.raises(Refusal) as refused:
        session.call(tool)
    assert (refused.value.code, refused.value.message) == (-32003, "Peer not allowed")
    assert refused.value.data == data
    assert seen(session) == []


@pytest.mark.parametrize("tool", ["unbuilt", "tool_error", "cast_exits"])
def test_a_builder_that_breaks_sends_nothing_and_tells_nothing(session: Any, tool: str) -> None:
    assert session.failure(tool) == "Could not build actor message"
    assert seen(session) == []
    session.wait_for_log("secret")


@pytest.mark.parametrize("tool", ["absent", "cast_absent"])
def test_a_target_that_is_not_there_is_unavailable(session: Any, tool: str) -> None:
    assert session.failure(tool) == "Actor target unavailable"


def test_the_deadline_bounds_the_wait_and_not_the_effect(session: Any) -> None:
    told = len(session.log())
    begun = time.monotonic()
    assert session.failure("late") == "Actor call timed out"
    assert time.monotonic() - begun > 0.04
    assert session.text("let_go") == "gone"
    # Asked after it, so answered after it: the late reply reached nobody.
    assert session.call("get")["structuredContent"] == {"value": 1}
    assert session.log()[told:] == ""


@pytest.mark.parametrize("tool", ["crash", "exit"])
def test_an_actor_that_dies_fails_the_call(session: Any, tool: str) -> None:
    assert session.failure(tool) == "Actor call failed"


@pytest.mark.parametrize("tool", ["itself", "task", "thread", "cycle"])
def test_an_actor_never_waits_for_itself(session: Any, tool: str) -> None:
    begun = time.monotonic()
    assert session.failure(tool) == "Actor call failed"
    assert time.monotonic() - begun < 4.5, "that was the deadline"


@pytest.mark.parametrize(
    ("tool", "text"),
    [
        ("breaks", "Could not encode actor reply"),
        ("list", "Actor reply is not a JSON object"),
        ("number", "Actor reply is not a JSON object"),
        ("dataclass", "Actor reply is not a JSON object"),
        ("within", "Actor reply is not a JSON object"),
        ("surrogate", "Actor reply is not a JSON object"),
        ("infinite", "Actor reply is not a JSON object"),
        ("no_encoder", "Actor reply encoder is invalid"),
        ("later", "Actor reply encoder is invalid"),
    ],
)
def test_a_reply_is_what_the_encoder_gives_or_nothing(session: Any, tool: str, text: str) -> None:
    assert session.failure(tool) == text
    assert session.call("get")["structuredContent"] == {"value": 0}, "the actor lives"


OUTPUT = """
from snodo import Server, ThreadActor
from snodo.actors import actor_call

server = Server("output", version="1.0.0", validator="basic")


class Echo(ThreadActor):
    def handle_call(self, message):
        return message

    def add_many(self, numbers): ...


actor_call(
    server, "lies", target="echo", input_schema={"type": "object"}, message="no number",
    encode_reply=lambda text: {"value": text},
    output_schema={"type": "object", "properties": {"value": {"type": "integer"}}},
    description="Never tells the truth",
)


@server.lifespan
async def lifespan():
    async with Echo.start(name="echo"):
        yield
"""


def test_a_reply_is_held_to_the_output_schema(serve: Any) -> None:
    with pytest.raises(Refusal) as refused:
        serve(OUTPUT).call("lies")
    assert refused.value.code == -32603
    assert refused.value.message == "Tool output failed schema validation"


def test_only_what_is_declared_is_offered(serve: Any) -> None:
    (tool,) = serve(OUTPUT).ask("tools/list")["tools"]
    assert tool["name"] == "lies"
    assert tool["description"] == "Never tells the truth"
    assert set(tool) == {"name", "description", "inputSchema", "outputSchema"}


BLOCKED = """
import asyncio
import threading
import time

from snodo import Actor, Server
from snodo.actors import actor_call, actor_cast

server = Server("blocked", version="1.0.0")
NOTHING = {"type": "object"}
released = threading.Event()
began = threading.Event()
handled = []


class Blocks(Actor):
    async def handle_call(self, message):
        time.sleep(message)
        return message

    async def handle_cast(self, message):
        began.set()
        await asyncio.to_thread(released.wait, 20)
        handled.append(message)


class Drops(Actor):
    async def handle_cast(self, message):
        pass


actor_call(
    server, "block", target="blocks", input_schema=NOTHING, message=5.0,
    encode_reply=lambda seconds: {"seconds": seconds}, timeout_ms=100,
)
actor_call(
    server, "encode", target="blocks", input_schema=NOTHING, message=0,
    encode_reply=lambda seconds: (time.sleep(5.0), {"seconds": seconds})[1], timeout_ms=100,
)
actor_cast(server, "stick", target="stuck", input_schema=NOTHING, message="stick")
actor_call(
    server, "wait", target="stuck", input_schema=NOTHING, message="wait",
    encode_reply=lambda it: {}, timeout_ms=10_000,
)
actor_cast(server, "drop", target="drops", input_schema=NOTHING, message="drop")


@server.tool
def release() -> str:
    released.set()
    return "released"


@server.tool
def are_handled() -> int:
    return len(handled)


@server.tool
def wait_until_it_is_stuck() -> bool:
    return began.wait(20)


@server.lifespan
async def lifespan():
    async with (
        Blocks.start(name="blocks"),
        Blocks.start(name="stuck", mailbox=1),
        Drops.start(name="drops"),
    ):
        yield
        released.set()
"""


@pytest.mark.parametrize("tool", ["block", "encode"])
def test_the_deadline_passes_though_the_loop_is_blocked(serve_process: Any, tool: str) -> None:
    session = serve_process(BLOCKED)
    begun = time.monotonic()
    assert session.failure(tool) == "Actor call timed out"
    assert 0.08 < time.monotonic() - begun < 4


def test_an_actor_may_drop_what_it_is_told(serve: Any) -> None:
    assert serve(BLOCKED).call("drop")["structuredContent"] == {"sent": True}


def test_a_full_mailbox_refuses_and_drops_nothing_silently(serve: Any) -> None:
    session = serve(_renamed(BLOCKED))
    assert session.call("stick")["structuredContent"] == {"sent": True}
    # The first is being handled, so that it takes no room any more.
    assert session.call("wait_until_it_is_stuck")["structuredContent"] is True
    assert session.call("stick")["structuredContent"] == {"sent": True}
    assert session.failure("stick") == "Actor mailbox is full"
    assert session.failure("wait") == "Actor mailbox is full"
    session.call("release")
    # Those that were taken are handled, and those alone.
    wait_until(lambda: session.call("are_handled")["structuredContent"] == 2, "both messages")


def test_the_shorter_deadline_wins(serve_process: Any) -> None:
    short = BLOCKED.replace('"1.0.0"', '"1.0.0", timeout=1, limits={"running": 4}')
    session = serve_process(short.replace("mailbox=1)", "mailbox=100)"))
    session.call("stick")
    begun = time.monotonic()
    # More of them than may run: those that nobody waits for hold no place.
    for _ in range(5):
        with pytest.raises(Refusal) as refused:
            session.call("wait")
    assert time.monotonic() - begun < 30
    assert refused.value.status == (504 if session.transport == "http" else None)
    assert "timed out" in refused.value.message


LEFT = """
import threading
import time

from snodo import Server, ThreadActor
from snodo.actors import actor_cast

# What is built is sent by the thread that built it, before it does anything else.
server = Server("left", version="1.0.0", threads=1)
seen = []


class Notes(ThreadActor):
    def handle_cast(self, message):
        seen.append(message)


@server.actor_cast("slow", target="notes", input_schema={"type": "object"})
def slow(args, context):
    end = time.monotonic() + 20
    while not context.cancelled and time.monotonic() < end:
        time.sleep(0.005)
    return f"cancelled {context.cancelled}"


actor_cast(server, "quick", target="notes", input_schema={"type": "object"}, message="quick")


@server.tool
def what_was_seen() -> list[str]:
    return seen


@server.lifespan
async def lifespan():
    async with Notes.start(name="notes"):
        yield
"""


def test_nothing_is_sent_for_a_caller_who_has_left(serve_process: Any) -> None:
    session = serve_process(LEFT)
    conversation = session.begin_call("slow")
    time.sleep(0.1)  # that it may have begun; if it has not, nothing is built at all
    conversation.leave()
    session.call("what_was_seen")  # after it
    session.call("quick")

    def heard() -> list[str]:
        found: list[str] = session.call("what_was_seen")["structuredContent"]
        return found

    wait_until(lambda: heard() != [], "the message that was sent last")
    assert heard() == ["quick"]


CRASH = """
import asyncio

from snodo import Actor, Server
from snodo.actors import actor_call

server = Server("crash", version="1.0.0", limits={"running": 1000})


class Fragile(Actor):
    asked = 0

    async def handle_call(self, message):
        # With all of them in the mailbox but this one.
        while len(self.waiting) < 64:
            await asyncio.sleep(0.001)
        raise RuntimeError("crash")


actor_call(
    server, "ask", target="fragile", input_schema={"type": "object"},
    message=lambda args: Fragile.waiting.append(args), encode_reply=lambda it: {},
    timeout_ms=20_000,
)


@server.lifespan
async def lifespan():
    Fragile.waiting = []
    Fragile.start(name="fragile")
    yield
"""


def test_a_crash_under_sixty_four_callers_answers_each_once(serve: Any) -> None:
    session = serve(CRASH)
    answers: list[str] = []

    def ask() -> None:
        answers.append(session.failure("ask", {}, timeout=20))

    callers = [threading.Thread(target=ask) for _ in range(64)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(30)
    assert len(answers) == 64
    # Whoever came in time is failed; whoever came when it was gone finds nobody.
    assert set(answers) <= {"Actor call failed", "Actor target unavailable"}
    assert "Actor call failed" in answers
    assert session.failure("ask", {}) == "Actor target unavailable"


GUARDED = """
import json

from snodo import Actor, Server
from snodo.actors import actor_call


def authorize(phase, component, context):
    return None if component.name != "hidden" else Error(-32003, "Not yours")


def authenticate(request):
    return json.loads(request.headers.get("x-principal", '"nobody"'))


from snodo import Error

async def noted(context, arguments, call_next):
    notes.append(arguments)
    return await call_next()


notes = []
built = []
server = Server(
    "guarded", version="1.0.0", authorize=authorize, authenticate=authenticate, middleware=[noted]
)
NOTHING = {"type": "object", "additionalProperties": False}


class Echo(Actor):
    async def handle_call(self, message):
        return message


def build(args, context):
    built.append(args)
    return [context.auth, len(built), len(notes)]


@server.actor_call("who", target="guarded", input_schema=NOTHING, encode_reply=lambda it: {"is": it})
def who(args, context):
    return build(args, context)


@server.actor_call(
    "hidden", target="guarded", input_schema=NOTHING, encode_reply=lambda it: {"is": it}
)
def hidden(args, context):
    return build(args, context)


@server.actor_call(
    "refuses", target="guarded", input_schema=NOTHING, encode_reply=lambda it: {"is": it}
)
def refuses(args):
    raise Error.authorization(-32003, "Peer not allowed")


@server.lifespan
async def lifespan():
    async with Echo.start(name="guarded"):
        yield
"""


def test_a_policy_refuses_before_any_message_is_built(serve: Any) -> None:
    session = serve(GUARDED)
    tools = session.ask("tools/list")["tools"]
    assert [tool["name"] for tool in tools] == ["refuses", "who"]
    _, before, _ = session.call("who")["structuredContent"]["is"]
    with pytest.raises(Refusal) as refused:
        session.call("hidden")
    assert (refused.value.code, refused.value.message) == (-32003, "Not yours")
    _, after, _ = session.call("who")["structuredContent"]["is"]
    assert after == before + 1, "that is this call's own"


def test_middleware_surrounds_an_actor_tool(serve: Any) -> None:
    session = serve(GUARDED)
    _, built, notes = session.call("who")["structuredContent"]["is"]
    _, built_then, notes_then = session.call("who")["structuredContent"]["is"]
    assert (built_then - built, notes_then - notes) == (1, 1)
    with pytest.raises(Refusal) as refused:
        session.call("refuses")
    assert (refused.value.code, refused.value.message) == (-32003, "Peer not allowed")


def test_a_builder_knows_who_asks(write_app: Any) -> None:
    message = request("tools/call", {"name": "who", "arguments": {}})
    with contextlib.closing(HttpServer(write_app(GUARDED))) as server:
        for principal in ("Ada", {"name": "Grace", "admin": True}):
            answer = server.send(message, x_principal=json.dumps(principal)).json()
            assert answer["result"]["structuredContent"]["is"][0] == principal


OWN = """
from snodo import Actor, Server
from snodo.actors import actor_call


class Strict:
    def validate(self, instance, schema):
        return instance.get("by") != 13 and instance.get("value") != 14


server = Server("own", version="1.0.0", validator=Strict())
BY = {"type": "object", "properties": {"by": {"type": "integer"}}}


class Echo(Actor):
    async def handle_call(self, message):
        return message


actor_call(
    server, "echo", target="own", input_schema=BY, message=lambda args: args["by"],
    encode_reply=lambda by: {"value": by}, output_schema={"type": "object"},
)


@server.lifespan
async def lifespan():
    async with Echo.start(name="own"):
        yield
"""


def test_a_validator_of_the_applications_own_holds_too(serve: Any) -> None:
    session = serve(OWN)
    assert session.call("echo", {"by": 3})["structuredContent"] == {"value": 3}
    assert session.failure("echo", {"by": 13}) == "Tool arguments failed schema validation"
    text = session.failure("echo", {"by": "x"})
    assert text == "Invalid tool arguments: value is not one of the declared JSON types"
    with pytest.raises(Refusal) as refused:
        session.call("echo", {"by": 14})
    assert refused.value.message == "Tool output failed schema validation"


def test_every_revision_gets_the_same(write_app: Any) -> None:
    with contextlib.closing(HttpServer(write_app(COUNTER))) as server:
        for revision in HANDSHAKES[:3]:
            session = HttpHandshake(server, revision)
            result = session.call("add", {"by": 3})
            assert set(json.loads(result["content"][0]["text"])) == {"value"}
            assert session.failure("absent") == "Actor target unavailable"
            assert session.failure("late") == "Actor call timed out"
            assert session.text("let_go") == "gone"
            with pytest.raises(Refusal) as refused:
                session.call("refuses")
            assert refused.value.code == -32003
