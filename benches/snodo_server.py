"""The measured tools, on snodo."""

import asyncio
from dataclasses import dataclass

from snodo import Server

server = Server("bench", version="1.0.0")


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
