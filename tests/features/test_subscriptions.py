"""Who listens is told of every change it asked for, of nothing else, and until it leaves."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from driver import (
    SUBSCRIPTION,
    Conversation,
    HttpServer,
    StdioServer,
    event,
    request,
    wait_until,
)

CHANGES = """
import itertools
import threading

import snodo
from snodo import Event, Server, StaticResource

numbers = itertools.count()
server = Server("changes", version="1.0.0", limits={"running": 2, "queued": 9})


@server.lifespan
async def alive(server):
    server.notify.tools_changed()  # nobody listens yet, and that is fine
    yield


def publish(kind, uri=None, stamp=None):
    metadata = None if stamp is None else {"com.example/stamp": stamp}
    if metadata is not None:
        made = {
            "tools": Event.tools_changed,
            "prompts": Event.prompts_changed,
            "resources": Event.resources_changed,
        }
        server.notify.publish(
            Event.resource_updated(uri, metadata) if uri else made[kind](metadata)
        )
    elif uri:
        server.notify.resource_updated(uri)
    else:
        getattr(server.notify, f"{kind}_changed")()


@server.tool
def changes(kind: str, uri: str | None = None, stamp: int | None = None) -> str:
    publish(kind, uri, stamp)
    return "told"


@server.tool
async def changes_async(kind: str, uri: str | None = None, stamp: int | None = None) -> str:
    publish(kind, uri, stamp)
    return "told"


@server.tool
def changes_in_a_thread(kind: str, uri: str | None = None, stamp: int | None = None) -> str:
    thread = threading.Thread(target=publish, args=(kind, uri, stamp))
    thread.start()
    thread.join()
    return "told"


@server.tool
def burst(times: int) -> str:
    for _ in range(times):
        publish("tools")
    return "told"


def templated(id: str) -> str:
    return id


@server.tool
def edits(what: str) -> str:
    n = next(numbers)
    with server.changes() as changes:
        if what == "tools":
            changes.add(snodo.tool(name=f"tool{n}")(lambda: None))
        elif what == "resources":
            changes.add(StaticResource(f"x://{n}", text="x", name=f"r{n}"))
        elif what == "templates":
            changes.add(snodo.resource(f"t://{n}/{{id}}", name=f"t{n}")(templated))
        elif what == "prompts":
            changes.add(snodo.prompt(name=f"p{n}")(lambda: "x"))
        else:
            changes.add(snodo.tool(name=f"tool{n}")(lambda: None))
            changes.add(snodo.prompt(name=f"p{n}")(lambda: "x"))
    return "edited"


@server.tool
def stats():
    return server.notify.stats()


@server.tool
def completes() -> str:
    server.notify.complete()
    return "completed"


@server.prompt
def a_prompt() -> str:
    return "x"


@server.resource("x://a")
def a_resource() -> str:
    return "x"
