"""Completers: how they are found, how they are called, what they may give."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pytest

import snodo
from snodo import Arg, ConfigurationError, Context, Result, Server
from snodo._signature import CompletionSpec

if TYPE_CHECKING:
    from collections.abc import Mapping


def completed(completer: Any) -> CompletionSpec:
    server = Server("x")

    @server.prompt(complete={"a": completer})
    def prompt(a: str) -> str:
        return a

    (spec,) = server._offering.freeze()[1]["prompts"]
    (completion,) = spec.completions
    assert completion.argument == "a"
    return completion


def call(completer: Any) -> Any:
    spec = completed(completer)
    assert spec.function is not None
    given = ("v", {"b": "w"}, "context") if spec.takes_context else ("v", {"b": "w"})
    found = spec.function(*given)
    return asyncio.run(found) if spec.is_async else found


def test_a_completer_takes_what_it_names() -> None:
    def one(value: str) -> list[str]:
        return [value]

    def two(value: str, arguments: Mapping[str, str]) -> list[str]:
        return [value, *arguments]

    def third(value: str, arguments: dict[str, str], context: Any) -> list[str]:
        return [value, *arguments, context]

    def noted(value: str, context: Context) -> list[str]:
        return [value, str(context)]

    def first(context: Context, /, value: str) -> list[str]:
        return []

    def keyword(value: str, arguments: Any = None, *, context: Context) -> list[str]:
        return [value, *arguments, str(context)]

    def many(*given: Any) -> list[str]:
        return [given[0], *given[1], given[2]]

    assert call(one) == ["v"]
    assert call(two) == ["v", "b"]
    assert call(third) == ["v", "b", "context"]
    assert call(noted) == ["v", "context"]
    assert call(keyword) == ["v", "b", "context"]
    assert call(many) == ["v", "b", "context"]
    with pytest.raises(snodo.DeclarationError, match="positional-only"):
        completed(first)


def test_whatever_holds_strings_is_a_list_of_them() -> None:
    def generated(value: str) -> Iterator[str]:
        yield from "ab"

    async def late(value: str) -> dict[str, int]:
        return {"a": 1, "b": 2}

    async def drawn(value: str) -> AsyncIterator[str]:
        yield "a"
        yield "b"

    class Callable:
        def __call__(self, value: str) -> tuple[str, ...]:
            return ("a", "b")

    for completer in (generated, late, drawn, Callable(), lambda value: iter(["a", "b"])):
        assert call(completer) == ["a", "b"]


def test_results_and_mistakes_are_left_to_the_runtime() -> None:
    result = Result.completion(["a"], total=3, has_more=True)
    assert call(lambda value: result) is result
    for mistake in ("abc", b"abc", None, 5):
        assert call(lambda value, *, mistake=mistake: mistake) == mistake
    assert call(lambda value: ["a", 5]) == ["a", 5]


def test_values_may_be_given_instead() -> None:
    assert completed(["a", "b"]).values == ("a", "b")
    assert completed(("a",)).values == ("a",)


def test_parameters_that_list_their_values_complete_themselves() -> None:
    server = Server("x")

    @server.prompt
    def prompt(
        a: Literal["x", 5, True],
        b: Annotated[str, Arg(enum=["p", "q"])],
        c: bool | None = None,
        d: Literal["m"] | bool = False,
        e: Literal["m"] | int = 0,
        f: str = "",
    ) -> str:
        return ""

    (spec,) = server._offering.freeze()[1]["prompts"]
    assert {c.argument: c.values for c in spec.completions} == {
        "a": ("x", "5", "true"),
        "b": ("p", "q"),
        "c": ("true", "false"),
        "d": ("m", "true", "false"),
    }


def test_completers_are_joined_to_what_was_declared_before() -> None:
    server = Server("x")

    @server.prompt
    def prompt(a: str, b: Literal["x", "y"] = "x") -> str:
        return a

    @server.resource("t://{a}/{b}", name="item")
    def item(a: str, b: str) -> str:
        return a

    @server.complete("prompt", "a")
    def first(value: str) -> list[str]:
        return ["first"]

    server.complete("t://{a}/{b}", "a")(lambda value: ["template"])
    server.complete("item", "b")(lambda value: ["name"])
    server.complete(prompt, "b")(lambda value: ["function"])
    assert first("") == ["first"]
    components = server._offering.freeze()[1]
    found = {
        completion.function("", {})[0]
        for kind in ("prompts", "resources")
        for spec in components[kind]
        for completion in spec.completions
    }
    assert found == {"first", "template", "name", "function"}
    with pytest.raises(ConfigurationError, match="in use already"):
        server.complete("prompt", "a")(first)


def test_there_must_be_something_to_complete() -> None:
    server = Server("x")

    @server.prompt(name="both")
    def prompt(a: str) -> str:
        return a

    @server.resource("t://{a}", name="both")
    def item(a: str) -> str:
        return a

    @server.resource("all://t")
    def everything() -> str:
        return ""

    for target in ("nothing", "t://x", "everything", "all://t", test_values_may_be_given_instead):
        with pytest.raises(ConfigurationError, match="there is no prompt or template"):
            server.complete(target, "a")(lambda value: [])
    with pytest.raises(ConfigurationError, match="is a prompt and a template"):
        server.complete("both", "a")(lambda value: [])
