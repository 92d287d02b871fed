"""Who sends an HTTP request: asked before the body, told to the handler, and what refusals say."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from driver import (
    HANDSHAKES,
    INITIALIZED,
    HttpReply,
    HttpServer,
    StdioServer,
    exchange,
    head,
    initialize,
    read_reply,
    request,
)

APP = """
import asyncio
import itertools
import json
import sys
import threading
import time

from snodo import Context, Server, auth, elicit

KNOWN = {"ada-key": {"user": "ada", "roles": ["admin"]}, "bob-key": "bob"}
numbers = itertools.count(1)
seen = []


def turned(request):
    person = [("user", "ada"), ("roles", {"a": 1, "b": 2})]
    if request.headers["authorization"].endswith("back"):
        person = [("roles", {"b": 2, "a": 1}), ("user", "ada")]
    return dict(person)


def told(request):
    seen.append([next(numbers), request.method, request.path, dict(request.headers), request.peer])
    token = request.headers.get("authorization", "").removeprefix("Bearer ")
    if token == "raise":
        raise RuntimeError("a secret of the gate")
    if token == "exit":
        sys.exit(3)
    if token == "forbid":
        raise auth.Refusal(403, None, "Not you")
    if token == "challenge":
        return auth.Refusal(401, 'Bearer realm="x", error="invalid_token"')
    if token in ODD:
        return ODD[token]
    return KNOWN.get(token)


ODD = {
    "five": 5,
    "true": True,
    "false": False,
    "list": ["a"],
    "empty": "",
    "object": {"a": object()},
    "nan": {"a": float("nan")},
    "large": "x" * 20_000,
}


async def told_async(request):
    await asyncio.sleep(0)
    if request.headers.get("authorization") == "Bearer never":
        try:
            await asyncio.sleep(60)
        finally:
            seen.append(["given up"])
    return told(request)


def told_late(request):
    if request.headers.get("authorization") == "Bearer never":
        time.sleep(4)
    return told(request)


server = Server(
    "guarded",
    version="1.0.0",
    authenticate=AUTHENTICATE,
    limits={"authenticate_timeout": 2},
    secret="0123456789abcdef0123456789abcdef",
)


@server.tool
def who(context: Context) -> dict:
    return {"auth": context.auth}


@server.tool
def heard() -> dict:
    said = seen[:]
    seen.clear()
    return {"heard": said}


@server.tool
def asks(context: Context) -> str:
    answer = context.ask("name", elicit.form("Name?", {"name": str}))
    return f"{context.auth} {answer.accepted}"


