"""JSON values arrive as the annotated types; refusals name path and rule, never the value."""

# ruff: noqa: E501 - a table reads best with a case a line

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import pathlib
import typing
import uuid
from typing import Annotated, Any, Literal, NamedTuple, TypedDict

import pytest

from snodo import Arg, Server
from snodo._convert import ConversionError
from snodo._signature import Slot


class Color(enum.Enum):
    RED = "red"


class Mixed(enum.Enum):
    ONE = 1
    TWO = "two"


@dataclasses.dataclass
class Point:
    x: int
    y: float = 1.5


@dataclasses.dataclass
class Line:
    points: list[Point]
    when: datetime.date | None = None


@dataclasses.dataclass
class Node:
    value: int
    children: list[Node] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Cat:
    meows: int


@dataclasses.dataclass
class Dog:
    barks: int
    name: str = "Rex"


@dataclasses.dataclass
class Derived:
    x: int
    double: int = dataclasses.field(init=False)
    seed: dataclasses.InitVar[int] = 1

    def __post_init__(self, seed: int) -> None:
        if self.x < 0:
            raise ValueError("secret")
        self.double = 2 * self.x * seed


class Movie(TypedDict):
    title: str
    at: datetime.date


class Pair(NamedTuple):
    left: int
    right: str = "r"


def slot_of(hint: Any, default: Any = ...) -> Slot:
    def tool(a: Any) -> None: ...

    tool.__annotations__["a"] = hint
    if default is not ...:
        tool.__defaults__ = (default,)
    server = Server("test")
    server.tool(tool)
    slots = server._offering.tools()[0].slots
    assert slots is not None
    return slots[0]


def convert(hint: Any, value: Any) -> Any:
    make = slot_of(hint).convert
    return value if make is None else make(value)


@pytest.mark.parametrize(
    ("hint", "given", "expected"),
    [
        (list[float], [1, 2.5], [1.0, 2.5]),
        (list[int], [5.0], [5]),
        (set[int], [1, 2], {1, 2}),
        (frozenset[str], ["a"], frozenset({"a"})),
        (tuple[int, ...], [1, 2], (1, 2)),
        (tuple[int, Color], [1, "red"], (1, Color.RED)),
        (Color, "red", Color.RED),
        (Mixed, 1, Mixed.ONE),
        (Mixed, "two", Mixed.TWO),
        (dict[str, Point], {"a": {"x": 1}}, {"a": Point(1)}),
        (dict[Color, int], {"red": 1}, {Color.RED: 1}),
        (Point, {"x": 5.0, "y": 2}, Point(5, 2.0)),
        (Line, {"points": [{"x": 1}], "when": "2026-07-28"}, Line([Point(1)], datetime.date(2026, 7, 28))),
        (Node, {"value": 1, "children": [{"value": 2}]}, Node(1, [Node(2)])),
        (list[Cat | Dog], [{"meows": 1}, {"barks": 2}], [Cat(1), Dog(2)]),
        (datetime.date | str, "2026-07-28", datetime.date(2026, 7, 28)),
        (datetime.date | str, "soon", "soon"),
        (int | Point, 5, 5),
        (int | Point, {"x": 1}, Point(1)),
        (Derived, {"x": 2}, Derived(2)),
        (Movie, {"title": "t", "at": "2026-07-28"}, {"title": "t", "at": datetime.date(2026, 7, 28)}),
        (Pair, [1], Pair(1)),
        (Pair, [1.0, "b"], Pair(1, "b")),
        (datetime.datetime, "2026-07-28T09:30:00Z", datetime.datetime(2026, 7, 28, 9, 30, tzinfo=datetime.UTC)),
        (datetime.time, "09:30:00", datetime.time(9, 30)),
        (datetime.timedelta, "PT1H30M", datetime.timedelta(minutes=90)),
        (decimal.Decimal, "1.10", decimal.Decimal("1.10")),
        (decimal.Decimal, 2, decimal.Decimal(2)),
        (uuid.UUID, "12345678-1234-5678-1234-567812345678", uuid.UUID("12345678-1234-5678-1234-567812345678")),
        (pathlib.Path, "a/b", pathlib.Path("a/b")),
        (list[pathlib.Path], ["a"], [pathlib.Path("a")]),
        (bytes, "aGk=", b"hi"),
        (Literal["a", 1], 1, 1),
    ],
)  # fmt: skip
def test_arguments_arrive_as_the_annotated_types(hint: Any, given: Any, expected: Any) -> None:
    made = convert(hint, given)
    assert made == expected
    assert type(made) is type(expected)


