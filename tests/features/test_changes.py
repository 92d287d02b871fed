"""Changes to a server while it serves: whole or not at all, and under running calls."""

from __future__ import annotations

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from driver import Refusal

SOURCE = """
import asyncio
import gc
import threading
import time
import weakref

import snodo
from snodo import Cache, ConfigurationError, Error, Result, Server, StaticResource

server = Server("changing", version="1.0.0", threads=32)
started = threading.Event()
release = threading.Event()


@server.tool
def change(add: list[str] = [], remove: list[str] = []) -> list[str]:
    \"\"\"Adds and removes numbered tools, resources, templates and prompts.\"\"\"
    with server.changes() as changes:
        for name in remove:
            kind, _, rest = name.partition(" ")
            changes.remove(kind, rest)
        for name in add:
            kind, _, rest = name.partition(" ")
            changes.add(made(kind, rest))
    return sorted(changes.changed)


def made(kind, name):
    if kind == "tool":
        def called(text: str = "") -> str:
            return f"{name} {text}"

        return snodo.tool(name=name)(called)
    if kind == "async":
        async def waits(text: str = "") -> str:
            await asyncio.sleep(0)
            return f"{name} {text}"

        return snodo.tool(name=name)(waits)
    if kind == "resource":
        return StaticResource(f"x://{name}", text=name, name=name)
    if kind == "template":
        def read(id: str) -> str:
            return f"{name} {id}"

        return snodo.resource(f"t://{name}/{{id}}", name=name)(read)
    if kind == "prompt":
        def render(flag: bool = False) -> str:
            return name

        return snodo.prompt(name=name)(render)
    raise LookupError(kind)


@server.tool
def wrong(how: str) -> str:
    before = repr(server)
    try:
        with server.changes() as changes:
            changes.add(made("tool", "half"))
            if how == "taken":
                changes.add(made("tool", "change"))
            if how == "missing":
                changes.remove("tool", "nothing")
            if how == "overlap":
                changes.add(made("template", "m"))
                changes.add(StaticResource("t://m/1", text="", name="other"))
            if how == "raise":
                raise ConfigurationError("mine")
    except ConfigurationError as error:
        return f"{error}"
    return "accepted"


@server.tool
def blocks() -> str:
    started.set()
    assert release.wait(10)
    return "blocked"


@server.tool
async def pauses() -> str:
    started.set()
    while not release.is_set():
        await asyncio.sleep(0.01)
    return "paused"


@server.resource("slow://read")
def slow_read():
    started.set()
    assert release.wait(10)
    return "read"


@server.prompt
def slow_prompt():
    started.set()
    assert release.wait(10)
    return "prompted"


@server.prompt
def completes(word: str):
    return ""


@server.complete("completes", "word")
def slow_completion(value):
    started.set()
    assert release.wait(10)
    return ["completed"]


@server.tool
def wait_started() -> bool:
    return started.wait(10)


@server.tool
def let_go() -> None:
    release.set()


@server.tool
def remove_slow_and_add(count: int) -> None:
    with server.changes() as changes:
        for kind, name in [
            ("tool", "blocks"), ("tool", "pauses"), ("resource", "slow_read"),
            ("prompt", "slow_prompt"), ("prompt", "completes"),
        ]:
            changes.remove(kind, name)
        # In front of all others, so that every place in every table is another one now.
        for n in range(count):
            changes.add(made("tool", f"a{n}"), made("resource", f"a{n}"), made("prompt", f"a{n}"))


@server.tool
def flip(times: int) -> int:
    \"\"\"Puts one generation in the place of the other, again and again.\"\"\"
    for n in range(times):
        with server.changes() as changes:
            for kind in ("tool", "resource", "prompt"):
                for part in "abc":
                    if n:
                        changes.remove(kind, f"g{n - 1}{part}")
                    changes.add(made(kind, f"g{n}{part}"))
    with server.changes() as changes:
        for kind in ("tool", "resource", "prompt"):
            for part in "abc":
                changes.remove(kind, f"g{times - 1}{part}")
    return times


class Heavy:
    def __call__(self, text: str) -> str:
        return text


@server.tool
def forgets() -> bool:
    \"\"\"Tells whether what was removed is gone from memory too.\"\"\"
    heavy = Heavy()
    gone = weakref.ref(heavy)
    with server.changes() as changes:
        changes.add(snodo.tool(name="heavy")(heavy))
    with server.changes() as changes:
        changes.remove("tool", "heavy")
    del heavy, changes
    for _ in range(400):
        gc.collect()
        if gone() is None:
            return True
        time.sleep(0.02)
    return False


@server.tool
def removes_itself() -> str:
    with server.changes() as changes:
        changes.remove("tool", "removes_itself")
    return "gone"
"""

