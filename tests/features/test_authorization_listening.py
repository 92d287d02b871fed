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
    if component.name in ("tell", "heard", "grow"):
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
def grow(uri: str) -> str:
    with server.changes() as changes:
        changes.add(StaticResource(uri, text="a", name=uri))
    return "grown"


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
        # What is concealed is acknowledged, as what nobody owns is.
        accepted = WANTED if conceal else KEPT
        assert said["params"]["notifications"] == {"resourceSubscriptions": accepted}
        session.text("tell", {"uris": WANTED})
        for uri in KEPT:
            assert listening.notice() == event(listening, "resources/updated", uri=uri)
        asked = [
            ["invocation", "resource", "open", "x://open"],
            ["invocation", "resource", "hidden", "x://secret"],
            ["invocation", "resource_template", "thing", "t://a/thing"],
            ["invocation", "resource_template", "own", "own://a"],
            ["invocation", "resource_template", "own", "own://hidden"],
        ]
        again = [asked[1], asked[4]] if conceal else []
        assert session.call("heard")["structuredContent"]["asked"] == asked + again
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
    # Who owns each comes first.
    asked = session.call("heard")["structuredContent"]["asked"]
    assert bool(asked) == (uri != "own://broken")


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


def test_a_listener_is_asked_about_again_where_nobody_could_be_asked(serve_process: Any) -> None:
    session = serve_process(app())
    uris = ["z://hidden", "z://open", "x://open"]
    with session.begin("subscriptions/listen", listen(uris)) as listening:
        said = listening.notice()
        assert said["params"]["notifications"] == {"resourceSubscriptions": uris}
        session.text("tell", {"uris": uris})
        for uri in uris:
            assert listening.notice() == event(listening, "resources/updated", uri=uri)
        for uri in uris[:2]:
            session.text("grow", {"uri": uri})
        session.text("tell", {"uris": uris})
        for uri in uris[1:]:
            assert listening.notice() == event(listening, "resources/updated", uri=uri)
    assert listening.late == []


@pytest.mark.parametrize(("transport", "revision"), CLIENTS)
def test_a_session_is_asked_about_again_where_nobody_could_be_asked(
    write_app: Any, transport: str, revision: str
) -> None:
    with client_of(write_app(app()), transport, revision) as client:
        for uri in ("z://hidden", "z://open"):
            assert client.ask("resources/subscribe", {"uri": uri}) == {}
            client.text("grow", {"uri": uri})
        with client.changes() as changes:
            client.text("tell", {"uris": ["z://hidden"]})
            client.text("tell", {"uris": ["z://open"]})
            while (said := changes.notice())["method"] != "notifications/resources/updated":
                pass  # of the lists, which have grown
            assert said["params"] == {"uri": "z://open"}


def test_what_is_concealed_counts_as_watched(write_app: Any) -> None:
    source = app(conceal=True)
    with client_of(write_app(source), "stdio", "2025-11-25") as client:
        for number in range(999):
            client.ask("resources/subscribe", {"uri": f"nope://{number}"})
        client.ask("resources/subscribe", {"uri": "x://secret"})
        for uri in ("own://hidden", "nope://more", "x://open"):
            with pytest.raises(Refusal) as raised:
                client.ask("resources/subscribe", {"uri": uri})
            assert raised.value.message.startswith("A session watches at most 1000 URIs")


def test_a_listener_is_decided_on_at_once(serve_process: Any) -> None:
    source = app("policy_async").replace(
        "    return policy(phase, component, context)",
        "    seen.add(asyncio.current_task())\n    return policy(phase, component, context)",
    )
    source = source.replace("import sys\n", "import asyncio\nimport sys\n\nseen = set()\n")
    source = source.replace('return {"asked": said}', 'return {"asked": said, "tasks": len(seen)}')
    session = serve_process(source)
    before = session.call("heard")["structuredContent"]["tasks"]
    with session.begin("subscriptions/listen", listen([f"t://{n}/thing" for n in range(50)])) as it:
        assert len(it.notice()["params"]["notifications"]["resourceSubscriptions"]) == 50
        said = session.call("heard")["structuredContent"]
        assert len(said["asked"]) == 50
        assert said["tasks"] - before == 2  # one of them for this call
