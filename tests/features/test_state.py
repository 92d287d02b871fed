"""Sealed state: nobody reads it, nobody changes it, and it opens for its own request alone."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from driver import ABLE, DirectSession, Refusal, Session, wait_until

STATE = """
from snodo import Context, Result, Server, State, elicit

server = Server("state", version="1.0.0", secret="the server's own secret, of 32 bytes")

STATES = {
    "own": State(),
    "secret": State(b"a secret that has thirty-two bytes"),
    "short": State(b"a secret that has thirty-two bytes", ttl=1),
    "minute": State(b"a secret that has thirty-two bytes", ttl=60),
    "longest": State(b"a secret that has thirty-two bytes", ttl=900),
    "stranger": State(b"quite another secret of 32 bytes"),
    "text": State("a secret that has thirty-two bytes"),
    "named": State([("k-1", b"a secret that has thirty-two bytes")]),
    "other name": State([("k-2", b"a secret that has thirty-two bytes")]),
    "rotated": State([("k-2", b"quite another secret of 32 bytes"),
                      ("k-1", b"a secret that has thirty-two bytes")]),
    "retired": State([("k-2", b"quite another secret of 32 bytes")]),
}


def user(context):
    return {"name": context.meta.get("com.example/user"), "of": ["example"]}


def kept(arguments, context):
    found = run(arguments, context)
    return found if isinstance(found, Result) else Result.structured(found)


def run(arguments, context):
    state = STATES[context.meta.get("com.example/state", "secret")]
    opener = STATES[context.meta.get("com.example/opener", "secret")]
    found = opener.open(context, principal=user(context))
    if found is None:
        data = arguments.get("data", {"step": 1})
        return Result.input_required(request_state=state.seal(data, context,
                                                              principal=user(context)))
    return found


@server.tool(input_schema={"type": "object"})
def keep(arguments, context: Context):
    return kept(arguments, context)


@server.tool(input_schema={"type": "object"})
def keep_too(arguments, context: Context):
    return kept(arguments, context)


@server.tool(input_schema={"type": "object"})
async def keep_async(arguments, context: Context):
    return kept(arguments, context)


@server.prompt
def keep_prompt(context: Context):
    found = run({}, context)
    return found if isinstance(found, Result) else str(found)


@server.resource("keep://{x}")
def keep_resource(x: str, context: Context):
    found = run({}, context)
    return found if isinstance(found, Result) else str(found)


@server.tool(input_schema={"type": "object"})
def without_principal(arguments, context: Context):
    found = STATES["secret"].open(context)
    if found is None:
        return Result.input_required(request_state=STATES["secret"].seal([1], context))
    return Result.structured(found)


@server.tool(input_schema={"type": "object"})
def too_large(arguments, context: Context):
    try:
        STATES["secret"].seal("x" * arguments["characters"], context)
    except ValueError:
        return "too large"
    return "sealed"


@server.tool(input_schema={"type": "object"})
def no_json(arguments, context: Context):
    try:
        STATES["secret"].seal(object(), context)
    except (TypeError, ValueError):
        return "refused"
    return "sealed"


@server.tool(input_schema={"type": "object"})
def crosses(arguments, context: Context):
    # A state of one purpose is none of the other.
    if arguments["first"] == "state" and context.request_state is None:
        return Result.input_required(request_state=STATES["own"].seal({}, context))
    if arguments["first"] == "ask" and context.request_state is not None:
        return Result.structured(STATES["own"].open(context))
    return context.ask("x", elicit.form("?", str)).value
