"""Arguments arrive as the Python types they are annotated with; schemas are plain for hosts."""

from __future__ import annotations

import json
from typing import Any

import pytest

TYPES = """
from __future__ import annotations

import datetime
import decimal
import enum
import pathlib
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NamedTuple, NewType, NotRequired, Optional
from typing import TypedDict, Union

from snodo import Arg, Server

server = Server("types", version="1.0.0")


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@dataclass
class Item:
    name: str
    price: float = 1.0
    tags: list[str] = field(default_factory=list)


class Point(NamedTuple):
    x: int
    y: int = 0


class Entry(TypedDict):
    key: str
    value: NotRequired[int]


@dataclass
class Node:
    value: int
    children: list[Node] = field(default_factory=list)


UserId = NewType("UserId", int)


@server.tool
def text(v: str) -> str:
    return repr(v)

@server.tool
def integer(v: int) -> str:
    return repr(v)

@server.tool
def number(v: float) -> str:
    return repr(v)

@server.tool
def boolean(v: bool) -> str:
    return repr(v)

@server.tool
def anything(v: Any) -> str:
    return repr(v)

@server.tool
def strings(v: list[str]) -> str:
    return repr(v)

@server.tool
def sequence(v: Sequence[int]) -> str:
    return repr(list(v))

@server.tool
def unique(v: set[int]) -> str:
    return f"{type(v).__name__} {sorted(v)}"

@server.tool
def pair(v: tuple[int, str]) -> str:
    return repr(v)

@server.tool
def many(v: tuple[int, ...]) -> str:
    return repr(v)

@server.tool
def mapping(v: dict[str, int]) -> str:
    return repr(v)

@server.tool
def abstract_mapping(v: Mapping[str, int]) -> str:
    return repr(dict(v))

@server.tool
def literal(v: Literal["a", 1, True, None]) -> str:
    return repr(v)

@server.tool
def colour(v: Colour) -> str:
    return repr(v)

@server.tool
def level(v: Level) -> str:
    return repr(v)

@server.tool
def optional(v: Optional[int] = None) -> str:
    return repr(v)

@server.tool
def nullable(v: int | None) -> str:
    return repr(v)

@server.tool
def defaulted(v: int | None = 7) -> str:
    return repr(v)

@server.tool
def union(v: int | str) -> str:
    return repr(v)

@server.tool
def union_of_lists(v: Union[list[int], dict[str, int]]) -> str:
    return repr(v)

@server.tool
def item(v: Item) -> str:
    return repr(v)

@server.tool
def items(v: list[Item]) -> str:
    return repr(v)

@server.tool
def point(v: Point) -> str:
    return repr(v)

@server.tool
def entry(v: Entry) -> str:
    return repr(v)

@server.tool
def node(v: Node) -> str:
    return repr(v)

@server.tool
def user(v: UserId) -> str:
    return repr(v)

@server.tool
def moment(v: datetime.datetime) -> str:
    return repr(v)

@server.tool
def day(v: datetime.date) -> str:
    return repr(v)

@server.tool
def clock(v: datetime.time) -> str:
    return repr(v)

@server.tool
def amount(v: decimal.Decimal) -> str:
    return repr(v)

@server.tool
def identifier(v: uuid.UUID) -> str:
    return repr(v)

@server.tool
def path(v: pathlib.Path) -> str:
    return f"{isinstance(v, pathlib.Path)} {v}"

@server.tool
def data(v: bytes) -> str:
    return repr(v)

@server.tool
def annotated(v: Annotated[int, Arg("How many", ge=1, le=5)] = 3) -> str:
    return repr(v)

@server.tool
def described(v: Annotated[int, "How many"]) -> str:
    return repr(v)

@server.tool
def reserved(class_: int, schema: int, json: int, _private: int = 0) -> str:
    return f"{class_} {schema} {json} {_private}"
"""

