"""How a server on pipes ends: at end of input, at a signal, with its parent, with its reader."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from driver import Process, StdioServer, request, wait_until

SERVER = Path(__file__).parent / "echo_server.py"

# Sooner than what runs may take to finish, however slow the machine is.
SOON = 10


@pytest.fixture
def server() -> Iterator[StdioServer]:
    server = StdioServer(SERVER)
    yield server
    server.close()


@pytest.fixture
def patient(write_app: Callable[[str], Path]) -> Iterator[StdioServer]:
    """One that waits for its calls for longer than any test waits for its end."""
    named = 'version="1.0.0"'
    source = SERVER.read_text().replace(named, f'{named}, limits={{"eof_timeout": 60}}')
    server = StdioServer(write_app(source))
    yield server
    server.close()


def begin(server: StdioServer, tool: str, seconds: float, id: Any = "call") -> None:
    params = {"name": tool, "arguments": {"seconds": seconds}}
    server.write_message(request("tools/call", params, id=id))
    server.wait_for_log(f"{tool} begins")


def test_end_of_input_ends_an_idle_server(patient: StdioServer) -> None:
    patient.ask(request("tools/list"))
    patient.end_input()
    assert patient.wait(SOON) == 0
    assert patient.rest() == []


def test_end_of_input_before_anything_ends_the_server(patient: StdioServer) -> None:
    patient.end_input()
    assert patient.wait(SOON) == 0


@pytest.mark.parametrize("tool", ["pause", "block", "stubborn"])
def test_end_of_input_lets_running_calls_finish(patient: StdioServer, tool: str) -> None:
    begin(patient, tool, 0.5)
    patient.end_input()
    answer = patient.read_message()
    assert answer["result"]["content"][0]["text"] == "awake"
    assert patient.wait(SOON) == 0


@pytest.mark.parametrize("tool", ["pause", "block", "stubborn"])
def test_end_of_input_does_not_wait_for_ever(server: StdioServer, tool: str) -> None:
    begin(server, tool, 60)
    server.end_input()
    server.wait(SOON)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_an_idle_server_at_once(server: StdioServer, number: int) -> None:
    server.ask(request("tools/list"))
    server.signal(number)
    assert server.wait(SOON) in (0, 128 + number)
    assert "Traceback" not in server.log()
    assert "KeyboardInterrupt" not in server.log()
    assert server.rest() == []


STARTING = """
import sys
from snodo import Server

server = Server("starting", version="1.0.0")


@server.lifespan
async def alive(server):
    print("up", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        print("down", file=sys.stderr, flush=True)
"""


@pytest.mark.parametrize("options", [["--stdio"], ["--port", "0"]], ids=["stdio", "http"])
def test_ctrl_c_while_starting_is_never_lost(
    write_app: Callable[[str], Path], options: list[str]
) -> None:
    """Right after the lifespan began, when a signal may meet the wrong handler or none."""
    path = write_app(STARTING)
    for _ in range(10):
        server = Process(path, *options)
        try:
            server.wait_for_log("up")
            server.signal(signal.SIGINT)
            assert server.wait(SOON) in (0, 130)
            assert "down" in server.log(), "the lifespan was not cleaned up"
            assert "Traceback" not in server.log()
        finally:
            server.close()


@pytest.mark.parametrize("tool", ["pause", "stubborn"])
def test_ctrl_c_ends_a_busy_server(server: StdioServer, tool: str) -> None:
    begin(server, tool, 60)
    server.signal(signal.SIGINT)
    assert server.wait(SOON) in (0, 130)
    assert "Traceback" not in server.log()


def test_the_second_ctrl_c_ends_at_once(server: StdioServer) -> None:
    begin(server, "stubborn", 60)
    server.signal(signal.SIGINT)
    try:
        server.popen.wait(0.3)
    except subprocess.TimeoutExpired:
        server.signal(signal.SIGINT)
    server.wait(SOON)
    assert "Traceback" not in server.log()


def test_a_server_does_not_outlive_its_parent() -> None:
    """Its pipes stay open here: only the death of the parent can tell it."""
    parent = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import subprocess, sys, signal\n"
            "child = subprocess.Popen([sys.executable, '-m', 'snodo', 'serve', *sys.argv[1:]])\n"
            "print(child.pid, file=sys.stderr, flush=True)\n"
            "signal.pause()\n",
            str(SERVER),
            "--stdio",
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert parent.stdin is not None
    assert parent.stdout is not None
    assert parent.stderr is not None
    try:
        child = int(parent.stderr.readline())
        parent.stdin.write(json.dumps(request("tools/list")).encode() + b"\n")
        parent.stdin.flush()
        assert b'"result"' in parent.stdout.readline()
        parent.kill()
        parent.wait(5)
        wait_until(lambda: not alive(child), "the end of the orphaned server", SOON)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(parent.pid, signal.SIGKILL)
        parent.wait(5)
        for pipe in (parent.stdin, parent.stdout, parent.stderr):
            pipe.close()


def alive(pid: int) -> bool:
    """Whether the process runs; one that is dead and not yet reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_reader_that_closes_ends_the_server() -> None:
    server = Process(SERVER, "--stdio")
    try:
        stdin, stdout = server.popen.stdin, server.popen.stdout
        assert stdin is not None
        assert stdout is not None
        params = {"name": "pause", "arguments": {"seconds": 0.3}}
        stdin.write(json.dumps(request("tools/call", params)).encode() + b"\n")
        stdin.flush()
        server.wait_for_log("pause begins")
        stdout.close()
        server.wait(SOON)
        assert "Traceback" not in server.log()
    finally:
        server.close()


def test_a_cancelled_call_is_never_answered(server: StdioServer) -> None:
    for tool in ("pause", "block"):
        begin(server, tool, 60, id=5)
        server.write_message(
            {
                "jsonrpc": "2.0",
                "method": "notifications/cancelled",
                "params": {"requestId": 5, "reason": "enough"},
            }
        )
        server.wait_for_log(f"{tool} cancelled")
        answer = server.ask(request("tools/list", id=6))
        assert answer["id"] == 6


def test_a_cancelled_id_may_be_used_again(server: StdioServer) -> None:
    begin(server, "pause", 60, id=5)
    server.write_message(
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}}
    )
    server.wait_for_log("pause cancelled")
    params = {"name": "echo", "arguments": {"text": "again"}}
    answer = server.ask(request("tools/call", params, id=5))
    assert answer["result"]["content"][0]["text"] == "again"


