"""`Tool`: the full-control form of a tool, checked when its class is created.

The module is private because a public one would hide the decorator of the same name.
"""

from __future__ import annotations

import sys

from .errors import ConfigurationError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, ClassVar

    from ._signature import ToolSpec
    from ._snodo import Context
    from ._tool_spec import ToolOptions


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
        from ._class_form import site_of_class, unbound

        frame = sys._getframe(1)
        site = site_of_class(cls, Tool, "call", "arguments", frame, abstract=abstract)
        if site is not None:
            from ._tool_spec import tool_class_spec

            tool_class_spec(unbound(cls, "call"), parts(cls), site)


def parts(tool: Any) -> ToolOptions:
    """Read the parts of a definition off a class or an object."""
    from . import _class_form
    from ._tool_spec import ToolOptions

    return ToolOptions(
        **{"input_schema": {"type": "object"}, **_class_form.parts(tool, ToolOptions)}
    )


def registered(tool: Any) -> ToolSpec:
    """Give the spec of a tool object at registration, where every part is checked again.

    Raises:
        ConfigurationError: If it has no name or no method.
        DeclarationError: If a part is wrong.
    """
    from ._class_form import site_of_object
    from ._tool_spec import tool_class_spec

    site = site_of_object(tool, "tool", "must return a non-empty string name")
    if not callable(getattr(tool, "call", None)):
        raise ConfigurationError(f"tool {type(tool).__qualname__} does not export call")
    return tool_class_spec(tool.call, parts(tool), site)
