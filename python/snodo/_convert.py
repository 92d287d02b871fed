"""JSON values to the annotated Python types: one converter a parameter, built once.

A converter sees values that the schema admitted. What is refused here is named by path and by what
was expected, never by value.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from . import _hints
from ._hints import ABSENT, NONE_TYPE, Fields, HintError, fields_of, peel
from ._schema import ARRAYS, MAPPINGS, SETS, standard_name

Convert = Callable[[Any], Any]


class ConversionError(ValueError):
    """An argument that cannot become its annotated type; the text may be shown to the caller."""


class Mismatch(Exception):
    """A value inside an argument that does not fit; path segments are added on the way out."""

    def __init__(self, expected: str, *path: str) -> None:
        """Say what was expected."""
        super().__init__(expected)
        self.expected = expected
        self.path = list(path)


class Plan(NamedTuple):
    """How values of one hint are made."""

    kind: typing.Literal["plain", "number", "native", "own"]
    """``plain``: JSON as it is; ``native``: msgspec can; ``number`` and ``own``: only ``make``."""
    make: Convert | None = None


PLAIN = Plan("plain")


def converter(hint: Any, key: str, local: Mapping[str, Any], bounds: Any = None) -> Convert | None:
    """Give the converter of a parameter; None if its JSON value is what the hint says.

    Args:
        hint: The parameter's annotation.
        key: Its name on the wire, the first segment of paths in messages.
        local: Names that hints of locally defined types may use.
        bounds: The parameter's schema, for bounds that JSON Schema cannot hold text to.
    """
    make = Planner(local).plan(hint).make
    if make is None:
        return None
    if standard_name(peel(hint)[0]) == "decimal.Decimal" and isinstance(bounds, dict):
        make = _bounded(make, bounds)
    function = make

    def convert(value: Any) -> Any:
        try:
            return function(value)
        except Mismatch as error:
            path = "/".join((key, *reversed(error.path)))
            raise ConversionError(f"Invalid arguments at /{path}: {error.expected}") from None

    return convert


def number_kind(hint: Any) -> typing.Literal["int", "float"] | None:
    """Say what a JSON number becomes when nothing else has to be converted."""
    members = {peel(member)[0] for member in _hints.union_members(hint) if _hashable(member)}
    if int in members and float not in members:
        return "int"
    if float in members and int not in members:
        return "float"
    return None


class Planner:
    """Plans the conversions of one parameter; recursive types meet their own plan again."""

    def __init__(self, local: Mapping[str, Any]) -> None:
        """Take the names that hints may use."""
        self.local = local
        self._open: dict[Any, Convert | None] = {}

    def plan(self, hint: Any) -> Plan:
        """Decide how values of this hint are made."""
        hint, _ = peel(hint)
        value = _hints.alias_value(hint)
        if value is not None:
            return self._recursive(hint, lambda: self.plan(value))
        if hint is int:
            return Plan("number", _integer)
        if hint is float:
            return Plan("number", _float)
        if hint in (str, bool, Any, object, NONE_TYPE):
            return PLAIN
        origin, args = typing.get_origin(hint), typing.get_args(hint)
        if origin is typing.Literal:
            return PLAIN
        if _hints.is_union(hint):
            return self._union(hint)
        kind = origin or hint
        if kind in ARRAYS:
            return self._items(args, list)
        if kind in SETS:
            return self._items(args, frozenset if kind is frozenset else set)
        if kind is tuple:
            if (len(args) == 2 and args[1] is Ellipsis) or not args:
                return self._items(args, tuple)
            return self._tuple(args)
        if kind in MAPPINGS:
            return self._mapping(args)
        return self._class(hint, kind)

    def _class(self, hint: Any, kind: Any) -> Plan:
        if standard_name(kind) in _NATIVE or kind is bytes:
            return Plan("native", native(hint))
        if _is_enum(kind):
            values = {(type(member.value), member.value): member for member in kind}
            native_ok = {kind for kind, _ in values} in ({str}, {int})
            return Plan("native" if native_ok else "own", _enum(values))
        if _hints.is_pydantic(kind):
            return Plan("own", _pydantic(hint))
        if _hints.is_struct(kind):
            return Plan("native", native(hint))
        fields = fields_of(hint, self.local)
        if fields is None:
            return Plan("own", _path(kind)) if "Path" in getattr(kind, "__name__", "") else PLAIN
        return self._recursive(hint, lambda: self._fields(hint, kind, fields))

    def _recursive(self, key: Any, build: Callable[[], Plan]) -> Plan:
        if key in self._open:
            return Plan("own", lambda value: typing.cast("Convert", self._open[key])(value))
        self._open[key] = None
        plan = build()
        self._open[key] = plan.make or _same
        return plan

    def _fields(self, hint: Any, kind: Any, fields: Fields) -> Plan:
        plans = {m.name: self.plan(m.hint) for m in fields.members if m.constructed}
        own = any(plan.kind == "own" for plan in plans.values())
        # Strings may name local types, which msgspec cannot resolve.
        strings = any(isinstance(value, str) for value in _hints.own_annotations(kind).values())
        if fields.simple and not own and not strings and _msgspec_takes(hint):
            return Plan("native", native(hint))
        makes = {name: plan.make for name, plan in plans.items()}
        if fields.kind == "namedtuple":
            return Plan("own", _named(kind, list(makes.items())))
        required = [m.name for m in fields.members if m.required and m.constructed]
        return Plan("own", _members(kind, makes, required, fields.kind))

    def _items(self, args: tuple[Any, ...], kind: Any) -> Plan:
        plan = self.plan(args[0]) if args else PLAIN
        if plan.make is None:
            return PLAIN if kind is list else Plan("own", _collect(None, kind))
        if plan.kind == "native":
            return Plan("native", native(kind[args[0], ...] if kind is tuple else kind[args[0]]))
        return Plan(
            "number" if kind is list and plan.kind == "number" else "own", _collect(plan.make, kind)
        )

    def _tuple(self, args: tuple[Any, ...]) -> Plan:
        makes = [self.plan(arg).make for arg in args if arg != ()]

        def make(value: Any) -> Any:
            if not isinstance(value, list) or len(value) != len(makes):
                raise Mismatch(f"expected an array of {len(makes)} items")
            return tuple(
                _at(make, item, i) for i, (make, item) in enumerate(zip(makes, value, strict=True))
            )

        return Plan("own", make)

    def _mapping(self, args: tuple[Any, ...]) -> Plan:
        if not args:
            return PLAIN
        keys, values = self.plan(args[0]), self.plan(args[1])
        if keys.make is None and values.make is None:
            return PLAIN
        if "own" not in (keys.kind, values.kind) and "native" in (keys.kind, values.kind):
            return Plan("native", native(dict[args[0], args[1]]))  # type: ignore[valid-type]
        of_key, of_value = keys.make or _same, values.make

        def make(value: Any) -> Any:
            if not isinstance(value, dict):
                raise Mismatch("expected an object")
            return {of_key(name): _at(of_value, item, name) for name, item in value.items()}

        return Plan("number" if keys.make is None and values.kind == "number" else "own", make)

    def _union(self, hint: Any) -> Plan:
        members = _hints.union_members(hint)
        plans = [self.plan(member) for member in members]
        if all(plan.make is None for plan in plans):
            return PLAIN
        if all(plan.kind in ("plain", "number") for plan in plans) and not any(
            typing.get_origin(peel(member)[0]) for member in members
        ):
            kind = number_kind(hint)
            if kind is None:
                return PLAIN
            return Plan("number", _among(_integer if kind == "int" else _float))
        if all(plan.kind != "own" for plan in plans) and _msgspec_takes(hint):
            return Plan("native", native(hint))
        from ._choose import choose

        return Plan(
            "own", choose([(m, p.make) for m, p in zip(members, plans, strict=True)], self.local)
        )


_NATIVE = frozenset(
    {
        "datetime.datetime",
        "datetime.date",
        "datetime.time",
        "datetime.timedelta",
        "decimal.Decimal",
        "uuid.UUID",
    }
)
_EXPECTED = {
    "Invalid RFC3339 encoded datetime": "expected a date and time like 2026-07-28T09:30:00Z",
    "Invalid RFC3339 encoded date": "expected a date like 2026-07-28",
    "Invalid RFC3339 encoded time": "expected a time like 09:30:00",
    "Invalid ISO8601 duration": "expected a duration like PT1H30M",
    "Invalid UUID": "expected a UUID",
    "Invalid decimal string": "expected a decimal number",
    "Invalid base64 encoded string": "expected base64",
}


def native(hint: Any) -> Convert:
    """Give a converter that leaves the work to msgspec."""
    import msgspec

    def make(value: Any) -> Any:
        try:
            return msgspec.convert(value, hint, dec_hook=_hook)
        except msgspec.ValidationError:
            whole = _whole(value)
            if whole is not value:
                # JSON Schema counts 5.0 as an integer; msgspec does not.
                try:
                    return msgspec.convert(whole, hint, dec_hook=_hook)
                except msgspec.ValidationError as second:
                    error = second
            raise _mismatch(error) from None

    return make


def _mismatch(error: Exception) -> Mismatch:
    """Translate msgspec's refusal, keeping only what cannot hold the value or foreign text."""
    text, _, place = str(error).rpartition(" - at `$")
    if not text:
        text, place = place, ""
    path = [
        part for part in place.rstrip("`").replace("]", "").replace("[", ".").split(".") if part
    ]
    if text.startswith(("Expected ", "Object missing required field ", "Object contains unknown")):
        expected = text[0].lower() + text[1:].replace("`", "")
    elif text.startswith("Invalid enum value"):
        expected = "value is not one of the allowed values"
    else:
        expected = _EXPECTED.get(text, "value does not fit the type")
    return Mismatch(expected, *reversed(path))


