"""From a callable or a class to a `ToolSpec`, checked in the order the parts are listed."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from types import FrameType
from typing import Any

from . import _callable
from ._definition import (
    UNSET,
    Schema,
    Site,
    checked_annotations,
    checked_call_name,
    checked_icons,
    checked_metadata,
    checked_schema,
    checked_text,
    checked_timeout,
    listed,
)
from ._parameters import EMPTY, Parameters, read_parameters
from ._returns import admits_null, output_schema
from ._signature import ToolSpec
from ._subject import adapted, checked_middleware, raw, read_call, read_subject


@dataclass(frozen=True, slots=True)
class ToolOptions:
    """What the declaration of a tool says beside the function."""

    name: Any = None
    title: Any = None
    description: Any = UNSET
    annotations: Any = None
    icons: Any = None
    metadata: Any = None
    input_schema: Any = None
    output_schema: Any = UNSET
    timeout: Any = None
    middleware: Any = None


def tool_spec(
    function: Any, options: ToolOptions, frame: FrameType, *, method: bool = False
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
    subject = read_subject(function, options, frame, "tool", method=method)
    site, scope = subject.site, subject.scope
    run, injection = subject.run, subject.injection
    if options.input_schema is None:
        parameters: Parameters | None = read_parameters(subject.parameters, scope, subject.texts)
        schema = parameters.schema() if parameters else {}
    else:
        parameters = None
        schema = checked_schema(options.input_schema, "input_schema", site)
        run, injection = adapted(subject, raw(function, subject, "input_schema"))
    if options.output_schema is not UNSET:
        output = _explicit_output(options.output_schema, site)
    elif subject.returned is EMPTY:
        output = None
    else:
        hint = scope.hint(subject.returned, "return", "")
        inner = _callable.innermost(function)
        drained = inspect.isgeneratorfunction(inner) or inspect.isasyncgenfunction(inner)
        output = output_schema(hint, scope.local, site, drained)
    parts = _rest(options, site)
    return ToolSpec(
        name=subject.name,
        definition=listed(
            {
                "name": subject.name,
                "title": subject.title,
                "description": subject.description,
                "inputSchema": schema,
                "outputSchema": output,
                **parts,
            }
        ),
        function=run,
        is_async=subject.is_async,
        slots=tuple(parameters.slots) if parameters else None,
        output_null=admits_null(output),
        timeout=checked_timeout(options.timeout, site),
        where=site.where,
        middleware=checked_middleware(options.middleware, site, "tool"),
        injection=injection,
    )


def tool_class_spec(call: Any, options: ToolOptions, site: Site) -> ToolSpec:
    """Give the spec of a tool written as a class; ``call`` takes arguments and context.

    Raises:
        DeclarationError: If a part is wrong.
    """
    name = checked_call_name(options.name, site)
    title = checked_text(options.title, "title", site)
    description = checked_text(options.description, "description", site)
    schema = checked_schema(options.input_schema, "input_schema", site)
    output = _explicit_output(options.output_schema, site)
    parts = _rest(options, site)
    run, is_async, injection = read_call(call, "call", "arguments", site)
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
        timeout=checked_timeout(options.timeout, site),
        where=site.where,
        middleware=checked_middleware(options.middleware, site, "tool"),
        injection=injection,
    )


def _rest(options: ToolOptions, site: Site) -> Schema:
    return {
        "annotations": checked_annotations(options.annotations, site),
        "icons": checked_icons(options.icons, site),
        "_meta": checked_metadata(options.metadata, site),
    }


def _explicit_output(value: Any, site: Site) -> Schema | None:
    return None if value is None or value is UNSET else checked_schema(value, "output_schema", site)
