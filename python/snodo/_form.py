"""Forms: type hints to the small part of JSON Schema that a form may use, and answers to values.

A form is flat: text, numbers, booleans, dates, and choices of strings. What is more is refused here
by field, when the form is made. Nothing here knows how a form is sent.
"""

from __future__ import annotations

import json
import typing
from collections.abc import Callable, Hashable, Mapping
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

from . import _hints
from ._algebra import with_default
from ._answer import refusal
from ._constraints import apply
from ._convert import Planner, converter, is_enum
from ._definition import Site, dumps, kind_of
from ._hints import ABSENT, HintError, alias_value, peel
from ._makers import Convert, Mismatch, members_of
from ._parameters import without_null
from ._report import refused
from ._schema import ARRAYS, SETS, SchemaBuilder

Schema = dict[str, Any]
Read = Callable[[dict[str, Any]], Any]

_ADVICE = (
    "a field is a str, int, float, bool, date, datetime, a Literal or Enum of strings, or a list"
    " of such a choice"
)
_CHOICES = 'a list in a form holds choices: write list[Literal["a", "b"]], or list[...] of an Enum'
_WHOLE = '{"type": "object", "properties": {...}}'
_HINTS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}
_NOTES = {"type", "title", "description", "default"}
_KEYWORDS: dict[str, set[str]] = {
    "string": {"minLength", "maxLength", "format", "enum", "oneOf"},
    "integer": {"minimum", "maximum"},
    "number": {"minimum", "maximum"},
    "boolean": set(),
    "array": {"minItems", "maxItems", "items"},
}
_FORMATS = ("email", "uri", "date", "date-time")


class Form(NamedTuple):
    """A form, made once for its fields."""

    schema: bytes
    """JSON text, so that every question gets a schema of its own."""
    read: Read
    """Makes the value of the content of an accepted answer."""

    def requested_schema(self) -> Schema:
        """Give the schema as it is sent."""
        schema: Schema = json.loads(self.schema)
        return schema


class _Field(NamedTuple):
    """One field of a form."""

    schema: Schema
    required: bool
    make: Convert | None
    nullable: bool
    """Whether an answer without it means None, and its type must be told so."""


def form_of(fields: Any, local: Mapping[str, Any], site: Site) -> Form:
    """Make the form for a class, a dict of hints, or the hint of a single value.

    Args:
        fields: What is asked.
        local: Names that hints of locally defined types may use.
        site: Where the form is made, for refusals.

    Raises:
        DeclarationError: If a field does not fit a form.
    """
    if fields is None:
        return Form(_text({}, []), lambda content: None)
    if isinstance(fields, Mapping) and _is_part_of_schema(fields):
        hint = _HINTS.get(str(fields.get("type")))
        advice = f"write it whole, {_WHOLE}" if hint is None else f"for a single value write {hint}"
        raise site.refuse("fields", "is part of a JSON Schema", advice)
    try:
        form = _form(fields, local)
    except HintError as error:
        raise site.refuse(error.path, error.reason, error.advice, "field") from None
    params = {"message": "", "requestedSchema": form.requested_schema()}
    reason = refusal({"method": "elicitation/create", "params": params})
    if reason is not None:  # a default that its own field would refuse, for one
        path, _, said = reason.removeprefix("params.requestedSchema.").partition(" ")
        path = path.removeprefix("properties.")
        raise site.refuse(path, said, "change the field or what Arg says about it", "field")
    return form


def _form(hint: Any, local: Mapping[str, Any]) -> Form:
    if isinstance(hint, Mapping):
        return _own(dict, "typeddict", {n: _field(n, member, local) for n, member in hint.items()})
    bare, _, optional = _bare(hint)
    if optional:  # a form is there or it is not: what may be None is a value in it
        bare = None
    kind = typing.get_origin(bare) or bare
    if hasattr(kind, "__pydantic_fields__") or _hints.is_struct(kind):
        return _foreign(bare, local)
    fields = _hints.fields_of(bare, local, _hints.type_name(hint))
    if fields is None:
        form = _own(dict, "typeddict", {"value": _field("value", hint, local)})
        return Form(form.schema, lambda content: form.read(content)["value"])
    members = {m.name: _member(m, local) for m in fields.members if m.constructed}
    return _own(kind, fields.kind, members)


def _is_part_of_schema(fields: Mapping[str, Any]) -> bool:
    """Tell a piece of JSON Schema from a dict of hints: it has a type in words, or properties."""
    kind = fields.get("type")
    return isinstance(fields.get("properties"), Mapping) or (
        isinstance(kind, str) and kind in {*_HINTS, "object", "array"}
    )


