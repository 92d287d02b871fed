"""`--access-log` and traces over HTTP: what a line says, and what a flood of them costs nobody."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from driver import HttpServer, request, wait_until

SOURCE = """
import logging
from snodo import Context, Server

server = Server("logged", version="1.0.0")


@server.tool
def add(a: int, b: int) -> int:
    return a + b


@server.tool
def trace(context: Context) -> dict:
    return context.trace


@server.tool
def warn() -> str:
    logging.getLogger("snodo").warning("this matters")
    return "warned"
"""

PARENT = "00-11111111111111111111111111111111-2222222222222222-01"
OTHER = PARENT.replace("1", "3")


def call(tool: str, meta: dict[str, Any] | None = None, **arguments: Any) -> dict[str, Any]:
    return request("tools/call", {"name": tool, "arguments": arguments, "_meta": meta or {}})


@pytest.fixture
def server(write_app: Callable[[str], Path]) -> Iterator[HttpServer]:
    path = write_app(SOURCE)
    with closing(HttpServer(path, "--access-log", "--log-level", "warning")) as server:
        yield server


def lines(server: HttpServer) -> list[dict[str, Any]]:
    # Of the last line there may be only the beginning yet.
    *whole, _ = server.log().split("\n")
    return [json.loads(line) for line in whole if line.startswith("{")]


def test_each_message_is_a_line_with_its_status(server: HttpServer) -> None:
    assert server.send(call("add", a=1, b=2), traceparent=PARENT).status == 200
    assert server.send(call("s3cr3t")).status == 400
    assert server.post(b"{}", {"Host": "evil.example"}).status == 403
    wait_until(lambda: len(lines(server)) == 3, "three lines")
    told = [
        (it["method"], it["component"], it["outcome"], it["code"], it["status"], it["trace_id"])
        for it in lines(server)
    ]
    assert told == [
        ("tools/call", "add", "ok", None, 200, "1" * 32),
        ("tools/call", None, "error", -32602, 400, None),
        (None, None, "refused", None, 403, None),
    ]
    assert "s3cr3t" not in server.log()


def test_a_flood_of_lines_costs_no_warning(server: HttpServer) -> None:
    for _ in range(300):
        server.send(call("add", a=1, b=2))
    server.send(call("warn"))
    server.wait_for_log("this matters")
    wait_until(lambda: len(lines(server)) == 301, "a line for each")


@pytest.mark.parametrize(
    ("meta", "headers", "trace"),
    [
        ({}, {"traceparent": PARENT}, {"traceparent": PARENT}),
        (
            {},
            {"traceparent": PARENT, "tracestate": "a=1", "baggage": "k=v"},
            {"traceparent": PARENT, "tracestate": "a=1", "baggage": "k=v"},
        ),
        ({"traceparent": OTHER}, {"traceparent": PARENT}, {"traceparent": OTHER}),
        (
            {"traceparent": OTHER},
            {"traceparent": PARENT, "tracestate": "a=1"},
            {"traceparent": OTHER},
        ),
        ({}, {"traceparent": "junk", "tracestate": "a=1"}, {}),
        ({"traceparent": "junk"}, {"traceparent": PARENT}, {}),
        ({}, {"tracestate": "a=1"}, {}),
    ],
)
def test_a_trace_is_taken_from_the_headers_where_the_message_has_none(
    server: HttpServer, meta: dict[str, Any], headers: dict[str, str], trace: dict[str, str]
) -> None:
    answer = server.send(call("trace", meta), **headers)
    assert answer.json()["result"]["structuredContent"] == trace
