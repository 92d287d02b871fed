"""A server that has nothing but a tool, and tells when it changes."""

from snodo import Server

server = Server("changing tools", version="1.0.0")


@server.tool(input_schema={"type": "object"})
def nothing(arguments, context):
    return None
