"""Resources and templates as declared: what is listed, what is bound, what reading gives."""

from __future__ import annotations

import asyncio
import enum
import json
from datetime import date
from decimal import Decimal
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest

import snodo
from snodo import (
    Arg,
    Cache,
    ConfigurationError,
    Context,
    EmbeddedResource,
    Image,
    ResourceLink,
    Result,
    Server,
    Text,
)
from snodo._convert import ConversionError
from snodo._signature import ResourceSpec


class Size(enum.Enum):
    SMALL = "small"
    LARGE = "large"


def specs(server: Server) -> dict[str, ResourceSpec]:
    return {spec.name: spec for spec in server._offering.freeze()[1]["resources"]}


def only(server: Server) -> ResourceSpec:
    (spec,) = specs(server).values()
    return spec


def read(spec: ResourceSpec, context: Any = None, /, **variables: str) -> Any:
    """Call as the runtime does."""
    if spec.slots is None:
        assert spec.function is not None
        return spec.function(variables, context)
    args: list[Any] = []
    keywords: dict[str, Any] = {}
    for slot in spec.slots:
        if slot.key is None:
            value = context
        elif slot.key in variables:
            value = variables[slot.key]
            value = slot.convert(value) if slot.convert else value
        else:
            assert not slot.required
            value = slot.default
        if slot.keyword:
            keywords[slot.keyword] = value
        else:
            args.append(value)
    assert spec.function is not None
    return spec.function(*args, **keywords)


def contents(value: Any) -> Any:
    assert value.kind == "resource_read"
    return value.value["contents"]


def test_a_direct_resource_is_listed_with_its_parts_and_no_empty_ones() -> None:
    server = Server("x")

    @server.resource(
        "cfg://app/main",
        title="Main",
        mime_type="text/plain",
        size=0,
        annotations={"audience": ["user"], "priority": 0.5},
        icons=[{"src": "https://a/b"}],
        metadata={"a": 1},
        cache=Cache(ttl_ms=7, scope="public"),
        timeout=2,
    )
    def main() -> str:
        """What is configured."""
        return "x"

    @server.resource("cfg://app/other")
    def other() -> str:
        return "y"

    found = specs(server)
    assert json.loads(found["main"].definition) == {
        "uri": "cfg://app/main",
        "name": "main",
        "title": "Main",
        "description": "What is configured.",
        "mimeType": "text/plain",
        "size": 0,
        "icons": [{"src": "https://a/b"}],
        "annotations": {"audience": ["user"], "priority": 0.5},
        "_meta": {"a": 1},
    }
    assert json.loads(found["other"].definition) == {"uri": "cfg://app/other", "name": "other"}
    assert (found["main"].uri, found["main"].template) == ("cfg://app/main", None)
    assert (found["main"].cache, found["main"].timeout) == ((7, "public"), 2.0)
    assert read(found["main"]) == "x"
    assert main() == "x"


def test_variables_are_bound_by_name_and_converted() -> None:
    server = Server("x")

    @server.resource("shop://{owner}/{size}/{+path}{?n,day,id,price,wide}")
    def item(
        path: Path,
        size: Size,
        context: Context,
        owner: str,
        *,
        n: Annotated[int, Arg(ge=1)] = 1,
        day: date | None = None,
        id: UUID | None = None,
        price: Decimal = Decimal(1),
        wide: bool = False,
    ) -> Any:
        return [str(path), size.name, context, owner, n, day, id, price, wide]

    spec = only(server)
    found = read(
        spec,
        "context",
        owner="a b",
        size="large",
        path="x/y.txt",
        n="3",
        day="2026-07-28",
        id="12345678-1234-5678-1234-567812345678",
        price="2.50",
        wide="True",
    )
    assert found == [
        "x/y.txt",
        "LARGE",
        "context",
        "a b",
        3,
        date(2026, 7, 28),
        UUID("12345678-1234-5678-1234-567812345678"),
        Decimal("2.50"),
        True,
    ]
    assert read(spec, owner="a", size="small", path="x")[4:] == [1, None, None, Decimal(1), False]
    assert {c.argument: c.values for c in spec.completions} == {
        "size": ("small", "large"),
        "wide": ("true", "false"),
    }


@pytest.mark.parametrize(
    "wrong",
    [{"n": "x"}, {"n": "0"}, {"n": "1.5"}, {"n": ""}, {"kind": "c"}, {"n": "٣"}, {"n": "1" * 65}],
)
def test_a_value_that_does_not_fit_is_refused_by_its_converter(wrong: dict[str, str]) -> None:
    server = Server("x")

    @server.resource("x://{kind}/{n}")
    def item(kind: Literal["a", "b"], n: Annotated[int, Arg(ge=1)]) -> str:
        return kind * n

    with pytest.raises(ConversionError) as caught:
        read(only(server), **{"kind": "a", "n": "1", **wrong})
    assert all(len(value) < 2 or value not in str(caught.value) for value in wrong.values())


@pytest.mark.parametrize(
    ("text", "one", "many"),
    [
        ("a", True, True),
        ("a.b-c d", True, True),
        ("a/b", False, True),
        ("..", False, False),
        ("../a", False, False),
        ("a/../b", False, False),
        ("a/..", False, False),
        (".", False, False),
        ("", False, False),
        ("/etc/passwd", False, False),
        ("a//b", False, False),
        ("a/", False, False),
        ("a\0b", False, False),
        ("a\\b", False, False),
        ("..\\a", False, False),
        ("C:x", False, False),
        ("C:/x", False, False),
        ("...", True, True),
        ("..a", True, True),
    ],
)
def test_paths_stay_where_they_are(text: str, one: bool, many: bool) -> None:
    server = Server("x")

    @server.resource("one://h/{path}")
    def single(path: Path) -> str:
        return str(path)

    @server.resource("many://h/{+path}")
    def several(path: PurePosixPath) -> str:
        return str(path)

    found = specs(server)
    for spec, accepted in ((found["single"], one), (found["several"], many)):
        if accepted:
            assert read(spec, path=text) == text
        else:
            with pytest.raises(ConversionError):
                read(spec, path=text)


