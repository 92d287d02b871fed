"""What an application adds to the protocol, for those who declare it, and around the rest."""

from __future__ import annotations

from typing import Any

import pytest

from driver import SUBSCRIPTION, HttpHandshake, HttpServer, Refusal, request, wait_until

ID = "com.example/jobs"
DECLARED: dict[str, Any] = {"extensions": {ID: {}}}

# A small sister of Tasks: calls of some tools answer with a job, and the work goes on behind it.
JOBS = """
import asyncio
import itertools
from typing import TypedDict

from snodo import Context, Error, Event, Extension, Result, Server
from snodo.extension import method

numbers = itertools.count(1)


class Named(TypedDict):
    jobId: str


class Jobs(Extension):
    id = "com.example/jobs"
    settings = {"kinds": ["work"]}
    missing_capability = True
    result_types = ("job",)
    operations = ("tools/call",)
    filter_keys = ("jobIds",)

    def __init__(self):
        self.jobs = {}
        self.tasks = set()

    def negotiate(self, settings, context):
        if settings.get("refuse"):
            raise Error.invalid_params("The jobs extension has no such setting")
        return None if settings.get("decline") else {**settings, "agreed": True}

    def validate(self, method, params, context):
        if "nothing" in params:
            raise Error.invalid_params("nothing is no parameter")

    def job(self, id):
        if id not in self.jobs:
            raise Error.invalid_params("Unknown or inaccessible jobId")
        return self.jobs[id]

    @method("jobs/get", header=("Mcp-Name", "jobId"))
    async def get(self, params: Named, context: Context):
        return self.job(params["jobId"])

    @method("jobs/finish", header=("Mcp-Name", "jobId"))
    def finish(self, params: Named, context: Context):
        job = self.job(params["jobId"])
        job["status"] = "completed"
        server.notify.publish(Event.extension(self.id, job["jobId"], job))
        return {}

    @method("jobs/loose", header=("Mcp-Name", "jobId"))
    def loose(self, params, context):
        return {}

    @method("jobs/wire")
    def wire(self, params, context):
        return Result.wire({"given": params, "settings": context.extensions[self.id]})

    async def around(self, context, operation, call_next):
        if operation.params["name"] != "works":
            return await call_next()
        if self.id not in context.extensions:
            return await call_next()
        known = await call_next.check()
        if known is not None:
            return known
        job = {"jobId": f"j{next(numbers)}", "status": "working"}
        self.jobs[job["jobId"]] = job
        return Result.wire({"resultType": "job", **job})

    async def subscribe(self, requested, context):
        await asyncio.sleep(0)
        return {"jobIds": [id for id in requested["jobIds"] if id in self.jobs]}

    def notification(self, selector, payload, context):
        if payload.get("silent"):
            return None
        return "notifications/jobs", {**payload, "to": context.method}


server = Server("jobs", version="1.0.0", extensions=[Jobs()])


@server.tool
async def works(n: int) -> str:
    return f"worked {n}"


@server.tool
def tells(id: str, times: int = 1, silent: bool = False) -> str:
    for _ in range(times):
        payload = {"jobId": id, "silent": silent}
        server.notify.publish(Event.extension("com.example/jobs", id, payload))
    return "told"


@server.tool
def agreed(context: Context) -> dict:
    return {"extensions": context.extensions, "values": dict(context.values)}
"""


def declaring(settings: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"clientCapabilities": {"extensions": {ID: settings or {}}}}


def test_it_is_advertised(serve: Any) -> None:
    found = serve(JOBS).ask("server/discover")["capabilities"]["extensions"]
    assert found == {ID: {"kinds": ["work"]}}


def test_a_method_answers_those_who_declare_it(serve: Any) -> None:
    session = serve(JOBS)
    created = session.call("works", {"n": 1}, **declaring())
    assert created["resultType"] == "job"
    assert "content" not in created
    found = session.ask("jobs/get", {"jobId": created["jobId"]}, **declaring())
    assert found["resultType"] == "complete"
    assert found["status"] == "working"
    done = session.ask("jobs/finish", {"jobId": created["jobId"]}, **declaring())
    assert set(done) == {"resultType", "_meta"}
    found = session.ask("jobs/get", {"jobId": created["jobId"]}, **declaring())
    assert found["status"] == "completed"


