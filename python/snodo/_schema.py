"""Type hints to JSON Schema, written for hosts: no titles, references only where types recur."""

from __future__ import annotations

import typing
from collections import abc
from collections.abc import Hashable, Mapping
from typing import Any

from ._algebra import JSON_TYPES, enumeration, join, with_default
from ._constraints import apply
from ._hints import (
    ABSENT,
    NONE_TYPE,
    Fields,
    HintError,
    alias_value,
    fields_of,
    is_alias,
    is_pydantic,
    is_struct,
    is_union,
    own_doc,
    peel,
    type_name,
    union_members,
)

Schema = dict[str, Any]

_ANY = (Any, object)
_PLAIN: dict[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    NONE_TYPE: {"type": "null"},
}
# By name, so that nobody pays for importing what the tool does not use.
_STANDARD: dict[str, Schema] = {
    "datetime.datetime": {"type": "string", "format": "date-time"},
    "datetime.date": {"type": "string", "format": "date"},
    "datetime.time": {"type": "string", "format": "time"},
    "datetime.timedelta": {"type": "string", "format": "duration"},
    "uuid.UUID": {"type": "string", "format": "uuid"},
    "pathlib.Path": {"type": "string"},
    "pathlib.PurePath": {"type": "string"},
    "pathlib.PosixPath": {"type": "string"},
    "pathlib.PurePosixPath": {"type": "string"},
    "pathlib.PureWindowsPath": {"type": "string"},
}
DECIMAL_TEXT = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
ARRAYS = frozenset(
    {list, abc.Sequence, abc.MutableSequence, abc.Iterable, abc.Collection, abc.Reversible}
)
SETS = frozenset({set, frozenset, abc.Set, abc.MutableSet})
MAPPINGS = frozenset({dict, abc.Mapping, abc.MutableMapping})
_ADVICE = (
    "use a type that JSON can say (a dataclass, TypedDict, Enum, list, dict, str, ...)"
    " or pass input_schema="
)
_RETURN_ADVICE = "annotate what JSON can say, or pass output_schema= (None for no schema)"


def standard_name(hint: Any) -> str:
    """Give ``module.Name`` of a class, with the private parts of its module left out."""
    return f"{getattr(hint, '__module__', '').partition('.')[0]}.{getattr(hint, '__name__', '')}"


