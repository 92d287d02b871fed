"""The first signal drains, the second ends at once."""

from __future__ import annotations

import json
import signal
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from driver import HttpServer, head, read_reply, request, wait_until
from driver.http import mirrored

SERVER = Path(__file__).parent / "echo_server.py"

# Sooner than what runs may take to finish, however slow the machine is.
SOON = 8


@pytest.fixture
def server() -> Iterator[HttpServer]:
    server = HttpServer(SERVER)
    yield server
    server.close()


def begin(server: HttpServer, tool: str, arguments: dict[str, Any]) -> socket.socket:
    message = request("tools/call", {"name": tool, "arguments": arguments})
    body = json.dumps(message).encode()
    connection = server.connect()
    connection.sendall(head("POST", "/mcp", body, dict(mirrored(message))) + body)
    server.wait_for_log(f"{tool} begins")
    return connection


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_an_idle_server_at_once(server: HttpServer, number: int) -> None:
    server.signal(number)
    assert server.wait(SOON) == 0
    assert "Traceback" not in server.log()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("tool", ["pause", "block", "stubborn"])
def test_a_signal_lets_running_calls_finish(server: HttpServer, number: int, tool: str) -> None:
    with begin(server, tool, {"seconds": 0.7}) as connection:
        server.signal(number)
        reply = read_reply(connection)
        assert reply.status == 200
        assert reply.json()["result"]["content"][0]["text"] == "awake"
    assert server.wait(SOON) == 0
    assert "Traceback" not in server.log()


def test_no_new_connections_are_taken_while_draining(server: HttpServer) -> None:
    with begin(server, "pause", {"seconds": 3}) as connection:
        server.signal(signal.SIGTERM)
        deadline = time.monotonic() + 2.5
        refused = False
        while not refused and time.monotonic() < deadline:
            try:
                refused = server.send(request("tools/list")).status == 503
            except (ConnectionError, TimeoutError):
                refused = True
        assert refused, "new requests are still served long after the signal"
        assert read_reply(connection).status == 200
    assert server.wait(SOON) == 0


def test_an_idle_kept_connection_does_not_hold_the_server(server: HttpServer) -> None:
    message = request("tools/list")
    body = json.dumps(message).encode()
    with server.connect() as connection:
        connection.sendall(head("POST", "/mcp", body, dict(mirrored(message))) + body)
        assert read_reply(connection).status == 200
        server.signal(signal.SIGTERM)
        assert server.wait(SOON) == 0


def test_a_half_sent_request_does_not_hold_the_server(server: HttpServer) -> None:
    with server.connect() as connection:
        connection.sendall(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Le")
        assert server.send(request("tools/list")).status == 200
        server.signal(signal.SIGTERM)
        assert server.wait(15) == 0


def is_listening(server: HttpServer) -> bool:
    try:
        server.connect(1).close()
    except OSError:
        return False
    return True


@pytest.mark.parametrize("tool", ["pause", "stubborn"])
def test_the_second_signal_ends_at_once(server: HttpServer, tool: str) -> None:
    with begin(server, tool, {"seconds": 60}):
        server.signal(signal.SIGINT)
        # The first signal is known to have arrived when the listener is gone.
        wait_until(lambda: not is_listening(server), "the end of accepting", SOON)
        server.signal(signal.SIGINT)
        assert server.wait(SOON) in (0, 1, 130, -signal.SIGINT)
    assert "Traceback" not in server.log()


@pytest.mark.parametrize("tool", ["pause", "stubborn"])
def test_draining_has_an_end(write_app: Callable[[str], Path], tool: str) -> None:
    source = SERVER.read_text().replace(
        'version="1.0.0"', 'version="1.0.0", limits={"drain_timeout": 0.5}'
    )
    server = HttpServer(write_app(source))
    try:
        with begin(server, tool, {"seconds": 60}):
            server.signal(signal.SIGTERM)
            server.wait(SOON)
    finally:
        server.close()
