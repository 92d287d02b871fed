"""Sinks in this process: how they are called, what they cannot spoil, OpenTelemetry, the log."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from snodo import (
    ConfigurationError,
    Context,
    Event,
    Extension,
    Hub,
    Server,
    ToolError,
    _telemetry,
    telemetry,
)
from snodo.extension import method

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
PARENT = "00-11111111111111111111111111111111-2222222222222222-01"

Told = tuple[str, dict[str, Any], dict[str, Any]]


def request(method: str, meta: dict[str, Any] | None = None, **params: Any) -> dict[str, Any]:
    params["_meta"] = {**META, **(meta or {})}
    return {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}


def call(tool: str, meta: dict[str, Any] | None = None, **arguments: Any) -> dict[str, Any]:
    return request("tools/call", meta, name=tool, arguments=arguments)


class Sink:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.told: queue.SimpleQueue[Told] = queue.SimpleQueue()

    def __call__(self, name: str, measurements: dict[str, Any], metadata: dict[str, Any]) -> None:
        self.told.put((name, measurements, metadata))

    def next(self, name: str) -> Told:
        """The next event of a name."""
        while True:
            told = self.told.get(timeout=10)
            if told[0] == name:
                return told


def wait(what: Callable[[], Any]) -> Any:
    """What it gives, once that is something."""
    end = time.monotonic() + 20
    while not (found := what()):
        assert time.monotonic() < end, "it never came"
        time.sleep(0.01)
    return found


def adder(**options: Any) -> Server:
    server = Server("adder", **options)

    @server.tool
    def add(a: int, b: int) -> int:
        return a + b

    return server


# --- how sinks are called ----------------------------------------------------------------------


async def coroutine(name: str, measurements: Any, metadata: Any) -> None:
    pass


class Awaited:
    async def __call__(self, name: str, measurements: Any, metadata: Any) -> None:
        pass


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"instrument": print}, "must be a list of sinks"),
        ({"instrument": "sink"}, "must be a list of sinks"),
        ({"instrument": 5}, "must be a list of sinks"),
        ({"instrument": [5]}, "no callable"),
        ({"instrument": [Sink]}, "no callable"),
        ({"instrument": [telemetry.logging_sink]}, r"write instrument=\[telemetry.logging_sink"),
        ({"instrument": [lambda name, metadata: None]}, r"does not take \(name, measurements, met"),
        ({"instrument": [coroutine]}, "coroutine function"),
        ({"instrument": [Awaited()]}, "coroutine function"),
        ({"metrics": 1}, "metrics must be a boolean, not int"),
        ({"access_log": "yes"}, "access_log must be a boolean, not str"),
    ],
)
def test_what_cannot_be_a_sink_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        Server("x", **options)


def test_sinks_have_a_thread_of_their_own() -> None:
    threads = []
    sink = Sink()
    server = adder(instrument=[lambda *_: threads.append(threading.current_thread().name), sink])
    server.handle(call("add", a=1, b=2))
    sink.next("snodo.server.dispatch.stop")
    assert set(threads) == {"snodo-telemetry"}


def test_a_sink_cannot_spoil_what_the_next_is_told() -> None:
    sink = Sink()

    def spoil(name: str, measurements: dict[str, Any], metadata: dict[str, Any]) -> None:
        metadata["method"] = "spoiled"
        measurements.clear()

    adder(instrument=[spoil, sink]).handle(call("add", a=1, b=2))
    _, measured, said = sink.next("snodo.server.dispatch.stop")
    assert said["method"] == "tools/call"
    assert measured["duration"] > 0


@pytest.mark.parametrize("kind", [ValueError, SystemExit, KeyboardInterrupt])
def test_whatever_a_sink_raises_it_is_told_on(
    kind: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    sink = Sink()

    def fail(*_: Any) -> None:
        raise kind("on purpose")

    server = adder(instrument=[fail, sink])
    for _ in range(3):
        answer = server.handle(call("add", a=1, b=2))
        assert answer is not None
        assert answer["result"]["structuredContent"] == 3
        sink.next("snodo.server.dispatch.stop")
    assert sum("a sink failed" in record.message for record in caplog.records) == 1


def test_a_slow_sink_loses_events_in_pairs_and_is_told_how_many(
    caplog: pytest.LogCaptureFixture,
) -> None:
    sink, go = Sink(), threading.Event()

    def slow(name: str, measurements: dict[str, Any], metadata: dict[str, Any]) -> None:
        assert go.wait(30)
        sink(name, measurements, metadata)

    server = adder(instrument=[slow])
    ping = json.dumps(request("tools/list")).encode()
    runtime = server._offering.runtime()
    for _ in range(4000):
        runtime.handle(ping)
    go.set()
    _, measured, said = sink.next("snodo.telemetry.dropped")
    assert said == {"what": "events"}
    assert measured["dropped"] >= 2
    assert measured["dropped"] % 2 == 0, "of a message all or nothing is told"
    wait(lambda: any("events were dropped" in record.message for record in caplog.records))
    server.handle(call("add", a=1, b=2))
    while True:  # there is room again
        _, _, said = sink.next("snodo.server.dispatch.stop")
        if said.get("component") == "add":
            break


# --- waiting for them --------------------------------------------------------------------------


def test_once_flushed_sinks_and_log_were_told_of_all(caplog: pytest.LogCaptureFixture) -> None:
    told: list[str] = []

    def slow(name: str, measurements: dict[str, Any], metadata: dict[str, Any]) -> None:
        time.sleep(0.001)
        told.append(name)

    server = adder(instrument=[slow], access_log=True)
    messages = 300  # more events than are handed on at a time
    with caplog.at_level(logging.INFO, "snodo.access"):
        for _ in range(messages):
            server.handle(call("add", a=1, b=2))
        assert telemetry.flush(server, timeout=60)
        assert told.count("snodo.server.dispatch.stop") == messages
        assert sum(record.name == "snodo.access" for record in caplog.records) == messages


def test_access_lines_alone_are_flushed_too(caplog: pytest.LogCaptureFixture) -> None:
    server = adder(access_log=True)
    with caplog.at_level(logging.INFO, "snodo.access"):
        for number in range(1, 10):
            server.handle(call("add", a=1, b=2))
            assert telemetry.flush(server)
            assert len(caplog.records) == number


def test_a_flush_does_not_wait_for_ever() -> None:
    go = threading.Event()
    server = adder(instrument=[lambda *_: go.wait(30)])
    server.handle(call("add", a=1, b=2))
    assert not telemetry.flush(server, timeout=0.05)
    go.set()
    assert telemetry.flush(server, timeout=1e15)


def test_where_nobody_is_told_there_is_nothing_to_flush() -> None:
    server = adder(metrics=True)
    assert telemetry.flush(server), "it is not in use yet"
    server.handle(call("add", a=1, b=2))
    assert telemetry.flush(server)


def test_after_the_end_everything_was_told() -> None:
    told: list[str] = []
    server = adder(instrument=[lambda name, *_: told.append(name)])
    server.handle(call("add", a=1, b=2))
    telling = server._offering.telling
    assert telling is not None
    telling.end()
    assert telemetry.flush(server)
    assert told == ["snodo.server.dispatch.start", "snodo.server.dispatch.stop"]


def test_a_sink_that_would_wait_for_itself_is_told(caplog: pytest.LogCaptureFixture) -> None:
    server = adder(instrument=[lambda *_: telemetry.flush(server, timeout=60)])
    server.handle(call("add", a=1, b=2))
    assert telemetry.flush(server, timeout=20)
    assert "a sink cannot call it" in caplog.text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((print,), "takes the server"),
        ((Server("x"), 0), "flush timeout must be seconds above zero, not 0"),
        ((Server("x"), "1"), "flush timeout must be seconds above zero, not str"),
    ],
)
def test_what_cannot_be_flushed_is_refused(arguments: tuple[Any, ...], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        telemetry.flush(*arguments)


# --- what is told --------------------------------------------------------------------------------


def test_the_load_is_told_from_time_to_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_telemetry, "_LOAD", 0.0)
    sink = Sink()
    server = adder(instrument=[sink])  # with which the thread that tells would end
    server.handle(call("add", a=1, b=2))
    _, measured, said = sink.next("snodo.server.load")
    names = {"in_flight", "running", "queued", "streams", "connections", "sessions"}
    assert set(measured) == names
    assert said == {}


class Jobs(Extension):
    id = "com.example/jobs"
    filter_keys = ("jobIds", "allJobs")

    @method("jobs/get")
    def get(self, params: dict[str, Any], context: Context) -> dict[str, Any]:
        return {}

    def notification(self, selector: str, payload: Any, context: Context) -> tuple[str, Any]:
        return "notifications/jobs", payload


def test_what_becomes_of_events_is_told() -> None:
    sink, hub = Sink(), Hub(max_buffer=1, overflow="drop_newest")
    server = adder(instrument=[sink], subscriptions=hub, extensions=[Jobs()])
    declared = {"io.modelcontextprotocol/clientCapabilities": {"extensions": {Jobs.id: {}}}}
    wanted = {"jobIds": ["a"], "toolsListChanged": True, "allJobs": False}
    message = request("subscriptions/listen", declared, notifications=wanted)

    async def listens() -> None:
        heard = asyncio.Event()

        async def takes_one(sent: dict[str, Any]) -> None:
            if sent.get("body"):
                heard.set()
                await asyncio.Event().wait()

        listening = asyncio.create_task(hosted(server, message, takes_one))
        await asyncio.wait_for(heard.wait(), 10)
        # Whatever is on its way by now: a host that takes nothing leaves no room for so many.
        for number in range(20):
            hub.publish(Event.extension(Jobs.id, "a", {"n": number}))
        hub.complete()
        listening.cancel()

    asyncio.run(listens())
    listener = {"request_id": 7, "transport": "http"}
    keys = {"filter_keys": ["jobIds", "toolsListChanged"]}
    opened = sink.next("snodo.subscription.open")
    assert opened[1:] == ({"subscriptions": 1}, listener | keys)
    what = {"event_kind": "extension", "extension_id": Jobs.id}
    assert sink.next("snodo.subscription.publish")[2] == what
    # Beside the one that waits one may be on its way; later they may have left.
    _, measured, said = sink.next("snodo.subscription.overflow")
    assert measured.pop("queued") in (1, 2)
    assert (measured, said) == ({"dropped": 1}, what | {"policy": "drop_newest"})
    _, measured, said = sink.next("snodo.subscription.complete")
    assert measured.pop("queued") in (0, 1, 2)
    assert (measured, said) == ({"subscriptions": 1}, {})
    closed = sink.next("snodo.subscription.close")
    assert closed[1] == {"subscriptions": 0}
    assert closed[2].pop("reason") in ("cancelled", "complete")
    assert closed[2] == listener | keys


def test_a_request_without_a_message_is_told() -> None:
    sink, sent = Sink(), []

    async def take(part: dict[str, Any]) -> None:
        sent.append(part)

    server = adder(instrument=[sink])
    asyncio.run(hosted(server, call("add"), take, host=b"evil.example"))
    assert sent[0]["status"] == 403
    assert sink.next("snodo.http.refused")[1:] == ({"count": 1}, {"status": 403})


async def hosted(
    server: Server, message: dict[str, Any], send: Any, host: bytes = b"localhost"
) -> None:
    """Serve a message as an ASGI server would."""
    body = json.dumps(message).encode()
    headers = {
        b"host": host,
        b"content-type": b"application/json",
        b"accept": b"application/json, text/event-stream",
        b"content-length": b"%d" % len(body),
        b"mcp-protocol-version": b"2026-07-28",
        b"mcp-method": message["method"].encode(),
    }
    if "name" in message["params"]:
        headers[b"mcp-name"] = message["params"]["name"].encode()
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "path": "/mcp",
        "headers": list(headers.items()),
        "client": ("127.0.0.1", 5),
        "server": ("127.0.0.1", 80),
    }
    parts = [{"type": "http.request", "body": body}]

    async def receive() -> dict[str, Any]:
        if not parts:
            await asyncio.Event().wait()
        return parts.pop()

    app: Any = server.asgi()
    await asyncio.wait_for(app(scope, receive, send), 10)


def test_the_thread_ends_with_its_server() -> None:
    def threads() -> set[threading.Thread]:
        return {thread for thread in threading.enumerate() if thread.name == "snodo-telemetry"}

    before = threads()
    server = adder(instrument=[Sink()])
    server.handle(call("add", a=1, b=2))
    (own,) = threads() - before
    del server
    gc.collect()
    own.join(10)
    assert not own.is_alive()


LAST = """
import sys
from snodo import Server
server = Server("last", instrument=[lambda name, m, d: print(name, d["outcome"])
    if name.endswith("stop") else None], access_log=True)
