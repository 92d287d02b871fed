"""What a server was told when it was made: who it is, and its policies.

Checks them in the order in which they are documented, and hands them to Rust as plain values. What
one option may be is said in `_options` or where its subject is.
"""

from __future__ import annotations

from . import _options
from .errors import ConfigurationError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

    from ._announcements import Announcements
    from ._extension_spec import ExtensionSpec
    from ._layers import Layer
    from ._options import Cache


class Settings:
    """The options of a `Server`, checked; they are described there."""

    def __init__(
        self,
        *,
        name: Any,
        version: Any,
        title: Any,
        description: Any,
        instructions: Any,
        website_url: Any,
        icons: Any,
        validator: Any,
        page_size: Any,
        cache: Any,
        tools_cache: Any,
        resources_cache: Any,
        prompts_cache: Any,
        discover_cache: Any,
        limits: Any,
        timeout: Any,
        threads: Any,
        debug: Any,
        protocols: Any,
        subscriptions: Any,
        secret: Any,
        heartbeat: Any,
        authorize: Any,
        conceal_refusals: Any,
        authenticate: Any,
        middleware: Any,
        extensions: Any,
        instrument: Any,
        metrics: Any,
        access_log: Any,
        frame: FrameType,
    ) -> None:
        """Take the options as they were given, at this frame.

        Raises:
            ConfigurationError: If one cannot hold.
            DeclarationError: If there is wrong middleware.
        """
        self.name = _options.text("name", name)
        if not name:
            raise ConfigurationError("Server name must not be empty")
        self.version = _options.checked_version(version)
        self.info: dict[str, Any] = {"name": self.name, "version": self.version}
        for key, option, value in (
            ("title", "title", title),
            ("description", "description", description),
            ("websiteUrl", "website_url", website_url),
        ):
            if value is not None:
                self.info[key] = _options.text(option, value)
        self.instructions = (
            None if instructions is None else _options.text("instructions", instructions)
        )
        self.validator = _options.checked_validator(validator)
        self.page_size = None if page_size is None else _options.count("page_size", page_size)
        lists = _options.checked_cache("cache", cache)
        self.caches: dict[str, Cache] = {
            option: lists if value is None else _options.checked_cache(option, value)
            for option, value in (
                ("tools_cache", tools_cache),
                ("resources_cache", resources_cache),
                ("prompts_cache", prompts_cache),
            )
        }
        self.caches["discover_cache"] = _options.checked_cache("discover_cache", discover_cache)
        self.limits = _bounded(limits)
        self.timeout = None if timeout is None else _options.seconds("timeout", timeout)
        self.threads = None if threads is None else _options.count("threads", threads)
        if not isinstance(debug, bool):
            raise ConfigurationError("Server debug must be a boolean")
        self.debug = debug
        self.protocols = _options.checked_protocols(protocols)
        self.subscriptions = _options.checked_subscriptions(subscriptions)
        self.secrets = _secrets(secret)
        self.heartbeat = None if heartbeat is None else _options.seconds("heartbeat", heartbeat)
        self.authorize = _options.checked_policy(authorize, self.caches)
        needs = getattr(authorize, "_needs", None)
        self.needs: frozenset[str] = needs if isinstance(needs, frozenset) else frozenset()
        """Names of components that `auth.require_scopes` was told of."""
        if not isinstance(conceal_refusals, bool):
            raise ConfigurationError("Server conceal_refusals must be a boolean")
        self.conceal_refusals = conceal_refusals
        self.authenticate = _options.checked_authenticator(authenticate)
        self.middleware = _layered(middleware, self.name, frame)
        self.extensions = _extended(extensions, self.protocols)
        self.instrument = _options.checked_sinks(instrument)
        self.metrics = _options.switch("metrics", metrics)
        self.access_log = _options.switch("access_log", access_log)
        if icons is not None:
            self.info["icons"] = _options.checked_icons(icons)

    def plain(self, announcements: Announcements) -> dict[str, Any]:
        """Give the policies as plain values.

        Caches are ``(ttl_ms, scope)``; times are seconds; secrets are ``(id or None, secret)``.
        """
        secrets = self.secrets
        if secrets is None:
            from ._secrets import environment_secrets

            secrets = environment_secrets()
        return {
            "server_info": dict(self.info),
            "instructions": self.instructions,
            "validator": self.validator if isinstance(self.validator, str) else "custom",
            "page_size": self.page_size,
            **{option: (cache.ttl_ms, cache.scope) for option, cache in self.caches.items()},
            "limits": dict(self.limits),
            "timeout": self.timeout,
            "threads": self.threads,
            "debug": self.debug,
            "protocols": list(self.protocols),
            "subscriptions": announcements.source(),
            "hub": announcements.hub(),
            "secret": secrets,
            "heartbeat": self.heartbeat,
            "authorize": self.authorize,
            "conceal_refusals": self.conceal_refusals,
            "authenticate": self.authenticate,
            "extensions": self.extensions,
            "instrument": self.instrument,
            "metrics": self.metrics,
            "access_log": self.access_log,
        }


def _bounded(limits: Any) -> dict[str, int | float]:
    if limits is None:
        return {}
    from ._limits import checked_limits

    return checked_limits(limits)


def _secrets(secret: Any) -> list[tuple[str | None, bytes]] | None:
    if secret is None:
        return None
    from ._secrets import checked_secrets

    return checked_secrets("Server secret", secret)


def _layered(middleware: Any, name: str, frame: FrameType) -> tuple[Layer, ...]:
    if middleware == ():
        return ()
    from . import _layers
    from ._callable import frame_location
    from ._definition import Site

    return _layers.declared(middleware, Site(frame_location(frame), f"server {name!r}"))


def _extended(extensions: Any, protocols: tuple[str, ...]) -> list[ExtensionSpec]:
    if isinstance(extensions, (tuple, list)) and not extensions:
        return []
    from ._extension_spec import specs

    return specs(extensions, protocols)
