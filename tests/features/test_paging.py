"""Pages, cursors and cache hints of every list, the same for all four."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from driver import HttpServer, Refusal, request
from snodo import Cache, ConfigurationError, Server

MANY = """
from snodo import Cache, Server, StaticResource

COUNT = {count}

server = Server(
    "many",
    version="1.0.0",
    page_size={page_size},
    cache=Cache(ttl_ms=1_000, scope="public"),
    resources_cache=Cache(ttl_ms=60_000),
    prompts_cache=Cache(ttl_ms=0),
    discover_cache=Cache(ttl_ms=5, scope="public"),
)


def tool(n):
    def function() -> str:
        return str(n)

    return function


def reader(n):
    def read(id: str) -> str:
        return str(n)

    return read


for n in reversed(range(COUNT)):
    server.tool(name=f"n{{n:03d}}")(tool(n))
    server.prompt(name=f"n{{n:03d}}")(tool(n))
    server.add(StaticResource(f"x://direct/{{n:03d}}", text="", name=f"n{{n:03d}}"))
    server.resource(f"x://template/{{n:03d}}/{{{{id}}}}", name=f"t{{n:03d}}")(reader(n))
"""

LISTS = {
    "tools/list": "tools",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "prompts/list": "prompts",
}

every_list = pytest.mark.parametrize("method", LISTS)


def many(count: int = 250, page_size: int | None = 100) -> str:
    return MANY.format(count=count, page_size=page_size)


def pages(session: Any, method: str) -> list[dict[str, Any]]:
    found = [session.ask(method)]
    while "nextCursor" in found[-1]:
        found.append(session.ask(method, {"cursor": found[-1]["nextCursor"]}))
        assert len(found) < 300, "the cursor leads nowhere"
    return found


@every_list
@pytest.mark.parametrize(
    ("count", "page_size", "sizes"),
    [
        (250, 100, [100, 100, 50]),
        (200, 100, [100, 100]),
        (100, 100, [100]),
        (1, 100, [1]),
        (3, 1, [1, 1, 1]),
        (250, None, [250]),
    ],
)
def test_pages_hold_every_entry_once_and_in_order(
    serve: Any, method: str, count: int, page_size: int | None, sizes: list[int]
) -> None:
    found = pages(serve(many(count, page_size)), method)
    assert [len(page[LISTS[method]]) for page in found] == sizes
    names = [entry["name"] for page in found for entry in page[LISTS[method]]]
    prefix = "t" if "templates" in method else "n"
    assert names == [f"{prefix}{n:03d}" for n in range(count)]
    assert "nextCursor" not in found[-1]
    assert len({page["cacheScope"] for page in found}) == 1


def refusal(session: Any, method: str, cursor: Any) -> tuple[int, str]:
    refused: Refusal = session.refusal(method, {"cursor": cursor})
    return refused.code, refused.message


INVALID = (-32602, "Invalid pagination cursor")
EXPIRED = (-32602, "Pagination cursor has expired")


def forged(offset: int) -> str:
    """A cursor of the documented form, with an offset of one's own."""
    payload = json.dumps([1, "2026-07-28", "tools/list", offset, "AAAA"], separators=(",", ":"))
    return "mcp1." + base64.urlsafe_b64encode(payload.encode()).decode().rstrip("=")


@every_list
@pytest.mark.parametrize(
    "cursor",
    ["x", "", "mcp1.", "mcp1", "mcp1.AAAA", "é🍵", "x" * 2049, forged(1), forged(0), "\0", "null"],
    ids=range(11),
)
def test_a_cursor_that_was_never_given_is_invalid(serve: Any, method: str, cursor: str) -> None:
    assert refusal(serve(many()), method, cursor) == INVALID


@every_list
@pytest.mark.parametrize("cursor", [5, None, True, [], {}], ids=str)
def test_a_cursor_is_a_string(serve: Any, method: str, cursor: Any) -> None:
    assert refusal(serve(many()), method, cursor) == (-32602, "Cursor must be a string")


@every_list
def test_a_cursor_of_another_list_is_invalid(serve: Any, method: str) -> None:
    session = serve(many())
    cursor = session.ask(method)["nextCursor"]
    for other in LISTS:
        if other != method:
            assert refusal(session, other, cursor) == INVALID


@every_list
def test_no_letter_of_a_cursor_can_be_changed(serve: Any, method: str) -> None:
    session = serve(many())
    cursor = session.ask(method)["nextCursor"]
    good = session.ask(method, {"cursor": cursor})
    for at in range(len(cursor)):
        changed = cursor[:at] + ("A" if cursor[at] != "A" else "B") + cursor[at + 1 :]
        # Unused bits of the last letter may differ in what decodes to the same; no other may.
        try:
            assert session.ask(method, {"cursor": changed}) == good
            assert at == len(cursor) - 1
        except Refusal as refused:
            assert refused.code == -32602  # noqa: PT017
    for changed in (cursor[:-1], cursor + "A", cursor + "=", f" {cursor}", cursor[1:]):
        assert refusal(session, method, changed) == INVALID


