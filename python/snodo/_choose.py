"""Which member of a union a JSON value belongs to, where msgspec cannot tell."""

from __future__ import annotations

import typing
from collections.abc import Callable, Mapping
from typing import Any

from . import _hints
from ._algebra import admits
from ._makers import Convert, Mismatch
from ._schema import ARRAYS, MAPPINGS, SETS, SchemaBuilder

Guard = Callable[[Any], bool]
_JSON_KINDS: dict[type, str] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    list: "array",
    dict: "object",
    type(None): "null",
}


def choose(members: list[tuple[Any, Convert | None]], local: Mapping[str, Any]) -> Convert:
    """Give a converter that takes the first member that fits, plain JSON types last resort first.

    Members are tried in the order they are written, except that ``str`` comes after the types that
    are written as strings.
    """
    tried = sorted(members, key=lambda pair: _hints.peel(pair[0])[0] is str)
    guarded = [(_guard(hint, local), make) for hint, make in tried]

    def make(value: Any) -> Any:
        failures: list[Mismatch] = []
        for fits, convert in guarded:
            if not fits(value):
                continue
            if convert is None:
                return value
            try:
                return convert(value)
            except Mismatch as error:
                failures.append(error)
        if len(failures) == 1:
            raise failures[0]
        said = "; ".join(error.said for error in failures if error.said) or None
        raise Mismatch("value fits none of the allowed types", said=said)

    return make


def _guard(hint: Any, local: Mapping[str, Any]) -> Guard:
    """Tell by its outermost shape whether a value can be of this hint."""
    bare, _ = _hints.peel(hint)
    if typing.get_origin(bare) is typing.Literal:
        allowed = {(type(value), value) for value in typing.get_args(bare)}
        return lambda value: _hashable(value) and (type(value), value) in allowed
    fields = _hints.fields_of(bare, local)
    if fields is not None and fields.kind != "namedtuple":
        names = {member.name for member in fields.members if member.constructed}
        needed = {
            member.name for member in fields.members if member.required and member.constructed
        }
        return lambda value: type(value) is dict and needed <= value.keys() <= names
    if _hints.is_struct(bare):
        import msgspec

        known = {field.encode_name for field in msgspec.structs.fields(bare)}
        tag = bare.__struct_config__.tag_field
        names = known | {tag} if tag else known
        return lambda value: type(value) is dict and value.keys() <= names
    kind = typing.get_origin(bare) or bare
    if kind in ARRAYS or kind in SETS or kind is tuple:
        return lambda value: type(value) is list
    if kind in MAPPINGS:
        return lambda value: type(value) is dict
    builder = SchemaBuilder(local)
    schema = builder.schema(bare, "")

    def fits(value: Any) -> bool:
        name = _JSON_KINDS.get(type(value), "")
        if (
            name == "number"
            and value.is_integer()
            and admits(schema, "integer", builder.definitions)
        ):
            return True
        return admits(schema, name, builder.definitions) or (
            name == "integer" and admits(schema, "number", builder.definitions)
        )

    return fits


def _hashable(value: Any) -> bool:
    return not isinstance(value, (list, dict))