@pytest.mark.parametrize(
    "hint",
    [str, bool, Any, list[str], dict[str, Any], Literal["a"], str | None, list[dict[str, Any]]],
)
def test_plain_json_types_need_no_conversion(hint: Any) -> None:
    assert slot_of(hint).convert is None


@pytest.mark.parametrize(
    ("hint", "number"),
    [
        (int, "int"),
        (float, "float"),
        (int | None, "int"),
        (int | str, "int"),
        (int | float, None),
        (str, None),
    ],
)
def test_plain_numbers_are_marked_for_the_runtime(hint: Any, number: str | None) -> None:
    slot = slot_of(hint)
    assert (slot.number, slot.convert) == (number, None)


def test_null_stands_for_a_default_of_none() -> None:
    assert slot_of(int | None, None).null_is_default
    assert not slot_of(int | None, 5).null_is_default
    assert not slot_of(int, 5).null_is_default


@pytest.mark.parametrize(
    ("hint", "given", "path", "words"),
    [
        (datetime.date, "secret", "/a", "date"),
        (Color, "secret", "/a", "allowed values"),
        (Mixed, "secret", "/a", "allowed values"),
        (dict[str, Color], {"k": "secret"}, "/a/*", "allowed values"),
        (Line, {"points": [{"x": 1}, {"x": "secret"}]}, "/a/points/1/x", "int"),
        (Line, {"points": [{}]}, "/a/points/0/x", "missing"),
        (Derived, {"x": -1}, "/a", "refused by Derived"),
        (Derived, {"x": 1, "y": "secret"}, "/a/y", "not allowed"),
        (list[Cat | Dog], [{"secret": 1}], "/a/0", "none of the allowed types"),
        (uuid.UUID, "secret", "/a", "UUID"),
        (bytes, "s€cret", "/a", "base64"),
        (pathlib.Path, "secret\0", "/a", "path"),
        (Annotated[decimal.Decimal, Arg(ge=0)], "-73", "/a", "bound"),
        (tuple[int, Color], [1, "secret"], "/a/1", "allowed values"),
    ],
)
def test_a_refusal_names_path_and_expectation_but_never_the_value(
    hint: Any, given: Any, path: str, words: str
) -> None:
    with pytest.raises(ConversionError) as caught:
        convert(hint, given)
    text = str(caught.value)
    assert text.startswith(f"Invalid arguments at {path}: ")
    assert words in text
    assert "secret" not in text
    assert "73" not in text
    assert caught.value.__cause__ is None


def test_pydantic_models_are_made_and_their_refusals_kept_quiet() -> None:
    pydantic = pytest.importorskip("pydantic")

    class Model(pydantic.BaseModel):
        x: int
        word: typing.Literal["a"] = "a"

    assert convert(Model, {"x": 1}) == Model(x=1)
    assert convert(list[Model], [{"x": 1}]) == [Model(x=1)]
    with pytest.raises(ConversionError) as caught:
        convert(Model, {"x": 1, "word": "secret"})
    assert "secret" not in str(caught.value)


def test_struct_and_attrs_objects_are_made() -> None:
    msgspec = pytest.importorskip("msgspec")
    attrs = pytest.importorskip("attrs")
    Struct = msgspec.defstruct("Struct", [("x", int)])
    Attrs = attrs.make_class("Attrs", {"x": attrs.field(type=int)})
    assert convert(Struct, {"x": 1}) == Struct(x=1)
    assert convert(Attrs, {"x": 1}) == Attrs(x=1)