def _hook(cls: Any, value: Any) -> Any:
    """Make what msgspec does not know."""
    kind = typing.get_origin(cls) or cls
    if _hints.is_pydantic(kind):
        return _pydantic(cls)(value)
    return _path(kind)(value)


def _msgspec_takes(hint: Any) -> bool:
    """Ask msgspec whether it understands a hint and everything in it."""
    import msgspec

    try:
        msgspec.json.Decoder(hint, dec_hook=_hook)
    except (TypeError, NameError, AttributeError):
        return False
    return True


def _is_enum(kind: Any) -> bool:
    return any(
        b.__module__ == "enum" and b.__name__ == "Enum" for b in getattr(kind, "__mro__", ())
    )


def _hashable(value: Any) -> bool:
    return getattr(value, "__hash__", None) is not None


def _same(value: Any) -> Any:
    return value


def _integer(value: Any) -> Any:
    if type(value) is int:
        return value
    if type(value) is float and value.is_integer():
        return int(value)
    raise Mismatch("expected an integer")


def _float(value: Any) -> Any:
    if type(value) is float:
        return value
    if type(value) is not int:
        raise Mismatch("expected a number")
    try:
        return float(value)
    except OverflowError:
        raise Mismatch("expected a number that a float can hold") from None


def _among(make: Convert) -> Convert:
    """Leave what is no number to the other members of a union."""

    def convert(value: Any) -> Any:
        try:
            return make(value)
        except Mismatch:
            return value

    return convert