def test_a_parameter_may_be_named_otherwise_than_its_variable() -> None:
    server = Server("x")

    @server.resource("x://{user-name}")
    def item(user: Annotated[str, Arg(name="user-name")]) -> str:
        return user

    assert read(only(server), **{"user-name": "a"}) == "a"


def test_strings_bytes_and_data_are_left_to_the_runtime() -> None:
    for value in ("text", b"bytes", {"a": 1}, [1, "a"], [], None, 5, True, {"text": "x"}):
        server = Server("x")

        def item() -> Any:
            return value  # noqa: B023 - called at once

        server.resource("x://h")(item)
        assert read(only(server)) == value


def test_content_values_become_contents() -> None:
    server = Server("x")

    @server.resource("x://h", mime_type="text/markdown")
    def item() -> list[Any]:
        return [
            Text("a", annotations={"priority": 1}),
            "b",
            b"\0",
            Image(data=b"\x89PNG\r\n\x1a\n"),
            EmbeddedResource("y://h", text="c", metadata={"m": 1}),
            EmbeddedResource("y://j", json={"a": [1]}),
            {"uri": "z://h", "text": "d"},
        ]

    assert contents(read(only(server))) == [
        {"mimeType": "text/markdown", "text": "a", "annotations": {"priority": 1}},
        {"mimeType": "text/markdown", "text": "b"},
        {"mimeType": "text/markdown", "blob": "AA=="},
        {"mimeType": "image/png", "blob": "iVBORw0KGgo="},
        {"uri": "y://h", "text": "c", "_meta": {"m": 1}},
        {"uri": "y://j", "mimeType": "application/json", "text": '{"a":[1]}'},
        {"uri": "z://h", "text": "d"},
    ]


@pytest.mark.parametrize("value", [[Text("a"), 5], [b"a", None], ResourceLink("a://b", "c")])
def test_what_is_no_contents_among_contents_raises(value: Any) -> None:
    server = Server("x")

    @server.resource("x://h")
    def item() -> Any:
        return value

    with pytest.raises(TypeError):
        read(only(server))


def test_results_keep_their_policy_and_may_hold_content_values() -> None:
    server = Server("x")

    @server.resource("x://h")
    async def item() -> Result:
        return Result.resource_read(
            [EmbeddedResource("x://h", text="a")],
            ttl_ms=5,
            cache_scope="public",
            metadata={"m": 1},
        )

    @server.resource("x://plain")
    def plain() -> Result:
        return given

    given = Result.resource_read([{"uri": "x://plain", "text": "a"}])
    found = specs(server)
    assert found["item"].is_async
    result = asyncio.run(read(found["item"]))
    assert result == Result.resource_read(
        [{"uri": "x://h", "text": "a"}], ttl_ms=5, cache_scope="public", metadata={"m": 1}
    )
    assert read(found["plain"]) is given


class Notes(snodo.Resource):
    name = "notes"
    uri_template = "notes://{kind}/{id}"
    description = "Notes."
    mime_type = "text/plain"
    kinds = ("a", "b")

    def some(self, value: str) -> list[str]:
        return [kind for kind in self.kinds if kind.startswith(value)]

    complete = {"kind": some, "id": ["1", "2"]}  # noqa: RUF012

    async def read(self, params: dict[str, Any], context: Context) -> Any:
        return f"{params['kind']} {params['id']}"


def test_a_class_gets_variables_as_they_are() -> None:
    server = Server("x")
    server.add(Notes, Notes)
    spec = only(server)
    assert json.loads(spec.definition) == {
        "uriTemplate": "notes://{kind}/{id}",
        "name": "notes",
        "description": "Notes.",
        "mimeType": "text/plain",
    }
    assert spec.is_async
    assert asyncio.run(read(spec, kind="a", id="5")) == "a 5"
    kind, number = spec.completions
    assert kind.function is not None
    assert kind.function("b", {}) == ["b"]
    assert number.values == ("1", "2")


def test_lone_functions_and_methods_are_added_later() -> None:
    class Store:
        def __init__(self, text: str) -> None:
            self.text = text

        @snodo.resource("store://{key}")
        def get(self, key: str) -> str:
            return self.text + key

    @snodo.resource("x://h")
    @snodo.prompt
    @snodo.tool
    def everything() -> str:
        return "x"

    server = Server("x")
    server.add(Store("a").get, everything, everything)
    assert server._offering.counts() == "1 tool, 2 resources, 1 prompt"
    assert read(specs(server)["get"], key="b") == "ab"
    with pytest.raises(ConfigurationError, match="method without an instance"):
        Server("y").add(Store.get)


def test_names_and_addresses_are_taken_once() -> None:
    server = Server("x")

    @server.resource("x://h")
    def first() -> str:
        return ""

    with pytest.raises(ConfigurationError, match=r'name "first" is already registered by .*first'):
        server.add(snodo.StaticResource("y://h", text="", name="first"))
    with pytest.raises(ConfigurationError, match='resource URI "x://h" is already registered'):
        server.add(snodo.StaticResource("x://h", text="", name="second"))

    @server.resource("t://{a}")
    def third(a: str) -> str:
        return a

    with pytest.raises(ConfigurationError, match=r'template "t://\{a\}" is already'):

        @server.resource("t://{a}")
        def fourth(a: str) -> str:
            return a
