"""The measured tools, on the official SDK, in its fastest way: python … PORT [sessions]."""

import sys
from dataclasses import dataclass

from mcp.server.mcpserver import MCPServer

server = MCPServer("bench", version="1.0.0", log_level="CRITICAL")


@dataclass
class Row:
    id: int
    name: str


@server.tool()
def add(a: int, b: int) -> str:
    """Add two integers."""
    return str(a + b)


@server.tool()
async def aadd(a: int, b: int) -> str:
    """Add two integers, in a coroutine."""
    return str(a + b)


@server.tool()
def rows(n: int) -> list[Row]:
    """Make n small records."""
    return [Row(number, f"item-{number}") for number in range(n)]


server.run(
    transport="streamable-http",
    port=int(sys.argv[1]),
    json_response=True,
    stateless_http="sessions" not in sys.argv,
)
