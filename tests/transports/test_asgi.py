"""`server.asgi()` in a real uvicorn, and called by hand where a server would not do such things."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import textwrap
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.routing import Route

from driver import (
    AsgiServer,
    HttpConversation,
    HttpHandshake,
    HttpReply,
    HttpServer,
    exchange,
    head,
    read_reply,
    request,
    wait_until,
)
from driver.http import mirrored
from snodo import Context, Server
from snodo.errors import ConfigurationError

APP = """
import asyncio
import contextvars
import sys
import time

from fastapi import FastAPI, Request
from fastapi.responses import PlainTextResponse
from snodo import Context, Server

LIMITS = {"keep_alive_interval": 0.3, "body_timeout": 2, "body_bytes": 100_000}
server = Server("shop", version="1.0.0", limits=LIMITS)
asked = contextvars.ContextVar("asked", default="nobody")


def say(text):
    print(text, file=sys.stderr, flush=True)


@server.lifespan
async def lifespan():
    say("lifespan entered")
    yield {"entered": asyncio.get_running_loop()}
    say("lifespan left")


@server.tool
def plain(text: str) -> str:
    return text


@server.tool
async def native(context: Context) -> list[bool]:
    running = asyncio.get_running_loop()
    return [running is context.state["entered"], asked.get() == "nobody"]


@server.tool
def who(context: Context) -> dict[str, object]:
    return {"auth": context.auth, "token": context.headers["x-token"]}


@server.tool
async def slow(context: Context, reports: bool = False) -> str:
    say("slow begins")
    try:
        if reports:
            context.progress(1, 2, "half")
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        say("slow cancelled")
        raise
    return "slept"


@server.tool
def lasts(seconds: float) -> str:
    say("lasts begins")
    time.sleep(seconds)
    return "done"


app = FastAPI()


@app.middleware("http")
async def trust(request: Request, call_next):
    asked.set("somebody")
    if (token := request.headers.get("x-token")) is not None:
        request.state.mcp_auth = {"user": token}
        if (scope := request.headers.get("x-scope")) is not None:
            request.state.mcp_cancellation_scope = scope
    return await call_next(request)


@app.get("/hello")
async def hello():
    return PlainTextResponse("hello")


