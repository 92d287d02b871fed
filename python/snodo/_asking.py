"""One request to a server in this process, as a client would send it.

Lists are asked for without running any of the application's code.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .server import Server

_REVISION = "2026-07-28"
META = "io.modelcontextprotocol/"
_METHOD_NOT_FOUND = -32601

JSON = dict[str, Any]


class RefusedError(Exception):
    """The server answered with a JSON-RPC error."""

    def __init__(self, error: JSON) -> None:
        text = f"error {error.get('code')}: {error.get('message')}"
        self.code = error.get("code")
        self.data = error.get("data")
        if self.data is not None:
            text = f"{text} {json.dumps(self.data, ensure_ascii=False)}"
        super().__init__(text)


def ask(server: Server, method: str, params: JSON | None = None) -> JSON:
    """Ask the server in this process for something that needs none of its code: a list, discovery.

    No policy narrows it: whoever has the source may see all that is there.

    Raises:
        RefusedError: the answer is an error.
    """
    # Straight to the runtime: `Server.handle` would enter the lifespan, which may open a database.
    text = server._offering.listing().handle(json.dumps(_message(method, params)).encode())
    return _result(json.loads(text) if text else None)


def request(server: Server, method: str, params: JSON) -> JSON:
    """Make a request that runs the server's code, as ``SNODO_PRINCIPAL``, and return its result.

    Raises:
        RefusedError: the answer is an error.
        ConfigurationError: ``SNODO_PRINCIPAL`` cannot be a principal.
    """
    from ._principal import environment_principal

    principal = environment_principal()
    auth = None if principal is None else json.loads(principal)
    return _result(server.handle(_message(method, params), auth=auth))


def _message(method: str, params: JSON | None) -> JSON:
    from . import __version__

    meta = {
        f"{META}protocolVersion": _REVISION,
        f"{META}clientInfo": {"name": "snodo", "version": __version__},
        f"{META}clientCapabilities": {},
    }
    return {
        "jsonrpc": "2.0",
        "id": 1,
        "method": method,
        "params": {**(params or {}), "_meta": meta},
    }


def _result(answer: JSON | None) -> JSON:
    assert answer is not None, "a request is always answered"
    if "error" in answer:
        raise RefusedError(answer["error"])
    result: JSON = answer["result"]
    return result


def listed(server: Server, method: str, member: str) -> list[JSON]:
    """List one kind of component, page by page, in the order clients see them.

    Args:
        server: The server.
        method: The method that lists them, as ``tools/list``.
        member: The member of its result that holds them.
    """
    found: list[JSON] = []
    params: JSON = {}
    while True:
        try:
            page = ask(server, method, params)
        except RefusedError as error:
            if error.code == _METHOD_NOT_FOUND:
                return found  # a server without such components does not know the method
            raise
        found += page[member]
        if not page.get("nextCursor"):
            return found
        params = {"cursor": page["nextCursor"]}


def list_tools(server: Server) -> list[JSON]:
    """List the tools."""
    return listed(server, "tools/list", "tools")


def list_prompts(server: Server) -> list[JSON]:
    """List the prompts."""
    return listed(server, "prompts/list", "prompts")
