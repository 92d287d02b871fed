"""The options of a server, and when it is closed to additions."""

from __future__ import annotations

import asyncio
import copy
import inspect
import pickle
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest

from snodo import (
    Cache,
    ConfigurationError,
    Context,
    DeclarationError,
    Event,
    Filter,
    Server,
    Source,
)


def test_options_become_plain_settings() -> None:
    server = Server(
        "shop",
        version="1.0.0",
        title="Shop",
        instructions="Look.",
        website_url="https://example.org",
        icons=[{"src": "https://example.org/i.png"}],
        page_size=10,
        cache=Cache(ttl_ms=5, scope="public"),
        limits={"body_bytes": 10, "head_timeout": 2},
        timeout=None,
        threads=3,
        debug=True,
        protocols=["2026-07-28"],
        secret=[("new", "n" * 32), b"o" * 32],
        heartbeat=5,
    )
    assert server._offering.freeze()[0] == {
        "server_info": {
            "name": "shop",
            "version": "1.0.0",
            "title": "Shop",
            "websiteUrl": "https://example.org",
            "icons": [{"src": "https://example.org/i.png"}],
        },
        "instructions": "Look.",
        "validator": "full",
        "page_size": 10,
        "tools_cache": (5, "public"),
        "resources_cache": (5, "public"),
        "prompts_cache": (5, "public"),
        "discover_cache": (0, "private"),
        "limits": {"body_bytes": 10, "head_timeout": 2.0},
        "timeout": None,
        "threads": 3,
        "debug": True,
        "protocols": ["2026-07-28"],
        "secret": [("new", b"n" * 32), (None, b"o" * 32)],
        "heartbeat": 5.0,
        "subscriptions": server.notify,
        "hub": server.notify,
        "authorize": None,
        "conceal_refusals": False,
        "authenticate": None,
        "extensions": [],
        "instrument": (),
        "metrics": False,
        "access_log": False,
    }


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"name": ""}, "name must not be empty"),
        ({"name": 3}, "name must be a string"),
        ({"version": 3}, "version must be a string"),
        ({"version": "Look things up"}, "write instructions=..."),
        ({"title": 3}, "title must be a string"),
        ({"instructions": ["x"]}, "instructions must be a string"),
        ({"website_url": 1}, "website_url must be a string"),
        ({"icons": [{"src": "x"}]}, "icons.0.src"),
        ({"validator": "some"}, "validator must be one of full, basic, passthrough"),
        ({"validator": 3}, "validator must have validate"),
        ({"validator": object}, "validator must have validate"),
        ({"page_size": 0}, "page_size must be an int above zero"),
        ({"page_size": True}, "page_size must be an int"),
        ({"cache": 5}, "cache must be a Cache"),
        ({"discover_cache": (1, "public")}, "discover_cache must be a Cache"),
        (
            {"limits": {"bodies": 1}},
            "has no 'bodies'; did you mean 'body_bytes'? there are answer_timeout",
        ),
        ({"limits": {"body_bytes": -1}}, "body_bytes"),
        ({"limits": {"head_timeout": 0}}, "head_timeout"),
        ({"limits": 5}, "limits must be a dict"),
        ({"timeout": 0}, "timeout must be a number of seconds"),
        ({"timeout": "1"}, "timeout must be a number of seconds"),
        ({"threads": 0}, "threads must be an int above zero"),
        ({"debug": 1}, "debug must be a boolean"),
        ({"protocols": ["1999-01-01"]}, "there are 2026-07-28, 2025-11-25"),
        ({"protocols": []}, "at least one revision"),
        ({"heartbeat": 0}, "heartbeat must be a number of seconds above zero, not 0"),
        ({"heartbeat": True}, "heartbeat must be a number of seconds above zero, not True"),
        ({"heartbeat": "5"}, "heartbeat must be a number of seconds above zero, not str"),
        ({"secret": "short"}, "Server secret requires at least 32 bytes"),
        ({"secret": 3}, "Server secret must be bytes or a string, not int"),
        ({"secret": ("2026-12", "s" * 32)}, "this is one (id, secret) pair: put it into a"),
        ({"secret": ["2026-12", b"s" * 32]}, "this is one (id, secret) pair: put it into a list"),
        ({"secret": {"2026-12": "s" * 32}}, "must be a list, for its order counts, not dict"),
        ({"secret": []}, "Server secret must be a secret, or a list of 1 to 8"),
        ({"secret": [bytes([n]) * 32 for n in range(9)]}, "a list of 1 to 8"),
        ({"secret": [("", "s" * 32)]}, "identifiers must be 1 to 32 characters"),
        ({"secret": [("a.b", "s" * 32)]}, "identifiers must be 1 to 32 characters"),
        ({"secret": [("a" * 33, "s" * 32)]}, "identifiers must be 1 to 32 characters"),
        ({"secret": [(3, "s" * 32)]}, "identifiers must be 1 to 32 characters"),
        ({"secret": [("a", "s" * 32), ("a", "t" * 32)]}, "identifiers must be unique"),
        ({"secret": ["s" * 32, "s" * 32]}, "secrets must be unique"),
    ],
)
def test_a_wrong_option_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Server(**{"name": "x", **options})
    assert words in str(caught.value)


