"""`cache`: a value for the same arguments, once made and given until its time is over."""

from __future__ import annotations

from _thread import allocate_lock
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from copy import copy, deepcopy
from typing import Any, Literal, NamedTuple

from ._layers import Place, Ready, Sides
from ._limiting import KeyFailed, canonical, failed_key, key_of, shortened
from ._snodo import Result

_LOOK = 0.05
"""Seconds after which a plain function that waits looks whether anybody waits for it."""

Landed = tuple[Literal["kept", "value", "error", "again"], Any]
"""What came of a call that others wait for. ``kept``: a value that is copied for each of them.
``again``: it is of no use to others."""

Flight = Future[Landed]


class Caching(Ready):
    """Remembers values."""

    name = "cache"

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
                return await memory.late(
                    memory.name(context, arguments, operation), context, call_next
                )

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
        return shortened(canonical([operation, context._uri, context._argument, arguments, whose]))

    def plain(self, name: str | None, context: Any, call_next: Any) -> Any:
        """Give the value, waiting for it on this thread."""
        if name is None:
            return call_next()
        while True:
            landed, flight, leads = self._turn(name)
            if leads:
                try:
                    value = call_next()
                    self._made(name, self._landed(context, value))
                except BaseException as error:
                    self._failed(name, error)
                    raise
                return value
            if landed is None and flight is not None:
                landed = _waited(flight, context)
            if landed is not None and landed[0] != "again":
                return _given(landed)

    async def late(self, name: str | None, context: Any, call_next: Any) -> Any:
        """Give the value, waiting for it on the loop."""
        if name is None:
            return await call_next()
        while True:
            landed, flight, leads = self._turn(name)
            if leads:
                try:
                    value = await call_next()
                    self._made(name, self._landed(context, value))
                except BaseException as error:
                    self._failed(name, error)
                    raise
                return value
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
                    return Turn(("kept", value))
                del self._values[name]
            flight = self._flights.get(name)
            if flight is not None:
                return Turn(None, flight)
            self._flights[name] = flight = Future()
            flight.set_running_or_notify_cancel()
            return Turn(None, flight, leads=True)

    def _landed(self, context: Any, value: Any) -> Landed:
        """Say what a value is to others; what is kept is a copy that nobody else has."""
        if not self._would_send(context, value):
            # A failure is everybody's who waits; a question is for the one who is asked.
            may_ask = isinstance(value, Result) and value.kind in ("input_required", "wire")
            return "again" if may_ask else "value", value
        try:
            return "kept", deepcopy(value)
        except Exception:
            return "value", value

    def _would_send(self, context: Any, value: Any) -> bool:
        shape = None if context.method == "completion/complete" else self._place.shape
        try:
            return bool(context._would_send(value if shape is None else shape(value)))
        except Exception:
            return False

    def _made(self, name: str, landed: Landed) -> None:
        until = self._options.clock() + self._options.ttl
        with self._lock:
            flight = self._flights.pop(name)
            if landed[0] == "kept":
                self._values[name] = until, landed[1]
                self._values.move_to_end(name)
                while len(self._values) > self._options.max_entries:
                    self._values.popitem(last=False)
        flight.set_result(landed)

    def _failed(self, name: str, error: BaseException) -> None:
        with self._lock:
            flight = self._flights.pop(name)
        shared = isinstance(error, Exception)
        failed = error, error.__traceback__
        flight.set_result(("error", failed) if shared else ("again", None))


def _principal(context: Any) -> Any:
    return context.auth


def _waited(flight: Flight, context: Any) -> Landed:
    while True:
        try:
            return flight.result(_LOOK)
        except TimeoutError:
            context.check_cancelled()


def _given(landed: Landed) -> Any:
    kind, value = landed
    if kind == "error":
        # A traceback grows each time that its exception is raised: each raises one of their own.
        error, trace = value
        raise _copied(error).with_traceback(trace)
    return deepcopy(value) if kind == "kept" else value


def _copied(error: Any) -> Any:
    """Give an equal exception; itself where its arguments are not what it is made of."""
    try:
        twin = copy(error)
    except Exception:
        return error
    if type(twin) is not type(error) or twin.args != error.args:
        return error
    twin.__cause__, twin.__context__ = error.__cause__, error.__context__
    twin.__suppress_context__ = error.__suppress_context__
    return twin
