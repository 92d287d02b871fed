"""Whatever JSON a client sends, a tool sees it as Python would, and it comes back the same."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from driver import DirectSession, request

SERVER = """
from snodo import Server

server = Server("echo", version="1.0.0")
seen = []


@server.tool(input_schema={"type": "object"})
def echo(arguments, context):
    seen[:] = [arguments]
    return arguments
"""

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(min_value=-(10**63), max_value=10**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]))
)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXT, inner, max_size=5),
    max_leaves=30,
)


@pytest.fixture(scope="module")
def session(write_app: Any) -> Iterator[DirectSession]:
    path: Path = write_app(SERVER)
    session = DirectSession(path)
    yield session
    session.close()


def same(one: Any, other: Any) -> bool:
    """Equal with equal types all the way down, the order of members included."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float):
        return repr(one) == repr(other)
    return bool(one == other)


@given(st.dictionaries(TEXT, VALUES, max_size=5), st.booleans())
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_arguments_arrive_and_return_as_they_were(
    session: DirectSession, arguments: dict[str, Any], ascii_only: bool
) -> None:
    message = request("tools/call", {"name": "echo", "arguments": arguments})
    answer = session.handle(json.dumps(message, ensure_ascii=ascii_only).encode())
    assert answer is not None
    result = answer["result"]
    assert same(session.app.seen[0], arguments)
    assert same(result["structuredContent"], arguments)
    assert same(json.loads(result["content"][0]["text"]), arguments)


@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda t: t.encode("utf-8", "replace")))
@settings(max_examples=300, deadline=None)
def test_any_bytes_get_an_error_or_silence(session: DirectSession, body: bytes) -> None:
    answer = session.handle(body)
    if answer is not None:
        assert answer["error"]["code"] in (-32700, -32600, -32601, -32602)