def test_who_does_not_declare_it_is_told_what_is_missing(serve: Any) -> None:
    session = serve(JOBS)
    refused = session.refusal("jobs/get", {"jobId": "j1"})
    assert (refused.code, refused.message) == (-32021, "Missing required client capability")
    assert refused.data == {"requiredCapabilities": {"extensions": {ID: {}}}}
    assert refused.status in (None, 400)
    result = session.call("works", {"n": 1})
    assert result["content"] == [{"type": "text", "text": "worked 1"}]


def test_an_earlier_declaration_counts_for_nothing(serve: Any) -> None:
    session = serve(JOBS)
    assert session.call("works", {"n": 1}, **declaring())["resultType"] == "job"
    assert session.call("works", {"n": 1})["resultType"] == "complete"


def test_a_callback_accepts_declines_or_refuses(serve: Any) -> None:
    session = serve(JOBS)
    found = session.call("agreed", **declaring({"a": 1}))["structuredContent"]
    assert found == {"extensions": {ID: {"a": 1, "agreed": True}}, "values": {}}
    assert session.call("agreed")["structuredContent"]["extensions"] == {}
    declined = declaring({"decline": True})
    assert session.call("agreed", **declined)["structuredContent"]["extensions"] == {}
    assert session.refusal("jobs/get", {"jobId": "j1"}, **declined).code == -32601
    for method, params in [
        ("jobs/get", {"jobId": "j1"}),
        ("tools/list", {}),
        ("tools/call", {"name": "agreed"}),
    ]:
        refused = session.refusal(method, params, **declaring({"refuse": True}))
        assert (refused.code, "setting" in refused.message) == (-32602, True)


def test_parameters_are_held_to_their_type_and_to_validate(serve: Any) -> None:
    session = serve(JOBS)
    for params, said in [
        ({"jobId": 5}, "Invalid arguments at /jobId: expected string"),
        ({}, "Missing required arguments: jobId"),
        ({"jobId": "j"}, "Unknown or inaccessible jobId"),
        ({"jobId": "j", "nothing": 1}, "nothing is no parameter"),
    ]:
        refused = session.refusal("jobs/get", params, **declaring())
        assert refused.code == -32602
        assert said in refused.message


def test_a_wire_result_is_sent_as_given(serve: Any) -> None:
    result = serve(JOBS).ask("jobs/wire", {"a": [1, "é"]}, **declaring())
    del result["_meta"]
    assert result == {"given": {"a": [1, "é"]}, "settings": {"agreed": True}}


def test_the_checks_come_before_a_layer_answers(serve: Any) -> None:
    session = serve(JOBS)
    for declared in ({}, declaring()):
        assert "integer" in session.failure("works", {"n": "x"}, **declared)
        assert session.refusal("tools/call", {"name": "nobody"}, **declared).code == -32602


def test_other_eras_do_not_know_it(write_app: Any) -> None:
    server = HttpServer(write_app(JOBS))
    try:
        session = HttpHandshake(server, "2025-11-25", DECLARED)
        assert session.text("works", {"n": 3}) == "worked 3"
        assert session.refusal("jobs/get", {"jobId": "j1"}).code == -32601
        assert session.call("agreed")["structuredContent"] == {"extensions": {}, "values": {}}
    finally:
        server.close()