class SchemaBuilder:
    """Builds the schemas of one definition, which share their ``$defs``."""

    def __init__(self, local: Mapping[str, Any], *, output: bool = False) -> None:
        """Take the names that hints may use and the direction the values go."""
        self.local = local
        self.output = output
        self.definitions: dict[str, Schema] = {}
        self._open: dict[Hashable, str | None] = {}
        self._named: dict[Hashable, str] = {}

    def schema(self, hint: Any, path: str) -> Schema:
        """Give the schema of a hint.

        Raises:
            HintError: If the hint cannot be expressed.
        """
        bare, metadata = peel(hint)
        return apply(self._bare(bare, path), metadata, path)

    def _bare(self, hint: Any, path: str) -> Schema:
        if hint in _ANY:
            return {}
        if isinstance(hint, Hashable) and hint in _PLAIN:
            return dict(_PLAIN[hint])
        if isinstance(hint, (str, typing.ForwardRef)):
            name = hint if isinstance(hint, str) else hint.__forward_arg__
            raise HintError(
                path,
                f"the forward reference {name!r} cannot be resolved",
                "define the type first, or name a recursive type with a class",
            )
        value = alias_value(hint)
        if value is not None:
            return self._named_type(hint, path, lambda: self.schema(value, path))
        if is_union(hint):
            return self._union(hint, path)
        origin, args = typing.get_origin(hint), typing.get_args(hint)
        if origin is typing.Literal:
            return _literal(args, path)
        kind = origin or hint
        if kind in (list, tuple, dict, set, frozenset) and not args and not self.output:
            raise HintError(
                path,
                f"{kind.__name__} does not say what it holds",
                f"write {'dict[str, Any]' if kind is dict else f'{kind.__name__}[Any]'}"
                " or a type of its items"
                if kind is not tuple
                else "write tuple[Any, ...] or the type of each item",
            )
        if kind in ARRAYS:
            return self._array(args, path)
        if kind in SETS:
            return {**self._array(args, path), "uniqueItems": True}
        if kind is tuple:
            return self._tuple(args, path)
        if kind in MAPPINGS:
            return self._mapping(args, path)
        return self._class(hint, kind, path)

    def _class(self, hint: Any, kind: Any, path: str) -> Schema:
        if isinstance(kind, typing.TypeVar):
            raise HintError(path, f"the type variable {kind} stands for nothing", "write the type")
        if not isinstance(kind, type):
            raise HintError(path, f"{type_name(hint)} has no JSON form", self._advice())
        name = standard_name(kind)
        if name in _STANDARD:
            return dict(_STANDARD[name])
        if name == "decimal.Decimal":
            if self.output:
                return {"type": "string"}
            return {"type": ["string", "number"], "pattern": DECIMAL_TEXT}
        if kind is bytes:
            if self.output:
                raise HintError(
                    path, "bytes are not JSON", "return Image, Audio or base64 text instead"
                )
            return {"type": "string", "contentEncoding": "base64"}
        if _is_enum(kind):
            return _enum(kind, path)
        if is_pydantic(kind):
            return self._adopt(_pydantic_schema(hint, self.output, path))
        if is_struct(kind):
            return self._adopt(_struct_schema(hint, path))
        if kind.__module__ not in ("builtins", "typing"):
            fields = fields_of(hint, self.local, path)
            if fields is not None:
                return self._named_type(hint, path, lambda: self._fields(kind, fields, path))
            if issubclass(kind, (str, int, float)):
                raise HintError(
                    path,
                    f"{type_name(kind)} is a subclass that JSON cannot tell apart",
                    "use NewType, Annotated or an Enum",
                )
        raise HintError(path, f"{type_name(hint)} has no JSON form", self._advice())

    def _advice(self) -> str:
        return _RETURN_ADVICE if self.output else _ADVICE

    def _array(self, args: tuple[Any, ...], path: str) -> Schema:
        items = self.schema(args[0], f"{path}.items") if args else {}
        return {"type": "array", "items": items} if items else {"type": "array"}

    def _tuple(self, args: tuple[Any, ...], path: str) -> Schema:
        if (len(args) == 2 and args[1] is Ellipsis) or not args:
            return self._array(args, path)
        if args == ((),):
            args = ()
        return {
            "type": "array",
            "prefixItems": [self.schema(arg, f"{path}.{i}") for i, arg in enumerate(args)],
            "items": False,
            "minItems": len(args),
            "maxItems": len(args),
        }

    def _mapping(self, args: tuple[Any, ...], path: str) -> Schema:
        schema: Schema = {"type": "object"}
        if not args:
            return schema
        keys, _ = peel(args[0])
        names = self.schema(args[0], f"{path}.keys") if keys not in _ANY else {"type": "string"}
        if names.get("type") != "string":
            raise HintError(
                f"{path}.keys",
                f"keys of JSON objects are strings, not {type_name(keys)}",
                "write dict[str, ...] or a list of pairs",
            )
        if len(names) > 1:
            schema["propertyNames"] = {k: v for k, v in names.items() if k != "type"}
        values = self.schema(args[1], f"{path}.values")
        if values:
            schema["additionalProperties"] = values
        return schema

    def _union(self, hint: Any, path: str) -> Schema:
        members = union_members(hint)
        branches: list[Schema] = []
        for member in members:
            branch = self.schema(member, path)
            if not branch:
                return {}
            if branch not in branches:
                branches.append(branch)
        return join(branches)

    def _named_type(self, key: Hashable, path: str, build: Any) -> Schema:
        """Inline a type, unless it contains itself: then it becomes a ``$defs`` entry."""
        if key in self._named:
            return {"$ref": f"#/$defs/{self._named[key]}"}
        if key in self._open:
            self._open[key] = self._open[key] or self._free_name(key)
            return {"$ref": f"#/$defs/{self._open[key]}"}
        self._open[key] = None
        try:
            schema: Schema = build()
        finally:
            name = self._open.pop(key)
        if name is None:
            return schema
        if schema == {"$ref": f"#/$defs/{name}"}:
            raise HintError(path, f"{type_name(key)} is defined by itself", "give it a base case")
        self._named[key] = name
        self.definitions[name] = schema
        return {"$ref": f"#/$defs/{name}"}

    def _free_name(self, key: Any) -> str:
        origin = key if is_alias(key) else typing.get_origin(key) or key
        base = name = getattr(origin, "__name__", "Type")
        taken = {*self.definitions, *(name for name in self._open.values() if name)}
        number = 2
        while name in taken:
            name, number = f"{base}{number}", number + 1
        return name

    def _fields(self, cls: Any, fields: Fields, path: str) -> Schema:
        if fields.kind == "namedtuple":
            items = [self.schema(m.hint, f"{path}.{m.name}") for m in fields.members]
            return {
                "type": "array",
                "prefixItems": items,
                "items": False,
                "minItems": sum(member.required or self.output for member in fields.members),
                "maxItems": len(items),
            }
        properties: Schema = {}
        required = []
        for member in fields.members:
            if not member.constructed and not self.output:
                continue
            schema = self.schema(member.hint, f"{path}.{member.name}")
            if member.description and "description" not in schema:
                schema = {**schema, "description": member.description}
            if member.default is not ABSENT and not self.output:
                schema = with_default(schema, member.default)
            properties[member.name] = schema
            if member.required or (self.output and fields.kind != "typeddict"):
                required.append(member.name)
        result: Schema = {"type": "object"}
        text = own_doc(cls)
        if text:
            from ._docstring import parse

            result["description"] = parse(text)[0]
            if not result["description"]:
                del result["description"]
        result["properties"] = properties
        if required:
            result["required"] = required
        if not self.output:
            result["additionalProperties"] = False
        return result

    def _adopt(self, schema: Schema) -> Schema:
        """Take over a schema that another library made: quiet, inlined, our names for its own."""
        from ._adopt import adopt

        schema, definitions = adopt(schema, taken=self.definitions)
        self.definitions.update(definitions)
        return schema


