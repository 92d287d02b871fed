"""One path, one method, two media types; every refusal is JSON that says what is wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from driver import AsgiServer, HttpReply, HttpServer, exchange, head, read_reply, request

SERVER = Path(__file__).parent / "echo_server.py"
LIST = json.dumps(request("tools/list")).encode()
HEADERS: dict[str, str | None] = {
    "MCP-Protocol-Version": "2026-07-28",
    "Mcp-Method": "tools/list",
}


@pytest.fixture(scope="module", params=[HttpServer, AsgiServer], ids=["alone", "asgi"])
def server(request: pytest.FixtureRequest) -> Iterator[HttpServer]:
    server = request.param(SERVER)
    yield server
    server.close()


def refused(reply: HttpReply, status: int, code: int = -32600) -> Any:
    """The error of a refusal: this status, a JSON-RPC body, no id."""
    assert reply.status == status, reply
    body = reply.json()
    assert body["error"]["code"] == code, body
    assert "id" not in body, "no request was read, so there is no id to echo"
    assert body["error"]["message"]
    return body["error"]


def test_the_start_line_names_a_loopback_url(server: HttpServer) -> None:
    assert (server.host, server.path) == ("127.0.0.1", "/mcp")


@pytest.mark.parametrize("server", [HttpServer], indirect=True)
def test_a_start_says_one_line_with_url_revision_and_counts(server: HttpServer) -> None:
    (line,) = server.log().strip().splitlines()
    assert server.url in line
    assert "2026-07-28" in line
    assert "tool" in line


@pytest.mark.parametrize("verb", ["GET", "DELETE", "PUT", "PATCH", "HEAD"])
def test_other_methods_are_405_and_name_post(server: HttpServer, verb: str) -> None:
    with server.connect() as connection:
        connection.sendall(head(verb, "/mcp", headers={"Content-Length": None}))
        reply = read_reply(connection, bodyless=verb == "HEAD")
    assert reply.status == 405
    assert "POST" in reply.headers["allow"]
    if verb != "HEAD":
        refused(reply, 405)


def test_another_path_is_404_and_not_a_method_error(server: HttpServer) -> None:
    reply = exchange(server, head("POST", "/x", LIST, HEADERS) + LIST)
    assert reply.status == 404
    assert b"-32601" not in reply.body, "clients would take it for an unknown method"


@pytest.mark.parametrize("path", ["/mcp/", "/mcp?x=1", "/mcp/?x=1"])
def test_a_trailing_slash_and_a_query_are_served_without_redirect(
    server: HttpServer, path: str
) -> None:
    assert exchange(server, head("POST", path, LIST, HEADERS) + LIST).status == 200


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_health_is_answered_beside_the_endpoint(server: HttpServer, path: str) -> None:
    reply = exchange(server, head("GET", path, headers={"Content-Length": None}))
    assert reply.status == 200


@pytest.mark.parametrize("served", [HttpServer, AsgiServer], ids=["alone", "asgi"])
def test_the_path_can_be_chosen(served: type[HttpServer]) -> None:
    server = served(SERVER, "--path", "/api/tools")
    try:
        assert server.url.endswith("/api/tools") or served is AsgiServer
        assert exchange(server, head("POST", "/api/tools", LIST, HEADERS) + LIST).status == 200
        assert exchange(server, head("POST", "/mcp", LIST, HEADERS) + LIST).status == 404
    finally:
        server.close()


def test_a_connection_serves_many_requests(server: HttpServer) -> None:
    with server.connect() as connection:
        for _ in range(20):
            connection.sendall(head("POST", "/mcp", LIST, HEADERS) + LIST)
            assert read_reply(connection).status == 200


def test_a_refused_request_leaves_its_connection_usable(server: HttpServer) -> None:
    with server.connect() as connection:
        connection.sendall(head("POST", "/mcp", b"{", HEADERS) + b"{")
        assert read_reply(connection).status == 400
        connection.sendall(head("POST", "/mcp", LIST, HEADERS) + LIST)
        assert read_reply(connection).status == 200


def test_http_1_0_is_answered(server: HttpServer) -> None:
    raw = head("POST", "/mcp", LIST, HEADERS).replace(b"HTTP/1.1", b"HTTP/1.0") + LIST
    assert exchange(server, raw).status == 200


def test_an_empty_body_is_a_parse_error(server: HttpServer) -> None:
    refused(server.post(b"", HEADERS), 400, -32700)


def test_a_body_of_blanks_is_a_parse_error(server: HttpServer) -> None:
    refused(server.post(b" \n ", HEADERS), 400, -32700)


def test_a_byte_order_mark_is_tolerated(server: HttpServer) -> None:
    assert server.post(b"\xef\xbb\xbf" + LIST, HEADERS).status in (200, 400)
    assert server.post(LIST, HEADERS).status == 200


def test_json_answers_are_not_cached_and_echo_no_routing_header(server: HttpServer) -> None:
    reply = server.post(LIST, HEADERS | {"Mcp-Session-Id": "x"})
    assert reply.headers["content-type"] == "application/json"
    assert not {"mcp-session-id", "mcp-method", "mcp-name"} & set(reply.headers)


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "application/json; charset=utf-8",
        "APPLICATION/JSON",
        "application/json;",
    ],
)
def test_json_content_types_are_taken(server: HttpServer, content_type: str) -> None:
    assert server.post(LIST, HEADERS | {"Content-Type": content_type}).status == 200


@pytest.mark.parametrize(
    "content_type", [None, "text/plain", "application/jsonp", "application/xml", "json", ""]
)
def test_other_content_types_are_415(server: HttpServer, content_type: str | None) -> None:
    error = refused(server.post(LIST, HEADERS | {"Content-Type": content_type}), 415)
    assert "application/json" in error["message"]


@pytest.mark.parametrize(
    "accept",
    [
        None,
        "*/*",
        "application/*",
        "application/json",
        "application/json, text/event-stream",
        "text/event-stream, application/json",
        "text/html, application/json;q=0.9",
        "Application/JSON",
    ],
)
def test_whoever_can_take_json_gets_json(server: HttpServer, accept: str | None) -> None:
    reply = server.post(LIST, HEADERS | {"Accept": accept})
    assert reply.status == 200
    assert reply.headers["content-type"] == "application/json"


@pytest.mark.parametrize("accept", ["text/html", "image/png, text/plain"])
def test_whoever_can_take_nothing_we_have_gets_406(server: HttpServer, accept: str) -> None:
    error = refused(server.post(LIST, HEADERS | {"Accept": accept}), 406)
    assert "application/json" in error["message"]


def test_the_origin_is_judged_before_the_content_type(server: HttpServer) -> None:
    headers = HEADERS | {"Origin": "http://evil.example", "Content-Type": "text/plain"}
    assert server.post(LIST, headers).status == 403


def test_the_content_type_is_judged_before_what_is_accepted(server: HttpServer) -> None:
    headers = HEADERS | {"Accept": "text/html", "Content-Type": "text/plain"}
    assert server.post(LIST, headers).status == 415


def test_a_notification_is_accepted_with_202_and_nothing_else(server: HttpServer) -> None:
    reply = server.post(b'{"jsonrpc":"2.0","method":"notifications/cancelled"}')
    assert (reply.status, reply.body) == (202, b"")


@pytest.mark.parametrize("name", ["MCP-Protocol-Version", "Mcp-Method"])
def test_a_repeated_header_is_refused_even_if_equal(server: HttpServer, name: str) -> None:
    raw = head("POST", "/mcp", LIST, HEADERS)
    twice = raw[:-2] + f"{name}: {HEADERS[name]}\r\n\r\n".encode()
    reply = exchange(server, twice + LIST)
    assert reply.status == 400
    assert reply.json()["error"]["code"] == -32020


def test_a_repeated_name_is_refused(server: HttpServer) -> None:
    body = json.dumps(request("tools/call", {"name": "echo", "arguments": {}})).encode()
    raw = head("POST", "/mcp", body, HEADERS | {"Mcp-Method": "tools/call", "Mcp-Name": "echo"})
    reply = exchange(server, raw[:-2] + b"mcp-name: echo\r\n\r\n" + body)
    assert (reply.status, reply.json()["error"]["code"]) == (400, -32020)


def test_raw_bytes_in_a_mirrored_header_are_refused(server: HttpServer) -> None:
    body = json.dumps(request("tools/call", {"name": "\u00e9", "arguments": {}})).encode()
    headers = HEADERS | {"Mcp-Method": "tools/call", "Mcp-Name": "\u00e9"}
    assert server.post(body, headers).status == 400


def test_two_posts_with_one_id_do_not_know_of_each_other(server: HttpServer) -> None:
    with server.connect() as first, server.connect() as second:
        for connection in (first, second):
            connection.sendall(head("POST", "/mcp", LIST, HEADERS) + LIST)
        assert [read_reply(connection).json()["id"] for connection in (first, second)] == [1, 1]


def test_a_legacy_initialize_opens_a_session(server: HttpServer) -> None:
    body = json.dumps(
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "old", "version": "1"},
            },
        }
    ).encode()
    reply = server.post(body)
    assert reply.status == 200
    assert reply.json()["result"]["protocolVersion"] == "2025-11-25"
    assert re.fullmatch("[0-9a-f]{32}", reply.headers["mcp-session-id"])
