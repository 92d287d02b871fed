"""What a server says is the same in every era, but for what an era does not know."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from driver import HANDSHAKES, HttpHandshake, HttpServer, Refusal, Session
from driver.messages import PREFIX, request

SERVER = Path(__file__).parents[1] / "wire" / "2026-07-28" / "server.py"

# What only the newest revision has, of results and of definitions.
NEW = {"resultType", "ttlMs", "cacheScope", PREFIX + "serverInfo"}
# What each revision does not have of what the ones before 2026-07-28 have.
UNKNOWN = {
    "2025-11-25": set(),
    "2025-06-18": {"icons"},
    "2025-03-26": {"icons", "title", "outputSchema", "structuredContent", "_meta of a definition"},
    "2024-11-05": {"icons", "title", "outputSchema", "structuredContent", "_meta of a definition"},
}
REQUESTS: list[tuple[str, dict[str, Any]]] = [
    *(
        ("tools/call", {"name": name, "arguments": arguments})
        for name, arguments in (
            ("add", {"a": 1, "b": 2}),
            ("add", {"a": "1"}),
            ("add", {}),
            ("blåbær", {}),
            ("count", {"n": 3}),
            ("count", {"n": "x"}),
            ("echo", {"text": "\\u2028 茶", "n": 10**30, "deep": [[[{}]]]}),
            ("fail", {}),
            ("nope", {}),
            ("picture", {}),
            ("refuse", {}),
            ("stamped", {}),
            ("values", {}),
        )
    ),
    ("tools/call", {"name": "echo"}),
    ("tools/call", {"name": 1}),
    *(
        ("resources/read", {"uri": uri})
        # Not `wire://wrong-scope`: older clients are told of no cache, so nothing is wrong with it.
        for uri in (
            "wire://all",
            "wire://blob",
            "wire://blocks",
            "wire://broken",
            "wire://empty",
            "wire://fails",
            "wire://gone",
            "wire://json",
            "wire://nothing",
            "wire://nowhere",
            "wire://refuses",
            "wire://several",
            "wire://static/data",
            "wire://static/json",
            "wire://text",
            "wire://wrong-kind",
            "note://store/7",
            "day://41",
            "day://x",
            "find://notes?q=a",
            "tree://all/a/b",
            "relative",
        )
    ),
    *(
        ("prompts/get", {"name": name})
        for name in ("broken_message", "fails_politely", "greeting", "plan", "says_nothing", "nope")
    ),
    ("prompts/get", {"name": "summarise", "arguments": {"text": "t", "tone": "sunny"}}),
    ("prompts/get", {"name": "with_description"}),
    *(
        (
            "completion/complete",
            {
                "ref": {"type": "ref/prompt", "name": "completed"},
                "argument": {"name": name, "value": "a"},
            },
        )
        for name in ("few", "many", "hinted", "wrong", "odd", "plain", "nope")
    ),
    ("tools/list", {}),
    ("tools/list", {"cursor": "x"}),
    ("resources/list", {}),
    ("resources/templates/list", {}),
    ("prompts/list", {}),
]


class Newest(Session):
    """The newest revision over HTTP, on a server that serves the others too."""

    transport = "http"

    def __init__(self, server: HttpServer) -> None:
        super().__init__()
        self.server = server

    def send(self, message: dict[str, Any], *, timeout: float = 10) -> tuple[int, dict[str, Any]]:
        reply = self.server.send(message)
        return reply.status, reply.json()

    def log(self) -> str:
        return self.server.log()

    def wait_for_log(self, text: str) -> str:
        return self.server.wait_for_log(text)

    def close(self) -> None:
        """The server is others' too."""


@pytest.fixture(scope="module")
def server() -> Iterator[HttpServer]:
    server = HttpServer(SERVER)
    yield server
    server.close()


def outcome(session: Session, method: str, params: dict[str, Any]) -> Any:
    try:
        return session.ask(method, params)
    except Refusal as refused:
        return {"error": refused.error}


def without(value: Any, unknown: set[str], *, top: bool = True) -> Any:
    """The value without what a revision does not know; an empty `_meta` is none."""
    if isinstance(value, list):
        return [without(each, unknown, top=False) for each in value]
    if not isinstance(value, dict):
        return value
    kept = {}
    for key, each in value.items():
        if key == "_meta":
            if not top and "_meta of a definition" in unknown:
                continue
            each = {name: part for name, part in each.items() if name not in NEW}
            if not each:
                continue
        if key in unknown or key in NEW:
            continue
        kept[key] = without(each, unknown, top=False) if key != "inputSchema" else each
    return kept


@pytest.mark.parametrize("revision", HANDSHAKES)
@pytest.mark.parametrize(("method", "params"), REQUESTS, ids=str)
def test_the_same_is_said(
    server: HttpServer, revision: str, method: str, params: dict[str, Any]
) -> None:
    new = outcome(Newest(server), method, params)
    old = outcome(HttpHandshake(server, revision), method, params)
    expected = without(new, UNKNOWN[revision])
    structured = expected.get("structuredContent")
    if structured is not None and not isinstance(structured, dict):
        del expected["structuredContent"]  # an object, or told as text alone
    if expected.get("error", {}).get("message") == "Resource not found":
        expected["error"]["code"] = -32002
    if method == "tools/list" and revision == "2024-11-05":
        for tool in expected.get("tools", []):
            tool.pop("annotations", None)
    assert without(old, UNKNOWN[revision]) == expected
    assert NEW.isdisjoint(old)


def test_the_newest_revision_is_spoken_as_ever(server: HttpServer) -> None:
    """What this file takes away was there."""
    result = server.send(request("tools/list")).json()["result"]
    assert {"resultType", "ttlMs", "cacheScope", "_meta"} <= result.keys()
    assert UNKNOWN.keys() == set(HANDSHAKES)


def test_errors_of_the_application_have_no_status(server: HttpServer) -> None:
    """To a client of these revisions a status of failure means that its session is lost."""
    session = HttpHandshake(server, "2025-11-25")
    for method, params in REQUESTS:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        assert session.post(message).status == 200, (method, params)