@every_list
def test_a_cursor_expires_with_its_catalogue_and_its_page_size(serve: Any, method: str) -> None:
    cursor = serve(many()).ask(method)["nextCursor"]
    assert refusal(serve(many(count=249)), method, cursor) == EXPIRED
    assert refusal(serve(many(page_size=50)), method, cursor) == EXPIRED
    assert refusal(serve(many(count=1)), method, cursor) == EXPIRED


@every_list
def test_a_cursor_is_good_for_ever_on_the_same_catalogue(serve: Any, method: str) -> None:
    session = serve(many())
    cursor = session.ask(method)["nextCursor"]
    assert len({json.dumps(session.ask(method, {"cursor": cursor})) for _ in range(5)}) == 1


def test_equal_servers_in_two_processes_share_their_cursors(
    write_app: Callable[[str], Path],
) -> None:
    path = write_app(many())
    servers = [HttpServer(path, env={"PYTHONHASHSEED": seed}) for seed in ("1", "2")]
    try:
        for method, key in LISTS.items():
            first, other = (server.send(request(method)).json()["result"] for server in servers)
            assert first == other
            params = {"cursor": first["nextCursor"]}
            second = servers[1].send(request(method, params)).json()["result"]
            assert second[key][0]["name"].endswith("100")
    finally:
        for server in servers:
            server.close()


@pytest.mark.parametrize(
    ("method", "policy"),
    [
        ("tools/list", (1_000, "public")),
        ("resources/list", (60_000, "private")),
        ("resources/templates/list", (60_000, "private")),
        ("prompts/list", (0, "private")),
        ("server/discover", (5, "public")),
    ],
)
def test_each_list_has_its_policy_on_every_page(
    serve: Any, method: str, policy: tuple[int, str]
) -> None:
    session = serve(many())
    found = [session.ask(method)] if method not in LISTS else pages(session, method)
    for page in found:
        assert (page["ttlMs"], page["cacheScope"]) == policy


def test_hints_are_on_what_can_be_cached_and_nowhere_else(serve: Any) -> None:
    session = serve(many())
    read = session.ask("resources/read", {"uri": "x://direct/000"})
    assert (read["ttlMs"], read["cacheScope"]) == (60_000, "private")
    for result in (session.call("n000"), session.ask("prompts/get", {"name": "n000"})):
        assert not {"ttlMs", "cacheScope"} & set(result)


def test_nothing_is_cached_unless_the_server_says_so(serve: Any) -> None:
    session = serve(
        """
        from snodo import Server, StaticResource

        server = Server("plain")
        server.add(StaticResource("x://y", text=""))
        server.prompt(name="p")(lambda: "")
        """
    )
    for method, params in (
        ("resources/list", {}),
        ("resources/templates/list", {}),
        ("prompts/list", {}),
        ("server/discover", {}),
        ("resources/read", {"uri": "x://y"}),
    ):
        result = session.ask(method, params)
        assert (result["ttlMs"], result["cacheScope"]) == (0, "private")


def test_an_empty_list_is_a_page(serve: Any) -> None:
    """Templates are listed wherever there are resources, and the other way round."""
    session = serve(
        "from snodo import *\nserver = Server('x')\nserver.add(StaticResource('x://y', text=''))\n"
    )
    page = session.ask("resources/templates/list")
    assert page["resourceTemplates"] == []
    assert "nextCursor" not in page


@pytest.mark.parametrize(
    "option", ["cache", "tools_cache", "resources_cache", "prompts_cache", "discover_cache"]
)
def test_a_policy_that_is_none_is_refused(option: str) -> None:
    Server("x", **{option: Cache(ttl_ms=0, scope="public")})
    for policy in (5, {"ttl_ms": 5}, (5, "public"), True):
        with pytest.raises(ConfigurationError):
            Server("x", **{option: policy})


@pytest.mark.parametrize(
    "make",
    [
        lambda: Cache(ttl_ms=-1),
        lambda: Cache(ttl_ms=1.5),  # type: ignore[arg-type]
        lambda: Cache(ttl_ms=True),
        lambda: Cache(ttl_ms=1, scope="shared"),  # type: ignore[arg-type]
        lambda: Cache(ttl_ms=1, scope=None),  # type: ignore[arg-type]
        lambda: Server("x", page_size=0),
        lambda: Server("x", page_size=-1),
        lambda: Server("x", page_size=1.5),  # type: ignore[arg-type]
        lambda: Server("x", page_size=True),
    ],
    ids=range(9),
)
def test_bad_policies_are_refused_when_they_are_made(make: Callable[[], Any]) -> None:
    with pytest.raises(ConfigurationError):
        make()