def test_cancelling_compares_ids_with_their_type(server: StdioServer) -> None:
    params = {"name": "pause", "arguments": {"seconds": 0.5}}
    server.write_message(request("tools/call", params, id=5))
    server.wait_for_log("pause begins")
    server.write_message(
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "5"}}
    )
    assert server.read_message()["result"]["content"][0]["text"] == "awake"


def test_a_queued_call_that_is_cancelled_never_runs(write_app: Callable[[str], Path]) -> None:
    source = """
    import sys
    import time
    from pathlib import Path
    from snodo import Server

    server = Server("narrow", version="1.0.0", limits={"running": 1, "queued": 5})
    gate = Path(__file__).with_name("gate")

    @server.tool
    def wait(name: str) -> str:
        print(f"runs {name}", file=sys.stderr, flush=True)
        while not gate.exists():
            time.sleep(0.005)
        return name
    """
    path = write_app(source)
    server = StdioServer(path)
    try:
        for name in ("one", "two", "three"):
            params = {"name": "wait", "arguments": {"name": name}}
            server.write_message(request("tools/call", params, id=name))
        server.wait_for_log("runs one")
        server.write_message(
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "two"}}
        )
        server.ask(request("tools/list"))  # now the line before it has been read
        path.with_name("gate").touch()
        assert [server.read_message()["id"] for _ in range(2)] == ["one", "three"]
        assert "runs two" not in server.log()
    finally:
        server.close()


def test_calls_without_a_place_and_without_time_are_told_so(
    write_app: Callable[[str], Path],
) -> None:
    source = """
    import asyncio
    import sys
    from snodo import Server

    server = Server("narrow", version="1.0.0", limits={"running": 1, "queued": 0})

    @server.tool(timeout=2)
    async def wait() -> str:
        print("wait begins", file=sys.stderr, flush=True)
        await asyncio.sleep(60)
        return "never"
    """
    server = StdioServer(write_app(source))
    try:
        server.write_message(request("tools/call", {"name": "wait"}, id="late"))
        server.wait_for_log("wait begins")
        server.write_message(request("tools/call", {"name": "wait"}, id="busy"))
        busy, late = server.read_message(), server.read_message()
        assert (busy["id"], busy["error"]["code"]) == ("busy", -32603)
        assert "capacity" in busy["error"]["message"]
        assert (late["id"], late["error"]["code"]) == ("late", -32603)
        assert "timed out" in late["error"]["message"]
    finally:
        server.close()
