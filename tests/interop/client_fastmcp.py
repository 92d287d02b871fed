"""Uses all a server has with fastmcp's client; prints what it got as one JSON object.

    python client_fastmcp.py WAY http URL
    python client_fastmcp.py WAY stdio COMMAND ARGUMENT…

WAY is `auto` or `legacy`. Runs in an environment of its own, which has `fastmcp` and not `snodo`.
"""

import asyncio
import json
import sys

from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from mcp import MCPError
from mcp.types import PromptReference, ResourceTemplateReference


def transport(kind: str, target: str, *rest: str):
    return target if kind == "http" else StdioTransport(target, list(rest))


async def code_of(failing):
    try:
        await failing
    except MCPError as error:
        return error.code
    return None


def plain(value):
    return value.model_dump(mode="json", by_alias=True, exclude_none=True)


async def main(way: str, *target: str) -> None:
    async with Client(transport(*target), mode=way) as client:
        tools = await client.list_tools()
        greeting = await client.call_tool("greet", {"name": "Ada 茶"})
        forecast = await client.call_tool("forecast", {"city": "Oslo", "days": 2})
        wrong = await client.call_tool("greet", {}, raise_on_error=False)
        unknown = await code_of(client.call_tool("nope", {}))

        resources = await client.list_resources()
        templates = await client.list_resource_templates()
        cities = await client.read_resource("weather://cities")
        weather_map = await client.read_resource("weather://map")
        today = await client.read_resource("weather://S%C3%A3o%20Paulo/today")
        not_found = await code_of(client.read_resource("weather://nowhere"))

        prompts = await client.list_prompts()
        prompt = await client.get_prompt("advise", {"city": "Oslo", "mood": "sunny"})
        missing = await code_of(client.get_prompt("advise", {}))

        template = ResourceTemplateReference(type="ref/resource", uri="weather://{city}/today")
        city = await client.complete(template, {"name": "city", "value": "O"})
        advise = PromptReference(type="ref/prompt", name="advise")
        mood = await client.complete(advise, {"name": "mood", "value": "s"}, {"city": "Oslo"})
        print(
            json.dumps(
                {
                    "version": client.protocol_version,
                    "server": client.server_info.model_dump(exclude_none=True),
                    "instructions": client.instructions,
                    "tools": [tool.name for tool in tools],
                    "greeting": [plain(block) for block in greeting.content],
                    "forecast": forecast.structured_content,
                    "wrong": wrong.is_error,
                    "unknown": unknown,
                    "resources": [plain(resource) for resource in resources],
                    "templates": [plain(template) for template in templates],
                    "read": [
                        plain(content)
                        for contents in (cities, weather_map, today)
                        for content in contents
                    ],
                    "notFound": not_found,
                    "prompts": [plain(prompt) for prompt in prompts],
                    "prompt": [plain(message) for message in prompt.messages],
                    "missing": missing,
                    "city": plain(city),
                    "mood": plain(mood),
                }
            )
        )


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