def test_a_header_repeats_a_parameter(write_app: Any) -> None:
    server = HttpServer(write_app(JOBS))
    try:
        message = request("jobs/get", {"jobId": "jé"}, clientCapabilities=DECLARED)
        for header, status, code in [
            (None, 400, -32020),
            ("other", 400, -32020),
            ("=?base64?not base64?=", 400, -32020),
            ("=?base64?asOp?=", 400, -32602),  # found equal; there is no such job
        ]:
            reply = server.send(message, **{"Mcp-Name": header})
            assert (reply.status, reply.json()["error"]["code"]) == (status, code), header
        # What is wrong with the parameter is better told as that.
        message = request("jobs/get", {"jobId": 5}, clientCapabilities=DECLARED)
        assert server.send(message).json()["error"]["code"] == -32602
        # Of no type that anybody looks at: who goes by the header is not told anything else.
        for params, header, code in [
            ({"jobId": "a"}, "a", None),
            ({"jobId": "a"}, "b", -32020),
            ({"jobId": "a"}, None, -32020),
            ({"jobId": 5}, "5", -32602),
            ({"jobId": True}, "true", -32602),
            ({"jobId": ["a"]}, "a", -32602),
            ({"jobId": None}, None, -32602),
            ({}, "a", -32602),
            ({}, None, -32602),
        ]:
            message = request("jobs/loose", params, clientCapabilities=DECLARED)
            reply = server.send(message, **{"Mcp-Name": header})
            assert reply.status == (200 if code is None else 400), (params, header)
            assert reply.json().get("error", {}).get("code") == code, (params, header)
    finally:
        server.close()


def listen(session: Any, **wanted: Any) -> Any:
    return session.begin(
        "subscriptions/listen", {"notifications": wanted}, clientCapabilities=DECLARED
    )


def test_events_reach_those_who_select_them(serve_process: Any) -> None:
    session = serve_process(JOBS)
    mine = session.call("works", {"n": 1}, **declaring())["jobId"]
    other = session.call("works", {"n": 1}, **declaring())["jobId"]
    with listen(session, toolsListChanged=True, jobIds=[mine, "unknown"]) as listening:
        acknowledged = listening.notice()["params"]["notifications"]
        assert acknowledged == {"toolsListChanged": True, "jobIds": [mine]}
        for id, silent in [(other, False), (mine, True)]:
            session.text("tells", {"id": id, "silent": silent})
        session.ask("jobs/finish", {"jobId": mine}, **declaring())
        assert listening.notice() == {
            "jsonrpc": "2.0",
            "method": "notifications/jobs",
            "params": {
                "_meta": {SUBSCRIPTION: listening.message["id"]},
                "jobId": mine,
                "status": "completed",
                "to": "subscriptions/listen",
            },
        }
        # Each event says something of its own, so none is taken for another.
        session.text("tells", {"id": mine, "times": 3})
        for _ in range(3):
            assert listening.notice()["params"]["jobId"] == mine


def test_a_filter_of_an_extension_needs_its_declaration(serve_process: Any) -> None:
    session = serve_process(JOBS)
    filter = {"notifications": {"jobIds": ["j1"]}}
    with session.begin("subscriptions/listen", filter) as listening:
        assert listening.next()["error"]["code"] == -32021
    with listen(session, jobIds=5) as listening:
        assert listening.next()["error"]["code"] == -32602


def test_a_filter_of_an_extension_that_declines_asks_for_nothing(serve_process: Any) -> None:
    session = serve_process(JOBS)
    wanted = {"notifications": {"jobIds": ["j1"], "toolsListChanged": True}}
    with session.begin("subscriptions/listen", wanted, **declaring({"decline": True})) as listening:
        accepted = listening.notice()["params"]["notifications"]
        assert accepted == {"toolsListChanged": True}


