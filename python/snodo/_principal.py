"""Who is at the other end of a pipe, as the environment says."""

from __future__ import annotations

from .errors import ConfigurationError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


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
