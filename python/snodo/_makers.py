"""The functions that make Python values of JSON ones; what is refused is named, never shown."""

from __future__ import annotations

import typing
from collections.abc import Callable, Mapping
from typing import Any

from . import _hints
from ._report import text_of

Convert = Callable[[Any], Any]


class Mismatch(Exception):
    """A value inside an argument that does not fit; path segments are added on the way out."""

    def __init__(self, expected: str, *path: str, said: str | None = None) -> None:
        """Say what was expected.

        Args:
            expected: The words for the caller.
            path: Where, innermost segment first.
            said: The words of the author's own check, for the log: they may quote the value.
        """
        super().__init__(expected)
        self.expected = expected
        self.path = list(path)
        self.said = said


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
            return msgspec.convert(value, hint, dec_hook=hook)
        except msgspec.ValidationError as error:
            # JSON Schema counts 5.0 as an integer; msgspec does not.
            whole = _whole(value)
            if whole is value:
                raise _mismatch(error) from None
        try:
            return msgspec.convert(whole, hint, dec_hook=hook)
        except msgspec.ValidationError as error:
            raise _mismatch(error) from None

    return make


def _mismatch(error: Exception) -> Mismatch:
    """Translate msgspec's refusal, keeping only what cannot hold the value or foreign text."""
    text, _, place = str(error).rpartition(" - at `$")
    if not text:
        text, place = place, ""
    # msgspec does not tell the key of an object's member: `$[...]`.
    place = place.rstrip("`").replace("[...]", ".*").replace("[", ".").replace("]", "")
    path = [part for part in place.split(".") if part]
    if error.__cause__ is not None:
        # Raised by a `__post_init__`, and repeated by msgspec.
        said = text_of(error.__cause__)
        return Mismatch("value does not fit the type", *reversed(path), said=said)
    if text.startswith(("Expected ", "Object missing required field ", "Object contains unknown")):
        expected = text[0].lower() + text[1:].replace("`", "")
    elif text.startswith("Invalid enum value"):
        expected = "value is not one of the allowed values"
    else:
        expected = _EXPECTED.get(text, "value does not fit the type")
    return Mismatch(expected, *reversed(path))


def hook(cls: Any, value: Any) -> Any:
    """Make what msgspec does not know."""
    kind = typing.get_origin(cls) or cls
    if _hints.is_pydantic(kind):
        return adapted(cls)(value)
    return path_of(kind)(value)


def same(value: Any) -> Any:
    return value


def integer(value: Any) -> Any:
    if type(value) is int:
        return value
    if type(value) is float and value.is_integer():
        return int(value)
    raise Mismatch("expected an integer")


def floating(value: Any) -> Any:
    if type(value) is float:
        return value
    if type(value) is not int:
        raise Mismatch("expected a number")
    try:
        return float(value)
    except OverflowError:
        raise Mismatch("expected a number that a float can hold") from None


def among(make: Convert) -> Convert:
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


def at(make: Convert | None, value: Any, segment: object) -> Any:
    if make is None:
        return value
    try:
        return make(value)
    except Mismatch as error:
        error.path.append(str(segment))
        raise


def collected(make: Convert | None, kind: Any) -> Convert:
    def collect(value: Any) -> Any:
        if not isinstance(value, list):
            raise Mismatch("expected an array")
        items = value if make is None else [at(make, item, i) for i, item in enumerate(value)]
        if kind is list:
            return items
        try:
            return kind(items)
        except TypeError:
            raise Mismatch("expected items that a set can hold") from None

    return collect


def enumerated(values: dict[Any, Any]) -> Convert:
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


def path_of(kind: Any) -> Convert:
    def make(value: Any) -> Any:
        if not isinstance(value, str):
            raise Mismatch("expected a string")
        if "\0" in value:
            raise Mismatch("expected a path without null characters")
        return kind(value)

    return make


def adapted(hint: Any) -> Convert:
    import pydantic

    adapter = pydantic.TypeAdapter(hint)

    def make(value: Any) -> Any:
        try:
            return adapter.validate_python(value)
        except pydantic.ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            path = [str(part) for part in reversed(first["loc"])]
            if first["type"] in _PYDANTIC_SAFE:
                raise Mismatch(first["msg"], *path) from None
            raise Mismatch("value does not fit the type", *path, said=first["msg"]) from None

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


def named_tuple(cls: Any, makes: list[tuple[str, Convert | None]]) -> Convert:
    def make(value: Any) -> Any:
        if not isinstance(value, list) or len(value) > len(makes):
            raise Mismatch(f"expected an array of at most {len(makes)} items")
        items = [at(makes[i][1], item, i) for i, item in enumerate(value)]
        try:
            return cls(*items)
        except TypeError:
            raise Mismatch("expected more items") from None
        except ValueError as error:
            raise _refused(cls, error) from None

    return make


def members_of(
    cls: Any, makes: dict[str, Convert | None], required: list[str], kind: str
) -> Convert:
    def make(value: Any) -> Any:
        if not isinstance(value, dict):
            raise Mismatch("expected an object")
        for name in required:
            if name not in value:
                raise Mismatch("required property is missing", name)
        members: dict[str, Any] = {}
        for name, item in value.items():
            if name not in makes:
                raise Mismatch("property is not allowed", name)
            members[name] = at(makes[name], item, name)
        if kind == "typeddict":
            return members
        if kind == "attrs":
            # attrs names the argument of a private attribute without its underscores.
            members = {_alias(cls, name): item for name, item in members.items()}
        try:
            return cls(**members)
        except (ValueError, TypeError) as error:
            raise _refused(cls, error) from None

    return make


def _refused(cls: Any, error: Exception) -> Mismatch:
    return Mismatch(f"value is refused by {cls.__name__}", said=text_of(error))


def _alias(cls: Any, name: str) -> str:
    for attribute in cls.__attrs_attrs__:
        if attribute.name == name:
            return str(attribute.alias)
    return name


def bounded(make: Convert, schema: Mapping[str, Any]) -> Convert:
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