LISTS = {"tools/list": "tools", "resources/list": "resources", "prompts/list": "prompts"}


@pytest.fixture
def fresh(serve: Any, request: pytest.FixtureRequest) -> Any:
    """A server of this test's own, since the tests change it."""
    return serve(f"{SOURCE}\n# {request.node.name}\n")


def names(session: Any, method: str = "tools/list") -> list[str]:
    return [entry["name"] for entry in session.ask(method)[LISTS[method]]]


def change(session: Any, add: list[str] | None = None, remove: list[str] | None = None) -> Any:
    arguments = {"add": add or [], "remove": remove or []}
    return session.call("change", arguments)["structuredContent"]


def test_what_is_added_is_there_at_once(fresh: Any) -> None:
    assert "new" not in names(fresh)
    added = ["tool new", "async later", "resource new", "template made", "prompt asked"]
    assert change(fresh, add=added) == ["prompts", "resources", "tools"]
    assert {"new", "later"} < set(names(fresh))
    assert fresh.text("new", {"text": "x"}) == "new x"
    assert fresh.text("later", {"text": "x"}) == "later x"
    assert fresh.read("x://new")["text"] == "new"
    assert fresh.read("t://made/1")["text"] == "made 1"
    assert fresh.prompt("asked")[0]["content"]["text"] == "asked"
    assert fresh.complete("asked", "flag", "t")["values"] == ["true"]


def test_what_is_removed_is_gone_at_once(fresh: Any) -> None:
    change(fresh, add=["tool new", "resource new", "template made", "prompt asked"])
    removed = ["tool new", "resource new", "resource made", "prompt asked"]
    assert change(fresh, remove=removed) == ["prompts", "resources", "tools"]
    for method, params, message in (
        ("tools/call", {"name": "new"}, "Unknown tool: new"),
        ("resources/read", {"uri": "x://new"}, "Resource not found"),
        ("resources/read", {"uri": "t://made/1"}, "Resource not found"),
        ("prompts/get", {"name": "asked"}, "Unknown prompt: asked"),
    ):
        refused = fresh.refusal(method, params)
        assert (refused.code, refused.message) == (-32602, message)


def test_only_the_lists_that_read_otherwise_have_changed(fresh: Any) -> None:
    assert change(fresh, add=["resource r"]) == ["resources"]
    assert change(fresh, add=["prompt p"]) == ["prompts"]
    assert change(fresh) == []


@pytest.mark.parametrize("how", ["taken", "missing", "overlap", "raise"])
def test_nothing_changes_when_anything_is_wrong(fresh: Any, how: str) -> None:
    before = [fresh.ask(method) for method in LISTS]
    assert fresh.text("wrong", {"how": how}) != "accepted"
    assert [fresh.ask(method) for method in LISTS] == before
    assert change(fresh, add=["tool half"]) == ["tools"]


RUNNING = {
    "a plain tool": ("tools/call", {"name": "blocks"}, "blocked"),
    "a coroutine": ("tools/call", {"name": "pauses"}, "paused"),
    "a read": ("resources/read", {"uri": "slow://read"}, "read"),
    "a prompt": ("prompts/get", {"name": "slow_prompt"}, "prompted"),
    "a completion": (
        "completion/complete",
        {
            "ref": {"type": "ref/prompt", "name": "completes"},
            "argument": {"name": "word", "value": ""},
        },
        "completed",
    ),
}


@pytest.mark.parametrize("what", RUNNING)
def test_a_call_under_way_ends_as_it_began(fresh: Any, what: str) -> None:
    """Although what it is a call of is removed meanwhile, and others have its place."""
    method, params, expected = RUNNING[what]
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(fresh.ask, method, params, timeout=20)
        assert fresh.call("wait_started")["structuredContent"] is True
        fresh.call("remove_slow_and_add", {"count": 50})
        assert "blocks" not in names(fresh)
        assert not running.done()
        fresh.call("let_go")
        assert expected in json.dumps(running.result(timeout=20))
    assert fresh.refusal(method, params).code in (-32602, -32601)


def test_a_tool_may_remove_itself(fresh: Any) -> None:
    assert fresh.text("removes_itself") == "gone"
    assert fresh.refusal("tools/call", {"name": "removes_itself"}).code == -32602


def test_a_list_is_never_half_changed(fresh: Any) -> None:
    """Lists read while generations of three replace each other show all three of one."""
    done = threading.Event()
    seen: set[str] = set()

    def watch(method: str) -> None:
        while not done.is_set():
            found = [name for name in names(fresh, method) if name.startswith("g")]
            generations = {name[:-1] for name in found}
            assert len(found) in (0, 3), found
            assert len(generations) <= 1, found
            seen.update(generations)

    with ThreadPoolExecutor(4) as pool:
        watches = [pool.submit(watch, method) for method in LISTS]
        try:
            # However the threads take turns: until a generation was caught in place.
            for _ in range(50):
                flipped = fresh.call("flip", {"times": 40}, timeout=40)
                assert flipped["structuredContent"] == 40
                if seen:
                    break
        finally:
            done.set()
        for one in watches:
            one.result()
    assert not any(name.startswith("g") for name in names(fresh))
    assert seen, "no list was read in between"


