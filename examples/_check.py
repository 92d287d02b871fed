"""How the examples check themselves: a message to the server in this process, its answer back.

For what only HTTP shows, `serving` starts the real thing and posts to it.
"""

import json
import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from snodo import Server

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "example", "version": "1.0.0"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def message(method: str, **params: Any) -> dict[str, Any]:
    """Make a request as a 2026-07-28 client writes it."""
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META}}


def request(server: Server, method: str, **params: Any) -> dict[str, Any]:
    """Send one request and return the whole answer, result or error."""
    answer = server.handle(message(method, **params))
    assert answer is not None, "a request is always answered"
    return answer


def list_tools(server: Server) -> list[dict[str, Any]]:
    """List the tools as a client sees them."""
    tools: list[dict[str, Any]] = request(server, "tools/list")["result"]["tools"]
    return tools


def call(server: Server, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool and return its result."""
    answer = request(server, "tools/call", name=tool, arguments=arguments)
    assert "result" in answer, answer
    result: dict[str, Any] = answer["result"]
    return result


Post = Callable[[str, dict[str, Any], dict[str, str]], tuple[int, dict[str, Any]]]


@contextmanager
def serving(file: str) -> Iterator[Post]:
    """Serve an example over HTTP while the body runs; gives a function that calls a tool.

    That function takes the tool, its arguments and extra headers, and returns status and answer.
    """
    command = [sys.executable, "-m", "snodo", "serve", file, "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        line = process.stderr.readline()
        found = re.search(r"http://\S+", line)
        assert found, f"expected the URL, got {line!r}"
        yield lambda tool, arguments, headers: _post(found[0], tool, arguments, headers)
    finally:
        process.terminate()
        process.communicate(timeout=15)


def _post(
    url: str, tool: str, arguments: dict[str, Any], extra: dict[str, str]
) -> tuple[int, dict[str, Any]]:
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": tool,
        **extra,
    }
    body = json.dumps(message("tools/call", name=tool, arguments=arguments)).encode()
    try:
        with urllib.request.urlopen(
            urllib.request.Request(url, body, headers), timeout=10
        ) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, json.load(refused)