# Layers around everything, and what is below them.
LAYERS = """
import asyncio
import threading
import time

from snodo import Context, Error, Extension, Result, Server, elicit
from snodo.extension import method

seen = []
started = threading.Event()
stopped = threading.Event()


class Layer(Extension):
    def __init__(self, id):
        self.id = f"com.example/{id}"
        self.name = id

    @property
    def methods(self):
        return {f"{self.name}/ping": lambda params, context: {}}

    async def around(self, context, operation, call_next):
        seen.append(f"{self.name} {operation.method} {self.id in context.extensions}")
        # A copy: nothing of it reaches what is below.
        operation.params.get("arguments", {}).clear()
        operation.params["name"] = "nobody"
        name = context.meta.get("com.example/do")
        outer = self.name == "outer"
        if name == "own" and outer:
            return Result.text("mine")
        if name == "stops waiting" and not outer:
            try:
                await asyncio.wait_for(call_next(), 0.05)
            except TimeoutError:
                await asyncio.to_thread(stopped.wait, 10)
                return Result.text(f"stopped {stopped.is_set()}")
        if name == "wire":
            return Result.wire(context.meta["com.example/object"])
        if name == "clears":
            result = await call_next()
            result.value.clear()
            return result
        if name == "elsewhere" and outer:
            def wait():
                async def goes_on():
                    return await call_next()
                try:
                    asyncio.run(goes_on())
                except RuntimeError as error:
                    return str(error)
            return Result.text(await asyncio.to_thread(wait))
        if name == "twice" and outer:
            result = await call_next()
            try:
                await call_next()
            except RuntimeError as error:
                return Result.text(str(error))
        if name == "catches" and outer:
            try:
                return await call_next()
            except Error as error:
                return Result.text(f"caught {error.code} {error.message} {error.data}")
        if name == "looks" and outer:
            result = await call_next()
            result.value["content"][0]["text"] += f", seen as {result.kind}"
            return result
        if name == "asks" and outer:
            try:
                context.ask("name", elicit.form("Who?", {"name": str}))
            except RuntimeError as error:
                return Result.text(str(error))
        if name == "slow" and outer:
            await asyncio.sleep(30)
        if name == "checks":
            for _ in range(3):
                assert await call_next.check() is None
        if name == "late" and outer:
            asyncio.get_running_loop().call_later(0.01, goes_on, call_next)
            return Result.text("answered")
        given = dict(context.values)
        given[self.name] = list(given)
        return await call_next(given)


def goes_on(call_next):
    try:
        call_next()
    except RuntimeError as error:
        seen.append(str(error))


layers = [Layer("outer"), Layer("inner")]
server = Server("layers", version="1.0.0", extensions=layers, timeout=2, limits={"running": 1})


@server.tool
def says(text: str, context: Context) -> str:
    return f"{text} {dict(context.values)}"


@server.tool
async def says_async(text: str, context: Context) -> str:
    await asyncio.sleep(0)
    return f"{text} {dict(context.values)}"


@server.tool
def order() -> list[str]:
    found = list(seen)
    seen.clear()
    return found


@server.tool
def fails() -> str:
    raise Error(-5, "no", {"a": 1})


@server.tool
async def waits() -> str:
    try:
        await asyncio.sleep(30)
    finally:
        stopped.set()


@server.tool
def waits_in_a_thread(context: Context) -> str:
    started.set()
    try:
        while True:
            context.check_cancelled()
            time.sleep(0.01)
    finally:
        stopped.set()


@server.tool
async def is_stopped() -> bool:
    return await asyncio.to_thread(stopped.wait, 10)


@server.tool
def is_started() -> bool:
    return started.wait(10)


@server.tool(timeout=0.1)
async def hurries() -> str:
    await asyncio.sleep(30)


@server.tool(timeout=30)
async def takes_its_time() -> str:
    await asyncio.sleep(2.5)
    return "done"


@server.tool
def speaks(context: Context) -> str:
    context.progress(1, 2, "half")
    context.log("info", "hello")
    return "spoken"


@server.tool
def asks(context: Context) -> str:
    name = context.ask("name", elicit.form("Who?", {"name": str}))
    return f"hello {name.value['name']}"


@server.resource("text://a")
def a() -> str:
    return "a"


@server.prompt
def greets(name: str) -> str:
    return f"Hello {name}"
"""


def doing(what: str) -> dict[str, Any]:
    return {"_meta": {"com.example/do": what}}


def told(session: Any, tool: str, do: str, arguments: dict[str, Any] | None = None) -> str:
    params = {"name": tool, "arguments": arguments or {}, **doing(do)}
    (block,) = session.ask("tools/call", params)["content"]
    text: str = block["text"]
    return text


