"""`Tool`: the full-control form of a tool, checked when its class is created.

The module is private because a public one would hide the decorator of the same name.
"""

from __future__ import annotations

import sys

from .errors import ConfigurationError, DeclarationError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any, ClassVar

    from ._definition import Options, Site
    from ._signature import ToolSpec
    from ._snodo import Context

_PARTS = (
    "name",
    "title",
    "description",
    "annotations",
    "icons",
    "metadata",
    "input_schema",
    "output_schema",
    "timeout",
    "middleware",
)


class Tool:
    """A tool as a class: schemas are published as they are, `call` gets arguments as received.

    A class that only others derive from is written ``class Base(Tool, abstract=True)``.
    """

    name: str
    title: str | None = None
    description: str | None = None
    input_schema: Mapping[str, Any] = {"type": "object"}
    output_schema: Mapping[str, Any] | None = None
    annotations: Mapping[str, Any] | None = None
    icons: Sequence[Mapping[str, Any]] | None = None
    metadata: Mapping[str, Any] | None = None
    timeout: float | None = None
    middleware: Sequence[Any] = ()
    """What surrounds the call, outermost first."""

    __snodo_where__: ClassVar[str] = ""

    def call(self, arguments: dict[str, Any], context: Context) -> Any:
        """Run the tool; may be a coroutine function.

        Args:
            arguments: The arguments object, which the input schema has admitted.
            context: The request.

        Returns:
            Whatever a function tool may return.
        """
        raise NotImplementedError

    def __init_subclass__(cls, *, abstract: bool = False, **kwargs: Any) -> None:
        """Check the definition.

        Raises:
            DeclarationError: If a part of it is wrong.
        """
        super().__init_subclass__(**kwargs)
        from ._callable import frame_location

        cls.__snodo_where__ = frame_location(sys._getframe(1))
        if abstract:
            return
        from ._declaration import class_spec
        from ._definition import Site

        site = Site(cls.__snodo_where__, f"tool {cls.__qualname__!r}")
        if not hasattr(cls, "name"):
            raise site.refuse("name", "is missing", 'write name = "..." in the class')
        if cls.call is Tool.call:
            raise site.refuse(
                "call", "is missing", "write def call(self, arguments, context) in the class"
            )
        refuse_misspelt(cls, Tool, (*_PARTS, "call"), site)
        class_spec(unbound(cls, "call"), parts(cls), site)


def parts(tool: Any) -> Options:
    """Read the parts of a definition off a class or an object."""
    from ._definition import Options

    found = {part: getattr(tool, part) for part in _PARTS if hasattr(tool, part)}
    found.setdefault("input_schema", {"type": "object"})
    found.setdefault("description", None)
    return Options(**found)


def refuse_misspelt(cls: type, base: type, known: Iterable[str], site: Site) -> None:
    """Refuse a member of a component's class that looks like one that means something."""
    from ._misspelt import misspelt

    wrong = misspelt(cls, base, known)
    if wrong is not None:
        member, meant = wrong
        advice = f"did you mean {meant}? Otherwise call it something else"
        raise site.refuse(member, "means nothing", advice)


def unbound(cls: Any, name: str) -> Any:
    """Give a method as an instance will have it, without making one."""
    from functools import partial
    from inspect import getattr_static

    method = getattr_static(cls, name)
    bound = isinstance(method, (staticmethod, classmethod))
    return getattr(cls, name) if bound else partial(getattr(cls, name), None)


def registered(tool: Any) -> ToolSpec:
    """Give the spec of a tool object at registration, where every part is checked again.

    Raises:
        ConfigurationError: If a part is missing or wrong.
    """
    from ._declaration import class_spec
    from ._definition import Site

    label = type(tool).__qualname__
    if not isinstance(getattr(tool, "name", None), str) or not tool.name:
        raise ConfigurationError(f"tool {label} must return a non-empty string name")
    if not callable(getattr(tool, "call", None)):
        raise ConfigurationError(f"tool {label} does not export call")
    where = getattr(type(tool), "__snodo_where__", "") or type(tool).__module__
    try:
        return class_spec(tool.call, parts(tool), Site(where, f"tool {tool.name!r}"))
    except DeclarationError as error:
        raise ConfigurationError(str(error)) from None
