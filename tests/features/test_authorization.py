"""What a policy lets a request see and use, over every transport."""

from __future__ import annotations

import json
from typing import Any

import pytest

from driver import Refusal, Session, request, wait_until

# `b` and `d` of every kind are refused to everybody, and of a template the URIs that end in `/7`.
APP = """
from snodo import Cache, Error, Resource, Server, StaticResource

asked, ran = [], []


def decide(phase, component, context):
    if component.name != "spy":
        uris = [component.uri, component.requested_uri]
        asked.append([phase, component.kind, component.name, *uris])
    if component.metadata.get("com.example/secret"):
        raise Error.authorization(-32003, "Not for you", {"phase": phase, "name": component.name})
    if component.requested_uri and component.requested_uri.endswith("/7"):
        return Error(-32003, "Not that one", {"uri": component.requested_uri})


class Policy:
    def authorize(self, phase, component, context):
        return decide(phase, component, context)


async def decide_async(phase, component, context):
    return decide(phase, component, context)


server = Server(
    "shop",
    version="1.0.0",
    page_size=2,
    cache=Cache(ttl_ms=1000),
    discover_cache=Cache(ttl_ms=5, scope="public"),
    authorize=AUTHORIZE,
    conceal_refusals=CONCEAL,
)
COUNTED = {
    "type": "object",
    "properties": {"count": {"type": "integer"}},
    "required": ["count"],
}
# Nobody who may not call it learns that a header is missing.
MIRRORED = COUNTED | {"properties": {"count": {"type": "integer", "x-mcp-header": "Count"}}}


def declare(name, metadata):
    def call(arguments, context):
        ran.append(name)
        return name

    def read():
        ran.append(name)
        return name

    def read_template(id: str):
        ran.append(name)
        return f"{name} {id}"

    def complete(value):
        ran.append(name)
        return ["1", "2"]

    server.tool(name=name, metadata=metadata, input_schema=MIRRORED if metadata else COUNTED)(call)
    server.prompt(
        name=name,
        metadata=metadata,
        arguments=[{"name": "text", "required": True}],
        complete={"text": ["one", "two"]},
    )(call)
    if name in "ab":
        server.add(StaticResource(f"x://{name}", text=name, name=name, metadata=metadata))
    else:
        server.resource(f"x://{name}", name=name, metadata=metadata)(read)
    server.resource(
        f"t://{name}/{{id}}", name=f"t{name}", metadata=metadata, complete={"id": complete}
    )(read_template)


for letter in "abcde":
    declare(letter, {"com.example/secret": True} if letter in "bd" else None)


class Own(Resource):
    name = "own"
    uri_template = "own://{=odd}"

    def matches(self, uri):
        return {"odd": uri[6:]} if uri.startswith("own://") else False

    def read(self, params, context):
        ran.append("own")
        return params


server.add(Own)


@server.tool
def spy() -> dict[str, list]:
    said = {"asked": asked[:], "ran": ran[:]}
    asked.clear()
    ran.clear()
    return said
"""

KINDS = {"function": "decide", "object": "Policy()", "coroutine": "decide_async"}
LISTS = {
    "tools/list": ("tools", ["a", "c", "e", "spy"]),
    "prompts/list": ("prompts", ["a", "c", "e"]),
    "resources/list": ("resources", ["a", "c", "e"]),
    "resources/templates/list": ("resourceTemplates", ["own", "ta", "tc", "te"]),
}
every_policy = pytest.mark.parametrize("policy", KINDS)

# What is refused, by what is asked, and what the policy is told of it.
REFUSED: list[tuple[str, dict[str, Any], list[Any]]] = [
    ("tools/call", {"name": "b", "arguments": {"count": 1}}, ["tool", "b", None, None]),
    ("prompts/get", {"name": "b", "arguments": {"text": "x"}}, ["prompt", "b", None, None]),
    ("resources/read", {"uri": "x://b"}, ["resource", "b", "x://b", None]),
    ("resources/read", {"uri": "x://d"}, ["resource", "d", "x://d", None]),
    (
        "resources/read",
        {"uri": "t://b/1"},
        ["resource_template", "tb", "t://b/{id}", "t://b/1"],
    ),
    (
        "completion/complete",
        {"ref": {"type": "ref/prompt", "name": "b"}, "argument": {"name": "text", "value": ""}},
        ["prompt", "b", None, None],
    ),
    (
        "completion/complete",
        {
            "ref": {"type": "ref/resource", "uri": "t://b/{id}"},
            "argument": {"name": "id", "value": ""},
        },
        ["resource_template", "tb", "t://b/{id}", None],
    ),
]


