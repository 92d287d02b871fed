"""A server of surrounded components: the words of each refusal, and a value that is changed."""

import time

from snodo import Server
from snodo.middleware import concurrency, rate_limit, timeout

server = Server("surrounded", version="1.0.0")


def broken(context):
    raise KeyError("secret")


@server.tool(middleware=[timeout(0.02)])
async def late() -> str:
    import asyncio

    await asyncio.sleep(30)
    return ""


@server.resource("wire://late", middleware=[timeout(0.02)])
def late_resource() -> str:
    time.sleep(1)
    return ""


@server.tool(middleware=[rate_limit(key=broken)])
def rated() -> str:
    return ""


@server.prompt(middleware=[concurrency(key=broken)])
def counted() -> str:
    return ""


@server.tool(middleware=[lambda context, arguments, call_next: call_next() + "!"])
def loud(text: str) -> str:
    return text
