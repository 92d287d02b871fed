"""Schemas that other libraries made, taken over: no titles, references inlined unless recursive."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ._algebra import join

Schema = dict[str, Any]

# Where a schema holds schemas; everything else in it is data and stays as it is.
_MAPS = frozenset({"properties", "patternProperties", "$defs", "dependentSchemas"})
_LISTS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_SINGLE = frozenset(
    {
        "items",
        "additionalProperties",
        "propertyNames",
        "contains",
        "not",
        "if",
        "then",
        "else",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
_PREFIX = "#/$defs/"


def adopt(schema: Schema, taken: Mapping[str, Schema]) -> tuple[Schema, dict[str, Schema]]:
    """Give the schema in our manner, and the definitions that it still refers to.

    Args:
        schema: A root schema, with its own ``$defs``.
        taken: Definitions whose names are used already.
    """
    definitions = schema.get("$defs", {})
    recursive = {name for name in definitions if _reaches(name, name, definitions)}
    names = {name: _free(name, definitions[name], taken) for name in recursive}
    root = {key: value for key, value in schema.items() if key != "$defs"}
    kept = {
        names[name]: _tidy(definitions[name], definitions, names)
        for name in definitions
        if name in recursive
    }
    return _tidy(root, definitions, names), kept


def _free(name: str, schema: Schema, taken: Mapping[str, Schema]) -> str:
    free, number = name, 2
    while free in taken and taken[free] != schema:
        free, number = f"{name}{number}", number + 1
    return free


def _reaches(start: str, goal: str, definitions: Mapping[str, Schema]) -> bool:
    seen: set[str] = set()
    queue = list(_references(definitions[start]))
    while queue:
        name = queue.pop()
        if name == goal:
            return True
        if name not in seen and name in definitions:
            seen.add(name)
            queue += _references(definitions[name])
    return False


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference.startswith(_PREFIX):
            yield reference.removeprefix(_PREFIX)
        for value in schema.values():
            yield from _references(value)
    elif isinstance(schema, list):
        for item in schema:
            yield from _references(item)


def _tidy(schema: Any, definitions: Mapping[str, Schema], names: Mapping[str, str]) -> Any:
    if not isinstance(schema, dict):
        return schema
    result: Schema = {}
    for key, value in schema.items():
        if key in ("title", "discriminator"):
            continue
        if key == "default" and value is None:
            continue
        if key in _MAPS:
            result[key] = {name: _tidy(part, definitions, names) for name, part in value.items()}
        elif key in _LISTS:
            result[key] = [_tidy(part, definitions, names) for part in value]
        elif key in _SINGLE:
            result[key] = _tidy(value, definitions, names)
        else:
            result[key] = value
    reference = result.get("$ref")
    if isinstance(reference, str) and reference.startswith(_PREFIX):
        name = reference.removeprefix(_PREFIX)
        if name in names:
            result["$ref"] = _PREFIX + names[name]
        elif name in definitions:
            del result["$ref"]
            result = {**_tidy(definitions[name], definitions, names), **result}
    if result.keys() >= {"allOf"} and len(result["allOf"]) == 1:
        only = result.pop("allOf")[0]
        result = {**only, **result}
    return _joined(result)


def _joined(schema: Schema) -> Schema:
    """Write ``anyOf`` the way our own unions are written."""
    branches = schema.get("anyOf")
    if not branches or not all(isinstance(branch, dict) for branch in branches):
        return schema
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    return {**join(branches), **rest}
