"""Running a server: which transport, on which loop, with its lifespan around it.

The transports live in Rust and so do signals; this module gives them an event loop where coroutines
or a lifespan need one, and stays out of the way where nothing does.
"""

from __future__ import annotations

import io
import json
import os
import sys
import threading
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator, Callable, Sequence
    from contextlib import AbstractAsyncContextManager

    from ._snodo import Runtime, Serving

    Lifespan = Callable[[], AbstractAsyncContextManager[Any]]
    Start = Callable[[], Serving]


# One background loop, and one lifespan, however many threads ask first.
_starting = threading.Lock()

# How long calls may clean up when nobody runs them any more. A process that was told to end has
# little more than this, and its lifespan is still to come.
_CLEANING = 0.2


def handle(
    runtime: Runtime, message: dict[str, Any] | bytes | str, lifespan: Lifespan | None
) -> dict[str, Any] | None:
    """Serve one message in this process.

    Args:
        runtime: The frozen server.
        message: A JSON-RPC message, decoded or as text.
        lifespan: Entered before the first message, left when the process ends.

    Returns:
        The decoded response; None for a notification.
    """
    if isinstance(message, dict):
        message = json.dumps(message, ensure_ascii=False, allow_nan=False)
    if isinstance(message, str):
        # Unpaired surrogates are for the reader to refuse, not for the codec.
        message = message.encode("utf-8", "surrogatepass")
    if (runtime.has_coroutines or lifespan is not None) and not runtime.has_loop:
        with _starting:
            if not runtime.has_loop:  # somebody else may have been first
                _background_loop(runtime, lifespan)
    answer = runtime.handle(message)
    return None if answer is None else json.loads(answer)


def http(
    runtime: Runtime,
    *,
    host: str,
    port: int,
    path: str,
    allowed_hosts: Sequence[str] | None,
    allowed_origins: Sequence[str] | None,
    signals: bool = False,
    on_started: Callable[[str], None] | None = None,
) -> Start:
    """Prepare to serve HTTP; the result starts it."""
    signals = signals and _on_main_thread()

    def bind() -> Serving:
        return runtime.serve_http(
            host=host,
            port=port,
            path=path,
            allowed_hosts=list(allowed_hosts or ()),
            allowed_origins=list(allowed_origins or ()),
            signals=signals,
        )

    def start() -> Serving:
        serving = _owning_signals(bind) if signals else bind()
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
    signals = signals and _on_main_thread()

    def begin() -> Serving:
        return runtime.serve_stdio(input=_take_stdin(), output=stdout_fd, signals=signals)

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
        f"To see what it offers:    python -m snodo inspect {sys.argv[0]}"
    )


def take_stdout() -> int:
    """Keep standard output for ourselves: give its duplicate, and point fd 1 at stderr.

    Works for Python, C code and child processes alike, which all write to fd 1.

    Raises:
        OSError: If standard output is closed.
    """
    if sys.stdout is not None:
        sys.stdout.flush()
    ours = os.dup(1)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # It belongs to a log from here on, where half lines and encoding errors help nobody. Said
        # while it is what it was opened as: a file is asked for its position, which no pipe has.
        sys.stdout.reconfigure(line_buffering=True, errors="backslashreplace")
    try:
        os.dup2(2, 1)
    except OSError:
        # Standard error is closed: what is printed goes nowhere, rather than to the client.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)
    return ours


def _take_stdin() -> int:
    """Keep standard input for the protocol: give its duplicate, and let fd 0 be empty.

    A tool or child process that reads fd 0 would take messages away from the server.
    """
    protocol = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return protocol


def run(runtime: Runtime, start: Start, lifespan: Lifespan | None) -> None:
    """Serve until a signal, the end of input, or a fault; block meanwhile.

    Raises:
        OSError: If the address cannot be bound, or the transport fails.
    """
    if lifespan is None and not runtime.has_coroutines:
        # Nothing needs asyncio, so it is not even imported.
        start().wait()
        return
    import asyncio

    asyncio.run(serve(runtime, start, lifespan))


async def serve(runtime: Runtime, start: Start, lifespan: Lifespan | None) -> None:
    """Serve on the running loop until stopped, cancelled, or at the end of input.

    Raises:
        ConfigurationError: If another loop runs the server's coroutines already.
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
        async with _entered(runtime, lifespan):
            try:
                await _ended(loop, start())
            finally:
                # What the lifespan gave is theirs until they are gone.
                left = runtime.detach_loop(loop)
                if left:
                    await asyncio.wait(left, timeout=_CLEANING)
    finally:
        runtime.detach_loop(loop)


async def _ended(loop: asyncio.AbstractEventLoop, serving: Serving) -> None:
    import asyncio

    ended: asyncio.Future[None] = loop.create_future()

    def wait() -> None:
        error: BaseException | None = None
        try:
            serving.wait()
        except BaseException as raised:
            error = raised
        loop.call_soon_threadsafe(_settle, ended, error)

    # A thread of its own: the loop's executor is the application's, and may have but one.
    threading.Thread(target=wait, name="snodo-wait", daemon=True).start()
    try:
        await asyncio.shield(ended)
    except asyncio.CancelledError:
        serving.stop()
        await ended
        raise


def _settle(ended: asyncio.Future[None], error: BaseException | None) -> None:
    if error is None:
        ended.set_result(None)
    else:
        ended.set_exception(error)


@asynccontextmanager
async def _entered(runtime: Runtime, lifespan: Lifespan | None) -> AsyncIterator[None]:
    if lifespan is None:
        yield
        return
    async with lifespan() as state:
        runtime.set_state(state)
        yield


def _on_main_thread() -> bool:
    """Tell whether signals are ours to take; elsewhere they stay the main thread's."""
    return threading.current_thread() is threading.main_thread()


def _owning_signals(start: Callable[[], Serving]) -> Serving:
    """Start a transport that handles SIGINT and SIGTERM itself, and lose no signal meanwhile.

    Rust's handlers call the ones they find, which would raise KeyboardInterrupt in whatever runs on
    the main thread. So they find one that only takes note.
    """
    import signal

    early: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda received, _frame: early.append(received))
    serving = start()
    if early:
        serving.stop()
    return serving


def _background_loop(runtime: Runtime, lifespan: Lifespan | None) -> None:
    """Run coroutines on a thread of their own, where nobody has given them a loop."""
    import asyncio
    import atexit
    from concurrent.futures import Future

    ready: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()

    async def main() -> None:
        loop = asyncio.get_running_loop()
        over = asyncio.Event()
        async with _entered(runtime, lifespan):
            # Not before: a lifespan that fails leaves no loop that seems to run.
            runtime.attach_loop(loop)
            ready.set_result((loop, over))
            await over.wait()
            runtime.detach_loop(loop)

    def thread() -> None:
        try:
            asyncio.run(main())
        except BaseException as error:
            if ready.done():
                raise
            ready.set_exception(error)

    running = threading.Thread(target=thread, name="snodo-loop", daemon=True)
    running.start()
    loop, over = ready.result()

    def end() -> None:
        loop.call_soon_threadsafe(over.set)
        running.join(timeout=2)

    atexit.register(end)
