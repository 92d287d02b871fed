"""What a tool may return, and what the client then sees."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

import pytest

from driver import Refusal

VALUES = """
import datetime
import decimal
import enum
import pathlib
import uuid
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypedDict

from snodo import (
    Audio, Context, EmbeddedResource, Error, Image, ResourceLink, Result, Server, Text, ToolError,
)

server = Server("values", version="1.0.0")


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1


@dataclass
class Item:
    name: str
    price: float
    tags: list[str] = field(default_factory=list)


class Point(NamedTuple):
    x: int
    y: int


class Entry(TypedDict):
    key: str
    value: int


VALUES = {
    "text": "hé 🍵",
    "empty text": "",
    "nothing": None,
    "true": True,
    "integer": 5,
    "large integer": 2**100,
    "float": 2.5,
    "whole float": 5.0,
    "tiny float": 5e-324,
    "list": [1, [2, {"a": None}]],
    "empty list": [],
    "object": {"b": 1, "a": [True, None]},
    "empty object": {},
    "tuple": (1, "x"),
    "set": {7},
    "frozenset": frozenset({7}),
    "dataclass": Item("tea", 2.5, ["hot"]),
    "named tuple": Point(1, 2),
    "typed dict": Entry(key="k", value=1),
    "enum": Colour.RED,
    "int enum": Level.LOW,
    "datetime": datetime.datetime(2026, 7, 28, 12, 30, tzinfo=datetime.timezone.utc),
    "date": datetime.date(2026, 7, 28),
    "time": datetime.time(12, 30),
    "duration": datetime.timedelta(hours=1, seconds=30),
    "decimal": decimal.Decimal("1.10"),
    "uuid": uuid.UUID(int=1),
    "path": pathlib.PurePosixPath("/tmp/x"),
    "nested": {"items": [Item("tea", 2.5)], "when": datetime.date(2026, 7, 28)},
    "html": {"t": "<a href=\\"x\\">&\\u2028</a>"},
}

CONTENT = {
    "text block": Text("hello"),
    "image": Image(b"\\x89PNG", mime_type="image/png"),
    "audio": Audio(b"RIFF", mime_type="audio/wav"),
    "link": ResourceLink(uri="file:///x", name="x"),
    "resource": EmbeddedResource(uri="test://x", mime_type="text/plain", text="inside"),
    "list of blocks": [Text("one"), Image(b"\\x89PNG", mime_type="image/png")],
    "result text": Result.text("hi"),
    "result structured": Result.structured({"n": 1}),
    "result content": Result.content([Text("one"), Text("two")]),
    "result one block": Result.content(Text("one")),
    "result plain block": Result.content({"type": "text", "text": "as given"}),
    "result error": Result.error("it failed"),
    "result raw": Result.raw({"x": 1}),
    "result metadata": Result.text("hi", metadata={"com.example/x": 1}),
    "result server info": Result.text(
        "hi", metadata={"io.modelcontextprotocol/serverInfo": {"name": "junk", "version": "0"}}
    ),
    "result raw metadata": Result.raw({"_meta": {"k": 1}, "content": []}),
}

REFUSED = {
    "bytes": b"secret-123",
    "object": object(),
    "nan": float("nan"),
    "infinity": float("inf"),
    "negative infinity": float("-inf"),
    "lone surrogate": {"t": "secret-123\\ud800"},
    "lone surrogate text": "secret-123\\ud800",
    "integer keys": {1: "secret-123"},
    "none key": {None: "secret-123"},
    "nested nan": {"a": [1, {"b": float("nan")}]},
    "nested bytes": {"a": [b"secret-123"]},
    "function": len,
    "class": int,
    "error inside": [Error(7001, "secret-123")],
    "itself": None,
}
REFUSED["itself"] = loop = []
loop.append(loop)


@server.tool
def value(kind: str):
    return VALUES[kind]


@server.tool
async def value_async(kind: str):
    return VALUES[kind]


@server.tool
def content(kind: str):
    return CONTENT[kind]


@server.tool
def refused(kind: str):
    return REFUSED[kind]