def _literal(values: tuple[Any, ...], path: str) -> Schema:
    for value in values:
        if type(value) not in JSON_TYPES:
            raise HintError(
                path,
                f"a Literal of {type_name(type(value))} has no JSON form",
                "use strings, numbers, booleans or an Enum class",
            )
    return enumeration(list(values))


def _is_enum(kind: type) -> bool:
    return any(
        base.__module__ == "enum" and base.__name__ in ("Enum", "Flag") for base in kind.__mro__
    )


def _enum(cls: Any, path: str) -> Schema:
    if any(base.__name__ == "Flag" and base.__module__ == "enum" for base in cls.__mro__):
        raise HintError(path, f"{type_name(cls)} is a Flag", "use list[...] of an Enum")
    values = [member.value for member in cls]
    if not values:
        raise HintError(path, f"the Enum {type_name(cls)} is empty", "give it members")
    for value in values:
        if type(value) not in JSON_TYPES:
            raise HintError(
                path,
                f"a value of {type_name(cls)} is a {type_name(type(value))}, which is not JSON",
                "use strings or numbers as values",
            )
    return enumeration(values)


def _pydantic_schema(hint: Any, output: bool, path: str) -> Schema:
    import pydantic

    try:
        return pydantic.TypeAdapter(hint).json_schema(
            mode="serialization" if output else "validation"
        )
    except Exception as error:  # pydantic has many ways to refuse
        raise HintError(
            path,
            f"pydantic has no JSON schema for {type_name(hint)}: {str(error).splitlines()[0]}",
            "change the model or pass the schema yourself",
        ) from None


def _struct_schema(hint: Any, path: str) -> Schema:
    import msgspec

    try:
        return msgspec.json.schema(hint)
    except TypeError as error:
        raise HintError(
            path,
            f"msgspec has no JSON schema for {type_name(hint)}: {error}",
            "change the Struct or pass the schema yourself",
        ) from None
