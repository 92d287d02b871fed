"""A server with operations of actors, for the cases of actor tools."""

from collections.abc import AsyncIterator
from typing import Any

from snodo import Actor, Error, Server

server = Server("actors", version="1.0.0", validator="passthrough")

BY: dict[str, Any] = {
    "type": "object",
    "properties": {"by": {"type": "integer"}},
    "required": ["by"],
    "additionalProperties": False,
}


class Double(Actor):
    async def handle_call(self, message: int) -> int:
        return 2 * message

    async def handle_cast(self, message: int) -> None: ...


def value(doubled: int) -> dict[str, int]:
    return {"value": doubled}


server.actor_cast("tell", target="wire double", input_schema=BY, message=3)
server.actor_call(
    "absent", target="wire nobody", input_schema=BY, message=3, encode_reply=value, timeout_ms=100
)


@server.actor_call("double", target="wire double", input_schema=BY, encode_reply=value)
def double(arguments: dict[str, Any]) -> int:
    if arguments["by"] > 9:
        raise Error.authorization(-32003, "Too much", {"most": 9})
    return int(arguments["by"])


@server.lifespan
async def lifespan() -> AsyncIterator[None]:
    async with Double.start(name="wire double"):
        yield
