"""`State`: sealed for one request of one principal, and opened for nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snodo import ConfigurationError, Context, Result, Server, State

SECRET = "s" * 32
INVALID = {"code": -32602, "message": "Invalid or expired request state"}


def round_trip(
    seal: Any,
    open: Any,
    *,
    first: dict[str, Any] | None = None,
    second: dict[str, Any] | None = None,
) -> Any:
    """Seals in one call and opens in the next; the opened value, or the error."""
    server = Server("test")

    @server.tool(input_schema={"type": "object"})
    def tool(arguments: dict[str, Any], context: Context) -> Result:
        if context.request_state is None:
            return Result.input_required(request_state=seal(context))
        return Result.structured({"opened": open(context)})

    def send(arguments: dict[str, Any] | None, **retry: str) -> Any:
        meta = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        params = {"name": "tool", "arguments": arguments or {}, "_meta": meta, **retry}
        answer = server.handle(
            {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        )
        assert answer is not None
        return answer.get("result") or answer["error"]

    sealed = send(first)
    if "requestState" not in sealed:
        return sealed
    opened = send(first if second is None else second, requestState=sealed["requestState"])
    return opened["structuredContent"]["opened"] if "structuredContent" in opened else opened


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(json_values)
def test_what_was_sealed_is_opened(data: Any) -> None:
    state = State(SECRET)
    assert round_trip(lambda c: state.seal(data, c), state.open) == data


def test_without_keys_of_its_own_the_server_s_are_used() -> None:
    assert round_trip(lambda c: State().seal(1, c), State().open) == 1
    assert round_trip(lambda c: State().seal(1, c), State(SECRET).open) == INVALID


def test_keys_are_rotated() -> None:
    old, new = ("2025", "o" * 32), ("2026", b"n" * 32)
    before, both, after = State([old]), State([new, old]), State([new])
    assert round_trip(lambda c: before.seal(1, c), both.open) == 1
    assert round_trip(lambda c: both.seal(1, c), after.open) == 1
    assert round_trip(lambda c: before.seal(1, c), after.open) == INVALID


def test_it_is_bound_to_the_arguments() -> None:
    state = State(SECRET)
    seal = lambda context: state.seal(1, context)  # noqa: E731 - read best beside its use
    same = round_trip(seal, state.open, first={"a": 1, "b": 2}, second={"b": 2, "a": 1})
    assert same == 1
    assert round_trip(seal, state.open, first={"a": 1}, second={"a": 2}) == INVALID


def test_it_is_bound_to_the_principal() -> None:
    state = State(SECRET)

    def opened(**by: Any) -> Any:
        return round_trip(
            lambda c: state.seal(1, c, principal="ada"), lambda c: state.open(c, **by)
        )

    assert opened(principal="ada") == 1
    assert opened(principal="bob") == opened(principal=None) == opened() == INVALID
    # Nobody is verified here, and that is a principal too.
    assert round_trip(lambda c: state.seal(1, c), lambda c: state.open(c, principal=None)) == 1


def test_a_longer_life_than_the_opener_allows_does_not_open() -> None:
    long, short = State(SECRET, ttl=900), State(SECRET, ttl=100)
    assert round_trip(lambda c: long.seal(1, c), short.open) == INVALID
    assert round_trip(lambda c: short.seal(1, c), long.open) == 1


@pytest.mark.parametrize(
    "spoil",
    [
        lambda token: "",
        lambda token: token[:-1],
        lambda token: f"{token}A",
        lambda token: token.replace("snodo1", "snodo2"),
        lambda token: "x" * 20_000,
    ],
)
def test_every_failure_reads_the_same(spoil: Any) -> None:
    state = State(SECRET)
    assert round_trip(lambda c: spoil(state.seal(1, c)), state.open) == INVALID


def test_nothing_of_it_can_be_read() -> None:
    seen: list[str] = []
    state = State(SECRET)

    def seal(context: Context) -> str:
        seen.append(state.seal("my secret plan", context))
        return seen[0]

    round_trip(seal, state.open)
    import base64

    payload = seen[0].rpartition(".")[2]
    assert b"secret plan" not in base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4))


def test_no_state_is_none() -> None:
    server = Server("test")

    @server.tool
    def tool(context: Context) -> str:
        assert State().open(context) is None
        with pytest.raises(TypeError, match="request state must be JSON: objects of type object"):
            State().seal(object(), context)
        with pytest.raises(TypeError, match="the principal of a request state must be JSON"):
            State().seal(1, context, principal=object())
        with pytest.raises(ValueError, match="16 KiB"):
            State().seal("x" * 20_000, context)
        return "fine"

    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "tool", "arguments": {}, "_meta": meta},
    }
    assert "fine" in json.dumps(server.handle(message))


@pytest.mark.parametrize("ttl", [0, 901, 1.5, True, "60", None])
def test_a_life_is_1_to_900_seconds(ttl: Any) -> None:
    with pytest.raises(ConfigurationError, match="State ttl must be an int of 1 to 900 seconds"):
        State(SECRET, ttl=ttl)


@pytest.mark.parametrize(
    ("secret", "words"),
    [
        ("short", "State secret requires at least 32 bytes"),
        ("ä" * 15, "State secret requires at least 32 bytes"),
        ([], "State secret must be a secret, or a list of 1 to 8"),
        ([("a b", SECRET)], "State secret: identifiers must be 1 to 32 characters"),
    ],
)
def test_wrong_secrets_are_refused_and_never_shown(secret: Any, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words) as said:
        State(secret)
    assert "short" not in str(said.value)
    assert SECRET not in f"{said.value} {State(SECRET)!r}"
