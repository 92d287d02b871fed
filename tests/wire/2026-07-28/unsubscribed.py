"""A server that says nothing of changes."""

from snodo import Server

server = Server("unsubscribed", version="1.0.0", subscriptions=False)


@server.tool(input_schema={"type": "object"})
def nothing(arguments, context):
    return None
