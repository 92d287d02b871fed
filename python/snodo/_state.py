"""`State`: what a handler keeps between the rounds of a request, carried by the client."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal

from ._definition import dumps
from ._encode import EncodeError, to_json
from ._secrets import checked_secrets
from .errors import ConfigurationError, Error

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from ._snodo import Context

    Secret: TypeAlias = bytes | str

__all__ = ["State"]

LONGEST_TTL = 900
"""Seconds that any state may live: an answer that takes longer begins anew."""

_AUTH: Any = ...
"""Says that the principal is whoever the transport verified."""


class State:
    """Seals data for ``Result.input_required(request_state=...)`` and opens it on the retry.

    What is sealed is encrypted and authenticated, and bound to the method, to the name or URI, to
    the arguments, to the principal and to a time. It may be opened more than once until then: what
    must happen once needs a record on the server.
    """

    __slots__ = ("_keys", "_ttl")

    def __init__(
        self,
        secret: Secret | Sequence[Secret | tuple[str, Secret]] | None = None,
        *,
        ttl: int = 300,
    ) -> None:
        """Take the keys.

        Args:
            secret: At least 32 bytes (a string counts in UTF-8); or 1 to 8 of them, or of ``(id,
                secret)`` pairs, the one to seal with first. None for the server's own.
            ttl: Seconds that sealed data may be opened, 1 to 900. A longer one when opening
                extends nothing.

        Raises:
            ConfigurationError: If a secret or ``ttl`` cannot hold.
        """
        if type(ttl) is not int or not 1 <= ttl <= LONGEST_TTL:
            raise ConfigurationError(
                f"State ttl must be an int of 1 to {LONGEST_TTL} seconds, not {ttl!r}"
            )
        self._ttl = ttl
        self._keys = None
        if secret is not None:
            from ._snodo import KeyRing

            self._keys = KeyRing(checked_secrets("State secret", secret))

    def __repr__(self) -> str:
        """Show what is no secret."""
        return f"State(ttl={self._ttl})"

    def seal(self, data: Any, context: Context, *, principal: Any = _AUTH) -> str:
        """Give the token to send.

        Args:
            data: A JSON value.
            context: The request it belongs to.
            principal: Who may open it, a JSON value; ``context.auth`` unless given.

        Raises:
            TypeError: If ``data`` or ``principal`` is not JSON.
            ValueError: If the token would be longer than 16 KiB.
        """
        try:
            text = dumps(to_json(data))
        except EncodeError as error:
            raise TypeError(f"request state must be JSON: {error}") from None
        return context._seal("state", text, principal_of(context, principal), self._ttl, self._keys)

    def open(self, context: Context, *, principal: Any = _AUTH) -> Any:
        """Give the data that the request brought back; None if it brought no state.

        Args:
            context: The request that may bring it.
            principal: As it was when sealed.

        Raises:
            Error: -32602 ``Invalid or expired request state``, whatever the reason.
            TypeError: If ``principal`` is not JSON.
            RuntimeError: If the state is that of ``context.ask``: a call has one or the other.
        """
        token = context.request_state
        if token is None:
            return None
        found = principal_of(context, principal)
        text = context._open("state", token, found, self._ttl, self._keys)
        if text is None:
            refuse_mixture(context, "ask", token)
            error = invalid_state()
            # A handler that catches it must not turn what a client made up into a result.
            context._refusal = error
            raise error
        return json.loads(text)


def principal_of(context: Context, principal: Any = _AUTH) -> bytes:
    """Give the JSON text of who a state belongs to."""
    try:
        return dumps(to_json(context.auth if principal is _AUTH else principal))
    except EncodeError as error:
        raise TypeError(f"the principal of a request state must be JSON: {error}") from None


def refuse_mixture(context: Context, other: Literal["ask", "state"], token: str) -> None:
    """Tell the author of a mistake that the caller cannot make: the seal would not open for it.

    Raises:
        RuntimeError: If a state that did not open is the other way's to keep one.
    """
    if context._opens(other, token, principal_of(context), LONGEST_TTL):
        raise RuntimeError(
            "context.ask and State do not mix: a call has one state, so ask with context.ask alone"
            " (context.once remembers), or write the rounds out with State alone"
        )


def invalid_state() -> Error:
    """Give the one error of every state that does not open."""
    return Error.invalid_params("Invalid or expired request state")