def _own(cls: Any, kind: str, fields: Mapping[str, _Field]) -> Form:
    """Give the form of fields that we know one by one."""
    required = [name for name, field in fields.items() if field.required]
    nullable = [name for name, field in fields.items() if field.nullable]
    # By name: a NamedTuple is an array elsewhere, in a form it has fields like the others.
    kind = "dataclass" if kind == "namedtuple" else kind
    build = members_of(cls, {n: field.make for n, field in fields.items()}, required, kind)

    def read(content: dict[str, Any]) -> Any:
        try:
            return build(_known(content, fields, nullable))
        except Mismatch as error:
            path = "/".join(reversed(error.path))
            refused("form", path, error.said or error.expected)
            raise ValueError("the answer does not fit the form") from None

    return Form(_text({name: field.schema for name, field in fields.items()}, required), read)


def _foreign(hint: Any, local: Mapping[str, Any]) -> Form:
    """Give the form of a class whose library reads and makes it."""
    name = _hints.type_name(hint)
    try:
        whole = SchemaBuilder(local).schema(hint, name)
    except HintError as error:  # its advice is for tools
        raise HintError(error.path, error.reason, _ADVICE) from None
    if whole.get("type") != "object" or "properties" not in whole:
        raise HintError(name, "is not an object with properties", _ADVICE)
    properties, nullable = {}, []
    required = list(whole.get("required", ()))
    for key, schema in whole["properties"].items():
        bare, optional = _without_null(schema)
        properties[key] = _restricted(bare, key)
        if optional and key in required:
            required.remove(key)
            nullable.append(key)
    make = converter(hint, "", local, component="form")
    assert make is not None, "objects of a library are made by it"
    return Form(
        _text(properties, required), lambda content: make(_known(content, properties, nullable))
    )


def _text(properties: Schema, required: list[str]) -> bytes:
    schema: Schema = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    return dumps(schema)


def _known(
    content: dict[str, Any], names: Mapping[str, Any], nullable: list[str]
) -> dict[str, Any]:
    """Leave out what nobody asked for, and say what was left out."""
    known = {name: value for name, value in content.items() if name in names}
    return {**dict.fromkeys(nullable), **known}


def _member(member: _hints.Field, local: Mapping[str, Any]) -> _Field:
    field = _field(member.name, member.hint, local)
    schema = field.schema
    if member.description and "description" not in schema:
        schema = {**schema, "description": member.description}
    if member.required:
        return field._replace(schema=schema)
    # The class knows what it means to leave it out.
    if member.default is not ABSENT:
        schema = with_default(schema, member.default)
    return field._replace(schema=schema, required=False, nullable=False)


def _field(name: str, hint: Any, local: Mapping[str, Any]) -> _Field:
    if not isinstance(name, str):
        raise HintError(str(name), f"its name is not a string but {kind_of(name)}", "give it one")
    _refuse_value(name, hint)
    bare, metadata, optional = _bare(hint)
    kind, args = typing.get_origin(bare) or bare, typing.get_args(bare)
    if is_enum(kind) or kind is typing.Literal:
        schema = _choice(bare, name)
    elif kind in ARRAYS | SETS and args:
        schema = {"type": "array", "items": _choice(_bare(args[0])[0], name, several=True)}
    elif kind in ARRAYS | SETS:
        raise HintError(name, f"{kind.__name__} does not say what it holds", _CHOICES)
    else:
        schema = _plain(bare, name, local)
    schema = _restricted(apply(schema, metadata, name), name)
    return _Field(schema, not optional, Planner(local).plan(hint).make, optional)


def _refuse_value(name: str, hint: Any) -> None:
    """Refuse what is no type hint, and say which was probably meant.

    Raises:
        HintError: If it is a value.
    """
    said = f"must be a type hint, not {kind_of(hint)}"
    if hint is None:
        raise HintError(name, said, "elicit.form(message, None) asks for a yes or no")
    if isinstance(hint, str):
        named = _HINTS.get(hint, hint if hint in _HINTS.values() else "")
        advice = f"write {named}, without quotes" if named else _ADVICE
        raise HintError(name, f"{said} {hint[:80]!r}", advice)
    if type(hint) in (list, tuple, set, frozenset):
        texts = [json.dumps(value) for value in hint if isinstance(value, str)]
        alike = texts and len(texts) == len(hint)
        raise HintError(name, said, f"write Literal[{', '.join(texts)}]" if alike else _ADVICE)
    if isinstance(hint, Mapping):
        named = _HINTS.get(str(hint.get("type")), "a hint")
        raise HintError(name, said, f"write {named}, or the whole form as {_WHOLE}")
    written = isinstance(hint, type) or typing.get_origin(hint) is not None or _is_special(hint)
    if not written or not isinstance(hint, Hashable):
        cls = type(hint)
        own = cls.__module__ != "builtins" or cls in (str, int, float, bool)
        raise HintError(name, said, f"write {cls.__name__}" if own else _ADVICE)


def _is_special(hint: Any) -> bool:
    """Tell what typing makes of things that are no classes: aliases, variables, unions."""
    return type(hint).__module__ in ("typing", "types", "typing_extensions") and not isinstance(
        hint, (FunctionType, ModuleType)
    )


