"""Who asks, and what a policy decides on: for ``Server(authenticate=...)`` and ``authorize=...``.

MCP 2026-07-28, Authorization: over HTTP every request brings its credentials, and one that brings
none that are good is answered with 401 and what would be asked for.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from hashlib import sha256
from hmac import compare_digest
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from ._callable import runner
from ._scopes import require_scopes
from ._snodo import wrong_principal
from .errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Never

__all__ = ["Component", "Refusal", "Request", "api_key", "bearer", "require_scopes"]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Never:
        """Say what is here instead of what other libraries have."""
        from ._elsewhere import missing_name

        raise missing_name(__name__, name)


@dataclass(frozen=True, slots=True)
class Component:
    """What a policy is asked about.

    Attributes:
        kind: ``tool``, ``prompt``, ``resource`` or ``resource_template``.
        name: As listed.
        uri: A resource's URI, or a template's text; None for the others.
        requested_uri: The URI asked for, where a template is read or a resource is to be watched;
            None otherwise.
        metadata: The declared ``_meta``, which cannot be changed: its lists are tuples here.
    """

    kind: Literal["tool", "prompt", "resource", "resource_template"]
    name: str
    uri: str | None = None
    requested_uri: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        """Keep what was declared from being changed."""
        object.__setattr__(self, "metadata", _frozen(self.metadata))

    def _requested(self, uri: str) -> Component:
        asked = copy(self)
        object.__setattr__(asked, "requested_uri", uri)
        return asked


def _frozen(value: Any) -> Any:
    """Give the same where nothing can be changed, however deep: every request is asked about it."""
    if isinstance(value, (dict, MappingProxyType)):
        return MappingProxyType({key: _frozen(member) for key, member in value.items()})
    if isinstance(value, (list, tuple)):
        return tuple(_frozen(entry) for entry in value)
    return value


@dataclass(frozen=True, slots=True)
class Request:
    """What is known of an HTTP request before its body is read.

    Attributes:
        method: ``POST``, ``GET`` or ``DELETE``.
        path: Without the query.
        headers: By name in lower case; the values of a repeated one joined with a comma. A byte
            that is not ASCII is the character of its number.
        peer: Address and port of the other end of the connection, which may be a proxy's; None
            where it has none.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    peer: tuple[str, int] | None = None

    def __repr__(self) -> str:
        """Show no header: some are secrets."""
        return f"<Request {self.method} {self.path}>"


_MESSAGES = {401: "Authentication required", 403: "Forbidden"}


class Refusal(Exception):
    """Says that a request may not come in: raised or returned by what authenticates.

    The client is told status, challenge and message and nothing else.
    """

    status: Literal[401, 403]
    challenge: str | None
    message: str

    def __init__(
        self,
        status: Literal[401, 403] = 401,
        challenge: str | None = "Bearer",
        message: str | None = None,
    ) -> None:
        """Say what the client is told.

        Args:
            status: 401 for somebody unknown, 403 for somebody known who may not come in.
            challenge: The ``WWW-Authenticate`` header; 401 needs one.
            message: One sentence of at most 1,000 characters; None for a plain one.

        Raises:
            TypeError: If ``challenge`` or ``message`` is no string.
            ValueError: If ``status`` is another one, the challenge cannot be a header, or the
                message is longer or has control characters.
        """
        if status not in _MESSAGES:
            raise ValueError("Refusal status must be 401 or 403")
        if challenge is not None and not isinstance(challenge, str):
            raise TypeError(f"Refusal challenge must be a string, not {type(challenge).__name__}")
        if status == 401 and challenge is None:
            raise ValueError("Refusal with status 401 needs a challenge")
        if challenge is not None and not (
            challenge.strip() and challenge.isascii() and challenge.isprintable()
        ):
            raise ValueError("Refusal challenge must be printable ASCII, as a header is")
        if message is not None and not isinstance(message, str):
            raise TypeError(f"Refusal message must be a string, not {type(message).__name__}")
        if message is not None and not (len(message) <= 1000 and message.isprintable()):
            raise ValueError("Refusal message must be one line of at most 1000 characters")
        super().__init__(status, challenge, message)
        self.status = status
        self.challenge = challenge
        self.message = _MESSAGES[status] if message is None else message

    def __str__(self) -> str:
        """Show what the client is told."""
        return f"{self.status} {self.message}"