@pytest.mark.parametrize("tool", ["says", "says_async"])
def test_layers_give_values_and_change_no_parameters(serve: Any, tool: str) -> None:
    session = serve(LAYERS)
    text = session.text(tool, {"text": "x"})
    assert text == "x {'outer': [], 'inner': ['outer']}"


def test_the_first_is_outermost_and_none_needs_an_agreement(serve: Any) -> None:
    session = serve(LAYERS)
    session.call("order")
    declared = {"extensions": {"com.example/inner": {}}}
    session.call("says", {"text": "x"}, clientCapabilities=declared)
    session.ask("tools/list")
    session.read("text://a")
    session.prompt("greets", {"name": "Ada"})
    session.ask("server/discover")
    found = session.call("order")["structuredContent"]
    assert found == [
        "outer tools/call False",
        "inner tools/call True",
        *(
            f"{layer} {method} False"
            for method in [
                "tools/list",
                "resources/read",
                "prompts/get",
                "server/discover",
                "tools/call",
            ]
            for layer in ("outer", "inner")
        ),
    ]


def test_what_is_below_answers_as_if_there_were_no_layer(serve: Any) -> None:
    session = serve(LAYERS)
    assert session.read("text://a")["text"] == "a"
    (message,) = session.prompt("greets", {"name": "Ada"})
    assert message["content"]["text"] == "Hello Ada"
    refused = session.refusal("tools/call", {"name": "fails"})
    assert (refused.code, refused.message, refused.data) == (-5, "no", {"a": 1})
    assert "required" in session.failure("says", {})
    assert session.refusal("tools/call", {"name": "nobody"}).code == -32602
    assert session.refusal("resources/read", {"uri": "text://b"}).code == -32602


@pytest.mark.parametrize(
    ("tool", "do", "said"),
    [
        ("says", "own", "mine"),
        ("fails", "catches", "caught -5 no {'a': 1}"),
        ("says", "looks", "x {}, seen as wire"),
        ("says", "twice", "call_next goes on once"),
        ("says", "elsewhere", "call_next goes on where around() runs, on no other event loop"),
        (
            "says",
            "asks",
            "an extension cannot ask: a tool, a prompt or a read that it surrounds can",
        ),
        ("says", "checks", "x {'outer': [], 'inner': ['outer']}"),
    ],
)
def test_a_layer_may(serve: Any, tool: str, do: str, said: str) -> None:
    arguments = {"text": "x"} if tool == "says" else {}
    found = told(serve(LAYERS), tool, do, arguments)
    assert found.replace("{'inner': []}", "{}") == said


CACHED = {"ttlMs": 0, "cacheScope": "private"}


@pytest.mark.parametrize(
    ("method", "params", "given", "fits"),
    [
        ("tools/call", {"name": "order"}, {"content": []}, True),
        ("tools/call", {"name": "order"}, {"j": 1}, False),
        ("tools/call", {"name": "order"}, {"content": {}}, False),
        ("tools/list", {}, {"tools": [], **CACHED}, True),
        ("tools/list", {}, {"resultType": "complete", "content": []}, False),
        ("prompts/list", {}, {"prompts": [], **CACHED}, True),
        ("prompts/get", {"name": "greets"}, {"messages": []}, True),
        ("prompts/get", {"name": "greets"}, {"prompts": []}, False),
        ("resources/list", {}, {"resources": [], **CACHED}, True),
        ("resources/templates/list", {}, {"resourceTemplates": [], **CACHED}, True),
        ("resources/read", {"uri": "text://a"}, {"contents": [], **CACHED}, True),
        ("resources/read", {"uri": "text://a"}, {"content": []}, False),
        ("server/discover", {}, {"supportedVersions": [], "capabilities": {}, **CACHED}, True),
        ("server/discover", {}, {}, False),
    ],
)
def test_an_answer_is_one_to_the_operation(
    serve: Any, method: str, params: dict[str, Any], given: dict[str, Any], fits: bool
) -> None:
    session = serve(LAYERS)
    params = {**params, "_meta": {"com.example/do": "wire", "com.example/object": given}}
    if fits:
        result = session.ask(method, params)
        del result["_meta"]
        assert result == {"resultType": "complete", **given}
    else:
        refused = session.refusal(method, params)
        assert (refused.code, refused.message) == (
            -32603,
            "Extension middleware returned an invalid result",
        )


