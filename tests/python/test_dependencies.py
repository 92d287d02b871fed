"""Dependencies as they are read, and functions that stand in for them."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from typing import Annotated, Any

import pytest

import snodo
from driver import request
from snodo import (
    ConfigurationError,
    Context,
    DeclarationError,
    Depends,
    Server,
    current_auth,
    current_headers,
)
from snodo.dependencies import Current
from snodo.middleware import cache


def text(server: Server, tool: str = "f", **arguments: Any) -> str:
    answer = server.handle(request("tools/call", {"name": tool, "arguments": arguments}))
    assert answer is not None
    result = answer["result"]
    assert result["isError"] is False, result
    found: str = result["content"][0]["text"]
    return found


def one() -> int:
    return 1


def two(one: Annotated[int, Depends(one)]) -> int:
    return one + 1


async def late() -> int:
    return 5


class Library:
    def __init__(self, size: int) -> None:
        self.size = size

    def books(self, one: Annotated[int, Depends(one)]) -> int:
        return self.size + one

    @snodo.tool
    def count(self, extra: int, books: Annotated[int, Depends(two)]) -> int:
        return self.size + extra + books

    def __call__(self) -> int:
        return self.size


@pytest.fixture
def server() -> Server:
    server = Server("dependent")

    @server.tool
    def f(two: Annotated[int, Depends(two)]) -> int:
        return two

    return server


def test_any_callable_may_fill_a_parameter() -> None:
    library = Library(10)
    server = Server("callables")

    @server.tool
    def f(
        bound: Annotated[int, Depends(library.books)],
        instance: Annotated[int, Depends(library)],
        partial: Annotated[int, Depends(functools.partial(library.books, one=7))],
        unnamed: Annotated[int, Depends(lambda: 3)],
    ) -> list[Any]:
        return [bound, instance, partial, unnamed]

    server.add(library.count)
    assert text(server) == "[11,10,17,3]"
    assert text(server, "count", extra=100) == "112"


def test_functions_of_a_function_may_need_each_other() -> None:
    server = Server("local")

    class Here:
        value = 3

    def first() -> Here:
        return Here()

    def second(here: Annotated[Here, Depends(first)], context: Context) -> int:
        return here.value + len(context.method)

    @server.tool
    def f(second: Annotated[int, Depends(second)]) -> int:
        return second

    assert text(server) == "13"

    def other() -> Here:
        here = Here()
        here.value = 4
        return here

    def third(here: Annotated[Here, Depends(other)]) -> int:
        return here.value

    with server.overrides({second: third}):
        assert text(server) == "4"


def test_one_made_twice_of_the_same_method_runs_once() -> None:
    calls: list[int] = []

    class Source:
        def value(self) -> int:
            calls.append(1)
            return len(calls)

    source = Source()
    server = Server("once")

    @server.tool
    def f(
        a: Annotated[int, Depends(source.value)], b: Annotated[int, Depends(source.value)]
    ) -> str:
        return f"{a} {b}"

    assert text(server) == "1 1"
    with server.overrides({source.value: lambda: 9}):
        assert text(server) == "9 9"


def test_a_part_of_the_request_is_nowhere_without_one() -> None:
    assert isinstance(current_auth, Current)
    assert repr(current_headers) == "current_headers"
    with pytest.raises(LookupError, match="no request is being served here"):
        current_headers()


def test_what_cannot_be_called_is_no_dependency() -> None:
    with pytest.raises(
        DeclarationError, match="Depends: function: a int cannot be called"
    ) as caught:
        Depends(3)  # type: ignore[arg-type]
    assert "test_dependencies.py:" in caught.value.where


@pytest.mark.parametrize("hinted", [True, False])
def test_the_depends_of_fastapi_is_refused(hinted: bool) -> None:
    fastapi = pytest.importorskip("fastapi")
    foreign = fastapi.Depends(one)

    def tool(value: Any = None) -> str:
        return str(value)

    if hinted:
        tool.__annotations__["value"] = Annotated[int, foreign]
    else:
        tool.__defaults__ = (foreign,)
    with pytest.raises(DeclarationError, match="has the Depends of FastAPI") as caught:
        Server("shop").tool(tool)
    assert "import Depends from snodo" in str(caught.value)


# Standing in


def test_nested_blocks_are_left_one_by_one(server: Server) -> None:
    assert text(server) == "2"
    with server.overrides({one: lambda: 10}):
        assert text(server) == "11"
        with server.overrides({two: lambda: 5}):
            assert text(server) == "5"
            with server.overrides({one: late, two: late}):
                assert text(server) == "5"
        assert text(server) == "11"
    assert text(server) == "2"


def test_blocks_may_overlap(server: Server) -> None:
    first, second = server.overrides({one: lambda: 10}), server.overrides({one: lambda: 20})
    first.__enter__()
    second.__enter__()
    assert text(server) == "21"
    first.__exit__(None, None, None)
    assert text(server) == "21"
    second.__exit__(None, None, None)
    assert text(server) == "2"


def test_a_block_that_raises_is_left_too(server: Server) -> None:
    with pytest.raises(KeyError), server.overrides({one: lambda: 10}):
        raise KeyError
    assert text(server) == "2"


def test_what_is_added_meanwhile_is_concerned_too(server: Server) -> None:
    def g(one: Annotated[int, Depends(one)]) -> int:
        return one

    with server.overrides({one: lambda: 10}):
        assert text(server) == "11"
        with server.changes() as changes:
            changes.add(snodo.tool(g))
        assert text(server, "g") == "10"
    assert text(server, "g") == "1"


def test_a_block_may_begin_before_the_server_is_in_use(server: Server) -> None:
    with server.overrides({one: lambda: 10}):
        server.tool(name="g")(one_more)
        assert text(server) == "11"
        assert text(server, "g") == "11"
    assert text(server) == "2"


def one_more(one: Annotated[int, Depends(one)]) -> int:
    return one + 1


def test_calls_under_way_end_as_they_began() -> None:
    server = Server("running")
    begun, go = threading.Event(), threading.Event()

    def slow() -> Iterator[str]:
        begun.set()
        assert go.wait(10)
        yield "before"

    @server.tool
    def f(slow: Annotated[str, Depends(slow)]) -> str:
        return slow

    found: list[str] = []
    caller = threading.Thread(target=lambda: found.append(text(server)))
    caller.start()
    assert begun.wait(10)
    with server.overrides({slow: lambda: "within"}):
        assert text(server) == "within"
        go.set()
        caller.join(10)
    assert found == ["before"]


def test_a_memory_is_not_of_what_stands_in() -> None:
    server = Server("memory", middleware=[cache(60)])

    @server.tool
    def f(one: Annotated[int, Depends(one)]) -> int:
        return one

    @server.tool
    def g() -> int:
        return 0

    assert text(server) == "1"
    with server.overrides({one: lambda: 10}):
        assert text(server) == "10"
    assert text(server) == "1"


def test_what_nothing_depends_on_cannot_be_replaced(server: Server) -> None:
    with (
        pytest.raises(ConfigurationError, match="no component of the server depends on late"),
        server.overrides({late: lambda: 3}),
    ):
        pass
    assert text(server) == "2"


@pytest.mark.parametrize(
    ("fakes", "words"),
    [
        ([one], "overrides: must be a dict, not list"),
        ({one: 3}, "overrides: a int cannot be called"),
    ],
)
def test_what_cannot_stand_in_is_refused(server: Server, fakes: Any, words: str) -> None:
    with pytest.raises(DeclarationError, match=words) as caught:
        server.overrides(fakes)
    assert "test_dependencies.py:" in caught.value.where


def test_what_needs_an_argument_cannot_stand_in(server: Server) -> None:
    def needs(a: int) -> int:
        return a

    for fake, words in ((needs, "neither a context"), (two, "depends on itself: one → one")):
        with pytest.raises(DeclarationError, match=words), server.overrides({one: fake}):
            pass
    assert text(server) == "2"


def test_many_threads_may_replace_while_others_call(server: Server) -> None:
    done = threading.Event()
    seen: set[str] = set()
    failed: list[BaseException] = []

    def calls() -> None:
        try:
            while not done.is_set():
                seen.add(text(server))
        except BaseException as error:
            failed.append(error)

    callers = [threading.Thread(target=calls) for _ in range(2)]
    for caller in callers:
        caller.start()
    for number in range(100):
        with server.overrides({one: lambda number=number: number}):
            pass
    done.set()
    for caller in callers:
        caller.join(10)
    assert failed == []
    assert seen <= {str(number + 1) for number in range(100)} | {"2"}
    assert text(server) == "2"