ARRIVING: list[tuple[str, Any, str]] = [
    ("text", "", "''"),
    ("text", "5", "'5'"),
    ("text", "null", "'null'"),
    ("text", "🍵\u2028\x00", repr("🍵\u2028\x00")),
    ("integer", 5, "5"),
    ("integer", 5.0, "5"),
    ("integer", -(10**63), str(-(10**63))),
    ("number", 2.5, "2.5"),
    ("number", 2, "2.0"),
    ("boolean", True, "True"),
    ("anything", {"a": [1, 2.0, None]}, "{'a': [1, 2.0, None]}"),
    ("anything", None, "None"),
    ("anything", "[1]", "'[1]'"),
    ("strings", ["a"], "['a']"),
    ("strings", [], "[]"),
    ("strings", '["a"]', "['a']"),
    ("sequence", [1, 2], "[1, 2]"),
    ("unique", [3, 1], "set [1, 3]"),
    ("pair", [1, "x"], "(1, 'x')"),
    ("many", [1, 2, 3], "(1, 2, 3)"),
    ("mapping", {"a": 1}, "{'a': 1}"),
    ("mapping", '{"a": 1}', "{'a': 1}"),
    ("abstract_mapping", {"a": 1}, "{'a': 1}"),
    ("literal", "a", "'a'"),
    ("literal", 1, "1"),
    ("literal", True, "True"),
    ("literal", None, "None"),
    ("colour", "red", "<Colour.RED: 'red'>"),
    ("level", 2, "<Level.HIGH: 2>"),
    ("optional", 5, "5"),
    ("optional", None, "None"),
    ("nullable", None, "None"),
    ("defaulted", None, "None"),
    ("union", 5, "5"),
    ("union", "5", "'5'"),
    ("union_of_lists", [1], "[1]"),
    ("union_of_lists", {"a": 1}, "{'a': 1}"),
    ("item", {"name": "tea"}, "Item(name='tea', price=1.0, tags=[])"),
    ("item", {"name": "tea", "price": 2, "tags": ["x"]}, "Item(name='tea', price=2.0, tags=['x'])"),
    ("items", [{"name": "tea"}], "[Item(name='tea', price=1.0, tags=[])]"),
    ("entry", {"key": "k"}, "{'key': 'k'}"),
    ("entry", {"key": "k", "value": 1}, "{'key': 'k', 'value': 1}"),
    (
        "node",
        {"value": 1, "children": [{"value": 2}]},
        "Node(value=1, children=[Node(value=2, children=[])])",
    ),
    ("user", 5, "5"),
    (
        "moment",
        "2026-07-28T12:30:00Z",
        "datetime.datetime(2026, 7, 28, 12, 30, tzinfo=datetime.timezone.utc)",
    ),
    ("day", "2026-07-28", "datetime.date(2026, 7, 28)"),
    ("clock", "12:30:00", "datetime.time(12, 30)"),
    ("amount", "1.10", "Decimal('1.10')"),
    ("identifier", "00000000-0000-0000-0000-000000000001",
     "UUID('00000000-0000-0000-0000-000000000001')"),
    ("path", "/tmp/x", "True /tmp/x"),
    ("data", "aGk=", "b'hi'"),
    ("annotated", 5, "5"),
    ("described", 5, "5"),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "value", "seen"), ARRIVING, ids=str)
def test_a_value_arrives_as_its_annotated_type(
    serve: Any, tool: str, value: Any, seen: str
) -> None:
    assert serve(TYPES).text(tool, {"v": value}) == seen


