"""Plain functions and coroutines of one call that wait for each other, on the lane's threads.

A call takes one thread at most: the one that waits for a coroutine runs meanwhile what that
coroutine needs a thread for. So a server with a single thread never waits for itself.
"""

from __future__ import annotations

import asyncio
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
    for its end. The function sees it as ``context.cancelled``.
    """
    return await _finished(_begun(context, function), lambda: None)


async def beside(context: Context, function: Callable[[Wait], Any]) -> Any:
    """Run a plain function on a thread, from where it can wait for coroutines of the loop.

    A cancellation cancels what it waits for.
    """
    bridge = _Bridge(asyncio.get_running_loop())
    return await _finished(_begun(context, lambda: function(bridge.wait)), bridge.cancel)


def _begun(context: Context, function: Callable[[], Any]) -> asyncio.Future[Ended]:
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Ended] = loop.create_future()
    variables = copy_context()

    def work() -> None:
        outcome: Ended
        try:
            outcome = variables.run(function), None
        except BaseException as error:
            outcome = None, error
        with suppress(RuntimeError):  # the loop is closed, so nobody waits
            loop.call_soon_threadsafe(_settle, done, outcome)

    turn = _turn.get()
    if turn is None or not turn.lend(work):
        context._on_thread(work)
    return done


def _settle(done: asyncio.Future[Ended], outcome: Ended) -> None:
    if not done.done():
        done.set_result(outcome)


async def _finished(done: asyncio.Future[Ended], cancel: Callable[[], None]) -> Any:
    try:
        await asyncio.wait({done})
    except asyncio.CancelledError:
        cancel()
        await asyncio.wait({done})
        raise
    return unfold(done.result())


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
        return unfold(turn.outcome())

    def cancel(self) -> None:
        self._cancelled = True
        for task in self._tasks:
            task.cancel()


class _Turn:
    """A thread that waits for one coroutine, and what it is lent to do meanwhile.

    All but `outcome` is called on the loop.
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

    def outcome(self) -> Ended:
        while (work := self._work.get()) is not None:
            work()
        return self._outcome