"""

ALL: dict[str, Any] = {
    "toolsListChanged": True,
    "promptsListChanged": True,
    "resourcesListChanged": True,
    "resourceSubscriptions": ["x://a", "x://b/1"],
}


def kinds(conversation: Conversation, count: int) -> list[str]:
    """The next messages, shortened to what they are about."""
    found = []
    for _ in range(count):
        notice = conversation.notice()
        assert notice["params"]["_meta"][SUBSCRIPTION] == conversation.message["id"]
        kind = notice["method"].removeprefix("notifications/").removesuffix("/list_changed")
        found.append(notice["params"].get("uri", kind))
    return found


def listeners(session: Any) -> int:
    found: int = session.call("stats")["structuredContent"]["subscriptions"]
    return found


def none_listen(session: Any) -> None:
    wait_until(lambda: listeners(session) == 0, "the end of all subscriptions")


@pytest.mark.parametrize("tool", ["changes", "changes_async", "changes_in_a_thread"])
def test_every_kind_of_change_is_told(serve_process: Any, tool: str) -> None:
    session = serve_process(CHANGES)
    with session.listen(**ALL) as listening:
        for kind, uri, told in [
            ("tools", None, event(listening, "tools/list_changed")),
            ("prompts", None, event(listening, "prompts/list_changed")),
            ("resources", None, event(listening, "resources/list_changed")),
            ("", "x://b/1", event(listening, "resources/updated", uri="x://b/1")),
            ("", "x://a", event(listening, "resources/updated", uri="x://a")),
        ]:
            session.text(tool, {"kind": kind, "uri": uri})
            assert listening.notice() == told
    none_listen(session)
    assert listening.late == []


@pytest.mark.parametrize(
    ("wanted", "heard"),
    [
        ({}, []),
        ({"toolsListChanged": True}, ["tools"]),
        ({"promptsListChanged": True, "toolsListChanged": False}, ["prompts"]),
        ({"resourcesListChanged": True}, ["resources"]),
        ({"resourceSubscriptions": ["x://b"]}, ["x://b"]),
        ({"resourceSubscriptions": ["x://nobody"]}, []),
    ],
)
def test_only_what_was_asked_for_is_told(
    serve_process: Any, wanted: dict[str, Any], heard: list[str]
) -> None:
    session = serve_process(CHANGES)
    # What the other hears last, this one would have heard before.
    with session.listen(**wanted) as listening, session.listen(**ALL) as other:
        for kind in ("tools", "prompts", "resources"):
            session.text("changes", {"kind": kind})
        session.text("changes", {"kind": "", "uri": "x://b"})
        session.text("changes", {"kind": "", "uri": "x://a"})
        assert kinds(other, 4) == ["tools", "prompts", "resources", "x://a"]
        assert kinds(listening, len(heard)) == heard
        session.text("completes")
        notices, _ = listening.rest()
        assert notices == []
        other.rest()


def test_every_subscription_is_told_under_its_own_id(serve_process: Any) -> None:
    session = serve_process(CHANGES)
    ids = ["1", 1, 0, -5, "é", 2**62]
    listening = [
        session.begin("subscriptions/listen", {"notifications": {"toolsListChanged": True}}, id=id)
        for id in ids
    ]
    for conversation in listening:
        acknowledged = conversation.notice()
        assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
        found = acknowledged["params"]["_meta"][SUBSCRIPTION]
        wanted = conversation.message["id"]
        assert (type(found), found) == (type(wanted), wanted)
    session.text("changes", {"kind": "tools"})
    for conversation in listening:
        assert conversation.notice() == event(conversation, "tools/list_changed")
        conversation.leave()
    none_listen(session)


def test_one_client_may_listen_many_times(serve_process: Any) -> None:
    session = serve_process(CHANGES)
    listening = [
        session.listen(
            toolsListChanged=number % 2 == 0, resourceSubscriptions=[f"x://{number}", "x://all"]
        )
        for number in range(50)
    ]
    assert listeners(session) == 50
    session.text("changes", {"kind": "", "uri": "x://all"})
    for conversation in listening:
        assert kinds(conversation, 1) == ["x://all"]
    session.text("changes", {"kind": "tools"})
    session.text("changes", {"kind": "", "uri": "x://7"})
    for conversation in listening[0::2]:
        assert kinds(conversation, 1) == ["tools"]
    assert kinds(listening[7], 1) == ["x://7"]
    for conversation in listening:
        conversation.leave()
    none_listen(session)
    assert all(conversation.late == [] for conversation in listening)


def test_the_acknowledgement_is_first_however_much_happens(serve_process: Any) -> None:
    session = serve_process(CHANGES)
    ended = threading.Event()

    def change() -> None:
        while not ended.is_set():
            session.text("changes", {"kind": "tools"})

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(30):
            # `listen` itself checks that the acknowledgement is first.
            with session.listen(toolsListChanged=True) as listening:
                assert listening.notice() == event(listening, "tools/list_changed")
    finally:
        ended.set()
        thread.join()
    none_listen(session)


def test_a_listener_takes_no_place(serve_process: Any) -> None:
    """There are two places, and five listeners would take both for ever."""
    session = serve_process(CHANGES)
    listening = [session.listen(toolsListChanged=True) for _ in range(5)]
    for _ in range(3):
        session.text("changes", {"kind": "tools"})
        for conversation in listening:
            assert kinds(conversation, 1) == ["tools"]
    for conversation in listening:
        conversation.leave()
    none_listen(session)


def test_what_an_event_brings_along_is_sent_but_never_another_id(serve_process: Any) -> None:
    session = serve_process(CHANGES)
    with session.listen(**ALL) as listening:
        for kind, uri in [("tools", None), ("prompts", None), ("resources", None), ("", "x://a")]:
            session.text("changes", {"kind": kind, "uri": uri, "stamp": 7})
            params = listening.notice()["params"]
            assert params["_meta"] == {
                "com.example/stamp": 7,
                SUBSCRIPTION: listening.message["id"],
            }
            assert params.get("uri") == uri


def test_a_burst_of_one_change_is_told_at_least_once_and_at_most_as_often(
    serve_process: Any,
) -> None:
    session = serve_process(CHANGES)
    with session.listen(toolsListChanged=True, promptsListChanged=True) as listening:
        session.text("burst", {"times": 1000})
        session.text("changes", {"kind": "prompts"})
        told = [kinds(listening, 1)[0]]
        while told[-1] != "prompts":
            told += kinds(listening, 1)
        assert 1 <= told.count("tools") <= 1000
        assert set(told) == {"tools", "prompts"}


@pytest.mark.parametrize(
    ("what", "told"),
    [
        ("tools", ["tools"]),
        ("prompts", ["prompts"]),
        ("resources", ["resources"]),
        ("templates", ["resources"]),
        ("both", ["tools", "prompts"]),
    ],
)
def test_what_is_added_to_a_server_is_told_by_itself(
    serve_process: Any, what: str, told: list[str]
) -> None:
    session = serve_process(CHANGES)
    with session.listen(**ALL) as listening:
        session.text("edits", {"what": what})
        session.text("changes", {"kind": "", "uri": "x://a"})
        assert sorted(kinds(listening, len(told) + 1)) == sorted([*told, "x://a"])


def completed(conversation: Conversation) -> list[str]:
    """What was told before the graceful end, which must follow."""
    notices, answer = conversation.rest()
    id = conversation.message["id"]
    assert answer["result"]["resultType"] == "complete"
    assert answer["result"]["_meta"][SUBSCRIPTION] == id
    return [notice["method"] for notice in notices]


def test_a_hub_that_completes_ends_who_listens_and_takes_new_ones(serve_process: Any) -> None:
    session = serve_process(CHANGES)
    for _ in range(2):
        listening = [session.listen(**ALL) for _ in range(3)]
        session.text("changes", {"kind": "tools"})
        session.text("completes")
        for conversation in listening:
            assert completed(conversation) == ["notifications/tools/list_changed"]
        none_listen(session)


def test_leaving_twice_and_cancelling_what_is_not_there_is_nothing(serve_process: Any) -> None:
    session = serve_process(CHANGES)
    listening = session.listen(toolsListChanged=True)
    listening.leave()
    none_listen(session)
    if session.transport == "stdio":
        for id in (listening.message["id"], "nobody", 7):
            params = {"requestId": id, "reason": 5}
            session.server.write_message(
                {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
            )
    session.text("changes", {"kind": "tools"})
    assert listeners(session) == 0
    assert listening.late == []


def test_over_stdio_an_id_that_listens_is_taken(write_app: Callable[[str], Path]) -> None:
    """Two subscriptions under one id could not be told apart."""
    server = StdioServer(write_app(CHANGES))
    try:
        message = request("subscriptions/listen", {"notifications": {}}, id="w")
        server.write_message(message)
        assert server.read_message()["method"] == "notifications/subscriptions/acknowledged"
        server.write_message(message)
        assert server.read_message()["error"]["code"] == -32600
    finally:
        server.close()


# What is not taken

THOUSAND = [f"x://{number}" for number in range(1000)]


def test_a_thousand_uris_are_taken_and_no_more(serve_process: Any) -> None:
    session = serve_process(CHANGES)
    with session.listen(resourceSubscriptions=THOUSAND) as listening:
        session.text("changes", {"kind": "", "uri": "x://999"})
        assert kinds(listening, 1) == ["x://999"]
    params = {"notifications": {"resourceSubscriptions": [*THOUSAND, "x://1000"]}}
    refused = session.refusal("subscriptions/listen", params)
    assert refused.code == -32602
    assert "at most 1000 URIs" in refused.message
    none_listen(session)


LIMITED = """
from snodo import Server

