"""What a handler logs for its client: from the level on that the client named, and in order."""

from __future__ import annotations

from typing import Any

import pytest

LOGGING = """
import asyncio
import dataclasses

from snodo import Context, Server

server = Server("logging", version="1.0.0")

LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
kept = []


@server.tool
def logs(context: Context) -> str:
    for level in reversed(LEVELS):
        context.log(level, level)
    return "logged"


@server.tool
async def logs_async(context: Context) -> str:
    for level in reversed(LEVELS):
        await context.log(level, level)
        await asyncio.sleep(0)
    return "logged"


@server.tool
async def logs_elsewhere(context: Context) -> str:
    await asyncio.to_thread(context.log, "info", "from a thread")
    await asyncio.create_task(asyncio.to_thread(context.log, "info", "from a task"))
    return "logged"


@server.tool
def mixes(context: Context) -> str:
    for n in range(1, 4):
        context.progress(n)
        context.log("info", n, logger="mixer")
    return "mixed"


VALUES = {
    "text": "blåbær 茶",
    "number": 1.5,
    "nothing": None,
    "list": [1, [2, {"three": True}]],
    "object": {"a": {"b": []}},
}


@server.tool
def logs_value(kind: str, context: Context) -> str:
    context.log("info", VALUES[kind], logger="values")
    return "logged"


WRONG = {
    "an unknown level": lambda context: context.log("loud", "x"),
    "an upper-case level": lambda context: context.log("INFO", "x"),
    "a number as level": lambda context: context.log(20, "x"),
    "an object": lambda context: context.log("info", object()),
    "not a number": lambda context: context.log("info", float("nan")),
    "a number as logger": lambda context: context.log("info", "x", logger=5),
    "too much data": lambda c: c.log("info", "x" * 65_535),
    "too long a logger": lambda c: c.log("info", 1, "x" * 257),
}


@server.tool
def wrong(how: str, context: Context) -> str:
    try:
        WRONG[how](context)
    except (TypeError, ValueError):
        return "refused"
    return "accepted"


@server.tool
def floods(times: int, context: Context) -> str:
    for n in range(times):
        context.log("info", n)
    return "flooded"
"""

LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]


def told(notices: list[dict[str, Any]]) -> list[dict[str, Any]]:
    assert all(notice["method"] == "notifications/message" for notice in notices), notices
    return [notice["params"] for notice in notices]


def text(answer: dict[str, Any]) -> str:
    result = answer["result"]
    assert not result["isError"], result
    found: str = result["content"][0]["text"]
    return found


@pytest.mark.parametrize("tool", ["logs", "logs_async"])
@pytest.mark.parametrize("level", LEVELS)
def test_what_is_below_the_clients_level_is_not_sent(
    serve_process: Any, tool: str, level: str
) -> None:
    notices, answer = serve_process(LOGGING).hear(tool, level=level)
    assert text(answer) == "logged"
    wanted = reversed(LEVELS[LEVELS.index(level) :])
    assert told(notices) == [{"level": name, "data": name} for name in wanted]


@pytest.mark.parametrize("tool", ["logs", "logs_async", "logs_elsewhere"])
def test_who_named_no_level_is_told_nothing(serve: Any, tool: str) -> None:
    assert serve(LOGGING).text(tool) == "logged"


def test_threads_and_tasks_of_a_handler_log_too(serve_process: Any) -> None:
    notices, _ = serve_process(LOGGING).hear("logs_elsewhere", level="info")
    assert [told["data"] for told in told(notices)] == ["from a thread", "from a task"]


@pytest.mark.parametrize("token", [None, "t"])
def test_the_level_is_the_requests_own(serve_process: Any, token: str | None) -> None:
    """Nothing of one request's wishes is kept for the next."""
    session = serve_process(LOGGING)
    assert len(session.hear("logs", level="debug", token=token)[0]) == 8
    assert session.hear("logs", token=token)[0] == []
    assert len(session.hear("logs", level="emergency", token=token)[0]) == 1


def test_reports_and_log_messages_keep_their_order(serve_process: Any) -> None:
    notices, answer = serve_process(LOGGING).hear("mixes", level="info", token="t")
    assert text(answer) == "mixed"
    assert [
        notice["params"].get("progress", notice["params"].get("data")) for notice in notices
    ] == [1, 1, 2, 2, 3, 3]
    assert [notice["method"].rpartition("/")[2] for notice in notices] == [
        "progress",
        "message",
    ] * 3


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("text", "blåbær 茶"),
        ("number", 1.5),
        ("nothing", None),
        ("list", [1, [2, {"three": True}]]),
        ("object", {"a": {"b": []}}),
    ],
)
def test_any_json_can_be_logged(serve_process: Any, kind: str, value: Any) -> None:
    notices, _ = serve_process(LOGGING).hear("logs_value", {"kind": kind}, level="info")
    assert told(notices) == [{"level": "info", "logger": "values", "data": value}]


WRONG = [
    "an unknown level",
    "an upper-case level",
    "a number as level",
    "an object",
    "not a number",
    "a number as logger",
    "too much data",
    "too long a logger",
]


@pytest.mark.parametrize("how", WRONG)
def test_what_cannot_be_logged_is_refused(serve_process: Any, how: str) -> None:
    notices, answer = serve_process(LOGGING).hear("wrong", {"how": how}, level="debug")
    assert (notices, text(answer)) == ([], "refused")


@pytest.mark.parametrize("how", ["an unknown level", "an upper-case level", "a number as level"])
def test_a_wrong_level_is_refused_though_nobody_listens(serve: Any, how: str) -> None:
    assert serve(LOGGING).text("wrong", {"how": how}) == "refused"


def test_one_request_logs_ten_thousand_times_at_most(serve_process: Any) -> None:
    session = serve_process(LOGGING)
    notices, answer = session.hear("floods", {"times": 10_500}, level="info", timeout=30)
    assert text(answer) == "flooded"
    sent = [message["data"] for message in told(notices)]
    assert 0 < len(sent) <= 10_000
    assert sent == sorted(set(sent)), "log messages must keep their order"


def test_a_server_that_can_log_says_so(serve: Any) -> None:
    assert serve(LOGGING).ask("server/discover")["capabilities"]["logging"] == {}
