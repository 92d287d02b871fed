"""Every kind of callable that can be a tool, and how tools are listed."""

from __future__ import annotations

from typing import Any

import pytest

from driver import Refusal

KINDS = '''
import functools
from collections.abc import AsyncIterator, Iterator

import snodo
from snodo import Context, Server

server = Server("kinds", version="1.0.0")


@server.tool
def plain(name: str) -> str:
    """Greet, without parentheses."""
    return f"plain {name}"


@server.tool()
def called(name: str) -> str:
    return f"called {name}"


@server.tool(name="renamed", title="Renamed", description="Another name.")
def original(name: str) -> str:
    return f"renamed {name}"


@server.tool
async def coroutine(name: str) -> str:
    return f"coroutine {name}"


class Shop:
    def __init__(self, prefix: str) -> None:
        self.prefix = prefix

    def bound(self, name: str) -> str:
        return f"{self.prefix} {name}"

    async def bound_coroutine(self, name: str) -> str:
        return f"{self.prefix} {name}"

    @classmethod
    def class_method(cls, name: str) -> str:
        return f"{cls.__name__} {name}"

    @staticmethod
    def static_method(name: str) -> str:
        return f"static {name}"


class Callable:
    def __call__(self, name: str) -> str:
        return f"callable {name}"


class AsyncCallable:
    async def __call__(self, name: str) -> str:
        return f"async callable {name}"


def joined(prefix: str, name: str) -> str:
    return f"{prefix} {name}"


def wrapper(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        return function(*args, **kwargs) + "!"

    return inner


shop = Shop("bound")
server.tool(shop.bound)
server.tool(shop.bound_coroutine)
server.tool(Shop.class_method)
server.tool(Shop.static_method)
server.tool(name="callable")(Callable())
server.tool(name="async_callable")(AsyncCallable())
server.tool(name="partial")(functools.partial(joined, "partial"))


@server.tool
@wrapper
def wrapped(name: str) -> str:
    return f"wrapped {name}"


@server.tool
def generator(name: str) -> Iterator[str]:
    yield "generator"
    yield name


@server.tool
async def async_generator(name: str) -> AsyncIterator[str]:
    yield "async generator"
    yield name


@server.tool
def keyword_only(*, name: str, context: Context) -> str:
    return f"keyword only {name} {context.method}"


@snodo.tool
def elsewhere(name: str) -> str:
    return f"elsewhere {name}"


server.add(elsewhere)


class Behaviour(snodo.Tool):
    name = "behaviour"
    description = "The class form."
    input_schema = {
        "type": "object",
        "properties": {"name": {"type": "string"}},
        "required": ["name"],
    }

    def call(self, arguments, context):
        return f"behaviour {arguments['name']}"


class AsyncBehaviour(Behaviour):
    name = "async_behaviour"

    async def call(self, arguments, context):
        return f"async behaviour {arguments['name']}"


server.add(Behaviour)
server.add(AsyncBehaviour)


@server.tool(input_schema={"type": "object", "x-own": [1, {"z": 1, "a": 2}]})
def raw(arguments, context):
    return f"raw {sorted(arguments)} {context.method}"


def decorated_is_unharmed() -> str:
    assert plain("Ada") == "plain Ada"
    assert original.__name__ == "original"
    return "unharmed"


server.tool(decorated_is_unharmed)
'''


@pytest.mark.parametrize(
    ("tool", "text"),
    [
        ("plain", "plain Ada"),
        ("called", "called Ada"),
        ("renamed", "renamed Ada"),
        ("coroutine", "coroutine Ada"),
        ("bound", "bound Ada"),
        ("bound_coroutine", "bound Ada"),
        ("class_method", "Shop Ada"),
        ("static_method", "static Ada"),
        ("callable", "callable Ada"),
        ("async_callable", "async callable Ada"),
        ("partial", "partial Ada"),
        ("wrapped", "wrapped Ada!"),
        ("keyword_only", "keyword only Ada tools/call"),
        ("elsewhere", "elsewhere Ada"),
        ("behaviour", "behaviour Ada"),
        ("async_behaviour", "async behaviour Ada"),
    ],
)
def test_every_kind_of_callable_can_be_a_tool(serve: Any, tool: str, text: str) -> None:
    assert serve(KINDS).text(tool, {"name": "Ada"}) == text


@pytest.mark.parametrize("tool", ["generator", "async_generator"])
def test_a_generator_is_drained_into_a_list(serve: Any, tool: str) -> None:
    result = serve(KINDS).call(tool, {"name": "Ada"})
    assert result["structuredContent"] == [tool.replace("_", " "), "Ada"]


