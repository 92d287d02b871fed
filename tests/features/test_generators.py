"""Generators that do not end by themselves: they end with their call, or at a bound."""

from __future__ import annotations

from typing import Any

import pytest

from driver import Refusal

ENDLESS = """
import itertools
import sys
import time

from snodo import Server

server = Server("endless", version="1.0.0", timeout=0.5, threads=1)


@server.tool
def slowly() -> list[int]:
    try:
        for number in itertools.count():
            time.sleep(0.001)
            yield number
    finally:
        print("slowly ended", file=sys.stderr, flush=True)


@server.tool
async def slowly_async() -> list[int]:
    try:
        for number in itertools.count():
            time.sleep(0.001)  # never a turn for the loop
            yield number
    finally:
        print("slowly_async ended", file=sys.stderr, flush=True)


@server.tool(timeout=25)
def many() -> list[int]:
    yield from itertools.count()


@server.tool(timeout=25)
async def many_async() -> list[int]:
    for number in itertools.count():
        yield number


@server.tool(timeout=25)
def most() -> list[int]:
    yield from range(100_000)


@server.tool(timeout=8)
def ask() -> str:
    return "here"


@server.tool(timeout=8)
async def ask_async() -> str:
    return "here"
"""


@pytest.mark.parametrize("tool", ["slowly", "slowly_async"])
def test_they_end_when_their_time_is_out(serve: Any, tool: str) -> None:
    session = serve(ENDLESS)
    with pytest.raises(Refusal):
        session.call(tool)
    # The only thread, and the loop, are free again: else these would run out of time too.
    assert session.text("ask") == "here"
    assert session.text("ask_async") == "here"
    if session.transport != "direct":  # which has no standard error of its own
        session.wait_for_log(f"{tool} ended")


@pytest.mark.parametrize("tool", ["many", "many_async"])
def test_they_end_at_a_number_of_items(serve: Any, tool: str) -> None:
    assert serve(ENDLESS).failure(tool) == "The result has more than 100000 items"


def test_that_number_of_items_is_given(serve: Any) -> None:
    found = serve(ENDLESS).call("most", timeout=20)["structuredContent"]
    assert len(found) == 100_000
