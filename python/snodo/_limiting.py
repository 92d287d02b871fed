"""The layers that say no: `timeout`, `concurrency`, `rate_limit`; and what tells callers apart."""

from __future__ import annotations

import json
from _thread import allocate_lock
from collections.abc import Callable
from heapq import heappop, heappush, heapreplace
from typing import Any, NamedTuple, Protocol

from ._layers import Place, Ready, Sides

_LONGEST_KEY = 256
"""Characters of a key that are kept as they are; of a longer one a digest."""


class KeyFailed(Exception):
    """A key function raised, or gave what no key can be."""


def key_of(function: Callable[[Any], Any] | None, context: Any) -> str:
    """Give the key of a call; the same for all where there is no function.

    Raises:
        KeyFailed: If the function raises, or gives what is not JSON.
    """
    if function is None:
        return ""
    try:
        return shortened(canonical(function(context)))
    except Exception as error:
        raise KeyFailed from error


def canonical(value: Any) -> str:
    """Write JSON so that equal values are equal texts.

    Raises:
        TypeError: If it is not JSON.
        ValueError: If it is not JSON.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def shortened(text: str) -> str:
    """Give a text of bounded length for one of any."""
    if len(text) <= _LONGEST_KEY:
        return text
    from hashlib import sha256

    return sha256(text.encode()).hexdigest()


def failed_key(place: Place, what: str, failure: KeyFailed) -> Exception:
    """Log why a key failed, and give the refusal."""
    from ._report import report

    report(place.kind.capitalize(), place.component, failure.__cause__ or failure)
    return place.refusal(f"Component {what} key failed")


MOST_GIVEN_UP = 32
"""Calls of one place that were given up and still run: with so many, others are refused."""


class Timeout(Ready):
    """Waits for so long."""

    name = "timeout"

    def __init__(self, seconds: float) -> None:
        """Take the time."""
        self.seconds = seconds

    def at(self, place: Place) -> Callable[[str], Sides]:
        """Give the layer of a place."""
        sides = Sides(late=Patience(self.seconds, place).late)
        return lambda operation: sides


class Patience:
    """The calls of one place that take too long."""

    def __init__(self, seconds: float, place: Place) -> None:
        """Begin with none."""
        self._seconds = seconds
        self._place = place
        self._given_up: set[Any] = set()

    async def late(self, context: Any, arguments: Any, call_next: Any) -> Any:
        """Wait for the end, or for the end of the time."""
        import asyncio

        from ._threads import ended, unfold

        if len(self._given_up) >= MOST_GIVEN_UP:
            raise self._place.refusal("Component timeout worker unavailable")
        task = asyncio.ensure_future(ended(call_next))
        try:
            await asyncio.wait({task}, timeout=self._seconds)
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait({task})
            raise
        if task.done():
            try:
                return unfold(task.result())
            finally:
                del task  # it holds the error that holds this frame
        # Not waited for: a plain function may take as long as it likes.
        task.cancel()
        self._given_up.add(task)
        task.add_done_callback(self._given_up.discard)
        raise self._place.refusal("Component timed out")


class Concurrency(Ready):
    """Counts what runs."""

    name = "concurrency"

    def __init__(self, limit: int, key: Callable[[Any], Any] | None) -> None:
        """Take the options."""
        self.limit = limit
        self.key = key

    def at(self, place: Place) -> Callable[[str], Sides]:
        """Give the layer of a place with its own counts."""
        running = Running(self, place)
        sides = Sides(running.plain, running.late)
        return lambda operation: sides


class Running:
    """How many calls of one place run, by key. A key that none has is forgotten."""

    def __init__(self, options: Concurrency, place: Place) -> None:
        """Begin with none."""
        self._options = options
        self._place = place
        self._counts: dict[str, int] = {}
        self._lock = allocate_lock()

    def plain(self, context: Any, arguments: Any, call_next: Any) -> Any:
        """Count one call."""
        key = self._take(context)
        try:
            return call_next()
        finally:
            self._release(key)

    async def late(self, context: Any, arguments: Any, call_next: Any) -> Any:
        """Count one call."""
        key = self._take(context)
        try:
            return await call_next()
        finally:
            self._release(key)

    def _take(self, context: Any) -> str:
        try:
            key = key_of(self._options.key, context)
        except KeyFailed as failure:
            raise failed_key(self._place, "concurrency", failure) from None
        with self._lock:
            count = self._counts.get(key, 0)
            if count < self._options.limit:
                self._counts[key] = count + 1
                return key
        raise self._place.refusal("Component concurrency limit reached")

    def _release(self, key: str) -> None:
        with self._lock:
            left = self._counts.pop(key) - 1
            if left:
                self._counts[key] = left


class Allowed(NamedTuple):
    """What a law says to a call."""

    allowed: bool
    state: Any
    """What the law has to be told the next time."""


class Law(Protocol):
    """When calls of one caller may begin."""

    def judge(self, state: Any, now: float) -> Allowed:
        """Say whether a call may begin; ``state`` is None for the first."""

    def ends(self, state: Any) -> float:
        """Say from when on a state is worth nothing; of a caller never earlier than before."""


class Window:
    """So many calls from the first one on, for so long."""

    def __init__(self, limit: int, window: float) -> None:
        """Take the numbers."""
        self._limit = limit
        self._window = window

    def judge(self, state: Any, now: float) -> Allowed:
        """Count within the window, or begin another."""
        began, count = (now, 0) if state is None or self.ends(state) <= now else state
        allowed = count < self._limit
        return Allowed(allowed, (began, count + allowed))

    def ends(self, state: Any) -> float:
        """Say when the window has passed."""
        return float(state[0] + self._window)


class Bucket:
    """The generic cell rate algorithm: each call takes an equal part of the time.

    The state is when the next call would be due if calls came evenly.
    """

    def __init__(self, limit: int, window: float, burst: int) -> None:
        """Take the numbers."""
        self._part = window / limit
        # Sums of parts are not exact: a call on time must not be a rounding ahead of it.
        self._slack = self._part * (burst - 1 + 1e-6)

    def judge(self, state: Any, now: float) -> Allowed:
        """Allow a call that is not ahead of its time by more than the burst."""
        due = now if state is None else max(state, now)
        if due - now > self._slack:
            return Allowed(False, state)
        return Allowed(True, due + self._part)

    def ends(self, state: Any) -> float:
        """Say when the bucket is full again."""
        return float(state)


class Rate(Ready):
    """Counts what begins."""

    name = "rate_limit"

    def __init__(
        self,
        law: Law,
        max_keys: int,
        key: Callable[[Any], Any] | None,
        clock: Callable[[], float],
    ) -> None:
        """Take the options."""
        self.law = law
        self.max_keys = max_keys
        self.key = key
        self.clock = clock

    def at(self, place: Place) -> Callable[[str], Sides]:
        """Give the layer of a place with its own counts."""
        callers = Callers(self, place)
        sides = Sides(callers.plain, callers.late)
        return lambda operation: sides


class Callers:
    """What the law of one place knows of each key."""

    def __init__(self, options: Rate, place: Place) -> None:
        """Begin with nobody."""
        self._options = options
        self._place = place
        self._states: dict[str, Any] = {}
        # Of each key a time when it does not end before: most who come to find no room are refused
        # at a glance.
        self._ends: list[tuple[float, str]] = []
        self._lock = allocate_lock()

    def plain(self, context: Any, arguments: Any, call_next: Any) -> Any:
        """Go on, or refuse."""
        self._admit(context)
        return call_next()

    async def late(self, context: Any, arguments: Any, call_next: Any) -> Any:
        """Go on, or refuse."""
        self._admit(context)
        return await call_next()

    def _admit(self, context: Any) -> None:
        try:
            key = key_of(self._options.key, context)
        except KeyFailed as failure:
            raise failed_key(self._place, "rate", failure) from None
        with self._lock:
            refusal = self._refusal(key, self._options.clock())
        if refusal is not None:
            raise self._place.refusal(refusal)

    def _refusal(self, key: str, now: float) -> str | None:
        law = self._options.law
        known = self._states.get(key)
        if known is None and len(self._states) >= self._options.max_keys:
            self._forget(now)
            if len(self._states) >= self._options.max_keys:
                return "Component rate key capacity reached"
        allowed, state = law.judge(known, now)
        self._states[key] = state
        if known is None:
            heappush(self._ends, (law.ends(state), key))
        return None if allowed else "Component rate limit reached"

    def _forget(self, now: float) -> None:
        """Drop everybody whose time is over."""
        while self._ends and self._ends[0][0] <= now:
            key = self._ends[0][1]
            end = self._options.law.ends(self._states[key])
            if end <= now:
                heappop(self._ends)
                del self._states[key]
            else:
                heapreplace(self._ends, (end, key))
