"""What tells listeners of changes: the hub of a server, and where events come from otherwise."""

from __future__ import annotations

from _thread import allocate_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from ._snodo import Hub

# One for all servers: it is held for a moment, once for each.
_making = allocate_lock()


class Announcements:
    """The changes that one server tells of."""

    def __init__(self, subscriptions: Any) -> None:
        """Take the option: whether there are any, a hub of several servers, or a source."""
        self._subscriptions = subscriptions
        self._own: Hub | None = None

    def hub(self) -> Hub:
        """Give the hub: the one the server was given, or its own, made when first asked for."""
        from ._snodo import Hub

        if isinstance(self._subscriptions, Hub):
            return self._subscriptions
        with _making:
            if self._own is None:
                self._own = Hub()
        return self._own

    def source(self) -> Any:
        """Give what the events of subscriptions come from; None if there are no subscriptions."""
        if isinstance(self._subscriptions, bool):
            return self.hub() if self._subscriptions else None
        return self._subscriptions

    def tell(self, lists: Iterable[str]) -> None:
        """Tell whoever listens that lists read otherwise: ``tools``, ``resources``, ``prompts``."""
        for name in sorted(lists):
            getattr(self.hub(), f"{name}_changed")()
