"""The server behind the wire cases: small, fixed, with verbatim schemas."""

import asyncio

from snodo import Context, Error, Image, Result, Server, ToolError

server = Server("wire", version="1.0.0", instructions="Add and greet.")

PAIR = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
}
REGION = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "count": {"type": "integer", "x-mcp-header": "Count"},
        "dry": {"type": "boolean", "x-mcp-header": "Dry-Run"},
    },
}
ANY = {"type": "object"}


@server.tool(description="Add two integers.", input_schema=PAIR)
def add(arguments, context):
    return {"sum": arguments["a"] + arguments["b"]}


@server.tool(
    name="blåbær",
    title="Berries",
    input_schema=ANY,
    annotations={"readOnlyHint": True, "openWorldHint": False},
)
def berries(arguments, context):
    return "blåbær 茶"


@server.tool(
    input_schema=ANY,
    output_schema={"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
)
def count(arguments, context):
    return {"n": arguments.get("n", 1)}


@server.tool(input_schema=ANY)
def echo(arguments, context):
    return arguments


@server.tool(input_schema=ANY)
def fail(arguments, context):
    raise ToolError("upstream down")


@server.tool(input_schema=ANY)
def picture(arguments, context):
    return Image(b"\x89PNG", mime_type="image/png")


@server.tool(input_schema=ANY)
def refuse(arguments, context):
    raise Error(7001, "not today", data={"retry": False})


@server.tool(input_schema=REGION)
def route(arguments, context):
    return "routed"


@server.tool(input_schema=ANY)
async def seen(arguments, context: Context):
    await asyncio.sleep(0)
    return {"method": context.method, "id": context.request_id}


@server.tool(input_schema=ANY)
def stamped(arguments, context):
    return Result.text("stamped", metadata={"com.example/stamp": 7})


@server.tool(input_schema=ANY)
def values(arguments, context):
    return [1, 2.5, None, True, "x"]