def app(policy: str = "function", conceal: bool = False) -> str:
    return APP.replace("AUTHORIZE", KINDS[policy]).replace("CONCEAL", str(conceal))


def spied(session: Session) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = session.call("spy")["structuredContent"]
    return found


def refusal(session: Session, method: str, params: dict[str, Any], **fields: Any) -> Refusal:
    with pytest.raises(Refusal) as raised:
        session.ask(method, params, **fields)
    return raised.value


@every_policy
@pytest.mark.parametrize("method", LISTS)
def test_what_is_refused_is_in_no_list_and_pages_are_full(
    serve: Any, method: str, policy: str
) -> None:
    session = serve(app(policy))
    key, names = LISTS[method]
    pages = [session.ask(method)]
    while "nextCursor" in pages[-1]:
        pages.append(session.ask(method, {"cursor": pages[-1]["nextCursor"]}))
    assert [[item["name"] for item in page[key]] for page in pages] == [names[:2], names[2:]]
    assert all(page["cacheScope"] == "private" for page in pages)


@every_policy
@pytest.mark.parametrize(("method", "params", "component"), REFUSED)
def test_a_refusal_is_the_policys_own_words_and_nothing_runs(
    serve: Any, policy: str, method: str, params: dict[str, Any], component: list[Any]
) -> None:
    session = serve(app(policy))
    spied(session)
    refused = refusal(session, method, params)
    assert (refused.code, refused.message) == (-32003, "Not for you")
    assert refused.data == {"phase": "invocation", "name": component[1]}
    assert refused.status in (200, None)
    assert spied(session) == {"asked": [["invocation", *component]], "ran": []}


def test_a_refusal_comes_before_the_arguments_are_looked_at(serve: Any) -> None:
    session = serve(app())
    for method, params in (
        ("tools/call", {"name": "b", "arguments": {"count": "x"}}),
        ("tools/call", {"name": "b"}),
        ("prompts/get", {"name": "b"}),
        (
            "completion/complete",
            {"ref": {"type": "ref/prompt", "name": "b"}, "argument": {"name": "no", "value": ""}},
        ),
    ):
        assert refusal(session, method, params).code == -32003
    # What is allowed is held to its terms as ever.
    assert session.failure("a", {}) == "Missing required arguments: count"
    assert refusal(session, "prompts/get", {"name": "a"}).data == {"missing": ["text"]}
    assert session.text("a", {"count": 1}) == "a"


@every_policy
def test_what_is_allowed_runs(serve: Any, policy: str) -> None:
    session = serve(app(policy))
    spied(session)
    assert session.text("c", {"count": 1}) == "c"
    assert session.read("x://a")["text"] == "a"
    assert session.read("x://c")["text"] == "c"
    assert session.read("t://c/1")["text"] == "c 1"
    assert json.loads(session.read("own://z")["text"]) == {"odd": "z", "uri": "own://z"}
    assert session.prompt("a", {"text": "x"})[0]["content"]["text"] == "a"
    reference = {"type": "ref/resource", "uri": "t://a/{id}"}
    completed = session.ask(
        "completion/complete", {"ref": reference, "argument": {"name": "id", "value": ""}}
    )
    assert completed["completion"]["values"] == ["1", "2"]
    found = spied(session)
    assert found["ran"] == ["c", "c", "c", "own", "a", "a"]
    assert all(phase == "invocation" for phase, *_ in found["asked"])
    assert len(found["asked"]) == 7


def test_a_template_is_decided_on_by_the_uri_that_is_asked_for(serve: Any) -> None:
    session = serve(app())
    assert session.read("t://a/6")["text"] == "a 6"
    refused = refusal(session, "resources/read", {"uri": "t://a/7"})
    assert (refused.message, refused.data) == ("Not that one", {"uri": "t://a/7"})
    # A template that matches by code of its own is asked first whether it is meant.
    refused = refusal(session, "resources/read", {"uri": "own:///7"})
    assert refused.data == {"uri": "own:///7"}
    spied(session)
    session.ask("resources/templates/list")
    assert {uri for *_, uri in spied(session)["asked"]} == {None}


