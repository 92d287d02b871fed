"""`Prompt`: the full-control form of a prompt, checked when its class is created.

The module is private because a public one would hide the decorator of the same name.
"""

from __future__ import annotations

import sys

from .errors import ConfigurationError, DeclarationError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, ClassVar

    from ._prompt_spec import PromptOptions
    from ._signature import PromptSpec
    from ._snodo import Context

_PARTS = (
    "name",
    "title",
    "description",
    "arguments",
    "icons",
    "metadata",
    "timeout",
    "complete",
    "middleware",
)


class Prompt:
    """A prompt as a class: arguments are published as they are, `render` gets them as received.

    A class that only others derive from is written ``class Base(Prompt, abstract=True)``.
    """

    name: str
    title: str | None = None
    description: str | None = None
    arguments: Sequence[Mapping[str, Any]] | None = None
    """Each has ``name`` and may have ``title``, ``description`` and ``required``."""
    icons: Sequence[Mapping[str, Any]] | None = None
    metadata: Mapping[str, Any] | None = None
    timeout: float | None = None
    complete: Mapping[str, Callable[..., Any] | Sequence[str]] | None = None
    """For each argument that can be completed, a function or method, or all the values."""
    middleware: Sequence[Any] = ()
    """What surrounds rendering and completion, outermost first."""

    __snodo_where__: ClassVar[str] = ""

    def render(self, arguments: dict[str, str], context: Context) -> Any:
        """Give the messages; may be a coroutine function.

        Args:
            arguments: The arguments, undeclared ones among them.
            context: The request.

        Returns:
            Whatever a function prompt may return.
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
        from ._definition import Site
        from ._prompt_spec import prompt_class_spec
        from ._tool import refuse_misspelt, unbound

        site = Site(cls.__snodo_where__, f"prompt {cls.__qualname__!r}")
        if not hasattr(cls, "name"):
            raise site.refuse("name", "is missing", 'write name = "..." in the class')
        if cls.render is Prompt.render:
            raise site.refuse(
                "render", "is missing", "write def render(self, arguments, context) in the class"
            )
        refuse_misspelt(cls, Prompt, (*_PARTS, "render"), site)
        prompt_class_spec(unbound(cls, "render"), parts(cls), site)


def parts(prompt: Any) -> PromptOptions:
    """Read the parts of a definition off a class or an object."""
    from ._prompt_spec import PromptOptions

    found = {part: getattr(prompt, part) for part in _PARTS if hasattr(prompt, part)}
    found.setdefault("description", None)
    return PromptOptions(**found)


def registered(prompt: Any) -> PromptSpec:
    """Give the spec of a prompt object at registration, where every part is checked again.

    Raises:
        ConfigurationError: If a part is missing or wrong.
    """
    from ._definition import Site
    from ._prompt_spec import prompt_class_spec

    label = type(prompt).__qualname__
    if not isinstance(getattr(prompt, "name", None), str) or not prompt.name:
        raise ConfigurationError(f"prompt {label} requires a non-empty name")
    where = getattr(type(prompt), "__snodo_where__", "") or type(prompt).__module__
    site = Site(where, f"prompt {prompt.name!r}")
    try:
        return prompt_class_spec(prompt.render, parts(prompt), site, prompt)
    except DeclarationError as error:
        raise ConfigurationError(str(error)) from None
