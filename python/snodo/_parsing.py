"""Text from the wire to annotated Python types: prompt arguments and template variables.

What is refused is named by what was expected, never shown.
"""

from __future__ import annotations

import math
import typing
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from . import _hints
from ._algebra import JSON_TYPES
from ._arg import Arg
from ._constraints import apply
from ._convert import NATIVE, is_enum
from ._definition import dumps
from ._encode import EncodeError, to_json
from ._hints import NONE_TYPE, HintError, peel, type_name
from ._makers import Mismatch, bounded, native, path_of
from ._schema import DECIMAL_TEXT, SchemaBuilder, standard_name

Parse = Callable[[str], Any]

_MAX_DIGITS = 64
"""Of an integer, as for tools; more would cost more than it could mean."""
_SHOWN = 12
_ADVICE = (
    "use str, int, float, bool, Literal, an Enum, date, datetime, time, timedelta, UUID, Decimal,"
    " Path, or one of these | None"
)
_PATHS = frozenset(
    f"pathlib.{name}"
    for name in ("Path", "PurePath", "PosixPath", "PurePosixPath", "PureWindowsPath", "WindowsPath")
)
_CONSTRAINTS = frozenset(
    {
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "minLength",
        "maxLength",
        "pattern",
        "enum",
        "const",
        "not",
        "allOf",
        "anyOf",
        "oneOf",
    }
)


class Reading(NamedTuple):
    """How text becomes a value of a hint."""

    parse: Parse | None = None
    """None when the text is the value."""
    values: tuple[str, ...] | None = None
    """All the texts there are, when they can be told."""


class Reader:
    """Reads the hints of one parameter."""

    def __init__(self, local: Mapping[str, Any], *, path_parts: int | None = None) -> None:
        """Take what hints mean.

        Args:
            local: Names that hints of locally defined types may use.
            path_parts: How a ``Path`` is kept from leading elsewhere: 1 allows one name, 0 any
                number of names joined by slashes. None checks for null characters alone.
        """
        self.local = local
        self.path_parts = path_parts

    def read(self, hint: Any, path: str) -> Reading:
        """Give how text becomes a value of the hint.

        Raises:
            HintError: If text cannot become one.
        """
        bare, metadata = peel(hint)
        value = _hints.alias_value(bare)
        if value is not None:
            reading = self.read(value, path)
        elif _hints.is_union(bare):
            reading = self._union(bare, path)
        else:
            reading = self._plain(bare, path)
        return self._constrained(reading, bare, metadata, path) if metadata else reading

    def _plain(self, hint: Any, path: str) -> Reading:
        if hint in (str, Any, object):
            return Reading()
        if hint is bool:
            return Reading(_boolean, ("true", "false"))
        if hint is int:
            return Reading(_integer)
        if hint is float:
            return Reading(_floating)
        if typing.get_origin(hint) is typing.Literal:
            return _among([(value, value) for value in typing.get_args(hint)], hint, path)
        name = standard_name(hint)
        if name == "decimal.Decimal":
            return Reading(_decimal(hint))
        if name in NATIVE:
            return Reading(native(hint))
        if name in _PATHS:
            parts = self.path_parts
            return Reading(path_of(hint) if parts is None else safe_path(hint, single=parts == 1))
        if isinstance(hint, type) and is_enum(hint):
            return _among(
                [(member.value, member) for member in typing.cast("Any", hint)], hint, path
            )
        try:
            SchemaBuilder(self.local).schema(hint, path)
        except HintError as error:
            # What is wrong with it for everybody, and what would do here.
            raise HintError(error.path, error.reason, _ADVICE) from None
        raise HintError(path, f"text cannot become {type_name(hint)}", _ADVICE)

    def _union(self, hint: Any, path: str) -> Reading:
        members = [m for m in _hints.union_members(hint) if peel(m)[0] is not NONE_TYPE]
        readings = [self.read(member, path) for member in members]
        if len(readings) == 1:
            return readings[0]
        values: tuple[str, ...] | None = ()
        for reading in readings:
            values = None if values is None or reading.values is None else values + reading.values
        # Text is any text, so it is asked last.
        parses = [r.parse for r in readings if r.parse is not None]
        if any(r.parse is None for r in readings):
            parses.append(_same)

        def parse(text: str) -> Any:
            expected: list[str] = []
            for one in parses:
                try:
                    return one(text)
                except Mismatch as error:
                    expected.append(error.expected.removeprefix("expected "))
            raise Mismatch(f"expected {' or '.join(dict.fromkeys(expected))}")

        return Reading(parse, None if values is None else tuple(dict.fromkeys(values)))

    def _constrained(self, reading: Reading, hint: Any, metadata: list[Any], path: str) -> Reading:
        for item in metadata:
            if isinstance(item, Arg) and "header" in item.options:
                raise HintError(path, "header= is for arguments of tools", "leave it out")
        plain = SchemaBuilder(self.local).schema(hint, path)
        schema = apply(plain, metadata, path)
        added = {
            key: value
            for key, value in schema.items()
            if key in _CONSTRAINTS and plain.get(key) != value
        }
        if not added:
            return reading
        values = reading.values
        if isinstance(added.get("enum"), list) and values is None:
            values = tuple(map(_text, added["enum"]))
        make = reading.parse or _same
        if standard_name(hint) == "decimal.Decimal":
            return Reading(bounded(make, schema), values)
        return Reading(_checked(make, dumps(added)), values)


