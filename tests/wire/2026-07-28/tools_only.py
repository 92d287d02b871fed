"""A server that has nothing but a tool."""

from snodo import Server

server = Server("tools only", version="1.0.0")


@server.tool(input_schema={"type": "object"})
def nothing(arguments, context):
    return None
