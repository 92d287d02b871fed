"""What a server offers, asked of it in process and told as text, JSON or Markdown.

Asks with ordinary messages, so what is told is what a client would see. Runs no tool unasked.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .server import Server

_REVISION = "2026-07-28"
_META = "io.modelcontextprotocol/"

JSON = dict[str, Any]


class RefusedError(Exception):
    """The server answered with a JSON-RPC error."""

    def __init__(self, error: JSON) -> None:
        super().__init__(f"error {error.get('code')}: {error.get('message')}")


def ask(server: Server, method: str, params: JSON | None = None) -> JSON:
    """Ask the server in this process for something that needs none of its code: a list, discovery.

    Raises:
        RefusedError: the answer is an error.
    """
    # Straight to the runtime: `Server.handle` would enter the lifespan, which may open a database.
    text = server._runtime().handle(json.dumps(_message(method, params)).encode())
    return _result(json.loads(text) if text else None)


def call(server: Server, name: str, arguments: JSON) -> JSON:
    """Call a tool in this process and return its result.

    Raises:
        RefusedError: the answer is an error.
    """
    message = _message("tools/call", {"name": name, "arguments": arguments})
    return _result(server.handle(message))


def _message(method: str, params: JSON | None) -> JSON:
    from . import __version__

    meta = {
        f"{_META}protocolVersion": _REVISION,
        f"{_META}clientInfo": {"name": "snodo", "version": __version__},
        f"{_META}clientCapabilities": {},
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


def list_tools(server: Server) -> list[JSON]:
    """List the tools, page by page, in the order clients see them."""
    tools: list[JSON] = []
    params: JSON = {}
    while True:
        try:
            page = ask(server, "tools/list", params)
        except RefusedError:
            return tools  # a server without tools does not know the method
        tools += page["tools"]
        if not page.get("nextCursor"):
            return tools
        params = {"cursor": page["nextCursor"]}


def catalogue(server: Server) -> JSON:
    """Gather everything the server offers, and what its descriptions leave out."""
    about = ask(server, "server/discover")
    tools = list_tools(server)
    return {
        "server": about.get("_meta", {}).get(f"{_META}serverInfo", {}),
        "revisions": about["supportedVersions"],
        "capabilities": about["capabilities"],
        **({"instructions": about["instructions"]} if "instructions" in about else {}),
        "tools": tools,
        "gaps": [gap for tool in tools for gap in _gaps(tool)],
    }


def as_text(offer: JSON) -> str:
    """Tell a catalogue to a person at a terminal."""
    lines = [f"{_title(offer)}  (MCP {', '.join(offer['revisions'])})"]
    if offer.get("instructions"):
        lines.append(f"  {offer['instructions']}")
    lines.append("")
    lines.append(f"tools ({len(offer['tools'])})")
    for tool in offer["tools"]:
        lines.append(f"  {tool['name']}({', '.join(_parameters(tool))})")
        lines += [f"      {line}" for line in tool.get("description", "").splitlines()]
    if offer["gaps"]:
        lines += ["", f"gaps ({len(offer['gaps'])})", *(f"  {gap}" for gap in offer["gaps"])]
    return "\n".join(lines)


def as_json(offer: JSON) -> str:
    """Tell a catalogue to a program."""
    return json.dumps(offer, ensure_ascii=False, indent=2)


def as_markdown(offer: JSON) -> str:
    """Tell a catalogue to a reader of documents."""
    lines = [f"# {_title(offer)}", "", f"MCP {', '.join(offer['revisions'])}"]
    if offer.get("instructions"):
        lines += ["", offer["instructions"]]
    for tool in offer["tools"]:
        lines += ["", f"## `{tool['name']}`"]
        if tool.get("description"):
            lines += ["", tool["description"]]
        properties = tool["inputSchema"].get("properties", {})
        if properties:
            required = tool["inputSchema"].get("required", [])
            lines += [
                "",
                "| argument | type | required | description |",
                "| --- | --- | --- | --- |",
            ]
            for name, schema in properties.items():
                needed = "yes" if name in required else "no"
                about = schema.get("description", "") if isinstance(schema, dict) else ""
                cells = [f"`{name}`", _cell(type_name(schema)), needed, _cell(about)]
                lines.append(f"| {' | '.join(cells)} |")
    if offer["gaps"]:
        lines += ["", "## Gaps", "", *(f"- {gap}" for gap in offer["gaps"])]
    return "\n".join(lines)


def type_name(schema: Any) -> str:
    """Name what a property schema admits, in a few characters."""
    if not isinstance(schema, dict):
        return "any"
    if "enum" in schema:
        return " or ".join(repr(value) for value in schema["enum"])
    if "const" in schema:
        return repr(schema["const"])
    kind = schema.get("type")
    if isinstance(kind, list):
        return " or ".join(kind)
    if kind == "array":
        return f"array of {type_name(schema['items'])}" if "items" in schema else "array"
    if kind:
        return str(kind)
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return " or ".join(type_name(one) for one in schema[key])
    return str(schema["$ref"]).rpartition("/")[2] if "$ref" in schema else "any"


def admits_text(schema: Any) -> bool:
    """Whether a schema has room for a string, so that text given for it is meant as text."""
    if not isinstance(schema, dict):
        return False
    if "enum" in schema:
        return any(isinstance(value, str) for value in schema["enum"])
    if "const" in schema:
        return isinstance(schema["const"], str)
    kind = schema.get("type", ())
    if kind:
        return "string" in ([kind] if isinstance(kind, str) else kind)
    return any(admits_text(one) for key in ("anyOf", "oneOf") for one in schema.get(key, ()))


def _title(offer: JSON) -> str:
    info = offer["server"]
    return f"{info.get('title') or info.get('name', 'server')} {info.get('version', '')}".rstrip()


def _parameters(tool: JSON) -> list[str]:
    required = tool["inputSchema"].get("required", [])
    return [
        f"{name}{'' if name in required else '?'}: {type_name(schema)}"
        for name, schema in tool["inputSchema"].get("properties", {}).items()
    ]


def _gaps(tool: JSON) -> list[str]:
    """Name what a model would miss when it has to use this tool."""
    name = tool["name"]
    gaps = [] if tool.get("description") else [f"{name}: no description"]
    for argument, schema in tool["inputSchema"].get("properties", {}).items():
        if not (isinstance(schema, dict) and schema.get("description")):
            gaps.append(f"{name}: argument {argument} has no description")
    return gaps


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