def _same(text: str) -> str:
    return text


def _boolean(text: str) -> bool:
    word = text.lower()
    if word not in ("true", "false"):
        raise Mismatch("expected true or false")
    return word == "true"


def _integer(text: str) -> int:
    digits = text[1:] if text[:1] in ("-", "+") else text
    if not (digits.isascii() and digits.isdigit() and len(digits) <= _MAX_DIGITS):
        raise Mismatch("expected an integer")
    return int(text)


def _floating(text: str) -> float:
    # float() also takes "nan", "1_0", other digits and space around.
    if not text.isascii() or not set(text) <= set("+-.0123456789eE") or len(text) > 400:
        raise Mismatch("expected a number")
    try:
        number = float(text)
    except ValueError:
        raise Mismatch("expected a number") from None
    if not math.isfinite(number):
        raise Mismatch("expected a number that a float can hold")
    return number


def _decimal(hint: Any) -> Parse:
    import re

    fits = re.compile(DECIMAL_TEXT, re.ASCII).fullmatch
    make = native(hint)

    def parse(text: str) -> Any:
        if not fits(text):
            raise Mismatch("expected a decimal number")
        return make(text)

    return parse


def _among(pairs: list[tuple[Any, Any]], hint: Any, path: str) -> Reading:
    """Read one of some values, each written as text."""
    table: dict[str, Any] = {}
    for value, made in pairs:
        if type(value) not in JSON_TYPES:
            raise HintError(
                path,
                f"a value of {type_name(hint)} is a {type_name(type(value))}, which has no text",
                "use strings or numbers",
            )
        text = _text(value)
        if text in table:
            raise HintError(
                path, f"two values of {type_name(hint)} are both written {text!r}", "rename one"
            )
        table[text] = made
    if not table:
        raise HintError(path, f"{type_name(hint)} is empty", "give it members")
    shown = ", ".join(list(table)[:_SHOWN]) + (", ..." if len(table) > _SHOWN else "")

    def parse(text: str) -> Any:
        try:
            return table[text]
        except KeyError:
            raise Mismatch(f"expected one of {shown}") from None

    return Reading(parse, tuple(table))


def _text(value: Any) -> str:
    """Write a JSON value as an argument is written."""
    return str.__str__(value) if isinstance(value, str) else dumps(value).decode()


def safe_path(kind: Any, *, single: bool) -> Parse:
    """Give a maker of relative paths that stay below whatever they are joined to.

    Args:
        kind: The class of paths.
        single: Whether one name is all there may be; a slash in it must have been ``%2F``.
    """

    def parse(text: str) -> Any:
        if not stays_below(text) or (single and "/" in text):
            raise Mismatch("expected a relative path that stays where it is")
        return kind(text)

    return parse


def stays_below(text: str) -> bool:
    """Tell a relative path without empty parts, dots, backslashes, drives and null characters."""
    parts = text.split("/")
    return not (
        any(part in ("", ".", "..") for part in parts)
        or "\0" in text
        or "\\" in text
        or (parts[0][1:2] == ":" and parts[0][0].isalpha())
    )


def _checked(make: Parse, schema: bytes) -> Parse:
    """Hold what is made to a schema."""
    from ._snodo import validate

    def parse(text: str) -> Any:
        value = make(text)
        try:
            failures = validate(schema, dumps(to_json(value)))
        except EncodeError:
            failures = []
        if failures:
            raise Mismatch(failures[0][1])
        return value

    return parse