class _Keys:
    """Looks a secret up without telling by its time which one is close: by hash, in all of them."""

    __slots__ = ("_known",)

    def __init__(self, option: str, keys: Mapping[str, Any]) -> None:
        known: list[tuple[bytes, Any]] = []
        for key, principal in keys.items():
            if not isinstance(key, str) or not key:
                raise ConfigurationError(f"{option}: every key must be a string that is not empty")
            if not key.isascii() or not key.isprintable() or key != key.strip():
                raise ConfigurationError(f"{option}: a key must be printable ASCII, as headers are")
            if (rule := wrong_principal(principal)) is not None:
                raise ConfigurationError(
                    f"{option}: a principal is wrong, of type {type(principal).__name__}: {rule}"
                )
            known.append((_hashed(key), principal))
        if not known:
            raise ConfigurationError(f"{option}: there is no key, so nobody could come in")
        self._known = tuple(known)

    def find(self, given: str) -> Any:
        """Give whose key this is; None for nobody's."""
        hashed, found = _hashed(given), None
        for known, principal in self._known:
            if compare_digest(known, hashed):
                found = principal
        return found

    def __len__(self) -> int:
        return len(self._known)


def _hashed(key: str) -> bytes:
    return sha256(key.encode("utf-8", "surrogatepass")).digest()


class _Credential:
    """A function that finds the credential of a request and whose it is."""

    __slots__ = ("_ask", "_challenge", "_find", "_label", "is_async")

    def __init__(
        self,
        label: str,
        challenge: str,
        find: Callable[[Request], str | None],
        keys: Mapping[str, Any] | Callable[[str], Any],
    ) -> None:
        self._challenge, self._find = challenge, find
        if callable(keys):
            self._ask, self.is_async = runner(keys)
            self._label = f"{label}({getattr(keys, '__name__', type(keys).__name__)})"
        elif hasattr(keys, "items"):
            known = _Keys(label, keys)
            self._ask, self.is_async = known.find, False
            self._label = f"{label}({len(known)} key{'' if len(known) == 1 else 's'})"
        else:
            raise ConfigurationError(
                f"{label} takes a dict of keys and principals, or a function of the key, not"
                f" {type(keys).__name__}"
            )

    def __call__(self, request: Request) -> Any:
        """Give the principal, or refuse; an awaitable of that if the function is a coroutine's."""
        key = self._find(request)
        if self.is_async:
            return self._awaited(key)
        principal = None if key is None else self._ask(key)
        return Refusal(401, self._challenge) if principal is None else principal

    async def _awaited(self, key: str | None) -> Any:
        principal = None if key is None else await self._ask(key)
        return Refusal(401, self._challenge) if principal is None else principal

    def __repr__(self) -> str:
        """Show no key."""
        return f"snodo.auth.{self._label}"


def bearer(
    tokens: Mapping[str, Any] | Callable[[str], Any], *, challenge: str = "Bearer"
) -> Callable[[Request], Any]:
    """Authenticate by the token in ``Authorization: Bearer <token>`` (RFC 6750).

    A request without a good token is refused with 401, and not told why. Known tokens are kept as
    hashes and compared in constant time.

    Args:
        tokens: The principal of each token; or a function of the token, plain or a coroutine, that
            gives the principal, None for nobody, or a `Refusal`.
        challenge: The ``WWW-Authenticate`` header of refusals.

    Returns:
        What ``Server(authenticate=...)`` takes.

    Raises:
        ConfigurationError: If a token or its principal cannot be one.
        ValueError: If the challenge cannot be a header.
    """
    Refusal(401, challenge)

    def find(request: Request) -> str | None:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        token = token.strip()
        return token if token and scheme.lower() == "bearer" else None

    return _Credential("bearer", challenge, find, tokens)


def api_key(
    keys: Mapping[str, Any] | Callable[[str], Any], *, header: str = "x-api-key"
) -> Callable[[Request], Any]:
    """Authenticate by a key in a header of its own.

    Known keys are kept as hashes and compared in constant time.

    Args:
        keys: The principal of each key; or a function of the key, plain or a coroutine, that gives
            the principal, None for nobody, or a `Refusal`.
        header: The header's name.

    Returns:
        What ``Server(authenticate=...)`` takes.

    Raises:
        ConfigurationError: If a key, its principal or the header's name cannot be one.
    """
    if not isinstance(header, str) or not header.replace("-", "").replace("_", "").isalnum():
        raise ConfigurationError("api_key header must be the name of a header")
    name = header.lower()

    def find(request: Request) -> str | None:
        return request.headers.get(name, "").strip() or None

    return _Credential("api_key", f'ApiKey header="{name}"', find, keys)
