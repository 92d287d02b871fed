"""Other functions in the place of dependencies, within a ``with`` block."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ._callable import frame_location, local_names
from ._changes import applying
from ._components import KINDS
from ._definition import Site, kind_of
from ._injection import Fake, identity
from .errors import ConfigurationError

if TYPE_CHECKING:
    from types import FrameType, TracebackType

    from ._components import Components
    from ._composing import Fakes
    from ._offering import Offering


class Overrides:
    """What `Server.overrides` gives: a context manager that puts functions in place of others."""

    def __init__(self, offering: Offering, fakes: Any, frame: FrameType) -> None:
        """Check what was given.

        Args:
            offering: Whose components are concerned.
            fakes: What stands in for what.
            frame: Where it is written; its names may be used in annotations.

        Raises:
            DeclarationError: If it is no mapping of functions.
        """
        site = Site(frame_location(frame), f"server {offering.settings.name!r}")
        if not isinstance(fakes, Mapping):
            reason = f"must be a dict, not {kind_of(fakes)}"
            raise site.refuse("overrides", reason, "write {function: another}")
        for fake in fakes.values():
            if not callable(fake):
                reason = f"a {kind_of(fake)} cannot be called"
                raise site.refuse("overrides", reason, "write lambda: value")
        self._fakes: Fakes = {
            identity(function): Fake(fake, local_names(fake, frame))
            for function, fake in fakes.items()
        }
        self._offering = offering

    def __enter__(self) -> None:
        """Put them in place, from the next request on.

        Raises:
            ConfigurationError: If nothing depends on one of them.
            DeclarationError: If one needs what there is not.
        """
        with applying:
            self._refuse_unused()
            overrides = self._offering.composer().overrides
            overrides.append(self._fakes)
            try:
                self._offering.replace(self._offering.components)
            except BaseException:
                self._remove(overrides)
                raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take them out again."""
        with applying:
            self._remove(self._offering.composer().overrides)
            self._offering.replace(self._offering.components)

    def _remove(self, overrides: list[Fakes]) -> None:
        # Several may be equal; each block takes out its own.
        overrides[:] = [each for each in overrides if each is not self._fakes]

    def _refuse_unused(self) -> None:
        used = {key for one in _injections(self._offering.components) for key in one.plan().keys}
        for key in self._fakes:
            if key not in used:
                name = getattr(key, "__qualname__", key)
                raise ConfigurationError(f"no component of the server depends on {name}")


def _injections(components: Components) -> list[Any]:
    specs = [spec for kind in KINDS for _, spec in components.table(kind).values()]
    parts = [part for spec in specs for part in (spec, *getattr(spec, "completions", ()))]
    return [part.injection for part in parts if part.injection is not None]
