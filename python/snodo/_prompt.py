"""`Prompt`: the full-control form of a prompt, checked when its class is created.

The module is private because a public one would hide the decorator of the same name.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, ClassVar

    from ._prompt_spec import PromptOptions
    from ._signature import PromptSpec
    from ._snodo import Context


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
        from ._class_form import site_of_class, unbound

        frame = sys._getframe(1)
        site = site_of_class(cls, Prompt, "render", "arguments", frame, abstract=abstract)
        if site is not None:
            from ._prompt_spec import prompt_class_spec

            prompt_class_spec(unbound(cls, "render"), parts(cls), site)


def parts(prompt: Any) -> PromptOptions:
    """Read the parts of a definition off a class or an object."""
    from . import _class_form
    from ._prompt_spec import PromptOptions

    return PromptOptions(**_class_form.parts(prompt, PromptOptions))


def registered(prompt: Any) -> PromptSpec:
    """Give the spec of a prompt object at registration, where every part is checked again.

    Raises:
        ConfigurationError: If it has no name.
        DeclarationError: If a part is wrong.
    """
    from ._class_form import site_of_object
    from ._prompt_spec import prompt_class_spec

    site = site_of_object(prompt, "prompt", "requires a non-empty name")
    return prompt_class_spec(prompt.render, parts(prompt), site, prompt)