def test_an_answer_that_was_emptied_is_none(serve: Any) -> None:
    params = {"name": "says", "arguments": {"text": "x"}, **doing("clears")}
    assert serve(LAYERS).refusal("tools/call", params).code == -32603


def test_a_layer_that_stops_waiting_stops_what_is_below(serve: Any) -> None:
    assert told(serve(LAYERS), "waits", "stops waiting") == "stopped True"


def test_nothing_goes_on_after_the_answer(serve: Any) -> None:
    session = serve(LAYERS)
    session.call("order")
    assert told(session, "says", "late", {"text": "x"}) == "answered"
    over = "call_next goes on while around() runs, and with one thing at a time"
    found: list[str] = []

    def heard() -> bool:
        found.extend(session.call("order")["structuredContent"])
        return over in found

    wait_until(heard, "the refusal to go on")


def test_time_is_up_in_a_layer_and_below(serve: Any) -> None:
    session = serve(LAYERS)
    for tool, do in [("says", "slow"), ("hurries", "")]:
        params = {"name": tool, "arguments": {"text": "x"} if tool == "says" else {}, **doing(do)}
        refused = session.refusal("tools/call", params)
        assert (refused.code, refused.message) == (-32603, "Request execution timed out")
        assert refused.status in (None, 504)
    # Time that is spent below is not the layer's.
    assert session.text("takes_its_time") == "done"


def test_what_is_said_below_is_heard(serve_process: Any) -> None:
    session = serve_process(LAYERS)
    notices, answer = session.hear("speaks", token="t", level="info")
    assert [notice["method"] for notice in notices] == [
        "notifications/progress",
        "notifications/message",
    ]
    assert answer["result"]["content"][0]["text"] == "spoken"


def test_a_question_reaches_the_client_through_layers(serve: Any) -> None:
    session = serve(LAYERS)
    answers = {"name": {"action": "accept", "content": {"name": "Ada"}}}
    asked, result = session.rounds("tools/call", {"name": "asks"}, answers)
    assert len(asked) == 1
    assert result["content"][0]["text"] == "hello Ada"


def test_a_cancellation_reaches_what_is_below(serve_process: Any) -> None:
    session = serve_process(
        LAYERS.replace('limits={"running": 1}', "timeout=30").replace("timeout=2, ", "")
    )
    conversation = session.begin_call("waits_in_a_thread")
    assert session.call("is_started")["structuredContent"] is True
    conversation.leave()
    assert session.call("is_stopped")["structuredContent"] is True


# One callback that is broken, in one way.
BROKEN = """
from snodo import Context, Event, Extension, Result, Server
from snodo.extension import method


def broken(how):
    if how == "raises":
        raise ValueError("secret")
    if how == "exits":
        raise SystemExit("secret")
    return "secret"


class Broken(Extension):
    id = "com.example/jobs"

    @method("jobs/get")
    def get(self, params, context):
        return broken(HOW) if WHAT == "dispatch" else {}

    @method("jobs/get_async")
    async def get_async(self, params, context):
        return broken(HOW) if WHAT == "dispatch" else {}

    if WHAT == "negotiate":
        def negotiate(self, settings, context):
            return broken(HOW)

    if WHAT == "validate":
        def validate(self, method, params, context):
            return broken(HOW)

    if WHAT == "shape":
        def shape(self, method, value, context):
            return broken(HOW)

    if WHAT == "around":
        async def around(self, context, operation, call_next):
            return broken(HOW)

    if WHAT in ("subscribe", "notification"):
        filter_keys = ("jobIds",)

        def notification(self, selector, payload, context):
            return broken(HOW) if WHAT == "notification" else None

    if WHAT == "subscribe":
        async def subscribe(self, requested, context):
            return broken(HOW)


server = Server("broken", version="1.0.0", extensions=[Broken()])


@server.tool
def tells() -> str:
    server.notify.publish(Event.extension("com.example/jobs", "a", {}))
    return "told"
"""


