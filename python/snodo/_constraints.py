"""Constraints inside ``Annotated`` put into a schema, whoever's they are, if they fit its type."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any

from ._arg import Arg
from ._encode import EncodeError, to_json
from ._hints import HintError

Schema = dict[str, Any]

_NUMERIC = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
    "multiple_of": "multipleOf",
}
_SIZES = {
    "min_length": {"string": "minLength", "array": "minItems", "object": "minProperties"},
    "max_length": {"string": "maxLength", "array": "maxItems", "object": "maxProperties"},
}
_STRINGS = {"title": "title", "format": "format", "pattern": "pattern"}
_FOREIGN = ("title", "pattern", "examples", "format", "deprecated", "multiple_of", *_NUMERIC)


def apply(schema: Schema, metadata: Iterable[Any], path: str) -> Schema:
    """Add what ``Annotated`` says to a schema.

    Raises:
        HintError: If a value is wrong or does not fit the type.
    """
    for item in metadata:
        if isinstance(item, str):
            schema = {**schema, "description": item}
        elif isinstance(item, Arg):
            schema = _with_arg(schema, item, path)
        elif isinstance(item, type) and issubclass(item, Arg):
            raise HintError(path, "Arg is used without parentheses", 'write Arg("description")')
        else:
            for part in _unpacked(item):
                schema = _with_options(schema, _foreign(part), path)
    return schema


def _with_arg(schema: Schema, arg: Arg, path: str) -> Schema:
    if arg.description is not None:
        if not isinstance(arg.description, str):
            raise HintError(path, "the description must be a string", 'write Arg("...")')
        schema = {**schema, "description": arg.description}
    if arg.name is not None and not (isinstance(arg.name, str) and arg.name):
        raise HintError(path, "Arg(name=) must be a non-empty string", "leave it out")
    schema = _with_options(schema, arg.options, path)
    if arg.schema is not None:
        schema = {**schema, **_json(arg.schema, "schema", Mapping, "a dict", path)}
    return schema


def _with_options(schema: Schema, options: Mapping[str, Any], path: str) -> Schema:
    schema = dict(schema)
    for option, value in options.items():
        if option == "description":
            schema["description"] = value
        elif option in _NUMERIC:
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise _wrong(option, "a number", path)
            _put(schema, {"number": _NUMERIC[option]}, option, value, path)
        elif option in _SIZES:
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise _wrong(option, "a non-negative integer", path)
            _put(schema, _SIZES[option], option, value, path)
        elif option == "unique_items":
            _put(schema, {"array": "uniqueItems"}, option, _flag(value, option, path), path)
        elif option == "deprecated":
            schema["deprecated"] = _flag(value, option, path)
        elif option in _STRINGS:
            if not isinstance(value, str):
                raise _wrong(option, "a string", path)
            if option == "title":
                schema["title"] = value
            else:
                _put(schema, {"string": _STRINGS[option]}, option, value, path)
        elif option == "enum":
            values = _json(value, option, (list, tuple), "a list", path)
            if not values:
                raise HintError(path, "enum is empty", "list at least one value")
            schema["enum"] = values
        elif option == "examples":
            schema["examples"] = _json(value, option, (list, tuple), "a list", path)
        elif option == "header":
            schema["x-mcp-header"] = value
        elif option == "schema":
            schema.update(value)
    _check_bounds(schema, path)
    return schema


def _put(schema: Schema, keywords: Mapping[str, str], option: str, value: Any, path: str) -> None:
    """Write the keyword that this option means for the schema's type, or for its branches'."""
    branches = [schema, *schema.get("anyOf", ())]
    fitting = 0
    for branch in branches:
        for name in _types(branch):
            keyword = keywords.get("number" if name == "integer" else name)
            if keyword:
                branch[keyword] = value
                fitting += 1
    if not fitting:
        kinds = " or ".join(_WORDS[kind] for kind in keywords)
        have = " or ".join(sorted({n for b in branches for n in _types(b)})) or "any value"
        raise HintError(
            path,
            f"{option} does not fit the type: it is for {kinds}, this is {have}",
            f"remove {option} or change the hint",
        )


_WORDS = {"number": "numbers", "string": "strings", "array": "lists", "object": "objects"}


def _types(schema: Schema) -> tuple[str, ...]:
    kinds = schema.get("type", ())
    return (kinds,) if isinstance(kinds, str) else tuple(kinds)


def _check_bounds(schema: Schema, path: str) -> None:
    for low, high in (
        ("minimum", "maximum"),
        ("minLength", "maxLength"),
        ("minItems", "maxItems"),
        ("minProperties", "maxProperties"),
    ):
        if low in schema and high in schema and schema[low] > schema[high]:
            raise HintError(
                path, f"{low} {schema[low]} is above {high} {schema[high]}", "swap or widen them"
            )


def _flag(value: Any, option: str, path: str) -> bool:
    if not isinstance(value, bool):
        raise _wrong(option, "a boolean", path)
    return value


def _json(value: Any, option: str, kind: Any, kind_name: str, path: str) -> Any:
    if not isinstance(value, kind):
        raise _wrong(option, kind_name, path)
    try:
        return to_json(value)
    except EncodeError as error:
        raise HintError(path, f"{option} is not JSON: {error}", "use JSON values") from None


def _wrong(option: str, kind: str, path: str) -> HintError:
    return HintError(path, f"{option} must be {kind}", f"give {kind} or leave {option} out")


def _unpacked(item: Any) -> tuple[Any, ...]:
    """Open what groups constraints: annotated_types groups, pydantic's FieldInfo, msgspec.Meta."""
    types = sys.modules.get("annotated_types")
    if types is not None and isinstance(item, types.GroupedMetadata):
        return tuple(item)
    if type(item).__name__ == "FieldInfo" and hasattr(item, "metadata"):
        return (item, *item.metadata)
    return (item,)


def _foreign(item: Any) -> dict[str, Any]:
    """Read a foreign constraint by its attributes; what is unknown says nothing."""
    module = type(item).__module__.partition(".")[0]
    if module not in ("annotated_types", "pydantic", "msgspec", "typing_extensions"):
        return {}
    if type(item).__name__ in ("Doc", "DocInfo"):
        return {"description": item.documentation}
    options = {name: value for name in _FOREIGN if (value := getattr(item, name, None)) is not None}
    if isinstance(getattr(item, "description", None), str):
        options["description"] = item.description
    for name in ("min_length", "max_length"):
        value = getattr(item, name, None)
        if value is not None and not (name == "min_length" and value == 0):
            options[name] = value
    extra = getattr(item, "extra_json_schema", None) or getattr(item, "json_schema_extra", None)
    if isinstance(extra, dict):
        options["schema"] = extra
    if module == "pydantic":
        options.pop("format", None)
    return options
