"""Completion that is declared after the component it is of."""

from __future__ import annotations

import json
from types import FrameType
from typing import Any

from . import _callable
from ._completion import check_name, completion
from ._components import Components
from ._definition import Site
from .errors import ConfigurationError


def attach(
    components: Components, target: Any, argument: str, completer: Any, frame: FrameType
) -> None:
    """Let a component that was added already complete an argument.

    Raises:
        DeclarationError: If it has no such argument, or the completer is none.
        ConfigurationError: If there is no such component.
    """
    kind, spec = _target(components, target)
    site = Site(_callable.location(completer, frame), f"{kind} {spec.name!r}")
    what = "variable" if kind == "resource" else "argument"
    check_name(argument, _names(spec), what, site)
    new = completion(argument, completer, site, frame)
    earlier = next((one for one in spec.completions if one.argument == argument), None)
    if earlier is not None and earlier.function is not None:
        raise site.refuse(f"complete.{argument}", "is completed already", "remove one of the two")
    rest = tuple(one for one in spec.completions if one.argument != argument)
    components.replace(kind, spec._replace(completions=(*rest, new)))


def _target(components: Components, target: Any) -> tuple[str, Any]:
    if isinstance(target, str):
        matches = [
            *(("prompt", spec) for _, spec in components.prompts.values() if spec.name == target),
            *(
                ("resource", spec)
                for _, spec in components.resources.values()
                if spec.template is not None and target in (spec.template, spec.name)
            ),
        ]
    else:
        matches = [
            (kind, spec)
            for kind in ("prompt", "resource")
            for known, spec in components.table(kind).values()
            if known is target or (callable(target) and known == target)
        ]
    if len(matches) == 1:
        return matches[0]
    shown = repr(target) if isinstance(target, str) else getattr(target, "__name__", "it")
    if matches:
        raise ConfigurationError(f"{shown} is a prompt and a template: name the template's text")
    raise ConfigurationError(
        f"there is no prompt or template {shown} to complete: declare it before its completer"
    )


def _names(spec: Any) -> list[str]:
    """Give the names that can be completed."""
    definition = json.loads(spec.definition)
    if "uriTemplate" in definition:
        from ._template import variables

        return [variable.name for variable in variables(definition["uriTemplate"])]
    return [argument["name"] for argument in definition.get("arguments", ())]
