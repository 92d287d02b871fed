"""Templates that match by code of their own, whatever their shape."""

from __future__ import annotations

import json
from typing import Any

import pytest

from snodo import ConfigurationError, DeclarationError, Resource, Server, StaticResource

MATCHERS = """
import time

from snodo import Resource, Server, StaticResource

server = Server("matchers", version="1.0.0")
server.add(StaticResource("direct://there", text="direct"))


@server.tool
def alive() -> str:
    return "alive"


class Versioned(Resource):
    name = "versioned"
    uri_template = "api://v{version}.{minor}"

    def matches(self, uri):
        if not uri.startswith("api://v"):
            return False
        version, _, minor = uri[len("api://v"):].partition(".")
        return {"version": version, "minor": minor} if minor else False

    def read(self, params, context):
        return params


class Whole(Resource):
    name = "whole"
    uri_template = "whole://{anything:100}"

    @staticmethod
    def matches(uri):
        return uri.startswith("whole://")

    async def read(self, params, context):
        return params


class Bad(Resource):
    name = "bad"
    uri_template = "bad://{=what}"

    def matches(self, uri):
        if not uri.startswith("bad://"):
            return False
        what = uri.removeprefix("bad://")
        if what == "raise":
            raise RuntimeError("SECRET")
        if what == "exit":
            raise SystemExit("SECRET")
        return {
            "number": 5,
            "none": None,
            "text": "SECRET",
            "list": ["SECRET"],
            "uri": {"uri": "SECRET"},
            "_meta": {"_meta": "SECRET"},
            "value": {"k": 5},
            "key": {5: "SECRET"},
            "surrogate": {"k": "\\ud800"},
        }.get(what, False)

    def read(self, params, context):
        return "SECRET"


@server.resource("api://{anything}")
def compiled(anything: str):
    return anything


server.add(Versioned, Whole, Bad)
"""


def refused(session: Any, uri: str) -> tuple[int, str, Any]:
    refusal = session.refusal("resources/read", {"uri": uri})
    return refusal.code, refusal.message, refusal.data


def test_a_class_may_match_by_code_of_its_own(serve: Any) -> None:
    session = serve(MATCHERS)
    listed = session.ask("resources/templates/list")["resourceTemplates"]
    assert {"uriTemplate": "whole://{anything:100}", "name": "whole"} in listed
    assert json.loads(session.read("whole://a%20b")["text"]) == {"uri": "whole://a%20b"}


def test_what_a_matcher_binds_reaches_the_handler(serve: Any) -> None:
    """Although a compiled template is asked too: both matching is a fault."""
    session = serve(MATCHERS)
    assert session.read("api://plain")["text"] == "plain"
    assert refused(session, "api://v1.2") == (
        -32603,
        "Multiple resource routes matched the requested URI",
        None,
    )
    assert json.loads(session.read("api://v1.2/x")["text"]) == {
        "version": "1",
        "minor": "2/x",
        "uri": "api://v1.2/x",
    }


@pytest.mark.parametrize(
    "what",
    [
        "raise",
        "exit",
        "number",
        "none",
        "text",
        "list",
        "uri",
        "_meta",
        "value",
        "key",
        "surrogate",
    ],
)
def test_a_matcher_that_answers_nonsense_is_a_fault(serve: Any, what: str) -> None:
    session = serve(MATCHERS)
    code, message, data = refused(session, f"bad://{what}")
    assert (code, message) == (-32603, "Resource matcher failed")
    assert "SECRET" not in str(data)
    assert session.text("alive") == "alive"


def test_a_matcher_that_says_no_makes_nothing_of_a_uri(serve: Any) -> None:
    assert refused(serve(MATCHERS), "bad://other")[:2] == (-32602, "Resource not found")


def test_a_direct_resource_is_found_without_asking_matchers(serve: Any) -> None:
    assert serve(MATCHERS).read("direct://there")["text"] == "direct"


@pytest.mark.parametrize("order", [1, -1])
def test_a_matcher_that_wants_a_direct_resource_is_refused(order: int) -> None:
    class Greedy(Resource):
        name = "greedy"
        uri_template = "x://{=all}"

        def matches(self, uri: str) -> bool:
            return True

        def read(self, params: Any, context: Any) -> str:
            return ""

    first, second = [StaticResource("x://a", text=""), Greedy][::order]
    server = Server("x")
    server.add(first)
    with pytest.raises(ConfigurationError, match="x://a"):
        server.add(second)


def test_a_matcher_is_a_plain_method_of_a_template() -> None:
    def read(self: Any, params: Any, context: Any) -> str:
        return ""

    async def matches(self: Any, uri: str) -> bool:
        return True

    members = {"name": "r", "read": read}
    with pytest.raises(DeclarationError, match="matches"):
        type("R", (Resource,), {**members, "uri_template": "x://{y}", "matches": matches})
    direct = {**members, "uri": "x://y", "matches": lambda self, uri: True}
    with pytest.raises(DeclarationError, match="matches"):
        type("R", (Resource,), direct)


@pytest.mark.parametrize("answer", [5, None, "raise"])
def test_a_matcher_is_tried_when_it_is_registered(answer: Any) -> None:
    """With its own text, so that one that never works is found at import."""

    class Odd(Resource):
        name = "odd"
        uri_template = "x://{=all}"

        def matches(self, uri: str) -> Any:
            if answer == "raise":
                raise LookupError(uri)
            return answer

        def read(self, params: Any, context: Any) -> str:
            return ""

    with pytest.raises((ConfigurationError, DeclarationError)):
        Server("x").add(Odd)
