"""Uses all a server has with generation 1 of the official Python client; prints what it got.

    python client_1.py http|sse URL
    python client_1.py stdio COMMAND ARGUMENT…

Runs in an environment of its own, which has `mcp` 1 and not `snodo`.
"""

import asyncio
import json
import sys
from contextlib import asynccontextmanager

from mcp import ClientSession, McpError, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import PromptReference, ResourceTemplateReference


@asynccontextmanager
async def connect(kind: str, target: str, *rest: str, **callbacks):
    """A session that has shaken hands, and the answer to that."""
    if kind == "http":
        transport = streamable_http_client(target)
    elif kind == "sse":
        transport = sse_client(target)
    else:
        transport = stdio_client(StdioServerParameters(command=target, args=list(rest)))
    async with (
        transport as (reads, writes, *_),
        ClientSession(reads, writes, **callbacks) as session,
    ):
        yield session, await session.initialize()


async def code_of(failing):
    try:
        await failing
    except McpError as error:
        return error.error.code
    return None


def plain(value):
    return value.model_dump(mode="json", by_alias=True, exclude_none=True)


async def main(*target: str) -> None:
    async with connect(*target) as (client, opened):
        listed = await client.list_tools()
        greeting = await client.call_tool("greet", {"name": "Ada 茶"})
        forecast = await client.call_tool("forecast", {"city": "Oslo", "days": 2})
        wrong = await client.call_tool("greet", {})
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
                    "version": opened.protocolVersion,
                    "server": plain(opened.serverInfo),
                    "instructions": opened.instructions,
                    "tools": [tool.name for tool in listed.tools],
                    "greeting": [plain(block) for block in greeting.content],
                    "forecast": forecast.structuredContent,
                    "wrong": wrong.isError,
                    "unknown": unknown,
                    "resources": [plain(resource) for resource in resources.resources],
                    "templates": [plain(template) for template in templates.resourceTemplates],
                    "read": [
                        plain(content)
                        for result in (cities, weather_map, today)
                        for content in result.contents
                    ],
                    "notFound": not_found,
                    "prompts": [plain(prompt) for prompt in prompts.prompts],
                    "prompt": [plain(message) for message in prompt.messages],
                    "missing": missing,
                    "city": plain(city.completion),
                    "mood": plain(mood.completion),
                }
            )
        )


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