def test_an_explicit_schema_gives_the_arguments_as_they_are(serve: Any) -> None:
    assert serve(KINDS).text("raw", {"b": 1, "a": 2}) == "raw ['a', 'b'] tools/call"


def test_a_decorator_leaves_the_function_unharmed(serve: Any) -> None:
    assert serve(KINDS).text("decorated_is_unharmed") == "unharmed"


def test_an_explicit_schema_is_listed_verbatim(serve: Any) -> None:
    schema = serve(KINDS).tools()["raw"]["inputSchema"]
    assert schema == {"type": "object", "x-own": [1, {"z": 1, "a": 2}]}
    assert list(schema["x-own"][1]) == ["z", "a"], "member order is part of verbatim"


def test_name_title_and_description_are_listed(serve: Any) -> None:
    tools = serve(KINDS).tools()
    assert tools["renamed"]["title"] == "Renamed"
    assert tools["renamed"]["description"] == "Another name."
    assert tools["plain"]["description"] == "Greet, without parentheses."
    assert "title" not in tools["plain"]


def test_the_context_parameter_is_not_in_the_schema(serve: Any) -> None:
    schema = serve(KINDS).tools()["keyword_only"]["inputSchema"]
    assert list(schema["properties"]) == ["name"]
    assert schema["required"] == ["name"]


def test_a_wrapped_function_keeps_its_parameters(serve: Any) -> None:
    assert list(serve(KINDS).tools()["wrapped"]["inputSchema"]["properties"]) == ["name"]


def test_a_bound_partial_argument_is_not_asked_for(serve: Any) -> None:
    assert list(serve(KINDS).tools()["partial"]["inputSchema"]["properties"]) == ["name"]


def test_tool_names_are_case_sensitive(serve: Any) -> None:
    with pytest.raises(Refusal) as refused:
        serve(KINDS).call("Plain", {"name": "Ada"})
    assert (refused.value.code, refused.value.message) == (-32602, "Unknown tool: Plain")


def test_an_unknown_tool_is_an_invalid_params_error(serve: Any) -> None:
    with pytest.raises(Refusal) as refused:
        serve(KINDS).call("nope", {})
    assert (refused.value.code, refused.value.message) == (-32602, "Unknown tool: nope")


NONE_AT_ALL = """
from snodo import Server

server = Server("empty", version="1.0.0")
"""


def test_a_server_without_tools_has_no_tools_capability(serve: Any) -> None:
    session = serve(NONE_AT_ALL)
    assert "tools" not in session.ask("server/discover")["capabilities"]
    with pytest.raises(Refusal) as refused:
        session.ask("tools/list")
    assert refused.value.code == -32601


UNICODE = """
from snodo import Server

server = Server("berries", version="1.0.0")

@server.tool(name="blåbær", input_schema={"type": "object"})
def berries(arguments, context):
    return "茶"
"""


def test_a_name_outside_ascii_can_be_called(serve: Any) -> None:
    assert serve(UNICODE).text("blåbær") == "茶"


IDENTITY = """
from snodo import Server

server = Server(
    "shop", version="2.1.0", title="The shop", instructions="Look things up in the shop."
)

@server.tool
def add(a: int, b: int) -> int:
    return a + b
"""


def test_discovery_tells_who_serves_what(serve: Any) -> None:
    discovered = serve(IDENTITY).ask("server/discover")
    assert discovered["supportedVersions"] == [
        "2026-07-28",
        "2025-11-25",
        "2025-06-18",
        "2025-03-26",
        "2024-11-05",
    ]
    assert discovered["capabilities"] == {"logging": {}, "tools": {"listChanged": True}}
    assert discovered["instructions"] == "Look things up in the shop."
    assert discovered["resultType"] == "complete"
    assert discovered["ttlMs"] >= 0
    assert discovered["cacheScope"] in ("private", "public")


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("server/discover", {}),
        ("tools/list", {}),
        ("tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}}),
        ("tools/call", {"name": "add", "arguments": {}}),
    ],
)
def test_every_result_names_the_server_and_its_kind(
    serve: Any, method: str, params: dict[str, Any]
) -> None:
    result = serve(IDENTITY).ask(method, params)
    info = result["_meta"]["io.modelcontextprotocol/serverInfo"]
    assert info == {"name": "shop", "version": "2.1.0", "title": "The shop"}
    assert result["resultType"] == "complete"
