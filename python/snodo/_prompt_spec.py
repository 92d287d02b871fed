"""From a callable or a class to a `PromptSpec`, checked in the order the parts are listed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Any

from ._completion import completions
from ._definition import (
    UNSET,
    Schema,
    Site,
    checked_call_name,
    checked_icons,
    checked_json,
    checked_metadata,
    checked_text,
    checked_timeout,
    kind_of,
    listed,
)
from ._parsing import Reader
from ._shape import messages, shaped
from ._signature import PromptSpec
from ._subject import Subject, adapted, checked_middleware, raw, read_call, read_subject
from ._text_parameters import TextParameter, read_text_parameters


@dataclass(frozen=True, slots=True)
class PromptOptions:
    """What the declaration of a prompt says beside the function."""

    name: Any = None
    title: Any = None
    description: Any = UNSET
    arguments: Any = None
    icons: Any = None
    metadata: Any = None
    timeout: Any = None
    complete: Any = None
    middleware: Any = None


def prompt_spec(
    function: Any, options: PromptOptions, frame: FrameType, *, method: bool = False
) -> PromptSpec:
    """Give the spec of a prompt made from a callable.

    Args:
        function: The callable.
        options: What the declaration says beside it.
        frame: Where it is declared; its names may be used in annotations.
        method: Whether the first parameter is ``self`` or ``cls``, to be bound later.

    Raises:
        DeclarationError: If it cannot be a prompt.
    """
    subject = read_subject(function, options, frame, "prompt", method=method)
    site, slots = subject.site, None
    run, injection = subject.run, subject.injection
    if options.arguments is None:
        parameters = _parameters(subject)
        arguments = [_argument(parameter) for parameter in parameters if parameter.slot.key]
        known = {str(p.slot.key): p.values for p in parameters if p.slot.key}
        slots = tuple(parameter.slot for parameter in parameters)
    else:
        arguments = checked_arguments(options.arguments, site)
        known = {argument["name"]: None for argument in arguments}
        run, injection = adapted(subject, raw(function, subject, "arguments"))
    return PromptSpec(
        name=subject.name,
        definition=_listed(
            subject.name, subject.title, subject.description, arguments, options, site
        ),
        function=shaped(run, subject.is_async, messages),
        is_async=subject.is_async,
        slots=slots,
        timeout=checked_timeout(options.timeout, site),
        where=site.where,
        completions=completions(options.complete, known, "argument", site, frame),
        middleware=checked_middleware(options.middleware, site, "prompt"),
        injection=injection,
        bare=run,
        shape=messages,
    )


def prompt_class_spec(
    render: Any, options: PromptOptions, site: Site, instance: Any = None
) -> PromptSpec:
    """Give the spec of a prompt written as a class; ``render`` takes arguments and context.

    Raises:
        DeclarationError: If a part is wrong.
    """
    name = checked_call_name(options.name, site)
    title = checked_text(options.title, "title", site)
    description = checked_text(options.description, "description", site)
    arguments = checked_arguments(options.arguments, site)
    definition = _listed(name, title, description, arguments, options, site)
    run, is_async, injection = read_call(render, "render", "arguments", site)
    known = {argument["name"]: None for argument in arguments}
    return PromptSpec(
        name=name,
        definition=definition,
        function=shaped(run, is_async, messages),
        is_async=is_async,
        slots=None,
        timeout=checked_timeout(options.timeout, site),
        where=site.where,
        completions=completions(options.complete, known, "argument", site, instance=instance),
        middleware=checked_middleware(options.middleware, site, "prompt"),
        injection=injection,
        bare=run,
        shape=messages,
    )


def checked_arguments(value: Any, site: Site) -> list[Schema]:
    """Check explicit arguments, which are published as they are.

    Raises:
        DeclarationError: If they are no list of arguments.
    """
    if value is None:
        return []
    if not isinstance(value, (list, tuple)):
        raise site.refuse(
            "arguments", f"prompt arguments must be a list, not {kind_of(value)}", _ADVICE
        )
    found: list[Schema] = []
    for index, item in enumerate(value):
        path = f"arguments.{index}"
        argument = _checked_argument(item, path, site)
        if any(other["name"] == argument["name"] for other in found):
            raise site.refuse(
                f"{path}.name", "prompt argument names must be unique", "rename one of them"
            )
        found.append(argument)
    return found


_ADVICE = 'write {"name": "...", "description": "...", "required": True}'


def _checked_argument(item: Any, path: str, site: Site) -> Schema:
    name = item.get("name") if isinstance(item, Mapping) else None
    if not isinstance(item, Mapping) or not isinstance(name, str) or not name:
        raise site.refuse(path, "each prompt argument requires a non-empty string name", _ADVICE)
    for key, value in item.items():
        if key not in ("name", "title", "description", "required"):
            raise site.refuse(
                f"{path}.{key}",
                "prompt argument contains unsupported or non-JSON fields",
                "there are name, title, description and required",
            )
        if key == "required" and not isinstance(value, bool):
            raise site.refuse(
                f"{path}.required",
                "prompt argument required must be a boolean",
                "write True or False",
            )
        if key in ("title", "description"):
            checked_text(value, f"{path}.{key}", site)
    argument: Schema = checked_json(dict(item), path, site)
    return {key: value for key, value in argument.items() if value is not None}


def _parameters(subject: Subject) -> list[TextParameter]:
    return read_text_parameters(
        subject, "prompt argument", lambda _key: Reader(subject.scope.local)
    )


def _argument(parameter: TextParameter) -> Schema:
    parts = {
        "name": parameter.slot.key,
        "title": parameter.title,
        "description": parameter.description,
        "required": parameter.slot.required,
    }
    return {key: value for key, value in parts.items() if value is not None}


def _listed(
    name: str,
    title: str | None,
    description: str | None,
    arguments: list[Schema],
    options: PromptOptions,
    site: Site,
) -> bytes:
    return listed(
        {
            "name": name,
            "title": title,
            "description": description,
            "arguments": arguments,
            "icons": checked_icons(options.icons, site, "prompt"),
            "_meta": checked_metadata(options.metadata, site, "prompt"),
        }
    )
