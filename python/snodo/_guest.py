"""A server on the event loop of somebody else: there before its first call, gone with the loop."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from concurrent.futures import Future
from contextvars import Context
from typing import TYPE_CHECKING

from ._serving import entered, gone

if TYPE_CHECKING:
    from ._serving import Lifespan
    from ._snodo import Runtime


# Seconds between two looks at a loop that stands still.
_PAUSE = 0.01


class Guest:
    """One server's coroutines and its lifespan, on the loop that asks first.

    A task of ours on that loop enters the lifespan and waits. The end of the host's own lifespan
    ends it; a host that tells nobody of its end cancels it with every other task of its loop.
    """

    def __init__(self, runtime: Runtime, lifespan: Lifespan | None) -> None:
        self._runtime = runtime
        self._lifespan = lifespan
        self._lock = threading.Lock()
        self._stay: _Stay | None = None

    @property
    def lives(self) -> bool:
        """Whether some loop runs the coroutines."""
        stay = self._stay
        return self._runtime.has_loop and (stay is None or stay.loop.is_running())

    async def begin(self) -> None:
        """Return once some loop runs the coroutines, and the lifespan has been entered.

        Raises:
            LifespanError: If the lifespan raises. It is tried again the next time.
            RuntimeError: If it has been entered on a loop that stands still.
        """
        pauses = 50
        while not self.lives:
            with self._lock:
                stay = self._stay
                if stay is None or stay.loop.is_closed() or stay.over.is_set():
                    if stay is not None:
                        stay.forget(self._runtime)
                    stay = self._stay = _Stay(self._runtime, self._lifespan)
            if not stay.loop.is_running() and not stay.loop.is_closed():
                if pauses:  # it may be about to end, in steps of which each runs it again
                    pauses -= 1
                    await asyncio.sleep(_PAUSE)
                    continue
                raise RuntimeError(
                    "the server's coroutines and its lifespan are on an event loop that was used"
                    " before and stands still now: close that loop, or use the application on one"
                    " loop only (with pytest, by one loop scope for all that uses it)"
                )
            await asyncio.shield(asyncio.wrap_future(stay.begun))

    async def end(self) -> None:
        """Leave the lifespan and the loop, if it is the running one.

        Raises:
            LifespanError: If the lifespan raises.
        """
        stay = self._stay
        if stay is not None and stay.loop is asyncio.get_running_loop():
            stay.over.set()
            await asyncio.wait([stay.task])
            if not stay.task.cancelled():
                stay.task.result()


class _Stay:
    """From the attachment to a loop to its end."""

    def __init__(self, runtime: Runtime, lifespan: Lifespan | None) -> None:
        self.loop = asyncio.get_running_loop()
        self.begun: Future[None] = Future()
        self.over = asyncio.Event()
        # What the request that comes first has in its context is not that of all others.
        self.task = self.loop.create_task(self._stay(runtime, lifespan), context=Context())

    async def _stay(self, runtime: Runtime, lifespan: Lifespan | None) -> None:
        cancelled: asyncio.CancelledError | None = None
        try:
            async with entered(runtime, lifespan):
                runtime.attach_loop(self.loop)
                self.begun.set_result(None)
                try:
                    await self.over.wait()
                except asyncio.CancelledError as error:
                    cancelled = error  # the end of the loop, which is no fault of the lifespan
                    self.over.set()
                left = set(runtime.detach_loop(self.loop))
                runtime.refuse_calls()
                await gone(self.loop, left, owned=False)
        except BaseException as error:
            if self.begun.done():
                raise
            self.over.set()
            self.begun.set_exception(error)
        finally:
            self.over.set()
        if cancelled is not None:
            raise cancelled

    def forget(self, runtime: Runtime) -> None:
        """Let go of a loop that was closed under us."""
        if not self.task.done():
            with contextlib.suppress(RuntimeError):
                runtime.detach_loop(self.loop)
