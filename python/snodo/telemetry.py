"""Sinks for `Server(instrument=[...])`: the standard library's log, and OpenTelemetry.

A sink is a callable that takes the name of an event, its measurements and its metadata. It is
called on a thread of its own, in the order in which things happened.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from .errors import ConfigurationError

__all__ = ["OpenTelemetry", "Sink", "flush", "logging_sink"]

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable
    from typing import Any, TypeAlias

    from opentelemetry.context import Context
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import Span, TracerProvider

    from .server import Server

    Sink: TypeAlias = Callable[[str, dict[str, Any], dict[str, Any]], object]
    """What is told of events: ``sink(name, measurements, metadata)``. What it gives is ignored."""
else:
    Sink = "Callable[[str, dict[str, Any], dict[str, Any]], object]"

_START = "snodo.server.dispatch.start"
_STOP = "snodo.server.dispatch.stop"
_EXCEPTION = "snodo.server.dispatch.exception"

# As the semantic conventions advise, in seconds.
_BOUNDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)


def flush(server: Server, timeout: float = 5.0) -> bool:
    """Wait until the sinks and the access log of a server were told of all there was so far.

    For tests, which look at what was told when a message has its answer. What other processes of
    the server tell is their own.

    Args:
        server: Whose.
        timeout: Seconds to wait at most.

    Returns:
        Whether they were in time; at once where nobody is to be told.

    Raises:
        ConfigurationError: If that is no server, or no number of seconds above zero.
        RuntimeError: If a sink calls it, which would wait for itself.
    """
    from ._supervisor import above_zero
    from .server import Server

    if not isinstance(server, Server):
        raise ConfigurationError("flush takes the server")
    seconds = above_zero("flush timeout", timeout, "seconds", int, float)
    telling = server._offering.telling
    return telling is None or telling.flush(seconds)


def logging_sink(logger: logging.Logger | str | None = None, level: int | str = "info") -> Sink:
    """Make a sink that logs each event as a line: its name and what it says, ``key=value``.

    Args:
        logger: Where to; None for the logger ``snodo.telemetry``.
        level: Of the lines, as `logging` has them.

    Raises:
        ConfigurationError: If there is no such level.
    """
    import logging

    if logger is None or isinstance(logger, str):
        logger = logging.getLogger(logger or "snodo.telemetry")
    if isinstance(level, str):
        number = logging.getLevelNamesMapping().get(level.upper())
        if number is None:
            raise ConfigurationError(f"logging_sink level {level!r} is none that logging has")
        level = number
    target, at = logger, level

    def sink(name: str, measurements: dict[str, Any], metadata: dict[str, Any]) -> None:
        if target.isEnabledFor(at):
            said = {**metadata, **measurements}
            target.log(at, "%s %s", name, " ".join(f"{key}={said[key]}" for key in said))

    return sink


class OpenTelemetry:
    """A sink that makes spans and a histogram, named by the semantic conventions for MCP.

    Each message has one span of kind ``SERVER``, which is the current one while its handler runs,
    so that what the handler begins belongs below it. Its parent is what the client says in
    ``_meta`` or in the HTTP headers. ``mcp.server.operation.duration`` counts how long messages
    took.
    """

    def __init__(
        self,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
    ) -> None:
        """Take who makes spans and instruments.

        Args:
            tracer_provider: None for the global one.
            meter_provider: None for the global one.

        Raises:
            ConfigurationError: If ``opentelemetry-api`` is not installed.
        """
        try:
            from opentelemetry import context, metrics, propagate, trace
        except ImportError:
            raise ConfigurationError(
                "OpenTelemetry needs the package opentelemetry-api: pip install opentelemetry-api"
                " opentelemetry-sdk"
            ) from None
        from . import __version__

        self._context = context
        self._trace = trace
        self._propagate = propagate
        self._tracer = trace.get_tracer("snodo", __version__, tracer_provider)
        meter = metrics.get_meter("snodo", __version__, meter_provider)
        self._duration = meter.create_histogram(
            "mcp.server.operation.duration",
            unit="s",
            description="From the arrival of an MCP request or notification to its answer.",
            explicit_bucket_boundaries_advisory=_BOUNDS,
        )
        self._lock = threading.Lock()
        # By the numbers of their messages, all of them: when they arrived, what their handlers run
        # in, and ends that came while that was being made.
        self._arrived: dict[int, float] = {}
        self._open: dict[int, Context] = {}
        self._late: dict[int, Callable[[Span], None]] = {}
        self._known: set[type[Exception]] = set()

    def __call__(self, name: str, measurements: dict[str, Any], metadata: dict[str, Any]) -> None:
        """Take an event, as every sink does."""
        self._told(name, measurements, metadata, False)

    def _told(
        self, name: str, measurements: dict[str, Any], metadata: dict[str, Any], entered: bool
    ) -> None:
        """Take an event; `entered`: a handler of the message has begun to run."""
        if name == _START:
            self._arrived[metadata["span"]] = measurements["system_time"]
        elif name in (_STOP, _EXCEPTION):
            self._finish(measurements["duration"], metadata, entered)

    def _finish(self, duration: float, metadata: dict[str, Any], entered: bool) -> None:
        key = metadata["span"]
        arrived = self._arrived.pop(key)
        failure = _failure(metadata)
        self._duration.record(duration, {**_shared(metadata), **failure})

        def finish(span: Span) -> None:
            if failure:
                span.set_attributes(failure)
                span.set_status(self._trace.StatusCode.ERROR)
            span.end(_nanoseconds(arrived + duration))

        if not entered:
            finish(self._begun(metadata, arrived, None)[0])
            return
        with self._lock:
            context = self._open.pop(key, None)
            if context is None:  # its handler is just beginning
                self._late[key] = finish
                return
        finish(self._trace.get_current_span(context))

    def _begun(
        self, metadata: dict[str, Any], arrived: float, baggage: str | None
    ) -> tuple[Span, Context]:
        sent: dict[str, str] = {
            key: metadata[key] for key in ("traceparent", "tracestate") if key in metadata
        }
        if baggage is not None:
            sent["baggage"] = baggage
        # Nothing that happens to be current on this thread is its parent.
        parent = self._propagate.extract(sent, context=self._context.Context())
        attributes = _shared(metadata)
        if "request_id" in metadata:
            attributes["jsonrpc.request.id"] = str(metadata["request_id"])
        span = self._tracer.start_span(
            _name(metadata),
            context=parent,
            kind=self._trace.SpanKind.SERVER,
            attributes=attributes,
            start_time=_nanoseconds(arrived),
        )
        return span, self._trace.set_span_in_context(span, parent)

    def _enter(self, metadata: dict[str, Any], arrived: float, baggage: str | None) -> Any:
        """Make the message's span the current one; called where its handler is about to run."""
        key = metadata["span"]
        with self._lock:
            context = self._open.get(key)
        if context is None:
            try:
                span, context = self._begun(metadata, arrived, baggage)
            except Exception as error:
                # What ends the message finds a span that takes everything and keeps nothing.
                context = self._context.Context()
                span = self._trace.get_current_span(context)
                self._complain(error)
            with self._lock:
                finish = self._late.pop(key, None)
                if finish is None:
                    self._open[key] = context
            if finish is not None:
                finish(span)
        return self._context.attach(context)

    def _complain(self, error: Exception) -> None:
        import logging

        if type(error) not in self._known:
            self._known.add(type(error))
            text = "no span could be begun; the handler runs without, and this is not logged again"
            logging.getLogger("snodo").error(text, exc_info=error)

    def _leave(self, token: Any) -> None:
        """Make current what was before; the handler's own context keeps its span."""
        self._context.detach(token)