@pytest.mark.parametrize(
    ("tool", "value"),
    [
        ("text", 5),
        ("integer", "5x"),
        ("integer", 5.5),
        ("integer", True),
        ("integer", None),
        ("number", "2.5x"),
        ("boolean", 1),
        ("boolean", "yes"),
        ("strings", "a"),
        ("strings", [1]),
        ("strings", None),
        ("unique", [1, "x"]),
        ("pair", [1]),
        ("pair", [1, "x", 2]),
        ("pair", ["x", 1]),
        ("mapping", {"a": "x"}),
        ("mapping", []),
        ("literal", "b"),
        ("literal", 2),
        ("colour", "RED"),
        ("colour", "green"),
        ("level", 3),
        ("union", 2.5),
        ("union", []),
        ("item", {}),
        ("item", {"name": "tea", "colour": "red"}),
        ("item", {"name": 5}),
        ("entry", {}),
        ("entry", {"key": "k", "value": "x"}),
        ("node", {"value": 1, "children": [{"value": "x"}]}),
        ("moment", "yesterday"),
        ("moment", "2026-13-01T00:00:00Z"),
        ("day", "2026-02-30"),
        ("clock", "25:00"),
        ("amount", "a lot"),
        ("identifier", "not-a-uuid"),
        ("data", "not base64!"),
        ("annotated", 6),
    ],
    ids=str,
)
def test_a_value_of_another_type_is_the_models_to_correct(
    serve: Any, tool: str, value: Any
) -> None:
    text = serve(TYPES).failure(tool, {"v": value})
    assert "v" in text
    for shown in ("yesterday", "a lot", "not-a-uuid", "not base64", "green"):
        assert shown not in text, "the value must not be shown"
    assert "error id" not in text, "bad arguments are not a bug of the tool"


def test_names_that_python_reserves_or_libraries_use_can_be_parameters(serve: Any) -> None:
    session = serve(TYPES)
    properties = session.tools()["reserved"]["inputSchema"]["properties"]
    wire = {name: n for n, name in enumerate(properties, 1) if name.strip("_") != "private"}
    assert session.text("reserved", wire).startswith("1 2 3")


def walk(schema: Any) -> Any:
    """Every object inside a schema, itself included."""
    if isinstance(schema, dict):
        yield schema
        for value in schema.values():
            yield from walk(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from walk(value)


def test_schemas_carry_no_noise(serve: Any) -> None:
    for name, tool in serve(TYPES).tools().items():
        schema = tool["inputSchema"]
        assert schema["type"] == "object"
        for part in walk(schema):
            assert not isinstance(part.get("title"), str), f"{name} has a generated title"
        if name != "node":
            assert "$ref" not in json.dumps(schema), f"{name} should be inlined"
        assert schema["additionalProperties"] is False, name


def test_an_optional_parameter_is_simply_not_required(serve: Any) -> None:
    tools = serve(TYPES).tools()
    assert "required" not in tools["optional"]["inputSchema"]
    assert tools["nullable"]["inputSchema"]["required"] == ["v"]
    assert tools["optional"]["inputSchema"]["properties"]["v"].get("type") == "integer"


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        ("text", {"type": "string"}),
        ("integer", {"type": "integer"}),
        ("number", {"type": "number"}),
        ("boolean", {"type": "boolean"}),
        ("anything", {}),
        ("strings", {"type": "array", "items": {"type": "string"}}),
        ("mapping", {"type": "object", "additionalProperties": {"type": "integer"}}),
        ("colour", {"type": "string", "enum": ["red", "blue"]}),
        ("level", {"type": "integer", "enum": [1, 2]}),
        ("moment", {"type": "string", "format": "date-time"}),
        ("day", {"type": "string", "format": "date"}),
        ("identifier", {"type": "string", "format": "uuid"}),
        (
            "annotated",
            {
                "type": "integer",
                "description": "How many",
                "minimum": 1,
                "maximum": 5,
                "default": 3,
            },
        ),
        ("described", {"type": "integer", "description": "How many"}),
    ],
)
def test_schemas_are_plain(serve: Any, tool: str, expected: dict[str, Any]) -> None:
    assert serve(TYPES).tools()[tool]["inputSchema"]["properties"]["v"] == expected


DOCSTRINGS = '''
from snodo import Server

server = Server("docs", version="1.0.0")

@server.tool
def google(query: str, limit: int = 10) -> str:
    """Search the catalogue.

    Looks everywhere.

    Args:
        query: What to look for.
        limit: How many to return,
            at most.

    Returns:
        A text.
    """
    return query

@server.tool
def numpy(query: str, limit: int = 10) -> str:
    """Search the catalogue.

    Parameters
    ----------
    query : str
        What to look for.
    limit : int, optional
        How many to return,
        at most.
    """
    return query

@server.tool
def sphinx(query: str, limit: int = 10) -> str:
    """Search the catalogue.

    :param query: What to look for.
    :param int limit: How many to return,
        at most.
    :returns: A text.
    """
    return query
'''