def test_secrets_come_from_the_environment_where_none_are_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SNODO_SECRET", f"{'n' * 32}, {'o' * 32},")
    assert Server("x")._offering.freeze()[0]["secret"] == [(None, b"n" * 32), (None, b"o" * 32)]
    assert Server("x", secret="s" * 32)._offering.freeze()[0]["secret"] == [(None, b"s" * 32)]
    monkeypatch.setenv("SNODO_SECRET", "short")
    with pytest.raises(ConfigurationError, match="SNODO_SECRET requires at least 32 bytes") as said:
        Server("x")._offering.freeze()[0]
    assert "short" not in str(said.value)
    monkeypatch.delenv("SNODO_SECRET")
    assert Server("x")._offering.freeze()[0]["secret"] == []


@pytest.mark.parametrize("empty", ["", " ", ","])
def test_a_variable_for_secrets_that_is_empty_is_a_mistake(
    empty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SNODO_SECRET", empty)
    with pytest.raises(ConfigurationError, match="SNODO_SECRET is set but empty: give it a secret"):
        Server("x")._offering.freeze()[0]
    assert Server("x", secret="s" * 32)._offering.freeze()[0]["secret"] == [(None, b"s" * 32)]


class NoListen(Source):
    pass


class Silent(Source):
    async def listen(self, filter: Filter, context: Context) -> Any:  # type: ignore[override]
        return None


class Blocking(Source):
    def listen(self, filter: Filter, context: Context) -> Any:
        yield Event.tools_changed()


class Fussy(Source):
    def accept(self, filter: Filter, context: Context) -> Any:
        yield filter

    async def listen(self, filter: Filter, context: Context) -> Any:
        yield Event.tools_changed()


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (NoListen(), "NoListen.listen is missing: write it as `async def` with `yield"),
        (Silent(), "Silent.listen is a coroutine, and gives no events: write it as `async def`"),
        (Blocking(), "Blocking.listen is a generator, and would hold the loop"),
        (Fussy(), "Fussy.accept is a generator: return a Filter"),
        (Fussy, r"must be a Source, not its class: write Fussy\(\)"),
        ("hub", "must be a boolean, a Hub or a Source, not str"),
        (None, "must be a boolean, a Hub or a Source, not None"),
        (int, "must be a boolean, a Hub or a Source, not type"),
    ],
)
def test_a_source_that_could_not_tell_is_refused(source: Any, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        Server("x", subscriptions=source)


def test_a_source_may_give_any_asynchronous_iterator() -> None:
    class Made:
        def listen(self, filter: Filter, context: Context) -> Any:
            return Fussy().listen(filter, context)

    source = Made()
    assert Server("x", subscriptions=source)._offering.freeze()[0]["subscriptions"] is source


@pytest.mark.parametrize("options", [{"ttl_ms": -1}, {"ttl_ms": True}, {"scope": "shared"}])
def test_a_wrong_cache_policy_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        Cache(**options)


def test_a_cache_policy_is_copied_as_any_value() -> None:
    cache = Cache(ttl_ms=5, scope="public")
    for again in (copy.copy(cache), copy.deepcopy(cache), pickle.loads(pickle.dumps(cache))):
        assert again == cache


def test_nothing_is_added_to_a_server_in_use() -> None:
    server = Server("x")
    server._offering.freeze()

    def tool() -> None: ...

    with pytest.raises(ConfigurationError, match="in use already"):
        server.tool(tool)
    with pytest.raises(ConfigurationError, match="in use already"):
        server.add(tool)
    with pytest.raises(ConfigurationError, match="in use already"):
        server.lifespan(lambda: None)  # type: ignore[arg-type, return-value]


class Answering:
    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def validate(self, instance: Any, schema: Any) -> Any:
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


class ValidationError(Exception):
    pass


@pytest.mark.parametrize(
    ("answer", "accepted"),
    [(None, True), (True, True), (False, False), ("reason", False), (ValidationError(), False)],
)
def test_a_validator_of_the_application_is_asked(answer: Any, accepted: bool) -> None:
    server = Server("x", validator=Answering(answer))

    @server.tool
    def tool(x: int) -> int:
        return x

    (spec,) = server._offering.tools()
    assert server._offering.freeze()[0]["validator"] == "custom"
    assert spec.check_arguments is not None
    assert spec.check_output is not None
    assert spec.check_arguments({}) is accepted
    assert spec.check_output(1) is accepted


def test_a_broken_validator_raises() -> None:
    server = Server("x", validator=Answering(RuntimeError("broken")))

    @server.tool
    def tool(x: int) -> None: ...

    check = server._offering.tools()[0].check_arguments
    assert check is not None
    with pytest.raises(RuntimeError):
        check({})


def test_a_lifespan_may_be_a_context_manager_or_a_generator_with_or_without_the_server() -> None:
    @asynccontextmanager
    async def managed() -> AsyncIterator[str]:
        yield "state"

    async def generated(server: Server) -> AsyncIterator[str]:
        yield server.name

    async def entered(server: Server) -> Any:
        assert server._lifespan is not None
        async with server._lifespan() as state:
            return state

    first, second = Server("x"), Server("y")
    assert first.lifespan(managed) is managed
    second.lifespan(generated)
    assert asyncio.run(entered(first)) == "state"
    assert asyncio.run(entered(second)) == "y"
    with pytest.raises(ConfigurationError, match="already set"):
        first.lifespan(managed)
    with pytest.raises(ConfigurationError, match="yields once"):

        @Server("z").lifespan  # type: ignore[type-var]
        async def wrong() -> None: ...


def test_a_lifespan_that_is_a_plain_context_manager_is_refused_where_it_is_written() -> None:
    @contextmanager
    def plain(server: Server) -> Iterator[None]:
        yield

    line = inspect.unwrap(plain).__code__.co_firstlineno
    with pytest.raises(DeclarationError, match="use @asynccontextmanager") as raised:
        Server("plain").lifespan(plain)  # type: ignore[type-var]
    assert raised.value.where.endswith(f"test_server.py:{line}")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("call_timeout", r"Server\(timeout="),
        ("body_byte", "did you mean 'body_bytes'"),
        ("nothing", "there are answer_timeout"),
    ],
)
def test_a_limit_that_is_not_there_is_answered_with_what_is(name: str, text: str) -> None:
    with pytest.raises(ConfigurationError, match=text):
        Server("limited", limits={name: 5})


@pytest.mark.parametrize(
    ("option", "advice"),
    [
        ("auth", "write authenticate=..."),
        ("lifespan", "write @server.lifespan"),
        ("time_out", "did you mean 'timeout'?"),
        ("zzz", "no option 'zzz'"),
    ],
)
def test_an_option_that_there_is_not_is_refused_with_what_was_meant(
    option: str, advice: str
) -> None:
    options: dict[str, Any] = {option: None}
    with pytest.raises(ConfigurationError) as caught:
        Server("shop", **options)
    assert option in str(caught.value)
    assert advice in str(caught.value)


@pytest.mark.parametrize(("option", "advice"), [("meta", "'metadata'"), ("tags", "metadata={...}")])
def test_an_option_of_a_tool_is_refused_with_what_was_meant(option: str, advice: str) -> None:
    options: dict[str, Any] = {option: None}
    with pytest.raises(DeclarationError) as caught:
        Server("shop").tool(**options)(lambda: "")
    assert advice in str(caught.value)


def test_the_transport_has_a_shorter_name_than_in_the_specification() -> None:
    with pytest.raises(ConfigurationError, match='write "http"'):
        Server("shop").run("streamable-http")  # type: ignore[arg-type]
