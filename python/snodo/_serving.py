"""Running a server: which transport, on which loop, with its lifespan around it.

The transports live in Rust and so do signals; this module gives them an event loop where coroutines
or a lifespan need one, and stays out of the way where nothing does.
"""

from __future__ import annotations

import sys
import threading
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from . import _streams

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator, Callable
    from contextlib import AbstractAsyncContextManager

    from ._snodo import HttpOptions, Runtime, Serving
    from ._worker import Worker

    Lifespan = Callable[[], AbstractAsyncContextManager[Any]]
    Start = Callable[[], Serving]


# How long calls may clean up when nobody runs them any more. A process that was told to end has
# little more than this, and its lifespan is still to come.
_CLEANING = 0.2


def http(
    runtime: Runtime,
    options: HttpOptions,
    *,
    worker: Worker | None = None,
    signals: bool = False,
    on_started: Callable[[str], None] | None = None,
) -> Start:
    """Prepare to serve HTTP; the result starts it."""
    signals = signals and _on_main_thread()

    def bind() -> Serving:
        return runtime.serve_http(options, worker=worker, signals=signals)

    def start() -> Serving:
        serving = _owning_signals(bind, worker is None) if signals else bind()
        if on_started is not None and serving.url is not None:
            on_started(serving.url)
        return serving

    return start


def stdio(
    runtime: Runtime,
    stdout_fd: int,
    *,
    signals: bool = False,
    on_started: Callable[[str], None] | None = None,
) -> Start:
    """Prepare to serve standard input and a duplicate of standard output; the result starts it."""
    from ._principal import environment_principal

    signals = signals and _on_main_thread()
    principal = environment_principal()

    def begin() -> Serving:
        return runtime.serve_stdio(
            input=_streams.take_stdin(), output=stdout_fd, principal=principal, signals=signals
        )

    def start() -> Serving:
        serving = _owning_signals(begin) if signals else begin()
        if on_started is not None:
            on_started("stdio")
        return serving

    return start


def usage(name: str) -> str:
    """Say what to type instead of starting a server that reads a terminal."""
    return (
        f"{name} is an MCP server that speaks over standard input and output.\n"
        f"To serve it over HTTP:    python -m snodo serve {sys.argv[0]}\n"
        f'                          or write server.run("http") in it\n'
        f"To see what it offers:    python -m snodo inspect {sys.argv[0]}"
    )


def run(runtime: Runtime, start: Start, lifespan: Lifespan | None) -> None:
    """Serve until a signal, the end of input, or a fault; block meanwhile.

    Raises:
        LifespanError: If the lifespan raises.
        OSError: If the address cannot be bound, or the transport fails.
    """
    if lifespan is None and not runtime.has_coroutines:
        # Nothing needs asyncio, so it is not even imported.
        start().wait()
        return
    import asyncio

    from . import _owned_loop

    begun = False

    def begin() -> Serving:
        nonlocal begun
        main = asyncio.current_task()
        assert main is not None, "serving begins on a task"
        if main.cancelling():
            raise asyncio.CancelledError  # Ctrl-C came while the lifespan was entered
        serving = start()
        begun = True
        if main.cancelling():
            serving.stop()
        return serving

    _owned_loop.run(serve(runtime, begin, lifespan, owned=True), lambda: begun)


async def serve(
    runtime: Runtime, start: Start, lifespan: Lifespan | None, *, owned: bool = False
) -> None:
    """Serve on the running loop until stopped, cancelled, or at the end of input.

    Args:
        runtime: The frozen server.
        start: Starts the transport.
        lifespan: Entered before that, left at the end.
        owned: Whether the loop is ours, so that nobody has a reason to cancel.

    Raises:
        ConfigurationError: If another loop runs the server's coroutines already.
        LifespanError: If the lifespan raises.
        OSError: If the address cannot be bound, or the transport fails.
    """
    import asyncio

    loop = asyncio.get_running_loop()
    if runtime.has_loop:
        from .errors import ConfigurationError

        raise ConfigurationError(
            "the server is in use on another event loop already; make a second server"
        )
    runtime.attach_loop(loop)
    try:
        async with entered(runtime, lifespan):
            try:
                await _ended(loop, start(), owned)
            finally:
                # What the lifespan gave is theirs until they are gone.
                await gone(loop, set(runtime.detach_loop(loop)), owned)
    finally:
        runtime.detach_loop(loop)


async def _ended(loop: asyncio.AbstractEventLoop, serving: Serving, owned: bool) -> None:
    import asyncio

    ended: asyncio.Future[None] = loop.create_future()

    def wait() -> None:
        error: BaseException | None = None
        try:
            serving.wait()
        except BaseException as raised:
            error = raised
        loop.call_soon_threadsafe(settle, ended, error)

    # A thread of its own: the loop's executor is the application's, and may have but one.
    threading.Thread(target=wait, name="snodo-wait", daemon=True).start()
    if owned:
        from ._owned_loop import until

        await until(ended)
        return
    try:
        await asyncio.shield(ended)
    except asyncio.CancelledError:
        serving.stop()
        await ended
        raise


async def gone(loop: asyncio.AbstractEventLoop, left: set[asyncio.Task[Any]], owned: bool) -> None:
    """Wait a moment for calls that were cancelled to clean up."""
    import asyncio

    end = loop.time() + _CLEANING
    while left and (rest := end - loop.time()) > 0:
        try:
            _, left = await asyncio.wait(left, timeout=rest)
        except asyncio.CancelledError:
            if not owned:
                raise
            from ._owned_loop import forget_cancellation

            forget_cancellation()


def settle(ended: asyncio.Future[None], error: BaseException | None) -> None:
    """Say that it has ended, on its loop."""
    if ended.cancelled():
        return  # for the second time, so that nobody waits any more
    if error is None:
        ended.set_result(None)
    else:
        ended.set_exception(error)


@asynccontextmanager
async def entered(runtime: Runtime, lifespan: Lifespan | None) -> AsyncIterator[None]:
    """Surround what is served with its lifespan, if it has one.

    Raises:
        LifespanError: If that raises.
    """
    if lifespan is None:
        yield
        return
    from ._lifespan import entered

    async with entered(lifespan) as state:
        runtime.set_state(state)
        yield


def _on_main_thread() -> bool:
    """Tell whether signals are ours to take; elsewhere they stay the main thread's."""
    return threading.current_thread() is threading.main_thread()


def _owning_signals(start: Callable[[], Serving], interrupt: bool = True) -> Serving:
    """Start a transport that handles SIGINT and SIGTERM itself, and lose no signal meanwhile.

    SIGINT only with ``interrupt``.

    Rust's handlers call the ones they find, which would raise KeyboardInterrupt in whatever runs on
    the main thread. So they find one that only takes note.
    """
    import signal

    early: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM) if interrupt else (signal.SIGTERM,):
        signal.signal(number, lambda received, _frame: early.append(received))
    serving = start()
    if early:
        serving.stop()
    return serving