@pytest.mark.parametrize("style", ["google", "numpy", "sphinx"])
def test_docstrings_become_descriptions(serve: Any, style: str) -> None:
    tool = serve(DOCSTRINGS).tools()[style]
    properties = tool["inputSchema"]["properties"]
    assert tool["description"].startswith("Search the catalogue.")
    assert "What to look for" not in tool["description"], "parameter help is not repeated"
    assert properties["query"]["description"] == "What to look for."
    assert properties["limit"]["description"] == "How many to return, at most."


OUTPUT = """
import datetime
from dataclasses import dataclass
from typing import Any, TypedDict

from snodo import Image, Result, Server, Text

server = Server("output", version="1.0.0")


@dataclass
class Order:
    sku: str
    count: int
    when: datetime.date


class Entry(TypedDict):
    key: str


@server.tool
def order() -> Order:
    return Order("tea", 2, datetime.date(2026, 7, 28))

@server.tool
async def orders() -> list[Order]:
    return [Order("tea", 2, datetime.date(2026, 7, 28))]

@server.tool
def entry() -> Entry:
    return {"key": "k"}

@server.tool
def number() -> int:
    return 5

@server.tool
def maybe(there: bool) -> int | None:
    return 5 if there else None

@server.tool
def table() -> dict[str, list[float]]:
    return {"a": [1.0, 2.5]}

@server.tool
def wrong() -> int:
    return "not a number"

@server.tool
def wrong_inside() -> list[Order]:
    return [{"sku": "tea"}]

@server.tool
def escapes() -> Order:
    return Result.error("out of stock")

@server.tool
def says() -> str:
    return "text"

@server.tool
def none() -> None:
    return None

@server.tool
def anything() -> Any:
    return {"a": 1}

@server.tool
def result() -> Result:
    return Result.text("x")

@server.tool
def image() -> Image:
    return Image(b"x", mime_type="image/png")

@server.tool
def blocks() -> list[Text | Image]:
    return [Text("x")]
"""


@pytest.mark.parametrize("tool", ["says", "none", "anything", "result", "image", "blocks"])
def test_texts_and_content_have_no_output_schema(serve: Any, tool: str) -> None:
    session = serve(OUTPUT)
    assert "outputSchema" not in session.tools()[tool]
    assert session.call(tool)["isError"] is False


@pytest.mark.parametrize(
    ("tool", "arguments", "value"),
    [
        ("order", {}, {"sku": "tea", "count": 2, "when": "2026-07-28"}),
        ("orders", {}, [{"sku": "tea", "count": 2, "when": "2026-07-28"}]),
        ("entry", {}, {"key": "k"}),
        ("number", {}, 5),
        ("maybe", {"there": True}, 5),
        ("maybe", {"there": False}, None),
        ("table", {}, {"a": [1.0, 2.5]}),
    ],
)
def test_a_return_annotation_is_the_output_schema(
    serve: Any, tool: str, arguments: dict[str, Any], value: Any
) -> None:
    session = serve(OUTPUT)
    assert isinstance(session.tools()[tool]["outputSchema"], dict)
    result = session.call(tool, arguments)
    assert "structuredContent" in result, "null is present, not absent"
    assert result["structuredContent"] == value
    assert json.loads(result["content"][0]["text"]) == value


@pytest.mark.parametrize("tool", ["wrong", "wrong_inside"])
def test_a_wrong_type_for_the_annotation_is_the_servers_fault(serve: Any, tool: str) -> None:
    from driver import Refusal

    with pytest.raises(Refusal) as refused:
        serve(OUTPUT).call(tool)
    assert refused.value.code == -32603


def test_an_error_result_needs_no_structure(serve: Any) -> None:
    assert serve(OUTPUT).failure("escapes") == "out of stock"
