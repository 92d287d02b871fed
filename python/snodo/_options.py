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

# Names and kinds of `limits.rs`; times are in seconds here.
_COUNTS = (
    "body_bytes",
    "line_bytes",
    "json_depth",
    "integer_digits",
    "id_bytes",
    "cursor_bytes",
    "head_bytes",
    "connections",
    "streams",
    "running",
    "queued",
    "result_bytes",
    "input_rounds",
    "batch",
    "sessions",
    "replay_events",
    "replay_bytes",
)
_TIMES = (
    "head_timeout",
    "authenticate_timeout",
    "body_timeout",
    "write_timeout",
    "eof_timeout",
    "drain_timeout",
    "keep_alive_interval",
    "session_idle",
    "answer_timeout",
)


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
        raise ConfigurationError(f"Server {option} must be a boolean, not {_kind_of(value)}")
    return value


def checked_sinks(value: Any) -> tuple[Any, ...]:
    """Check who is told of events."""
    if callable(value) or not hasattr(value, "__iter__") or isinstance(value, (str, bytes)):
        raise ConfigurationError("Server instrument must be a list of sinks: [sink]")
    sinks = tuple(value)
    if not sinks:
        return ()
    from inspect import iscoroutinefunction

    for sink in sinks:
        if not callable(sink) or isinstance(sink, type):
            raise ConfigurationError(
                "Server instrument has a sink that is no callable"
                f" (name, measurements, metadata): {_kind_of(sink)}"
            )
        called = getattr(type(sink), "__call__", None)  # noqa: B004 - what it is, not whether
        if iscoroutinefunction(sink) or iscoroutinefunction(called):
            raise ConfigurationError(
                "Server instrument has a coroutine function: a sink is called on a thread of its"
                " own, where nothing awaits it"
            )
    return sinks


def _shown(value: Any) -> str:
    """Show a number as it was given, and name the type of anything else."""
    return repr(value) if isinstance(value, (int, float)) else _kind_of(value)


def _kind_of(value: Any) -> str:
    return "None" if value is None else type(value).__name__


MOST_SECRETS = 8
SECRET_BYTES = 32
_KEY_ID = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")


def checked_secrets(option: str, value: Any) -> list[tuple[str | None, bytes]]:
    """Check the secrets that state is sealed with, the current one first.

    Args:
        option: What they are called, for refusals; no secret is ever shown.
        value: A secret, or a list of secrets or of ``(id, secret)`` pairs.
    """
    if _is_pair(value):
        raise ConfigurationError(
            f"{option}: this is one (id, secret) pair: put it into a list, [(id, secret)]"
        )
    if hasattr(value, "items"):
        raise ConfigurationError(
            f"{option} must be a list, for its order counts, not {_kind_of(value)}: write"
            " [(id, secret), ...], the current one first"
        )
    items = list(value) if isinstance(value, (list, tuple)) else [value]
    if not 1 <= len(items) <= MOST_SECRETS:
        raise ConfigurationError(
            f"{option} must be a secret, or a list of 1 to {MOST_SECRETS} secrets or"
            " (id, secret) pairs"
        )
    secrets = [_secret(option, item) for item in items]
    for part, given in (
        ("identifiers", [name for name, _ in secrets if name is not None]),
        ("secrets", [secret for _, secret in secrets]),
    ):
        if len(set(given)) < len(given):
            raise ConfigurationError(f"{option}: {part} must be unique")
    return secrets


def _is_pair(value: Any) -> bool:
    """Tell a pair without its list: what stands first is an identifier, and too short a secret."""
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        return False
    first = value[0]
    return isinstance(first, str) and 0 < len(first) < SECRET_BYTES and _KEY_ID.issuperset(first)


def _secret(option: str, item: Any) -> tuple[str | None, bytes]:
    name = None
    if isinstance(item, (list, tuple)) and len(item) == 2:
        name, item = item
        if not (isinstance(name, str) and 1 <= len(name) <= 32 and _KEY_ID.issuperset(name)):
            raise ConfigurationError(
                f"{option}: identifiers must be 1 to 32 characters from A-Z, a-z, 0-9, _ and -"
            )
    if isinstance(item, str):
        item = item.encode("utf-8", "surrogatepass")
    if not isinstance(item, (bytes, bytearray)):
        raise ConfigurationError(f"{option} must be bytes or a string, not {_kind_of(item)}")
    if len(item) < SECRET_BYTES:
        raise ConfigurationError(
            f"{option} requires at least {SECRET_BYTES} bytes, for example those of"
            " secrets.token_urlsafe(32)"
        )
    return name, bytes(item)


def environment_secrets() -> list[tuple[str | None, bytes]]:
    """Give the secrets that ``SNODO_SECRET`` says, separated by commas; none if it is not set.

    Raises:
        ConfigurationError: If one cannot hold, or it is set and empty.
    """
    from os import environ

    from ._worker import shared_secret

    said = environ.get("SNODO_SECRET", shared_secret())
    if said is None:
        return []
    items = [item.strip() for item in said.split(",") if item.strip()]
    if not items:  # a template with a variable that nobody set: a key made up would hide it
        raise ConfigurationError("SNODO_SECRET is set but empty: give it a secret, or unset it")
    return checked_secrets("SNODO_SECRET", items)


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
            f"Server subscriptions must be a boolean, a Hub or a Source, not {_kind_of(value)}"
        )
    _check_source(value)
    return value


