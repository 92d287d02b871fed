"""What people bring along from other libraries is refused with what to write here."""

from __future__ import annotations

import asyncio
import inspect
import io
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

import pytest

import snodo
from snodo import ConfigurationError, DeclarationError, Depends, Server, _elsewhere, middleware
from snodo._http_options import http_options

T = TypeVar("T")


class Context(Generic[T]):
    """Stands for the class of that name in another library."""


class Request:
    """The same."""


class Header:
    """The same."""


class _TokenClaim:
    """The same, behind a function."""


class Resolve:
    """A mark that nobody here has heard of."""


FOREIGN = {
    _TokenClaim: "fastmcp.server.dependencies",
    Context: "mcp.server",
    Request: "starlette.requests",
    Header: "fastapi",
    Resolve: "mcp",
}


@pytest.fixture(autouse=True)
def foreign(monkeypatch: pytest.MonkeyPatch) -> None:
    for cls, module in FOREIGN.items():
        monkeypatch.setattr(cls, "__module__", module)


def kinds() -> list[Any]:
    server = Server("x")
    return [
        server.tool,
        server.prompt,
        snodo.tool,
        snodo.prompt,
        snodo.resource("x://{a}"),
        server.resource("x://{a}"),
    ]


@pytest.mark.parametrize("decorate", kinds())
@pytest.mark.parametrize(
    ("annotation", "default", "reason", "advice"),
    [
        (Context, inspect.Parameter.empty, "is the Context of mcp", "snodo.Context"),
        (Context[int], inspect.Parameter.empty, "is the Context of mcp", "snodo.Context"),
        (Context | None, None, "is the Context of mcp", "snodo.Context"),
        (Request, inspect.Parameter.empty, "is the Request of Starlette", "headers"),
        (str, Header(), "has the Header of FastAPI", "headers"),
        (Annotated[str, Header()], "x", "has the Header of FastAPI", "headers"),
        (str, _TokenClaim(), "has the TokenClaim of FastMCP", "current_auth"),
        (Annotated[str, Resolve()], "x", "has the Resolve of mcp", "Depends"),
    ],
)
def test_what_is_another_librarys_is_refused(
    decorate: Any, annotation: Any, default: Any, reason: str, advice: str
) -> None:
    def function(a: Any) -> str:
        return str(a)

    place = inspect.Parameter(
        "a", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=annotation
    )
    function.__signature__ = inspect.Signature([place])  # type: ignore[attr-defined]
    with pytest.raises(DeclarationError) as caught:
        decorate(function)
    assert (caught.value.path, caught.value.reason) == ("a", reason)
    assert advice in caught.value.advice


def test_a_class_of_ones_own_may_be_called_context() -> None:
    from dataclasses import dataclass

    @dataclass
    class Context:
        city: str

    def weather(context: Context) -> str:
        return context.city

    weather.__annotations__["context"] = Context
    Server("x").tool(weather)


@pytest.mark.parametrize("name", ["ctx", "context"])
@pytest.mark.parametrize("kind", ["tool", "prompt"])
def test_a_context_without_a_hint_is_taken_for_one(kind: str, name: str) -> None:
    function = eval(f"lambda {name}: 1")
    with pytest.raises(DeclarationError) as caught:
        getattr(Server("x"), kind)(name="f")(function)
    assert caught.value.advice == f"annotate it: {name}: snodo.Context"


MAKERS = {name: getattr(middleware, name) for name in middleware.__all__}


