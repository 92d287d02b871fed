"""Ways onto event loops from Rust, and how a coroutine waits for an actor."""

from __future__ import annotations

from _thread import allocate_lock
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from ._snodo import Door

if TYPE_CHECKING:
    import asyncio

    from ._snodo import Pending

_doors: WeakKeyDictionary[asyncio.AbstractEventLoop, Door] = WeakKeyDictionary()
_opening = allocate_lock()


def door_of(loop: asyncio.AbstractEventLoop) -> Door:
    """Give the way onto the running loop, made when first asked for."""
    with _opening:
        door = _doors.get(loop)
        if door is None:
            door = _doors[loop] = Door(loop)
        return door


async def awaited(pending: Pending) -> Any:
    """Wait until something is known, on the running loop."""
    import asyncio

    wait = pending._stand()
    if wait is None:
        return None
    loop = asyncio.get_running_loop()
    future = loop.create_future()
    try:
        if pending._watch(door_of(loop), future):
            await future
    finally:
        wait.over()
    return pending.result()
