"""Who may call: `Host` and `Origin` are loopback names unless widened; CORS preflights."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from driver import AsgiServer, HttpReply, HttpServer, exchange, head, request

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


@pytest.fixture(scope="module", params=[HttpServer, AsgiServer], ids=["alone", "asgi"])
def widened(request: pytest.FixtureRequest) -> Iterator[HttpServer]:
    server = request.param(
        SERVER,
        *("--allow-host", "mcp.example.com", "--allow-host", "*.internal.example"),
        *("--allow-origin", "https://app.example.com"),
    )
    yield server
    server.close()


def post(server: HttpServer, **headers: str | None) -> HttpReply:
    return server.post(LIST, HEADERS | {name.title(): value for name, value in headers.items()})


def preflight(server: HttpServer, origin: str, asked: str) -> HttpReply:
    headers: dict[str, str | None] = {
        "Origin": origin,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": asked,
        "Content-Type": None,
        "Content-Length": None,
    }
    return exchange(server, head("OPTIONS", "/mcp", headers=headers))


@pytest.mark.parametrize(
    "origin",
    [
        None,
        "http://localhost",
        "http://localhost:5",
        "https://LOCALHOST:3000",
        "http://127.0.0.1:1",
        "https://127.0.0.1",
        "http://[::1]:8080",
    ],
)
def test_loopback_origins_are_allowed(server: HttpServer, origin: str | None) -> None:
    assert post(server, origin=origin).status == 200


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "https://evil.example:443",
        "null",
        "http://localhost.evil.example",
        "http://evil.example/localhost",
        "http://user@localhost",
        "http://localhost@evil.example",
        "file://localhost",
        "localhost",
        "",
    ],
)
def test_other_origins_are_refused_with_the_setting_to_change(
    server: HttpServer, origin: str
) -> None:
    reply = post(server, origin=origin)
    assert reply.status == 403
    body = reply.json()
    assert "id" not in body
    assert "--allow-origin" in body["error"]["message"]
    assert "SNODO_ALLOWED_ORIGINS" in body["error"]["message"]


def test_two_origins_are_refused(server: HttpServer) -> None:
    raw = head("POST", "/mcp", LIST, HEADERS | {"Origin": "http://localhost"})
    reply = exchange(server, raw[:-2] + b"Origin: http://localhost\r\n\r\n" + LIST)
    assert reply.status == 403


@pytest.mark.parametrize("verb", ["GET", "OPTIONS", "DELETE"])
def test_a_foreign_page_gets_nothing_by_any_method(server: HttpServer, verb: str) -> None:
    headers: dict[str, str | None] = {"Origin": "http://evil.example", "Content-Length": None}
    reply = exchange(server, head(verb, "/mcp", headers=headers))
    assert reply.status in (403, 405)
    assert "access-control-allow-origin" not in reply.headers


@pytest.mark.parametrize("host", ["localhost", "LocalHost:1", "127.0.0.1:8000", "[::1]", "[::1]:9"])
def test_loopback_hosts_are_allowed(server: HttpServer, host: str) -> None:
    assert post(server, host=host).status == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8000",
        "localhost.evil.example",
        "10.0.0.1",
        "localhost@evil",
        "",
    ],
)
def test_other_hosts_are_refused_with_the_setting_to_change(server: HttpServer, host: str) -> None:
    reply = post(server, host=host)
    assert reply.status in (400, 403)
    if reply.status == 403:
        message = reply.json()["error"]["message"]
        assert "--allow-host" in message
        assert "SNODO_ALLOWED_HOSTS" in message


def test_the_example_of_dns_rebinding_is_403(server: HttpServer) -> None:
    assert post(server, host="evil.example").status == 403


def test_a_missing_host_is_refused(server: HttpServer) -> None:
    assert post(server, host=None).status in (400, 403)


def test_two_hosts_are_refused(server: HttpServer) -> None:
    raw = head("POST", "/mcp", LIST, HEADERS)
    reply = exchange(server, raw[:-2] + b"Host: evil.example\r\n\r\n" + LIST)
    assert reply.status in (400, 403)


@pytest.mark.parametrize(
    "host", ["mcp.example.com", "MCP.example.com:443", "a.internal.example", "localhost"]
)
def test_allowed_hosts_are_added_to_the_loopback_names(widened: HttpServer, host: str) -> None:
    assert post(widened, host=host).status == 200


@pytest.mark.parametrize("host", ["example.com", "internal.example.evil", "xinternal.example"])
def test_hosts_that_only_resemble_allowed_ones_are_refused(widened: HttpServer, host: str) -> None:
    assert post(widened, host=host).status == 403


def test_an_allowed_origin_is_allowed_exactly(widened: HttpServer) -> None:
    assert post(widened, origin="https://app.example.com").status == 200
    assert post(widened, origin="http://app.example.com").status == 403
    assert post(widened, origin="https://app.example.com:8443").status == 403
    assert post(widened, origin="https://other.example.com").status == 403


def test_the_environment_widens_too() -> None:
    env = {
        "SNODO_ALLOWED_HOSTS": "mcp.example.com,second.example",
        "SNODO_ALLOWED_ORIGINS": "https://app.example.com",
    }
    server = HttpServer(SERVER, env=env)
    try:
        for host in ("mcp.example.com", "second.example"):
            assert post(server, host=host, origin="https://app.example.com").status == 200
    finally:
        server.close()


def test_a_preflight_is_answered_with_what_a_browser_needs(server: HttpServer) -> None:
    asked = "content-type,mcp-protocol-version,mcp-method,mcp-name,mcp-param-region,authorization"
    reply = preflight(server, "http://localhost:3000", asked)
    assert reply.status in (200, 204)
    assert reply.headers["access-control-allow-origin"] == "http://localhost:3000"
    assert "POST" in reply.headers["access-control-allow-methods"].upper()
    allowed = {
        name.strip() for name in reply.headers["access-control-allow-headers"].lower().split(",")
    }
    assert set(asked.split(",")) <= allowed
    assert "origin" in reply.headers["vary"].lower()


def test_a_preflight_of_a_foreign_origin_is_refused(server: HttpServer) -> None:
    reply = preflight(server, "http://evil.example", "content-type")
    assert reply.status == 403
    assert "access-control-allow-origin" not in reply.headers


def test_answers_and_refusals_can_be_read_by_an_allowed_origin(server: HttpServer) -> None:
    origin = "http://localhost:3000"
    good, bad = post(server, origin=origin), post(server, origin=origin, accept="text/html")
    assert (good.status, bad.status) == (200, 406)
    for reply in (good, bad):
        assert reply.headers["access-control-allow-origin"] == origin


def test_answers_without_origin_carry_no_cors_headers(server: HttpServer) -> None:
    assert not [name for name in post(server).headers if name.startswith("access-control")]