def test_a_list_asks_once_for_each_component_and_a_call_once(serve: Any) -> None:
    session = serve(app())
    spied(session)
    session.ask("prompts/list")
    asked = spied(session)["asked"]
    assert asked == [["discovery", "prompt", name, None, None] for name in "abcde"]
    session.text("a", {"count": 1})
    assert spied(session)["asked"] == [["invocation", "tool", "a", None, None]]


def test_what_there_is_not_is_not_found_without_asking(serve: Any) -> None:
    session = serve(app())
    spied(session)
    missing = refusal(session, "resources/read", {"uri": "x://nowhere"})
    assert (missing.code, missing.message) == (-32602, "Resource not found")
    # Nor is a name suggested that may be hidden.
    unknown = refusal(session, "tools/call", {"name": "sby"})
    assert (unknown.code, unknown.message, unknown.data) == (-32602, "Unknown tool: sby", None)
    assert refusal(session, "prompts/get", {"name": "ab"}).data is None
    assert spied(session)["asked"] == []


def unknown_of(params: dict[str, Any]) -> dict[str, Any]:
    """The same request about something there is not."""
    text = json.dumps(params)
    for known in ('"name": "b"', "x://b", "x://d", "t://b/"):
        text = text.replace(known, known.replace("b", "zzz").replace("x://d", "x://zzz"))
    different: dict[str, Any] = json.loads(text)
    assert different != params
    return different


def neutral(refused: Refusal) -> str:
    """An error without the name or the URI that was asked about."""
    text = json.dumps(refused.error)
    for name in ("t://zzz/", "t://b/", "x://zzz", "x://b", "x://d", ": zzz", ": b"):
        text = text.replace(name, "?")
    return text


@every_policy
@pytest.mark.parametrize(("method", "params", "component"), REFUSED)
def test_a_concealed_refusal_looks_like_what_there_is_not(
    serve: Any, policy: str, method: str, params: dict[str, Any], component: list[Any]
) -> None:
    session = serve(app(policy, conceal=True))
    hidden = refusal(session, method, params)
    unknown = refusal(session, method, unknown_of(params))
    assert neutral(hidden) == neutral(unknown)
    assert hidden.status == unknown.status
    assert hidden.code == -32602


def test_a_concealed_tool_is_not_betrayed_by_its_arguments(serve: Any) -> None:
    session = serve(app(conceal=True))
    for arguments in ({}, {"count": "x"}, {"count": 1, "more": 2}):
        hidden = refusal(session, "tools/call", {"name": "b", "arguments": arguments})
        assert hidden.error == {"code": -32602, "message": "Unknown tool: b"}
    missing = refusal(session, "resources/read", {"uri": "t://a/7"})
    assert missing.error == {
        "code": -32602,
        "message": "Resource not found",
        "data": {"uri": "t://a/7"},
    }


FAULTY = """
import asyncio
import sys

from snodo import Error, Server, ToolError, StaticResource

FAULTS = {
    "raises": lambda: 1 / 0,
    "tool-error": lambda: (_ for _ in ()).throw(ToolError("secret")),
    "true": lambda: True,
    "false": lambda: False,
    "text": lambda: "yes",
    "exits": lambda: sys.exit(3),
    "interrupts": lambda: (_ for _ in ()).throw(KeyboardInterrupt()),
    "cancels": lambda: (_ for _ in ()).throw(asyncio.CancelledError()),
}


def policy(phase, component, context):
    name = (context.client_info or {}).get("name", "")
    if name == "asks":
        return context.ask("key", None)
    return FAULTS[name]() if name in FAULTS else None


async def policy_async(phase, component, context):
    return policy(phase, component, context)


server = Server("faulty", version="1.0.0", authorize=AUTHORIZE, conceal_refusals=True)


@server.tool
def a() -> str:
    return "ran"


server.add(StaticResource("x://a", text="a", name="a"))


@server.prompt(complete={"text": ["one"]})
def p(text: str) -> str:
    return text
"""
TEXTS = {
    "raises": "Authorization policy raised an exception",
    "tool-error": "Authorization policy raised an exception",
    "asks": "Authorization policy raised an exception",
    "true": "Authorization policy returned an invalid decision",
    "false": "Authorization policy returned an invalid decision",
    "text": "Authorization policy returned an invalid decision",
    "exits": "Authorization policy terminated unexpectedly",
    "interrupts": "Authorization policy terminated unexpectedly",
    "cancels": "Authorization policy terminated unexpectedly",
}


