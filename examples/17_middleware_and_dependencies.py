"""Layers around tools, and parameters that are no arguments.

Middleware sees a call before the function does and the value after it. Dependencies fill parameters
that clients do not see, and clean up after the call.

python examples/17_middleware_and_dependencies.py --check
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterator
from typing import Annotated, Any

from snodo import Context, Depends, Server, ToolError, current_request_id
from snodo.middleware import cache, concurrency, rate_limit, response_limit, retry, timeout

heard: list[str] = []


async def told(
    context: Context,
    arguments: dict[str, Any],
    call_next: Callable[..., Awaitable[Any]],
) -> Any:
    """Note every call of the server, whatever it is of."""
    heard.append(f"{context.method} begins")
    try:
        return await call_next(context, arguments)
    finally:
        heard.append(f"{context.method} ends")


def in_capitals(
    context: Context,
    arguments: dict[str, Any],
    call_next: Callable[..., Any],
    options: dict[str, Any],
) -> Any:
    """Change an argument: which, the declaration says."""
    name = options["argument"]
    return call_next(context, {**arguments, name: arguments[name].upper()})


server = Server("harbour", version="1.0.0", middleware=[told])


class Ledger:
    def __init__(self) -> None:
        self.is_open = True
        self.lines: list[str] = []


opened: list[Ledger] = []


def ledger() -> Iterator[Ledger]:
    """Open a ledger for one call, and close it whatever becomes of the call."""
    book = Ledger()
    opened.append(book)
    try:
        yield book
    finally:
        book.is_open = False


async def clerk(
    book: Annotated[Ledger, Depends(ledger)], number: Annotated[int, current_request_id]
) -> str:
    book.lines.append(f"request {number}")
    return "Astrid"


@server.tool(middleware=[(in_capitals, {"argument": "ship"})])
def moor(
    ship: str, book: Annotated[Ledger, Depends(ledger)], clerk: Annotated[str, Depends(clerk)]
) -> list[str]:
    """Moor a ship."""
    if ship == "FLYING DUTCHMAN":
        raise ToolError("Not here.")
    book.lines.append(f"{ship} moored, says {clerk}")
    return book.lines


forecasts = 0


@server.tool(middleware=[cache(60), retry(3, backoff=0), timeout(5)])
async def forecast(day: str) -> str:
    """Say how the weather will be, which somebody far away knows."""
    global forecasts
    forecasts += 1
    await asyncio.sleep(0.01)
    if forecasts == 1:
        raise ConnectionError("the line is down")
    return f"{day}: breeze"


@server.tool(middleware=[timeout(0.05)])
async def wait_for_tide() -> str:
    await asyncio.sleep(30)
    return "high"


@server.tool(middleware=[rate_limit(2, 3600), concurrency(8)])
def call_pilot() -> str:
    return "coming"


@server.tool(middleware=[response_limit(200)])
def manifest(tons: int) -> str:
    """List what is aboard."""
    return "\n".join(f"{number}. a ton of fish" for number in range(1, tons + 1))


def check() -> None:
    from concurrent.futures import ThreadPoolExecutor

    from _check import call, list_tools, request

    tools = {tool["name"]: tool for tool in list_tools(server)}
    assert list(tools["moor"]["inputSchema"]["properties"]) == ["ship"]

    # One ledger for function and clerk, open while the call runs.
    lines = call(server, "moor", ship="Vega")["structuredContent"]
    assert lines == ["request 1", "VEGA moored, says Astrid"], lines
    assert heard == ["tools/call begins", "tools/call ends"], heard
    refused = call(server, "moor", ship="flying Dutchman")
    assert refused["content"][0]["text"] == "Not here."
    assert len(opened) == 2
    assert not any(book.is_open for book in opened)

    # The first attempt fails, the second is remembered, and many who ask at once are one call.
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: call(server, "forecast", day="Monday"), range(8)))
    assert {result["content"][0]["text"] for result in results} == {"Monday: breeze"}
    assert forecasts == 2, forecasts

    tide = call(server, "wait_for_tide")
    assert tide["isError"]
    assert tide["content"][0]["text"] == "Component timed out"

    answers = [call(server, "call_pilot")["content"][0]["text"] for _ in range(3)]
    assert answers == ["coming", "coming", "Component rate limit reached"], answers

    # The ends of a long text, and a link to all of it.
    text, link = call(server, "manifest", tons=500)["content"]
    assert text["text"].startswith("1. a ton of fish")
    assert text["text"].endswith("500. a ton of fish")
    whole = request(server, "resources/read", uri=link["uri"])["result"]["contents"][0]["text"]
    assert whole.count("\n") == 499

    # Something else in the place of a dependency, while a test runs.
    with server.overrides({clerk: lambda: "nobody"}):
        assert call(server, "moor", ship="Vega")["structuredContent"] == [
            "VEGA moored, says nobody"
        ]
    assert len(call(server, "moor", ship="Vega")["structuredContent"]) == 2


if __name__ == "__main__":
    check() if "--check" in sys.argv else server.run()
