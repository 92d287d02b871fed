"""What sinks are told of a server, whichever way it is reached, and what they are never told."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from driver import Refusal, Session, request

TOLD = """
import threading
from snodo import Context, Error, Event, Hub, Result, Server, ToolError

events = []
hub = Hub(max_buffer=1)


def keep(name, measurements, metadata):
    events.append([name, measurements, metadata])


def broken(name, measurements, metadata):
    measurements.clear()
    metadata.clear()
    raise RuntimeError("this sink always fails")


server = Server("told", version="1.0.0", instrument=[broken, keep], subscriptions=hub)


@server.tool
def told() -> list:
    return events[:]


@server.tool
def add(a: int, b: int) -> int:
    return a + b


@server.tool
async def later(text: str) -> str:
    return text


@server.tool
def complain(text: str) -> str:
    raise ToolError(text)


@server.tool
def crash(text: str) -> str:
    raise RuntimeError(text)


@server.tool
def refuse(text: str) -> str:
    raise Error(code=4001, message=text, data={"text": text})


@server.tool
def raw() -> Result:
    return Result.raw({"content": [], "isError": True})


@server.tool
def trace(context: Context) -> dict:
    return context.trace


@server.resource("note://a")
def note() -> str:
    return "text"


@server.resource("note://{name}/b", name="notes")
def notes(name: str) -> str:
    return name


@server.prompt
def greet(name: str) -> str:
    return f"hello {name}"


@server.tool
def publish(times: int) -> int:
    for number in range(times):
        hub.publish(Event.resource_updated("note://a", metadata={"n": number}))
    return times
"""

DISPATCH = "snodo.server.dispatch."


def told(session: Session, until: Any = lambda events: True) -> list[Any]:
    """What the sink was told, once that is enough, and all that was before this call is in it."""
    before: int = session.__dict__.get("asked", 0)
    end = time.monotonic() + 20
    while True:
        session.__dict__["asked"] = session.__dict__.get("asked", 0) + 1
        result = session.call("told")
        events = result["structuredContent"]
        # Told in the order in which it happened: with our own asking in it, so is what was before.
        ours = sum(
            name == DISPATCH + "start" and metadata.get("component") == "told"
            for name, _, metadata in events
        )
        if ours > before and until(events):
            return list(events)
        assert time.monotonic() < end, f"never enough: {events[-6:]}"
        time.sleep(0.02)


def spans(events: list[Any]) -> dict[int, list[Any]]:
    """Begin and end of each message, by its number."""
    found: dict[int, list[Any]] = {}
    for name, measurements, metadata in events:
        if name.startswith(DISPATCH):
            found.setdefault(metadata["span"], []).append((name, measurements, metadata))
    return found


def dispatched(session: Session, of: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Begin and end of the last message whose metadata `of` accepts."""

    def last(events: list[Any]) -> Any:
        both = [told for told in spans(events).values() if of(told[0][2]) and len(told) == 2]
        return both[-1] if both else None

    (start, stop) = last(told(session, last))
    assert start[0] == DISPATCH + "start"
    assert stop[0] == DISPATCH + "stop"
    assert set(start[1]) == {"system_time"}
    assert abs(start[1]["system_time"] - time.time()) < 60
    assert set(stop[1]) == {"duration"}
    assert 0 <= stop[1]["duration"] < 60
    said = {key: stop[2][key] for key in start[2]}
    assert said == start[2], "the end says what the begin said"
    return start[2], {key: value for key, value in stop[2].items() if key not in start[2]}


CALLS: list[tuple[str, dict[str, Any], str | None, dict[str, Any]]] = [
    ("add", {"a": 1, "b": 2}, None, {"outcome": "ok"}),
    ("later", {"text": "x"}, None, {"outcome": "ok"}),
    ("complain", {"text": "x"}, None, {"outcome": "ok", "error_type": "tool_error"}),
    ("crash", {"text": "x"}, None, {"outcome": "ok", "error_type": "raised"}),
    ("raw", {}, None, {"outcome": "ok", "error_type": "tool_error"}),
    ("add", {"a": "one", "b": 2}, None, {"outcome": "ok", "error_type": "tool_error"}),
    ("refuse", {"text": "x"}, "4001", {"outcome": "error", "error_code": 4001}),
]


