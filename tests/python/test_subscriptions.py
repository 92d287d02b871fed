"""Subscriptions as an application has them: `server.notify`, the change API, and sources."""

from __future__ import annotations

import asyncio
import http.client
import json
import logging
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from driver import request
from driver.http import mirrored
from snodo import (
    ConfigurationError,
    Context,
    Error,
    Event,
    Filter,
    Hub,
    Server,
    Source,
    current_context,
)

ALL = {
    "toolsListChanged": True,
    "promptsListChanged": True,
    "resourcesListChanged": True,
    "resourceSubscriptions": ["note://a", "note://b"],
}
ID = "io.modelcontextprotocol/subscriptionId"
PATIENCE = 10


class Listening:
    """One open subscription over HTTP."""

    def __init__(self, address: str, notifications: Any, wait: bool) -> None:
        message = request("subscriptions/listen", {"notifications": notifications})
        self.connection = http.client.HTTPConnection(address, timeout=PATIENCE)
        self.connection.request(
            "POST",
            "/mcp",
            json.dumps(message),
            {
                "Content-Type": "application/json",
                "Accept": "application/json, text/event-stream",
                **mirrored(message),
            },
        )
        if wait:
            self.response = self.connection.getresponse()

    def next(self) -> Any:
        """The next message; None at the end of the stream."""
        if self.response.headers["content-type"] == "application/json":
            return json.loads(self.response.read())
        for line in iter(self.response.readline, b""):
            if line.startswith(b"data: "):
                return json.loads(line.removeprefix(b"data: "))
        return None

    def accepted(self) -> Any:
        """What the acknowledgement accepts."""
        message = self.next()
        assert message["method"] == "notifications/subscriptions/acknowledged", message
        return message["params"]["notifications"]

    def told(self) -> tuple[str, Any]:
        """Method and URI of the next event."""
        message = self.next()
        assert ID in message["params"]["_meta"]
        return message["method"].removeprefix("notifications/"), message["params"].get("uri")

    def close(self) -> None:
        """Leaves, as a client that has heard enough."""
        if hasattr(self, "response"):
            self.response.close()
        self.connection.close()


class Served:
    """A server under way on a thread of its own."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._started = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))
        self._thread.start()
        assert self._started.wait(PATIENCE)

    async def _serve(self) -> None:
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        with suppress(asyncio.CancelledError):
            await self._server.serve(port=0, on_started=self._begun)

    def _begun(self, url: str) -> None:
        self.address = url.split("/")[2]
        self._started.set()

    def stop(self) -> None:
        """Ends it, as whoever cancels `serve`."""
        if self._thread.is_alive():
            assert self._task is not None
            self._loop.call_soon_threadsafe(self._task.cancel)
            self._thread.join(PATIENCE)
        assert not self._thread.is_alive()


class Listen:
    """Opens subscriptions, and serves what they are opened to."""

    def __init__(self) -> None:
        self.served: dict[Server, Served] = {}
        self.opened: list[Listening] = []

    def __call__(self, server: Server, notifications: Any = ALL, *, wait: bool = True) -> Listening:
        if server not in self.served:
            self.served[server] = Served(server)
        self.opened.append(Listening(self.served[server].address, notifications, wait))
        return self.opened[-1]


@pytest.fixture
def listen() -> Iterator[Listen]:
    """Opens subscriptions; afterwards all of them end, and the servers too."""
    listen = Listen()
    yield listen
    for one in listen.opened:
        one.close()
    for served in listen.served.values():
        served.stop()


def made(**options: Any) -> Server:
    server = Server("told", **options)

    @server.tool
    def look() -> str:
        return ""

    @server.prompt
    def ask() -> str:
        return ""

    @server.resource("note://a")
    def note() -> str:
        return ""

    return server


def gone(hub: Hub) -> bool:
    """Whether a hub's listeners leave within patience."""
    waiting = threading.Event()
    for _ in range(PATIENCE * 100):
        if hub.stats()["subscriptions"] == 0:
            return True
        waiting.wait(0.01)
    return False


