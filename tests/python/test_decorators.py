"""What can be decorated, and that it comes back unharmed."""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

import snodo
from snodo import ConfigurationError, Server

if TYPE_CHECKING:
    from snodo import Context


def only(server: Server) -> Any:
    (spec,) = server._offering.tools()
    return spec


def added(function: Any, **options: Any) -> Any:
    server = Server("test")
    assert server.tool(**options)(function) is function
    return only(server)


def names(spec: Any) -> list[str]:
    return list(json.loads(spec.definition)["inputSchema"]["properties"])


def test_with_and_without_parentheses() -> None:
    server = Server("test")

    @server.tool
    def a(x: int) -> int:
        """Do a."""
        return x

    @server.tool()
    def b(x: int) -> int:
        return x

    @server.tool(name="c.d", title="C", annotations={"readOnlyHint": True}, timeout=2)
    def c(x: int) -> int:
        return x

    assert [spec.name for spec in server._offering.tools()] == ["a", "b", "c.d"]
    definition = json.loads(server._offering.tools()[2].definition)
    assert definition["title"] == "C"
    assert definition["annotations"] == {"readOnlyHint": True}
    assert server._offering.tools()[2].timeout == 2.0
    assert a(1) == b(1) == c(1) == 1
    assert json.loads(server._offering.tools()[0].definition)["description"] == "Do a."


def test_a_minimal_tool_lists_name_and_input_schema_alone() -> None:
    def ping() -> None: ...

    assert json.loads(added(ping).definition) == {
        "name": "ping",
        "inputSchema": {"type": "object", "properties": {}, "additionalProperties": False},
    }


def test_coroutine_functions_are_marked() -> None:
    async def tool(x: int) -> int:
        return x

    spec = added(tool)
    assert spec.is_async
    assert asyncio.run(spec.function(1)) == 1


def test_generators_are_drained_into_a_list() -> None:
    def numbers(n: int) -> Iterator[int]:
        yield from range(n)

    async def more(n: int) -> AsyncIterator[int]:
        for i in range(n):
            yield i

    plain, late = added(numbers), added(more)
    assert plain.function(2) == [0, 1]
    assert late.is_async
    assert asyncio.run(late.function(2)) == [0, 1]
    for spec in (plain, late):
        output = json.loads(spec.definition)["outputSchema"]
        assert output == {"type": "array", "items": {"type": "integer"}}


class Shop:
    def __init__(self, name: str) -> None:
        self.name = name

    @snodo.tool
    def find(self, query: str) -> str:
        """Find it."""
        return f"{self.name}: {query}"

    @classmethod
    def made(cls, x: int) -> str:
        return cls.__name__

    @staticmethod
    def helped(x: int) -> int:
        return x

    async def __call__(self, y: int) -> int:
        """Call it."""
        return y


def test_bound_methods_and_callable_objects() -> None:
    shop = Shop("s")
    server = Server("test")
    server.tool(shop.find)
    server.tool(Shop.made)
    server.tool(Shop.helped)
    server.tool(shop)
    find, made, helped, call = server._offering.tools()
    assert (find.name, made.name, helped.name, call.name) == ("find", "made", "helped", "Shop")
    assert find.function("q") == "s: q"
    assert names(find) == ["query"]
    assert made.function(1) == "Shop"
    assert call.is_async
    assert json.loads(call.definition)["description"] == "Call it."


def test_a_decorated_method_is_added_from_an_instance() -> None:
    server = Server("test")
    shop = Shop("s")
    server.add(shop.find)
    server.add(shop.find)
    assert only(server).function("q") == "s: q"
    with pytest.raises(ConfigurationError, match="without an instance"):
        Server("test").add(Shop.find)


def test_partials_hide_what_is_bound() -> None:
    def search(kind: str, query: str, limit: int = 3, offset: int = 0) -> str:
        """Search."""
        return f"{kind} {query} {limit} {offset}"

    spec = added(functools.partial(search, "books", limit=5))
    assert spec.name == "search"
    assert names(spec) == ["query", "offset"]
    assert [slot.keyword for slot in spec.slots] == [None, "offset"]
    assert spec.function("q", offset=1) == "books q 5 1"


