"""`tools/list`: one order everywhere, pages, cursors and cache hints."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from driver import Refusal

MANY = """
from snodo import Cache, Server

server = Server("many", version="1.0.0", page_size=100, cache=Cache(ttl_ms=60_000))


def tool(n):
    def function() -> str:
        return str(n)

    return function


for n in reversed(range({count})):
    server.tool(name=f"t{{n:03d}}")(tool(n))
"""

NAMES = """
from snodo import Server

server = Server("names", version="1.0.0")

for name in ["b", "a", "B", "Z", "a.b", "a-b", "a_b", "aa", "é", "10", "9"]:
    server.tool(name=name)(lambda: "x")
"""


def pages(session: Any) -> list[dict[str, Any]]:
    found = [session.ask("tools/list")]
    while "nextCursor" in found[-1]:
        found.append(session.ask("tools/list", {"cursor": found[-1]["nextCursor"]}))
        assert len(found) < 10, "the cursor leads nowhere"
    return found


def names(page: dict[str, Any]) -> list[str]:
    return [tool["name"] for tool in page["tools"]]


@pytest.mark.parametrize(
    ("count", "sizes"), [(250, [100, 100, 50]), (200, [100, 100]), (1, [1]), (100, [100])]
)
def test_pages_hold_every_tool_once(serve: Any, count: int, sizes: list[int]) -> None:
    found = pages(serve(MANY.format(count=count)))
    assert [len(page["tools"]) for page in found] == sizes
    everything = [name for page in found for name in names(page)]
    assert everything == [f"t{n:03d}" for n in range(count)]
    assert "nextCursor" not in found[-1]


def test_the_order_is_the_byte_order_of_names(serve: Any) -> None:
    listed = names(serve(NAMES).ask("tools/list"))
    assert listed == sorted(listed, key=str.encode)
    assert listed == ["10", "9", "B", "Z", "a", "a-b", "a.b", "a_b", "aa", "b", "é"]


def test_lists_are_equal_every_time(serve: Any) -> None:
    session = serve(NAMES)
    assert len({json.dumps(session.ask("tools/list")) for _ in range(20)}) == 1


def test_a_cursor_of_one_process_serves_another(write_app: Any) -> None:
    """Replicas: equal servers with different hash seeds."""
    from driver import HttpServer, request

    path = write_app(MANY.format(count=250))
    servers = [HttpServer(path, env={"PYTHONHASHSEED": seed}) for seed in ("1", "2")]
    try:
        first = servers[0].send(request("tools/list")).json()["result"]
        params = {"cursor": first["nextCursor"]}
        second = servers[1].send(request("tools/list", params)).json()["result"]
        assert names(second) == [f"t{n:03d}" for n in range(100, 200)]
    finally:
        for server in servers:
            server.close()


def test_a_cursor_of_another_catalogue_has_expired(serve: Any) -> None:
    cursor = serve(MANY.format(count=250)).ask("tools/list")["nextCursor"]
    with pytest.raises(Refusal) as refused:
        serve(MANY.format(count=249)).ask("tools/list", {"cursor": cursor})
    assert (refused.value.code, refused.value.message) == (
        -32602,
        "Pagination cursor has expired",
    )


@pytest.mark.parametrize(
    ("cursor", "message"),
    [
        ("x", "Invalid pagination cursor"),
        ("", "Invalid pagination cursor"),
        ("x" * 2049, "Invalid pagination cursor"),
        ("é🍵", "Invalid pagination cursor"),
        (base64.urlsafe_b64encode(b'{"offset":1}').decode(), "Invalid pagination cursor"),
        (5, "Cursor must be a string"),
        ([], "Cursor must be a string"),
        ({}, "Cursor must be a string"),
    ],
    ids=str,
)
def test_a_cursor_that_was_never_given_is_refused(serve: Any, cursor: Any, message: str) -> None:
    with pytest.raises(Refusal) as refused:
        serve(MANY.format(count=250)).ask("tools/list", {"cursor": cursor})
    assert (refused.value.code, refused.value.message) == (-32602, message)


def test_an_altered_cursor_is_refused(serve: Any) -> None:
    session = serve(MANY.format(count=250))
    cursor = session.ask("tools/list")["nextCursor"]
    for altered in (cursor[:-1], cursor + "A", cursor[1:], cursor.swapcase()):
        with pytest.raises(Refusal) as refused:
            session.ask("tools/list", {"cursor": altered})
        assert refused.value.code == -32602


def test_cache_hints_are_on_lists_and_nowhere_else(serve: Any) -> None:
    session = serve(MANY.format(count=1))
    page = session.ask("tools/list")
    assert (page["ttlMs"], page["cacheScope"]) == (60_000, "private")
    called = session.call("t000")
    assert "ttlMs" not in called
    assert "cacheScope" not in called


def test_lists_are_not_cached_unless_the_server_says_so(serve: Any) -> None:
    page = serve(NAMES).ask("tools/list")
    assert (page["ttlMs"], page["cacheScope"]) == (0, "private")


def test_a_list_tells_only_what_is_there(serve: Any) -> None:
    for tool in serve(NAMES).tools().values():
        assert set(tool) <= {"name", "description", "inputSchema"}