def test_what_the_application_tells_is_heard(listen: Listen) -> None:
    server = made()
    hearing = listen(server)
    assert hearing.accepted() == ALL
    server.notify.tools_changed()
    assert hearing.told() == ("tools/list_changed", None)
    server.notify.resource_updated("note://b")
    assert hearing.told() == ("resources/updated", "note://b")
    report = server.notify.publish(Event.prompts_changed({"com.example/n": 1}))
    assert report["matched"] == 1
    assert hearing.next()["params"]["_meta"] == {"com.example/n": 1, ID: 1}


def test_a_client_that_leaves_is_forgotten(listen: Listen) -> None:
    server = made()
    hearing = listen(server)
    hearing.accepted()
    hearing.close()
    assert gone(server.notify)


def test_changes_are_told_when_they_are_in_place(listen: Listen) -> None:
    server = made()
    hearing = listen(server)
    hearing.accepted()
    with server.changes() as changes:
        changes.remove("tool", "look")
        changes.remove("resource", "note")
    assert hearing.told() == ("resources/list_changed", None)
    assert hearing.told() == ("tools/list_changed", None)
    assert server.handle(request("tools/list")) is not None
    changes = server.changes().__enter__()
    changes.remove("tool", "look")
    changes.remove("prompt", "ask")
    with pytest.raises(ConfigurationError):
        changes.__exit__(None, None, None)
    server.notify.resource_updated("note://a")
    assert hearing.told() == ("resources/updated", "note://a"), "what failed was told"


def test_one_hub_may_be_of_several_servers(listen: Listen) -> None:
    hub = Hub()
    both = [listen(made(subscriptions=hub)) for _ in range(2)]
    assert [hearing.accepted() for hearing in both] == [ALL, ALL]
    assert hub.tools_changed()["matched"] == 2
    assert [hearing.told()[0] for hearing in both] == ["tools/list_changed"] * 2


def test_a_hub_that_completes_ends_the_stream_with_its_result(listen: Listen) -> None:
    server = made()
    hearing = listen(server)
    hearing.accepted()
    server.notify.complete()
    result = hearing.next()["result"]
    assert (result["resultType"], result["_meta"][ID]) == ("complete", 1)
    assert hearing.next() is None


def test_without_subscriptions_there_is_nothing_to_listen_to(listen: Listen) -> None:
    server = made(subscriptions=False)
    refused = listen(server)
    assert refused.response.status == 404
    assert refused.next()["error"]["code"] == -32601
    answer = server.handle(request("server/discover"))
    assert answer is not None
    offered = answer["result"]["capabilities"]
    assert (offered["tools"], offered["prompts"], offered["resources"]) == ({}, {}, {})


def test_what_is_handled_in_process_has_no_stream() -> None:
    answer = made().handle(request("subscriptions/listen", {"notifications": {}}))
    assert answer is not None
    assert answer["error"]["code"] == -32600


class Told(Source):
    """A source that gives what the test puts into it."""

    def __init__(self, *events: Any, endless: bool = True) -> None:
        self.events = events
        self.endless = endless
        self.pulled: list[Any] = []
        self.closed: list[str] = []
        self.waiting = threading.Event()
        self.over = threading.Event()
        self.contexts: list[Any] = []

    async def listen(self, filter: Filter, context: Context) -> AsyncIterator[Event]:
        self.contexts.append((context, current_context()))
        how = "ended"
        try:
            for event in self.events:
                self.pulled.append(event)
                if isinstance(event, Exception):
                    raise event
                yield event
            if self.endless:
                self.waiting.set()
                await asyncio.Event().wait()
        except BaseException as error:
            how = type(error).__name__
            raise
        finally:
            self.closed.append(how)
            self.over.set()


