"""Resources: declared, listed, found by their URI, read, and failing in the protocol's way."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from snodo import (
    ConfigurationError,
    DeclarationError,
    Resource,
    Server,
    StaticResource,
)

SOURCE = """
import asyncio
import dataclasses

from snodo import (
    Cache, Context, EmbeddedResource, Error, Image, Resource, Result, Server, StaticResource, Text,
    current_context,
)

server = Server("library", version="1.0.0", resources_cache=Cache(ttl_ms=1_000))


@server.resource("cfg://app/main")
def main():
    return "main"


class Note(Resource):
    name = "note"
    uri_template = "note://store/{id}"

    async def read(self, params, context):
        await asyncio.sleep(0)
        return params


class Full(Resource):
    name = "full"
    uri = "full://form"

    def read(self, params, context):
        return {"params": params, "method": context.method}


server.add(Note, Full)


@server.resource("two://{a}/b")
def first(a: str):
    return a


@server.resource("two://a/{b}")
def second(b: str):
    return b


@server.resource("bad://{what}")
def bad(what: str):
    return Result.resource_read({
        "both": [{"text": "SECRET", "blob": "aaaa"}],
        "neither": [{"mimeType": "text/plain"}],
        "base64": [{"blob": "SECRET!"}],
        "relative": [{"uri": "SECRET", "text": "x"}],
        "number": [{"text": 5}],
        "uri-number": [{"uri": 5, "text": "x"}],
        "mime-number": [{"text": "x", "mimeType": 5}],
        "annotations": [{"text": "x", "annotations": "SECRET"}],
        "bytes": [{"blob": 5}],
        "list": [[{"text": "SECRET"}]],
        "second": [{"text": "x"}, {"blob": 1}],
    }[what])


@server.resource("built://{what}", mime_type="text/x-declared")
def built(what: str):
    return {
        "text": Text("t", annotations={"priority": 1}, metadata={"com.example/k": 1}),
        "image": Image(b"\\x89PNG", mime_type="image/png"),
        "json": EmbeddedResource("built://json", json={"n": 1}),
        "blob": EmbeddedResource("built://blob", blob=b"b", mime_type="application/x-b"),
        "bytes": b"b",
        "bytearray": bytearray(b"b"),
        "list": [Text("one"), b"two"],
        "tuple": (Text("one"), Text("two")),
    }[what]


@dataclasses.dataclass
class Point:
    x: int
    y: int


@server.resource("value://{what}")
def value(what: str):
    return {
        "string": "text",
        "dict": {"b": 1, "a": [None, True]},
        "list": [1, "x"],
        "number": 5,
        "false": False,
        "dataclass": Point(1, 2),
        "empty-list": [],
    }[what]


@server.resource("typed://{what}", mime_type="application/vnd.mine+json")
def typed(what: str):
    return "text" if what == "string" else {"a": 1}


@server.resource("ends://{how}")
def ends(how: str):
    if how == "error":
        raise Error(7001, "not today", data={"retry": False})
    if how == "returned-error":
        return Error(7001, "not today", data={"retry": False})
    if how == "raise":
        raise RuntimeError("SECRET")
    if how == "exit":
        raise SystemExit("SECRET")
    if how == "cancelled":
        raise asyncio.CancelledError("SECRET")
    if how == "nothing":
        return None
    if how == "prompt":
        return Result.prompt_get([])
    if how == "completion":
        return Result.completion([])
    if how == "text":
        return Result.text("SECRET")
    if how == "structured":
        return Result.structured({"a": "SECRET"})
    if how == "content":
        return Result.content([{"type": "text", "text": "SECRET"}])
    if how == "ttl":
        return Result.resource_read([{"text": "SECRET"}], ttl_ms=True)
    if how == "failure":
        return Result.error("SECRET")
    if how == "object":
        return object()
    if how == "nan":
        return float("nan")
    if how == "surrogate":
        return "\\ud800"
    if how == "input":
        return Result.input_required(request_state="state")


