"""JSON values to the annotated Python types: one converter a parameter, built once.

A converter sees values that the schema admitted. What is refused here is named by path and by what
was expected, never by value.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from . import _hints
from ._hints import NONE_TYPE, Fields, fields_of, peel
from ._makers import (
    Convert,
    Mismatch,
    adapted,
    among,
    at,
    bounded,
    collected,
    enumerated,
    floating,
    hook,
    integer,
    members_of,
    named_tuple,
    native,
    path_of,
    same,
)
from ._report import refused
from ._schema import ARRAYS, MAPPINGS, SETS, standard_name


class ConversionError(ValueError):
    """An argument that cannot become its annotated type; the text may be shown to the caller."""


class Plan(NamedTuple):
    """How values of one hint are made."""

    kind: typing.Literal["plain", "number", "native", "own"]
    """``plain``: JSON as it is; ``native``: msgspec can; ``number`` and ``own``: only ``make``."""
    make: Convert | None = None


PLAIN = Plan("plain")


def converter(
    hint: Any, key: str, local: Mapping[str, Any], bounds: Any = None, component: str = "argument"
) -> Convert | None:
    """Give the converter of a parameter; None if its JSON value is what the hint says.

    Args:
        hint: The parameter's annotation.
        key: Its name on the wire, the first segment of paths in messages.
        local: Names that hints of locally defined types may use.
        bounds: The parameter's schema, for bounds that JSON Schema cannot hold text to.
        component: Whose parameter it is, for the log.
    """
    make = Planner(local).plan(hint).make
    if make is None:
        return None
    if standard_name(peel(hint)[0]) == "decimal.Decimal" and isinstance(bounds, dict):
        make = bounded(make, bounds)
    function = make

    def convert(value: Any) -> Any:
        try:
            return function(value)
        except Mismatch as error:
            path = "/".join((key, *reversed(error.path)))
            if error.said is not None:
                refused(component, path, error.said)
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
            return Plan("number", integer)
        if hint is float:
            return Plan("number", floating)
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
        if standard_name(kind) in NATIVE or kind is bytes:
            return Plan("native", native(hint))
        if is_enum(kind):
            values = {(type(member.value), member.value): member for member in kind}
            native_ok = {kind for kind, _ in values} in ({str}, {int})
            return Plan("native" if native_ok else "own", enumerated(values))
        if _hints.is_pydantic(kind):
            return Plan("own", adapted(hint))
        if _hints.is_struct(kind):
            return Plan("native", native(hint))
        fields = fields_of(hint, self.local)
        if fields is None:
            return Plan("own", path_of(kind)) if "Path" in getattr(kind, "__name__", "") else PLAIN
        return self._recursive(hint, lambda: self._fields(hint, kind, fields))

    def _recursive(self, key: Any, build: Callable[[], Plan]) -> Plan:
        if key in self._open:
            return Plan("own", lambda value: typing.cast("Convert", self._open[key])(value))
        self._open[key] = None
        plan = build()
        self._open[key] = plan.make or same
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
            return Plan("own", named_tuple(kind, list(makes.items())))
        required = [m.name for m in fields.members if m.required and m.constructed]
        return Plan("own", members_of(kind, makes, required, fields.kind))

    def _items(self, args: tuple[Any, ...], kind: Any) -> Plan:
        plan = self.plan(args[0]) if args else PLAIN
        if plan.make is None:
            return PLAIN if kind is list else Plan("own", collected(None, kind))
        if plan.kind == "native":
            return Plan("native", native(kind[args[0], ...] if kind is tuple else kind[args[0]]))
        return Plan(
            "number" if kind is list and plan.kind == "number" else "own",
            collected(plan.make, kind),
        )

    def _tuple(self, args: tuple[Any, ...]) -> Plan:
        makes = [self.plan(arg).make for arg in args if arg != ()]

        def make(value: Any) -> Any:
            if not isinstance(value, list) or len(value) != len(makes):
                raise Mismatch(f"expected an array of {len(makes)} items")
            return tuple(
                at(make, item, i) for i, (make, item) in enumerate(zip(makes, value, strict=True))
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
        of_key, of_value = keys.make or same, values.make

        def make(value: Any) -> Any:
            if not isinstance(value, dict):
                raise Mismatch("expected an object")
            return {of_key(name): at(of_value, item, name) for name, item in value.items()}

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
            return Plan("number", among(integer if kind == "int" else floating))
        if all(plan.kind != "own" for plan in plans) and _msgspec_takes(hint):
            return Plan("native", native(hint))
        from ._choose import choose

        return Plan(
            "own", choose([(m, p.make) for m, p in zip(members, plans, strict=True)], self.local)
        )


NATIVE = frozenset(
    {
        "datetime.datetime",
        "datetime.date",
        "datetime.time",
        "datetime.timedelta",
        "decimal.Decimal",
        "uuid.UUID",
    }
)


def _msgspec_takes(hint: Any) -> bool:
    """Ask msgspec whether it understands a hint and everything in it."""
    import msgspec

    try:
        msgspec.json.Decoder(hint, dec_hook=hook)
    except (TypeError, NameError, AttributeError):
        return False
    return True


def is_enum(kind: Any) -> bool:
    """Tell an Enum class."""
    return any(
        b.__module__ == "enum" and b.__name__ == "Enum" for b in getattr(kind, "__mro__", ())
    )


def _hashable(value: Any) -> bool:
    return getattr(value, "__hash__", None) is not None
