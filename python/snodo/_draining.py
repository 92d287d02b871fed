"""Generators to lists, as long as somebody waits for the list and it can be sent."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from typing import Any

from .context import _current
from .errors import ToolError

# A list is held whole before it is measured and sent as one message. This is far more than a model
# reads, and keeps a generator that forgot to end from taking all memory before its time is out.
MOST_ITEMS = 100_000

# A generator that never waits for anything would keep its event loop from everybody else.
_BEFORE_A_TURN = 100


def drained(items: Generator[Any, Any, Any]) -> list[Any]:
    """Take everything a generator gives.

    Raises:
        ToolError: If nobody waits for it any more, or there are too many items.
    """
    found: list[Any] = []
    try:
        for item in items:
            _refuse_more(found)
            found.append(item)
    finally:
        items.close()
    return found


async def drained_async(items: AsyncGenerator[Any, Any]) -> list[Any]:
    """Take everything an async generator gives, and let the loop turn meanwhile.

    Raises:
        ToolError: If nobody waits for it any more, or there are too many items.
    """
    from asyncio import sleep

    found: list[Any] = []
    try:
        async for item in items:
            _refuse_more(found)
            found.append(item)
            if len(found) % _BEFORE_A_TURN == 0:
                await sleep(0)
    finally:
        await items.aclose()
    return found


def _refuse_more(found: list[Any]) -> None:
    context = _current.get()
    if context is not None and context.cancelled:
        raise ToolError("The call was cancelled")
    if len(found) >= MOST_ITEMS:
        raise ToolError(f"The result has more than {MOST_ITEMS} items")
