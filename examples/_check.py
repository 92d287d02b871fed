"""How the examples check themselves: a message to the server in this process, its answer back.

For what only HTTP shows, `serving` and `served` start the real thing.
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
    # A client that can put any question to its user and its model.
    "io.modelcontextprotocol/clientCapabilities": {
        "elicitation": {"form": {}, "url": {}},
        "sampling": {},
        "roots": {},
    },
}


def message(method: str, meta: dict[str, Any] | None = None, **params: Any) -> dict[str, Any]:
    """Make a request as a 2026-07-28 client writes it; `meta` goes into its `_meta`."""
    params["_meta"] = {**META, **(meta or {})}
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


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


Responder = Callable[[str, dict[str, Any]], dict[str, Any]]


def talk(server: Server, tool: str, respond: Responder, **arguments: Any) -> dict[str, Any]:
    """Call a tool as a client does that answers what it is asked, and return the last result.

    `respond` takes the key of a question and its params, and gives the response to it.
    """
    more: dict[str, Any] = {}
    for _ in range(10):
        answer = request(server, "tools/call", name=tool, arguments=arguments, **more)
        assert "result" in answer, answer
        result: dict[str, Any] = answer["result"]
        if result["resultType"] != "input_required":
            return result
        questions = result.get("inputRequests", {})
        responses = {key: respond(key, one.get("params", {})) for key, one in questions.items()}
        more = {"inputResponses": responses}
        if "requestState" in result:
            more["requestState"] = result["requestState"]
    raise AssertionError("asked without end")


@contextmanager
def served(file: str, *options: str) -> Iterator[str]:
    """Serve an example over HTTP while the body runs; gives its URL."""
    command = [sys.executable, "-m", "snodo", "serve", file, "--port", "0", *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        line = process.stderr.readline()
        found = re.search(r"http://\S+", line)
        assert found, f"expected the URL, got {line!r}"
        yield found[0]
    finally:
        process.terminate()
        process.communicate(timeout=15)


Post = Callable[[str, dict[str, Any], dict[str, str]], tuple[int, dict[str, Any]]]


@contextmanager
def serving(file: str) -> Iterator[Post]:
    """Serve an example over HTTP while the body runs; gives a function that calls a tool.

    That function takes the tool, its arguments and extra headers, and returns status and answer.
    """
    with served(file) as url:
        yield lambda tool, arguments, headers: post(url, tool, arguments, headers)


def post(
    url: str, tool: str, arguments: dict[str, Any], extra: dict[str, str]
) -> tuple[int, dict[str, Any]]:
    """Call a tool with extra headers and return status and answer."""
    posted = _request(url, message("tools/call", name=tool, arguments=arguments), extra)
    try:
        with urllib.request.urlopen(posted, timeout=10) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, json.load(refused)


def stream(
    url: str, method: str, extra: dict[str, str] | None = None, **params: Any
) -> Iterator[dict[str, Any]]:
    """Post a request with extra headers and give every message of its answer, as they come.

    Closing it disconnects, as a client does that has lost interest.
    """
    return _messages(_request(url, message(method, **params), extra or {}))


class Session:
    """A client of a revision that opens with `initialize`, over HTTP."""

    def __init__(self, url: str, revision: str, capabilities: dict[str, Any]) -> None:
        """Open a session; `capabilities` are what the client can be asked for."""
        self.url = url
        self.headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        hello = {
            "protocolVersion": revision,
            "capabilities": capabilities,
            "clientInfo": {"name": "example", "version": "1.0.0"},
        }
        posted = self._request({"id": 0, "method": "initialize", "params": hello})
        with urllib.request.urlopen(posted, timeout=10) as answer:
            spoken = json.load(answer)["result"]["protocolVersion"]
            assert spoken == revision, spoken
            # Every message from here on carries these two.
            self.headers["MCP-Protocol-Version"] = revision
            self.headers["Mcp-Session-Id"] = answer.headers["Mcp-Session-Id"]
        self._tell({"method": "notifications/initialized"})

    def stream(self, method: str, **params: Any) -> Iterator[dict[str, Any]]:
        """Post a request and give every message of its answer, as they come."""
        return _messages(self._request({"id": 1, "method": method, "params": params}))

    def outside(self, method: str, **params: Any) -> Iterator[dict[str, Any]]:
        """Post a request that does not say whose session it is of."""
        posted = self._request({"id": 1, "method": method, "params": params})
        posted.remove_header("Mcp-session-id")
        return _messages(posted)

    def respond(self, asked: dict[str, Any], result: dict[str, Any]) -> None:
        """Answer a request of the server."""
        self._tell({"id": asked["id"], "result": result})

    def end(self) -> None:
        """Say that the session is not needed any more."""
        deleted = urllib.request.Request(self.url, headers=self.headers, method="DELETE")
        urllib.request.urlopen(deleted, timeout=10).close()

    def _tell(self, said: dict[str, Any]) -> None:
        with urllib.request.urlopen(self._request(said), timeout=10) as answer:
            assert answer.status == 202, answer.status

    def _request(self, said: dict[str, Any]) -> urllib.request.Request:
        body = json.dumps({"jsonrpc": "2.0", **said}).encode()
        return urllib.request.Request(self.url, body, self.headers)


def _messages(posted: urllib.request.Request) -> Iterator[dict[str, Any]]:
    with urllib.request.urlopen(posted, timeout=10) as answer:
        if answer.headers.get_content_type() == "application/json":
            yield json.load(answer)
            return
        for line in answer:
            # An event of nothing but an id only says where the stream can be resumed.
            if line.startswith(b"data:") and (data := line.removeprefix(b"data:").strip()):
                yield json.loads(data)


def _request(url: str, sent: dict[str, Any], extra: dict[str, str]) -> urllib.request.Request:
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": sent["method"],
        **extra,
    }
    if "name" in sent["params"]:
        headers["Mcp-Name"] = sent["params"]["name"]
    return urllib.request.Request(url, json.dumps(sent).encode(), headers)