"""

Guard = Callable[[str], HttpServer]


@pytest.fixture(scope="module")
def guard(write_app: Callable[[str], Path]) -> Iterator[Guard]:
    """Serves the file with this expression for `authenticate`."""
    servers: dict[str, HttpServer] = {}

    def serve(authenticate: str = "told_late") -> HttpServer:
        if authenticate not in servers:
            target = write_app(APP.replace("AUTHENTICATE", authenticate))
            servers[authenticate] = HttpServer(target, "--legacy-sse")
        return servers[authenticate]

    yield serve
    for server in servers.values():
        server.close()


def ask(server: HttpServer, token: str | None, tool: str = "who", **headers: str) -> HttpReply:
    authorization = {} if token is None else {"Authorization": f"Bearer {token}"}
    return server.send(request("tools/call", {"name": tool}), **authorization, **headers)


def structured(reply: HttpReply) -> Any:
    assert reply.status == 200, reply
    return reply.json()["result"]["structuredContent"]


EVERY = ["told_late", "told_async", "auth.bearer(KNOWN)", "auth.bearer(KNOWN.get)"]


@pytest.mark.parametrize("authenticate", EVERY)
def test_whoever_is_known_comes_in_and_the_handler_knows_it(
    guard: Guard, authenticate: str
) -> None:
    server = guard(authenticate)
    assert structured(ask(server, "ada-key")) == {"auth": {"user": "ada", "roles": ["admin"]}}
    assert structured(ask(server, "bob-key")) == {"auth": "bob"}
    # Each request on one connection is somebody's of its own.
    message = json.dumps(request("tools/call", {"name": "who"})).encode()
    names = []
    with server.connect() as connection:
        for token in ("bob-key", "nobody", "ada-key", "bob-key"):
            headers = {
                "Authorization": f"Bearer {token}",
                "MCP-Protocol-Version": "2026-07-28",
                "Mcp-Method": "tools/call",
                "Mcp-Name": "who",
            }
            connection.sendall(head("POST", server.path, message, headers) + message)
            reply = read_reply(connection)
            if token == "nobody":
                assert reply.status == 401
                break
            names.append(structured(reply)["auth"])
    assert names == ["bob"]


@pytest.mark.parametrize("authenticate", EVERY)
@pytest.mark.parametrize("token", [None, "nobody", "ada-key2", "ada-ke", "KNOWN", " "])
def test_whoever_is_not_is_told_how_to_and_nothing_else(
    guard: Guard, authenticate: str, token: str | None
) -> None:
    reply = ask(guard(authenticate), token)
    assert reply.status == 401
    assert reply.headers["www-authenticate"] == "Bearer"
    assert reply.json() == {
        "jsonrpc": "2.0",
        "error": {"code": -32600, "message": "Authentication required"},
    }


def test_a_refusal_says_what_the_application_says(guard: Guard) -> None:
    for authenticate in ("told_late", "told_async"):
        forbidden = ask(guard(authenticate), "forbid")
        assert (forbidden.status, forbidden.json()["error"]["message"]) == (403, "Not you")
        assert "www-authenticate" not in forbidden.headers
        challenged = ask(guard(authenticate), "challenge")
        assert challenged.status == 401
        assert challenged.headers["www-authenticate"] == 'Bearer realm="x", error="invalid_token"'


@pytest.mark.parametrize("authenticate", ["told_late", "told_async"])
@pytest.mark.parametrize("token", ["raise", "exit"])
def test_a_gate_that_breaks_is_no_way_in(guard: Guard, authenticate: str, token: str) -> None:
    server = guard(authenticate)
    reply = ask(server, token)
    assert (reply.status, reply.json()["error"]) == (
        500,
        {"code": -32603, "message": "Request gate failed"},
    )
    server.wait_for_log("a secret of the gate" if token == "raise" else "SystemExit")


@pytest.mark.parametrize(
    "token", ["five", "true", "false", "list", "empty", "object", "nan", "large"]
)
def test_what_is_no_principal_is_no_way_in(guard: Guard, token: str) -> None:
    for authenticate in ("told_late", "told_async"):
        reply = ask(guard(authenticate), token)
        assert (reply.status, reply.json()["error"]) == (
            500,
            {"code": -32603, "message": "Request gate returned an invalid result"},
        )


@pytest.mark.parametrize("authenticate", ["told_late", "told_async"])
def test_a_gate_has_its_time(guard: Guard, authenticate: str) -> None:
    server = guard(authenticate)
    reply = ask(server, "never")
    assert (reply.status, reply.json()["error"]) == (
        504,
        {"code": -32603, "message": "Request gate timed out"},
    )
    if authenticate == "told_async":
        until = time.monotonic() + 10
        while ["given up"] not in structured(ask(server, "bob-key", "heard"))["heard"]:
            assert time.monotonic() < until, "the coroutine was never cancelled"


def test_the_gate_hears_method_path_headers_and_peer_once_a_request(guard: Guard) -> None:
    server = guard("told")
    ask(server, "bob-key", "heard")
    raw = head(
        "POST", server.path + "/?q=1", b"{}", {"Authorization": "Bearer nobody", "X-One": "a"}
    )
    raw = raw.replace(b"X-One: a\r\n", b"X-One: a\r\nX-One: b\xe9\r\n")
    assert exchange(server, raw + b"{}").status == 401
    first, second = structured(ask(server, "bob-key", "heard"))["heard"]
    assert second[0] == first[0] + 1
    _, method, path, headers, peer = first
    assert (method, path) == ("POST", server.path + "/")
    assert headers["x-one"] == "a, b\u00e9"
    assert headers["authorization"] == "Bearer nobody"
    assert peer[0] == "127.0.0.1"
    assert isinstance(peer[1], int)


def test_it_is_asked_before_the_body_is_read(guard: Guard) -> None:
    server = guard("auth.bearer(KNOWN)")
    with server.connect() as connection:
        headers: dict[str, str | None] = {"Content-Length": "4000000"}
        connection.sendall(head("POST", server.path, b"", headers))
        assert read_reply(connection).status == 401
    # Whatever else is wrong with it is told only to whoever may come in.
    for wrong in ({"Content-Type": "text/plain"}, {"Accept": "text/html"}):
        body = b"{"
        assert exchange(server, head("POST", server.path, body, {**wrong}) + body).status == 401


@pytest.mark.parametrize(
    ("wrong", "status"),
    [
        ({}, 401),
        ({"Origin": "http://evil.example"}, 403),
        ({"Authorization": "Bearer ada-key", "Content-Type": "text/plain"}, 415),
    ],
)
def test_a_refusal_says_whether_the_connection_goes_on(
    guard: Guard, wrong: dict[str, str | None], status: int
) -> None:
    server = guard("auth.bearer(KNOWN)")
    body = b"{}"
    with server.connect() as connection:
        for _ in range(3):  # a small one that comes is read
            connection.sendall(head("POST", server.path, body, wrong) + body)
            reply = read_reply(connection)
            assert reply.status == status
            assert "connection" not in reply.headers
    for late in ({"Content-Length": "2"}, {"Content-Length": "4000000"}):
        with server.connect() as connection:
            connection.sendall(head("POST", server.path, b"", {**wrong, **late}))
            reply = read_reply(connection)
            assert reply.status == status
            assert reply.headers["connection"] == "close"


def test_host_and_origin_come_first_and_what_is_beside_is_open(guard: Guard) -> None:
    server = guard("told")
    ask(server, "bob-key", "heard")
    assert ask(server, None, Host="evil.example").status == 403
    assert ask(server, None, Origin="http://evil.example").status == 403
    for path in ("/healthz", "/readyz"):
        assert exchange(server, head("GET", path)).status == 200
    preflight: dict[str, str | None] = {
        "Origin": "http://localhost:1",
        "Access-Control-Request-Method": "POST",
    }
    assert exchange(server, head("OPTIONS", server.path, headers=preflight)).status == 204
    (last,) = structured(ask(server, "bob-key", "heard"))["heard"]
    assert last[1] == "POST"
    refused = ask(server, None, Origin="http://localhost:1")
    assert refused.status == 401
    assert refused.headers["access-control-allow-origin"] == "http://localhost:1"
    assert "WWW-Authenticate" in refused.headers["access-control-expose-headers"]


@pytest.mark.parametrize("verb", ["GET", "DELETE", "POST"])
def test_every_request_of_the_endpoint_is_asked_for(guard: Guard, verb: str) -> None:
    server = guard("auth.bearer(KNOWN)")
    for path in (server.path, "/sse", "/messages"):
        if (verb, path) in (("DELETE", "/sse"), ("DELETE", "/messages")):
            continue
        assert exchange(server, head(verb, path)).status == 401, path


def session_of(server: HttpServer, token: str, revision: str) -> dict[str, str | None]:
    """Opens a session; gives the headers of its requests, without who sends them."""
    body = json.dumps(initialize(revision)).encode()
    reply = server.post(body, {"Authorization": f"Bearer {token}"})
    assert reply.status == 200
    headers: dict[str, str | None] = {"Mcp-Session-Id": reply.headers["mcp-session-id"]}
    if revision in HANDSHAKES[:2]:
        headers["MCP-Protocol-Version"] = revision
    said = server.post(
        json.dumps(INITIALIZED).encode(), {**headers, "Authorization": f"Bearer {token}"}
    )
    assert said.status == 202
    return headers


@pytest.mark.parametrize("revision", HANDSHAKES)
def test_a_session_is_of_whoever_opened_it(guard: Guard, revision: str) -> None:
    server = guard("auth.bearer(KNOWN)")
    headers = session_of(server, "ada-key", revision)
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "who"}}
    body = json.dumps(message).encode()

    def post(token: str | None) -> HttpReply:
        bearer = {} if token is None else {"Authorization": f"Bearer {token}"}
        return server.post(body, {**headers, **bearer})

    assert "ada" in post("ada-key").body.decode()
    assert post(None).status == 401
    # To anybody else it is not there, whatever is asked of it.
    assert post("bob-key").status == 404
    bob = {**headers, "Authorization": "Bearer bob-key", "Accept": "text/event-stream"}
    assert exchange(server, head("GET", server.path, headers=bob)).status == 404
    assert exchange(server, head("DELETE", server.path, headers=bob)).status == 404
    ada = {**bob, "Authorization": "Bearer ada-key"}
    assert exchange(server, head("DELETE", server.path, headers=ada)).status == 204
    assert post("ada-key").status == 404


def test_a_principal_is_the_same_whatever_the_order_of_its_members(guard: Guard) -> None:
    server = guard("turned")
    headers = session_of(server, "forth", "2025-11-25")
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()
    for token in ("forth", "back", "forth"):
        assert server.post(body, {**headers, "Authorization": f"Bearer {token}"}).status == 200


def test_a_post_box_is_of_whoever_opened_it(guard: Guard) -> None:
    server = guard("auth.bearer(KNOWN)")
    ada: dict[str, str | None] = {"Authorization": "Bearer ada-key", "Accept": "text/event-stream"}
    with server.connect() as connection, connection.makefile("rb") as lines:
        connection.sendall(head("GET", "/sse", headers=ada))
        while not (line := lines.readline()).startswith(b"data: "):
            assert line, "the stream ended"
        box = line.removeprefix(b"data: ").strip().decode()
        body = json.dumps(initialize("2024-11-05")).encode()

        def post(token: str) -> int:
            headers: dict[str, str | None] = {"Authorization": f"Bearer {token}"}
            return exchange(server, head("POST", box, body, headers) + body).status

        assert post("bob-key") == 404
        assert post("nobody") == 401
        assert post("ada-key") == 202


def test_what_is_sealed_is_of_whoever_it_was_sealed_for(guard: Guard) -> None:
    server = guard("auth.bearer(KNOWN)")
    able = {"clientCapabilities": {"elicitation": {"form": {}}}}

    def call(token: str, **params: Any) -> Any:
        message = request("tools/call", {"name": "asks"} | params, **able)
        return server.send(message, Authorization=f"Bearer {token}").json()

    asked = call("bob-key")["result"]
    given = {
        "inputResponses": {"name": {"action": "accept", "content": {"name": "B"}}},
        "requestState": asked["requestState"],
    }
    assert "error" in call("ada-key", **given) or call("ada-key", **given)["result"]["isError"]
    assert call("bob-key", **given)["result"]["content"][0]["text"].startswith("bob ")


def test_an_api_key_is_in_a_header_of_its_own(guard: Guard) -> None:
    server = guard("auth.api_key(KNOWN, header='X-Key')")
    assert structured(ask(server, None, X_Key="bob-key")) == {"auth": "bob"}
    for headers in ({}, {"X_Key": "no"}, {"X_Api_Key": "bob-key"}):
        refused = ask(server, None, **headers)
        assert refused.status == 401
        assert refused.headers["www-authenticate"] == 'ApiKey header="x-key"'


@pytest.mark.parametrize(
    ("said", "principal"),
    [
        ("ada", "ada"),
        ('{"user": "ada"}', {"user": "ada"}),
        ('"ada"', "ada"),
        ("7", "7"),
        (None, None),
    ],
)
def test_who_is_at_the_other_end_of_a_pipe_is_said_by_the_environment(
    write_app: Callable[[str], Path], said: str | None, principal: Any
) -> None:
    environment = {} if said is None else {"SNODO_PRINCIPAL": said}
    target = write_app(APP.replace("AUTHENTICATE", "told"))
    server = StdioServer(target, env=environment)
    try:
        answer = server.ask(request("tools/call", {"name": "who"}))
        assert answer["result"]["structuredContent"] == {"auth": principal}
        server.ask(initialize("2025-11-25", id=5))
        server.write_message(INITIALIZED)
        message = {"jsonrpc": "2.0", "id": 6, "method": "tools/call", "params": {"name": "who"}}
        answer = server.ask(message)
        assert answer["result"]["structuredContent"] == {"auth": principal}
    finally:
        server.close()