@pytest.mark.parametrize(
    ("make", "option", "advice"),
    [
        ("rate_limit", "per", "did you mean 'window'?"),
        ("rate_limit", "max_requests", "did you mean 'limit'?"),
        ("rate_limit", "max_requests_per_second", "did you mean 'limit'?"),
        ("rate_limit", "windw", "did you mean 'window'?"),
        ("rate_limit", "zzz", "there are limit, window, max_keys, key, method, burst, clock"),
        ("timeout", "after", "did you mean 'seconds'? there are seconds"),
        ("concurrency", "max_concurrency", "did you mean 'limit'? there are limit, key"),
        ("retry", "max_retries", "did you mean 'attempts'? there are attempts, on, backoff"),
        ("retry", "max_attempts", "did you mean 'attempts'?"),
        ("cache", "max_size", "did you mean 'max_entries'?"),
        ("response_limit", "max_size", "did you mean 'max_bytes'?"),
    ],
)
def test_an_option_that_middleware_has_not_is_refused(make: str, option: str, advice: str) -> None:
    given = {"ttl": 1, option: 1} if make == "cache" else {option: 1}
    line = inspect.currentframe().f_lineno + 2  # type: ignore[union-attr]
    with pytest.raises(DeclarationError) as caught:
        MAKERS[make](**given)
    assert caught.value.where.endswith(f"test_elsewhere.py:{line}")
    assert (caught.value.component, caught.value.path) == (f"middleware '{make}'", option)
    assert caught.value.advice.startswith(advice)