def test_wrapped_functions_show_the_inner_signature_and_run_the_wrapper() -> None:
    def loud(function: Callable[..., str]) -> Callable[..., str]:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> str:
            return function(*args, **kwargs).upper()

        return wrapper

    @loud
    def greet(name: str) -> str:
        return name

    spec = added(greet)
    assert names(spec) == ["name"]
    assert spec.function("ann") == "ANN"


def test_a_wrapper_of_a_declared_tool_is_what_runs() -> None:
    @snodo.tool
    def greet(name: str) -> str:
        return name

    @functools.wraps(greet)
    def wrapper(name: str) -> str:
        return greet(name).upper()

    server = Server("test")
    server.add(wrapper)
    assert only(server).function("ann") == "ANN"


def test_a_plain_wrapper_of_a_coroutine_function_is_awaited() -> None:
    async def inner(x: int) -> int:
        return x

    @functools.wraps(inner)
    def wrapper(x: int) -> Any:
        return inner(x + 1)

    spec = added(wrapper)
    assert spec.is_async
    assert asyncio.run(spec.function(1)) == 2


def test_the_context_is_found_by_annotation_even_when_imported_for_type_checkers() -> None:
    def tool(x: int, *, ctx: Context, y: int | None = None) -> None: ...

    spec = added(tool)
    assert names(spec) == ["x", "y"]
    assert [(slot.key, slot.keyword) for slot in spec.slots] == [
        ("x", None),
        (None, "ctx"),
        ("y", "y"),
    ]


def test_reserved_and_underscored_names_work() -> None:
    from typing import Annotated

    from snodo import Arg

    def tool(
        _private: int, schema: int, json: int, class_: Annotated[int, Arg(name="class")]
    ) -> None: ...

    assert names(added(tool)) == ["_private", "schema", "json", "class"]


@pytest.mark.parametrize(
    "raw",
    [
        lambda arguments, context: (arguments, context),
        lambda arguments: (arguments, "ctx"),
        lambda *both: both,
    ],
)
def test_an_explicit_schema_gives_arguments_and_context(raw: Any) -> None:
    spec = added(raw, name="raw", input_schema={"type": "object"})
    assert spec.slots is None
    assert spec.function({"a": 1}, "ctx") == ({"a": 1}, "ctx")


def test_an_explicit_schema_finds_the_context_by_annotation() -> None:
    def first(ctx: Context, arguments: dict[str, Any]) -> Any:
        return arguments, ctx

    def keyword(arguments: dict[str, Any], *, ctx: Context) -> Any:
        return arguments, ctx

    def alone(ctx: Context) -> Any:
        return {}, ctx

    for function in (first, keyword, alone):
        spec = added(function, input_schema={"type": "object"})
        assert spec.function({}, "ctx") == ({}, "ctx")


def test_a_lone_declaration_equals_an_inline_one() -> None:
    def tool(x: int = 1) -> int:
        """Do it."""
        return x

    inline = added(tool)
    server = Server("test")
    server.add(snodo.tool(tool))
    assert only(server).definition == inline.definition


def test_duplicate_names_are_refused_and_the_same_tool_is_not() -> None:
    server = Server("test")

    @server.tool(name="x")
    def first() -> None: ...

    server.tool(name="x")(first)

    def second() -> None: ...

    with pytest.raises(ConfigurationError, match=r'tool name "x" is already registered by .*first'):
        server.tool(name="x")(second)
    assert len(server._offering.tools()) == 1


def test_the_error_is_about_the_first_wrong_part() -> None:
    server = Server("test")

    def tool(arguments: Any, context: Any) -> None: ...

    with pytest.raises(snodo.DeclarationError, match="title"):
        server.tool(title=3, input_schema=[])(tool)  # type: ignore[call-overload]
