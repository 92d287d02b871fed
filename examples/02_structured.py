"""Structured results: return Python values, clients get JSON and its schema.

The return annotation becomes the tool's output schema, parameter annotations its input schema.

python examples/02_structured.py --check
"""

import sys
from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import Annotated, Literal

from snodo import Arg, Server

server = Server("library", version="1.0.0", instructions="Look up books.")


class Genre(Enum):
    NOVEL = "novel"
    POETRY = "poetry"


@dataclass
class Book:
    title: str
    published: date
    genre: Genre
    pages: int | None = None


BOOKS = [
    Book("Middlemarch", date(1871, 12, 1), Genre.NOVEL, 880),
    Book("Kalevala", date(1835, 2, 28), Genre.POETRY),
    Book("Emma", date(1815, 12, 23), Genre.NOVEL, 474),
]


@server.tool
def search(
    before: Annotated[date, Arg("Only books published before this day")] = date(2000, 1, 1),
    genre: Annotated[Genre | None, "Only this genre"] = None,
    limit: Annotated[int, Arg("At most so many", ge=1, le=50)] = 10,
    sort: Literal["title", "published"] = "title",
) -> list[Book]:
    """Search the catalogue."""
    found = [book for book in BOOKS if book.published < before and genre in (None, book.genre)]
    return sorted(found, key=lambda book: getattr(book, sort))[:limit]


@server.tool
def count() -> dict[Literal["novel", "poetry"], int]:
    """Count the books of each genre."""
    return {genre.value: sum(book.genre is genre for book in BOOKS) for genre in Genre}


def check() -> None:
    from _check import call, list_tools

    tools = {tool["name"]: tool for tool in list_tools(server)}
    limit = tools["search"]["inputSchema"]["properties"]["limit"]
    assert (limit["type"], limit["minimum"], limit["maximum"]) == ("integer", 1, 50), limit
    assert tools["search"]["outputSchema"]["type"] == "array"

    # Arguments arrive as the annotated types, results leave as JSON.
    result = call(server, "search", before="1850-01-01", sort="published")
    assert [book["title"] for book in result["structuredContent"]] == ["Emma", "Kalevala"], result
    assert result["structuredContent"][0]["published"] == "1815-12-23"
    assert call(server, "search", genre="poetry")["structuredContent"][0]["genre"] == "poetry"

    # What does not fit the schema never reaches the function.
    assert call(server, "search", limit=99)["isError"]

    assert call(server, "count")["structuredContent"] == {"novel": 2, "poetry": 1}


if __name__ == "__main__":
    check() if "--check" in sys.argv else server.run()
