"""Lists and calls tools with the official Python client; prints what it got as one JSON object.

    python client.py http URL
    python client.py stdio COMMAND ARGUMENT…

Runs in an environment of its own, which has `mcp` and not `snodo`.
"""

import asyncio
import json
import sys

from mcp import MCPError, StdioServerParameters
from mcp.client import Client


async def main(kind: str, target: str, *rest: str) -> None:
    server = target if kind == "http" else StdioServerParameters(command=target, args=list(rest))
    async with Client(server) as client:
        listed = await client.list_tools()
        greeting = await client.call_tool("greet", {"name": "Ada 茶"})
        forecast = await client.call_tool("forecast", {"city": "Oslo", "days": 2})
        wrong = await client.call_tool("greet", {})
        try:
            await client.call_tool("nope", {})
            unknown = None
        except MCPError as error:
            unknown = error.code
        print(
            json.dumps(
                {
                    "version": client.protocol_version,
                    "server": client.server_info.model_dump(exclude_none=True),
                    "instructions": client.instructions,
                    "tools": [tool.name for tool in listed.tools],
                    "greeting": [block.model_dump(exclude_none=True) for block in greeting.content],
                    "forecast": forecast.structured_content,
                    "wrong": wrong.is_error,
                    "unknown": unknown,
                }
            )
        )


asyncio.run(main(*sys.argv[1:]))