server.handle({"jsonrpc": "2.0", "method": "notifications/initialized"})
"""


def test_the_end_of_the_process_waits_for_what_is_to_be_told() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", LAST], capture_output=True, text=True, timeout=30, check=True
    )
    assert ended.stdout == "snodo.server.dispatch.stop no_reply\n"
    line = json.loads(ended.stderr)
    assert line["method"] == "notifications/initialized"


# --- the log -----------------------------------------------------------------------------------


def test_the_logging_sink_writes_a_line_for_each_event(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "mine")
    sink = telemetry.logging_sink(logging.getLogger("mine"), level=logging.DEBUG)
    adder(instrument=[sink]).handle(call("add", a=1, b=2))
    (line,) = wait(
        lambda: [r for r in caplog.records if r.message.startswith("snodo.server.dispatch.stop ")]
    )
    assert (line.name, line.levelname) == ("mine", "DEBUG")
    assert "method=tools/call" in line.message
    assert "outcome=ok" in line.message
    assert "duration=" in line.message


def test_the_logging_sink_refuses_a_level_that_there_is_not() -> None:
    with pytest.raises(ConfigurationError, match="'loud'"):
        telemetry.logging_sink(level="loud")


ACCESS = [
    "time",
    "transport",
    "method",
    "component",
    "outcome",
    "code",
    "status",
    "duration_ms",
    "trace_id",
]


def test_each_message_is_an_access_line(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "snodo.access")
    server = adder(access_log=True)

    @server.tool(name='qu"o\\te')
    def fail() -> None:
        raise ToolError("s3cr3t")

    server.handle(call("add", {"traceparent": PARENT, "baggage": "user=s3cr3t"}, a=1, b=2))
    server.handle(call('qu"o\\te'))
    server.handle(request("s3cr3t/list"))

    def lines() -> list[str]:
        found = [r.getMessage() for r in caplog.records if r.name == "snodo.access"]
        return found if len(found) == 3 else []

    said = [json.loads(line) for line in wait(lines)]
    assert all(list(line) == ACCESS for line in said)
    added, failed, unknown = said
    assert added["time"].endswith("Z")
    assert added["duration_ms"] > 0
    del added["time"], added["duration_ms"]
    assert added == {
        "transport": "direct",
        "method": "tools/call",
        "component": "add",
        "outcome": "ok",
        "code": None,
        "status": None,
        "trace_id": "1" * 32,
    }
    assert (failed["component"], failed["outcome"]) == ('qu"o\\te', "tool_error")
    assert (unknown["method"], unknown["outcome"], unknown["code"]) == ("unknown", "error", -32601)
    assert "s3cr3t" not in json.dumps(said)


# --- OpenTelemetry -----------------------------------------------------------------------------


class Collected:
    """Spans and measurements, kept in memory."""

    def __init__(self) -> None:
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import InMemoryMetricReader
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import SimpleSpanProcessor
        from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

        self.spans = InMemorySpanExporter()
        self.tracer_provider = TracerProvider()
        self.tracer_provider.add_span_processor(SimpleSpanProcessor(self.spans))
        self.reader = InMemoryMetricReader()
        self.meter_provider = MeterProvider([self.reader])
        self.sink = telemetry.OpenTelemetry(self.tracer_provider, self.meter_provider)

    def finished(self, count: int) -> list[Any]:
        """The spans in the order of their ends, once there are as many."""

        def spans() -> tuple[Any, ...]:
            found = self.spans.get_finished_spans()
            assert len(found) <= count, [span.name for span in found]
            return found if len(found) == count else ()

        return list(wait(spans))

    def points(self) -> list[Any]:
        data = self.reader.get_metrics_data()
        if data is None:
            return []
        (metric,) = [
            metric
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
        ]
        assert metric.name == "mcp.server.operation.duration"
        assert metric.unit == "s"
        return list(metric.data.data_points)


@pytest.fixture
def collected() -> Iterator[Collected]:
    made = Collected()
    yield made
    made.tracer_provider.shutdown()
    made.meter_provider.shutdown()


def test_a_call_is_one_span_of_the_conventions(collected: Collected) -> None:
    server = adder(instrument=[collected.sink])
    server.handle(call("add", a=1, b=2))
    (span,) = collected.finished(1)
    assert span.name == "tools/call add"
    assert span.kind.name == "SERVER"
    assert span.parent is None
    assert dict(span.attributes) == {
        "mcp.method.name": "tools/call",
        "gen_ai.tool.name": "add",
        "gen_ai.operation.name": "execute_tool",
        "mcp.protocol.version": "2026-07-28",
        "jsonrpc.request.id": "7",
    }
    assert span.status.status_code.name == "UNSET"
    assert 0 < span.end_time - span.start_time < 60e9
    assert abs(span.start_time - time.time_ns()) < 60e9
    (point,) = wait(collected.points)
    assert point.count == 1
    assert point.explicit_bounds == tuple(telemetry._BOUNDS)
    assert dict(point.attributes) == {
        key: value for key, value in span.attributes.items() if key != "jsonrpc.request.id"
    }


def test_the_span_is_current_around_the_handler(collected: Collected) -> None:
    tracer = collected.tracer_provider.get_tracer("test")
    server = Server("nested", instrument=[collected.sink])

    @server.tool
    def plain() -> None:
        with tracer.start_as_current_span("in plain"):
            pass

    @server.tool
    async def awaited() -> None:
        await asyncio.sleep(0)
        with tracer.start_as_current_span("in awaited"):
            await asyncio.gather(inner(), inner())

    async def inner() -> None:
        with tracer.start_as_current_span("inner"):
            await asyncio.sleep(0)

    for tool in ("plain", "awaited", "plain"):
        server.handle(call(tool))
    spans = collected.finished(8)
    by_id = {span.context.span_id: span for span in spans}
    parents = sorted((span.name, span.parent and by_id[span.parent.span_id].name) for span in spans)
    assert parents == sorted(
        [
            ("tools/call plain", None),
            ("in plain", "tools/call plain"),
            ("tools/call awaited", None),
            ("in awaited", "tools/call awaited"),
            ("inner", "in awaited"),
            ("inner", "in awaited"),
            ("tools/call plain", None),
            ("in plain", "tools/call plain"),
        ]
    )
    for span in spans:
        if span.parent:
            outer = by_id[span.parent.span_id]
            assert span.context.trace_id == outer.context.trace_id
            # A clock that is being set runs a little differently from one that counts.
            assert outer.start_time <= span.start_time + 10_000_000
            assert span.end_time <= outer.end_time + 10_000_000


def test_the_parent_is_what_the_client_says(collected: Collected) -> None:
    from opentelemetry import baggage, trace

    server = Server("child", instrument=[collected.sink])
    seen: list[Any] = []

    @server.tool
    def look() -> None:
        seen.append((trace.get_current_span().get_span_context(), dict(baggage.get_all())))

    sent = {"traceparent": PARENT, "tracestate": "a=1", "baggage": "user=ada"}
    server.handle(call("look", sent))
    server.handle(call("look"))
    first, second = collected.finished(2)
    assert first.context.trace_id == int("1" * 32, 16)
    assert first.parent.span_id == int("2" * 16, 16)
    assert first.parent.is_remote
    assert first.parent.trace_state.to_header() == "a=1"
    assert second.parent is None, "nothing of another call is left"
    assert [context.span_id for context, _ in seen] == [
        first.context.span_id,
        second.context.span_id,
    ]
    assert [given for _, given in seen] == [{"user": "ada"}, {}]
    assert "ada" not in str(dict(first.attributes))


def test_requests_that_need_no_handler_have_spans_too(collected: Collected) -> None:
    server = adder(instrument=[collected.sink])

    @server.prompt
    def greet(name: str) -> str:
        return name

    server.handle(request("tools/list", {"traceparent": PARENT}))
    server.handle(call("add", a="x", b=2))
    server.handle(request("s3cr3t"))
    server.handle(request("prompts/get", name="greet", arguments={"name": "x"}))
    server.handle({"jsonrpc": "2.0", "method": "notifications/initialized"})
    spans = {span.name: span for span in collected.finished(5)}
    assert set(spans) == {
        "tools/list",
        "tools/call add",
        "unknown",
        "prompts/get greet",
        "notifications/initialized",
    }
    assert spans["tools/list"].parent.span_id == int("2" * 16, 16)
    assert spans["tools/call add"].attributes["error.type"] == "tool_error"
    assert spans["tools/call add"].status.status_code.name == "ERROR"
    unknown = spans["unknown"]
    assert unknown.attributes["error.type"] == "-32601"
    assert unknown.attributes["rpc.response.status_code"] == "-32601"
    assert unknown.status.status_code.name == "ERROR"
    assert spans["prompts/get greet"].attributes["gen_ai.prompt.name"] == "greet"
    assert "gen_ai.operation.name" not in spans["prompts/get greet"].attributes


def test_a_tool_that_raised_is_told_from_one_that_failed_on_purpose(collected: Collected) -> None:
    server = Server("raises", instrument=[collected.sink])

    @server.tool
    def sold_out() -> None:
        raise ToolError("s3cr3t")

    @server.tool
    async def broken() -> None:
        raise LookupError("s3cr3t")

    server.handle(call("sold_out"))
    server.handle(call("broken"))
    spans = {span.name: span for span in collected.finished(2)}
    for name, raised in (("sold_out", None), ("broken", True)):
        attributes = spans[f"tools/call {name}"].attributes
        assert attributes["error.type"] == "tool_error", "as the conventions have it"
        assert attributes.get("snodo.raised") is raised
        assert "s3cr3t" not in str(dict(attributes))
        assert "LookupError" not in str(dict(attributes))


def test_a_call_out_of_time_has_one_span(collected: Collected) -> None:
    server = Server("late", instrument=[collected.sink], timeout=0.05)
    go = threading.Event()

    @server.tool
    def hold() -> None:
        go.wait(10)

    server.handle(call("hold"))
    (span,) = collected.finished(1)
    go.set()
    assert span.attributes["error.type"] == "-32603"
    sink = collected.sink
    wait(lambda: not sink._open and not sink._late and not sink._arrived)
    assert len(collected.finished(1)) == 1


def test_a_call_that_nobody_wants_any_more_has_one_span(collected: Collected) -> None:
    server = Server("left", instrument=[collected.sink])
    begun = threading.Event()

    @server.tool
    async def hold() -> None:
        begun.set()
        await asyncio.Event().wait()

    async def take(part: dict[str, Any]) -> None:
        raise AssertionError(part)

    async def leave() -> None:
        asked = asyncio.create_task(hosted(server, call("hold"), take))
        assert await asyncio.to_thread(begun.wait, 10)
        asked.cancel()
        await asyncio.wait([asked], timeout=10)

    asyncio.run(leave())
    (span,) = collected.finished(1)
    assert span.attributes["error.type"] == "cancelled"


def test_a_span_is_no_child_of_what_happens_to_be_current(collected: Collected) -> None:
    said = {"span": 1, "method": "tools/list", "transport": "direct"}
    with collected.tracer_provider.get_tracer("host").start_as_current_span("another"):
        collected.sink("snodo.server.dispatch.start", {"system_time": 1.0}, said)
        ended = {**said, "outcome": "ok"}
        collected.sink("snodo.server.dispatch.stop", {"duration": 1.0}, ended)
    span, another = collected.finished(2)
    assert (span.name, span.parent) == ("tools/list", None)
    assert another.name == "another"


def test_many_calls_at_once_have_one_span_each(collected: Collected) -> None:
    server = Server("many", instrument=[collected.sink])

    @server.tool
    def plain(number: int, context: Context) -> int:
        return number

    @server.tool
    async def awaited(number: int) -> int:
        await asyncio.sleep(0)
        return number

    def work() -> None:
        for number in range(25):
            server.handle(call("plain" if number % 2 else "awaited", number=number))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    spans = collected.finished(200)
    assert len({span.context.span_id for span in spans}) == 200
    wait(lambda: not collected.sink._open)


def test_a_tracer_that_fails_changes_nothing(
    collected: Collected, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken:
        def start_span(self, *_: Any, **__: Any) -> Any:
            raise RuntimeError("no spans today")

    collected.sink._tracer = Broken()
    server = adder(instrument=[collected.sink])
    for _ in range(2):
        answer = server.handle(call("add", a=1, b=2))
        assert answer is not None
        assert answer["result"]["structuredContent"] == 3
    wait(lambda: sum(point.count for point in collected.points()) == 2)
    wait(lambda: not collected.sink._open and not collected.sink._late)
    assert sum("no span could be begun" in record.message for record in caplog.records) == 1


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(ConfigurationError, match="pip install opentelemetry-api"):
        telemetry.OpenTelemetry()
