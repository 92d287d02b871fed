"""From a callable or a class to a `ToolSpec`, checked in the order the parts are listed."""

from __future__ import annotations

import functools
import inspect
from types import FrameType
from typing import Any

from . import _callable
from ._definition import (
    UNSET,
    Options,
    Schema,
    Site,
    checked_annotations,
    checked_icons,
    checked_metadata,
    checked_name,
    checked_schema,
    checked_text,
    checked_timeout,
    listed,
)
from ._docstring import parse
from ._parameters import EMPTY, Parameters, Scope, is_context, read_parameters
from ._returns import admits_null, output_schema
from ._signature import ToolSpec

MARK = "__snodo_tool__"
"""Attribute in which a function carries its declaration."""


class Declaration:
    """What `@tool` leaves on a function: enough to make the spec again for a bound method."""

    __slots__ = ("options", "spec", "subject", "where")

    def __init__(self, subject: Any, options: Options, spec: ToolSpec | None, where: str) -> None:
        """Keep the parts; ``spec`` is None for a method without an instance."""
        self.subject = subject
        self.options = options
        self.spec = spec
        self.where = where


def function_spec(
    function: Any, options: Options, frame: FrameType, *, method: bool = False
) -> ToolSpec:
    """Give the spec of a tool made from a callable.

    Args:
        function: The callable.
        options: What the declaration says beside it.
        frame: Where it is declared; its names may be used in annotations.
        method: Whether the first parameter is ``self`` or ``cls``, to be bound later.

    Raises:
        DeclarationError: If it cannot be a tool.
    """
    name = _default_name(function) if options.name is None else options.name
    shown = name if isinstance(name, str) and name else _own_name(function)
    site = Site(_callable.location(function, frame), f"tool {shown!r}")
    _refuse_uncallable(function, site)
    name = checked_name(name, site)
    if name == "<lambda>":
        raise site.refuse("name", "a lambda has no name", 'write name="..."')
    title = checked_text(options.title, "title", site)
    described, texts = parse(_doc(function))
    if options.description is UNSET:
        description: str | None = checked_text(described, "description", site) or None
    else:
        description = checked_text(options.description, "description", site)
    try:
        found, returned = _callable.parameters(function)
    except (ValueError, TypeError):
        reason = "its signature cannot be read"
        raise site.refuse("signature", reason, "wrap it in a def with type hints") from None
    if method:
        found = found[1:]
    elif _callable.is_method(function):
        raise site.refuse(
            found[0].name,
            "is the instance, which does not exist yet",
            "decorate the method with @snodo.tool and call server.add(instance.method)",
            "parameter",
        )
    scope = Scope(_callable.global_names(function), _callable.local_names(function, frame), site)
    run, is_async = _callable.runner(function)
    if options.input_schema is None:
        parameters: Parameters | None = read_parameters(found, scope, texts)
        schema = parameters.schema() if parameters else {}
    else:
        parameters = None
        schema = checked_schema(options.input_schema, "input_schema", site)
        run = _raw(function, run, found, scope)
    if options.output_schema is not UNSET:
        output = _explicit_output(options.output_schema, site)
    elif returned is EMPTY:
        output = None
    else:
        hint = scope.hint(returned, "return", "")
        inner = _callable.innermost(function)
        drained = inspect.isgeneratorfunction(inner) or inspect.isasyncgenfunction(inner)
        output = output_schema(hint, scope.local, site, drained)
    parts = _rest(options, site)
    return ToolSpec(
        name=name,
        definition=listed(
            {
                "name": name,
                "title": title,
                "description": description,
                "inputSchema": schema,
                "outputSchema": output,
                **parts,
            }
        ),
        function=run,
        is_async=is_async,
        slots=tuple(parameters.slots) if parameters else None,
        output_null=admits_null(output),
        has_output=output is not None,
        timeout=checked_timeout(options.timeout, site),
        where=site.where,
    )


def class_spec(call: Any, options: Options, site: Site) -> ToolSpec:
    """Give the spec of a tool written as a class; ``call`` takes arguments and context.

    Raises:
        DeclarationError: If a part is wrong.
    """
    name = checked_name(options.name, site)
    title = checked_text(options.title, "title", site)
    description = checked_text(options.description, "description", site)
    schema = checked_schema(options.input_schema, "input_schema", site)
    output = _explicit_output(options.output_schema, site)
    parts = _rest(options, site)
    _check_call(call, site)
    run, is_async = _callable.runner(call)
    return ToolSpec(
        name=name,
        definition=listed(
            {
                "name": name,
                "title": title,
                "description": description,
                "inputSchema": schema,
                "outputSchema": output,
                **parts,
            }
        ),
        function=run,
        is_async=is_async,
        slots=None,
        output_null=admits_null(output),
        has_output=output is not None,
        timeout=checked_timeout(options.timeout, site),
        where=site.where,
    )


def _rest(options: Options, site: Site) -> Schema:
    return {
        "annotations": checked_annotations(options.annotations, site),
        "icons": checked_icons(options.icons, site),
        "_meta": checked_metadata(options.metadata, site),
    }


def _explicit_output(value: Any, site: Site) -> Schema | None:
    return None if value is None or value is UNSET else checked_schema(value, "output_schema", site)


def _raw(function: Any, run: Any, found: list[inspect.Parameter], scope: Scope) -> Any:
    context = None
    for parameter in found:
        if parameter.annotation is not EMPTY and is_context(
            scope.hint(parameter.annotation, parameter.name)
        ):
            context = parameter.name
    adapted = _callable.raw_runner(function, run, found, context)
    if adapted is None:
        raise scope.site.refuse(
            "signature",
            "with an explicit input_schema the function is called with (arguments, context)",
            "take those two, or leave input_schema out and annotate the parameters",
        )
    return adapted


def _check_call(call: Any, site: Site) -> None:
    try:
        inspect.signature(call).bind({}, None)
    except TypeError:
        raise site.refuse(
            "call",
            "must take (self, arguments, context)",
            "write def call(self, arguments, context)",
        ) from None
    except ValueError:
        return  # a compiled callable that tells nothing about itself


def _refuse_uncallable(function: Any, site: Site) -> None:
    if isinstance(function, type):
        raise site.refuse(
            "function",
            f"{function.__qualname__} is a class",
            "decorate a function, or derive from snodo.Tool and call server.add(...)",
        )
    if not callable(function):
        raise site.refuse(
            "function",
            f"a {type(function).__name__} cannot be called",
            "decorate a function; the name is an option: @tool(name=...)",
        )


def _default_name(function: Any) -> Any:
    while isinstance(function, functools.partial):
        function = function.func
    if isinstance(function, (staticmethod, classmethod)):
        function = function.__func__
    return getattr(function, "__name__", type(function).__name__)


def _own_name(function: Any) -> str:
    return str(_default_name(function))


def _doc(function: Any) -> str | None:
    while isinstance(function, functools.partial):
        function = function.func
    if inspect.isroutine(function) or isinstance(function, (staticmethod, classmethod)):
        text = function.__doc__
    else:
        cls = type(function)
        text = cls.__call__.__doc__ or cls.__doc__
    return text if isinstance(text, str) else None