@server.tool
def input_required():
    return Result.input_required(
        input_requests={
            "name": {
                "method": "elicitation/create",
                "params": {
                    "message": "Who?",
                    "requestedSchema": {"type": "object", "properties": {"n": {"type": "string"}}},
                },
            }
        },
        request_state="abc",
    )


@server.tool
def prompt_result():
    return Result.prompt_get([])


@server.tool
def resource_result():
    return Result.resource_read([])


@server.tool
def rows(n: int) -> list[Item]:
    return [Item(f"item-{i}", i * 1.5) for i in range(n)]


class Figure:
    def _repr_png_(self):
        return b"\\x89PNG"


class Bundle:
    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"image/png": b"\\x89PNG", "text/plain": "a figure"}


@server.tool
def figure():
    return Figure()


@server.tool
def bundle():
    return Bundle()
"""

STRUCTURED: dict[str, Any] = {
    "true": True,
    "integer": 5,
    "large integer": 2**100,
    "float": 2.5,
    "whole float": 5.0,
    "tiny float": 5e-324,
    "list": [1, [2, {"a": None}]],
    "empty list": [],
    "object": {"b": 1, "a": [True, None]},
    "empty object": {},
    "tuple": [1, "x"],
    "set": [7],
    "frozenset": [7],
    "dataclass": {"name": "tea", "price": 2.5, "tags": ["hot"]},
    "named tuple": [1, 2],
    "typed dict": {"key": "k", "value": 1},
    "enum": "red",
    "int enum": 1,
    "datetime": "2026-07-28T12:30:00+00:00",
    "date": "2026-07-28",
    "time": "12:30:00",
    "duration": "PT3630S",
    "decimal": "1.10",
    "uuid": "00000000-0000-0000-0000-000000000001",
    "path": "/tmp/x",
    "nested": {"items": [{"name": "tea", "price": 2.5, "tags": []}], "when": "2026-07-28"},
    "html": {"t": '<a href="x">&\u2028</a>'},
}


@pytest.mark.parametrize("tool", ["value", "value_async"])
@pytest.mark.parametrize("kind", STRUCTURED)
def test_any_other_value_is_structured_with_its_json_as_text(
    serve: Any, tool: str, kind: str
) -> None:
    result = serve(VALUES).call(tool, {"kind": kind})
    expected = STRUCTURED[kind]
    assert result["structuredContent"] == expected
    assert type(result["structuredContent"]) is type(expected)
    assert result["isError"] is False
    (block,) = result["content"]
    assert json.loads(block["text"]) == expected
    compact = json.dumps(json.loads(block["text"]), separators=(",", ":"), ensure_ascii=False)
    if not isinstance(expected, float):
        assert block["text"] == compact, "compact, UTF-8 as it is"


@pytest.mark.parametrize(("kind", "text"), [("text", "hé 🍵"), ("empty text", "")])
def test_a_string_is_one_text_block_and_nothing_structured(
    serve: Any, kind: str, text: str
) -> None:
    result = serve(VALUES).call("value", {"kind": kind})
    assert result["content"] == [{"type": "text", "text": text}]
    assert "structuredContent" not in result
    assert result["isError"] is False


def test_none_is_empty_content(serve: Any) -> None:
    result = serve(VALUES).call("value", {"kind": "nothing"})
    assert result["content"] == []
    assert "structuredContent" not in result
    assert result["isError"] is False


PNG = {"type": "image", "data": base64.b64encode(b"\x89PNG").decode(), "mimeType": "image/png"}


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("text block", [{"type": "text", "text": "hello"}]),
        ("image", [PNG]),
        ("audio", [{"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"}]),
        ("link", [{"type": "resource_link", "uri": "file:///x", "name": "x"}]),
        (
            "resource",
            [
                {
                    "type": "resource",
                    "resource": {"uri": "test://x", "mimeType": "text/plain", "text": "inside"},
                }
            ],
        ),
        ("list of blocks", [{"type": "text", "text": "one"}, PNG]),
        ("result text", [{"type": "text", "text": "hi"}]),
        ("result content", [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]),
        ("result one block", [{"type": "text", "text": "one"}]),
        ("result plain block", [{"type": "text", "text": "as given"}]),
    ],
)
def test_content_goes_out_as_content(serve: Any, kind: str, content: list[Any]) -> None:
    result = serve(VALUES).call("content", {"kind": kind})
    assert result["content"] == content
    assert "structuredContent" not in result
    assert result["isError"] is False


@pytest.mark.parametrize("tool", ["figure", "bundle"])
def test_a_value_that_can_draw_itself_is_an_image(serve: Any, tool: str) -> None:
    content = serve(VALUES).call(tool, {})["content"]
    assert PNG in content


def test_a_structured_result_is_itself(serve: Any) -> None:
    result = serve(VALUES).call("content", {"kind": "result structured"})
    assert result["structuredContent"] == {"n": 1}
    assert result["content"] == [{"type": "text", "text": '{"n":1}'}]


def test_an_error_result_fails_in_the_tools_way(serve: Any) -> None:
    assert serve(VALUES).failure("content", {"kind": "result error"}) == "it failed"


def test_a_raw_result_gets_what_it_lacks(serve: Any) -> None:
    result = serve(VALUES).call("content", {"kind": "result raw"})
    assert (result["x"], result["content"], result["isError"]) == (1, [], False)


def test_metadata_is_sent_beside_the_server(serve: Any) -> None:
    meta = serve(VALUES).call("content", {"kind": "result metadata"})["_meta"]
    assert meta["com.example/x"] == 1
    assert meta["io.modelcontextprotocol/serverInfo"]["name"] == "values"
    meta = serve(VALUES).call("content", {"kind": "result raw metadata"})["_meta"]
    assert meta["k"] == 1


def test_nobody_can_pretend_to_be_another_server(serve: Any) -> None:
    meta = serve(VALUES).call("content", {"kind": "result server info"})["_meta"]
    info = meta["io.modelcontextprotocol/serverInfo"]
    assert info == {"name": "values", "version": "1.0.0"}


def test_input_required_is_sent_as_such(serve: Any) -> None:
    result = serve(VALUES).call("input_required", {}, clientCapabilities={"elicitation": {}})
    assert result["resultType"] == "input_required"
    assert result["requestState"] == "abc"
    assert result["inputRequests"]["name"]["method"] == "elicitation/create"
    assert "content" not in result
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "values"


@pytest.mark.parametrize("tool", ["prompt_result", "resource_result"])
def test_a_result_of_another_kind_is_the_servers_fault(serve: Any, tool: str) -> None:
    with pytest.raises(Refusal) as refused:
        serve(VALUES).call(tool, {})
    assert refused.value.code == -32603


REFUSED = [
    *("bytes", "object", "nan", "infinity", "negative infinity", "lone surrogate"),
    *("lone surrogate text", "integer keys", "none key", "nested nan", "nested bytes"),
    *("function", "class", "error inside", "itself"),
]


@pytest.mark.parametrize("kind", REFUSED)
def test_a_value_that_is_not_json_is_refused_and_never_guessed(serve: Any, kind: str) -> None:
    session = serve(VALUES)
    with pytest.raises(Refusal) as refused:
        session.call("refused", {"kind": kind})
    assert refused.value.code == -32603
    assert "secret-123" not in json.dumps(refused.value.error)
    assert session.text("value", {"kind": "text"}) == "hé 🍵", "the server went on"


@pytest.mark.parametrize(
    ("kind", "path"), [("nested nan", r"a[./]1[./]b"), ("nested bytes", r"a[./]0")]
)
def test_the_refusal_or_the_log_says_where_the_value_was_wrong(
    serve: Any, kind: str, path: str
) -> None:
    session = serve(VALUES)
    with pytest.raises(Refusal) as refused:
        session.call("refused", {"kind": kind})
    told = refused.value.message
    assert re.search(path, told), f"where? {told}\n{session.log()}"


def test_two_hundred_records_arrive(serve: Any) -> None:
    result = serve(VALUES).call("rows", {"n": 200})
    assert len(result["structuredContent"]) == 200
    assert result["structuredContent"][2] == {"name": "item-2", "price": 3.0, "tags": []}
