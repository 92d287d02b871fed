"""Long lists in pages, how long answers may be kept, and changing a server that is in use.

python examples/09_lists.py --check
"""

import sys

import snodo
from snodo import Cache, Server, StaticResource

server = Server(
    "museum",
    version="1.0.0",
    page_size=10,
    cache=Cache(ttl_ms=5_000),
    resources_cache=Cache(ttl_ms=60_000, scope="public"),
)

for number in range(1, 26):
    room = StaticResource(
        f"museum://rooms/{number:02}",
        text=f"Room {number} is full of paintings.",
        name=f"room-{number:02}",
        description=f"What is in room {number}",
        # One room has news every second; it says so itself.
        cache=Cache(ttl_ms=1_000) if number == 1 else None,
    )
    server.add(room)


@snodo.tool
def buy_ticket() -> str:
    """Buy a ticket for today."""
    return "One ticket."


@server.tool
def close() -> str:
    """Close for today: no tickets any more, and a note on the door."""
    # Takes hold as a whole between two requests; if any of it is wrong, nothing changes.
    with server.changes() as changes:
        changes.remove("tool", "buy_ticket")
        changes.add(
            StaticResource("museum://door", text="Closed.", name="door", description="A note")
        )
    return f"Changed: {', '.join(sorted(changes.changed))}."


server.add(buy_ticket)


def check() -> None:
    from _check import call, list_tools, request

    # Page by page, in the order of the URIs.
    pages, cursor = [], None
    while True:
        params = {} if cursor is None else {"cursor": cursor}
        page = request(server, "resources/list", **params)["result"]
        pages.append([resource["uri"] for resource in page["resources"]])
        assert (page["ttlMs"], page["cacheScope"]) == (60_000, "public")
        cursor = page.get("nextCursor")
        if cursor is None:
            break
    assert [len(page) for page in pages] == [10, 10, 5]
    assert pages[0][0] == "museum://rooms/01"

    # The most particular policy wins: the room's, then the one for resources, then the server's.
    for uri, ttl_ms, scope in (
        ("museum://rooms/01", 1_000, "private"),
        ("museum://rooms/02", 60_000, "public"),
    ):
        result = request(server, "resources/read", uri=uri)["result"]
        assert (result["ttlMs"], result["cacheScope"]) == (ttl_ms, scope), result
    tools = request(server, "tools/list")["result"]
    assert (tools["ttlMs"], tools["cacheScope"]) == (5_000, "private")

    # A cursor belongs to the list it came from, as that list was then.
    second = request(server, "resources/list")["result"]["nextCursor"]
    foreign = request(server, "tools/list", cursor=second)["error"]
    assert (foreign["code"], foreign["message"]) == (-32602, "Invalid pagination cursor")

    assert [tool["name"] for tool in list_tools(server)] == ["buy_ticket", "close"]
    assert call(server, "close")["content"][0]["text"] == "Changed: resources, tools."
    assert [tool["name"] for tool in list_tools(server)] == ["close"]
    stale = request(server, "resources/list", cursor=second)["error"]
    assert stale["message"] == "Pagination cursor has expired"

    # Nothing to remove any more, so nothing of this change happens.
    assert call(server, "close")["isError"]


if __name__ == "__main__":
    import logging

    if "--check" in sys.argv:
        # The last call of the check fails on purpose; its traceback is not what this is about.
        logging.getLogger("snodo").addHandler(logging.NullHandler())
        logging.getLogger("snodo").propagate = False
        check()
    else:
        server.run()
