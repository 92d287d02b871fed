"""Uses all a server has with the official Python client; prints what it got as one JSON object.

    python client.py WAY http URL
    python client.py WAY stdio COMMAND ARGUMENT…

WAY is `auto`, `legacy` or a revision. Runs in an environment of its own, which has `mcp` 2 and not
`snodo`.
"""

import asyncio
import json
import sys

from mcp import MCPError, StdioServerParameters
from mcp.client import Client
from mcp.types import PromptReference, ResourceTemplateReference


async def code_of(failing):
    try:
        await failing
    except MCPError as error:
        return error.code
    return None


def plain(value):
    return value.model_dump(mode="json", by_alias=True, exclude_none=True)


async def main(way: str, kind: str, target: str, *rest: str) -> None:
    server = target if kind == "http" else StdioServerParameters(command=target, args=list(rest))
    async with Client(server, mode=way) as client:
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
                    "version": client.protocol_version,
                    "server": client.server_info.model_dump(exclude_none=True),
                    "instructions": client.instructions,
                    "tools": [tool.name for tool in listed.tools],
                    "greeting": [block.model_dump(exclude_none=True) for block in greeting.content],
                    "forecast": forecast.structured_content,
                    "wrong": wrong.is_error,
                    "unknown": unknown,
                    "resources": [plain(resource) for resource in resources.resources],
                    "templates": [plain(template) for template in templates.resource_templates],
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


asyncio.run(main(*sys.argv[1:]))
