"""An extension of the protocol: long work answers with a ticket, for clients who know tickets.

Both sides declare it, the client with each request. Everybody else is served as ever.

python examples/18_extension.py --check
"""

import asyncio
import secrets
import sys
from typing import Any, TypedDict

from snodo import Context, Error, Event, Extension, Result, Server
from snodo.extension import CallNext, Detached, Operation, method


class Ticket(TypedDict):
    """What the methods of the extension take."""

    ticket: str


class Tickets(Extension):
    """Calls that take long are answered at once, and the client asks or listens for the outcome."""

    id = "com.example/tickets"
    # A client that uses tickets without declaring them is told so, with -32021.
    missing_capability = True
    # The only type of result beside those of the protocol, sent to nobody who does not know it.
    result_types = ("ticket",)
    # Lists, resources and prompts have nothing around them, and cost nothing more.
    operations = ("tools/call",)
    # A listener names tickets under this key, and hears of these.
    filter_keys = ("tickets",)

    def __init__(self) -> None:
        self.firings: dict[str, dict[str, Any]] = {}
        self.under_way: set[asyncio.Task[None]] = set()

    async def around(self, context: Context, operation: Operation, call_next: CallNext) -> Result:
        """Answer a firing with a ticket, if the client can read one."""
        if operation.params["name"] != "fires" or self.id not in context.extensions:
            return await call_next()
        # Unknown tools and bad arguments are answered as without a ticket.
        known = await call_next.check()
        if known is not None:
            return known
        ticket = secrets.token_urlsafe(24)
        self.firings[ticket] = {"ticket": ticket, "status": "working"}
        # The tool runs on when the request has its answer.
        task = asyncio.create_task(self.work(ticket, call_next.detach(timeout=60)))
        self.under_way.add(task)
        task.add_done_callback(self.under_way.discard)
        return Result.wire({"resultType": "ticket", **self.firings[ticket]})

    async def work(self, ticket: str, later: Detached) -> None:
        """Let the tool run, then tell whoever listens."""
        try:
            result = await later()
            outcome = {"status": "done", "content": result.value["content"]}
        except Error as error:
            outcome = {"status": "failed", "reason": error.message}
        self.firings[ticket] |= outcome
        server.notify.publish(Event.extension(self.id, ticket, self.firings[ticket]))

    # Over HTTP the ticket is in a header too, where a balancer can read it.
    @method("tickets/get", header=("Mcp-Name", "ticket"))
    async def get(self, params: Ticket, context: Context) -> dict[str, Any]:
        """Say how a firing goes."""
        try:
            return self.firings[params["ticket"]]
        except KeyError:
            raise Error.invalid_params("Unknown ticket") from None

    def current(self, selector: str, context: Context) -> dict[str, Any] | None:
        """Say how a firing goes to whoever begins to listen for it."""
        return self.firings.get(selector)

    def notification(
        self, selector: str, payload: dict[str, Any], context: Context
    ) -> tuple[str, dict[str, Any]]:
        """Put an event into words."""
        return "notifications/tickets", payload


server = Server("kiln", version="1.0.0", extensions=[Tickets()])


@server.tool
async def fires(pieces: int) -> str:
    """Fire pieces of pottery in the kiln, which takes its time."""
    await asyncio.sleep(0.05)
    return f"{pieces} pieces fired"


def check() -> None:
    from _check import META, message, served, stream

    capabilities = "io.modelcontextprotocol/clientCapabilities"
    declared = {**META, capabilities: {"extensions": {"com.example/tickets": {}}}}

    def ask(method: str, meta: dict[str, Any] | None = None, **params: Any) -> dict[str, Any]:
        answer = server.handle(message(method, meta, **params))
        assert answer is not None
        return answer

    # Discovery tells of it.
    offered = ask("server/discover")["result"]["capabilities"]["extensions"]
    assert offered == {"com.example/tickets": {}}

    # Who does not declare it waits, and knows no tickets.
    done = ask("tools/call", name="fires", arguments={"pieces": 3})["result"]
    fired = [{"type": "text", "text": "3 pieces fired"}]
    assert done["content"] == fired
    assert ask("tickets/get", ticket="x")["error"]["code"] == -32021

    # Who does gets a ticket, and may ask for the outcome.
    given = ask("tools/call", declared, name="fires", arguments={"pieces": 3})["result"]
    assert given["resultType"] == "ticket"
    while (found := ask("tickets/get", declared, ticket=given["ticket"])["result"])[
        "status"
    ] == "working":
        pass
    assert found["content"] == fired
    assert ask("tickets/get", declared, ticket="x")["error"]["message"] == "Unknown ticket"

    # Bad arguments never get one.
    refused = ask("tools/call", declared, name="fires", arguments={})["result"]
    assert refused["isError"]

    with served(__file__) as url:
        arguments = {"pieces": 5}
        (answer,) = stream(url, "tools/call", meta=declared, name="fires", arguments=arguments)
        ticket = answer["result"]["ticket"]
        wanted = {"tickets": [ticket]}
        events = stream(url, "subscriptions/listen", meta=declared, notifications=wanted)
        accepted = next(events)["params"]["notifications"]
        assert accepted == wanted
        # How it stands comes first, so nothing that was done before is missed.
        event = next(events)
        while event["params"]["status"] == "working":
            event = next(events)
        assert event["method"] == "notifications/tickets"
        assert event["params"]["content"] == [{"type": "text", "text": "5 pieces fired"}]
        events.close()


if __name__ == "__main__":
    check() if "--check" in sys.argv else server.run()
