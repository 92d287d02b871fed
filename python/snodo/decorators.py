"""`tool`: attach a definition to a function and give the function back untouched."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, overload

from .errors import DeclarationError

__all__ = ["tool"]

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import FrameType
    from typing import Any, TypeVar

    from ._declaration import Declaration

    F = TypeVar("F", bound=Callable[..., Any])


@overload
def tool(function: F, /) -> F: ...
@overload
def tool(
    *,
    name: str | None = None,
    title: str | None = None,
    description: str | None = ...,
    annotations: Mapping[str, Any] | None = None,
    icons: Sequence[Mapping[str, Any]] | None = None,
    metadata: Mapping[str, Any] | None = None,
    input_schema: Mapping[str, Any] | None = None,
    output_schema: Mapping[str, Any] | None = ...,
    timeout: float | None = None,
) -> Callable[[F], F]: ...
def tool(function: Any = None, /, **options: Any) -> Any:
    """Declare a tool that `Server.add` takes later; with or without parentheses.

    Everything is checked here: name, schemas, hints, defaults.

    Args:
        function: What the tool runs: a function, coroutine function, generator, bound method,
            partial or callable object.
        **options: ``name`` on the wire, the function's by default; ``title`` for people;
            ``description`` for the model, the docstring's by default; ``annotations``, hints for
            hosts; ``icons``; ``metadata``, which becomes ``_meta``; ``input_schema``, published
            as it is (the function then takes ``(arguments, context)``); ``output_schema``, where
            None publishes none; ``timeout`` in seconds.

    Returns:
        The function, or a decorator that gives it back.

    Raises:
        DeclarationError: If this cannot be a tool.
    """
    frame = sys._getframe(1)
    if function is None and options:
        return lambda function: attach(function, options, sys._getframe(1))
    if function is None:
        return lambda function: attach(function, {}, sys._getframe(1))
    return attach(function, options, frame)


def attach(function: Any, options: dict[str, Any], frame: FrameType) -> Any:
    """Check a declaration and leave it on the function."""
    from ._declaration import MARK

    declaration = declare(function, options, frame, alone=True)
    try:
        setattr(function, MARK, declaration)
    except (AttributeError, TypeError):
        raise DeclarationError(
            declaration.where,
            f"tool {_shown(function, options)!r}",
            "",
            "function",
            f"a {type(function).__name__} cannot carry a declaration",
            "pass it to server.tool(...) instead",
        ) from None
    return function


def declare(
    function: Any, options: Mapping[str, Any], frame: FrameType, *, alone: bool = False
) -> Declaration:
    """Check a declaration.

    Args:
        function: What the tool runs.
        options: As given to the decorator.
        frame: Where it is declared.
        alone: Whether a method may be declared before it has an instance.
    """
    from ._callable import is_method, location
    from ._declaration import Declaration, function_spec
    from ._definition import Options

    unknown = sorted(options.keys() - Options.__dataclass_fields__.keys())
    if unknown:
        raise DeclarationError(
            location(function, frame),
            f"tool {_shown(function, options)!r}",
            "",
            unknown[0],
            f"tool received unknown options: {', '.join(unknown)}",
            f"there are {', '.join(Options.__dataclass_fields__)}",
        )
    known = Options(**options)
    method = alone and is_method(function)
    spec = function_spec(function, known, frame, method=method)
    return Declaration(function, known, None if method else spec, spec.where)


def _shown(function: Any, options: Mapping[str, Any]) -> Any:
    return options.get("name") or getattr(function, "__name__", type(function).__name__)
