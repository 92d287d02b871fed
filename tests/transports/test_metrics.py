"""`/metrics` over HTTP: what is counted, in a format that a strict reader takes, and for whom."""

from __future__ import annotations

import json
import random
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from driver import HttpReply, HttpServer, Process, head, initialize, read_reply, request

SOURCE = """
import asyncio
import time
from snodo import Context, Hub, Event, Server

hub = Hub(max_buffer=1)
server = Server("counted", version="1.0.0", subscriptions=hub, limits={"running": 4, "queued": 2})


@server.tool
def add(a: int, b: int) -> int:
    return a + b


@server.tool
def crash():
    raise LookupError("s3cr3t")


@server.tool
async def wait(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return "done"


@server.tool
def block(context: Context) -> str:
    for _ in range(6000):
        context.check_cancelled()
        time.sleep(0.01)
    return "done"


@server.tool
def publish(times: int) -> int:
    for number in range(times):
        hub.publish(Event.tools_changed(metadata={"n": number}))
    return times
"""

SAMPLE = re.compile(
    r"([a-z_:][a-z0-9_:]*)(?:\{((?:[a-z_]+=\"(?:[^\"\\\n]|\\[\\\"n])*\",?)*)\})? (\S+)"
)
LABEL = re.compile(r"([a-z_]+)=\"((?:[^\"\\\n]|\\[\\\"n])*)\"")

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def read(text: str) -> Samples:
    """The samples of an exposition; fails where the format, version 0.0.4, does."""
    assert text.endswith("\n")
    samples: Samples = {}
    kinds: dict[str, str] = {}
    helped: set[str] = set()
    current = ""
    for line in text.splitlines():
        if line.startswith("# HELP "):
            _, _, current, words = line.split(" ", 3)
            assert current not in helped, f"{current} has two heads"
            assert words
            helped.add(current)
            continue
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name == current
            assert kind in ("counter", "gauge", "histogram")
            kinds[name] = kind
            continue
        found = SAMPLE.fullmatch(line)
        assert found, line
        name, labels, value = found[1], found[2] or "", found[3]
        base = name
        if kinds[current] == "histogram":
            base = re.sub("_(bucket|sum|count)$", "", name)
        assert base == current, f"{name} is outside its group"
        key = (name, tuple(LABEL.findall(labels)))
        assert key not in samples, f"{key} comes twice"
        names = [label for label, _ in key[1]]
        assert len(set(names)) == len(names)
        samples[key] = float(value)
        assert kinds[current] == "gauge" or samples[key] >= 0
    for (name, labels), count in samples.items():
        if name.endswith("_count"):
            base = name.removesuffix("_count")
            buckets = [
                (float(dict(found)["le"]), value)
                for (other, found), value in samples.items()
                if other == f"{base}_bucket"
                and tuple(pair for pair in found if pair[0] != "le") == labels
            ]
            assert buckets == sorted(buckets), "bounds and counts rise"
            assert [value for _, value in buckets] == sorted(value for _, value in buckets)
            assert buckets[-1] == (float("inf"), count)
            assert (f"{base}_sum", labels) in samples
    return samples


def value(samples: Samples, name: str, **labels: str) -> float:
    return samples.get((f"snodo_{name}", tuple(labels.items())), 0.0)


def requests(samples: Samples, component: str, outcome: str, method: str = "tools/call") -> float:
    return value(samples, "requests_total", method=method, component=component, outcome=outcome)


def fetch(
    server: HttpServer, path: str = "/metrics", verb: str = "GET", **headers: str | None
) -> HttpReply:
    with server.connect() as connection:
        plain = {"content-type": None, "accept": None, "content-length": None}
        connection.sendall(head(verb, path, b"", plain | headers))
        return read_reply(connection, bodyless=verb == "HEAD")


def scrape(server: HttpServer) -> Samples:
    reply = fetch(server)
    assert reply.status == 200
    assert reply.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return read(reply.body.decode())


def wait_for(server: HttpServer, what: Callable[[Samples], bool]) -> Samples:
    end = time.monotonic() + 10
    while not what(samples := scrape(server)):
        assert time.monotonic() < end, {k: v for k, v in samples.items() if "bucket" not in k[0]}
        time.sleep(0.02)
    return samples


def call(tool: str, id: Any = 1, **arguments: Any) -> dict[str, Any]:
    return request("tools/call", {"name": tool, "arguments": arguments}, id=id)


@pytest.fixture
def server(write_app: Callable[[str], Path]) -> Iterator[HttpServer]:
    with closing(HttpServer(write_app(SOURCE), "--metrics")) as server:
        yield server


def test_calls_are_counted_by_method_component_and_outcome(server: HttpServer) -> None:
    for _ in range(3):
        server.send(call("add", a=1, b=2))
    server.send(call("add", a="x", b=2))
    server.send(call("crash"))
    server.send(call("s3cr3t-tool"))
    server.send(request("s3cr3t-method"))
    server.send({"jsonrpc": "2.0", "method": "notifications/s3cr3t"})
    samples = scrape(server)
    assert requests(samples, "add", "ok") == 3
    assert requests(samples, "add", "tool_error") == 1
    assert requests(samples, "crash", "raised") == 1
    assert requests(samples, "", "error") == 1
    assert requests(samples, "", "error", method="unknown") == 1
    assert requests(samples, "", "no_reply", method="unknown") == 1
    labels = {"method": "tools/call", "component": "add", "outcome": "ok"}
    assert value(samples, "request_duration_seconds_count", **labels) == 3
    assert 0 < value(samples, "request_duration_seconds_sum", **labels) < 10
    assert "s3cr3t" not in fetch(server).body.decode()


