"""An event loop of our own, which goes on whatever the tasks on it throw or stop."""

from __future__ import annotations

import asyncio
import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ._report import stray

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

_GOES_ON = "in a task or callback of the event loop; the server goes on"


def run(main: Coroutine[Any, Any, None], serving: Callable[[], bool]) -> None:
    """Run a coroutine to its end on a new loop.

    `SystemExit` and `KeyboardInterrupt` leave a loop at once, whichever task raises them, and any
    code on it may stop it. While ``serving`` only the end of ``main`` counts: the rest is logged.
    """
    runner = asyncio.Runner()
    try:
        loop = runner.get_loop()
        task = loop.create_task(main)
        with _interruptible(loop, task):
            _finish(loop, task, serving)
    finally:
        try:
            runner.close()
        except (Exception, SystemExit) as error:
            stray(error, "in a task at the end of the event loop")


@contextmanager
def _interruptible(loop: asyncio.AbstractEventLoop, main: asyncio.Task[None]) -> Iterator[None]:
    """Let Ctrl-C cancel the task, and a second one interrupt whatever runs, as `asyncio.run` does.

    Signals that somebody else handles, or comes to handle, stay theirs.
    """
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    ):
        yield
        return
    interrupted = False

    def interrupt(_number: int, _frame: object) -> None:
        nonlocal interrupted
        if interrupted or main.done():
            raise KeyboardInterrupt
        interrupted = True
        main.cancel()
        loop.call_soon_threadsafe(lambda: None)  # wakes it up

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    except asyncio.CancelledError:
        if interrupted:
            raise KeyboardInterrupt from None
        raise
    finally:
        if signal.getsignal(signal.SIGINT) is interrupt:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _finish(
    loop: asyncio.AbstractEventLoop, main: asyncio.Task[None], serving: Callable[[], bool]
) -> None:
    while True:
        try:
            loop.run_until_complete(main)
            return
        except BaseException as error:
            if main.done():
                break
            if not serving():
                _give_up(loop, main)
                raise
            stray(error, _GOES_ON)
    if main.cancelled() and serving():
        stray(asyncio.CancelledError(), "while the lifespan ended")
        return
    main.result()


def _give_up(loop: asyncio.AbstractEventLoop, main: asyncio.Task[None]) -> None:
    """Let what was entered so far clean up; a second interruption ends that too."""
    main.cancel()
    try:
        loop.run_until_complete(main)
    except (Exception, asyncio.CancelledError):
        return


async def until(future: asyncio.Future[None]) -> None:
    """Wait for a future, whoever cancels the task that waits."""
    while not future.done():
        try:
            await asyncio.shield(future)
        except asyncio.CancelledError:
            forget_cancellation()
    future.result()


def forget_cancellation() -> None:
    """Go on as if the running task had not been cancelled, and log that it was."""
    task = asyncio.current_task()
    if task is not None:
        task.uncancel()
    stray(asyncio.CancelledError(), _GOES_ON)
