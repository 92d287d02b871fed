"""Answers all a server asks, with fastmcp's client; prints what it heard as one JSON object.

    python interaction_fastmcp.py WAY http URL
    python interaction_fastmcp.py WAY stdio COMMAND ARGUMENT…

WAY is `auto` or `legacy`. Runs in an environment of its own, which has `fastmcp` and not `snodo`.
"""

import asyncio
import json
import sys

from client_fastmcp import transport
from fastmcp import Client
from mcp.types import (
    CreateMessageResult,
    ElicitResult,
    ResourceUpdatedNotification,
    Root,
    TextContent,
    ToolListChangedNotification,
)

asked: list[str] = []
log: list[dict[str, object]] = []
changes: list[str] = []
changed = asyncio.Event()


async def elicit(message, response_type, params, context):
    asked.append(getattr(params, "url", None) or params.message)
    if params.mode == "url":
        return ElicitResult(action="accept")
    if params.message == "Would you decline?":
        return ElicitResult(action="decline")
    if "item" in params.requested_schema["properties"]:
        content = {"item": "tea", "count": 2, "size": "s", "gift": True}
        return ElicitResult(action="accept", content=content)
    return ElicitResult(action="accept", content={"value": f"word{len(asked)}"})


async def sample(messages, params, context):
    asked.append(params.messages[0].content.text)
    content = TextContent(type="text", text="glad")
    return CreateMessageResult(role="assistant", content=content, model="m", stop_reason="endTurn")


async def list_roots(context):
    asked.append("roots")
    return [Root(uri="file:///home/ada", name="Home"), Root(uri="file:///tmp")]


async def hear(params):
    log.append({"level": params.level, "logger": params.logger, "data": params.data})


async def hear_changes(message):
    match message:
        case ToolListChangedNotification():
            changes.append("tools")
        case ResourceUpdatedNotification():
            changes.append(str(message.params.uri))
    changed.set()


async def until(count: int) -> None:
    while len(changes) < count:
        changed.clear()
        await changed.wait()


async def main(way: str, *target: str) -> None:
    client = Client(
        transport(*target),
        mode=way,
        elicitation_handler=elicit,
        sampling_handler=sample,
        roots=list_roots,
        log_handler=hear,
        message_handler=hear_changes,
    )
    async with client:
        handshake = client.protocol_version != "2026-07-28"

        async def interview(tool: str) -> dict[str, object]:
            asked.clear()
            result = await client.call_tool(tool, {}, raise_on_error=False)
            return {"said": result.content[0].text, "asked": list(asked)}

        tools = ["form", "url", "sample", "list_roots", "together", "rounds", "decline"]
        interviews = {tool: await interview(tool) for tool in [*tools, "state_alone"]}
        asked.clear()
        secret = await client.read_resource("secret://recipe")
        asked.clear()
        advice = await client.get_prompt("advise", {"topic": "tea"})

        progress = []

        async def report(done, total, message):
            progress.append([done, total, message])
            if done == 3:
                await client.call_tool("hears", {})

        level = None if handshake else {"io.modelcontextprotocol/logLevel": "info"}
        if handshake:
            await client.set_logging_level("info")
        await client.call_tool("works", {"until_heard": True}, progress_handler=report, meta=level)
        if handshake:
            await client.set_logging_level("error")
            await client.call_tool("works", {})  # asks for neither
            await client.session.subscribe_resource("note://1")
            await client.call_tool("announce", {"uri": "note://1"})
            await until(2)
            await client.session.unsubscribe_resource("note://1")
            await client.call_tool("announce", {"uri": "note://1"})  # the tools alone
            await until(3)
            await client.session.subscribe_resource("note://2")
            await client.call_tool("announce", {"uri": "note://2"})
            await until(5)
        print(
            json.dumps(
                {
                    "interviews": interviews,
                    "secret": secret[0].text,
                    "advice": advice.messages[0].content.text,
                    "progress": progress,
                    "log": log,
                    "changes": changes,
                }
            )
        )


asyncio.run(main(*sys.argv[1:]))
