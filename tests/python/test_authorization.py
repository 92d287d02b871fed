"""What a policy and what authenticates may be, and what of it is refused when a server is made."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hmac
import subprocess
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from snodo import Cache, ConfigurationError, Context, Error, Server, _policy, _start_line, auth

PREFIX = "io.modelcontextprotocol/"
META = {PREFIX + "protocolVersion": "2026-07-28", PREFIX + "clientCapabilities": {}}


def allow(phase: str, component: auth.Component, context: Context) -> None:
    """Allows everything."""


class Methodless:
    """No policy."""


class Policy:
    def authorize(self, phase: str, component: auth.Component, context: Context) -> Error | None:
        return None if phase == "discovery" else Error(-32003, component.name)


class Called:
    async def __call__(self, *asked: Any) -> Error:
        return Error(-32003, "called")


def generator(phase: str, component: auth.Component, context: Context) -> Any:
    yield None


@pytest.mark.parametrize(
    ("policy", "text"),
    [
        (Methodless(), "function of (phase, component, context) or an object with a method"),
        ("no.such.module", "not str"),
        (5, "not int"),
        (True, "not bool"),
        (Policy, "must be a policy, not a class: write Policy()"),
        (Methodless, "must be a policy, not a class"),
        (lambda phase, component: None, "must take (phase, component, context)"),
        (lambda phase, component, context, more: None, "must take (phase, component, context)"),
        (generator, "is a generator"),
    ],
)
def test_what_is_no_policy_is_refused(policy: Any, text: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        Server("x", authorize=policy)
    assert text in str(raised.value)


@pytest.mark.parametrize(
    ("authenticate", "text"),
    [
        ("token", "must be a function of the request"),
        ({"token": "ada"}, "snodo.auth.bearer"),
        (Policy(), "must be a function of the request"),
        (lambda: None, "must take (request)"),
        (lambda request, more: None, "must take (request)"),
        (auth.Refusal, "must be a function of the request"),
    ],
)
def test_what_does_not_authenticate_is_refused(authenticate: Any, text: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        Server("x", authenticate=authenticate)
    assert text in str(raised.value)


def test_refusals_are_concealed_or_not() -> None:
    with pytest.raises(ConfigurationError, match="conceal_refusals must be a boolean"):
        Server("x", authorize=allow, conceal_refusals="yes")  # type: ignore[arg-type]


@pytest.mark.parametrize("option", ["cache", "tools_cache", "resources_cache", "prompts_cache"])
def test_nothing_that_is_chosen_for_its_reader_is_public(option: str) -> None:
    public = Cache(ttl_ms=1, scope="public")
    with pytest.raises(ConfigurationError) as raised:
        Server("x", authorize=allow, **{option: public})  # type: ignore[arg-type]
    assert 'cannot use scope "public" with an authorization policy' in str(raised.value)
    assert (option if option != "cache" else "tools_cache") in str(raised.value)
    Server("x", **{option: public})  # type: ignore[arg-type]
    Server("x", authorize=allow, discover_cache=public)


@pytest.mark.parametrize("uri", ["x://a", "x://a/{id}"])
def test_no_resource_is_public_under_a_policy(uri: str) -> None:
    def read(id: str = "") -> str:
        return id

    server = Server("x", authorize=allow)
    reader = read if "{" in uri else lambda: "x"
    server.resource(uri, name="shared", cache=Cache(ttl_ms=1, scope="public"))(reader)
    with pytest.raises(ConfigurationError) as raised:
        server.handle({"jsonrpc": "2.0", "id": 1, "method": "ping"})
    assert 'resource "shared" cannot be cached with scope "public"' in str(raised.value)


def message(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META}}


@pytest.mark.parametrize(
    "policy",
    [
        Policy(),
        Policy().authorize,
        functools.partial(lambda more, phase, component, context: Error(-32003, "x"), 1),
        Called(),
    ],
)
def test_a_policy_may_be_anything_that_decides(policy: Any) -> None:
    server = Server("x", authorize=policy)
    server.tool(name="a")(lambda: "ran")
    answer = server.handle(message("tools/call", name="a"))
    assert answer is not None
    assert answer["error"]["code"] == -32003


def test_who_asks_is_given_to_handle() -> None:
    server = Server("x")

    @server.tool
    def who(context: Context) -> dict[str, Any]:
        return {"auth": context.auth}

    for given in (None, "ada", {"user": "ada", "roles": ["a"]}, 7):
        answer = server.handle(message("tools/call", name="who"), auth=given)
        assert answer is not None
        assert answer["result"]["structuredContent"] == {"auth": given}
    with pytest.raises(TypeError):
        server.handle(message("tools/call", name="who"), auth=object())


def test_what_a_policy_is_told_cannot_be_changed() -> None:
    component = auth.Component("tool", "a", metadata={"x": 1})
    with pytest.raises(AttributeError):
        component.name = "b"  # type: ignore[misc]
    with pytest.raises(TypeError):
        component.metadata["x"] = 2  # type: ignore[index]
    assert component == auth.Component("tool", "a", metadata={"x": 1})
    assert hash(component) == hash(auth.Component("tool", "a"))
    declared = {"roles": ["clerk"], "more": {"deep": [{"x": []}]}}
    component = auth.Component("resource", "a", "x://a", metadata=declared)
    declared["roles"].append("me")  # type: ignore[attr-defined]
    for one in (component, component._requested("x://b")):
        assert one.metadata["roles"] == ("clerk",)
        assert "append" not in dir(one.metadata["more"]["deep"][0]["x"])
        with pytest.raises(TypeError):
            one.metadata["more"]["deep"][0]["x"] = 1
    assert component.requested_uri is None


def asked(**headers: str) -> auth.Request:
    return auth.Request("POST", "/mcp", headers)


def test_no_repr_shows_a_secret() -> None:
    bearer = auth.bearer({"s3cret-token": "ada"})
    key = auth.api_key({"s3cret-token": {"user": "ada"}, "other": "bob"})
    request = asked(authorization="Bearer s3cret-token")
    server = Server("x", authenticate=bearer)
    for value in (bearer, key, request, server, auth.bearer(lambda token: None)):
        assert "s3cret" not in repr(value)
        assert "s3cret" not in str(value)
    assert repr(bearer) == "snodo.auth.bearer(1 key)"
    assert repr(key) == "snodo.auth.api_key(2 keys)"


@pytest.mark.parametrize(
    ("header", "principal"),
    [
        ("Bearer one", "ada"),
        ("bearer   two ", {"user": "bob"}),
        ("BEARER one", "ada"),
        ("Basic one", None),
        ("Bearer", None),
        ("Bearer ", None),
        ("one", None),
        ("Bearer One", None),
        ("Bearer one two", None),
        ("", None),
    ],
)
def test_a_bearer_token_is_found_or_not(header: str, principal: Any) -> None:
    bearer = auth.bearer({"one": "ada", "two": {"user": "bob"}})
    said = bearer(asked(authorization=header))
    if principal is None:
        assert isinstance(said, auth.Refusal)
        assert (said.status, said.challenge) == (401, "Bearer")
    else:
        assert said == principal


def test_a_key_is_compared_with_all_whichever_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[bool] = []

    def compare(one: bytes, other: bytes) -> bool:
        compared.append(hmac.compare_digest(one, other))
        return compared[-1]

    monkeypatch.setattr(auth, "compare_digest", compare)
    bearer = auth.bearer({key: key for key in ("one", "two", "three")})
    for token in ("one", "three", "none"):
        compared.clear()
        bearer(asked(authorization=f"Bearer {token}"))
        assert compared == [key == token for key in ("one", "two", "three")]


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ({}, "there is no key"),
        ({"": "a"}, "not empty"),
        ({1: "a"}, "must be a string"),
        ({" a": "a"}, "printable ASCII"),
        ({"å": "a"}, "printable ASCII"),
        ({"a": None}, "a principal is wrong"),
        ({"a": ""}, "a principal is wrong"),
        ({"a": 5}, "of type int: it must be a string that is not empty, or a dict of JSON"),
        ({"a": {"a": object()}}, "a principal is wrong"),
        ({"a": {1: 2}}, "a principal is wrong"),
        ({"a": {"a": float("nan")}}, "a principal is wrong"),
        ({"a": "x" * 20_000}, "at most 16384 bytes"),
        ("token", "takes a dict"),
        (None, "takes a dict"),
    ],
)
@pytest.mark.parametrize("make", [auth.bearer, auth.api_key])
def test_what_is_no_key_is_refused(make: Any, keys: Any, text: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        make(keys)
    assert text in str(raised.value)


@pytest.mark.parametrize("header", ["", "x key", "x:y", 5])
def test_what_is_no_header_is_refused(header: Any) -> None:
    with pytest.raises(ConfigurationError, match="name of a header"):
        auth.api_key({"a": "b"}, header=header)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"status": 500}, ValueError),
        ({"status": 401, "challenge": None}, ValueError),
        ({"challenge": "a\r\nb: c"}, ValueError),
        ({"challenge": "å"}, ValueError),
        ({"challenge": " "}, ValueError),
        ({"challenge": 5}, TypeError),
        ({"message": 5}, TypeError),
        ({"message": "a\r\nb"}, ValueError),
        ({"message": "a" * 1001}, ValueError),
    ],
)
def test_what_is_no_refusal_is_refused(options: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        auth.Refusal(**options)


def test_a_refusal_says_what_it_tells() -> None:
    assert str(auth.Refusal()) == "401 Authentication required"
    assert str(auth.Refusal(403, None)) == "403 Forbidden"
    assert auth.Refusal(message="Go away").message == "Go away"


BAD = [
    "",
    "  ",
    '""',
    '{"a":',
    '{"a":NaN}',
    '{"a":1e999}',
    '{"a":1,"a":2}',
    "x" * 16_385,
    "\udcff",
    '"\\ud800"',
]


@pytest.mark.parametrize("said", BAD, ids=range(len(BAD)))
def test_the_principal_of_a_pipe_is_said_or_not(said: str, monkeypatch: Any) -> None:
    from snodo import _principal

    monkeypatch.setenv("SNODO_PRINCIPAL", said)
    with pytest.raises(ConfigurationError, match="SNODO_PRINCIPAL"):
        _principal.environment_principal()


def test_nothing_of_this_is_imported_by_a_server_that_has_none_of_it() -> None:
    script = (
        "import sys, snodo; s = snodo.Server('x'); s.tool(name='a')(lambda: 'x');"
        "s.handle({'jsonrpc': '2.0', 'id': 1, 'method': 'ping'});"
        "print([m for m in sys.modules if m in ('snodo.auth', 'snodo._policy', 'snodo._identity')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("url", "exposed"),
    [
        ("http://127.0.0.1:8000/mcp", False),
        ("http://[::1]:8000/mcp", False),
        ("http://unix:/run/shop.sock:/mcp", False),
        ("http://unix:shop.sock:/mcp", False),
        ("http://unix:8000/mcp", True),
        ("http://0.0.0.0:8000/mcp", True),
        ("http://[::]:8000/mcp", True),
        ("http://192.168.0.7:8000/mcp", True),
    ],
)
def test_a_server_that_asks_nobody_warns_where_others_reach_it(
    url: str, exposed: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    _start_line.warn(Server("x")._offering, url)
    said = capsys.readouterr().err
    assert said.startswith("snodo: warning: ") is exposed
    assert said.count("\n") == int(exposed)
    _start_line.warn(Server("x", authenticate=auth.bearer({"a": "b"}))._offering, url)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("code", [-32002, -32020, -32023, -32050, -32099, -32100])
@pytest.mark.parametrize("raises", [True, False])
@pytest.mark.parametrize("refuses", [True, False])
def test_a_code_of_the_protocol_is_kept_from_clients_and_told_to_the_author(
    code: int, raises: bool, refuses: bool, caplog: pytest.LogCaptureFixture
) -> None:
    def fails() -> Error:
        if raises:
            raise Error(code, "mine")
        return Error(code, "mine")

    def policy(phase: str, component: auth.Component, context: Context) -> Error | None:
        return fails() if refuses else None

    server = Server("s", version="1.0.0", authorize=policy)
    server.tool(fails, name="fails")
    answer = server.handle(message("tools/call", name="fails", arguments={}))
    assert answer is not None
    said = [record.getMessage() for record in caplog.records]
    if code in (-32020, -32100):
        assert answer["error"]["code"] == code
        assert said == []
        return
    assert answer["error"]["code"] == -32603
    (line,) = said
    assert f"failed with code {code}, which the protocol keeps to itself" in line
    assert ("policy" if refuses else "'fails'") in line.replace('"', "'")


async def judged(decide: Callable[[int], Awaitable[Any]], count: int) -> Any:
    """Give what a coroutine decides on this many components, which are numbers."""

    async def policy(phase: str, component: Any, context: Any) -> Any:
        return await decide(component)

    judge, is_async, _ = _policy.checked(policy)
    assert is_async
    async with asyncio.timeout(10):
        return await judge("discovery", list(range(count)), None)


@pytest.mark.parametrize("count", [0, 1, 2, 31, 32, 33, 100])
def test_a_coroutine_is_asked_about_so_many_components_at_a_time(count: int) -> None:
    under_way: set[int] = set()
    most = 0

    async def decide(place: int) -> Error:
        nonlocal most
        under_way.add(place)
        most = max(most, len(under_way))
        for _ in range(100 - place):  # the first takes longest
            await asyncio.sleep(0)
        under_way.remove(place)
        if place % 2:
            raise Error(-32003, str(place))
        return Error(-32003, str(place))

    decisions = asyncio.run(judged(decide, count))
    assert [decision.message for decision in decisions] == [str(place) for place in range(count)]
    assert most == min(count, _policy.AT_A_TIME)


@pytest.mark.parametrize("fault", [ValueError, SystemExit, asyncio.CancelledError])
def test_the_first_fault_of_a_coroutine_is_told_at_once_and_nobody_is_asked_after_it(
    fault: type[BaseException],
) -> None:
    begun: list[int] = []

    async def decide(place: int) -> None:
        begun.append(place)
        if place == 3:
            raise fault("first")
        try:
            await asyncio.Event().wait()
        finally:
            raise KeyError("only because it was stopped")

    with pytest.raises(fault):
        asyncio.run(judged(decide, 100))
    assert begun == [0, 1, 2, 3]


def test_a_policy_that_goes_on_when_it_is_stopped_is_asked_nothing_more() -> None:
    begun: list[int] = []

    async def decide(place: int) -> None:
        begun.append(place)
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.Event().wait()

    async def stopped() -> None:
        asking = asyncio.create_task(judged(decide, 100))
        while len(begun) < _policy.AT_A_TIME:
            await asyncio.sleep(0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(asyncio.shield(asking), 10)

    asyncio.run(stopped())
    assert len(begun) == _policy.AT_A_TIME


def test_a_call_that_ends_takes_all_that_is_asked_along() -> None:
    ended: list[int] = []

    async def decide(place: int) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(place)

    async def cancelled() -> None:
        asking = asyncio.create_task(judged(decide, 3))
        while len(asyncio.all_tasks()) < 5:
            await asyncio.sleep(0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    asyncio.run(cancelled())
    assert sorted(ended) == [0, 1, 2]