app.mount("/api", server.asgi())
app.mount("/deep/down/mcp", server.asgi())
app.mount("/", server.asgi(legacy_sse=True))
"""
LIST = json.dumps(request("tools/list")).encode()
HEADERS: dict[str, str | None] = {
    "MCP-Protocol-Version": "2026-07-28",
    "Mcp-Method": "tools/list",
}


@pytest.fixture(scope="module")
def mounted(write_app: Callable[[str], Path]) -> Iterator[AsgiServer]:
    """In an application of FastAPI, with a middleware that says who asks, and no lifespan."""
    server = AsgiServer(write_app(APP))
    yield server
    server.close()


def call(tool: str, arguments: dict[str, Any] | None = None, **meta: Any) -> dict[str, Any]:
    params: dict[str, Any] = {"name": tool, "arguments": arguments or {}}
    message = request("tools/call", params)
    message["params"]["_meta"] |= meta
    return message


def begin(
    server: HttpServer, message: dict[str, Any], headers: dict[str, str] | None = None
) -> HttpConversation:
    """Sends a request and waits for nothing."""
    body = json.dumps(message).encode()
    connection = server.connect()
    wanted: dict[str, str | None] = {**mirrored(message), **(headers or {})}
    connection.sendall(head("POST", server.path, body, wanted) + body)
    return HttpConversation(connection, message)


def times(server: HttpServer, text: str) -> int:
    return server.log().count(text)


class TestMounted:
    """Where it answers."""

    @pytest.mark.parametrize(
        "path", ["/mcp", "/mcp/", "/api/mcp", "/api/mcp/", "/api/", "/deep/down/mcp/", "/mcp?x=1"]
    )
    def test_it_answers_at_its_path_and_where_it_is_mounted(
        self, mounted: AsgiServer, path: str
    ) -> None:
        reply = exchange(mounted, head("POST", path, LIST, HEADERS) + LIST)
        assert reply.status == 200, reply
        assert len(reply.json()["result"]["tools"]) == 5

    def test_the_host_answers_what_is_its_own(self, mounted: AsgiServer) -> None:
        hello = exchange(mounted, head("GET", "/hello", headers={"Content-Length": None}))
        assert (hello.status, hello.body) == (200, b"hello")

    @pytest.mark.parametrize("path", ["/nothing", "/api/nothing", "/api/healthz", "/apimcp"])
    def test_other_paths_are_404(self, mounted: AsgiServer, path: str) -> None:
        reply = exchange(mounted, head("POST", path, LIST, HEADERS) + LIST)
        assert reply.status == 404
        assert "error" in reply.json()

    def test_a_stream_of_2024_11_05_names_the_box_under_its_root(
        self, write_app: Callable[[str], Path]
    ) -> None:
        server = AsgiServer(write_app(APP.replace('"/", server', '"/old", server')))
        with ExitStack() as stack:
            stack.callback(server.close)
            connection = stack.enter_context(server.connect())
            lines: dict[str, str | None] = {"Accept": "text/event-stream", "Content-Type": None}
            connection.sendall(head("GET", "/old/sse", headers=lines))
            received = b""
            while b"\n\n" not in received.partition(b"\r\n\r\n")[2]:
                received += connection.recv(4096)
            assert b"data: /old/messages?session=" in received


class TestLife:
    """When things begin and end."""

    def test_coroutines_run_on_the_loop_of_the_host_and_know_nothing_of_its_first_request(
        self, mounted: AsgiServer
    ) -> None:
        for _ in range(2):
            result = mounted.send(call("native")).json()["result"]
            assert result["structuredContent"] == [True, True]
        assert times(mounted, "lifespan entered") == 1, "three applications, one server"

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_open_streams_end_with_the_host(
        self, write_app: Callable[[str], Path], number: int
    ) -> None:
        server = AsgiServer(write_app(APP))
        with ExitStack() as stack:
            stack.callback(server.close)
            listen = request("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
            listener = stack.enter_context(begin(server, listen))
            assert listener.notice()["method"] == "notifications/subscriptions/acknowledged"
            old = HttpHandshake(server, "2025-11-25")
            changes = stack.enter_context(old.changes())
            running = stack.enter_context(begin(server, call("lasts", {"seconds": 0.5})))
            server.wait_for_log("lasts begins")
            server.signal(number)
            assert "result" in listener.next()
            assert changes.wait_for_end() == []
            changes.left = True
            assert running.next()["result"]["content"][0]["text"] == "done"
            server.wait(10)
            server.wait_for_log("Finished server process")
            assert "without completing" not in server.log()

    def test_the_end_of_the_loop_is_the_end_of_a_lifespan_that_nobody_forwards(
        self, write_app: Callable[[str], Path]
    ) -> None:
        server = AsgiServer(write_app(APP))
        try:
            assert server.post(LIST, HEADERS).status == 200
            server.signal(signal.SIGINT)
            server.wait(10)
            server.wait_for_log("lifespan left")
            assert times(server, "lifespan entered") == times(server, "lifespan left") == 1
        finally:
            server.close()

    @pytest.mark.parametrize("wired", ["alone", "app = FastAPI(lifespan=server.asgi().lifespan)"])
    def test_a_forwarded_lifespan_surrounds_all(
        self, write_app: Callable[[str], Path], wired: str
    ) -> None:
        alone = wired == "alone"
        source = APP.replace("app = FastAPI()", "app = FastAPI()" if alone else wired)
        server = AsgiServer(write_app(source + ("\n\napp = server.asgi()\n" if alone else "")))
        try:
            assert times(server, "lifespan entered") == 1, "before it listens"
            assert server.post(LIST, HEADERS).status == 200
            server.signal(signal.SIGTERM)
            server.wait(10)
            server.wait_for_log("lifespan left")
            assert times(server, "lifespan entered") == times(server, "lifespan left") == 1
            said = server.wait_for_log("shutdown complete")
            assert said.index("lifespan left") < said.index("shutdown complete")
        finally:
            server.close()

    def test_a_lifespan_that_fails_keeps_uvicorn_from_starting(
        self, write_app: Callable[[str], Path]
    ) -> None:
        source = APP.replace('say("lifespan entered")', 'raise ValueError("no database")')
        with pytest.raises(AssertionError, match="the lifespan failed: ValueError: no database"):
            AsgiServer(write_app(source + "\n\napp = server.asgi()\n"))


class TestIdentity:
    """Who asks is what the host has verified."""

    def test_identity_comes_from_the_state_of_the_request_alone(self, mounted: AsgiServer) -> None:
        told = mounted.send(call("who"), x_token="ada").json()["result"]["structuredContent"]
        assert told == {"auth": {"user": "ada"}, "token": "ada"}

    def test_a_header_says_nothing(self, write_app: Callable[[str], Path]) -> None:
        server = AsgiServer(write_app(APP + "\n\napp = server.asgi()\n"))
        try:
            headers = {"x_token": "ada", "mcp_auth": "ada", "authorization": "Bearer ada"}
            told = server.send(call("who"), **headers).json()["result"]["structuredContent"]
            assert told == {"auth": None, "token": "ada"}
        finally:
            server.close()

    def test_authenticate_is_asked_where_the_host_says_nothing(
        self, write_app: Callable[[str], Path]
    ) -> None:
        asks = """
        def authenticate(request):
            say("authenticate asked")
            key = request.headers.get("x-key")
            return {"key": key, "path": request.path, "peer": request.peer[0]} if key else None

        server = Server("shop", version="1.0.0", authenticate=authenticate, limits=LIMITS)
        """
        asks = textwrap.dedent(asks)
        source = APP.replace('server = Server("shop", version="1.0.0", limits=LIMITS)', "")
        server = AsgiServer(
            write_app(source.replace("@server.lifespan", f"{asks}\n\n@server.lifespan"))
        )
        try:
            assert server.post(LIST, HEADERS).status == 401
            told = server.send(call("who"), x_key="k", x_token=None)
            assert told.json()["result"]["isError"], "there is no x-token to tell"
            wait_until(lambda: times(server, "authenticate asked") == 2, "both askings")
            told = server.send(call("who"), x_token="ada").json()["result"]["structuredContent"]
            assert told["auth"] == {"user": "ada"}
            assert times(server, "authenticate asked") == 2
        finally:
            server.close()

    def test_a_session_is_of_whoever_opened_it(self, mounted: AsgiServer) -> None:
        hello = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "old", "version": "1"},
        }
        opened = mounted.send(
            {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}, x_token="ada"
        )
        session = opened.headers["mcp-session-id"]
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        named = {"mcp_session_id": session, "mcp_protocol_version": "2025-11-25"}
        assert mounted.send(ping, x_token="bob", **named).status == 404
        assert mounted.send(ping, **named).status == 404
        assert mounted.send(ping, x_token="ada", **named).status == 200


class TestCancellation:
    """A client that leaves, and one that says so."""

    @pytest.mark.parametrize("reports", [False, True], ids=["plain", "stream"])
    def test_a_client_that_leaves_cancels(self, mounted: AsgiServer, reports: bool) -> None:
        begun, cancelled = times(mounted, "slow begins"), times(mounted, "slow cancelled")
        message = call("slow", {"reports": reports}, progressToken="p")
        conversation = begin(mounted, message)
        wait_until(lambda: times(mounted, "slow begins") > begun, "the beginning of the call")
        if reports:
            assert conversation.notice()["params"]["message"] == "half"
        conversation.leave()
        wait_until(lambda: times(mounted, "slow cancelled") > cancelled, "the cancellation")
        assert "Traceback" not in mounted.log()

    @pytest.mark.parametrize(
        ("theirs", "ends"),
        [
            ({"x-token": "ada", "x-scope": "tab"}, True),
            ({"x-token": "bob", "x-scope": "tab"}, False),
            ({"x-token": "ada", "x-scope": "other"}, False),
            ({"x-token": "ada"}, False),
            ({}, False),
        ],
        ids=["same", "other auth", "other scope", "no scope", "nobody"],
    )
    @pytest.mark.parametrize("reports", [False, True], ids=["plain", "stream"])
    def test_a_message_cancels_a_request_of_its_own_scope(
        self, mounted: AsgiServer, theirs: dict[str, str], ends: bool, reports: bool
    ) -> None:
        ours = {"x-token": "ada", "x-scope": "tab"}
        message = call("slow", {"reports": reports}, progressToken="p")
        begun, cancelled = times(mounted, "slow begins"), times(mounted, "slow cancelled")
        with begin(mounted, message, ours) as conversation:
            wait_until(lambda: times(mounted, "slow begins") > begun, "the beginning of the call")
            if reports:
                conversation.notice()
            params = {"requestId": message["id"]}
            told = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
            reply = mounted.send(told, mcp_protocol_version="2026-07-28", **theirs)
            assert (reply.status, reply.body) == (202, b"")
            if ends:
                wait_until(lambda: times(mounted, "slow cancelled") > cancelled, "its end")
                if reports:
                    assert conversation.wait_for_end() == []
                else:
                    assert read_reply(conversation.connection).status == 204
                conversation.left = True
            else:
                reply = mounted.send(call("plain", {"text": "on"}), **theirs)
                assert reply.status == 200
                assert times(mounted, "slow cancelled") == cancelled
        wait_until(lambda: times(mounted, "slow cancelled") > cancelled, "the end of the call")

    def test_a_stream_that_listens_is_ended_so_too(self, mounted: AsgiServer) -> None:
        ours = {"x-token": "ada", "x-scope": "tab"}
        listen = request("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        with begin(mounted, listen, ours) as conversation:
            conversation.notice()
            params = {"requestId": listen["id"]}
            told = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
            assert mounted.send(told, **ours).status == 202
            assert conversation.wait_for_end() == []
            conversation.left = True

    def test_two_requests_of_one_scope_have_two_ids(self, mounted: AsgiServer) -> None:
        ours = {"x-token": "ada", "x-scope": "tab"}
        begun = times(mounted, "slow begins")
        with begin(mounted, call("slow"), ours):
            wait_until(lambda: times(mounted, "slow begins") > begun, "the beginning of the call")
            second = mounted.send(call("plain", {"text": "x"}), **ours)
            assert second.status == 409
            assert second.json()["error"]["message"] == "Duplicate in-flight request id"
            other = mounted.send(call("plain", {"text": "x"}), x_token="bob", x_scope="tab")
            assert other.status == 200
        wait_until(
            lambda: mounted.send(call("plain", {"text": "x"}), **ours).status == 200,
            "the id is free again",
        )


class TestStreams:
    """What comes piece by piece."""

    def test_a_quiet_stream_is_kept_alive(self, mounted: AsgiServer) -> None:
        listen = request("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        with begin(mounted, listen) as conversation:
            conversation.notice()
            conversation.wait_for_comment()
            conversation.wait_for_comment()

    def test_a_body_in_chunks_is_read(self, mounted: AsgiServer) -> None:
        raw = head("POST", "/mcp", LIST, HEADERS | {"Content-Length": None})
        raw = raw[:-2] + b"Transfer-Encoding: chunked\r\n\r\n"
        for piece in (LIST[:10], LIST[10:]):
            raw += b"%x\r\n%b\r\n" % (len(piece), piece)
        assert exchange(mounted, raw + b"0\r\n\r\n").status == 200

    def test_a_body_that_does_not_come_is_waited_for_only_so_long(
        self, mounted: AsgiServer
    ) -> None:
        with mounted.connect() as connection:
            connection.sendall(head("POST", "/mcp", LIST, HEADERS) + LIST[:-1])
            assert read_reply(connection).status == 408

    def test_a_body_over_the_limit_is_refused(self, mounted: AsgiServer) -> None:
        body = b" " * 100_001
        with mounted.connect() as connection:
            with contextlib.suppress(ConnectionError):
                connection.sendall(head("POST", "/mcp", body, HEADERS) + body)
            assert read_reply(connection).status == 413


# By hand.

Message = dict[str, Any]
Asgi = Callable[..., Awaitable[None]]


def scope(body: bytes = LIST, **differences: Any) -> Message:
    """The scope of a request that lists the tools."""
    headers = {
        b"host": b"localhost",
        b"content-type": b"application/json",
        b"content-length": b"%d" % len(body),
        b"mcp-protocol-version": b"2026-07-28",
        b"mcp-method": b"tools/list",
    }
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": "/mcp",
        "root_path": "",
        "query_string": b"",
        "headers": list(headers.items()),
        "client": ("127.0.0.1", 5),
        "server": ("127.0.0.1", 80),
        **differences,
    }


def calling(message: dict[str, Any]) -> tuple[bytes, Message]:
    """A message as a body, and the scope of its request."""
    body = json.dumps(message).encode()
    given = scope(body)
    del given["headers"][-2:]
    given["headers"] += [(k.lower().encode(), v.encode()) for k, v in mirrored(message).items()]
    return body, given


async def ask(
    app: Asgi, scope: Message, *pieces: bytes, more: bool = False, again: bool = False
) -> HttpReply:
    """Sends one request by hand. `more`: its body does not end; `again`: it comes once more."""
    left = list(pieces or (LIST,))
    sent: list[Message] = []

    async def receive() -> Message:
        if left:
            piece = left.pop(0)
            return {"type": "http.request", "body": piece, "more_body": more or bool(left)}
        if again:
            return {"type": "http.request", "body": pieces[0], "more_body": False}
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: Message) -> None:
        sent.append(message)

    await asyncio.wait_for(app(scope, receive, send), 10)
    start, *bodies = sent
    assert [body["type"] for body in bodies] == ["http.response.body"] * len(bodies)
    assert [body.get("more_body", False) for body in bodies][-1] is False
    headers = {name.decode(): value.decode() for name, value in start["headers"]}
    return HttpReply(start["status"], headers, b"".join(body["body"] for body in bodies))


@pytest.fixture
def demo() -> Server:
    server = Server("demo", limits={"body_bytes": 2000, "head_bytes": 2000})

    @server.tool
    def echo(text: str) -> str:
        return text

    @server.tool
    async def native() -> str:
        return "native"

    return server


class TestByHand:
    """What hosts and middlewares may do."""

    def test_starlette_asks_at_a_route_of_its_own(self, demo: Server) -> None:
        app = Starlette(routes=[Route("/mcp", demo.asgi())])
        assert asyncio.run(ask(app, scope())).status == 200

    def test_starlette_itself_redirects_a_mount_without_its_slash(self, demo: Server) -> None:
        app = FastAPI()
        app.mount("/mcp", demo.asgi())
        assert asyncio.run(ask(app, scope(path="/mcp/"))).status == 200
        assert asyncio.run(ask(app, scope())).status == 307, "say no more that it does"

    def test_a_body_comes_in_pieces(self, demo: Server) -> None:
        reply = asyncio.run(ask(demo.asgi(), scope(), LIST[:9], b"", LIST[9:]))
        assert reply.status == 200
        assert int(reply.headers["content-length"]) == len(reply.body)

    @pytest.mark.parametrize("pieces", [(LIST[:-1],), (LIST, b" "), (LIST[:9], LIST)])
    def test_a_body_of_another_length_than_announced_is_refused(
        self, demo: Server, pieces: tuple[bytes, ...]
    ) -> None:
        assert asyncio.run(ask(demo.asgi(), scope(), *pieces)).status == 400

    def test_a_body_of_no_announced_length_is_refused_as_soon_as_it_is_too_long(
        self, demo: Server
    ) -> None:
        lengthless = scope()
        lengthless["headers"] = [pair for pair in lengthless["headers"] if b"length" not in pair[0]]
        reply = asyncio.run(ask(demo.asgi(), lengthless, *[b" " * 600] * 5, more=True))
        assert reply.status == 413

    def test_a_body_that_is_given_again_and_again_is_read_once(self, demo: Server) -> None:
        assert asyncio.run(ask(demo.asgi(), scope(), LIST, again=True)).status == 200

    def test_a_head_over_the_limit_is_refused(self, demo: Server) -> None:
        long = scope()
        long["headers"].append((b"x-long", b"x" * 2000))
        assert asyncio.run(ask(demo.asgi(), long)).status == 431

    def test_head_has_no_body(self, demo: Server) -> None:
        reply = asyncio.run(ask(demo.asgi(), scope(method="HEAD"), b""))
        assert (reply.status, reply.body) == (405, b"")
        assert int(reply.headers["content-length"]) > 0

    @pytest.mark.parametrize(
        ("root", "path"),
        [
            ("/api", "/api/mcp"),
            ("/api/", "/api/mcp"),
            ("/api", "/api"),
            ("/api", "/api/"),
            ("/api", "/mcp"),
            ("/m", "/mcp"),
            ("/tea/茶", "/tea/茶/mcp/"),
        ],
    )
    def test_the_path_is_that_below_the_root(self, demo: Server, root: str, path: str) -> None:
        given = scope(root_path=root, path=path)
        assert asyncio.run(ask(demo.asgi(), given)).status == 200

    def test_names_are_checked_where_only_this_machine_asks(self, demo: Server) -> None:
        def status(server: object, host: bytes, **options: Any) -> int:
            given = scope(server=server)
            given["headers"][0] = (b"host", host)
            return asyncio.run(ask(demo.asgi(**options), given)).status

        here, outside = ("127.0.0.1", 80), ("10.0.0.5", 80)
        for server in (here, ("::1", 80)):
            assert status(server, b"evil.example") == 403
            assert status(server, b"localhost") == 200
        for server in (outside, None, ("/run/app.sock", None), ("testserver", 80)):
            assert status(server, b"app.example") == 200
            assert status(server, b"app.example", allowed_hosts=["other.example"]) == 403
        assert status(here, b"app.example", allowed_hosts=["app.example"]) == 200

    def test_a_refusal_names_the_setting_and_the_environment_widens_it(
        self, demo: Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        given = scope()
        given["headers"] += [(b"origin", b"https://app.example")]
        reply = asyncio.run(ask(demo.asgi(), given))
        assert reply.status == 403
        assert "allowed_origins" in reply.json()["error"]["message"]
        monkeypatch.setenv("SNODO_ALLOWED_ORIGINS", "https://app.example, https://b.example")
        reply = asyncio.run(ask(demo.asgi(), given))
        assert reply.status == 200
        assert reply.headers["access-control-allow-origin"] == "https://app.example"

    @pytest.mark.parametrize(
        "said", [object(), "", False, True, 0, 7, ["ada"], {"a": object()}, "a" * 16_385]
    )
    def test_an_identity_that_can_be_none_is_a_fault(
        self, demo: Server, caplog: pytest.LogCaptureFixture, said: object
    ) -> None:
        reply = asyncio.run(ask(demo.asgi(), scope(state={"mcp_auth": said})))
        assert reply.status == 500
        assert reply.json()["error"] == {"code": -32603, "message": "Internal error"}
        assert "mcp_auth is no principal" in caplog.text

    def test_one_application_serves_many_loops(self, demo: Server) -> None:
        app = demo.asgi()
        message, given = calling(call("native"))
        for _ in range(3):
            assert asyncio.run(ask(app, given, message)).status == 200
        loop = asyncio.new_event_loop()
        assert loop.run_until_complete(ask(app, given, message)).status == 200
        task = next(iter(asyncio.all_tasks(loop)))
        loop.close()  # and whatever is on it with it
        assert asyncio.run(ask(app, given, message)).status == 200
        task.cancel = lambda: None  # type: ignore[method-assign]
        task._log_destroy_pending = False  # type: ignore[attr-defined]

    def test_a_loop_that_stands_still_is_not_waited_for(
        self, demo: Server, caplog: pytest.LogCaptureFixture
    ) -> None:
        app = demo.asgi()
        message, given = calling(call("native"))
        loop = asyncio.new_event_loop()
        assert loop.run_until_complete(ask(app, given, message)).status == 200
        assert asyncio.run(ask(app, given, message)).status == 500
        assert "stands still now: close that loop" in caplog.text
        assert loop.run_until_complete(ask(app, given, message)).status == 200
        loop.run_until_complete(loop.shutdown_default_executor())
        (task,) = asyncio.all_tasks(loop)
        task.cancel()
        loop.run_until_complete(asyncio.wait([task]))
        loop.close()
        assert asyncio.run(ask(app, given, message)).status == 200

    def test_no_call_is_lost_with_the_loop_it_was_to_run_on(self, demo: Server) -> None:
        app = demo.asgi()
        message, given = calling(call("native"))
        statuses: list[int] = []

        async def several() -> None:
            for _ in range(10):
                # Within the time that `ask` gives it, which is less than that of a call.
                statuses.append((await ask(app, given, message)).status)

        def run() -> None:
            for _ in range(10):
                asyncio.run(several())

        threads = [threading.Thread(target=run) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert len(statuses) == 600
        assert set(statuses) <= {200, 500}

    def test_who_does_not_take_what_is_sent_ends_the_call(self) -> None:
        server, stopped = Server("flood", limits={"write_timeout": 0.2}), threading.Event()

        @server.tool
        async def floods(context: Context) -> str:
            try:
                for step in range(1_000_000):
                    context.progress(step, message="x" * 1000)
                    await asyncio.sleep(0)
            finally:
                stopped.set()
            return "never"

        message, given = calling(call("floods", progressToken="p"))
        given["headers"].append((b"accept", b"application/json, text/event-stream"))
        taken = 0

        async def receive() -> Message:
            nonlocal message
            if message:
                body, message = message, b""
                return {"type": "http.request", "body": body}
            await asyncio.Event().wait()
            raise AssertionError

        async def send(sent: Message) -> None:
            nonlocal taken
            taken += len(sent.get("body", b""))
            if taken > 50_000:
                await asyncio.Event().wait()

        async def stall() -> None:
            await asyncio.wait_for(server.asgi()(given, receive, send), 10)
            await asyncio.to_thread(stopped.wait, 10)

        asyncio.run(stall())
        assert stopped.is_set()

    def test_a_host_that_cannot_send_ends_the_call(self, demo: Server) -> None:
        async def send(_: Message) -> None:
            raise OSError("disconnected")

        async def receive() -> Message:
            return {"type": "http.request", "body": LIST}

        asyncio.run(asyncio.wait_for(demo.asgi()(scope(), receive, send), 10))  # type: ignore[arg-type]

    def test_a_socket_is_refused(self, demo: Server) -> None:
        sent: list[Message] = []

        async def receive() -> Message:
            return {"type": "websocket.connect"}

        async def send(message: Message) -> None:
            sent.append(message)

        asyncio.run(demo.asgi()({"type": "websocket", "path": "/mcp"}, receive, send))  # type: ignore[arg-type]
        assert [message["type"] for message in sent] == ["websocket.close"]

    def test_an_unknown_scope_is_an_error(self, demo: Server) -> None:
        with pytest.raises(RuntimeError, match="no ASGI scope of type 'telnet'"):
            asyncio.run(demo.asgi()({"type": "telnet"}, None, None))  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        "options",
        [
            {"path": "mcp"},
            {"path": "/a b"},
            {"path": 5},
            {"path": "/sse", "legacy_sse": True},
            {"allowed_hosts": "app.example"},
            {"allowed_hosts": ["*a"]},
            {"allowed_origins": ["https://"]},
        ],
    )
    def test_an_option_that_cannot_hold_is_refused_at_once(
        self, demo: Server, options: dict[str, Any]
    ) -> None:
        with pytest.raises(ConfigurationError):
            demo.asgi(**options)

    def test_components_may_follow(self, demo: Server) -> None:
        app = demo.asgi()

        @demo.tool
        def later() -> str:
            return "later"

        reply = asyncio.run(ask(app, scope()))
        assert "later" in [tool["name"] for tool in reply.json()["result"]["tools"]]