def _nanoseconds(seconds: float) -> int:
    return round(seconds * 1e9)


def _name(metadata: dict[str, Any]) -> str:
    """Name the span by what it is about, unless that is a resource, of which there may be many."""
    method = str(metadata["method"])
    if metadata.get("component_kind") in ("tool", "prompt") and method != "completion/complete":
        return f"{method} {metadata['component']}"
    return method


def _shared(metadata: dict[str, Any]) -> dict[str, Any]:
    """Give the attributes that spans and measurements both have."""
    attributes: dict[str, Any] = {"mcp.method.name": metadata["method"]}
    kind = metadata.get("component_kind")
    if kind == "tool":
        attributes["gen_ai.tool.name"] = metadata["component"]
        attributes["gen_ai.operation.name"] = "execute_tool"
    elif kind == "prompt":
        attributes["gen_ai.prompt.name"] = metadata["component"]
    if "protocol_version" in metadata:
        attributes["mcp.protocol.version"] = metadata["protocol_version"]
    if metadata["transport"] == "http":
        attributes["network.protocol.name"] = "http"
        attributes["network.transport"] = "tcp"
    elif metadata["transport"] == "stdio":
        attributes["network.transport"] = "pipe"
    return attributes


def _failure(metadata: dict[str, Any]) -> dict[str, Any]:
    """Give the attributes of a message that failed; nothing for others."""
    if "error_code" in metadata:
        code = str(metadata["error_code"])
        return {"error.type": code, "rpc.response.status_code": code}
    kind = metadata.get("error_type") or metadata.get("kind")
    if kind == "raised":  # the conventions have one word for all that `isError` says
        return {"error.type": "tool_error", "snodo.raised": True}
    if kind is None and metadata.get("outcome") == "cancelled":
        kind = "cancelled"
    return {} if kind is None else {"error.type": kind}