def breaks(what: str, how: str) -> str:
    return f"WHAT, HOW = {what!r}, {how!r}\n{BROKEN}"


@pytest.mark.parametrize("how", ["raises", "exits", "nonsense"])
@pytest.mark.parametrize("what", ["negotiate", "validate", "dispatch", "shape"])
def test_a_broken_callback_fails_a_method(serve: Any, what: str, how: str) -> None:
    session = serve(breaks(what, how))
    for method in ("jobs/get", "jobs/get_async"):
        refused = session.refusal(method, {}, **declaring())
        assert refused.code == -32603
        assert "secret" not in str(refused.error)
        assert refused.status in (None, 500)


@pytest.mark.parametrize("how", ["raises", "exits", "nonsense"])
@pytest.mark.parametrize("what", ["negotiate", "around"])
def test_a_broken_callback_fails_an_operation(serve: Any, what: str, how: str) -> None:
    session = serve(breaks(what, how))
    for method, params in [("tools/list", {}), ("tools/call", {"name": "tells"})]:
        refused = session.refusal(method, params, **declaring())
        assert refused.code == -32603
        assert "secret" not in str(refused.error)


@pytest.mark.parametrize("how", ["raises", "exits", "nonsense"])
def test_a_broken_callback_fails_a_listener(serve_process: Any, how: str) -> None:
    session = serve_process(breaks("subscribe", how))
    with listen(session, jobIds=["a"]) as listening:
        error = listening.next()["error"]
        assert error["code"] == -32603
        assert "secret" not in str(error)


@pytest.mark.parametrize("how", ["raises", "exits", "nonsense"])
def test_a_broken_callback_ends_a_stream(serve_process: Any, how: str) -> None:
    session = serve_process(breaks("notification", how))
    with listen(session, jobIds=["a"]) as listening:
        assert listening.notice()["params"]["notifications"] == {"jobIds": ["a"]}
        session.call("tells")
        notices, answer = listening.rest()
        assert notices == []
        assert answer["error"]["code"] == -32603
        assert "secret" not in str(answer)


OWN_SOURCE = """
import dataclasses

from snodo import Event, Extension, Server, Source
from snodo.extension import method


class Jobs(Extension):
    id = "com.example/jobs"
    filter_keys = ("jobIds", "jobsFinished")

    @method("jobs/get")
    def get(self, params, context):
        return {}

    def notification(self, selector, payload, context):
        return "notifications/jobs", {"selector": selector, **payload}


class Bus(Source):
    def accept(self, filter, context):
        wanted = filter.extensions["com.example/jobs"]
        accepted = {"com.example/jobs": {**wanted, "jobIds": wanted["jobIds"][:1]}}
        return dataclasses.replace(filter, extensions=accepted)

    async def listen(self, filter, context):
        for selector in ("a", "b", "jobsFinished"):
            yield Event.extension("com.example/jobs", selector, {"from": "bus"})


server = Server("bus", version="1.0.0", extensions=[Jobs()], subscriptions=Bus())


@server.tool
def says() -> str:
    return "said"
"""


def test_a_source_tells_of_extensions_too(serve_process: Any) -> None:
    session = serve_process(OWN_SOURCE)
    with listen(session, jobIds=["a", "b"], jobsFinished=True) as listening:
        accepted = listening.notice()["params"]["notifications"]
        assert accepted == {"jobIds": ["a"], "jobsFinished": True}
        notices, _ = listening.rest()
        assert [notice["params"]["selector"] for notice in notices] == ["a", "jobsFinished"]


QUIET = """
from snodo import Error, Extension, Server
from snodo.extension import method


class Quiet(Extension):
    id = "com.example/jobs"
    advertise = False
    missing_capability = True
    filter_keys = ("jobIds",)

    @method("jobs/get", header=("Mcp-Name", "jobId"))
    def get(self, params, context):
        return {}

    def negotiate(self, settings, context):
        raise Error(-1, "nobody may ask")

    async def around(self, context, operation, call_next):
        raise Error(-1, "nobody may ask")

    def notification(self, selector, payload, context):
        return None


server = Server("quiet", version="1.0.0", extensions=[Quiet()])


@server.tool
def says() -> str:
    return "said"
"""


