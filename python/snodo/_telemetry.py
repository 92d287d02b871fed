"""The thread that hands on what a server tells of itself: events to sinks, access lines to the log.

Nothing that is served waits for it. A sink that raises changes nothing, and is logged once for each
kind of exception.
"""

from __future__ import annotations

import atexit
import logging
import threading
import time
from typing import TYPE_CHECKING
from weakref import finalize, ref

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, TypeAlias

    from ._snodo import Feed, Runtime

    Values: TypeAlias = dict[str, Any]
    Sink: TypeAlias = Callable[[str, Values, Values], object]

_logger = logging.getLogger("snodo")

# How often the thread looks whether something is to be told that nobody rings for.
_TURN = 1.0
# How often the load is told.
_LOAD = 10.0
# How long the end of the process waits for what is still to be handed on.
_GRACE = 1.0


def start(feed: Feed, runtime: Runtime, sinks: Sequence[Sink]) -> Telling:
    """Hand on what comes out of a feed, until its server is gone or the process ends."""
    thread = threading.Thread(
        target=_Teller(feed, ref(runtime), sinks).run, name="snodo-telemetry", daemon=True
    )
    finalize(runtime, feed.close).atexit = False
    thread.start()
    telling = Telling(feed, thread)
    # Without it the thread would come back to an interpreter that is being taken down.
    atexit.register(telling.end)
    return telling


class Telling:
    """What goes on on the thread, to be waited for. Keeps no sink."""

    def __init__(self, feed: Feed, thread: threading.Thread) -> None:
        """Take the thread that hands on what comes out of this feed."""
        self._feed = feed
        self._thread = thread

    def end(self) -> None:
        """End it: waits a moment for what is still to be handed on."""
        self._feed.close()
        self._thread.join(_GRACE)

    def flush(self, seconds: float) -> bool:
        """Wait until what there is by now was handed on, and give whether it was in time.

        Raises:
            RuntimeError: If the thread itself was to wait for that.
        """
        if threading.current_thread() is self._thread:
            raise RuntimeError("flush waits for the sinks, so a sink cannot call it")
        seconds = min(seconds, threading.TIMEOUT_MAX)
        told = threading.Event()
        if self._feed.mark(told):
            return told.wait(seconds)
        self._thread.join(seconds)
        return not self._thread.is_alive()


class _Teller:
    """What one thread does."""

    def __init__(
        self, feed: Feed, runtime: Callable[[], Runtime | None], sinks: Sequence[Sink]
    ) -> None:
        self._feed = feed
        self._runtime = runtime
        self._sinks = sinks
        self._known: set[tuple[int, type[BaseException]]] = set()
        self._due = time.monotonic() + _LOAD

    def run(self) -> None:
        """Hand on until the end."""
        while (taken := self._feed.take(_TURN)) is not None:
            events, lines, dropped, lost, marks = taken
            for name, measurements, metadata, entered in events:
                self._tell(name, measurements, metadata, entered)
            if dropped:
                _logger.warning("sinks are slow: %d events were dropped", dropped)
                self._tell("snodo.telemetry.dropped", {"dropped": dropped}, {"what": "events"})
            if lines:
                _write(lines)
            if lost:
                _logger.warning("%d lines of the access log were dropped", lost)
                self._tell("snodo.telemetry.dropped", {"dropped": lost}, {"what": "access_log"})
            for mark in marks:
                mark.set()
            if self._sinks and time.monotonic() >= self._due:
                self._due = time.monotonic() + _LOAD
                if (runtime := self._runtime()) is not None:
                    self._tell("snodo.server.load", runtime.load(), {})
                del runtime

    def _tell(
        self, name: str, measurements: Values, metadata: Values, entered: bool = False
    ) -> None:
        for sink in self._sinks:
            told = getattr(sink, "_told", None)
            try:
                # What one sink does to its dicts is nothing to the next.
                if told is None:
                    sink(name, dict(measurements), dict(metadata))
                else:
                    told(name, measurements, metadata, entered)
            except BaseException as error:
                self._complain(sink, name, error)

    def _complain(self, sink: Sink, name: str, error: BaseException) -> None:
        kind = (id(sink), type(error))
        if kind not in self._known:
            self._known.add(kind)
            _logger.error(
                "a sink failed on %s; it is told of more, and this is not logged again",
                name,
                exc_info=error,
            )


def _write(lines: Sequence[str]) -> None:
    from ._logging import ACCESS, StderrHandler

    logger = logging.getLogger(ACCESS)
    if not logger.hasHandlers():
        # The application asked for the lines and nobody set up a log for them.

        logger.addHandler(StderrHandler())
        logger.setLevel(logging.INFO)
        logger.propagate = False
    if not logger.isEnabledFor(logging.INFO):
        return
    for line in lines:
        logger.handle(logging.LogRecord(ACCESS, logging.INFO, "", 0, line, None, None))