def _check_source(source: Any) -> None:
    """Check a source as far as can be told without listening to it."""
    from inspect import isasyncgenfunction, iscoroutinefunction, isgeneratorfunction

    from ._subscriptions import Source

    name = type(source).__name__
    listen, accept = source.listen, getattr(source, "accept", None)
    advice = "write it as `async def` with `yield Event...(...)` in it"
    if getattr(listen, "__func__", None) is Source.listen:
        raise ConfigurationError(f"{name}.listen is missing: {advice}")
    if isgeneratorfunction(listen):
        raise ConfigurationError(f"{name}.listen is a generator, and would hold the loop: {advice}")
    if iscoroutinefunction(listen):
        raise ConfigurationError(f"{name}.listen is a coroutine, and gives no events: {advice}")
    if accept is not None and not callable(accept):
        raise ConfigurationError(f"{name}.accept must be a method, not {_kind_of(accept)}")
    if isgeneratorfunction(accept) or isasyncgenfunction(accept):
        raise ConfigurationError(
            f"{name}.accept is a generator: return a Filter, or raise Error to refuse"
        )


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


def environment_principal() -> bytes | None:
    """Give who is at the other end of a pipe, as JSON, as ``SNODO_PRINCIPAL`` says; None if unset.

    It is a JSON object or string, or plain text.

    Raises:
        ConfigurationError: If it is set and empty, over 16 KiB or no UTF-8, or begins as an object
            and is none.
    """
    from os import environ

    said = environ.get("SNODO_PRINCIPAL")
    if said is None:
        return None
    from json import dumps, loads

    from ._snodo import PRINCIPAL_BYTES

    wrong = "SNODO_PRINCIPAL begins as a JSON object and is none"
    try:
        principal = loads(said, object_pairs_hook=_members, parse_constant=_no_number)
    except (ValueError, RecursionError):
        if said.lstrip().startswith("{"):
            raise ConfigurationError(wrong) from None
        principal = said
    if not isinstance(principal, (str, dict)):
        principal = said  # digits may well be somebody's name
    if isinstance(principal, str) and not principal.strip():  # a variable that nobody set
        raise ConfigurationError("SNODO_PRINCIPAL is set but empty: give it a name, or unset it")
    try:
        text = dumps(principal, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        raise ConfigurationError("SNODO_PRINCIPAL must be UTF-8") from None
    except ValueError:  # a number that no double holds
        raise ConfigurationError(wrong) from None
    if len(text) > PRINCIPAL_BYTES:
        raise ConfigurationError(f"SNODO_PRINCIPAL must have at most {PRINCIPAL_BYTES} bytes")
    return text


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a member is repeated")
    return members


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def checked_cache(option: str, value: Any) -> Cache:
    """Check a cache policy."""
    if value is None:
        return Cache()
    if not isinstance(value, Cache):
        raise ConfigurationError(f"Server {option} must be a Cache(ttl_ms=, scope=)")
    return value


def checked_limits(value: Any) -> dict[str, int | float]:
    """Check the limits that differ from the defaults."""
    if value is None:
        return {}
    if not hasattr(value, "items"):
        raise ConfigurationError("Server limits must be a dict of names and numbers")
    limits: dict[str, int | float] = {}
    for name, number in value.items():
        if name == "queued" and type(number) is int and number == 0:
            limits[name] = 0  # no queue: a call without a place is refused at once
        elif name in _COUNTS:
            limits[name] = count(f"limits[{name!r}]", number)
        elif name in _TIMES:
            limits[name] = seconds(f"limits[{name!r}]", number)
        else:
            raise ConfigurationError(f"Server limits has no {name!r}; {_instead(name)}")
    return limits


def refuse_unknown(unknown: Iterable[str], known: Iterable[str]) -> None:
    """Refuse options that `Server` does not take, and say what may have been meant.

    Raises:
        ConfigurationError: If there is one.
    """
    from ._elsewhere import SERVER_OPTIONS, meant

    for name in unknown:
        advice = meant(name, SERVER_OPTIONS, known)
        raise ConfigurationError(f"Server has no option {name!r}{advice and f': {advice}'}")


def wrong_transport(transport: object) -> ConfigurationError:
    """Say which transports there are, and which one was meant."""
    meant = transport in ("streamable-http", "streamable_http", "sse")
    advice = ': write "http"' if meant else ""
    return ConfigurationError(f'Server transport must be "stdio" or "http"{advice}')


def refuse_mixture(uds: object, host: str, port: int) -> None:
    """Refuse a Unix socket and an address together, as the command line does.

    Raises:
        ConfigurationError: If both are given.
    """
    if uds is not None and (host, port) != ("127.0.0.1", 8000):
        raise ConfigurationError("uds takes the place of host and port: give one of them")


def nearest(name: str, known: Iterable[str]) -> str:
    """Ask whether a name like this one was meant; empty if none is like it."""
    from difflib import get_close_matches

    near = get_close_matches(name, list(known), 1)
    return f"did you mean {near[0]!r}?" if near else ""


def _instead(name: object) -> str:
    """Say what may have been meant by the name of a limit that there is not."""
    known = sorted((*_COUNTS, *_TIMES))
    if name in ("call_timeout", "timeout", "tool_timeout", "request_timeout"):
        return "how long a call may take is said by Server(timeout=...), or by its component"
    meant = nearest(str(name), known)
    return f"{meant}{' ' if meant else ''}there are {', '.join(known)}"


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