@pytest.mark.parametrize(
    ("option", "advice"),
    [("use_cache", "always resolved once a call"), ("zzz", "write Depends(function)")],
)
def test_an_option_of_a_dependency_is_refused(option: str, advice: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        Depends(lambda: 1, **{option: False})  # type: ignore[arg-type]
    assert (caught.value.path, caught.value.component) == (option, "Depends")
    assert advice in caught.value.advice


@pytest.mark.parametrize(
    "decorate",
    [
        Server("x").tool,
        Server("x").prompt,
        partial(Server("x").resource, "x://a"),
        snodo.tool,
        snodo.prompt,
        partial(snodo.resource, "x://a"),
    ],
)
@pytest.mark.parametrize(
    ("option", "advice"), [("tags", "metadata={...}; there are"), ("meta", "did you mean 'meta")]
)
def test_an_option_that_a_component_has_not_is_refused(
    decorate: Any, option: str, advice: str
) -> None:
    with pytest.raises(DeclarationError) as caught:
        decorate(**{option: 1})(lambda: "x")
    assert caught.value.path == option
    assert caught.value.advice.startswith((advice, f"say it in {advice}"))


@pytest.mark.parametrize("option", _elsewhere.SERVER_OPTIONS)
def test_an_option_that_a_server_has_not_is_refused(option: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Server("x", **{option: None})  # type: ignore[arg-type]
    assert str(caught.value).endswith(f": {_elsewhere.SERVER_OPTIONS[option]}")


@pytest.mark.parametrize(
    ("option", "advice"), [*_elsewhere.SERVING_OPTIONS.items(), ("pth", "did you mean 'path'?")]
)
def test_an_option_of_serving_that_there_is_not_is_refused(option: str, advice: str) -> None:
    server: Any = Server("x")
    serve = [
        lambda: server.run("http", **{option: 1}),
        lambda: server.run("stdio", **{option: 1}),
        lambda: asyncio.run(server.serve(**{option: 1})),
        *([] if option == "pth" else [lambda: server.asgi(**{option: 1})]),
    ]
    for one in serve:
        with pytest.raises(ConfigurationError, match=f"has no option {option!r}") as caught:
            one()
        assert str(caught.value).endswith(f": {advice}")


@pytest.mark.parametrize("transport", ["stdio", None])
@pytest.mark.parametrize("option", inspect.signature(http_options).parameters)
def test_an_option_of_http_is_refused_where_a_pipe_is_served(
    monkeypatch: pytest.MonkeyPatch, option: str, transport: Any
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    server: Any = Server("x")
    value = {"port": 9000, "legacy_sse": True}.get(option, "x")
    with pytest.raises(ConfigurationError) as caught:
        server.run(transport, **{option: value})
    assert str(caught.value) == (
        f'{option} is for HTTP, and this serves stdio: write server.run("http", {option}=...)'
    )


@pytest.mark.parametrize("member", _elsewhere.SERVER_MEMBERS)
def test_a_member_that_a_server_has_not_is_missed_with_advice(member: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(Server("x"), member)
    assert str(caught.value).endswith(f": {_elsewhere.SERVER_MEMBERS[member]}")
    assert not hasattr(Server("x"), member)


def test_the_host_is_no_lifespan() -> None:
    class Host:
        router = None

        async def __call__(self, scope: Any, receive: Any, send: Any) -> None: ...

    server: Any = Server("x")
    with pytest.raises(ConfigurationError, match=r"write lifespan=server\.asgi\(\)\.lifespan"):
        server.lifespan(Host())


@pytest.mark.parametrize("text", ["x://files/{rest*}", "x://files/{rest:path}"])
def test_what_may_have_slashes_is_written_otherwise(text: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        Server("x").resource(text, name="files")(lambda rest: rest)
    assert caught.value.advice == "write {+rest} for what may have slashes in it"


def test_a_member_that_nobody_knows_is_missed_as_ever() -> None:
    with pytest.raises(AttributeError, match=r"^'snodo.Server' object has no attribute 'zzz'$"):
        Server("x").zzz  # noqa: B018


def test_a_member_that_a_property_of_a_subclass_misses_is_named_itself() -> None:
    class Shop(Server):
        @property
        def stock(self) -> Any:
            return self.shelves

    with pytest.raises(AttributeError, match="no attribute 'shelves'"):
        Shop("x").stock  # noqa: B018
    assert not hasattr(Shop("x"), "stock")


@pytest.mark.parametrize(
    ("module", "name"),
    [(module, name) for module, names in _elsewhere.OLD_NAMES.items() for name in names],
)
def test_a_name_that_is_not_here_is_refused_where_it_is_imported(module: str, name: str) -> None:
    with pytest.raises(ImportError) as caught:
        exec(f"from {module} import {name}")
    assert str(caught.value) == f"{module} has no {name}: {_elsewhere.OLD_NAMES[module][name]}"


@pytest.mark.parametrize("module", _elsewhere.OLD_NAMES)
def test_a_name_that_nobody_knows_is_missed_as_ever(module: str) -> None:
    with pytest.raises(ImportError, match="cannot import name 'zzz'"):
        exec(f"from {module} import zzz")
    assert not hasattr(sys.modules[module], "zzz")
    assert not hasattr(sys.modules[module], "__wrapped__")
    assert not _elsewhere.OLD_NAMES[module].keys() & set(dir(sys.modules[module]))


def test_no_advice_is_of_what_there_is_here() -> None:
    from snodo._tool_spec import ToolOptions

    assert not _elsewhere.SERVER_OPTIONS.keys() & Server.__init__.__kwdefaults__.keys()
    for serve in (Server.run, Server.serve, Server.asgi):
        assert not _elsewhere.SERVING_OPTIONS.keys() & inspect.signature(serve).parameters.keys()
    assert not [name for name in _elsewhere.SERVER_MEMBERS if name in dir(Server)]
    assert not _elsewhere.COMPONENT_OPTIONS.keys() & ToolOptions.__dataclass_fields__.keys()
    assert _elsewhere.MIDDLEWARE_OPTIONS.keys() == MAKERS.keys()
    for name, make in MAKERS.items():
        there = inspect.signature(make).parameters.keys()
        assert not _elsewhere.MIDDLEWARE_OPTIONS[name].keys() & there
        assert set(_elsewhere.MIDDLEWARE_OPTIONS[name].values()) <= there


def test_check_goes_on_after_such_a_mistake(tmp_path: Path) -> None:
    app = tmp_path / "app.py"
    app.write_text(
        "from snodo import Depends, Server\n"
        "from snodo.middleware import rate_limit\n"
        "slow = rate_limit(3, per=60)\n"
        "needs = Depends(dict, use_cache=False)\n"
        "server = Server('x')\n"
        "@server.resource('x://a', tags=['x'])\n"
        "def f(): ...\n"
    )
    command = [sys.executable, "-m", "snodo", "check", str(app)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert [line.split(": ")[0] for line in done.stdout.splitlines()] == [
        f"{app}:{line}" for line in (3, 4, 6)
    ]