@pytest.mark.parametrize("policy", ["policy", "policy_async"])
@pytest.mark.parametrize("fault", TEXTS)
def test_a_fault_of_the_policy_is_told_and_empties_no_list(
    serve: Any, fault: str, policy: str
) -> None:
    session = serve(FAULTY.replace("AUTHORIZE", policy))
    client = {"clientInfo": {"name": fault, "version": "1"}}
    reference = {"type": "ref/prompt", "name": "p"}
    for method, params in (
        ("tools/list", {}),
        ("resources/list", {}),
        ("prompts/list", {}),
        ("tools/call", {"name": "a"}),
        ("resources/read", {"uri": "x://a"}),
        ("prompts/get", {"name": "p", "arguments": {"text": "t"}}),
        ("completion/complete", {"ref": reference, "argument": {"name": "text", "value": ""}}),
    ):
        fault_told = refusal(session, method, params, **client)
        assert (fault_told.code, fault_told.message) == (-32603, TEXTS[fault])
        assert fault_told.status in (500, None)
        assert "secret" not in json.dumps(fault_told.error)
    # A list of nothing asks nobody, and the server goes on.
    assert session.text("a") == "ran"


def test_the_log_tells_the_author_of_a_fault(serve: Any) -> None:
    session = serve(FAULTY.replace("AUTHORIZE", "policy"))
    for name, text in (("raises", "ZeroDivisionError"), ("true", "gave True for a decision")):
        client = {"clientInfo": {"name": name, "version": "1"}}
        refusal(session, "tools/call", {"name": "a"}, **client)
        assert text in session.wait_for_log(text)


def test_a_cursor_is_of_what_its_viewer_saw(serve: Any) -> None:
    session = serve(
        """
        from snodo import Error, Server


        def policy(phase, component, context):
            if component.metadata.get("for") not in (None, (context.client_info or {}).get("name")):
                return Error(-32003, "no")


        server = Server("viewers", version="1.0.0", authorize=policy, page_size=1)
        for at, name in enumerate(("a", "b", "c", "d", "e")):
            who = {0: "ada", 2: "bob", 4: "ada"}.get(at)
            server.tool(name=name, metadata={"for": who} if who else None)(lambda: "x")
        """
    )

    def names(viewer: str) -> list[str]:
        found, cursor = [], {}
        while True:
            client = {"clientInfo": {"name": viewer, "version": "1"}}
            page = session.ask("tools/list", cursor, **client)
            found += [tool["name"] for tool in page["tools"]]
            if "nextCursor" not in page:
                return found
            cursor = {"cursor": page["nextCursor"]}

    assert names("ada") == ["a", "b", "d", "e"]
    assert names("bob") == ["b", "c", "d"]
    assert names("eve") == ["b", "d"]
    ada = {"clientInfo": {"name": "ada", "version": "1"}}
    eve = {"clientInfo": {"name": "eve", "version": "1"}}
    cursor = session.ask("tools/list", **ada)["nextCursor"]
    expired = refusal(session, "tools/list", {"cursor": cursor}, **eve)
    assert (expired.code, expired.message) == (-32602, "Pagination cursor has expired")
    for bad in ("x", "", cursor[:-2]):
        invalid = refusal(session, "tools/list", {"cursor": bad}, **eve)
        assert invalid.message == "Invalid pagination cursor"


def test_reads_under_a_policy_are_private_whatever_they_say(serve: Any) -> None:
    session = serve(
        """
        from snodo import Cache, Result, Server, StaticResource

        server = Server("reads", version="1.0.0", authorize=lambda phase, component, context: None)
        server.add(StaticResource("x://static", text="s", name="s"))


        @server.resource("x://public", cache=Cache(ttl_ms=9))
        def public():
            contents = [{"uri": "x://public", "text": "p"}]
            return Result.resource_read(contents, ttl_ms=7, cache_scope="public")
        """
    )
    read = session.ask("resources/read", {"uri": "x://public"})
    assert (read["ttlMs"], read["cacheScope"]) == (7, "private")
    assert session.ask("resources/read", {"uri": "x://static"})["cacheScope"] == "private"


