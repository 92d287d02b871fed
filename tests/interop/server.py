"""What other people's clients are shown: a text tool and a structured one."""

from dataclasses import dataclass

from snodo import Server

server = Server("interop", version="1.2.3", instructions="Greet before you forecast.")


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