def test_what_is_not_advertised_does_nothing(serve: Any) -> None:
    session = serve(QUIET)
    assert "extensions" not in session.ask("server/discover")["capabilities"]
    assert session.text("says", **declaring()) == "said"
    refused = session.refusal("jobs/get", {"jobId": "x"}, **declaring())
    assert refused.code == -32601
    assert refused.status in (None, 404)


PLAIN = QUIET.replace("    advertise = False\n    missing_capability = True\n", "").replace(
    "    async def around", "    operations = ()\n\n    async def around"
)


def test_without_an_error_of_its_own_there_is_no_such_method(serve: Any) -> None:
    session = serve(PLAIN)
    refused = session.refusal("jobs/get", {"jobId": "x"})
    assert refused.code == -32601
    assert refused.status in (None, 404)


def test_a_filter_that_nobody_declared_asks_for_nothing(serve_process: Any) -> None:
    session = serve_process(PLAIN)
    filter = {"notifications": {"jobIds": ["x"], "toolsListChanged": True}}
    with session.begin("subscriptions/listen", filter) as listening:
        accepted = listening.notice()["params"]["notifications"]
        assert accepted == {"toolsListChanged": True}


def test_a_result_type_needs_a_declaration(serve: Any) -> None:
    session = serve("""
        from snodo import Extension, Result, Server
        from snodo.extension import method


        class Jobs(Extension):
            id = "com.example/jobs"
            result_types = ("job",)

            @method("jobs/get")
            def get(self, params, context):
                return {}


        server = Server("types", version="1.0.0", extensions=[Jobs()])


        @server.tool
        def works() -> dict:
            return Result.wire({"resultType": "job"})


        @server.tool
        def invents():
            return Result.wire({"resultType": "other"})
    """)
    assert session.call("works", **declaring())["resultType"] == "job"
    with pytest.raises(Refusal) as refused:
        session.call("works")
    assert refused.value.code == -32603
    with pytest.raises(Refusal) as refused:
        session.call("invents", **declaring())
    assert refused.value.code == -32603


GUARDED = """
from snodo import Context, Error, Extension, Result, Server
from snodo.extension import method

asked = []


class Around(Extension):
    id = "com.example/jobs"

    @method("jobs/asked")
    def asked(self, params, context):
        found = asked[:]
        asked.clear()
        return {"asked": found}

    async def around(self, context, operation, call_next):
        if operation.method != "tools/call":
            return await call_next()
        asked.append("layer")
        try:
            known = await call_next.check()
        except Error as error:
            return Result.text(f"refused with {error.code}")
        return known or Result.text("would run")


def policy(phase, component, context):
    asked.append(f"{phase} {component.name}")
    return Error.authorization(-32003, "Forbidden") if component.name == "hidden" else None


server = Server("guarded", version="1.0.0", extensions=[Around()], authorize=policy)


@server.tool
def hidden(n: int) -> str:
    return "never"


@server.tool
def shown(n: int) -> str:
    return "never either"
"""


def test_the_checks_are_lookup_then_authorization_then_arguments(serve: Any) -> None:
    session = serve(GUARDED)
    session.ask("jobs/asked", {}, **declaring())
    for tool, arguments, said, asked in [
        ("hidden", {}, "refused with -32003", ["layer", "invocation hidden"]),
        ("shown", {"n": 1}, "would run", ["layer", "invocation shown"]),
        ("nobody", {}, "refused with -32602", ["layer"]),
    ]:
        assert session.text(tool, arguments) == said
        assert session.ask("jobs/asked", {}, **declaring())["asked"] == asked
    assert session.failure("shown", {}) == "Missing required arguments: n"
    # What is listed goes the same way.
    assert set(session.tools()) == {"shown"}
