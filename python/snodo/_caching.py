"""`cache`: a value for the same arguments, once made and given until its time is over."""

from __future__ import annotations

from _thread import allocate_lock
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Literal, NamedTuple

from ._layers import Place, Ready, Sides
from ._limiting import KeyFailed, canonical, failed_key, key_of, shortened
from ._snodo import Result

_LOOK = 0.05
"""Seconds after which a plain function that waits looks whether anybody waits for it."""

Landed = tuple[Literal["value", "error", "again"], Any]
"""What came of a call that others wait for. ``again``: it ended for reasons of its own."""

Flight = Future[Landed]


class Caching(Ready):
    """Remembers values."""

    def __init__(
        self,
        ttl: float,
        key: Callable[[Any], Any] | None,
        max_entries: int,
        clock: Callable[[], float],
    ) -> None:
        """Take the options."""
        self.ttl = ttl
        self.key = key
        self.max_entries = max_entries
        self.clock = clock

    def at(self, place: Place) -> Callable[[str], Sides]:
        """Give the layer of a place with its own memory."""
        memory = Memory(self, place)

        def of(operation: str) -> Sides:
            def plain(context: Any, arguments: Any, call_next: Any) -> Any:
                return memory.plain(memory.name(context, arguments, operation), context, call_next)

            async def late(context: Any, arguments: Any, call_next: Any) -> Any:
                return await memory.late(memory.name(context, arguments, operation), call_next)

            return Sides(plain, late)

        return of


class Turn(NamedTuple):
    """What a call does next: give a value, wait for another call, or be the one that is made."""

    landed: Landed | None
    flight: Flight | None = None
    leads: bool = False


class Memory:
    """The values of one place, and the calls under way that make one."""

    def __init__(self, options: Caching, place: Place) -> None:
        """Begin with nothing."""
        self._options = options
        self._place = place
        self._values: OrderedDict[str, tuple[float, Any]] = OrderedDict()
        self._flights: dict[str, Flight] = {}
        self._lock = allocate_lock()

    def name(self, context: Any, arguments: Any, operation: str) -> str | None:
        """Say what a value is kept under; None if the call answers a question."""
        if context.input_responses is not None or context.request_state is not None:
            return None
        try:
            whose = key_of(self._options.key or _principal, context)
        except KeyFailed as failure:
            raise failed_key(self._place, "cache", failure) from None
        return shortened(canonical([operation, context._uri, arguments, whose]))

    def plain(self, name: str | None, context: Any, call_next: Any) -> Any:
        """Give the value, waiting for it on this thread."""
        if name is None:
            return call_next()
        while True:
            landed, flight, leads = self._turn(name)
            if leads:
                try:
                    value = call_next()
                except BaseException as error:
                    self._failed(name, error)
                    raise
                return self._made(name, value)
            if landed is None and flight is not None:
                landed = _waited(flight, context)
            if landed is not None and landed[0] != "again":
                return _given(landed)

    async def late(self, name: str | None, call_next: Any) -> Any:
        """Give the value, waiting for it on the loop."""
        if name is None:
            return await call_next()
        while True:
            landed, flight, leads = self._turn(name)
            if leads:
                try:
                    value = await call_next()
                except BaseException as error:
                    self._failed(name, error)
                    raise
                return self._made(name, value)
            if landed is None and flight is not None:
                from asyncio import wrap_future

                # Running, so that a caller who leaves cannot cancel it for the others.
                landed = await wrap_future(flight)
            if landed is not None and landed[0] != "again":
                return _given(landed)

    def _turn(self, name: str) -> Turn:
        with self._lock:
            if name in self._values:
                until, value = self._values[name]
                if self._options.clock() < until:
                    self._values.move_to_end(name)
                    return Turn(("value", value))
                del self._values[name]
            flight = self._flights.get(name)
            if flight is not None:
                return Turn(None, flight)
            self._flights[name] = flight = Future()
            flight.set_running_or_notify_cancel()
            return Turn(None, flight, leads=True)

    def _made(self, name: str, value: Any) -> Any:
        keeps = _may_be_kept(value)
        with self._lock:
            flight = self._flights.pop(name)
            if keeps:
                self._values[name] = self._options.clock() + self._options.ttl, value
                self._values.move_to_end(name)
                while len(self._values) > self._options.max_entries:
                    self._values.popitem(last=False)
        # A failure is everybody's who waits; a question is for the one who is asked.
        asks = isinstance(value, Result) and value.kind == "input_required"
        flight.set_result(("again" if asks else "value", value))
        return value

    def _failed(self, name: str, error: BaseException) -> None:
        with self._lock:
            flight = self._flights.pop(name)
        shared = isinstance(error, Exception)
        flight.set_result(("error", error) if shared else ("again", None))


def _principal(context: Any) -> Any:
    return context.auth


def _may_be_kept(value: Any) -> bool:
    if isinstance(value, BaseException):
        return False  # an Error that was returned
    if not isinstance(value, Result):
        return True
    if value.kind == "raw":
        return not value.value.get("isError")
    return value.kind not in ("error", "input_required")


def _waited(flight: Flight, context: Any) -> Landed:
    while True:
        try:
            return flight.result(_LOOK)
        except TimeoutError:
            context.check_cancelled()


def _given(landed: Landed) -> Any:
    kind, value = landed
    if kind == "error":
        raise value
    return value
