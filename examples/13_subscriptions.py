"""Clients that listen: which lists changed, which resource has news, and that is all.

An event says that something is new, not what; the client reads what it cares for.

python examples/13_subscriptions.py --check
"""

import sys

import snodo
from snodo import Error, Server

server = Server("notice-board", version="1.0.0")

notices = {"kitchen": "The kettle is broken."}


@server.resource("board://notices/{name}")
def notice(name: str) -> str:
    """One notice."""
    if name not in notices:
        raise Error.resource_not_found(f"board://notices/{name}")
    return notices[name]


@server.tool
def pin(name: str, text: str) -> str:
    """Pin a notice to the board, over the one of that name."""
    notices[name] = text
    # From any thread or task; it only puts the event into queues.
    server.notify.resource_updated(f"board://notices/{name}")
    return "Pinned."


@snodo.tool
def take_down(name: str) -> str:
    """Take a notice down."""
    notices.pop(name, None)
    server.notify.resource_updated(f"board://notices/{name}")
    return "Taken down."


@server.tool
def unlock() -> str:
    """Let people take notices down."""
    # Who listens for lists is told of every change by itself.
    with server.changes() as changes:
        changes.add(take_down)
    return "Unlocked."


def check() -> None:
    from typing import Any

    from _check import call, served, stream

    # Nobody needs to listen for things to be published.
    assert call(server, "pin", name="door", text="Mind the step.")["isError"] is False

    with served(__file__) as url:

        def use(tool: str, **arguments: Any) -> None:
            (answer,) = stream(url, "tools/call", name=tool, arguments=arguments)
            assert not answer["result"]["isError"], answer

        def listen(**wanted: Any) -> Any:
            return stream(url, "subscriptions/listen", notifications=wanted)

        # The first message says what will be told, of what was asked for: there are no prompts
        # here. A URI need not have anything to read yet.
        uris = ["board://notices/kitchen", "board://notices/garden"]
        updates = listen(resourceSubscriptions=uris, promptsListChanged=True)
        accepted = next(updates)
        assert accepted["method"] == "notifications/subscriptions/acknowledged"
        assert accepted["params"]["notifications"] == {"resourceSubscriptions": uris}
        lists = listen(toolsListChanged=True)
        next(lists)

        use("pin", name="cellar", text="Nobody listens for this one.")
        use("pin", name="garden", text="The roses are out.")
        event = next(updates)
        assert event["method"] == "notifications/resources/updated"
        assert event["params"]["uri"] == "board://notices/garden"
        # Every message names the subscription it belongs to: the id of the request.
        assert event["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == 1

        use("unlock")
        assert next(lists)["method"] == "notifications/tools/list_changed"
        use("take_down", name="kitchen")
        assert next(updates)["params"]["uri"] == "board://notices/kitchen"

        # One who goes away is forgotten; the others never notice.
        updates.close()
        use("pin", name="garden", text="The roses are gone.")

    # A server that goes away says so.
    (end,) = lists
    assert end["result"]["resultType"] == "complete"


if __name__ == "__main__":
    check() if "--check" in sys.argv else server.run()