def _whole(value: Any) -> Any:
    """Give the value with 5.0 as 5 throughout; the very same value if there is no such number."""
    if type(value) is float:
        return int(value) if value.is_integer() else value
    if type(value) is list:
        items = [_whole(item) for item in value]
        return items if any(a is not b for a, b in zip(items, value, strict=True)) else value
    if type(value) is dict:
        members = {name: _whole(item) for name, item in value.items()}
        return members if any(members[name] is not item for name, item in value.items()) else value
    return value


def _at(make: Convert | None, value: Any, segment: object) -> Any:
    if make is None:
        return value
    try:
        return make(value)
    except Mismatch as error:
        error.path.append(str(segment))
        raise


def _collect(make: Convert | None, kind: Any) -> Convert:
    def collect(value: Any) -> Any:
        if not isinstance(value, list):
            raise Mismatch("expected an array")
        items = value if make is None else [_at(make, item, i) for i, item in enumerate(value)]
        if kind is list:
            return items
        try:
            return kind(items)
        except TypeError:
            raise Mismatch("expected items that a set can hold") from None

    return collect


def _enum(values: dict[Any, Any]) -> Convert:
    def make(value: Any) -> Any:
        try:
            member = values.get((type(value), value))
            if member is None:
                member = (
                    values[(int, int(value))]
                    if type(value) is float
                    else values[(float, float(value))]
                )
        except (KeyError, TypeError, ValueError, OverflowError):
            raise Mismatch("value is not one of the allowed values") from None
        return member

    return make