def _plain(hint: Any, name: str, local: Mapping[str, Any]) -> Schema:
    """Give the schema of a field that is no choice, whose hint alone says nothing too much."""
    try:
        schema = SchemaBuilder(local).schema(hint, name)
    except HintError as error:  # its advice is for tools
        raise HintError(error.path, error.reason, _ADVICE) from None
    kind = schema.get("type")
    if isinstance(kind, str) and schema.keys() - _NOTES - _KEYWORDS.get(kind, schema.keys()):
        raise HintError(name, f"{_hints.type_name(hint)} does not fit a form", _ADVICE)
    return schema


def _bare(hint: Any) -> tuple[Any, list[Any], bool]:
    """Take off what surrounds the type: metadata, aliases, and that it may be None."""
    metadata: list[Any] = []
    optional = False
    while True:
        hint, outer = peel(hint)
        metadata[:0] = outer
        inner = alias_value(hint)
        if inner is None:
            inner = without_null(hint)
            optional = optional or inner is not None
        if inner is None:
            return hint, metadata, optional
        hint = inner


def _choice(hint: Any, path: str, *, several: bool = False) -> Schema:
    """Give the schema of one of some strings; titles are told where an Enum's names say more."""
    if is_enum(hint):
        choices = {member.value: _title(member.name) for member in hint}
    elif typing.get_origin(hint) is typing.Literal:
        choices = dict.fromkeys(typing.get_args(hint), "")
    else:
        raise HintError(path, f"is a list of {_hints.type_name(hint)}", _CHOICES)
    if not choices or not all(type(value) is str for value in choices):
        raise HintError(path, "the choices of a form are strings", _ADVICE)
    if all(_same(title, value) for value, title in choices.items()):
        return {"type": "string", "enum": list(choices)}
    titled = [{"const": value, "title": title} for value, title in choices.items()]
    return {"anyOf": titled} if several else {"type": "string", "oneOf": titled}


def _title(name: str) -> str:
    words = name.replace("_", " ").strip()
    return words.capitalize() if words.isupper() else words


def _same(title: str, value: str) -> bool:
    """Tell a title that says nothing beside its value."""
    return not title or title.casefold() == value.replace("_", " ").replace("-", " ").casefold()


def _without_null(schema: Schema) -> tuple[Schema, bool]:
    """Take the null out of a schema that another library made, and say whether there was one."""
    kinds = schema.get("type")
    if isinstance(kinds, list) and "null" in kinds:
        rest = [kind for kind in kinds if kind != "null"]
        bare = {**schema, "type": rest[0] if len(rest) == 1 else rest}
        if "enum" in bare:
            bare["enum"] = [value for value in bare["enum"] if value is not None]
        return bare, True
    if kinds is None and None in schema.get("enum", []):  # msgspec's choices
        return {**schema, "enum": [value for value in schema["enum"] if value is not None]}, True
    branches = schema.get("anyOf", [])
    others = [branch for branch in branches if branch != {"type": "null"}]
    if len(others) == 1 and len(branches) == 2:
        return {**others[0], **{key: v for key, v in schema.items() if key != "anyOf"}}, True
    return schema, False


def _restricted(schema: Schema, path: str) -> Schema:
    """Hold the schema of a field to what the protocol allows in a form.

    Raises:
        HintError: If it says more.
    """
    if "const" in schema:  # pydantic's Literal of one value
        schema = {**schema, "enum": [schema["const"]]}
        del schema["const"]
    if "type" not in schema and all(type(value) is str for value in schema.get("enum", [None])):
        schema = {"type": "string", **schema}  # msgspec's choices
    kind = schema.get("type")
    if not isinstance(kind, str) or kind not in _KEYWORDS:
        raise HintError(path, f"{_said(schema)} does not fit a form", _ADVICE)
    if kind == "array":
        schema = {**schema, "items": _items(schema.get("items"), path)}
    for keyword in sorted(schema.keys() - _NOTES - _KEYWORDS[kind]):
        advice = f"leave it out, or change the hint: {_ADVICE}"
        raise HintError(path, f"{keyword} has no place in a form", advice)
    if schema.get("format", "email") not in _FORMATS:
        allowed = ", ".join(_FORMATS)
        raise HintError(path, f"a form has no format {schema['format']!r}", f"it has {allowed}")
    return schema


def _items(items: Any, path: str) -> Schema:
    if isinstance(items, dict) and ("enum" in items or "const" in items or "anyOf" in items):
        if "const" in items:
            return {"type": "string", "enum": [items["const"]]}
        return {"type": "string", **items} if "enum" in items else items
    raise HintError(path, "is a list of something else than choices", _CHOICES)


def _said(schema: Schema) -> str:
    if "$ref" in schema or schema.get("type") == "object":
        return "a nested object"
    return "a union" if "anyOf" in schema or isinstance(schema.get("type"), list) else "this type"
