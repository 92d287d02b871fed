"""Plain functions that still run when the process ends: they never take it down with them."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

BUSY = """
    import time
    from snodo import Server

    server = Server("busy", timeout=0.2, limits={"eof_timeout": 10})

    @server.tool
    def ticks() -> str:
        while True:
            time.sleep(0.005)

    @server.tool
    def spin() -> str:
        while True:
            pass

    @server.tool
    def stubborn() -> str:
        while True:
            try:
                time.sleep(0.005)
            except BaseException:
                pass
"""
META = (
    '"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
    '"io.modelcontextprotocol/clientCapabilities":{}}'
)


@pytest.mark.parametrize("tool", ["ticks", "spin", "stubborn"])
def test_a_call_that_outlives_its_deadline_does_not_abort_the_server(tmp_path, tool):
    (tmp_path / "busy.py").write_text(textwrap.dedent(BUSY))
    call = f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{{META},"name":"{tool}"}}}}\n'
    ended = subprocess.run(
        [sys.executable, "-m", "snodo", "serve", "busy.py", "--stdio"],
        cwd=tmp_path,
        input=call.encode(),
        capture_output=True,
        timeout=30,
    )
    assert b"timed out" in ended.stdout
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize("tool", ["ticks", "spin"])
def test_a_call_that_outlives_its_deadline_does_not_abort_a_script(tmp_path, tool):
    script = textwrap.dedent(BUSY) + textwrap.dedent(f"""
        meta = {{
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {{}},
        }}
        params = {{"_meta": meta, "name": "{tool}"}}
        print(server.handle(dict(jsonrpc="2.0", id=1, method="tools/call", params=params)))
    """)
    (tmp_path / "script.py").write_text(script)
    ended = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, timeout=30
    )
    assert b"timed out" in ended.stdout
    assert ended.returncode == 0, ended.stderr


FORKS = """
    import os
    from snodo import Server

    server = Server("forks")

    @server.tool
    def fork() -> str:
        return wait(os.fork())

    @server.tool
    async def fork_async() -> str:
        return wait(os.fork())

    def wait(child: int) -> str:
        if child == 0:
            return "child"
        return str(os.waitpid(child, 0)[1])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize("tool", ["fork", "fork_async"])
def test_a_process_forked_by_a_tool_ends_with_its_call(serve_process, tool):
    session = serve_process(FORKS)
    assert session.call(tool, {})["content"][0]["text"] == "0"
