"""One message in this process, and a loop in the background for coroutines that have none."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

from ._serving import entered, settle

if TYPE_CHECKING:
    import asyncio

    from ._serving import Lifespan
    from ._snodo import Runtime

# One background loop, and one lifespan, however many threads ask first.
_starting = threading.Lock()


def handle(
    runtime: Runtime,
    message: dict[str, Any] | bytes | str,
    lifespan: Lifespan | None,
    auth: Any = None,
) -> dict[str, Any] | None:
    """Serve one message in this process.

    Args:
        runtime: The frozen server.
        message: A JSON-RPC message, decoded or as text.
        lifespan: Entered before the first message, left when the process ends.
        auth: Who sends it, as a JSON value.

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
                background_loop(runtime, lifespan)
    principal = None if auth is None else json.dumps(auth, allow_nan=False).encode()
    answer = runtime.handle(message, principal)
    return None if answer is None else json.loads(answer)


def background_loop(runtime: Runtime, lifespan: Lifespan | None) -> None:
    """Run coroutines on a thread of their own, where nobody has given them a loop.

    It ends with the process, or before that with the server, unless this has a lifespan.
    """
    import asyncio
    import atexit
    from concurrent.futures import Future
    from contextlib import nullcontext
    from weakref import finalize, ref

    from . import _owned_loop

    ready: Future[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = Future()
    # The thread lets go of it, so that nothing but the server holds it.
    given = [runtime]

    async def main() -> None:
        loop = asyncio.get_running_loop()
        over: asyncio.Future[None] = loop.create_future()
        held = given.pop()
        async with nullcontext() if lifespan is None else entered(held, lifespan):
            # Not before: a lifespan that fails leaves no loop that seems to run.
            held.attach_loop(loop)
            served = ref(held)
            del held
            ready.set_result((loop, over))
            await _owned_loop.until(over)
            alive = served()
            if alive is not None:
                alive.detach_loop(loop)

    def thread() -> None:
        try:
            _owned_loop.run(main(), ready.done)
        except BaseException as error:
            if ready.done():
                raise
            ready.set_exception(error)

    running = threading.Thread(target=thread, name="snodo-loop", daemon=True)
    running.start()
    loop, over = ready.result()

    def collected() -> None:
        atexit.unregister(end)
        loop.call_soon_threadsafe(settle, over, None)

    finalizer = finalize(runtime, collected)
    finalizer.atexit = False

    def end() -> None:
        finalizer.detach()
        loop.call_soon_threadsafe(settle, over, None)
        running.join(timeout=2)

    atexit.register(end)
