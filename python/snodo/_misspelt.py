"""Names that look like ones which mean something, and are not.

A misspelt member of the application's class does nothing, and nobody would hear of it. Only what
can hardly be meant otherwise is found: whoever derives from a class may add members of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

# Shorter names are one letter away from too many words.
_LONG = 7

# What makes another word of one: `completed` is not `complete`, nor `descriptor` `description`.
_ENDINGS = ("s", "es", "e", "d", "ed", "er", "or", "ing", "ion")


def misspelt(
    cls: type, base: type, known: Iterable[str], used: Container[str] = ()
) -> tuple[str, str] | None:
    """Find a member that a class adds to its base and that looks like a known one.

    Args:
        cls: The class.
        base: What it derives from; what stands between the two is looked at as well.
        known: The names that mean something.
        used: Members that do something, whatever they are called.

    Returns:
        The member and the name that was meant; None if there is none.
    """
    names = tuple(known)
    for one in cls.__mro__:
        if one in base.__mro__:
            continue
        for member in vars(one):
            if member.startswith("_") or member in names or member in used or member.isupper():
                continue  # in capitals it is a constant of the class
            meant = _meant(member, names)
            if meant is not None:
                return member, meant
    return None


def nearest(name: str, known: Iterable[str]) -> str:
    """Ask whether a name like this one was meant; empty if none is like it."""
    from difflib import get_close_matches

    near = get_close_matches(name, list(known), 1)
    return f"did you mean {near[0]!r}?" if near else ""


def _meant(member: str, known: tuple[str, ...]) -> str | None:
    for name in known:
        if _letters(member) == _letters(name) or f"{member}s" == name:
            return name
    long = [name for name in known if len(name) >= _LONG and _may_be(member, name)]
    if not long:
        return None
    from difflib import get_close_matches

    near = get_close_matches(member, long, 1, 0.85)
    return near[0] if near else None


def _may_be(member: str, name: str) -> bool:
    """Tell in no time what is worth a closer look. Another form of a word is a name of its own."""
    alike = member[:1] == name[0] and abs(len(member) - len(name)) <= 2
    return alike and not _is_form(member, name)


def _is_form(member: str, name: str) -> bool:
    return any(
        member.endswith(ending)
        and any(name == member.removesuffix(ending) + other for other in ("", *_ENDINGS))
        for ending in _ENDINGS
    )


def _letters(name: str) -> str:
    return name.replace("_", "").lower()
