"""What `Tool`, `Resource` and `Prompt` have in common: a definition that is written as a class."""

from __future__ import annotations

from functools import partial
from inspect import getattr_static
from typing import TYPE_CHECKING, Any

from ._callable import frame_location
from ._definition import Site
from ._misspelt import misspelt
from .errors import ConfigurationError

if TYPE_CHECKING:
    from types import FrameType


def site_of_class(
    cls: Any, base: type, method: str, first: str, frame: FrameType, *, abstract: bool
) -> Site | None:
    """Note where a class is written, and give that if the class is to be checked.

    Args:
        cls: The class.
        base: What it derives from.
        method: What it has to override.
        first: What that takes beside the context.
        frame: Where it is written.
        abstract: Whether only other classes derive from it.

    Raises:
        DeclarationError: If it has no name or not the method, or a member is misspelt.
    """
    cls.__snodo_where__ = frame_location(frame)
    if abstract:
        return None
    site = Site(cls.__snodo_where__, f"{base.__name__.lower()} {cls.__qualname__!r}")
    if not hasattr(cls, "name"):
        raise site.refuse("name", "is missing", 'write name = "..." in the class')
    if getattr(cls, method) is getattr(base, method):
        advice = f"write def {method}(self, {first}, context) in the class"
        raise site.refuse(method, "is missing", advice)
    members = dict.fromkeys([*base.__annotations__, *vars(base)])
    wrong = misspelt(cls, base, [name for name in members if not name.startswith("_")])
    if wrong is not None:
        member, meant = wrong
        advice = f"did you mean {meant}? Otherwise call it something else"
        raise site.refuse(member, "means nothing", advice)
    return site


def site_of_object(definition: Any, kind: str, wrong_name: str) -> Site:
    """Give where the class of an object is written.

    Raises:
        ConfigurationError: If the object has no name, in these words.
    """
    cls, name = type(definition), getattr(definition, "name", None)
    if not isinstance(name, str) or not name:
        raise ConfigurationError(f"{kind} {cls.__qualname__} {wrong_name}")
    return Site(getattr(cls, "__snodo_where__", "") or cls.__module__, f"{kind} {name!r}")


def parts(definition: Any, options: Any) -> dict[str, Any]:
    """Read the parts that there are in these options off a class or an object."""
    names = options.__dataclass_fields__
    found = {name: getattr(definition, name) for name in names if hasattr(definition, name)}
    return {"description": None, **found}


def unbound(cls: Any, name: str) -> Any:
    """Give a method as an instance will have it, without making one."""
    method = getattr_static(cls, name)
    bound = isinstance(method, (staticmethod, classmethod))
    return getattr(cls, name) if bound else partial(getattr(cls, name), None)
