"""Print a curl command that calls one tool, with every header the protocol asks for.

python scripts/show_call.py http://127.0.0.1:8000/mcp greet '{"name":"Ada"}'
"""

import json
import shlex
import sys


def curl(url: str, tool: str, arguments: str) -> str:
    """Write the command."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"name": tool, "arguments": json.loads(arguments), "_meta": meta}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    headers = [
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
        "MCP-Protocol-Version: 2026-07-28",
        "Mcp-Method: tools/call",
        f"Mcp-Name: {tool}",
    ]
    lines = [f"curl -s {url}"]
    lines += [f"  -H {shlex.quote(header)}" for header in headers]
    lines.append(f"  -d {shlex.quote(json.dumps(body, separators=(',', ':')))}")
    return " \\\n".join(lines)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    print(curl(*sys.argv[1:]))