"""

INVALID = {"code": -32602, "message": "Invalid or expired request state"}


def first(session: Session, name: str = "keep", **options: Any) -> str:
    """A state fresh from the server."""
    arguments = options.pop("arguments", {"n": 1})
    result = ask(session, name, arguments, None, **options)
    assert result["resultType"] == "input_required"
    token: str = result["requestState"]
    return token


def ask(
    session: Session,
    name: str = "keep",
    arguments: Any = None,
    token: str | None = None,
    *,
    user: str = "ada",
    state: str = "secret",
    opener: str = "secret",
    **more: Any,
) -> dict[str, Any]:
    params: dict[str, Any] = {
        "name": name,
        "arguments": {"n": 1} if arguments is None else arguments,
        "_meta": {
            "com.example/user": user,
            "com.example/state": state,
            "com.example/opener": opener,
        },
    }
    if token is not None:
        params["requestState"] = token
    params["_meta"] |= more.pop("meta", {})
    return session.ask("tools/call", params | more, clientCapabilities=ABLE)


def refused(session: Session, *given: Any, **options: Any) -> bool:
    """Whether a state is refused; and if it is, then with the one error there is."""
    try:
        ask(session, *given, **options)
    except Refusal as refusal:
        error = refusal.error
    else:
        return False
    assert error == INVALID
    return True


@pytest.mark.parametrize(
    "data", [None, True, 0, -7, 1.5, "blåbær 茶", [], [1, [None]], {}, {"a": {"b": ["c"]}}]
)
def test_any_json_comes_back(serve: Any, data: Any) -> None:
    session = serve(STATE)
    arguments = {"data": data}
    token = first(session, arguments=arguments)
    if data is None:
        # Null is what there is without a state, too.
        assert not refused(session, "keep", arguments, token)
        return
    assert ask(session, "keep", arguments, token)["structuredContent"] == data


@pytest.mark.parametrize("name", ["keep", "keep_async"])
def test_a_state_may_be_opened_again_and_again(serve: Any, name: str) -> None:
    session = serve(STATE)
    token = first(session, name)
    for _ in range(3):
        assert ask(session, name, token=token)["structuredContent"] == {"step": 1}


def test_no_two_states_are_alike_and_none_can_be_read(serve: Any) -> None:
    session = serve(STATE)
    arguments = {"data": {"secret": "a-very-secret-word"}}
    tokens = {first(session, arguments=arguments) for _ in range(20)}
    assert len(tokens) == 20
    for token in tokens:
        version, key, sealed = token.split(".")
        assert (version, token.isascii()) == ("snodo1", True)
        assert key
        found = base64.urlsafe_b64decode(sealed + "=" * (-len(sealed) % 4))
        for part in (b"secret", b"ada", b"step", b"keep"):
            assert part not in found


CHARACTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def test_a_state_of_which_one_byte_was_changed_is_refused(serve: Any) -> None:
    session = serve(STATE)
    token = first(session)
    assert not refused(session, token=token)
    for at, character in enumerate(token):
        # The neighbour in the alphabet differs in the lowest bit, which padding would ignore.
        where = CHARACTERS.find(character)
        other = CHARACTERS[where ^ 1] if where >= 0 else "-"
        changed = token[:at] + other + token[at + 1 :]
        assert refused(session, token=changed), f"byte {at} of {len(token)} does not count"


def test_a_state_of_which_a_piece_is_missing_or_added_is_refused(serve: Any) -> None:
    session = serve(STATE)
    token = first(session)
    for length in range(0, len(token), 3):
        assert refused(session, token=token[:length])
    version, key, sealed = token.split(".")
    for other in [
        token[1:],
        token + "A",
        token + "=",
        token + ".A",
        f" {token}",
        f"{token}\n",
        sealed,
        f"{version}.{sealed}",
        f"{version}..{sealed}",
        f"snodo2.{key}.{sealed}",
        f"SNODO1.{key}.{sealed}",
        f"{version}.{key}.",
        f"{version}.{key}.é",
        f"{version}.{'k' * 33}.{sealed}",
        "\u0000",
        "." * 1000,
    ]:
        assert refused(session, token=other), other[:80]


@pytest.mark.parametrize("length", [16_385, 100_000, 2_000_000])
def test_a_state_that_is_too_long_is_refused_like_any_other(serve: Any, length: int) -> None:
    session = serve(STATE)
    token = first(session)
    assert refused(session, token=token + "A" * (length - len(token)))


def test_a_state_that_would_be_too_long_is_not_made(serve: Any) -> None:
    session = serve(STATE)
    assert session.text("too_large", {"characters": 11_000}) == "sealed"
    assert session.text("too_large", {"characters": 16_384}) == "too large"
    assert session.text("too_large", {"characters": 2_000_000}) == "too large"
    assert session.text("no_json") == "refused"


@pytest.mark.parametrize(
    ("changed", "is_refused"),
    [
        ({}, False),
        ({"user": "eve"}, True),
        ({"name": "keep_too"}, True),
        ({"arguments": {"n": 2}}, True),
        ({"arguments": {}}, True),
        ({"arguments": {"n": "1"}}, True),
        ({"arguments": {"n": 1.0}}, True),
        ({"arguments": {"n": 1, "m": None}}, True),
        ({"arguments": {"n": [1]}}, True),
        ({"meta": {"com.example/else": 1}}, False),
        ({"inputResponses": {"x": {}}}, False),
    ],
)
def test_a_state_belongs_to_its_request(
    serve: Any, changed: dict[str, Any], is_refused: bool
) -> None:
    session = serve(STATE)
    token = first(session)
    assert refused(session, **({"token": token} | changed)) is is_refused


def test_the_order_of_arguments_is_nothing_and_their_kind_something(serve: Any) -> None:
    session = serve(STATE)
    arguments = {"a": {"x": 1, "y": [1, 2]}, "b": 2.5}
    token = first(session, arguments=arguments)
    same = {"b": 2.5, "a": {"y": [1, 2], "x": 1}}
    assert not refused(session, "keep", same, token)
    for other in [
        {"a": {"x": 1, "y": [2, 1]}, "b": 2.5},
        {"a": {"x": 1.0, "y": [1, 2]}, "b": 2.5},
        {"a": {"x": 1, "y": [1, 2], "_meta": {}}, "b": 2.5},
    ]:
        assert refused(session, "keep", other, token)


def test_a_state_belongs_to_its_method_and_subject(serve: Any) -> None:
    session = serve(STATE)
    meta = {"_meta": {"com.example/user": "ada"}}
    get = {"name": "keep_prompt", "arguments": {}} | meta
    token = session.ask("prompts/get", get)["requestState"]
    assert session.ask("prompts/get", get | {"requestState": token})["messages"]
    assert refused(session, "keep", {}, token)

    read = {"uri": "keep://a"} | meta
    token = session.ask("resources/read", read)["requestState"]
    assert session.ask("resources/read", read | {"requestState": token})["contents"]
    other = session.refusal("resources/read", read | {"uri": "keep://b", "requestState": token})
    assert other.error == INVALID


def test_without_a_principal_it_is_who_was_verified(serve: Any) -> None:
    """Which is nobody here: a state of somebody is none of nobody's."""
    session = serve(STATE)
    token = first(session, "without_principal")
    found = ask(session, "without_principal", token=token)
    assert found["structuredContent"] == [1]


