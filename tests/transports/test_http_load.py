"""What HTTP says when there is no place, no time, or nobody left to hear the answer."""

from __future__ import annotations

import json
import select
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from driver import HttpServer, head, read_reply, request, wait_until
from driver.http import mirrored

SERVER = Path(__file__).parent / "echo_server.py"

NARROW = """
import sys, threading
from snodo import Server

server = Server("narrow", version="1.0.0", limits={"running": 1, "queued": 1})
gate = threading.Event()

@server.tool
def wait() -> str:
    print("wait begins", file=sys.stderr, flush=True)
    gate.wait(30)
    return "done"

@server.tool(timeout=0.3)
async def late() -> str:
    import asyncio
    await asyncio.sleep(30)
    return "never"

@server.tool(timeout=0.3)
def late_in_a_thread() -> str:
    gate.wait(30)
    return "never"
"""


@pytest.fixture
def server() -> Iterator[HttpServer]:
    server = HttpServer(SERVER)
    yield server
    server.close()


@pytest.fixture
def narrow(write_app: Callable[[str], Path]) -> Iterator[HttpServer]:
    server = HttpServer(write_app(NARROW))
    yield server
    server.close()


def begin(server: HttpServer, tool: str, arguments: dict[str, Any] | None = None) -> socket.socket:
    """Sends a call and does not wait for its answer."""
    message = request("tools/call", {"name": tool, "arguments": arguments or {}}, id=tool)
    body = json.dumps(message).encode()
    connection = server.connect()
    connection.sendall(head("POST", "/mcp", body, dict(mirrored(message))) + body)
    return connection


def test_a_call_without_a_place_gets_503(narrow: HttpServer) -> None:
    with ExitStack() as stack:
        stack.enter_context(begin(narrow, "wait"))
        narrow.wait_for_log("wait begins")
        waiting = [stack.enter_context(begin(narrow, "wait")) for _ in range(5)]
        # One of the five waits in the queue; four are refused, long before anybody is served.
        refused = []
        while len(refused) < 4:
            ready, _, _ = select.select(waiting, [], [], 15)
            assert ready, f"{len(refused)} of them were refused"
            for connection in ready:
                waiting.remove(connection)
                refused.append(read_reply(connection))
        assert [reply.status for reply in refused] == [503] * 4
        for reply in refused:
            body = reply.json()
            assert body["error"]["code"] == -32603
            assert body["id"] == "wait"


def test_what_needs_no_place_is_served_when_all_are_taken(narrow: HttpServer) -> None:
    with begin(narrow, "wait"), begin(narrow, "wait"):
        narrow.wait_for_log("wait begins")
        assert narrow.send(request("tools/list")).status == 200
        assert narrow.send(request("server/discover")).status == 200


@pytest.mark.parametrize("tool", ["late", "late_in_a_thread"])
def test_a_call_out_of_time_gets_504(narrow: HttpServer, tool: str) -> None:
    with begin(narrow, tool) as connection:
        reply = read_reply(connection)
    assert reply.status == 504
    body = reply.json()
    assert body["error"]["code"] == -32603
    assert body["id"] == tool


def leave(server: HttpServer, tool: str) -> None:
    """Calls a tool that waits, and closes the connection once it does."""
    with begin(server, tool, {"seconds": 60}):
        server.wait_for_log(f"{tool} begins")


def test_a_disconnect_cancels_a_coroutine(server: HttpServer) -> None:
    leave(server, "pause")
    server.wait_for_log("pause cancelled")


def test_a_disconnect_is_seen_by_a_plain_function(server: HttpServer) -> None:
    leave(server, "block")
    server.wait_for_log("block cancelled")


def test_a_reset_cancels_too(server: HttpServer) -> None:
    connection = begin(server, "pause", {"seconds": 60})
    server.wait_for_log("pause begins")
    linger = (1).to_bytes(4, "little") + (0).to_bytes(4, "little")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    connection.close()
    server.wait_for_log("pause cancelled")


def test_a_disconnect_ends_only_its_own_call(server: HttpServer) -> None:
    with begin(server, "pause", {"seconds": 1.5}) as kept:
        leave(server, "block")
        server.wait_for_log("block cancelled")
        assert read_reply(kept).json()["result"]["content"][0]["text"] == "awake"


def test_a_disconnect_prints_no_traceback(server: HttpServer) -> None:
    leave(server, "pause")
    server.wait_for_log("pause cancelled")
    assert server.send(request("tools/list")).status == 200
    assert "Traceback" not in server.log()


def test_a_client_that_never_reads_a_large_answer_stops_nobody(server: HttpServer) -> None:
    with begin(server, "big", {"characters": 20_000_000}):
        assert server.send(request("tools/list")).status == 200


def test_a_disconnect_frees_the_place(narrow: HttpServer) -> None:
    with begin(narrow, "late"):
        pass
    wait_until(
        lambda: narrow.send(request("tools/call", {"name": "late", "arguments": {}})).status == 504,
        "a place after the client left",
    )


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere fewer may wait")
def test_a_crowd_that_comes_at_once_waits_to_be_accepted(server: HttpServer) -> None:
    if int(Path("/proc/sys/net/core/somaxconn").read_text()) < 500:
        pytest.skip("this machine lets only few wait")
    server.signal(signal.SIGSTOP)
    with ExitStack() as stack:
        # Whoever finds no place to wait is not told, and would not be connected in time.
        try:
            crowd = [stack.enter_context(server.connect()) for _ in range(400)]
        finally:
            server.signal(signal.SIGCONT)
        message = request("server/discover", id="last")
        body = json.dumps(message).encode()
        crowd[-1].sendall(head("POST", "/mcp", body, dict(mirrored(message))) + body)
        assert read_reply(crowd[-1]).json()["id"] == "last"
