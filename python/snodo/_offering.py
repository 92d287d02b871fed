"""What a server offers, and the runtime that does: made at first use, frozen from then on.

Only a whole offer takes the place of another. Never looks into a function, or at a transport.
"""

from __future__ import annotations

import atexit
from _thread import allocate_lock
from _weakref import ref

from . import _options
from ._announcements import Announcements
from ._components import KINDS, Components
from .errors import ConfigurationError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._composing import Composer
    from ._settings import Settings
    from ._signature import ToolSpec
    from ._snodo import Runtime
    from ._telemetry import Telling


class Offering:
    """The components of one server under its settings."""

    def __init__(self, settings: Settings) -> None:
        """Begin with no component."""
        self.settings = settings
        self.announcements = Announcements(settings.subscriptions)
        self.components = Components()
        self.loopless = False
        """Whether it is served where nobody runs an event loop."""
        self.telling: Telling | None = None
        """Tells sinks and access log, once there is a runtime and anything to tell."""
        self._frozen = False
        self._composer: Composer | None = None
        self._made: Runtime | None = None
        self._bare: Runtime | None = None
        self._making = allocate_lock()

    def runtime(self, threads: int | None = None, debug: bool = False) -> Runtime:
        """Give the frozen server, made at the first call.

        Raises:
            ConfigurationError: If it cannot be made, or is there and was to be made otherwise.
        """
        with self._making:
            if self._made is not None:
                if threads is not None or debug:
                    raise self._in_use("give threads and debug to Server")
                return self._made
            from ._snodo import Runtime

            settings, offered = self.freeze()
            if threads is not None:
                settings["threads"] = _options.count("threads", threads)
            settings["debug"] = settings["debug"] or debug
            self._made = Runtime(settings, offered)
            names = {spec.name for specs in offered.values() for spec in specs}
            if missing := self.settings.needs - names:
                from ._report import needs_nobody

                needs_nobody(sorted(missing))
            if self._made.feed is not None:
                from . import _telemetry

                self.telling = _telemetry.start(
                    self._made.feed, self._made, self.settings.instrument
                )
            # A call that still runs when the interpreter is taken down would abort the process.
            atexit.register(_end_threads, ref(self._made))
            return self._made

    def listing(self) -> Runtime:
        """Give a runtime that lists everything without asking any of the application's code.

        A policy may need a principal, and a loop; so may what extensions put around requests.
        """
        extensions = self.settings.extensions
        if self.settings.authorize is None and not extensions:
            return self.runtime()
        if self._bare is None:
            from ._snodo import Runtime

            settings, offered = self.freeze()
            settings |= {"authorize": None, "instrument": [], "metrics": False, "access_log": False}
            settings["extensions"] = [one._replace(around=None) for one in extensions]
            self._bare = Runtime(settings, offered)
        return self._bare

    def watch(self, metrics: bool, access_log: bool) -> None:
        """Serve metrics and write access lines too, if these say so.

        Raises:
            ConfigurationError: If the server is in use already.
        """
        settings = self.settings
        if (metrics and not settings.metrics) or (access_log and not settings.access_log):
            if self._made is not None:
                raise self._in_use("give metrics and access_log to Server")
            settings.metrics = settings.metrics or metrics
            settings.access_log = settings.access_log or access_log

    def refuse_frozen(self) -> None:
        """Refuse what would add something to a server in use.

        Raises:
            ConfigurationError: If this is one.
        """
        if self._frozen:
            raise self._in_use(
                "add everything before it is served, or within `with server.changes() as changes:`"
            )

    def freeze(self) -> tuple[dict[str, Any], dict[str, list[Any]]]:
        """Let nothing be added any more, and give what the runtime is made of.

        Settings, and the specs of each list: ``tools``, ``resources`` (templates among them) and
        ``prompts``.
        """
        self._frozen = True
        return self.settings.plain(self.announcements), self.offered(self.components)

    def replace(self, components: Components) -> None:
        """Offer these components instead, from the next request on.

        Raises:
            ConfigurationError: If they cannot be offered together; then nothing has changed.
        """
        offered = self.offered(components)
        if self._made is not None:
            if self.loopless and _needs_loop(offered):
                # It began to serve without coroutines, so nobody runs a loop.
                from . import _direct

                _direct.background_loop(self._made, None)
                self.loopless = False
            self._made.replace(offered)
        self.components = components

    def tell(self, lists: set[str]) -> None:
        """Tell whoever listens that lists read otherwise."""
        if self._made is not None:
            self.announcements.tell(lists)

    def offered(self, components: Components) -> dict[str, list[Any]]:
        """Give the specs by list, tools held to the application's own validator if there is one."""
        plain = self._composer is None and not self.settings.middleware
        if plain and not _has_middleware(components):
            offered: dict[str, list[Any]] = {
                f"{kind}s": [spec for _, spec in components.table(kind).values()] for kind in KINDS
            }
        else:
            offered = self.composer().composed(components)
        return {**offered, "tools": self._held(offered["tools"])}

    def composer(self) -> Composer:
        """Give what puts middleware around components, made when there first is any."""
        if self._composer is None:
            from ._composing import Composer

            self._composer = Composer(self.settings.middleware)
        return self._composer

    def tools(self) -> list[ToolSpec]:
        """Give the tools as they were declared, held to the application's own validator."""
        return self._held([spec for _, spec in self.components.tools.values()])

    def counts(self) -> str:
        """Say how many components there are of each kind."""
        counts = [(kind, len(self.components.table(kind))) for kind in KINDS]
        return ", ".join(
            f"{count} {kind}{'' if count == 1 else 's'}"
            for kind, count in counts
            if count or kind == "tool"
        )

    def _held(self, specs: list[ToolSpec]) -> list[ToolSpec]:
        """Give tools that are held to the application's own validator if there is one."""
        validator = self.settings.validator
        if isinstance(validator, str):
            return specs
        from ._validator import held

        return [held(spec, validator) for spec in specs]

    def _in_use(self, advice: str) -> ConfigurationError:
        return ConfigurationError(f"Server {self.settings.name!r} is in use already: {advice}")


def _has_middleware(components: Components) -> bool:
    return any(spec.middleware for kind in KINDS for _, spec in components.table(kind).values())


def _needs_loop(offered: dict[str, list[Any]]) -> bool:
    specs = [spec for specs in offered.values() for spec in specs]
    return any(
        part.is_async for spec in specs for part in (spec, *getattr(spec, "completions", ()))
    )


def _end_threads(runtime: ref[Runtime]) -> None:
    alive = runtime()
    if alive is not None:
        alive.end_threads(0.5)
