"""The options of a `Server`: what each may be, and the texts that refuse the rest."""

from __future__ import annotations

from .errors import ConfigurationError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, Literal

PROTOCOLS = ("2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Revisions a server can speak, newest first."""

_VALIDATORS = ("full", "basic", "passthrough")


class Cache:
    """How long a client may keep a list or a read, and who may share it."""

    __slots__ = ("scope", "ttl_ms")

    ttl_ms: int
    scope: Literal["private", "public"]

    def __init__(self, *, ttl_ms: int = 0, scope: Literal["private", "public"] = "private") -> None:
        """Take the policy.

        Args:
            ttl_ms: Milliseconds; 0 means stale at once.
            scope: ``private`` for the caller alone, ``public`` for anybody.

        Raises:
            ConfigurationError: If either is something else.
        """
        if type(ttl_ms) is not int or not 0 <= ttl_ms < 1 << 53:
            raise ConfigurationError("Cache ttl_ms must be an int of zero or more")
        if scope not in ("private", "public"):
            raise ConfigurationError('Cache scope must be "private" or "public"')
        object.__setattr__(self, "ttl_ms", ttl_ms)
        object.__setattr__(self, "scope", scope)

    def __setattr__(self, name: str, value: object) -> None:
        """Refuse: a policy is frozen."""
        raise AttributeError("Cache is frozen")

    def __eq__(self, other: object) -> bool:
        """Compare both parts."""
        if not isinstance(other, Cache):
            return NotImplemented
        return (self.ttl_ms, self.scope) == (other.ttl_ms, other.scope)

    def __hash__(self) -> int:
        """Hash both parts."""
        return hash((self.ttl_ms, self.scope))

    def __reduce__(self) -> tuple[Any, ...]:
        """Let it be copied."""
        from functools import partial

        return partial(Cache, ttl_ms=self.ttl_ms, scope=self.scope), ()

    def __repr__(self) -> str:
        """Show as written."""
        return f"Cache(ttl_ms={self.ttl_ms}, scope={self.scope!r})"


def text(option: str, value: Any) -> str:
    """Check a string."""
    if not isinstance(value, str):
        raise ConfigurationError(f"Server {option} must be a string, not {type(value).__name__}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ConfigurationError(f"Server {option} holds a lone surrogate") from None
    return str.__str__(value)


def checked_version(value: Any) -> str:
    """Check a version; what reads like a sentence stands where others take instructions."""
    version = text("version", value)
    if len(version.split()) > 1 and not any(map(str.isdigit, version)):
        raise ConfigurationError(
            "Server version is a sentence without a number: write instructions=... for what the"
            " model reads"
        )
    return version


def count(option: str, value: Any) -> int:
    """Check an int above zero."""
    if type(value) is not int or not 0 < value < 1 << 53:
        raise ConfigurationError(f"Server {option} must be an int above zero, not {_shown(value)}")
    return value


def seconds(option: str, value: Any) -> float:
    """Check a time."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not 0 < value < float("inf"):
        raise ConfigurationError(
            f"Server {option} must be a number of seconds above zero, not {_shown(value)}"
        )
    return float(value)


def switch(option: str, value: Any) -> bool:
    """Check a boolean."""
    if not isinstance(value, bool):
        raise ConfigurationError(f"Server {option} must be a boolean, not {kind_of(value)}")
    return value


def checked_sinks(value: Any) -> tuple[Any, ...]:
    """Check who is told of events."""
    if callable(value) or not hasattr(value, "__iter__") or isinstance(value, (str, bytes)):
        raise ConfigurationError("Server instrument must be a list of sinks: [sink]")
    sinks = tuple(value)
    if not sinks:
        return ()
    from inspect import iscoroutinefunction, signature

    from ._policy import refuse_uncalled

    for sink in sinks:
        refuse_uncalled("instrument", sink)
        if not callable(sink) or isinstance(sink, type):
            raise ConfigurationError(
                "Server instrument has a sink that is no callable"
                f" (name, measurements, metadata): {kind_of(sink)}"
            )
        called = getattr(type(sink), "__call__", None)  # noqa: B004 - what it is, not whether
        if iscoroutinefunction(sink) or iscoroutinefunction(called):
            raise ConfigurationError(
                "Server instrument has a coroutine function: a sink is called on a thread of its"
                " own, where nothing awaits it"
            )
        try:
            signature(sink).bind("name", {}, {})
        except TypeError:
            raise ConfigurationError(
                "Server instrument has a sink that does not take (name, measurements, metadata) by"
                " position"
            ) from None
        except ValueError:
            pass  # it tells nothing about itself
    return sinks


def _shown(value: Any) -> str:
    """Show a number as it was given, and name the type of anything else."""
    return repr(value) if isinstance(value, (int, float)) else kind_of(value)


def kind_of(value: Any) -> str:
    """Name a value's type for a message, never the value."""
    return "None" if value is None else type(value).__name__


def checked_validator(value: Any) -> Any:
    """Check a validator: a name, or an object that validates."""
    if isinstance(value, str):
        if value not in _VALIDATORS:
            raise ConfigurationError(
                f"Server validator must be one of {', '.join(_VALIDATORS)}, or an object with"
                " validate(instance, schema)"
            )
    elif isinstance(value, type) or not callable(getattr(value, "validate", None)):
        raise ConfigurationError("Server validator must have validate(instance, schema)")
    return value


def checked_subscriptions(value: Any) -> Any:
    """Check where the events of subscriptions come from."""
    if isinstance(value, bool):
        return value
    from ._snodo import Hub

    if isinstance(value, Hub):
        return value
    if isinstance(value, type) and hasattr(value, "listen"):
        raise ConfigurationError(
            f"Server subscriptions must be a Source, not its class: write {value.__name__}()"
        )
    if isinstance(value, type) or not callable(getattr(value, "listen", None)):
        raise ConfigurationError(
            f"Server subscriptions must be a boolean, a Hub or a Source, not {kind_of(value)}"
        )
    from ._subscriptions import check_source

    check_source(value)
    return value


def checked_policy(
    policy: Any, caches: Mapping[str, Cache]
) -> tuple[Callable[..., Any], bool, str] | None:
    """Check an authorization policy, and that no list that it filters may be shared."""
    if policy is None:
        return None
    from ._policy import checked

    made = checked(policy)
    for option in ("tools_cache", "resources_cache", "prompts_cache"):
        if caches[option].scope == "public":
            raise ConfigurationError(
                f'Server {option} cannot use scope "public" with an authorization policy: what one'
                " caller sees another may not"
            )
    return made


def checked_authenticator(authenticate: Any) -> tuple[Callable[..., Any], bool] | None:
    """Check what says who sends an HTTP request."""
    if authenticate is None:
        return None
    from ._identity import checked

    return checked(authenticate)


def checked_cache(option: str, value: Any) -> Cache:
    """Check a cache policy."""
    if value is None:
        return Cache()
    if not isinstance(value, Cache):
        raise ConfigurationError(f"Server {option} must be a Cache(ttl_ms=, scope=)")
    return value


def refuse_unknown(unknown: Iterable[str], known: Iterable[str]) -> None:
    """Refuse options that `Server` does not take, and say what may have been meant.

    Raises:
        ConfigurationError: If there is one.
    """
    from ._elsewhere import SERVER_OPTIONS, meant

    for name in unknown:
        advice = meant(name, SERVER_OPTIONS, known)
        raise ConfigurationError(f"Server has no option {name!r}{advice and f': {advice}'}")


def refuse_strange(method: str, unknown: Iterable[str], of: Callable[..., Any]) -> None:
    """Refuse options that a method which serves does not take, and say what may have been meant.

    Raises:
        ConfigurationError: If there is one.
    """
    from ._elsewhere import SERVING_OPTIONS, meant

    for name in unknown:
        advice = meant(name, SERVING_OPTIONS, of.__kwdefaults__ or ())
        said = advice and f": {advice}"
        raise ConfigurationError(f"server.{method} has no option {name!r}{said}")


def wrong_transport(transport: object) -> ConfigurationError:
    """Say which transports there are, and which one was meant."""
    advice = {
        "streamable-http": ': write "http"',
        "streamable_http": ': write "http"',
        "sse": ': write run("http", legacy_sse=True)',
    }.get(str(transport), "")
    return ConfigurationError(f'Server transport must be "stdio" or "http"{advice}')


def refuse_mixture(uds: object, host: str, port: int) -> None:
    """Refuse a Unix socket and an address together, as the command line does.

    Raises:
        ConfigurationError: If both are given.
    """
    if uds is not None and (host, port) != ("127.0.0.1", 8000):
        raise ConfigurationError("uds takes the place of host and port: give one of them")


def refuse_http(given: Mapping[str, Any], defaults: Mapping[str, Any]) -> None:
    """Refuse options of HTTP where standard input and output are served.

    Raises:
        ConfigurationError: If one is given.
    """
    for name, value in given.items():
        if value != defaults[name]:
            raise ConfigurationError(
                f'{name} is for HTTP, and this serves stdio: write server.run("http", {name}=...)'
            )


def checked_protocols(value: Any) -> tuple[str, ...]:
    """Check revisions; newest first."""
    if value is None:
        return PROTOCOLS
    wanted = (value,) if isinstance(value, str) else tuple(value)
    for revision in wanted:
        if revision not in PROTOCOLS:
            raise ConfigurationError(
                f"Server protocols has {revision!r}; there are {', '.join(PROTOCOLS)}"
            )
    if not wanted:
        raise ConfigurationError("Server protocols must name at least one revision")
    return tuple(revision for revision in PROTOCOLS if revision in wanted)


def checked_icons(icons: Any) -> list[dict[str, Any]]:
    """Check the server's icons."""
    from ._definition import Site
    from ._definition import checked_icons as checked
    from .errors import DeclarationError

    try:
        return checked(icons, Site("", ""), "server")
    except DeclarationError as error:
        raise ConfigurationError(f"Server {error.path}: {error.reason}") from None
