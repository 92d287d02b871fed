"""Deadlines per tool and per server; what is cancelled knows it, and the place is free again."""

from __future__ import annotations

import time
from typing import Any

import pytest

from driver import Refusal

SLOW = """
import asyncio
import sys
import threading
import time

from snodo import Context, Server

server = Server("slow", version="1.0.0", timeout=1)


def say(text):
    print(text, file=sys.stderr, flush=True)


@server.tool
async def waits() -> str:
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        say("waits was cancelled")
        raise
    return "never"


@server.tool
def blocks(context: Context) -> str:
    end = time.monotonic() + 20
    while time.monotonic() < end:
        if context.cancelled:
            say("blocks was cancelled")
            return "too late"
        time.sleep(0.01)
    return "never"


@server.tool(timeout=20)
async def patient() -> str:
    await asyncio.sleep(1.5)
    return "done"


@server.tool(timeout=20)
def patient_in_a_thread() -> str:
    time.sleep(1.5)
    return "done"


@server.tool(timeout=0.1)
async def hasty() -> str:
    await asyncio.sleep(60)
    return "never"


@server.tool
async def swallows() -> str:
    for _ in range(3):
        try:
            await asyncio.sleep(2)
        except asyncio.CancelledError:
            say("swallows was cancelled")
    return "swallowed"


@server.tool
async def cleans_up() -> str:
    try:
        await asyncio.sleep(60)
    finally:
        say("cleaned up")
    return "never"


@server.tool
def quick() -> str:
    return "quick"
"""


# A server that gives its calls more time than any test takes.
PATIENT = SLOW.replace("timeout=1)", "timeout=25)")


@pytest.mark.parametrize("tool", ["waits", "blocks", "swallows", "cleans_up"])
def test_the_servers_deadline_ends_a_call(serve_process: Any, tool: str) -> None:
    session = serve_process(SLOW)
    begun = time.monotonic()
    with pytest.raises(Refusal) as refused:
        session.call(tool)
    assert time.monotonic() - begun > 0.95
    assert refused.value.code == -32603
    assert "timed out" in refused.value.message
    assert refused.value.status == (504 if session.transport == "http" else None)
    assert session.text("quick") == "quick"


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        ("waits", "waits was cancelled"),
        ("blocks", "blocks was cancelled"),
        ("cleans_up", "cleaned up"),
    ],
)
def test_what_ran_out_of_time_is_told(serve_process: Any, tool: str, said: str) -> None:
    session = serve_process(SLOW)
    with pytest.raises(Refusal):
        session.call(tool)
    session.server.wait_for_log(said)


@pytest.mark.parametrize("tool", ["patient", "patient_in_a_thread"])
def test_a_tool_may_take_longer_than_the_server_allows_others(serve: Any, tool: str) -> None:
    assert serve(SLOW).text(tool) == "done"


def test_a_tool_may_be_given_less(serve: Any) -> None:
    with pytest.raises(Refusal, match="timed out"):
        serve(PATIENT).call("hasty", timeout=20)


def test_no_deadline_text_tells_more_than_that(serve: Any) -> None:
    with pytest.raises(Refusal) as refused:
        serve(SLOW).call("hasty")
    assert set(refused.value.error) == {"code", "message"}
    assert "Traceback" not in serve(SLOW).log()


ABANDONED = """
import threading

from snodo import Server

server = Server("abandoned", version="1.0.0", limits={"running": 1, "queued": 5}, threads=1)
gate = threading.Event()


@server.tool(timeout=0.2)
def stubborn() -> str:
    gate.wait(3)
    return "too late"


@server.tool(timeout=10)
def after() -> str:
    return "ran"
"""


def test_a_thread_that_cannot_be_stopped_keeps_its_place_until_it_returns(
    serve_process: Any,
) -> None:
    session = serve_process(ABANDONED)
    begun = time.monotonic()
    with pytest.raises(Refusal):
        session.call("stubborn")
    assert time.monotonic() - begun < 2.5, "the answer comes at the deadline"
    assert session.text("after") == "ran"
    assert time.monotonic() - begun > 2.8, "the next call ran beside the abandoned thread"


OTHERS = """
import asyncio
import sys
import time

from snodo import Context, Resource, Server

server = Server("others", version="1.0.0", timeout=1)


async def wait(what):
    try:
        await asyncio.sleep(60)
    finally:
        print(f"{what} was cancelled", file=sys.stderr, flush=True)


@server.tool
def quick() -> str:
    return "quick"


@server.resource("x://waits")
async def read():
    await wait("the read")


@server.resource("x://blocks")
def block(context: Context):
    while not context.cancelled:
        time.sleep(0.01)
    print("the blocking read was cancelled", file=sys.stderr, flush=True)
    return ""


@server.resource("x://hasty", timeout=0.1)
async def hasty():
    await wait("the hasty read")


@server.resource("x://patient", timeout=20)
async def patient():
    await asyncio.sleep(1.5)
    return "done"


@server.prompt
async def asks():
    await wait("the prompt")


@server.prompt(timeout=0.1)
async def asks_hastily():
    await wait("the hasty prompt")


@server.prompt
def completed(word: str):
    return ""


@server.complete("completed", "word")
async def complete(value):
    await wait("the completion")


class Slow(Resource):
    name = "slow"
    uri_template = "slow://{=all}"

    def matches(self, uri):
        if uri.startswith("slow://"):
            time.sleep(3)
        return False

    def read(self, params, context):
        return ""


server.add(Slow)
"""

COMPLETE = {
    "ref": {"type": "ref/prompt", "name": "completed"},
    "argument": {"name": "word", "value": ""},
}


@pytest.mark.parametrize(
    ("method", "params", "said"),
    [
        ("resources/read", {"uri": "x://waits"}, "the read was cancelled"),
        ("resources/read", {"uri": "x://blocks"}, "the blocking read was cancelled"),
        ("resources/read", {"uri": "x://hasty"}, "the hasty read was cancelled"),
        ("prompts/get", {"name": "asks"}, "the prompt was cancelled"),
        ("prompts/get", {"name": "asks_hastily"}, "the hasty prompt was cancelled"),
        ("completion/complete", COMPLETE, "the completion was cancelled"),
        ("resources/read", {"uri": "slow://matcher"}, ""),
    ],
)
def test_reads_prompts_and_completions_have_deadlines_too(
    serve_process: Any, method: str, params: dict[str, Any], said: str
) -> None:
    # What has less time of its own has it although the server would give more.
    source = OTHERS.replace("timeout=1)", "timeout=25)") if "hast" in said else OTHERS
    session = serve_process(source)
    assert session.text("quick") == "quick"
    refused = session.refusal(method, params)
    assert set(refused.error) == {"code", "message"}
    assert refused.code == -32603
    assert "timed out" in refused.message
    assert refused.status == (504 if session.transport == "http" else None)
    session.server.wait_for_log(said)
    assert session.text("quick") == "quick"


def test_a_resource_may_take_longer_than_the_server_allows_others(serve: Any) -> None:
    assert serve(OTHERS).read("x://patient")["text"] == "done"