SLOW = """
import asyncio
import time

from snodo import Server

begun, ended = [], []


async def policy(phase, component, context):
    if (phase, component.name) == ("invocation", "slow"):
        begun.append(component.name)
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(component.name)


server = Server("slow", version="1.0.0", authorize=policy, timeout=1)


@server.tool
def slow() -> str:
    return "ran"


@server.tool
def waits() -> str:
    return ",".join(begun)


@server.tool
def quick() -> str:
    return ",".join(ended)
"""


def test_a_policy_has_the_time_of_its_call(serve: Any) -> None:
    session = serve(SLOW)
    late = refusal(session, "tools/call", {"name": "slow"})
    assert (late.code, late.message) == (-32603, "Request execution timed out")
    assert late.status in (504, None)
    assert "slow" in session.text("quick")


def test_a_policy_sees_what_is_offered_now(serve: Any) -> None:
    session = serve(
        """
        from snodo import Error, Server, tool

        def policy(phase, component, context):
            if component.name.startswith("no"):
                return Error(-32003, "no")

        server = Server("changing", version="1.0.0", authorize=policy)

        @server.tool
        def add(name: str) -> str:
            with server.changes() as changes:
                changes.add(tool(name=name)(lambda: name))
            return "added"
        """
    )
    for name in ("yes", "no", "afirst"):
        assert session.text("add", {"name": name}) == "added"
    tools = [tool["name"] for tool in session.ask("tools/list")["tools"]]
    assert tools == ["add", "afirst", "yes"]
    assert session.text("afirst") == "afirst"
    assert refusal(session, "tools/call", {"name": "no"}).code == -32003


def test_a_policy_knows_the_request(serve: Any) -> None:
    session = serve(
        """
        from snodo import Context, Error, Server, current_context

        def policy(phase, component, context: Context):
            assert current_context() is context
            try:
                component.metadata["x"] = 1
            except TypeError:
                pass
            else:
                raise AssertionError("it can be changed")
            return Error(1, "seen", {
                "method": context.method,
                "transport": context.transport,
                "auth": context.auth,
                "state": context.state,
                "metadata": dict(component.metadata),
            })

        server = Server("knows", version="1.0.0", authorize=policy)

        @server.tool(metadata={"com.example/scopes": ["a"]})
        def a() -> str:
            return "ran"

        @server.lifespan
        async def life(server):
            yield "ready"
        """
    )
    assert refusal(session, "tools/call", {"name": "a"}).data == {
        "method": "tools/call",
        "transport": session.transport,
        "auth": None,
        "state": "ready",
        "metadata": {"com.example/scopes": ["a"]},
    }


def test_no_header_makes_an_identity(serve: Any) -> None:
    session = serve(
        """
        from snodo import Context, Server

        server = Server("nobody", version="1.0.0")

        @server.tool
        def who(context: Context) -> str:
            return repr(context.auth)
        """
    )
    if session.transport == "http":
        message = request("tools/call", {"name": "who"})
        reply = session.server.send(message, Authorization="Bearer x", X_User="ada")
        assert reply.json()["result"]["content"][0]["text"] == "None"
    else:
        assert session.text("who") == "None"


def test_middleware_sees_what_is_allowed_and_fits(serve: Any) -> None:
    session = serve(
        """
        from snodo import Error, Server

        seen = []

        def recorded(context, arguments, call_next):
            seen.append(arguments)
            return call_next(context, arguments)

        def policy(phase, component, context):
            if component.name == "refused":
                return Error(-32003, "no")

        server = Server("around", version="1.0.0", authorize=policy, middleware=[recorded])

        @server.tool
        def add(n: int) -> str:
            return str(n)

        @server.tool
        def refused(n: int) -> str:
            return str(n)

        @server.tool
        def recall() -> dict[str, list]:
            return {"seen": seen[:-1]}
        """
    )
    assert session.failure("add", {}) == "Missing required arguments: n"
    assert refusal(session, "tools/call", {"name": "refused", "arguments": {"n": 1}}).code == -32003
    assert session.text("add", {"n": 1}) == "1"
    assert session.call("recall")["structuredContent"] == {"seen": [{"n": 1}]}


def test_a_client_that_leaves_ends_the_policy(serve_process: Any) -> None:
    session = serve_process(SLOW.replace("timeout=1)", "timeout=30)"))
    with session.begin("tools/call", {"name": "slow"}):
        wait_until(lambda: session.text("waits") == "slow", "the beginning of the policy")
        assert session.text("quick") == ""
    wait_until(lambda: "slow" in session.text("quick"), "the end of the policy")
