"""Ask the client which files and directories the user works on. Deprecated by the protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._answer import InputRequest, Root

if TYPE_CHECKING:
    import builtins

__all__ = ["Root", "list"]


def list() -> InputRequest[builtins.list[Root]]:
    """Ask for the roots; the answer's value is the list of them.

    The client must have declared ``roots``; otherwise the request ends with -32021.
    """
    return InputRequest("roots/list", None, _read, check=False)


def _read(response: dict[str, Any]) -> builtins.list[Root]:
    return [Root(root["uri"], root.get("name")) for root in response["roots"]]
