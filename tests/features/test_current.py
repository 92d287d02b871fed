"""What a listener is told first of what is an extension's."""

from __future__ import annotations

from typing import Any

import pytest

from driver import SUBSCRIPTION

KILNS = """
from snodo import Event, Extension, Error, Server
from snodo.extension import method


class Kilns(Extension):
    id = "com.example/kilns"
    filter_keys = ("kilns", "weather")
    heat = {"a": 900, "b": 20}

    @method("kilns/get")
    ASYNC def get(self, params, context):
        return {}

    def subscribe(self, requested, context):
        # Too early: it is not heard yet.
        server.notify.publish(Event.extension(self.id, "a", "early"))
        return requested

    ASYNC def current(self, selector, context):
        if selector == "broken":
            raise Error(-5, "no")
        # What changes from here on is heard after this.
        server.notify.publish(Event.extension(self.id, selector, "after"))
        return self.heat.get(selector)

    ASYNC def notification(self, selector, payload, context):
        return "notifications/jobs", {"kiln": selector, "says": payload}


server = Server("kilns", version="1.0.0", extensions=[Kilns()])
"""

DECLARED = {"extensions": {"com.example/kilns": {}}}


def listen(session: Any, **wanted: Any) -> Any:
    return session.begin(
        "subscriptions/listen", {"notifications": wanted}, clientCapabilities=DECLARED
    )


@pytest.mark.parametrize("keyword", ["", "async"])
def test_a_listener_is_told_first_how_things_stand(serve_process: Any, keyword: str) -> None:
    session = serve_process(KILNS.replace("ASYNC", keyword).replace("     def", "    def"))
    with listen(session, kilns=["a", "unknown", "b"], weather=True) as listening:
        accepted = listening.notice()["params"]["notifications"]
        assert accepted == {"kilns": ["a", "unknown", "b"], "weather": True}
        told = []
        for _ in range(6):
            params = listening.notice()["params"]
            assert params.pop("_meta") == {SUBSCRIPTION: listening.message["id"]}
            told.append((params["kiln"], params["says"]))
    # Each once, in the order of the filter; of what is not known nothing. Then what changed.
    assert told[:2] == [("a", 900), ("b", 20)]
    assert told[2:] == [(kiln, "after") for kiln in ["a", "unknown", "b", "weather"]]


def test_a_current_state_that_fails_ends_the_listener(serve_process: Any) -> None:
    session = serve_process(KILNS.replace("ASYNC", "async"))
    with listen(session, kilns=["broken"]) as listening:
        listening.notice()
        assert listening.next()["error"]["code"] == -5
