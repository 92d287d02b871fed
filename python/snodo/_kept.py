"""What was too long for a result, kept for a time, and the template it is read by."""

from __future__ import annotations

import sys
from _thread import allocate_lock
from collections import OrderedDict
from collections.abc import Callable
from secrets import token_urlsafe
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from ._limiting import canonical
from .context import current_context
from .errors import Error

if TYPE_CHECKING:
    from ._signature import ResourceSpec

TEMPLATE = "kept://responses/{id}"
MOST_BYTES = 64 << 20
"""Bytes of all texts together; the oldest go first."""
MOST_ENTRIES = 1_000
"""Texts that are kept; the oldest go first."""


class Entry(NamedTuple):
    """One text."""

    until: float
    whose: str
    text: str
    mime_type: str
    size: int


class Kept:
    """The texts of one server. Each is for the caller who got its link."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        """Begin with nothing."""
        self._clock = clock
        self._entries: OrderedDict[str, Entry] = OrderedDict()
        self._bytes = 0
        self._lock = allocate_lock()
        self.spec = _spec(self.read)

    def keep(self, context: Any, text: str, mime_type: str, size: int, seconds: float) -> str:
        """Keep a text, and give the URI that it is read at."""
        name = token_urlsafe(16)
        now = self._clock()
        entry = Entry(now + seconds, canonical(context.auth), text, mime_type, size)
        with self._lock:
            for other in [key for key, one in self._entries.items() if one.until <= now]:
                self._drop(other)
            self._entries[name] = entry
            self._bytes += size
            while self._bytes > MOST_BYTES or len(self._entries) > MOST_ENTRIES:
                self._drop(next(iter(self._entries)))
        return TEMPLATE.replace("{id}", name)

    def read(self, id: str) -> dict[str, Any]:
        """Give the contents.

        Raises:
            Error: -32602 if there are none for this caller, or no more.
        """
        context = current_context()
        with self._lock:
            entry = self._entries.get(id)
        if entry is None or entry.until <= self._clock() or entry.whose != canonical(context.auth):
            raise Error.resource_not_found(TEMPLATE.replace("{id}", id))
        return {"mimeType": entry.mime_type, "text": entry.text}

    def _drop(self, name: str) -> None:
        self._bytes -= self._entries.pop(name).size


def _spec(read: Callable[[str], dict[str, Any]]) -> ResourceSpec:
    from ._resource_spec import ResourceOptions, resource_spec
    from ._snodo import Result

    def kept(id: str) -> Any:
        return Result.resource_read([read(id)])

    options = ResourceOptions(
        uri=TEMPLATE,
        name="kept-response",
        description="The whole of a result that was shortened, for as long as its link says.",
    )
    return resource_spec(kept, options, sys._getframe())