def test_a_state_expires(serve: Any) -> None:
    session = serve(STATE)
    token = first(session, state="short")
    wait_until(lambda: refused(session, token=token, opener="short"), "the state's end", 10)
    assert refused(session, token=token, opener="short"), "it came to life again"


def test_a_state_lives_no_longer_than_its_opener_allows(serve: Any) -> None:
    session = serve(STATE)
    token = first(session, state="longest")
    assert not refused(session, token=token, opener="longest")
    assert refused(session, token=token, opener="minute")
    assert refused(session, token=token, opener="secret"), "300 s is what is allowed by default"
    # And one that allows more makes none live longer.
    token = first(session, state="short")
    wait_until(lambda: refused(session, token=token, opener="longest"), "the state's end", 10)


@pytest.mark.parametrize(
    ("state", "opener", "opens"),
    [
        ("secret", "secret", True),
        ("secret", "text", True),
        ("secret", "stranger", False),
        ("secret", "own", False),
        ("own", "own", True),
        ("own", "secret", False),
        ("named", "named", True),
        ("named", "rotated", True),
        ("named", "other name", False),
        ("named", "retired", False),
        ("rotated", "rotated", True),
        ("rotated", "retired", True),
        ("rotated", "named", False),
    ],
)
def test_a_state_opens_with_its_key_alone(serve: Any, state: str, opener: str, opens: bool) -> None:
    session = serve(STATE)
    token = first(session, state=state)
    assert refused(session, token=token, opener=opener) is not opens


@pytest.mark.parametrize("purpose", ["state", "ask"])
def test_a_state_of_one_purpose_is_none_of_another_and_the_authors_mistake(
    serve: Any, purpose: str
) -> None:
    session = serve(STATE)
    arguments = {"first": purpose}
    token = first(session, "crosses", arguments=arguments)
    answers = {"inputResponses": {"x": {"action": "accept", "content": {"value": "y"}}}}
    result = ask(session, "crosses", arguments, token, **answers)
    assert result["isError"] is True
    assert result["content"][0]["text"].startswith("Tool 'crosses' failed (error id ")


# A fleet

