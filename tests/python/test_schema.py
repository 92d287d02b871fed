"""What each kind of hint publishes."""

# ruff: noqa: E501 - a table reads best with a case a line

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import json
import pathlib
import typing
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple, NewType, NotRequired, Required, TypedDict

import pytest

from snodo import Arg, Server


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@dataclasses.dataclass
class Point:
    """A point.

    Attributes:
        x: Across.
    """

    x: int
    y: float = 1.5


@dataclasses.dataclass
class Node:
    value: int
    children: list[Node] = dataclasses.field(default_factory=list)


class Movie(TypedDict, total=False):
    title: Required[str]
    year: int


class Book(TypedDict):
    title: str
    year: NotRequired[int]


class Pair(NamedTuple):
    left: int
    right: str = "r"


UserId = NewType("UserId", int)
T = typing.TypeVar("T")


@dataclasses.dataclass
class Box(typing.Generic[T]):
    content: T


POINT = {
    "type": "object",
    "description": "A point.",
    "properties": {
        "x": {"type": "integer", "description": "Across."},
        "y": {"type": "number", "default": 1.5},
    },
    "required": ["x"],
    "additionalProperties": False,
}

CASES: list[tuple[Any, dict[str, Any]]] = [
    (str, {"type": "string"}),
    (int, {"type": "integer"}),
    (float, {"type": "number"}),
    (bool, {"type": "boolean"}),
    (None, {"type": "null"}),
    (Any, {}),
    (object, {}),
    (list[int], {"type": "array", "items": {"type": "integer"}}),
    (list[Any], {"type": "array"}),
    (Sequence[str], {"type": "array", "items": {"type": "string"}}),
    (Iterable[str], {"type": "array", "items": {"type": "string"}}),
    (set[str], {"type": "array", "items": {"type": "string"}, "uniqueItems": True}),
    (frozenset[int], {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}),
    (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
    (
        tuple[int, str],
        {
            "type": "array",
            "prefixItems": [{"type": "integer"}, {"type": "string"}],
            "items": False,
            "minItems": 2,
            "maxItems": 2,
        },
    ),
    (dict[str, Any], {"type": "object"}),
    (Mapping[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
    (
        dict[Literal["a", "b"], int],
        {
            "type": "object",
            "propertyNames": {"enum": ["a", "b"]},
            "additionalProperties": {"type": "integer"},
        },
    ),
    (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
    (Literal["a", 1, None], {"enum": ["a", 1, None]}),
    (Color, {"type": "string", "enum": ["red", "blue"]}),
    (Level, {"type": "integer", "enum": [1, 2]}),
    (int | str, {"type": ["integer", "string"]}),
    (typing.Optional[int], {"type": ["integer", "null"]}),  # noqa: UP045 - spelled as users do
    (list[int] | None, {"type": ["array", "null"], "items": {"type": "integer"}}),
    (
        int | list[str],
        {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "string"}}]},
    ),
    (Literal["a"] | None, {"type": ["string", "null"], "enum": ["a", None]}),
    (Annotated[int, "How many"], {"type": "integer", "description": "How many"}),
    (Annotated[str, Arg(min_length=1, pattern="^a")], {"type": "string", "minLength": 1, "pattern": "^a"}),
    (Annotated[list[int], Arg(max_length=3)], {"type": "array", "items": {"type": "integer"}, "maxItems": 3}),
    (Annotated[int, Arg(ge=1, schema={"minimum": 5})], {"type": "integer", "minimum": 5}),
    (Annotated[int | None, Arg(gt=0, lt=9)], {"type": ["integer", "null"], "exclusiveMinimum": 0, "exclusiveMaximum": 9}),
    (list[Annotated[int, Arg(multiple_of=2)]], {"type": "array", "items": {"type": "integer", "multipleOf": 2}}),
    (UserId, {"type": "integer"}),
    (datetime.datetime, {"type": "string", "format": "date-time"}),
    (datetime.date, {"type": "string", "format": "date"}),
    (datetime.time, {"type": "string", "format": "time"}),
    (datetime.timedelta, {"type": "string", "format": "duration"}),
    (uuid.UUID, {"type": "string", "format": "uuid"}),
    (pathlib.Path, {"type": "string"}),
    (bytes, {"type": "string", "contentEncoding": "base64"}),
    (Point, POINT),
    (list[Point], {"type": "array", "items": POINT}),
    (
        Movie,
        {
            "type": "object",
            "properties": {"title": {"type": "string"}, "year": {"type": "integer"}},
            "required": ["title"],
            "additionalProperties": False,
        },
    ),
    (
        Book,
        {
            "type": "object",
            "properties": {"title": {"type": "string"}, "year": {"type": "integer"}},
            "required": ["title"],
            "additionalProperties": False,
        },
    ),
    (
        Pair,
        {
            "type": "array",
            "prefixItems": [{"type": "integer"}, {"type": "string"}],
            "items": False,
            "minItems": 1,
            "maxItems": 2,
        },
    ),
    (
        Box[int],
        {
            "type": "object",
            "properties": {"content": {"type": "integer"}},
            "required": ["content"],
            "additionalProperties": False,
        },
    ),
]  # fmt: skip


def schema_of(hint: Any) -> dict[str, Any]:
    def tool(a: Any) -> None: ...

    tool.__annotations__["a"] = hint
    server = Server("test")
    server.tool(tool)
    schema = json.loads(server._offering.tools()[0].definition)["inputSchema"]
    assert isinstance(schema, dict)
    return schema


@pytest.mark.parametrize(("hint", "expected"), CASES, ids=[str(case[0]) for case in CASES])
def test_a_hint_publishes_its_plain_schema(hint: Any, expected: dict[str, Any]) -> None:
    assert schema_of(hint) == {
        "type": "object",
        "properties": {"a": expected},
        "required": ["a"],
        "additionalProperties": False,
    }


def test_decimal_is_text_or_a_number() -> None:
    schema = schema_of(decimal.Decimal)["properties"]["a"]
    assert schema["type"] == ["string", "number"]


def test_a_recursive_type_alone_is_referred_to() -> None:
    schema = schema_of(list[Node] | None)
    assert schema["properties"]["a"]["items"] == {"$ref": "#/$defs/Node"}
    assert schema["$defs"]["Node"]["properties"]["children"]["items"] == {"$ref": "#/$defs/Node"}


def definition(function: Any, **options: Any) -> dict[str, Any]:
    server = Server("test")
    server.tool(**options)(function)
    found = json.loads(server._offering.tools()[0].definition)
    assert isinstance(found, dict)
    return found


def test_optional_with_none_is_simply_not_required() -> None:
    def tool(tags: list[str] | None = None, n: int | None = 5) -> None: ...

    schema = definition(tool)["inputSchema"]
    assert schema["properties"] == {
        "tags": {"type": "array", "items": {"type": "string"}},
        "n": {"type": ["integer", "null"], "default": 5},
    }
    assert "required" not in schema


def test_defaults_are_published_when_they_are_json() -> None:
    marker: Any = object()

    def tool(a: int = 3, b: Color = Color.RED, c: str = marker) -> None: ...

    properties = definition(tool)["inputSchema"]["properties"]
    assert properties["a"]["default"] == 3
    assert properties["b"]["default"] == "red"
    assert "default" not in properties["c"]


def test_no_title_is_published() -> None:
    pydantic = pytest.importorskip("pydantic")

    class Inner(pydantic.BaseModel):
        title: str
        size: int | None = None

    class Model(pydantic.BaseModel):
        inner: Inner
        many: list[Inner] = []  # noqa: RUF012 - pydantic copies it

    def tool(model: Model) -> None: ...

    schema = definition(tool)["inputSchema"]["properties"]["model"]
    inner = {
        "type": "object",
        "properties": {"title": {"type": "string"}, "size": {"type": ["integer", "null"]}},
        "required": ["title"],
    }
    assert schema == {
        "type": "object",
        "properties": {
            "inner": inner,
            "many": {"type": "array", "items": inner, "default": []},
        },
        "required": ["inner"],
    }


def test_constraints_of_other_libraries_are_understood() -> None:
    types = pytest.importorskip("annotated_types")
    pydantic = pytest.importorskip("pydantic")
    msgspec = pytest.importorskip("msgspec")

    def tool(
        a: Annotated[int, types.Interval(ge=1, lt=9)],
        b: Annotated[str, types.Len(1, 5)],
        c: Annotated[int, pydantic.Field(ge=2, description="Two")],
        d: Annotated[str, msgspec.Meta(min_length=3, description="Three")],
        e: int = pydantic.Field(4, le=4),
    ) -> None: ...

    schema = definition(tool)["inputSchema"]
    assert schema["properties"] == {
        "a": {"type": "integer", "minimum": 1, "exclusiveMaximum": 9},
        "b": {"type": "string", "minLength": 1, "maxLength": 5},
        "c": {"type": "integer", "minimum": 2, "description": "Two"},
        "d": {"type": "string", "minLength": 3, "description": "Three"},
        "e": {"type": "integer", "maximum": 4, "default": 4},
    }
    assert schema["required"] == ["a", "b", "c", "d"]


def test_struct_and_attrs_classes_are_understood() -> None:
    msgspec = pytest.importorskip("msgspec")
    attrs = pytest.importorskip("attrs")
    Struct = msgspec.defstruct("Struct", [("x", int), ("y", str, "d")])
    Attrs = attrs.make_class(
        "Attrs", {"x": attrs.field(type=int), "y": attrs.field(type=str, default="d")}
    )

    def tool(s: Struct, a: Attrs) -> None: ...

    tool.__annotations__.update(s=Struct, a=Attrs)
    properties = definition(tool)["inputSchema"]["properties"]
    expected = {"x": {"type": "integer"}, "y": {"type": "string", "default": "d"}}
    assert properties["s"]["properties"] == expected
    assert properties["a"]["properties"] == expected


@pytest.mark.parametrize(
    ("hint", "expected"),
    [
        (int, {"type": "integer"}),
        (list[int], {"type": "array", "items": {"type": "integer"}}),
        (list[str], {"type": "array", "items": {"type": "string"}}),
        (dict[str, Any], {"type": "object"}),
        (dict, {"type": "object"}),
        (decimal.Decimal, {"type": "string"}),
        (datetime.date, {"type": "string", "format": "date"}),
        (int | None, {"type": ["integer", "null"]}),
        (
            Point,
            {
                "type": "object",
                "description": "A point.",
                "properties": {
                    "x": {"type": "integer", "description": "Across."},
                    "y": {"type": "number"},
                },
                "required": ["x", "y"],
            },
        ),
        (str, None),
        (None, None),
        (Any, None),
        (object, None),
        (str | int, None),
        (list, None),
        (list[Any], None),
        (typing.NoReturn, None),
    ],
)
def test_a_return_annotation_publishes_the_output_schema(hint: Any, expected: Any) -> None:
    def tool() -> Any: ...

    tool.__annotations__["return"] = hint
    assert definition(tool).get("outputSchema") == expected


def test_content_has_no_output_schema() -> None:
    from snodo import Error, Image, Result, Text

    class Figure:
        def _repr_png_(self) -> bytes:
            return b""

    for hint in (
        Image,
        list[Image],
        list[Text | Image],
        Result,
        int | Result,
        Figure,
        list[Figure],
    ):

        def tool() -> Any: ...

        tool.__annotations__["return"] = hint
        assert "outputSchema" not in definition(tool), hint

    def failing() -> int | Error: ...  # type: ignore[empty-body]

    assert definition(failing)["outputSchema"] == {"type": "integer"}


def test_none_for_output_schema_publishes_none() -> None:
    def tool() -> int:
        return 1

    assert "outputSchema" not in definition(tool, output_schema=None)


def test_a_null_is_structured_only_where_the_output_schema_admits_it() -> None:
    def nullable() -> int | None: ...

    def plain() -> int: ...  # type: ignore[empty-body]

    def nothing() -> None: ...

    server = Server("test")
    for function in (nullable, plain, nothing):
        server.tool(function)
    assert [spec.output_null for spec in server._offering.tools()] == [True, False, False]


def test_locally_defined_types_are_found() -> None:
    @dataclasses.dataclass
    class Local:
        other: Other

    @dataclasses.dataclass
    class Other:
        x: int

    def tool(a: Local) -> None: ...

    schema = definition(tool)["inputSchema"]["properties"]["a"]
    assert schema["properties"]["other"]["properties"] == {"x": {"type": "integer"}}


def test_an_explicit_schema_is_published_verbatim_and_frozen() -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "zzz": [1, {"b": 1, "a": 2}],
        "type": "object",
        "properties": {"x": {"examples": [1]}},
    }

    def tool(arguments: Any, context: Any) -> None: ...

    server = Server("test")
    server.tool(input_schema=schema)(tool)
    before = json.dumps(schema, separators=(",", ":"))
    schema["type"] = "array"
    assert f'"inputSchema":{before}'.encode() in server._offering.tools()[0].definition
