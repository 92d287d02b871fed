"""A server for transport tests: tools that echo, wait, and tell what happened to them."""

import asyncio
import sys
import time

from snodo import Context, Server

server = Server("echo", version="1.0.0")


@server.tool
def echo(text: str = "") -> str:
    """Give the text back."""
    return text


@server.tool
def size(text: str) -> str:
    """Count the characters."""
    return str(len(text))


@server.tool
def big(characters: int) -> str:
    """Make a long text."""
    return "x" * characters


@server.tool
async def pause(seconds: float) -> str:
    """Wait in a coroutine."""
    print("pause begins", file=sys.stderr, flush=True)
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        print("pause cancelled", file=sys.stderr, flush=True)
        raise
    return "awake"


@server.tool
def block(seconds: float, context: Context) -> str:
    """Wait in a thread, looking up from time to time."""
    print("block begins", file=sys.stderr, flush=True)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if context.cancelled:
            print("block cancelled", file=sys.stderr, flush=True)
            return "stopped"
        time.sleep(0.01)
    return "awake"


@server.tool
def stubborn(seconds: float) -> str:
    """Wait in a thread and look at nothing."""
    print("stubborn begins", file=sys.stderr, flush=True)
    time.sleep(seconds)
    return "awake"
