"""The measured tools, on snodo."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

from snodo import Actor, Server

server = Server("bench", version="1.0.0")


class Counter(Actor):
    count = 0

    async def handle_call(self, by: int) -> int:
        self.count += by
        return self.count % 1_000 + 1_000  # answers of one length


@server.lifespan
async def lifespan() -> AsyncIterator[None]:
    async with Counter.start(name="counter"):
        yield


server.actor_call(
    "count",
    target="counter",
    input_schema={
        "type": "object",
        "properties": {"by": {"type": "integer"}},
        "required": ["by"],
        "additionalProperties": False,
    },
    message=lambda arguments: arguments["by"],
    encode_reply=lambda count: {"count": count},
)


@dataclass
class Row:
    id: int
    name: str


@server.tool
def add(a: int, b: int) -> str:
    """Add two integers."""
    return str(a + b)


@server.tool
async def aadd(a: int, b: int) -> str:
    """Add two integers, in a coroutine."""
    return str(a + b)


@server.tool
def rows(n: int) -> list[Row]:
    """Make n small records."""
    return [Row(number, f"item-{number}") for number in range(n)]


@server.tool
async def pause(seconds: float) -> str:
    """Wait."""
    await asyncio.sleep(seconds)
    return "awake"


@server.tool
def busy(rounds: int) -> str:
    """Compute."""
    total = 0
    for number in range(rounds):
        total += number % 7
    return str(total)