server = Server("limited", version="1.0.0", limits={"streams": 2})


@server.tool
def changes() -> str:
    server.notify.tools_changed()
    return "told"


@server.tool
def stats():
    return server.notify.stats()


@server.resource("x://a")
def a_resource() -> str:
    return "x"
"""


def test_there_are_so_many_streams_and_no_more(serve_process: Any) -> None:
    session = serve_process(LIMITED)
    params = {"notifications": {"toolsListChanged": True}}
    for _ in range(3):
        first, second = (session.listen(toolsListChanged=True) for _ in range(2))
        for _ in range(3):
            refused = session.refusal("subscriptions/listen", params)
            assert refused.error == {
                "code": -32603,
                "message": "Server subscription capacity exhausted",
            }
            assert refused.status == (503 if session.transport == "http" else None)
        session.text("changes")
        for conversation in (first, second):
            assert kinds(conversation, 1) == ["tools"]
            conversation.leave()
        none_listen(session)


NONE = """
from snodo import Server

server = Server("none", version="1.0.0", subscriptions=False)


@server.tool
def publishes() -> str:
    server.notify.tools_changed()
    return "told nobody"
"""


def test_a_server_without_subscriptions_has_no_such_method(serve: Any) -> None:
    session = serve(NONE)
    assert "listChanged" not in session.ask("server/discover")["capabilities"]["tools"]
    refused = session.refusal("subscriptions/listen", {"notifications": {}})
    assert refused.code == -32601
    assert refused.status == (404 if session.transport == "http" else None)


def test_a_server_says_what_can_be_listened_to(serve: Any) -> None:
    capabilities = serve(CHANGES).ask("server/discover")["capabilities"]
    assert capabilities["tools"] == {"listChanged": True}
    assert capabilities["prompts"] == {"listChanged": True}
    assert capabilities["resources"] == {"listChanged": True, "subscribe": True}


def test_what_a_server_has_not_it_does_not_promise(serve_process: Any) -> None:
    session = serve_process(LIMITED.replace('@server.resource("x://a")', ""))
    conversation = session.begin("subscriptions/listen", {"notifications": ALL})
    assert conversation.notice()["params"]["notifications"] == {"toolsListChanged": True}
    conversation.leave()
    none_listen(session)


# Sources of one's own

SOURCES = """
import asyncio
import sys

