"""Changes to what a server offers, collected and put in place at once."""

from __future__ import annotations

import sys
from threading import RLock
from typing import TYPE_CHECKING

from ._components import Components, specs_of
from .errors import ConfigurationError

if TYPE_CHECKING:
    from types import FrameType, TracebackType
    from typing import Any, Literal, Self

    from ._offering import Offering

# One for all servers: changes are rare, and what is done under it is short. Objects that go with
# the old components may run code of their own, and that may change something too.
applying = RLock()


class Changes:
    """What `Server.changes` gives: a context manager that applies on leaving, all or nothing."""

    def __init__(self, offering: Offering) -> None:
        """Begin with no change."""
        self._offering = offering
        self._steps: list[tuple[str, Any, Any]] = []
        self._open = False
        self._done = False
        self.changed: set[str] = set()
        """After the block: which of the lists read otherwise, ``tools``, ``resources``,
        ``prompts``."""

    def add(self, *definitions: Any) -> None:
        """Add components, whatever `Server.add` takes. Wrong ones are refused here already.

        Raises:
            DeclarationError: If one cannot be what it says it is.
            ConfigurationError: If one is no component.
        """
        self._refuse_closed()
        frame: FrameType = sys._getframe(1)
        for definition in definitions:
            # As if nothing were there: what is removed in this block may be added again.
            for kind, spec in specs_of(definition, Components(), frame):
                self._steps.append((kind, definition, spec))

    def remove(self, kind: Literal["tool", "resource", "prompt"], name: str) -> None:
        """Remove a component by its name; of a resource, the name and not the URI.

        That there is one is checked on leaving the block.
        """
        self._refuse_closed()
        self._steps.append((kind, name, None))

    def __enter__(self) -> Self:
        if self._open or self._done:
            raise ConfigurationError("a set of changes is used once: call server.changes() again")
        self._open = True
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Put the changes in place, unless the block raised.

        Raises:
            ConfigurationError: If the whole cannot hold; then nothing has changed.
        """
        self._open, self._done = False, True
        if kind is not None:
            return
        while True:
            before = self._offering.components
            # Without the lock: templates may be asked whether they match, and may ask back.
            after = self._stepped(before.copy())
            with applying:
                if self._offering.components is before:
                    self._offering.replace(after)
                    break
        self.changed = after.changed(before)
        self._offering.tell(self.changed)

    def _stepped(self, components: Components) -> Components:
        for kind, what, spec in self._steps:
            if spec is None:
                components.remove(kind, what)
            else:
                components.register(kind, what, spec)
        return components

    def _refuse_closed(self) -> None:
        if not self._open:
            raise ConfigurationError(
                "changes are collected within `with server.changes() as changes:`"
            )
