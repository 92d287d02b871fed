"""`auth.require_scopes`: what components need, what callers have, and what is neither."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from snodo import ConfigurationError, Context, DeclarationError, Error, Server, auth

PREFIX = "io.modelcontextprotocol/"
META = {PREFIX + "protocolVersion": "2026-07-28", PREFIX + "clientCapabilities": {}}


def ask(server: Server, caller: Any, method: str, **params: Any) -> Any:
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META}}
    answer = server.handle(message, auth=caller)
    assert answer is not None
    return answer.get("result") or answer["error"]


def tools(server: Server, caller: Any) -> list[str]:
    return [tool["name"] for tool in ask(server, caller, "tools/list")["tools"]]


def shop(policy: Any, **options: Any) -> Server:
    server = Server("shop", authorize=policy, **options)
    server.tool(name="browse")(lambda: "browsed")
    server.tool(name="sell", metadata={"scopes": "stock:write"})(lambda: "sold")
    server.tool(name="close", metadata={"scopes": ["stock:write", "admin"]})(lambda: "closed")
    return server


@pytest.mark.parametrize(
    ("caller", "seen"),
    [
        (None, ["browse"]),
        ("ada", ["browse"]),
        ({}, ["browse"]),
        ({"scopes": ["stock:write"]}, ["browse", "sell"]),
        ({"scopes": "admin stock:write"}, ["browse", "close", "sell"]),
        ({"scope": "admin stock:write"}, ["browse", "close", "sell"]),
        ({"scope": ["stock:write", "admin"]}, ["browse", "close", "sell"]),
        ({"scopes": ["admin"], "scope": "stock:write"}, ["browse", "close", "sell"]),
        ({"scopes": ["admin"]}, ["browse"]),
        ({"scopes": ["admin stock:write"]}, ["browse"]),
        ({"scopes": ["STOCK:WRITE"], "scope": "stock"}, ["browse"]),
        ({"scopes": {"stock:write": True}, "scope": 7}, ["browse"]),
        ({"scopes": [7, None, "stock:write"]}, ["browse", "sell"]),
        ({"roles": ["stock:write"]}, ["browse"]),
    ],
)
def test_who_has_the_scopes_sees_and_calls(caller: Any, seen: list[str]) -> None:
    server = shop(auth.require_scopes())
    assert tools(server, caller) == seen
    for name in ("browse", "sell", "close"):
        answer = ask(server, caller, "tools/call", name=name)
        assert ("content" in answer) is (name in seen), answer


def test_a_refusal_says_which_scopes_are_needed() -> None:
    server = shop(auth.require_scopes("mcp"))
    assert ask(server, {"scope": "stock:write"}, "tools/call", name="close") == {
        "code": -32003,
        "message": "Insufficient scope",
        "data": {"requiredScopes": ["mcp", "stock:write", "admin"]},
    }
    hidden = shop(auth.require_scopes("mcp"), conceal_refusals=True)
    assert ask(hidden, None, "tools/call", name="close")["message"] == "Unknown tool: close"


def test_every_component_may_need_some() -> None:
    server = shop(auth.require_scopes("mcp"))
    assert tools(server, {"scope": "stock:write"}) == []
    assert tools(server, {"scope": "mcp"}) == ["browse"]
    assert tools(server, {"scope": "mcp stock:write"}) == ["browse", "sell"]


def generated(component: auth.Component) -> Iterator[str]:
    if component.name == "browse":
        yield "reader"


@pytest.mark.parametrize(
    "needs",
    [
        {"browse": "reader"},
        {"browse": ["reader"]},
        {"browse": ("reader",), "sell": [], "nobody": "x"},
        lambda component: {"reader"} if component.name == "browse" else None,
        lambda component: "reader" if component.name == "browse" else "",
        generated,
    ],
)
def test_needs_are_more_than_what_metadata_says(needs: Any) -> None:
    server = shop(auth.require_scopes(needs=needs))
    assert tools(server, {"scope": "stock:write"}) == ["sell"]
    assert tools(server, {"scope": "stock:write reader"}) == ["browse", "sell"]
    assert "reader" not in str(ask(server, {"scope": "stock:write reader"}, "tools/list"))


def template(name: str) -> str:
    return name


def test_resources_templates_and_prompts_need_scopes_too() -> None:
    server = Server("x", authorize=auth.require_scopes())
    secret = {"scopes": "reader"}
    server.resource("x://a", name="a", metadata=secret)(lambda: "a")
    server.resource("x://{name}/b", name="b", metadata=secret)(template)
    server.prompt(name="p", metadata=secret)(lambda: "p")
    for caller, there in ((None, 0), ({"scope": "reader"}, 1)):
        assert len(ask(server, caller, "resources/list")["resources"]) == there
        templates = ask(server, caller, "resources/templates/list")["resourceTemplates"]
        assert len(templates) == there
        assert len(ask(server, caller, "prompts/list")["prompts"]) == there
        for uri in ("x://a", "x://z/b"):
            answer = ask(server, caller, "resources/read", uri=uri)
            assert ("contents" in answer) is bool(there)


@pytest.mark.parametrize("said", [5, True, {"stock:write": True}, ["stock:write", 5]])
def test_what_is_no_scope_lets_nobody_in(said: Any) -> None:
    server = Server("x", authorize=auth.require_scopes())
    server.tool(name="a", metadata={"scopes": said})(lambda: "ran")
    everything = {"scopes": ["stock:write"]}
    assert ask(server, everything, "tools/call", name="a")["code"] == -32603
    assert ask(server, everything, "tools/list")["code"] == -32603


@pytest.mark.parametrize("said", ["reader writer", ["reader", "writer"]])
def test_metadata_may_say_scope_as_a_principal_may(said: Any) -> None:
    server = Server("x", authorize=auth.require_scopes())
    server.tool(name="a", metadata={"scope": said})(lambda: "ran")
    assert tools(server, {"scope": "reader"}) == []
    assert ask(server, {"scope": "reader"}, "tools/call", name="a")["code"] == -32003
    assert tools(server, {"scope": "reader writer"}) == ["a"]


def test_metadata_with_both_names_lets_nobody_in() -> None:
    server = Server("x", authorize=auth.require_scopes())
    server.tool(name="a", metadata={"scope": "reader", "scopes": "writer"})(lambda: "ran")
    everything = {"scopes": ["reader", "writer"]}
    assert ask(server, everything, "tools/call", name="a")["code"] == -32603
    assert ask(server, everything, "tools/list")["code"] == -32603


def test_needs_of_what_there_is_not_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    server = shop(auth.require_scopes(needs={"browse": "a", "brwse": "a", "sel": "b"}))
    tools(server, None)
    tools(server, None)
    assert [record.getMessage().split(",")[0] for record in caplog.records] == [
        "require_scopes: needs names 'brwse'",
        "require_scopes: needs names 'sel'",
    ]


def test_a_policy_of_ones_own_may_go_on() -> None:
    scoped = auth.require_scopes()

    def policy(phase: Any, component: auth.Component, context: Context) -> Error | None:
        return scoped(phase, component, context) or (
            Error.authorization(-32003, "Not today") if component.name == "browse" else None
        )

    server = shop(policy)
    assert tools(server, {"scope": "stock:write"}) == ["sell"]
    assert ask(server, None, "tools/call", name="browse")["message"] == "Not today"


class Callable_:
    async def __call__(self, component: auth.Component) -> str:
        return "x"


async def late(component: auth.Component) -> str:
    return "x"


@pytest.mark.parametrize(
    ("scopes", "needs", "text"),
    [
        ((["a"],), None, "scopes are strings"),
        (({"a": "b"},), None, "said by needs="),
        ((5,), None, "scopes are strings"),
        (("a b",), None, "a scope is one word, not 'a b'"),
        (("",), None, "a scope is one word, not ''"),
        ((), {"sell": " "}, "needs['sell']: a scope is one word, not ' '"),
        ((), {"a": 5}, "needs['a']: scopes are strings"),
        ((), {"a": ["b c"]}, "a scope is one word, not 'b c'"),
        ((), {5: "b"}, "names of components are strings"),
        ((), "a", "a dict of names and scopes, or a plain function"),
        ((), late, "a plain function"),
        ((), Callable_(), "a plain function"),
        ((), Callable_, "a plain function"),
    ],
)
def test_what_cannot_be_needed_is_refused(scopes: Any, needs: Any, text: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        auth.require_scopes(*scopes, needs=needs)
    assert text in str(raised.value)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"authorize": auth.require_scopes}, "authorize has require_scopes uncalled: write auth"),
        ({"authenticate": auth.require_scopes}, "uncalled: write authorize=auth.require_scopes()"),
        ({"authenticate": auth.bearer}, "bearer uncalled: write authenticate=auth.bearer({...})"),
        ({"authenticate": auth.api_key}, "write authenticate=auth.api_key({...})"),
    ],
)
def test_what_was_to_be_called_is_refused(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        Server("x", **options)
    assert text in str(raised.value)


@pytest.mark.parametrize("layer", [auth.require_scopes, auth.require_scopes("admin")])
def test_a_policy_is_no_middleware(layer: Any) -> None:
    with pytest.raises(DeclarationError) as raised:
        Server("x", middleware=[layer])
    assert raised.value.reason == "is a policy"
    assert raised.value.advice == "write Server(authorize=auth.require_scopes(...))"