@pytest.mark.parametrize(("tool", "arguments", "code", "end"), CALLS)
def test_a_call_is_told_with_what_came_of_it(
    serve: Any, tool: str, arguments: dict[str, Any], code: str | None, end: dict[str, Any]
) -> None:
    session = serve(TOLD)
    if code is None:
        session.call(tool, arguments)
    else:
        with pytest.raises(Refusal):
            session.call(tool, arguments)
    start, stop = dispatched(session, lambda told: told.get("component") == tool)
    assert stop == end
    assert start["method"] == "tools/call"
    assert start["transport"] == session.transport
    assert start["component_kind"] == "tool"
    assert start["protocol_version"] == "2026-07-28"
    assert type(start["request_id"]) is int


@pytest.mark.parametrize(
    ("method", "params", "component"),
    [
        ("tools/list", {}, None),
        ("server/discover", {}, None),
        ("resources/read", {"uri": "note://a"}, ("resource", "note")),
        ("resources/read", {"uri": "note://x/b"}, ("resource_template", "notes")),
        ("prompts/get", {"name": "greet", "arguments": {"name": "x"}}, ("prompt", "greet")),
    ],
)
def test_other_requests_are_told_too(
    serve: Any, method: str, params: dict[str, Any], component: tuple[str, str] | None
) -> None:
    session = serve(TOLD)
    session.ask(method, params)
    kind, name = component or (None, None)
    start, stop = dispatched(
        session,
        lambda told: told["method"] == method and told.get("component") == name,
    )
    assert start.get("component_kind") == kind
    assert stop == {"outcome": "ok"}


def test_names_that_nobody_registered_are_not_repeated(serve: Any) -> None:
    session = serve(TOLD)
    for method, params, code in [
        ("secret-method", {}, -32601),
        ("tools/call", {"name": "secret-tool"}, -32602),
        ("resources/read", {"uri": "note://secret"}, -32602),
        ("prompts/get", {"name": "secret-prompt"}, -32602),
    ]:
        with pytest.raises(Refusal):
            session.ask(method, params)
        known = "unknown" if method.startswith("secret") else method
        _, stop = dispatched(
            session, lambda told, known=known: told["method"] == known and "component" not in told
        )
        assert stop == {"outcome": "error", "error_code": code}
    assert "secret" not in json.dumps(told(session))


def test_nothing_that_is_sent_or_answered_is_told(serve: Any) -> None:
    session = serve(TOLD)
    hidden = "s3cr3t"
    session.call("later", {"text": hidden}, clientInfo={"name": hidden, "version": hidden})
    for tool in ("complain", "crash"):
        session.call(tool, {"text": hidden})
    with pytest.raises(Refusal):
        session.call("refuse", {"text": hidden})
    session.read(f"note://{hidden}/b")
    session.ask("prompts/get", {"name": "greet", "arguments": {"name": hidden}})
    baggage = {"_meta": {"baggage": f"user={hidden}"}}
    session.ask("tools/call", {"name": "add", "arguments": {"a": 1, "b": 1}} | baggage)
    _, stop = dispatched(session, lambda told: told.get("component") == "add")
    assert stop["outcome"] == "ok"
    assert hidden not in json.dumps(told(session))


def test_a_notification_is_told_to_have_no_reply(serve: Any) -> None:
    session = serve(TOLD)
    notification = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    if session.transport == "direct":
        session.handle(json.dumps(notification).encode())
    elif session.transport == "http":
        assert session.server.send(notification).status == 202
    else:
        session.server.write_message(notification)
    start, stop = dispatched(session, lambda told: told["method"] == "notifications/initialized")
    assert "request_id" not in start
    assert stop == {"outcome": "no_reply"}