def _path(kind: Any) -> Convert:
    def make(value: Any) -> Any:
        if not isinstance(value, str):
            raise Mismatch("expected a string")
        if "\0" in value:
            raise Mismatch("expected a path without null characters")
        return kind(value)

    return make


def _pydantic(hint: Any) -> Convert:
    import pydantic

    adapter = pydantic.TypeAdapter(hint)

    def make(value: Any) -> Any:
        try:
            return adapter.validate_python(value)
        except pydantic.ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            text = (
                first["msg"] if first["type"] in _PYDANTIC_SAFE else "value does not fit the type"
            )
            path = [str(part) for part in first["loc"]]
            raise Mismatch(text, *reversed(path)) from None

    return make


# Messages of these types are fixed sentences; others may quote the value or a validator's text.
_PYDANTIC_SAFE = frozenset(
    {
        "missing",
        "extra_forbidden",
        "int_type",
        "int_parsing",
        "float_type",
        "string_type",
        "bool_type",
        "list_type",
        "dict_type",
        "greater_than",
        "greater_than_equal",
        "less_than",
        "less_than_equal",
        "string_too_short",
        "string_too_long",
        "too_short",
        "too_long",
    }
)


def _named(cls: Any, makes: list[tuple[str, Convert | None]]) -> Convert:
    def make(value: Any) -> Any:
        if not isinstance(value, list) or len(value) > len(makes):
            raise Mismatch(f"expected an array of at most {len(makes)} items")
        items = [_at(makes[i][1], item, i) for i, item in enumerate(value)]
        try:
            return cls(*items)
        except TypeError:
            raise Mismatch("expected more items") from None

    return make


def _members(cls: Any, makes: dict[str, Convert | None], required: list[str], kind: str) -> Convert:
    def make(value: Any) -> Any:
        if not isinstance(value, dict):
            raise Mismatch("expected an object")
        for name in required:
            if name not in value:
                raise Mismatch("required property is missing", name)
        members = {}
        for name, item in value.items():
            if name not in makes:
                raise Mismatch("property is not allowed", name)
            members[name] = _at(makes[name], item, name)
        if kind == "typeddict":
            return members
        if kind == "attrs":
            # attrs names the argument of a private attribute without its underscores.
            members = {_alias(cls, name): item for name, item in members.items()}
        try:
            return cls(**members)
        except (ValueError, TypeError):
            raise Mismatch(f"value is refused by {cls.__name__}") from None

    return make


def _alias(cls: Any, name: str) -> str:
    for attribute in cls.__attrs_attrs__:
        if attribute.name == name:
            return str(attribute.alias)
    return name


def _bounded(make: Convert, schema: Mapping[str, Any]) -> Convert:
    def bounded(value: Any) -> Any:
        number = make(value)
        if (
            ("minimum" in schema and number < schema["minimum"])
            or ("maximum" in schema and number > schema["maximum"])
            or ("exclusiveMinimum" in schema and number <= schema["exclusiveMinimum"])
            or ("exclusiveMaximum" in schema and number >= schema["exclusiveMaximum"])
        ):
            raise Mismatch("number is outside the declared bound")
        return number

    return bounded


__all__ = ["ABSENT", "ConversionError", "HintError", "converter", "number_kind"]
