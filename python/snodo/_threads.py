"""Plain functions and coroutines of one call that wait for each other, on the lane's threads.

A call takes one thread at most: the one that waits for a coroutine runs meanwhile what that
coroutine needs a thread for. So a server with a single thread never waits for itself.
"""

from __future__ import annotations

import asyncio
from _thread import allocate_lock
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from contextvars import ContextVar, copy_context
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from .errors import Cancelled

if TYPE_CHECKING:
    from ._snodo import Context

Ended = tuple[Any, BaseException | None]
"""What came of something: its value, or what it raised."""

Wait = Callable[[Callable[[], Coroutine[Any, Any, Any]]], Any]
"""Runs a coroutine on the loop while the calling thread waits for its value."""

_turn: ContextVar[_Turn | None] = ContextVar("snodo.turn", default=None)


async def ended(make: Callable[[], Awaitable[Any]]) -> Ended:
    """Wait for the end, whatever it is. In a task, `SystemExit` would end the loop."""
    try:
        return await make(), None
    except BaseException as error:
        return None, error


def unfold(outcome: Ended) -> Any:
    """Give the value, or raise what was raised."""
    value, error = outcome
    if error is None:
        return value
    try:
        raise error
    finally:
        del error, outcome  # the traceback holds this frame


async def on_thread(context: Context, function: Callable[[], Any]) -> Any:
    """Run a plain function on a thread while the loop turns.

    A function that runs outlives a cancellation, and so does what it was given: the first one waits
    for its end, and the function sees it as ``context.cancelled``. One that waits for a thread is
    not run any more.
    """
    return await _Errand(function).run(context, lambda: None)


async def beside(context: Context, function: Callable[[Wait], Any]) -> Any:
    """Run a plain function on a thread, from where it can wait for coroutines of the loop.

    A cancellation cancels what it waits for.
    """
    bridge = _Bridge(asyncio.get_running_loop())
    return await _Errand(lambda: function(bridge.wait)).run(context, bridge.cancel)


class _Errand:
    """A plain function on its way to a thread, and what came of it on its way back."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self._function = function
        self._variables = copy_context()
        self._loop = asyncio.get_running_loop()
        self._done: asyncio.Future[Ended] = self._loop.create_future()
        # Taken once: by the thread that begins, or by who takes it back before.
        self._token = allocate_lock()

    async def run(self, context: Context, cancel: Callable[[], None]) -> Any:
        turn = _turn.get()
        if turn is None or not turn.lend(self._work):
            context._on_thread(self._work)
        try:
            await asyncio.wait({self._done})
        except asyncio.CancelledError:
            if self._token.acquire(blocking=False):
                raise
            cancel()
            await asyncio.wait({self._done})
            raise
        return unfold(self._taken())

    def _work(self) -> None:
        if not self._token.acquire(blocking=False):
            return
        outcome: Ended
        try:
            outcome = self._variables.run(self._function), None
        except BaseException as error:
            outcome = None, error
        with suppress(RuntimeError):  # the loop is closed, so nobody waits
            self._loop.call_soon_threadsafe(self._settle, outcome)

    def _taken(self) -> Ended:
        done = self._done
        del self._done  # an error holds the frames that hold this
        return done.result()

    def _settle(self, outcome: Ended) -> None:
        if not self._done.done():
            self._done.set_result(outcome)


class _Bridge:
    """From a thread to the loop and back."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._tasks: set[asyncio.Task[Ended]] = set()
        self._cancelled = False

    def wait(self, make: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        turn = _Turn()
        before = _turn.set(turn)
        variables = copy_context()
        _turn.reset(before)

        def start() -> None:
            if self._cancelled:
                return turn.end((None, Cancelled()))
            task = self._loop.create_task(ended(make), context=variables)
            self._tasks.add(task)
            task.add_done_callback(finish)
            turn.begin()

        def finish(task: asyncio.Task[Ended]) -> None:
            self._tasks.discard(task)
            turn.end((None, Cancelled()) if self._cancelled or task.cancelled() else task.result())

        self._loop.call_soon_threadsafe(start)
        return unfold(turn.taken())

    def cancel(self) -> None:
        self._cancelled = True
        for task in self._tasks:
            task.cancel()


class _Turn:
    """A thread that waits for one coroutine, and what it is lent to do meanwhile.

    All but `taken` is called on the loop.
    """

    def __init__(self) -> None:
        self._work: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._open = False
        self._outcome: Ended = (None, None)

    def begin(self) -> None:
        self._open = True

    def lend(self, work: Callable[[], None]) -> bool:
        if self._open:
            self._work.put(work)
        return self._open

    def end(self, outcome: Ended) -> None:
        self._open = False
        self._outcome = outcome
        self._work.put(None)

    def taken(self) -> Ended:
        while (work := self._work.get()) is not None:
            work()
        # Not kept: an error holds the frames that hold this.
        outcome, self._outcome = self._outcome, (None, None)
        return outcome