def test_a_source_tells_at_the_pace_of_the_listener(listen: Listen) -> None:
    source = Told(
        Event.tools_changed({"n": 1}),
        Event.resource_updated("note://c"),
        Event.resource_updated("note://b"),
    )
    hearing = listen(made(subscriptions=source))
    assert hearing.accepted() == ALL
    assert hearing.next()["params"]["_meta"] == {"n": 1, ID: 1}
    assert hearing.told() == ("resources/updated", "note://b"), "nobody asked for c"
    assert source.waiting.wait(PATIENCE)
    hearing.close()
    assert source.over.wait(PATIENCE)
    assert source.closed == ["CancelledError"]


def test_a_source_that_ends_completes_the_stream(listen: Listen) -> None:
    source = Told(Event.tools_changed(), endless=False)
    hearing = listen(made(subscriptions=source))
    hearing.accepted()
    assert hearing.told()[0] == "tools/list_changed"
    assert hearing.next()["result"]["resultType"] == "complete"
    assert hearing.next() is None
    assert source.closed == ["ended"]


def test_a_source_that_raises_fails_the_stream_and_says_so_in_the_log(
    listen: Listen, caplog: pytest.LogCaptureFixture
) -> None:
    source = Told(Event.tools_changed(), RuntimeError("secret"))
    with caplog.at_level(logging.ERROR, "snodo"):
        hearing = listen(made(subscriptions=source))
        hearing.accepted()
        hearing.told()
        failure = hearing.next()["error"]
    assert failure == {"code": -32603, "message": "Subscription source failed"}
    assert "RuntimeError: secret" in caplog.text
    assert source.closed == ["RuntimeError"]


def test_a_source_that_gives_what_is_no_event_has_failed(listen: Listen) -> None:
    source = Told("tools_changed")
    hearing = listen(made(subscriptions=source))
    hearing.accepted()
    assert hearing.next()["error"]["message"] == "Subscription source failed"
    assert source.over.wait(PATIENCE)


def test_the_context_of_an_open_stream_keeps_nothing_that_was_sent(listen: Listen) -> None:
    seen: list[Context] = []

    class Looking(Told):
        def accept(self, filter: Filter, context: Context) -> Filter:
            seen.append(context)
            return filter

    source = Looking(Event.tools_changed())
    server = made(subscriptions=source)

    @server.lifespan
    async def alive() -> AsyncIterator[str]:
        yield "state"

    hearing = listen(server)
    hearing.accepted()
    hearing.told()
    [asked], [(kept, current)] = seen, source.contexts
    assert "accept" in asked.headers
    assert asked.meta
    assert (kept.headers, kept.meta, kept.client_capabilities) == ({}, {}, {})
    assert (kept.request_id, kept.method, kept.transport) == (1, "subscriptions/listen", "http")
    assert kept.state == "state"
    assert current is kept
    assert not kept.cancelled
    hearing.close()
    assert source.over.wait(PATIENCE)
    assert kept.cancelled


def test_a_source_narrows_what_was_asked(listen: Listen) -> None:
    class Narrow(Told):
        async def accept(self, filter: Filter, context: Context) -> Filter:
            await asyncio.sleep(0)
            assert filter == Filter(
                tools_list_changed=True,
                prompts_list_changed=True,
                resources_list_changed=True,
                resource_subscriptions=("note://a", "note://b"),
            )
            return replace(filter, tools_list_changed=False, resource_subscriptions=("note://b",))

    source = Narrow(
        Event.tools_changed(), Event.resource_updated("note://a"), Event.prompts_changed()
    )
    hearing = listen(made(subscriptions=source))
    accepted = dict(ALL, resourceSubscriptions=["note://b"])
    del accepted["toolsListChanged"]
    assert hearing.accepted() == accepted
    assert hearing.told() == ("prompts/list_changed", None)


def raise_(error: Exception) -> Any:
    raise error


