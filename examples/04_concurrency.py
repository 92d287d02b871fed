"""Slow work, side by side: coroutines on one event loop, plain functions on threads.

Also: state made once per process (`lifespan`), a deadline for one tool, and noticing that the
client has gone.

python examples/04_concurrency.py --check
"""

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from snodo import Context, Server

server = Server("kitchen", version="1.0.0")


@server.lifespan
@asynccontextmanager
async def kitchen(server: Server) -> AsyncIterator[dict[str, int]]:
    """Open before the first request, closed after the last; its value is `context.state`."""
    pans = {"free": 4}
    yield pans
    pans.clear()


@server.tool
async def boil(minutes: float, context: Context) -> str:
    """Boil an egg. Waits without holding a thread."""
    await asyncio.sleep(minutes / 100)
    return f"Boiled {minutes:g} minutes in one of {context.state['free']} pans."


@server.tool
def fry(minutes: float, context: Context) -> str:
    """Fry an egg. Blocks its thread, and nobody else."""
    end = time.monotonic() + minutes / 100
    while time.monotonic() < end:
        if context.cancelled:  # a plain function cannot be stopped from outside
            return "Nobody is waiting for this egg any more."
        time.sleep(0.005)
    return f"Fried {minutes:g} minutes."


@server.tool(timeout=0.2)
async def roast() -> str:
    """Roast a goose, which takes longer than this tool may."""
    await asyncio.sleep(60)
    return "never"


def check() -> None:
    from concurrent.futures import ThreadPoolExecutor

    from _check import call, request

    assert (
        call(server, "boil", minutes=3)["content"][0]["text"]
        == "Boiled 3 minutes in one of 4 pans."
    )

    # Thirty eggs of 0.1 s each: one after another they would take three seconds.
    began = time.monotonic()
    with ThreadPoolExecutor(30) as pool:
        jobs = [pool.submit(call, server, tool, minutes=10) for tool in ("boil", "fry") * 15]
        results = [job.result() for job in jobs]
    assert not any(result["isError"] for result in results)
    assert time.monotonic() - began < 2.5

    late = request(server, "tools/call", name="roast", arguments={})
    assert late["error"]["code"] == -32603, late


if __name__ == "__main__":
    check() if "--check" in sys.argv else server.run()
