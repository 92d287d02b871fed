"""The secrets that state is sealed with: what they may be, and which ones the environment says."""

from __future__ import annotations

from ._options import kind_of
from .errors import ConfigurationError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

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
            f"{option} must be a list, for its order counts, not {kind_of(value)}: write"
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
        raise ConfigurationError(f"{option} must be bytes or a string, not {kind_of(item)}")
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