def test_each_begin_has_one_end(serve: Any) -> None:
    session = serve(TOLD)
    for _ in range(5):
        session.call("add", {"a": 1, "b": 2})

    def over(events: list[Any]) -> bool:
        return sum(len(told) == 1 for told in spans(events).values()) <= 1

    # The one that asks is under way, and the last one's end may be on its way.
    events = told(session, over)
    for both in spans(events).values():
        names = [name.removeprefix(DISPATCH) for name, _, _ in both]
        assert names in (["start"], ["start", "stop"]), both


PARENT = "00-11111111111111111111111111111111-2222222222222222-01"


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ({"traceparent": PARENT}, ["traceparent"]),
        ({"traceparent": PARENT, "tracestate": "a=1"}, ["traceparent", "tracestate"]),
        ({"traceparent": PARENT, "tracestate": "a=1,a=2"}, ["traceparent"]),
        ({"traceparent": PARENT.replace("2", "0")}, []),
        ({"traceparent": "junk", "tracestate": "a=1"}, []),
        ({"traceparent": PARENT.replace("00-", "ff-")}, []),
        ({"traceparent": PARENT + "-x"}, []),
        ({"traceparent": 5}, []),
        ({"tracestate": "a=1"}, []),
    ],
)
def test_a_valid_trace_is_told_and_an_invalid_one_is_absent(
    serve: Any, sent: dict[str, Any], kept: list[str]
) -> None:
    session = serve(TOLD)
    result = session.ask("tools/call", {"name": "trace", "_meta": sent})
    assert result["structuredContent"] == {key: sent[key] for key in kept}
    start, stop = dispatched(session, lambda told: told.get("component") == "trace")
    traced = {key: start[key] for key in ("traceparent", "tracestate") if key in start}
    assert traced == {key: sent[key] for key in kept}
    assert stop == {"outcome": "ok"}


def test_a_sink_that_fails_is_logged_once(serve: Any) -> None:
    session = serve(TOLD)
    session.call("add", {"a": 1, "b": 2})
    told(session, lambda events: len(events) > 4)
    session.wait_for_log("a sink failed on snodo.server.dispatch.start")
    log = session.wait_for_log("RuntimeError: this sink always fails")
    assert log.count("a sink failed") == 1
    assert log.count("RuntimeError: this sink always fails") == 1


def test_subscriptions_are_told(serve_process: Any) -> None:
    session = serve_process(TOLD)
    filter = {"resourceSubscriptions": ["note://a"], "toolsListChanged": True}
    listen = request("subscriptions/listen", {"notifications": filter}, id="listener")
    with session.converse(listen) as conversation:
        conversation.notice()
        session.call("publish", {"times": 1})
        conversation.notice()
    names = ("open", "publish", "close")

    def over(events: list[Any]) -> bool:
        return {f"snodo.subscription.{name}" for name in names} <= {name for name, *_ in events}

    events = told(session, over)
    found = {name: (measured, said) for name, measured, said in events if "subscription" in name}
    who = {
        "request_id": "listener",
        "transport": session.transport,
        "filter_keys": ["resourceSubscriptions", "toolsListChanged"],
    }
    assert found["snodo.subscription.open"] == ({"subscriptions": 1}, who)
    assert found["snodo.subscription.close"] == (
        {"subscriptions": 0},
        who | {"reason": "cancelled"},
    )
    measured, said = found["snodo.subscription.publish"]
    assert set(measured) == {"matched", "delivered", "buffered", "dropped", "queued"}
    assert measured["matched"] == 1
    assert said == {"event_kind": "resource_updated"}
    start, stop = dispatched(session, lambda told: told["method"] == "subscriptions/listen")
    assert start["request_id"] == "listener"
    assert stop == {"outcome": "stream"}
