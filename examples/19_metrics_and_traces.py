"""What a server tells of itself: metrics for Prometheus, an access log, events, and traces.

Nothing of it says what was sent, or by whom. Traces need a package of their own, and are left out
where it is not installed.

python examples/19_metrics_and_traces.py --check
"""

import sys
from typing import Any

from snodo import ConfigurationError, Context, Server, ToolError
from snodo.telemetry import OpenTelemetry

slow: list[str] = []


def notice_slow(name: str, measurements: dict[str, Any], metadata: dict[str, Any]) -> None:
    """A sink of your own: called on a thread of its own, it holds nothing up."""
    if name == "snodo.server.dispatch.stop" and measurements["duration"] > 0.05:
        slow.append(metadata["component"])


def sinks() -> list[Any]:
    """Give what is to be told, with OpenTelemetry where that is installed."""
    try:
        return [notice_slow, OpenTelemetry()]
    except ConfigurationError as missing:
        print(f"no traces: {missing}", file=sys.stderr)
        return [notice_slow]


server = Server("bakery", version="1.0.0", metrics=True, access_log=True, instrument=sinks())


@server.tool
def bake(loaves: int, context: Context) -> str:
    """Bake bread."""
    if loaves > 12:
        raise ToolError("the oven takes twelve loaves")
    # A span that is begun here belongs below that of the call, and this to whoever called.
    return f"{loaves} loaves, trace {context.trace.get('traceparent', 'of nobody')}"


@server.tool
async def rest(seconds: float) -> str:
    """Let the dough rest."""
    import asyncio

    await asyncio.sleep(seconds)
    return "risen"


PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def check() -> None:
    import urllib.request

    from _check import call, message, post, served

    with served(__file__) as url:
        status, answer = post(url, "bake", {"loaves": 2}, {"traceparent": PARENT})
        assert status == 200
        # The trace comes from the header, as there is none in the message.
        assert answer["result"]["content"][0]["text"] == f"2 loaves, trace {PARENT}"
        assert post(url, "bake", {"loaves": 13}, {})[1]["result"]["isError"]
        assert post(url, "knead", {}, {})[0] == 400

        with urllib.request.urlopen(url.replace("/mcp", "/metrics"), timeout=10) as scraped:
            assert scraped.headers["Content-Type"].startswith("text/plain; version=0.0.4")
            metrics = scraped.read().decode().splitlines()
        for component, outcome in (("bake", "ok"), ("bake", "tool_error"), ("", "error")):
            labels = f'method="tools/call",component="{component}",outcome="{outcome}"'
            assert f"snodo_requests_total{{{labels}}} 1" in metrics, metrics
        # What nobody registered is told by nothing but its being unknown.
        assert not any("knead" in line for line in metrics)

    call(server, "rest", seconds=0.1)
    wait_until(lambda: slow == ["rest"])
    check_traces(message)


def wait_until(over: Any) -> None:
    import time

    end = time.monotonic() + 10
    while not over():
        assert time.monotonic() < end, "it was never told"
        time.sleep(0.01)


def check_traces(message: Any) -> None:
    try:
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import SimpleSpanProcessor
        from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
    except ImportError:
        print("opentelemetry-sdk is not installed: traces are not checked", file=sys.stderr)
        return
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("bakery")
    traced = Server("traced", instrument=[OpenTelemetry(provider)])

    @traced.tool
    def knead() -> str:
        with tracer.start_as_current_span("fold"):
            return "smooth"

    traced.handle(message("tools/call", {"traceparent": PARENT}, name="knead", arguments={}))
    wait_until(lambda: len(exporter.get_finished_spans()) == 2)
    fold, called = exporter.get_finished_spans()
    assert (fold.name, called.name) == ("fold", "tools/call knead")
    assert fold.parent.span_id == called.context.span_id
    assert called.context.trace_id == int(PARENT.split("-")[1], 16)


if __name__ == "__main__":
    check() if "--check" in sys.argv else server.run()
