"""Small operations on schemas as values: joining, enumerating, asking what they admit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ._encode import EncodeError, to_json

Schema = dict[str, Any]

JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
"""What JSON calls the types of its plain values."""


def join(branches: list[Schema]) -> Schema:
    """Join the branches of a union: a list of types where that says it all, else ``anyOf``."""
    if len(branches) == 1:
        return branches[0]
    null = {"type": "null"}
    others = [branch for branch in branches if branch != null]
    if len(others) == 1 and len(branches) == 2:
        return _nullable(others[0])
    if all(branch.keys() == {"type"} for branch in branches):
        names: list[str] = []
        for branch in branches:
            kinds = branch["type"]
            names += [kinds] if isinstance(kinds, str) else kinds
        return {"type": list(dict.fromkeys(names))}
    flat: list[Schema] = []
    for branch in branches:
        flat += branch["anyOf"] if branch.keys() == {"anyOf"} else [branch]
    return {"anyOf": flat}


def _nullable(schema: Schema) -> Schema:
    if schema.keys() == {"anyOf"}:
        return {"anyOf": [*schema["anyOf"], {"type": "null"}]}
    kinds = schema.get("type")
    if kinds is None or "const" in schema:
        if "enum" in schema and "type" not in schema:
            return schema if None in schema["enum"] else {**schema, "enum": [*schema["enum"], None]}
        return {"anyOf": [schema, {"type": "null"}]}
    names = [kinds] if isinstance(kinds, str) else list(kinds)
    result = {**schema, "type": [*names, *([] if "null" in names else ["null"])]}
    if "enum" in schema and None not in schema["enum"]:
        result["enum"] = [*schema["enum"], None]
    return result


def enumeration(values: list[Any]) -> Schema:
    """Give the schema of one of these values, with the type when they share one."""
    kinds = {JSON_TYPES[type(value)] for value in values}
    return {"type": kinds.pop(), "enum": values} if len(kinds) == 1 else {"enum": values}


def with_default(schema: Schema, default: Any) -> Schema:
    """Add a default, if it is JSON and says anything."""
    if default is None:
        return schema
    try:
        return {**schema, "default": to_json(default)}
    except EncodeError:
        return schema


def admits(schema: Schema | bool, kind: str, definitions: Mapping[str, Schema]) -> bool:
    """Tell whether some value of a JSON type fits the schema; when unsure, yes."""
    return _admits(schema, kind, definitions, ())


def _admits(
    schema: Schema | bool, kind: str, definitions: Mapping[str, Schema], seen: tuple[str, ...]
) -> bool:
    if isinstance(schema, bool):
        return schema
    kinds = schema.get("type")
    if kinds is not None:
        return kind in ((kinds,) if isinstance(kinds, str) else kinds)
    if "const" in schema:
        return JSON_TYPES.get(type(schema["const"])) == kind
    if "enum" in schema:
        return any(JSON_TYPES.get(type(value), kind) == kind for value in schema["enum"])
    reference = schema.get("$ref")
    if isinstance(reference, str):
        name = reference.rpartition("/")[2]
        if name in seen:
            return False
        if name in definitions:
            return _admits(definitions[name], kind, definitions, (*seen, name))
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            return any(_admits(part, kind, definitions, seen) for part in schema[keyword])
    return True
