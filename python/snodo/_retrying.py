"""`retry`: another try, for what raised an exception that may not come again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._layers import Place, Ready, Sides

_LOOK = 0.05
"""Seconds after which a plain function that waits looks whether anybody waits for it."""


class Retry(Ready):
    """Calls again; it has no state."""

    name = "retry"

    def __init__(
        self, attempts: int, on: tuple[type[Exception], ...], backoff: Callable[[int], float]
    ) -> None:
        """Take the options."""
        self._attempts = attempts
        self._on = on
        self._backoff = backoff

    def at(self, place: Place) -> Callable[[str], Sides]:
        """Give the layer."""
        sides = Sides(self._plain, self._late)
        return lambda operation: sides

    def _plain(self, context: Any, arguments: Any, call_next: Any) -> Any:
        for made in range(1, self._attempts):
            try:
                return call_next()
            except self._on:
                _sleep(context, self._backoff(made))
        return call_next()

    async def _late(self, context: Any, arguments: Any, call_next: Any) -> Any:
        from asyncio import sleep

        for made in range(1, self._attempts):
            try:
                return await call_next()
            except self._on:
                pass
            await sleep(self._backoff(made))
        return await call_next()


def _sleep(context: Any, seconds: float) -> None:
    from time import monotonic, sleep

    end = monotonic() + seconds
    context.check_cancelled()
    while (rest := end - monotonic()) > 0:
        sleep(min(rest, _LOOK))
        context.check_cancelled()
