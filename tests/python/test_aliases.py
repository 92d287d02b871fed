"""Named and recursive aliases, in the spelling each interpreter has."""

from __future__ import annotations

import json
import sys
import textwrap
from typing import Any

import pytest

from snodo import Server


def read(hint: Any) -> tuple[dict[str, Any], Any]:
    def tool(a: Any) -> None: ...

    tool.__annotations__["a"] = hint
    server = Server("test")
    server.tool(tool)
    (spec,) = server._offering.tools()
    assert spec.slots is not None
    return json.loads(spec.definition)["inputSchema"], spec.slots[0].convert


def test_typed_dicts_of_typing_extensions_keep_their_qualifiers() -> None:
    extensions = pytest.importorskip("typing_extensions")
    Movie = extensions.TypedDict(
        "Movie", {"title": extensions.Required[str], "year": extensions.ReadOnly[int]}, total=False
    )
    schema, convert = read(Movie)
    assert schema["properties"]["a"]["required"] == ["title"]
    assert convert({"title": "t", "year": 5.0}) == {"title": "t", "year": 5}


def test_a_recursive_alias_of_typing_extensions() -> None:
    extensions = pytest.importorskip("typing_extensions")
    Tree = extensions.TypeAliasType("Tree", "dict[str, Tree] | float")
    schema, convert = read(Tree)
    assert schema["properties"]["a"] == {"$ref": "#/$defs/Tree"}
    assert schema["$defs"]["Tree"]["anyOf"][0]["additionalProperties"] == {"$ref": "#/$defs/Tree"}
    assert convert({"a": {"b": 1}}) == {"a": {"b": 1.0}}


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the type statement came with 3.12")
def test_the_type_statement() -> None:
    space: dict[str, Any] = {"__name__": __name__}
    source = """
        from typing import TypedDict
        type Tree = dict[str, Tree] | int
        type Many[T] = list[T]
        class Box[T](TypedDict):
            content: T
    """
    exec(textwrap.dedent(source), space)
    schema, convert = read(space["Tree"])
    assert schema["properties"]["a"] == {"$ref": "#/$defs/Tree"}
    assert convert({"a": {"b": 1.0}}) == {"a": {"b": 1}}
    many, _ = read(space["Many"][int])
    assert many["properties"]["a"] == {"type": "array", "items": {"type": "integer"}}
    box, _ = read(space["Box"][int])
    assert box["properties"]["a"]["properties"] == {"content": {"type": "integer"}}
