"""Answers all a server asks, with the official Python client; prints what it heard as JSON.

    python interaction.py WAY http URL
    python interaction.py WAY stdio COMMAND ARGUMENT…

WAY is `auto`, `legacy` or a revision. Runs in an environment of its own, which has `mcp` 2 and not
`snodo`.
"""

import asyncio
import json
import sys

from mcp import StdioServerParameters
from mcp.client import Client
from mcp.client.subscriptions import Subscription, SubscriptionLost
from mcp.shared.subscriptions import ToolsListChanged
from mcp.types import (
    CreateMessageResult,
    ElicitResult,
    ListRootsResult,
    ResourceUpdatedNotification,
    Root,
    TextContent,
    ToolListChangedNotification,
)

asked: list[str] = []
log: list[dict[str, object]] = []


async def elicit(context, params):
    asked.append(getattr(params, "url", None) or params.message)
    if params.mode == "url":
        return ElicitResult(action="accept")
    if params.message == "Would you decline?":
        return ElicitResult(action="decline")
    if "item" in params.requested_schema["properties"]:
        content = {"item": "tea", "count": 2, "size": "s", "gift": True}
        return ElicitResult(action="accept", content=content)
    return ElicitResult(action="accept", content={"value": f"word{len(asked)}"})


async def sample(context, params):
    asked.append(params.messages[0].content.text)
    content = TextContent(type="text", text="glad")
    return CreateMessageResult(role="assistant", content=content, model="m", stop_reason="endTurn")


async def list_roots(context):
    asked.append("roots")
    return ListRootsResult(
        roots=[Root(uri="file:///home/ada", name="Home"), Root(uri="file:///tmp")]
    )


async def hear(params):
    log.append({"level": params.level, "logger": params.logger, "data": params.data})


changes: list[str] = []
changed = asyncio.Event()


def told(what: str) -> None:
    changes.append(what)
    changed.set()


async def until(count: int) -> None:
    while len(changes) < count:
        changed.clear()
        await changed.wait()


async def hear_changes(message):
    match message:
        case ToolListChangedNotification():
            told("tools")
        case ResourceUpdatedNotification():
            told(str(message.params.uri))


async def main(way: str, kind: str, target: str, *rest: str) -> None:
    server = target if kind == "http" else StdioServerParameters(command=target, args=list(rest))
    client = Client(
        server,
        mode=way,
        elicitation_callback=elicit,
        sampling_callback=sample,
        list_roots_callback=list_roots,
        logging_callback=hear,
        message_handler=hear_changes,
    )
    async with client:
        handshake = client.protocol_version != "2026-07-28"

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

        async def report(done, total, message):
            progress.append([done, total, message])
            if done == 3:
                await client.call_tool("hears", {})

        level = {"io.modelcontextprotocol/logLevel": "info"}
        if handshake:
            level = None
            await client.set_logging_level("info")
        work = {"until_heard": True}
        await client.call_tool("works", work, progress_callback=report, meta=level)
        if handshake:
            await client.set_logging_level("error")
        await client.call_tool("works", {})  # asks for neither

        subscriptions = await (watch(client) if handshake else listen(client))
        print(
            json.dumps(
                {
                    "interviews": interviews,
                    "secret": secret.contents[0].text,
                    "advice": advice.messages[0].content.text,
                    "progress": progress,
                    "log": log,
                    "changes": changes,
                    **subscriptions,
                }
            )
        )


async def watch(client: Client) -> dict[str, object]:
    """As clients do that open with a handshake."""
    await client.subscribe_resource("note://1")
    await client.call_tool("announce", {"uri": "note://1"})
    await until(2)
    await client.unsubscribe_resource("note://1")
    await client.call_tool("announce", {"uri": "note://1"})  # the tools alone
    await until(3)
    await client.subscribe_resource("note://2")
    await client.call_tool("announce", {"uri": "note://2"})
    await until(5)
    return {}


async def listen(client: Client) -> dict[str, object]:
    """As clients of the newest revision do."""
    news = []

    async def heard(subscription: Subscription) -> None:
        event = await anext(subscription)
        news.append("tools" if isinstance(event, ToolsListChanged) else event.uri)

    async with client.listen(tools_list_changed=True, resource_subscriptions=["note://1"]) as first:
        await client.call_tool("announce", {"uri": "note://1"})
        await heard(first)
        await heard(first)
    await client.call_tool("announce", {"uri": "note://1"})  # to nobody
    async with client.listen(
        prompts_list_changed=True, resource_subscriptions=["note://2"]
    ) as second:
        await client.call_tool("announce", {"uri": "note://2"})
        await heard(second)
        await client.call_tool("complete", {})
        try:
            assert [event async for event in second] == []
            end = "graceful"
        except SubscriptionLost:
            end = "remote"

    def plain(value):
        return value.model_dump(mode="json", by_alias=True, exclude_none=True)

    honored = [plain(first.honored), plain(second.honored)]
    return {"honored": honored, "ends": ["local", end], "changes": news}


asyncio.run(main(*sys.argv[1:]))
