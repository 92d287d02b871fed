"""A policy decides for clients of every revision, in the words of each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from driver import HANDSHAKES, Handshake, HttpHandshake, HttpServer, Refusal, StdioHandshake
from driver.stdio import StdioServer
from features.test_authorization import LISTS, REFUSED, app, neutral, unknown_of

CASES = [(transport, revision) for transport in ("http", "stdio") for revision in HANDSHAKES]


@pytest.fixture(scope="module", params=CASES, ids=lambda case: "-".join(case))
def clients(request: Any, write_app: Any) -> Iterator[Any]:
    """A client of a server that tells refusals, and of one that conceals them."""
    transport, revision = request.param
    opened: dict[bool, tuple[Handshake, HttpServer | StdioServer]] = {}

    def client(conceal: bool) -> Handshake:
        if conceal not in opened:
            target: Path = write_app(app(conceal=conceal))
            if transport == "http":
                server = HttpServer(target)
                opened[conceal] = HttpHandshake(server, revision), server
            else:
                pipe = StdioServer(target)
                opened[conceal] = StdioHandshake(pipe, revision), pipe
        return opened[conceal][0]

    yield client
    for session, server in opened.values():
        session.close()
        server.close()


def refused(client: Handshake, method: str, params: dict[str, Any]) -> Refusal:
    with pytest.raises(Refusal) as raised:
        client.ask(method, params)
    return raised.value


@pytest.mark.parametrize("method", LISTS)
def test_what_is_refused_is_in_no_list(clients: Any, method: str) -> None:
    client = clients(False)
    key, names = LISTS[method]
    page = client.ask(method)
    found = page[key] + client.ask(method, {"cursor": page["nextCursor"]})[key]
    assert [item["name"] for item in found] == names


@pytest.mark.parametrize(("method", "params", "component"), REFUSED)
def test_a_refusal_is_the_policys_own_words(
    clients: Any, method: str, params: dict[str, Any], component: list[Any]
) -> None:
    if method == "tools/call":
        params = {"name": "b"}  # with arguments that are not good
    told = refused(clients(False), method, params)
    assert told.error == {
        "code": -32003,
        "message": "Not for you",
        "data": {"phase": "invocation", "name": component[1]},
    }
    assert told.status in (200, None)


@pytest.mark.parametrize(("method", "params", "component"), REFUSED)
def test_a_concealed_refusal_looks_like_what_there_is_not(
    clients: Any, method: str, params: dict[str, Any], component: list[Any]
) -> None:
    client = clients(True)
    hidden = refused(client, method, params)
    unknown = refused(client, method, unknown_of(params))
    assert neutral(hidden) == neutral(unknown)
    assert (hidden.code, hidden.status) == (unknown.code, unknown.status)
    assert "Not for you" not in json.dumps(hidden.error)


def test_what_is_allowed_runs(clients: Any) -> None:
    client = clients(True)
    assert client.text("c", {"count": 1}) == "c"
    assert client.read("t://c/1")["text"] == "c 1"
    assert client.read("x://a")["text"] == "a"