def test_calls_meet_the_old_or_the_new_and_nothing_between(fresh: Any) -> None:
    done = threading.Event()
    answers: set[str] = set()

    def call(name: str) -> str:
        try:
            text: str = fresh.text(name, {"text": "x"})
        except Refusal as refused:
            return refused.message
        return text

    def caller() -> None:
        while not done.is_set():
            for n in (0, 50, 199):
                answers.add(call(f"g{n}a"))

    with ThreadPoolExecutor(4) as pool:
        callers = [pool.submit(caller) for _ in range(3)]
        try:
            fresh.call("flip", {"times": 200}, timeout=40)
        finally:
            done.set()
        for one in callers:
            one.result()
    allowed = {f"g{n}a x" for n in (0, 50, 199)} | {f"Unknown tool: g{n}a" for n in (0, 50, 199)}
    assert answers <= allowed
    assert any(answer.startswith("Unknown") for answer in answers)


def test_a_cursor_expires_with_the_list_it_is_of(serve: Any, request: Any) -> None:
    paged = SOURCE.replace("threads=32", "threads=32, page_size=3")
    session = serve(f"{paged}\n# {request.node.name}\n")
    change(session, add=[f"resource r{n}" for n in range(5)])
    tools = session.ask("tools/list")["nextCursor"]
    resources = session.ask("resources/list")["nextCursor"]
    change(session, add=["tool new"])
    refused = session.refusal("tools/list", {"cursor": tools})
    assert (refused.code, refused.message) == (-32602, "Pagination cursor has expired")
    assert session.ask("resources/list", {"cursor": resources})["resources"]


def test_capabilities_follow_what_is_offered(serve: Any, request: Any) -> None:
    session = serve(
        """
        from snodo import Server, StaticResource, prompt

        server = Server("small")


        @server.tool
        def add() -> None:
            @prompt
            def asks(flag: bool) -> str:
                return ""

            with server.changes() as changes:
                changes.add(StaticResource("x://y", text=""), asks)


        @server.tool
        def remove() -> None:
            with server.changes() as changes:
                changes.remove("prompt", "asks")
                changes.remove("resource", "x://y")
        """
    )

    def offered() -> set[str]:
        return set(session.ask("server/discover")["capabilities"])

    assert offered() == {"logging", "tools"}
    session.call("add")
    assert offered() == {"logging", "tools", "resources", "prompts", "completions"}
    session.call("remove")
    assert offered() == {"logging", "tools"}
    assert session.refusal("prompts/list", {}).code == -32601


def test_the_first_coroutine_may_come_later(serve: Any) -> None:
    """A server without coroutines runs no loop until one is added."""
    session = serve(
        """
        import asyncio
        import threading

        from snodo import Server, prompt, resource, tool

        server = Server("plain")


        @tool
        async def later(text: str) -> str:
            await asyncio.sleep(0)
            return text


        @resource("x://{id}", complete={"id": lambda value: [value]})
        async def read(id: str) -> str:
            await asyncio.sleep(0)
            return id


        @prompt
        async def asks() -> str:
            await asyncio.sleep(0)
            return "asked"


        @server.tool
        def add() -> None:
            with server.changes() as changes:
                changes.add(later)
            with server.changes() as changes:
                changes.add(read, asks)
        """
    )
    session.call("add")
    assert session.text("later", {"text": "x"}) == "x"
    assert session.read("x://1")["text"] == "1"
    assert session.prompt("asks")[0]["content"]["text"] == "asked"
    assert session.complete("x://{id}", "id", "v")["values"] == ["v"]


def test_changes_from_many_calls_are_all_kept(fresh: Any) -> None:
    with ThreadPoolExecutor(8) as pool:
        changed = list(pool.map(lambda n: change(fresh, add=[f"tool c{n}"]), range(32)))
    assert changed == [["tools"]] * 32
    assert {f"c{n}" for n in range(32)} < set(names(fresh))


def test_what_is_removed_is_forgotten(fresh: Any) -> None:
    assert fresh.call("forgets")["structuredContent"] is True


def test_changes_are_quick(fresh: Any) -> None:
    begun = time.monotonic()
    for n in range(50):
        change(fresh, add=[f"tool q{n}"])
    assert time.monotonic() - begun < 30
    assert len([name for name in names(fresh) if name.startswith("q")]) == 50
