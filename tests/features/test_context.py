"""What a tool can know about its request, and from where."""

from __future__ import annotations

import json
from typing import Any

import pytest

SEEN = """
import asyncio
import concurrent.futures
import contextvars
import threading
from typing import Optional

from snodo import Context, Server, current_context

server = Server("seen", version="1.0.0")


def describe(context):
    info = context.client_info
    name = info["name"] if isinstance(info, dict) else getattr(info, "name", None)
    return {
        "method": context.method,
        "request_id": context.request_id,
        "protocol_version": context.protocol_version,
        "transport": str(getattr(context.transport, "value", context.transport)),
        "client": name,
        "capabilities": context.client_capabilities,
        "meta": context.meta,
        "auth": context.auth,
        "headers": dict(context.headers) if context.headers is not None else None,
        "input_responses": context.input_responses,
        "request_state": context.request_state,
        "cancelled": bool(context.cancelled),
        "state": context.state,
    }


@server.tool
def seen(context: Context):
    return describe(context)


@server.tool
async def seen_async(context: Context):
    await asyncio.sleep(0)
    return describe(context)


@server.tool
def optional(context: Optional[Context] = None):
    return describe(context)


@server.tool
def any_name(anything: Context, n: int = 1):
    return describe(anything)


@server.tool
def deep():
    return describe(current_context())


@server.tool
async def deep_async():
    async def inner():
        await asyncio.sleep(0)
        return describe(current_context())

    return await asyncio.create_task(inner())


@server.tool
async def in_a_thread():
    return describe(await asyncio.to_thread(current_context))


@server.tool
async def in_a_task_group(n: int):
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(asyncio.to_thread(lambda: current_context().request_id))
                 for _ in range(n)]
    return [task.result() for task in tasks]


@server.tool
def frozen(context: Context) -> str:
    try:
        context.method = "x"
    except AttributeError:
        return "frozen"
    return "changed"


variable = contextvars.ContextVar("variable", default="unset")


@server.tool
def sets(value: str) -> str:
    before = variable.get()
    variable.set(value)
    return before


@server.tool
async def sets_async(value: str) -> str:
    before = variable.get()
    variable.set(value)
    await asyncio.sleep(0)
    assert variable.get() == value
    return before


@server.tool
async def outlives() -> str:
    async def later():
        await asyncio.sleep(0.05)
        return str(current_context().request_id)

    task = asyncio.create_task(later())
    return await task


@server.tool
async def plain_asyncio() -> str:
    task = asyncio.current_task()
    assert isinstance(task, asyncio.Task), task
    loop = asyncio.get_running_loop()
    assert threading.current_thread() is threading.main_thread() or True
    try:
        async with asyncio.timeout(0.01):
            await asyncio.sleep(30)
    except TimeoutError:
        pass
    try:
        await asyncio.wait_for(asyncio.Event().wait(), 0.01)
    except TimeoutError:
        pass
    results = await asyncio.gather(asyncio.sleep(0, 1), asyncio.sleep(0, 2))
    assert results == [1, 2]
    assert await loop.run_in_executor(None, lambda: 3) == 3
    return "plain"


try:
    current_context()
except Exception as error:
    outside = type(error).__name__
else:
    outside = "no error"


@server.tool
def outside_of_a_call() -> str:
    return outside
"""

WAYS = ["seen", "seen_async", "optional", "any_name", "deep", "deep_async", "in_a_thread"]


@pytest.mark.parametrize("tool", WAYS)
def test_the_context_tells_about_this_request(serve: Any, tool: str) -> None:
    session = serve(SEEN)
    seen = session.call(
        tool,
        {},
        clientInfo={"name": "me", "version": "1", "title": "Me"},
        clientCapabilities={"sampling": {}},
    )["structuredContent"]
    assert seen["method"] == "tools/call"
    assert isinstance(seen["request_id"], int)
    assert seen["protocol_version"] == "2026-07-28"
    assert seen["client"] == "me"
    assert seen["capabilities"] == {"sampling": {}}
    assert seen["auth"] is None
    assert seen["cancelled"] is False
    assert seen["input_responses"] in (None, {})
    assert seen["request_state"] is None
    assert seen["meta"]["io.modelcontextprotocol/clientInfo"]["title"] == "Me"
    if session.transport != "direct":
        assert seen["transport"] == session.transport


def test_an_anonymous_client_is_none(serve: Any) -> None:
    assert serve(SEEN).call("seen")["structuredContent"]["client"] is None


def test_each_request_is_seen_on_its_own(serve: Any) -> None:
    session = serve(SEEN)
    first = session.call("seen", clientCapabilities={"elicitation": {}})["structuredContent"]
    second = session.call("seen")["structuredContent"]
    assert (first["capabilities"], second["capabilities"]) == ({"elicitation": {}}, {})
    assert first["request_id"] != second["request_id"]


def test_ids_keep_their_type(serve: Any) -> None:
    from driver import request

    session = serve(SEEN)
    for id in ("7", 7, "", 0, -1):
        message = request("tools/call", {"name": "seen", "arguments": {}}, id=id)
        _, answer = session.send(message)
        assert answer["id"] == id
        assert type(answer["id"]) is type(id)
        assert answer["result"]["structuredContent"]["request_id"] == id


