"""Programs that must type-check: `mypy --strict` finds nothing here."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Annotated, Any, assert_type

import snodo
from snodo import Arg, Cache, Context, Error, Image, Result, Server, Text, ToolError

server = Server("shop", version="1.0.0", cache=Cache(ttl_ms=5, scope="public"))


@server.tool
def plain(a: int, b: Annotated[str, Arg("Text", min_length=1)] = "x") -> str:
    return b * a


@server.tool(name="other", annotations={"readOnlyHint": True}, timeout=3)
async def late(a: int, context: Context) -> list[int]:
    return [a]


@snodo.tool
def alone(a: int) -> int:
    return a


@snodo.tool(title="Alone", output_schema=None)
def alone_with_options(a: int) -> Image | Text | Result:
    if a < 0:
        raise ToolError("negative")
    if a > 9:
        raise Error.invalid_params("too large")
    return Text("a")


assert_type(plain(1, "a"), str)
assert_type(alone(1), int)
assert_type(alone_with_options(1), Image | Text | Result)
same: Callable[[int, str], str] = plain


class Version(snodo.Tool):
    name = "version"

    def call(self, arguments: dict[str, Any], context: Context) -> Any:
        return {}


class Later(snodo.Tool):
    name = "later"

    async def call(self, arguments: dict[str, Any], context: Context) -> Any:
        return {}


server.add(Version, Later(), alone)


@server.lifespan
@asynccontextmanager
async def life() -> AsyncIterator[int]:
    yield 1