from snodo import Error, Event, Filter, Hub, Server, Source

behaviour = "BEHAVIOUR"
log = []


class Own(Source):
    def accept(self, filter, context):
        log.append(f"accepts {context.method}")
        if behaviour == "narrows":
            return Filter(tools_list_changed=True)
        if behaviour == "widens":
            return Filter(tools_list_changed=True, prompts_list_changed=True,
                          resources_list_changed=True, resource_subscriptions=("x://more",))
        if behaviour == "breaks":
            raise RuntimeError("a secret reason")
        if behaviour == "refuses":
            raise Error(7001, "not for you", data={"ask": "the owner"})
        return filter

    async def listen(self, filter, context):
        log.append("opened")
        try:
            yield Event.tools_changed()
            if behaviour == "ends":
                return
            if behaviour == "fails":
                raise RuntimeError("a secret reason")
            if behaviour == "strays":
                yield Event.prompts_changed()
                yield Event.resource_updated("x://nobody-asked")
                yield Event.resource_updated("x://a")
            if behaviour == "nonsense":
                yield "not an event"
            await asyncio.sleep(60)
        finally:
            log.append("closed")


server = Server("sources", version="1.0.0", subscriptions=Own())


@server.tool
def takes_log() -> list[str]:
    return list(log)


@server.prompt
def a_prompt() -> str:
    return "x"


@server.resource("x://a")
def a_resource() -> str:
    return "x"
