"""What a policy lets a request hear of: on listen streams, and in sessions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from driver import (
    HANDSHAKES,
    Handshake,
    HttpHandshake,
    HttpServer,
    Refusal,
    SseHandshake,
    StdioHandshake,
    StdioServer,
    event,
)

APP = """
import sys

from snodo import Error, Resource, Server, StaticResource

asked = []


def policy(phase, component, context):
    if component.name in ("tell", "heard"):
        return None
    asked.append([phase, component.kind, component.name, component.requested_uri])
    uri = component.requested_uri or ""
    if uri.endswith("raise"):
        raise RuntimeError("secret")
    if uri.endswith("hidden") or component.name == "hidden":
        return Error(-32003, "Not for you", {"uri": component.requested_uri})


server = Server("heard", version="1.0.0", authorize=POLICY, conceal_refusals=CONCEAL)
server.add(StaticResource("x://open", text="a", name="open"))
server.add(StaticResource("x://secret", text="a", name="hidden"))


async def policy_async(phase, component, context):
    return policy(phase, component, context)


@server.resource("t://{id}/thing", name="thing")
def thing(id: str) -> str:
    return id


class Own(Resource):
    name = "own"
    uri_template = "own://{=odd}"

    def matches(self, uri):
        if uri == "own://broken":
            raise RuntimeError("broken")
        return uri.startswith("own://")

    def read(self, params, context):
        return "own"


server.add(Own)


@server.tool
def tell(uris: list[str]) -> str:
    for uri in uris:
        server.notify.resource_updated(uri)
    return "told"


@server.tool
def heard() -> dict:
    said = asked[:]
    asked.clear()
    return {"asked": said}
"""

WANTED = ["x://open", "x://secret", "t://a/thing", "t://hidden", "own://a", "own://hidden", "z://z"]
KEPT = ["x://open", "t://a/thing", "t://hidden", "own://a", "z://z"]


def app(policy: str = "policy", conceal: bool = False) -> str:
    source = APP.replace("CONCEAL", str(conceal))
    if policy == "policy_async":
        head, _, tail = source.partition("server = Server(")
        start = tail.index("async def policy_async")
        end = tail.index("\n\n\n", start)
        source = head + tail[start:end] + "\n\n\nserver = Server(" + tail[:start] + tail[end:]
    return source.replace("POLICY", policy)


def listen(uris: list[str]) -> dict[str, Any]:
    return {"notifications": {"resourceSubscriptions": uris}}


@pytest.mark.parametrize("policy", ["policy", "policy_async"])
@pytest.mark.parametrize("conceal", [False, True])
def test_a_listener_hears_nothing_of_what_it_may_not_use(
    serve_process: Any, policy: str, conceal: bool
) -> None:
    session = serve_process(app(policy, conceal))
    session.call("heard")
    with session.begin("subscriptions/listen", listen(WANTED)) as listening:
        said = listening.notice()
        assert said["method"] == "notifications/subscriptions/acknowledged"
        assert said["params"]["notifications"] == {"resourceSubscriptions": KEPT}
        session.text("tell", {"uris": WANTED})
        for uri in KEPT:
            assert listening.notice() == event(listening, "resources/updated", uri=uri)
        assert session.call("heard")["structuredContent"]["asked"] == [
            ["invocation", "resource", "open", "x://open"],
            ["invocation", "resource", "hidden", "x://secret"],
            ["invocation", "resource_template", "thing", "t://a/thing"],
            ["invocation", "resource_template", "own", "own://a"],
            ["invocation", "resource_template", "own", "own://hidden"],
        ]
    assert listening.late == []


@pytest.mark.parametrize(
    ("uri", "text"),
    [
        ("t://raise", None),
        ("own://raise", "Authorization policy raised an exception"),
        ("own://broken", "Resource matcher failed"),
    ],
)
def test_a_fault_ends_a_subscription_before_it_begins(
    serve_process: Any, uri: str, text: str | None
) -> None:
    session = serve_process(app(conceal=True))
    with session.begin("subscriptions/listen", listen(["x://open", uri])) as listening:
        said = listening.next()
    if text is None:  # nobody owns it
        assert said["params"]["notifications"] == {"resourceSubscriptions": ["x://open", uri]}
    else:
        assert said["error"]["code"] == -32603
        assert said["error"]["message"] in (text, "Resource matcher raised an exception")
    assert session.call("heard")["structuredContent"]["asked"]


CLIENTS = [
    *((transport, revision) for transport in ("http", "stdio") for revision in HANDSHAKES),
    ("sse", "2024-11-05"),
]


@contextmanager
def client_of(target: Path, transport: str, revision: str) -> Iterator[Handshake]:
    server: HttpServer | StdioServer
    client: Handshake
    if transport == "stdio":
        server = StdioServer(target)
        client = StdioHandshake(server, revision)
    else:
        server = HttpServer(target, "--legacy-sse")
        client = (HttpHandshake if transport == "http" else SseHandshake)(server, revision)
    try:
        yield client
    finally:
        client.close()
        server.close()


@pytest.mark.parametrize(("transport", "revision"), CLIENTS)
def test_a_session_is_refused_what_it_may_not_hear_of(
    write_app: Any, transport: str, revision: str
) -> None:
    with client_of(write_app(app()), transport, revision) as client, client.changes() as changes:
        for uri in WANTED:
            if uri in KEPT:
                assert client.ask("resources/subscribe", {"uri": uri}) == {}
                continue
            with pytest.raises(Refusal) as raised:
                client.ask("resources/subscribe", {"uri": uri})
            assert (raised.value.code, raised.value.message) == (-32003, "Not for you")
            assert raised.value.data == {"uri": uri}
        with pytest.raises(Refusal) as raised:
            client.ask("resources/subscribe", {"uri": "own://raise"})
        assert raised.value.message == "Authorization policy raised an exception"
        client.ask("resources/unsubscribe", {"uri": "x://open"})
        client.text("tell", {"uris": ["x://secret", "x://open", "own://hidden", "own://a"]})
        assert changes.notice()["params"] == {"uri": "own://a"}


@pytest.mark.parametrize(("transport", "revision"), CLIENTS)
def test_what_is_concealed_is_subscribed_to_like_what_nobody_owns(
    write_app: Any, transport: str, revision: str
) -> None:
    source = app(conceal=True)
    with client_of(write_app(source), transport, revision) as client, client.changes() as changes:
        for uri in WANTED:
            assert client.ask("resources/subscribe", {"uri": uri}) == {}
        client.text("tell", {"uris": ["x://secret", "own://hidden", "z://z"]})
        assert changes.notice()["params"] == {"uri": "z://z"}