@server.resource("seen://context")
def seen(context: Context):
    same = current_context().request_id == context.request_id
    return {"method": context.method, "same": same}


server.add(
    StaticResource("file:///b", text="b", name="b"),
    StaticResource(
        "file:///a",
        text="a",
        name="a",
        title="A",
        description="The first.",
        mime_type="text/plain",
        annotations={"audience": ["user"], "priority": 0, "lastModified": "2026-07-28T00:00:00Z"},
        icons=[{"src": "https://example.com/i.png"}],
        metadata={"com.example/k": None},
    ),
)


@server.resource("cached://own", cache=Cache(ttl_ms=5, scope="public"))
def cached():
    return "x"


@server.resource("cached://read", cache=Cache(ttl_ms=5, scope="public"))
def cached_read():
    return Result.resource_read([{"text": "x"}], ttl_ms=0, cache_scope="private")
"""


def refused(session: Any, uri: str) -> tuple[int, str, Any]:
    refusal = session.refusal("resources/read", {"uri": uri})
    return refusal.code, refusal.message, refusal.data


def test_a_direct_resource_is_listed_and_read(serve: Any) -> None:
    session = serve(SOURCE)
    listed = session.ask("resources/list")["resources"]
    assert {"uri": "cfg://app/main", "name": "main"} in listed
    assert session.read("cfg://app/main") == {"uri": "cfg://app/main", "text": "main"}


def test_exactly_one_uri_form_is_declared() -> None:
    def declare(**members: Any) -> None:
        type("R", (Resource,), {"name": "r", "read": lambda self, params, context: "", **members})

    declare(uri="x://y")
    declare(uri_template="x://{y}")
    for members in (
        {},
        {"uri": "x://y", "uri_template": "x://{y}"},
        {"uri": "relative"},
        {"uri": ""},
        {"uri": "x://y", "name": ""},
        {"uri": "x://y", "size": -1},
        {"uri": "x://y", "size": True},
        {"uri": "x://{y}"},
        {"uri_template": "x://y"},
    ):
        with pytest.raises(DeclarationError):
            declare(**members)


def test_names_are_unique_across_resources_and_templates() -> None:
    server = Server("x")
    server.add(StaticResource("x://a", text="", name="x"))
    with pytest.raises(ConfigurationError, match='name "x"'):

        @server.resource("x://{id}/b", name="x")
        def read(id: str) -> str:
            return id


@pytest.mark.parametrize(
    "uri",
    ["CFG://app/main", "cfg://app/main/", "cfg://app/ma%69n", "cfg://APP/main", "cfg://app/main?"],
)
def test_a_direct_resource_is_matched_exactly(serve: Any, uri: str) -> None:
    assert refused(serve(SOURCE), uri) == (-32602, "Resource not found", {"uri": uri})


def test_a_template_binds_decoded_variables(serve: Any) -> None:
    content = serve(SOURCE).read("note://store/a%20b")
    assert json.loads(content["text"]) == {"id": "a b", "uri": "note://store/a%20b"}


def test_a_direct_resource_is_given_no_variables(serve: Any) -> None:
    read = json.loads(serve(SOURCE).read("full://form")["text"])
    assert read == {"params": {"uri": "full://form"}, "method": "resources/read"}


@pytest.mark.parametrize("order", [1, -1])
def test_an_overlap_is_refused_when_it_is_registered(order: int) -> None:
    """Naming the owner."""

    def direct(server: Server) -> None:
        server.add(StaticResource("x://a", text="", name="direct"))

    def template(server: Server) -> None:
        @server.resource("x://{id}", name="template")
        def read(id: str) -> str:
            return id

    first, second = [direct, template][::order]
    server = Server("x")
    first(server)
    with pytest.raises(ConfigurationError, match=r"x://a") as refused:
        second(server)
    assert "test_resources.py" in str(refused.value)


def test_ambiguous_templates_are_a_fault_at_read(serve: Any) -> None:
    session = serve(SOURCE)
    assert refused(session, "two://a/b") == (
        -32603,
        "Multiple resource routes matched the requested URI",
        None,
    )
    assert session.read("two://z/b")["text"] == "z"


@pytest.mark.parametrize(
    "what",
    [
        "both",
        "neither",
        "base64",
        "relative",
        "number",
        "uri-number",
        "mime-number",
        "annotations",
        "bytes",
        "list",
        "second",
    ],
)
def test_contents_that_break_the_rules_are_never_sent(serve: Any, what: str) -> None:
    code, message, data = refused(serve(SOURCE), f"bad://{what}")
    assert code == -32603
    assert message.startswith("Resource ")
    assert "SECRET" not in f"{message}{data}"


@pytest.mark.parametrize(
    ("what", "content"),
    [
        (
            "text",
            {
                "mimeType": "text/x-declared",
                "text": "t",
                "annotations": {"priority": 1},
                "_meta": {"com.example/k": 1},
            },
        ),
        ("image", {"mimeType": "image/png", "blob": "iVBORw=="}),
        ("json", {"mimeType": "application/json", "text": '{"n":1}'}),
        ("blob", {"mimeType": "application/x-b", "blob": "Yg=="}),
        ("bytes", {"mimeType": "text/x-declared", "blob": "Yg=="}),
        ("bytearray", {"mimeType": "text/x-declared", "blob": "Yg=="}),
    ],
)
def test_content_values_become_contents(serve: Any, what: str, content: dict[str, Any]) -> None:
    assert serve(SOURCE).read(f"built://{what}") == {"uri": f"built://{what}", **content}


def test_a_list_of_content_values_becomes_several_contents(serve: Any) -> None:
    session = serve(SOURCE)
    shared = {"uri": "built://list", "mimeType": "text/x-declared"}
    assert session.ask("resources/read", {"uri": "built://list"})["contents"] == [
        {**shared, "text": "one"},
        {**shared, "blob": base64.b64encode(b"two").decode()},
    ]
    tuples = session.ask("resources/read", {"uri": "built://tuple"})["contents"]
    assert [content["text"] for content in tuples] == ["one", "two"]


def test_a_value_that_is_not_json_is_no_builder_argument() -> None:
    with pytest.raises(DeclarationError, match="json"):
        StaticResource("x://y", json=object())
    with pytest.raises(DeclarationError, match="json"):
        StaticResource("x://y", json=float("nan"))


@pytest.mark.parametrize(
    ("uri", "mime_type", "text"),
    [
        ("value://string", None, "text"),
        ("value://dict", "application/json", '{"b":1,"a":[null,true]}'),
        ("value://list", "application/json", '[1,"x"]'),
        ("value://number", "application/json", "5"),
        ("value://false", "application/json", "false"),
        ("value://dataclass", "application/json", '{"x":1,"y":2}'),
        ("value://empty-list", "application/json", "[]"),
        ("typed://string", "application/vnd.mine+json", "text"),
        ("typed://dict", "application/vnd.mine+json", '{"a":1}'),
    ],
)
def test_a_plain_value_is_one_content_at_the_requested_uri(
    serve: Any, uri: str, mime_type: str | None, text: str
) -> None:
    expected = {"uri": uri, "text": text}
    if mime_type is not None:
        expected["mimeType"] = mime_type
    assert serve(SOURCE).read(uri) == expected


def test_a_resource_without_read_is_refused() -> None:
    with pytest.raises(DeclarationError, match="read"):
        type("R", (Resource,), {"name": "r", "uri": "x://y"})


@pytest.mark.parametrize(
    ("how", "code", "message"),
    [
        ("error", 7001, "not today"),
        ("returned-error", 7001, "not today"),
        ("raise", -32603, "Resource raised an exception"),
        ("nothing", -32603, "Resource returned an invalid result"),
        ("prompt", -32603, "Resource returned the wrong result kind"),
        ("completion", -32603, "Resource returned the wrong result kind"),
        ("text", -32603, "Resource returned the wrong result kind"),
        ("structured", -32603, "Resource returned the wrong result kind"),
        ("content", -32603, "Resource returned the wrong result kind"),
        ("ttl", -32603, "Resource returned an invalid result: ttl_ms is not an integer"),
        ("failure", -32603, "Resource read failed"),
    ],
)
def test_every_outcome_of_a_read_has_its_answer(
    serve: Any, how: str, code: int, message: str
) -> None:
    session = serve(SOURCE)
    assert refused(session, f"ends://{how}")[:2] == (code, message)
    assert session.read("cfg://app/main")["text"] == "main"


@pytest.mark.parametrize("how", ["exit", "cancelled", "object", "nan", "surrogate"])
def test_a_read_that_ends_badly_is_an_internal_error(serve: Any, how: str) -> None:
    session = serve(SOURCE)
    code, message, data = refused(session, f"ends://{how}")
    assert code == -32603
    assert message.startswith("Resource ")
    assert "SECRET" not in f"{message}{data}"
    assert session.read("cfg://app/main")["text"] == "main"


def test_a_failed_read_is_found_in_the_log(serve: Any) -> None:
    session = serve(SOURCE)
    code, _, data = refused(session, "ends://raise")
    assert code == -32603
    log = session.wait_for_log(data["errorId"])
    assert "SECRET" in log


def test_a_read_may_ask_for_input(serve: Any) -> None:
    result = serve(SOURCE).ask("resources/read", {"uri": "ends://input"})
    assert result["resultType"] == "input_required"
    assert result["requestState"] == "state"
    assert not {"contents", "ttlMs", "cacheScope"} & set(result)


def test_a_handler_may_take_the_context(serve: Any) -> None:
    assert json.loads(serve(SOURCE).read("seen://context")["text"]) == {
        "method": "resources/read",
        "same": True,
    }


def test_lists_are_sorted_and_tell_only_what_is_there(serve: Any) -> None:
    session = serve(SOURCE)
    resources = session.ask("resources/list")["resources"]
    assert [r["uri"] for r in resources] == sorted(r["uri"] for r in resources)
    by_uri = {r["uri"]: r for r in resources}
    assert by_uri["file:///b"] == {"uri": "file:///b", "name": "b", "size": 1}
    assert by_uri["file:///a"] == {
        "uri": "file:///a",
        "name": "a",
        "title": "A",
        "description": "The first.",
        "mimeType": "text/plain",
        "size": 1,
        "icons": [{"src": "https://example.com/i.png"}],
        "annotations": {
            "audience": ["user"],
            "priority": 0,
            "lastModified": "2026-07-28T00:00:00Z",
        },
        "_meta": {"com.example/k": None},
    }
    templates = session.ask("resources/templates/list")["resourceTemplates"]
    texts = [t["uriTemplate"] for t in templates]
    assert texts == sorted(texts)
    assert {"uriTemplate": "note://store/{id}", "name": "note"} in templates
    assert not any("uri" in template for template in templates)


@pytest.mark.parametrize(
    "annotations",
    [
        {"audience": ["robot"]},
        {"audience": "user"},
        {"priority": 1.5},
        {"priority": -0.1},
        {"priority": True},
        {"lastModified": 5},
    ],
)
def test_annotations_are_checked_when_they_are_declared(annotations: dict[str, Any]) -> None:
    with pytest.raises(DeclarationError, match="annotation"):
        StaticResource("x://y", text="", annotations=annotations)


def test_a_read_has_the_nearest_cache_policy(serve: Any) -> None:
    """Of the read, else of the resource, else of the server."""
    session = serve(SOURCE)

    def policy(uri: str) -> tuple[int, str]:
        result = session.ask("resources/read", {"uri": uri})
        return result["ttlMs"], result["cacheScope"]

    assert policy("cfg://app/main") == (1_000, "private")
    assert policy("file:///a") == (1_000, "private")
    assert policy("note://store/1") == (1_000, "private")
    assert policy("cached://own") == (5, "public")
    assert policy("cached://read") == (0, "private")