"""


def source(behaviour: str) -> str:
    return SOURCES.replace("BEHAVIOUR", behaviour)


def closed_once(session: Any) -> None:
    def closed() -> bool:
        return "closed" in session.call("takes_log")["structuredContent"]

    wait_until(closed, "the end of the source")
    assert session.call("takes_log")["structuredContent"] == [
        "accepts subscriptions/listen",
        "opened",
        "closed",
    ]


def test_a_source_of_ones_own_is_listened_to_and_closed(serve_process: Any) -> None:
    session = serve_process(source("goes on"))
    with session.listen(toolsListChanged=True, resourceSubscriptions=["x://a"]) as listening:
        assert listening.notice() == event(listening, "tools/list_changed")
    closed_once(session)


def test_a_source_may_narrow_what_was_asked_for(serve_process: Any) -> None:
    session = serve_process(source("narrows"))
    conversation = session.begin("subscriptions/listen", {"notifications": ALL})
    assert conversation.notice()["params"]["notifications"] == {"toolsListChanged": True}
    assert conversation.notice() == event(conversation, "tools/list_changed")
    conversation.leave()
    closed_once(session)


def test_a_source_may_not_widen_it(serve_process: Any) -> None:
    session = serve_process(source("widens"))
    params = {"notifications": {"toolsListChanged": True}}
    refused = session.refusal("subscriptions/listen", params)
    message = "Subscription source accepted notifications not requested"
    assert refused.error == {"code": -32603, "message": message}


def test_a_source_that_ends_ends_the_subscription(serve_process: Any) -> None:
    session = serve_process(source("ends"))
    assert completed(session.listen(toolsListChanged=True)) == ["notifications/tools/list_changed"]
    closed_once(session)


@pytest.mark.parametrize("behaviour", ["fails", "nonsense"])
def test_a_source_that_fails_ends_the_subscription_and_says_no_more(
    serve_process: Any, behaviour: str
) -> None:
    session = serve_process(source(behaviour))
    listening = session.listen(toolsListChanged=True)
    notices, answer = listening.rest()
    assert notices == [event(listening, "tools/list_changed")]
    assert answer["error"] == {"code": -32603, "message": "Subscription source failed"}
    closed_once(session)
    if behaviour == "fails":
        session.wait_for_log("a secret reason")


def test_a_source_may_refuse_who_listens(serve_process: Any) -> None:
    session = serve_process(source("refuses"))
    refused = session.refusal("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
    assert refused.error == {"code": 7001, "message": "not for you", "data": {"ask": "the owner"}}


def test_a_source_that_breaks_before_it_opens_says_no_more(serve_process: Any) -> None:
    session = serve_process(source("breaks"))
    refused = session.refusal("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
    assert refused.error == {"code": -32603, "message": "Subscription source failed"}
    session.wait_for_log("a secret reason")


def test_what_a_source_says_unasked_is_not_sent(serve_process: Any) -> None:
    session = serve_process(source("strays"))
    with session.listen(toolsListChanged=True, resourceSubscriptions=["x://a"]) as listening:
        assert kinds(listening, 2) == ["tools", "x://a"]
    closed_once(session)


# One hub, two policies

HUBS = """
from snodo import Event, Hub, Server

hub = Hub(name="shared", max_buffer=2, overflow="OVERFLOW")
server = Server("hubs", version="1.0.0", subscriptions=hub)
assert server.notify is hub or server.notify.stats() == hub.stats()


@server.tool
def storm(times: int):
    for n in range(times):
        hub.publish(Event.tools_changed({"com.example/n": n, "com.example/pad": "x" * 20_000}))
    return hub.stats()


@server.tool
def stats():
    return hub.stats()
"""


@pytest.fixture(params=["drop_oldest", "drop_newest"])
def hub_server(
    request: pytest.FixtureRequest, write_app: Callable[[str], Path]
) -> Iterator[tuple[str, HttpServer]]:
    server = HttpServer(write_app(HUBS.replace("OVERFLOW", request.param)))
    yield request.param, server
    server.close()


def test_what_a_slow_listener_cannot_take_is_dropped_by_the_hubs_policy(
    hub_server: tuple[str, HttpServer],
) -> None:
    policy, server = hub_server
    message = request("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
    with server.converse(message) as listening:
        assert listening.notice()["method"] == "notifications/subscriptions/acknowledged"
        call = request("tools/call", {"name": "storm", "arguments": {"times": 2000}})
        stats = server.send(call).json()["result"]["structuredContent"]
        # Far more than all buffers between us hold together.
        assert stats["dropped"] > 1000
        assert stats["queued"] <= 3
        assert (stats["max_buffer"], stats["overflow"]) == (2, policy)
        seen: list[int] = []
        while len(seen) < 2000 - stats["dropped"]:
            seen.append(listening.notice()["params"]["_meta"]["com.example/n"])
        assert seen == sorted(set(seen)), "events changed places"
        if policy == "drop_oldest":
            assert seen[-1] == 1999, "the newest event was dropped"
        else:
            assert seen[-1] < 1999, "the newest event was kept"