def test_headers_are_seen_over_http_alone(write_app: Any) -> None:
    from driver import HttpServer, request

    server = HttpServer(write_app(SEEN))
    try:
        message = request("tools/call", {"name": "seen", "arguments": {}})
        reply = server.send(message, X_User="ada", Authorization="Bearer x")
        seen = reply.json()["result"]["structuredContent"]
        assert seen["headers"]["x-user"] == "ada"
        assert seen["auth"] is None, "headers alone are nobody's identity"
    finally:
        server.close()


def test_a_retry_brings_answers_and_state(serve: Any) -> None:
    params = {
        "name": "seen",
        "arguments": {},
        "inputResponses": {"name": {"action": "accept", "content": {"n": "Ada"}}},
        "requestState": "abc",
    }
    seen = serve(SEEN).ask("tools/call", params)["structuredContent"]
    assert seen["input_responses"]["name"]["content"] == {"n": "Ada"}
    assert seen["request_state"] == "abc"


def test_the_context_cannot_be_changed(serve: Any) -> None:
    assert serve(SEEN).text("frozen") == "frozen"


def test_threads_and_tasks_of_a_call_see_its_context(serve: Any) -> None:
    seen = serve(SEEN).call("in_a_task_group", {"n": 20})["structuredContent"]
    assert len(seen) == 20
    assert len(set(seen)) == 1


@pytest.mark.parametrize("tool", ["sets", "sets_async"])
def test_context_variables_do_not_leak_from_call_to_call(serve: Any, tool: str) -> None:
    session = serve(SEEN)
    for value in ("one", "two", "three"):
        assert session.text(tool, {"value": value}) == "unset"


def test_a_task_sees_the_context_of_the_call_that_made_it(serve: Any) -> None:
    assert serve(SEEN).text("outlives").lstrip("-").isdigit()


def test_asyncio_is_plain_asyncio_inside_a_tool(serve: Any) -> None:
    assert serve(SEEN).text("plain_asyncio") == "plain"


def test_there_is_no_context_outside_of_a_call(serve: Any) -> None:
    assert serve(SEEN).text("outside_of_a_call") != "no error"


@pytest.mark.parametrize(
    "trace",
    [
        {"traceparent": "00-11111111111111111111111111111111-2222222222222222-01"},
        {"traceparent": "junk", "tracestate": "\n", "baggage": "x=1"},
        {"traceparent": 5},
    ],
    ids=str,
)
def test_a_trace_context_never_fails_a_request_and_is_not_reflected(
    serve: Any, trace: dict[str, Any]
) -> None:
    from driver import request

    message = request("tools/call", {"name": "frozen", "_meta": trace}, id=1)
    _, answer = serve(SEEN).send(message)
    assert answer["result"]["content"][0]["text"] == "frozen"
    assert "trace" not in json.dumps(answer["result"]["_meta"])


ELSEWHERE = """
from snodo import Context, Server

server = Server("elsewhere", version="1.0.0")


@server.tool
def told(name: str, context: Context) -> str:
    assert not hasattr(context, name)
    try:
        getattr(context, name)
    except AttributeError as error:
        return str(error)


@server.tool
def level(name: str, context: Context) -> str:
    try:
        context.log(name, "x")
    except ValueError as error:
        return str(error)
"""


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("report_progress", "write context.progress(done, total, message)"),
        ("session_id", "who calls is context.auth"),
        ("set_state", "an Actor keeps what changes"),
        ("info", 'write context.log("info", data)'),
        ("debug", 'write context.log("debug", data)'),
        ("warning", 'write context.log("warning", data)'),
        ("error", 'write context.log("error", data)'),
        ("elicit", 'write context.ask("key", elicit.form(message, fields))'),
        ("sample", 'write context.ask("key", sampling.create_message('),
        ("list_roots", 'write context.ask("key", roots.list())'),
        ("read_resource", "call the function that makes the resource"),
        ("session", "there are no sessions"),
        ("request_context", "context.request_id"),
        ("fastmcp", "the server is the one"),
    ],
)
def test_what_other_libraries_call_it_is_put_right(serve: Any, name: str, hint: str) -> None:
    text = serve(ELSEWHERE).call("told", {"name": name})["content"][0]["text"]
    assert text.startswith(f"'snodo.Context' object has no attribute '{name}': ")
    assert hint in text


def test_other_names_get_no_hint(serve: Any) -> None:
    text = serve(ELSEWHERE).call("told", {"name": "nothing"})["content"][0]["text"]
    assert text == "'snodo.Context' object has no attribute 'nothing'"


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("warn", "warning"),
        ("INFO", "info"),
        ("WARN", "warning"),
        ("err", "error"),
        ("fatal", "critical"),
        ("crit", "critical"),
        ("eror", "error"),
        ("trace", None),
        ("", None),
    ],
)
def test_a_level_that_was_meant_is_named(serve: Any, name: str, meant: str | None) -> None:
    text = serve(ELSEWHERE).call("level", {"name": name})["content"][0]["text"]
    assert text.startswith("level must be one of debug, info, ")
    assert text.endswith(f'not "{name}"' if meant is None else f': did you mean "{meant}"?')