@pytest.mark.parametrize(
    ("accept", "error"),
    [
        (
            lambda filter: replace(filter, prompts_list_changed=True),
            {
                "code": -32603,
                "message": "Subscription source accepted notifications not requested",
            },
        ),
        (lambda _: None, {"code": -32603, "message": "Subscription source failed"}),
        (lambda _: 1 / 0, {"code": -32603, "message": "Subscription source failed"}),
        (
            lambda _: raise_(Error(-32602, "Not for you", {"n": 1})),
            {"code": -32602, "message": "Not for you", "data": {"n": 1}},
        ),
    ],
    ids=["widens", "forgets", "raises", "refuses"],
)
def test_what_a_source_does_not_accept_is_refused(listen: Listen, accept: Any, error: Any) -> None:
    class Accepting(Told):
        def accept(self, filter: Filter, context: Context) -> Filter:
            accepted: Filter = accept(filter)
            return accepted

    source = Accepting(Event.tools_changed())
    refused = listen(made(subscriptions=source), {"toolsListChanged": True})
    assert refused.next()["error"] == error
    assert source.pulled == []


def test_a_client_that_leaves_while_the_source_decides_is_let_go(listen: Listen) -> None:
    class Slow(Told):
        deciding = threading.Event()
        left = threading.Event()

        async def accept(self, filter: Filter, context: Context) -> Filter:
            self.deciding.set()
            try:
                await asyncio.Event().wait()
            finally:
                self.left.set()
            return filter

    source = Slow()
    server = made(subscriptions=source)
    one = listen(server, wait=False)
    assert source.deciding.wait(PATIENCE)
    one.close()
    assert source.left.wait(PATIENCE)
    assert source.contexts == []


def test_a_source_may_stop_when_the_listener_is_gone(
    listen: Listen, caplog: pytest.LogCaptureFixture
) -> None:
    class Polling(Told):
        async def listen(self, filter: Filter, context: Context) -> AsyncIterator[Event]:
            yield Event.tools_changed()
            try:
                self.waiting.set()
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.over.set()
                context.check_cancelled()

    source = Polling()
    hearing = listen(made(subscriptions=source))
    hearing.accepted()
    hearing.told()
    assert source.waiting.wait(PATIENCE)
    hearing.close()
    assert source.over.wait(PATIENCE)
    for served in listen.served.values():
        served.stop()
    assert caplog.text == ""


def test_a_hundred_listeners_of_one_source_are_told_one_by_one(listen: Listen) -> None:
    source = Told(*[Event.tools_changed({"n": n}) for n in range(3)])
    server = made(subscriptions=source)
    hearing = [listen(server) for _ in range(100)]
    for one in hearing:
        one.accepted()
        assert [one.next()["params"]["_meta"]["n"] for _ in range(3)] == [0, 1, 2]
    assert len(source.pulled) == 300


def test_what_is_like_a_source_is_one(listen: Listen) -> None:
    class Plain:
        async def listen(self, filter: Filter, context: Context) -> AsyncIterator[Event]:
            yield Event.tools_changed()

    hearing = listen(made(subscriptions=Plain()))
    assert hearing.accepted() == ALL
    assert hearing.told()[0] == "tools/list_changed"


def test_beside_a_source_the_server_tells_what_it_knows_itself(listen: Listen) -> None:
    server = made(subscriptions=Told(Event.prompts_changed()))
    hearing = listen(server)
    hearing.accepted()
    assert hearing.told()[0] == "prompts/list_changed"
    with server.changes() as changes:
        changes.remove("tool", "look")
    assert hearing.told()[0] == "tools/list_changed"
    server.notify.resources_changed()
    assert hearing.told()[0] == "resources/list_changed"


def test_the_end_of_the_server_completes_its_streams(listen: Listen) -> None:
    source = Told(Event.tools_changed())
    server = made(subscriptions=source)
    hearing = listen(server)
    hearing.accepted()
    hearing.told()
    assert source.waiting.wait(PATIENCE)
    listen.served[server].stop()
    assert hearing.next()["result"]["resultType"] == "complete"
    assert source.over.wait(PATIENCE)
    assert source.closed == ["CancelledError"]
