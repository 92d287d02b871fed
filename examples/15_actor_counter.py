"""A counter that nothing but its own messages can change, and its operations as tools.

python examples/15_actor_counter.py --check
"""

import asyncio
import sys
from collections.abc import AsyncIterator
from typing import Any, Final

from snodo import Actor, ActorError, ActorName, Context, Error, Server, Supervisor
from snodo.actors import actor_call, actor_cast

server = Server("counter", version="1.0.0")

COUNTER: Final = ActorName("counter")
NOTHING = {"type": "object", "additionalProperties": False}


class Counter(Actor):
    """Handles one message at a time, so that it needs no lock."""

    def __init__(self, highest: int) -> None:
        """Begin at nothing."""
        self.highest = highest
        self.count = 0

    async def handle_call(self, message: Any) -> int:
        """Give the count that the message leaves."""
        match message:
            case ("add", by):
                self.count += by
            case "slowly":
                await asyncio.sleep(0.2)
                self.count += 1
        # Anything that is raised ends the actor. Its supervisor starts another, at nothing.
        if self.count > self.highest:
            raise OverflowError(self.count)
        return self.count

    async def handle_cast(self, message: Any) -> None:
        """Begin again."""
        self.count = 0


@server.lifespan
async def lifespan() -> AsyncIterator[None]:
    """Let the counter live as long as the server."""
    async with Counter.start(100, name=COUNTER, supervisor=Supervisor(backoff=0.5)):
        yield


def value(count: int) -> dict[str, int]:
    """Say to a client what a handler gave."""
    return {"value": count}


# Name, target and time-out stand here for everybody to read; a client sends arguments and no more.
actor_call(server, "get", target=COUNTER, input_schema=NOTHING, message="get", encode_reply=value)
actor_call(
    server,
    "add_slowly",
    target=COUNTER,
    input_schema=NOTHING,
    message="slowly",
    encode_reply=value,
    timeout_ms=50,
)
actor_cast(server, "reset", target=COUNTER, input_schema=NOTHING, message="reset")


@server.actor_call(
    "add",
    target=COUNTER,
    input_schema={
        "type": "object",
        "properties": {"by": {"type": "integer", "minimum": 1}},
        "required": ["by"],
        "additionalProperties": False,
    },
    encode_reply=value,
    description="Add to the counter and give its value",
)
def add(arguments: dict[str, Any], context: Context) -> Any:
    """Build the message. Only callers that are trusted add much."""
    if arguments["by"] > 1_000 and context.auth is None:
        raise Error.authorization(-32003, "Too much for a stranger")
    return ("add", arguments["by"])


@server.tool
async def double() -> int:
    """Double the counter: a tool of the ordinary kind may ask an actor too."""
    return int(await COUNTER.ask(("add", await COUNTER.ask("get"))))


def check() -> None:
    import time

    from _check import call, request

    def text(tool: str, **arguments: Any) -> str:
        result = call(server, tool, **arguments)
        assert result["isError"], result
        said: str = result["content"][0]["text"]
        return said

    assert call(server, "add", by=3)["structuredContent"] == {"value": 3}
    assert call(server, "double")["structuredContent"] == 6
    assert text("add", by=0) == "Invalid arguments at /by: must be at least 1"

    # A deadline bounds the wait, not the effect.
    assert text("add_slowly") == "Actor call timed out"
    assert call(server, "get")["structuredContent"] == {"value": 7}

    # A cast claims that the message was accepted, and no more.
    assert call(server, "reset")["structuredContent"] == {"sent": True}
    assert call(server, "get")["structuredContent"] == {"value": 0}

    # A builder refuses, and nothing is sent.
    refused = request(server, "tools/call", name="add", arguments={"by": 5_000})
    assert refused["error"]["message"] == "Too much for a stranger", refused

    # A crash fails whoever waits. Then there is nobody for a moment, and then a new counter.
    assert text("add", by=101) == "Actor call failed"
    assert text("get") == "Actor target unavailable"
    while call(server, "get")["isError"]:
        time.sleep(0.05)
    assert call(server, "get")["structuredContent"] == {"value": 0}

    # From a thread of any kind the same, without a loop.
    assert COUNTER.ask(("add", 2)).wait() == 2
    try:
        ActorName("nobody").tell("anything")
        raise AssertionError("there is nobody")
    except ActorError as error:
        assert error.reason == "unavailable"


if __name__ == "__main__":
    check() if "--check" in sys.argv else server.run()