FLEET = """
from snodo import Context, Server, State, elicit

server = Server("fleet", version="1.0.0"SECRET)


@server.tool
def asks(context: Context, n: int = 1) -> str:
    first = context.ask("first", elicit.form("First?", str)).value
    once = context.once("once", lambda: "kept")
    second = context.ask("second", elicit.form("Second?", str)).value
    return f"{first} {second} {once}"
"""

OLD = "the old secret of thirty-two bytes"
NEW = "the new secret of thirty-two bytes"


def value(text: str) -> dict[str, Any]:
    return {"action": "accept", "content": {"value": text}}


Fleet = Callable[..., DirectSession]


@pytest.fixture
def fleet(write_app: Callable[[str], Path]) -> Iterator[Fleet]:
    opened: list[DirectSession] = []

    def one(*secrets: Any) -> DirectSession:
        given = f", secret={list(secrets)!r}" if secrets else ""
        session = DirectSession(write_app(FLEET.replace("SECRET", given)))
        opened.append(session)
        return session

    yield one
    for session in opened:
        session.close()


def across(*servers: Session) -> str:
    """Three rounds, each with the next server: what the last one says."""
    params: dict[str, Any] = {"name": "asks", "arguments": {}}
    retry: dict[str, Any] = {}
    for server in servers:
        result = server.ask("tools/call", params | retry, clientCapabilities=ABLE)
        if result["resultType"] == "complete":
            found: str = result["content"][0]["text"]
            return found
        responses = {key: value(key) for key in result["inputRequests"]}
        retry = {"requestState": result["requestState"], "inputResponses": responses}
    raise AssertionError("it still asks")


def test_every_server_of_a_fleet_opens_the_states_of_all(fleet: Fleet) -> None:
    one, two = fleet(NEW), fleet(NEW)
    assert across(one, two, one) == "first second kept"
    assert across(two, one, two) == "first second kept"


def test_servers_without_a_common_secret_do_not(fleet: Fleet) -> None:
    for one, two in [(fleet(), fleet()), (fleet(NEW), fleet(OLD)), (fleet(NEW), fleet())]:
        with pytest.raises(Refusal) as refusal:
            across(one, two, two)
        assert refusal.value.error == INVALID


def test_a_secret_is_replaced_without_losing_a_call(fleet: Fleet) -> None:
    """Accepted everywhere, then used everywhere, then the old one is dropped."""
    before, both, after = fleet(OLD), fleet(OLD, NEW), fleet(NEW, OLD)
    last = fleet(NEW)
    assert across(before, both, before) == "first second kept"
    assert across(both, after, both) == "first second kept"
    assert across(after, last, after) == "first second kept"
    with pytest.raises(Refusal):
        across(before, last)
    assert across(before, after, last) == "first second kept", "each round is sealed anew"


def test_secrets_may_be_named(fleet: Fleet) -> None:
    one, two = fleet(("2026", NEW)), fleet(("2027", OLD), ("2026", NEW))
    assert across(one, two, two) == "first second kept"
    with pytest.raises(Refusal):
        across(two, one)


def test_the_environment_may_hold_the_secrets(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SNODO_SECRET", f"{NEW},{OLD}")
    one, two = fleet(), fleet()
    assert across(one, two, one) == "first second kept"
    monkeypatch.setenv("SNODO_SECRET", OLD)
    three = fleet()
    assert across(three, one, two) == "first second kept"
    with pytest.raises(Refusal):
        across(one, three)


def test_a_secret_of_the_server_comes_before_that_of_the_environment(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SNODO_SECRET", "quite another secret of thirty-two bytes")
    one = fleet(NEW)
    monkeypatch.delenv("SNODO_SECRET")
    assert across(one, fleet(NEW), one) == "first second kept"


def test_the_state_of_a_question_does_not_tell_what_was_answered(fleet: Fleet) -> None:
    params: dict[str, Any] = {"name": "asks", "arguments": {}}
    responses = {"first": value("a-very-secret-word")}
    server = fleet(NEW)
    result = server.ask(
        "tools/call", params | {"inputResponses": responses}, clientCapabilities=ABLE
    )
    sealed = result["requestState"].split(".")[-1]
    found = base64.urlsafe_b64decode(sealed + "=" * (-len(sealed) % 4))
    assert b"secret" not in found
    assert "secret" not in json.dumps(result)