def test_what_runs_and_waits_is_seen(server: HttpServer) -> None:
    held = [server.converse(call("block", id=number)) for number in range(6)]
    # Those that asked before may be counted until it is noticed that they are gone.
    samples = wait_for(
        server,
        lambda samples: value(samples, "calls_queued") == 2 and value(samples, "connections") == 7,
    )
    assert value(samples, "calls_running") == 4
    assert value(samples, "requests_in_flight") == 6
    assert server.send(call("add", a=1, b=2)).status == 503
    for conversation in held:
        conversation.leave()
    samples = wait_for(server, lambda samples: value(samples, "requests_in_flight") == 0)
    assert requests(samples, "block", "cancelled") == 6
    assert requests(samples, "add", "error") == 1
    wait_for(server, lambda samples: value(samples, "calls_running") == 0)


def test_subscriptions_and_sessions_are_seen(server: HttpServer) -> None:
    listen = request("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
    with server.converse(listen) as conversation:
        conversation.notice()
        server.send(call("publish", times=1))
        conversation.notice()
        samples = wait_for(server, lambda samples: value(samples, "streams") == 1)
        told = [
            value(samples, "subscription_events_total", result=result)
            for result in ("delivered", "buffered", "dropped")
        ]
        assert sum(told) == 1
    wait_for(server, lambda samples: value(samples, "streams") == 0)
    assert value(samples, "subscriptions_opened_total") == 1
    assert requests(samples, "", "stream", method="subscriptions/listen") == 1
    body = json.dumps(initialize("2025-11-25")).encode()
    assert server.post(body).status == 200
    assert value(scrape(server), "sessions") == 1


def test_refusals_of_http_are_counted_by_status(server: HttpServer) -> None:
    assert server.post(b"{}", {"Host": "evil.example"}).status == 403
    assert server.post(b"{}", {"Content-Type": "text/plain"}).status == 415
    assert fetch(server, "/elsewhere").status == 404
    samples = scrape(server)
    counts = {status: value(samples, "http_refused_total", status=status) for status in CODES}
    assert counts == {"403": 1, "404": 1, "415": 1, "405": 0}


CODES = ("403", "404", "405", "415")


def test_they_are_for_those_who_may_ask_the_server_at_all(server: HttpServer) -> None:
    assert fetch(server, Host="evil.example").status == 403
    assert fetch(server, Origin="https://evil.example").status == 403
    posted = fetch(server, verb="POST")
    assert (posted.status, posted.headers["allow"]) == (405, "GET, HEAD")
    reply = fetch(server, verb="HEAD")
    assert reply.status == 200
    assert reply.headers["content-type"].startswith("text/plain")
    assert fetch(server, "/healthz").status == 200
    assert fetch(server, "/readyz").status == 200


def test_without_the_flag_there_are_none(write_app: Callable[[str], Path]) -> None:
    with closing(HttpServer(write_app(SOURCE))) as server:
        assert fetch(server).status == 404
        assert server.send(call("add", a=1, b=2)).status == 200


def test_the_variable_turns_them_on(write_app: Callable[[str], Path]) -> None:
    with closing(HttpServer(write_app(SOURCE), env={"SNODO_METRICS": "1"})) as server:
        assert fetch(server).status == 200


def test_the_endpoint_cannot_be_where_they_are(write_app: Callable[[str], Path]) -> None:
    with closing(
        Process(write_app(SOURCE), "--port", "0", "--metrics", "--path", "/metrics")
    ) as process:
        assert process.wait(10) == 1
        assert 'path "/metrics" is taken by --metrics' in process.log()


def test_each_begin_has_one_end_whatever_clients_do(server: HttpServer) -> None:
    """Random mixes of calls, long ones, lost connections, and messages that are none."""
    number = random.Random(7)
    done = [0] * 4

    def client(at: int) -> None:
        for id in range(30):
            kind = number.randrange(5)
            if kind == 0:
                assert server.send(call("add", id, a=1, b=2)).status in (200, 503)
            elif kind == 1:
                assert server.send(call("wait", id, seconds=0.01)).status in (200, 503)
            elif kind == 2:
                with server.converse(call("block", id)):
                    time.sleep(0.01)
            elif kind == 3:
                assert server.post(b"{").status == 400
            else:
                with server.converse(call("add", id, a=1, b=2)):
                    pass
            done[at] += 1

    threads = [threading.Thread(target=client, args=(at,)) for at in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert done == [30] * 4
    samples = wait_for(server, lambda samples: value(samples, "requests_in_flight") == 0)
    served = sum(count for (name, _), count in samples.items() if name == "snodo_requests_total")
    # Those who left at once may have done so before their message was read.
    assert 60 <= served <= 120
