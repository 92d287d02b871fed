"""Events and the hub, without a server around them."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from snodo import ConfigurationError, Event, Hub, Server

NOBODY = {"matched": 0, "delivered": 0, "buffered": 0, "dropped": 0}


def test_an_event_is_what_it_was_made_of() -> None:
    event = Event.resource_updated("note://a", {"com.example/why": [1, 2.0]})
    assert (event.kind, event.uri) == ("resource_updated", "note://a")
    assert event.metadata == {"com.example/why": [1, 2.0]}
    assert event == Event.resource_updated("note://a", {"com.example/why": [1, 2.0]})
    assert event != Event.resource_updated("note://a")
    assert repr(event) == "<snodo.Event resource_updated note://a>"
    for made in (Event.tools_changed, Event.prompts_changed, Event.resources_changed):
        event = made()
        assert (event.kind, event.uri, event.metadata) == (made.__name__, None, {})


@pytest.mark.parametrize(
    ("make", "kind", "text"),
    [
        (lambda: Event.resource_updated("a"), ValueError, "absolute URI"),
        (lambda: Event.tools_changed({"not ok": 1}), ValueError, "key"),
        (lambda: Event.tools_changed({"ok": object()}), TypeError, "metadata"),
        (lambda: Event.tools_changed({"ok": "x" * (64 << 10)}), TypeError, "metadata"),
        (lambda: Hub().resource_updated("a"), ValueError, "absolute URI"),
    ],
)
def test_what_is_no_event_is_refused(make: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        make()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"max_buffer": 0}, "max_buffer must be a positive integer"),
        ({"max_buffer": -1}, "max_buffer must be a positive integer"),
        ({"overflow": "drop"}, 'overflow must be "drop_oldest" or "drop_newest"'),
    ],
)
def test_options_of_a_hub_are_checked(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ConfigurationError, match=text):
        Hub(**options)


def test_a_hub_tells_how_it_fares() -> None:
    hub = Hub(name="changes", max_buffer=7, overflow="drop_newest")
    assert hub.name == "changes"
    assert repr(hub) == '<snodo.Hub "changes", 0 listeners>'
    assert hub.stats() == {
        "subscriptions": 0,
        "closing": 0,
        "queued": 0,
        "dropped": 0,
        "max_buffer": 7,
        "overflow": "drop_newest",
    }


def test_publishing_to_nobody_is_no_error_on_any_thread() -> None:
    hub = Hub()
    reports: list[Any] = []

    def publish() -> None:
        reports.extend(
            [
                hub.publish(Event.tools_changed()),
                hub.tools_changed({"n": 1}),
                hub.prompts_changed(),
                hub.resources_changed(),
                hub.resource_updated("note://a"),
            ]
        )

    thread = threading.Thread(target=publish)
    thread.start()
    thread.join(5)
    assert reports == [NOBODY] * 5
    hub.complete()


def test_a_server_has_a_hub_of_its_own_or_the_one_it_was_given() -> None:
    server = Server("own")
    assert server.notify is server.notify
    hub = Hub()
    assert Server("given", subscriptions=hub).notify is hub
    assert Server("none", subscriptions=False).notify.tools_changed() == NOBODY


@pytest.mark.parametrize("given", [None, 1, "hub", object(), Hub])
def test_events_come_from_a_hub_or_a_source(given: Any) -> None:
    with pytest.raises(ConfigurationError, match="must be a boolean, a Hub or a Source"):
        Server("x", subscriptions=given)
