"""Answers all a server asks, with generation 1 of the official Python client; prints what it heard.

    python interaction_1.py http|sse URL
    python interaction_1.py stdio COMMAND ARGUMENT…

Runs in an environment of its own, which has `mcp` 1 and not `snodo`.
"""

import asyncio
import json
import sys

from client_1 import connect
from mcp.types import (
    CreateMessageResult,
    ElicitResult,
    ListRootsResult,
    ResourceUpdatedNotification,
    Root,
    ServerNotification,
    TextContent,
    ToolListChangedNotification,
)

asked: list[str] = []
log: list[dict[str, object]] = []
changes: list[str] = []
changed = asyncio.Event()


async def elicit(context, params):
    asked.append(getattr(params, "url", None) or params.message)
    if params.mode == "url":
        return ElicitResult(action="accept")
    if params.message == "Would you decline?":
        return ElicitResult(action="decline")
    if "item" in params.requestedSchema["properties"]:
        content = {"item": "tea", "count": 2, "size": "s", "gift": True}
        return ElicitResult(action="accept", content=content)
    return ElicitResult(action="accept", content={"value": f"word{len(asked)}"})


async def sample(context, params):
    asked.append(params.messages[0].content.text)
    content = TextContent(type="text", text="glad")
    return CreateMessageResult(role="assistant", content=content, model="m", stopReason="endTurn")


async def list_roots(context):
    asked.append("roots")
    return ListRootsResult(
        roots=[Root(uri="file:///home/ada", name="Home"), Root(uri="file:///tmp")]
    )


async def hear(params):
    log.append({"level": params.level, "logger": params.logger, "data": params.data})


async def hear_changes(message):
    match message:
        case ServerNotification(root=ToolListChangedNotification()):
            changes.append("tools")
        case ServerNotification(root=ResourceUpdatedNotification(params=params)):
            changes.append(str(params.uri))
    changed.set()


async def until(count: int) -> None:
    while len(changes) < count:
        changed.clear()
        await changed.wait()


async def main(*target: str) -> None:
    callbacks = {
        "elicitation_callback": elicit,
        "sampling_callback": sample,
        "list_roots_callback": list_roots,
        "logging_callback": hear,
        "message_handler": hear_changes,
    }
    async with connect(*target, **callbacks) as (client, _):

        async def interview(tool: str) -> dict[str, object]:
            asked.clear()
            result = await client.call_tool(tool, {})
            return {"said": result.content[0].text, "asked": list(asked)}

        tools = ["form", "url", "sample", "list_roots", "together", "rounds", "decline"]
        interviews = {tool: await interview(tool) for tool in [*tools, "state_alone"]}
        asked.clear()
        secret = await client.read_resource("secret://recipe")
        asked.clear()
        advice = await client.get_prompt("advise", {"topic": "tea"})

        progress = []
        calls = []

        async def report(done, total, message):
            progress.append([done, total, message])
            if done == 3:  # nothing else is heard before this returns
                calls.append(asyncio.create_task(client.call_tool("hears", {})))

        await client.set_logging_level("info")
        await client.call_tool("works", {"until_heard": True}, progress_callback=report)
        await client.set_logging_level("error")
        await client.call_tool("works", {})  # asks for neither

        await client.subscribe_resource("note://1")
        await client.call_tool("announce", {"uri": "note://1"})
        await until(2)
        await client.unsubscribe_resource("note://1")
        await client.call_tool("announce", {"uri": "note://1"})  # the tools alone
        await until(3)
        await client.subscribe_resource("note://2")
        await client.call_tool("announce", {"uri": "note://2"})
        await until(5)
        print(
            json.dumps(
                {
                    "interviews": interviews,
                    "secret": secret.contents[0].text,
                    "advice": advice.messages[0].content.text,
                    "progress": progress,
                    "log": log,
                    "changes": changes,
                }
            )
        )


asyncio.run(main(*sys.argv[1:]))
