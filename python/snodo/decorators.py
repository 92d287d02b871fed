"""`tool`, `resource`, `prompt`: attach a definition to a function and give it back untouched."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, overload

from .errors import DeclarationError

__all__ = ["prompt", "resource", "tool"]

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from types import FrameType
    from typing import Any, Never

    from ._layers import Middleware
    from ._options import Cache
    from ._subject import Declaration
    from ._types import Completer, F


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
    middleware: Sequence[Middleware] = (),
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
            None publishes none; ``timeout`` in seconds; ``middleware``, what surrounds the call,
            outermost first: functions of ``(context, arguments, call_next)``, or pairs of one and
            a dict of its options.

    Returns:
        The function, or a decorator that gives it back.

    Raises:
        DeclarationError: If this cannot be a tool.
    """
    if function is None:
        return lambda function: attach("tool", function, options, sys._getframe(1))
    return attach("tool", function, options, sys._getframe(1))


def resource(
    uri: str,
    /,
    *,
    name: str | None = None,
    title: str | None = None,
    description: str | None = ...,  # type: ignore[assignment]
    mime_type: str | None = None,
    size: int | None = None,
    annotations: Mapping[str, Any] | None = None,
    icons: Sequence[Mapping[str, Any]] | None = None,
    metadata: Mapping[str, Any] | None = None,
    cache: Cache | None = None,
    timeout: float | None = None,
    complete: Mapping[str, Completer] | None = None,
    middleware: Sequence[Middleware] = (),
    **unknown: Never,
) -> Callable[[F], F]:
    """Declare a resource, or a template of resources, that `Server.add` takes later.

    The function gives a string, bytes, any JSON value, content values or a `Result`. Each variable
    of a template goes to the parameter of its name, converted to the annotated type; a value that
    does not fit means that there is no such resource.

    Args:
        uri: An absolute URI, or a template such as ``people://{name}/profile``.
        name: For programs; the function's by default.
        title: For people.
        description: For the model; the docstring's by default.
        mime_type: What reading gives.
        size: How many bytes reading gives.
        annotations: ``audience``, ``priority`` and ``lastModified``, for hosts.
        icons: For hosts.
        metadata: Becomes ``_meta``.
        cache: How long clients may keep what they read; None for the server's policy.
        timeout: Seconds; None for the server's default.
        complete: For each variable that can be completed, a function or all the values there are.
        middleware: What surrounds reading and completion, outermost first: functions of
            ``(context, arguments, call_next)``, or pairs of one and a dict of its options.
        **unknown: None: what is given beside these is refused.

    Returns:
        A decorator that gives the function back.

    Raises:
        DeclarationError: If this cannot be a resource.
    """
    options = {
        **unknown,
        "uri": uri,
        "name": name,
        "title": title,
        "description": description,
        "mime_type": mime_type,
        "size": size,
        "annotations": annotations,
        "icons": icons,
        "metadata": metadata,
        "cache": cache,
        "timeout": timeout,
        "complete": complete,
        "middleware": middleware,
    }
    if callable(uri):  # the parentheses were forgotten, which the declaration says
        attach("resource", uri, {**options, "uri": None}, sys._getframe(1))
    return lambda function: attach("resource", function, options, sys._getframe(1))


@overload
def prompt(function: F, /) -> F: ...
@overload
def prompt(
    *,
    name: str | None = None,
    title: str | None = None,
    description: str | None = ...,
    arguments: Sequence[Mapping[str, Any]] | None = None,
    icons: Sequence[Mapping[str, Any]] | None = None,
    metadata: Mapping[str, Any] | None = None,
    timeout: float | None = None,
    complete: Mapping[str, Completer] | None = None,
    middleware: Sequence[Middleware] = (),
) -> Callable[[F], F]: ...
def prompt(function: Any = None, /, **options: Any) -> Any:
    """Declare a prompt that `Server.add` takes later; with or without parentheses.

    The function gives a string, a `Message`, a list of either, or a `Result`. Its parameters are
    the prompt's arguments, which come as text and are converted to the annotated types.

    Args:
        function: What renders the prompt.
        **options: ``name`` on the wire, the function's by default; ``title`` for people;
            ``description``, the docstring's by default; ``arguments``, published as they are (the
            function then takes ``(arguments, context)``); ``icons``; ``metadata``, which becomes
            ``_meta``; ``timeout`` in seconds; ``complete``, for each argument that can be
            completed a function or all the values there are; ``middleware``, as of a tool, which
            surrounds completion too.

    Returns:
        The function, or a decorator that gives it back.

    Raises:
        DeclarationError: If this cannot be a prompt.
    """
    if function is None:
        return lambda function: attach("prompt", function, options, sys._getframe(1))
    return attach("prompt", function, options, sys._getframe(1))


def attach(kind: str, function: Any, options: dict[str, Any], frame: FrameType) -> Any:
    """Check a declaration and leave it on the function."""
    from ._subject import mark

    declaration = declare(kind, function, options, frame, alone=True)
    try:
        setattr(function, mark(kind), declaration)
    except (AttributeError, TypeError):
        raise DeclarationError(
            declaration.where,
            f"{kind} {_shown(function, options)!r}",
            "",
            "function",
            f"a {type(function).__name__} cannot carry a declaration",
            f"pass it to server.{kind}(...) instead",
        ) from None
    return function


def declare(
    kind: str,
    function: Any,
    options: Mapping[str, Any],
    frame: FrameType,
    *,
    alone: bool = False,
) -> Declaration:
    """Check a declaration.

    Args:
        kind: ``tool``, ``resource`` or ``prompt``.
        function: What runs.
        options: As given to the decorator.
        frame: Where it is declared.
        alone: Whether a method may be declared before it has an instance.
    """
    from ._callable import is_method, location
    from ._subject import Declaration

    cls, make = spec_maker(kind)
    fields = cls.__dataclass_fields__
    unknown = sorted(options.keys() - fields.keys())
    if unknown:
        raise DeclarationError(
            location(function, frame),
            f"{kind} {_shown(function, options)!r}",
            "",
            unknown[0],
            f"{kind} received unknown options: {', '.join(unknown)}",
            f"{_meant(unknown[0], fields)}there are {', '.join(fields)}",
        )
    known = cls(**options)
    method = alone and is_method(function)
    spec = make(function, known, frame, method=method)
    return Declaration(kind, function, known, None if method else spec, spec.where)


def spec_maker(kind: str) -> tuple[Any, Callable[..., Any]]:
    """Give the options a kind has, and what makes its spec of a function."""
    if kind == "tool":
        from ._tool_spec import ToolOptions, tool_spec

        return ToolOptions, tool_spec
    if kind == "resource":
        from ._resource_spec import ResourceOptions, resource_spec

        return ResourceOptions, resource_spec
    from ._prompt_spec import PromptOptions, prompt_spec

    return PromptOptions, prompt_spec


def _meant(unknown: str, known: Iterable[str]) -> str:
    from ._elsewhere import COMPONENT_OPTIONS, meant

    advice = meant(unknown, COMPONENT_OPTIONS, known)
    return f"{advice}{' ' if advice.endswith('?') else '; '}" if advice else ""


def _shown(function: Any, options: Mapping[str, Any]) -> Any:
    return options.get("name") or getattr(function, "__name__", type(function).__name__)
