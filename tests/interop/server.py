"""What other people's clients are shown: tools, resources of every kind, prompts, completion."""

import os
from dataclasses import dataclass
from typing import Literal

from snodo import Cache, EmbeddedResource, Image, Message, Server, StaticResource

server = Server(
    "interop",
    version="1.2.3",
    instructions="Greet before you forecast.",
    # All there are, unless a test wants fewer.
    protocols=os.environ.get("INTEROP_PROTOCOLS", "").split() or None,
)


@dataclass
class Day:
    """One day's weather."""

    city: str
    day: int
    degrees: float


@server.tool
def greet(name: str) -> str:
    """Greet somebody."""
    return f"Hello, {name}!"


@server.tool
async def forecast(city: str, days: int = 1) -> list[Day]:
    """Foretell the weather."""
    return [Day(city, day, 20.5 + day) for day in range(days)]


server.add(
    StaticResource(
        "weather://cities", json=["Oslo", "Roma"], name="cities", description="Where it is known."
    )
)


@server.resource("weather://map", mime_type="image/png", cache=Cache(ttl_ms=60_000))
def weather_map() -> bytes:
    """Show the map."""
    return b"\x89PNG"


@server.resource("weather://{city}/today", mime_type="text/plain")
async def today(city: str) -> str:
    """Tell today's weather."""
    return f"It rains in {city}."


@server.complete("weather://{city}/today", "city")
def complete_city(value: str) -> list[str]:
    return [city for city in ("Oslo", "Ottawa", "Roma") if city.startswith(value)]


@server.prompt
def advise(city: str, mood: Literal["sunny", "sober"] = "sober") -> list[Message]:
    """Advise what to wear.

    Args:
        city: Where.
        mood: In which tone.
    """
    return [
        Message.user(f"What should I wear in {city}? Be {mood}."),
        Message.user(Image(b"\x89PNG", mime_type="image/png")),
        Message.assistant(EmbeddedResource("weather://cities", json=["Oslo", "Roma"])),
    ]
