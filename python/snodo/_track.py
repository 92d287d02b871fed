"""`context.track`: report how far a loop is, and leave it when nobody waits any more."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Sized
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ._definition import kind_of

if TYPE_CHECKING:
    from ._snodo import Context

T = TypeVar("T")


class Track(Generic[T]):
    """The items of a loop, watched. To be looped over once, with ``for`` or ``async for``."""

    __slots__ = ("_context", "_items", "_message", "_total")

    def __init__(
        self,
        context: Context,
        items: Iterable[T] | AsyncIterable[T],
        total: float | None,
        message: str | None,
    ) -> None:
        """Take the items; ``total`` is their number where they know it themselves.

        Raises:
            TypeError: If there is nothing to loop over.
        """
        _refuse_unlooped(items)
        if total is None and isinstance(items, Sized):
            with suppress(Exception):  # a length that there is not, or is beyond counting
                total = len(items)
        self._context = context
        self._items = items
        self._total = total
        self._message = message

    def __iter__(self) -> Iterator[T]:
        """Give each item and report it once it is done with.

        Raises:
            TypeError: If the items can only be had with ``async for``.
            Cancelled: If nobody waits for the answer any more.
        """
        if isinstance(self._items, AsyncIterable) and not isinstance(self._items, Iterable):
            raise TypeError("these items come asynchronously: write `async for`")
        return self._plain(iter(self._items))

    def __aiter__(self) -> AsyncIterator[T]:
        """The same for ``async for``, over items of either kind."""
        return self._late()

    def _plain(self, items: Iterator[T]) -> Iterator[T]:
        self._context.check_cancelled()
        for done, item in enumerate(items, 1):
            yield item
            self._report(done)

    async def _late(self) -> AsyncIterator[T]:
        if not isinstance(self._items, AsyncIterable):
            for item in self:
                yield item
            return
        self._context.check_cancelled()
        done = 0
        async for item in self._items:
            yield item
            done += 1
            self._report(done)

    def _report(self, done: int) -> None:
        self._context.progress(done, self._total, self._message)
        self._context.check_cancelled()


def _refuse_unlooped(items: Any) -> None:
    # iter() takes sequences of old as well, which no abstract class knows.
    if isinstance(items, (Iterable, AsyncIterable)) or hasattr(items, "__getitem__"):
        return
    if isinstance(items, int):
        raise TypeError(f"track takes what can be looped over, not an int: range({items!r})?")
    if callable(items):
        raise TypeError("track takes what can be looped over, not a function: call it?")
    raise TypeError(f"track takes what can be looped over, not {kind_of(items)}")


def track(
    context: Context,
    items: Iterable[T] | AsyncIterable[T],
    total: float | None = None,
    message: str | None = None,
) -> Track[T]:
    """Watch a loop; what ``context.track`` does."""
    return Track(context, items, total, message)
