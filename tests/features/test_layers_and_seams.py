"""Middleware and dependencies beside the other seams: who asks, what is allowed, actors."""

from __future__ import annotations

import json
from typing import Any

import pytest

from driver import HttpServer, Refusal, request

APP = """
from typing import Annotated, Any, Final

from snodo import Actor, ActorName, Depends, Error, Server, StaticResource, auth, current_auth
from snodo.actors import actor_call, actor_cast
from snodo.middleware import cache, rate_limit, response_limit

log = []
counts = {}


def note(context, arguments, call_next):
    log.append(context.method)
    return call_next()


def decide(phase, component, context):
    if component.metadata.get("com.example/secret"):
        raise Error(-32003, "Not for you")


server = Server(
    "seams",
    version="1.0.0",
    authenticate=auth.bearer({"ada-key": {"user": "ada"}, "bob-key": {"user": "bob"}}),
    authorize=decide,
    middleware=[note],
)


def count(name):
    counts[name] = counts.get(name, 0) + 1
    return counts[name]


@server.tool(middleware=[cache(60)])
def mine(me: Annotated[Any, current_auth]) -> str:
    return f"{me['user']} {count('mine')}"


@server.tool(middleware=[cache(60, key=lambda context: None)])
def everybodys() -> str:
    return f"{count('everybodys')}"


@server.tool(middleware=[rate_limit(1, 3600, key=lambda context: context.auth)])
def once_each() -> str:
    return "ok"


@server.tool(middleware=[response_limit(10)])
def long() -> str:
    return "x" * 100


@server.tool(metadata={"com.example/secret": True})
def secret() -> str:
    return ""


server.add(
    StaticResource("x://open", text="open"),
    StaticResource("x://secret", text="secret", metadata={"com.example/secret": True}),
)


@server.tool
def takes_log() -> list[str]:
    taken = log[:-1]
    log.clear()
    return taken


COUNTER: Final = ActorName("counter")
NOTHING = {"type": "object", "additionalProperties": False}


class Counter(Actor):
    def __init__(self):
        self.count = 0

    async def handle_call(self, message: Any) -> int:
        return self.count

    async def handle_cast(self, message: Any) -> None:
        self.count += 1


@server.lifespan
async def lifespan():
    async with Counter.start(name=COUNTER):
        yield


def value(count):
    return {"value": count}


actor_call(
    server, "get", target=COUNTER, input_schema=NOTHING, message="get", encode_reply=value
)
actor_cast(server, "up", target=COUNTER, input_schema=NOTHING, message="up")
"""


class Client:
    """Somebody with a token."""

    def __init__(self, server: HttpServer, token: str) -> None:
        self.server = server
        self.token = token

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        headers: dict[str, str | None] = {
            "MCP-Protocol-Version": "2026-07-28",
            "Mcp-Method": method,
            "Authorization": f"Bearer {self.token}",
        }
        name = params.get("name", params.get("uri"))
        if name is not None:
            headers["Mcp-Name"] = name
        body = json.dumps(request(method, params)).encode()
        answer = json.loads(self.server.post(body, headers).body)
        if "error" in answer:
            raise Refusal(answer["error"])
        result: dict[str, Any] = answer["result"]
        return result

    def text(self, tool: str) -> str:
        found: str = self.ask("tools/call", name=tool)["content"][0]["text"]
        return found


@pytest.fixture(scope="module")
def http(write_app: Any) -> Any:
    server = HttpServer(write_app(APP))
    yield server
    server.close()


@pytest.fixture
def ada(http: Any) -> Client:
    client = Client(http, "ada-key")
    client.text("takes_log")
    return client


@pytest.fixture
def bob(http: Any) -> Client:
    return Client(http, "bob-key")


def test_what_is_remembered_is_each_callers_own(ada: Client, bob: Client) -> None:
    assert [ada.text("mine"), bob.text("mine"), ada.text("mine")] == ["ada 1", "bob 2", "ada 1"]
    assert [ada.text("everybodys"), bob.text("everybodys")] == ["1", "1"]


def test_a_limit_is_each_callers_own(ada: Client, bob: Client) -> None:
    assert [ada.text("once_each"), bob.text("once_each")] == ["ok", "ok"]
    assert ada.text("once_each") == "Component rate limit reached"


def test_a_link_is_for_the_caller_who_got_it(ada: Client, bob: Client) -> None:
    uri = ada.ask("tools/call", name="long")["content"][1]["uri"]
    assert ada.ask("resources/read", uri=uri)["contents"][0]["text"] == "x" * 100
    with pytest.raises(Refusal, match="Resource not found"):
        bob.ask("resources/read", uri=uri)


def test_what_is_refused_no_layer_sees(ada: Client) -> None:
    for method, params in (
        ("tools/call", {"name": "secret"}),
        ("resources/read", {"uri": "x://secret"}),
    ):
        with pytest.raises(Refusal, match="Not for you"):
            ada.ask(method, **params)
    assert ada.ask("resources/read", uri="x://open")["contents"][0]["text"] == "open"
    assert ada.ask("tools/call", name="takes_log")["structuredContent"] == ["resources/read"]


def test_actor_tools_are_surrounded_too(ada: Client) -> None:
    before = ada.ask("tools/call", name="get")["structuredContent"]
    assert ada.ask("tools/call", name="up")["isError"] is False
    after = ada.ask("tools/call", name="get")["structuredContent"]
    assert after["value"] == before["value"] + 1
    seen = ada.ask("tools/call", name="takes_log")["structuredContent"]
    assert seen == ["tools/call"] * 3
