"""Stdout is the protocol's alone, whatever a tool does with it, and stderr may block for ever."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from driver import StdioServer, request

NOISY = """
import logging
import os
import subprocess
import sys

print("noise: print at import")
os.write(1, b"noise: fd 1 at import\\n")
subprocess.run(["sh", "-c", "echo noise: child at import"])

from snodo import Server

server = Server("noisy", version="1.0.0")


@server.tool
def prints() -> str:
    print("noise: print")
    return "ok"


@server.tool
def writes() -> str:
    sys.stdout.write("noise: sys.stdout\\n")
    sys.stdout.flush()
    sys.__stdout__.write("noise: sys.__stdout__\\n")
    sys.__stdout__.flush()
    return "ok"


@server.tool
def descends() -> str:
    os.write(1, b"noise: fd 1\\n")
    return "ok"


@server.tool
def spawns() -> str:
    subprocess.run(["sh", "-c", "echo noise: child"])
    return "ok"


@server.tool
async def prints_in_a_coroutine() -> str:
    print("noise: coroutine")
    return "ok"


@server.tool
def logs() -> str:
    logging.basicConfig(stream=sys.stdout, level=logging.DEBUG)
    logging.getLogger().warning("noise: logging")
    return "ok"


@server.tool
def reads() -> str:
    return repr(sys.stdin.read())
"""

FLOOD = """
import logging
import sys
from snodo import Server

server = Server("flood", version="1.0.0")

@server.tool
def quiet() -> str:
    return "ok"

@server.tool
def fails() -> str:
    raise RuntimeError("x" * 100_000)
"""

QUIET_TOOLS = ["prints", "writes", "descends", "spawns", "prints_in_a_coroutine", "logs"]


@pytest.mark.parametrize("tool", QUIET_TOOLS)
def test_what_a_tool_prints_goes_to_stderr(write_app: Callable[[str], Path], tool: str) -> None:
    server = StdioServer(write_app(NOISY))
    try:
        answer = server.ask(request("tools/call", {"name": tool}))
        assert answer["result"]["content"] == [{"type": "text", "text": "ok"}]
        server.end_input()
        assert server.rest() == [], "stdout carries more than messages"
        server.wait(10)
        said = server.log()
        for source in ("print at import", "fd 1 at import", "child at import"):
            assert f"noise: {source}" in said
        assert said.count("noise: ") > 3, "what the tool printed is lost"
    finally:
        server.close()


def test_a_tool_cannot_read_the_protocol(write_app: Callable[[str], Path]) -> None:
    """A tool that reads stdin must neither hang nor eat messages."""
    server = StdioServer(write_app(NOISY))
    try:
        server.write_message(request("tools/call", {"name": "reads"}, id="reads"))
        server.write_message(request("tools/list", id="list"))
        ids = {server.read_message()["id"], server.read_message()["id"]}
        assert ids == {"reads", "list"}
    finally:
        server.close()


def test_the_start_says_nothing_on_stdout(write_app: Callable[[str], Path]) -> None:
    server = StdioServer(write_app(NOISY))
    try:
        server.end_input()
        assert server.rest() == []
    finally:
        server.close()


def test_server_run_keeps_stdout_too(write_app: Callable[[str], Path]) -> None:
    """A file run by itself, `python app.py`, with pipes around it."""
    import json
    import subprocess
    import sys

    path = write_app(NOISY + '\n\nif __name__ == "__main__":\n    server.run()\n')
    line = json.dumps(request("tools/call", {"name": "prints"})) + "\n"
    done = subprocess.run(
        [sys.executable, str(path)], input=line, capture_output=True, text=True, timeout=30
    )
    # Only what runs after `server.run()` can be kept away; at import the file owned its stdout.
    answers = [line for line in done.stdout.splitlines() if not line.startswith("noise:")]
    (answer,) = answers
    assert json.loads(answer)["result"]["content"][0]["text"] == "ok"
    assert "noise: print\n" in done.stderr
    assert done.returncode == 0


def test_a_stderr_nobody_reads_never_blocks_replies(write_app: Callable[[str], Path]) -> None:
    """Failures log tracebacks; the pipe is full after one of them."""
    server = StdioServer(write_app(FLOOD), read_stderr=False)
    try:
        for n in range(50):
            server.write_message(request("tools/call", {"name": "fails"}, id=n))
        assert {server.read_message()["id"] for _ in range(50)} == set(range(50))
        answer = server.ask(request("tools/call", {"name": "quiet"}, id="after"))
        assert answer["result"]["content"][0]["text"] == "ok"
        server.end_input()
        server.wait(12)
    finally:
        server.close()


def test_a_tool_that_floods_stderr_itself_stops_no_other(write_app: Callable[[str], Path]) -> None:
    source = FLOOD + (
        "\n@server.tool\ndef floods() -> str:\n"
        '    sys.stderr.write("x" * 5_000_000)\n    sys.stderr.flush()\n    return "ok"\n'
    )
    server = StdioServer(write_app(source), read_stderr=False)
    try:
        server.write_message(request("tools/call", {"name": "floods"}, id="flood"))
        for n in range(20):
            server.write_message(request("tools/call", {"name": "quiet"}, id=n))
        seen: set[str | int] = set()
        while len(seen - {"flood"}) < 20:
            seen.add(server.read_message()["id"])
        server.end_input()
        server.wait(12)
    finally:
        server.close()


@pytest.mark.parametrize("start", ["-m snodo serve app.py --stdio", "app.py"])
@pytest.mark.parametrize("closed", ["2>&-", "0<&- 2>&-", "0<&-"])
def test_a_stream_that_is_closed_at_start_is_nobody_elses(
    write_app: Callable[[str], Path], start: str, closed: str
) -> None:
    """Its number must not go to the protocol, nor the protocol to it."""
    run = "\n\nif __name__ == '__main__':\n    server.run('stdio')\n"
    path = write_app(NOISY + run)
    asked = json.dumps(request("tools/call", {"name": "prints"})) + "\n"
    done = subprocess.run(
        ["sh", "-c", f'exec "{sys.executable}" {start} {closed}'],
        cwd=path.parent,
        input=asked.encode(),
        capture_output=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answers = [line for line in done.stdout.splitlines() if not line.startswith(b"noise: ")]
    if start == "app.py":
        # Its own module has run before the server could take anything.
        noise = len(done.stdout.splitlines()) - len(answers)
        assert noise == 3
    else:
        assert b"noise" not in done.stdout
    if "0<" in closed:
        assert answers == []
    else:
        (answer,) = answers
        assert json.loads(answer)["result"]["content"][0]["text"] == "ok"


def test_a_closed_standard_output_is_told(write_app: Callable[[str], Path]) -> None:
    path = write_app(NOISY)
    done = subprocess.run(
        ["sh", "-c", f'exec "{sys.executable}" -m snodo serve app.py --stdio 1>&-'],
        cwd=path.parent,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        timeout=30,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr == b"snodo: standard output is closed\n"
