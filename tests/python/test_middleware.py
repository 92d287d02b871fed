"""Laws of middleware, and what is refused where it is declared."""

from __future__ import annotations

import asyncio
import itertools
import json
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import snodo
from driver import request
from snodo import Arg, DeclarationError, FileResource, Server, ToolError, middleware
from snodo._caching import Caching, Memory
from snodo._kept import MOST_ENTRIES, Kept
from snodo._layers import Place
from snodo._limiting import (
    MOST_GIVEN_UP,
    Bucket,
    Callers,
    Concurrency,
    Law,
    Patience,
    Rate,
    Running,
    Window,
)
from snodo.context import _current
from snodo.errors import Error
from snodo.middleware import cache, concurrency, rate_limit, response_limit, retry, timeout


def call(server: Server, tool: str = "f", **arguments: Any) -> dict[str, Any]:
    answer = server.handle(request("tools/call", {"name": tool, "arguments": arguments}))
    assert answer is not None
    result: dict[str, Any] = answer["result"]
    return result


def text(server: Server, tool: str = "f", **arguments: Any) -> str:
    result = call(server, tool, **arguments)
    assert result["isError"] is False, result
    found: str = result["content"][0]["text"]
    return found


# Order


def recording(log: list[str], name: str, is_async: bool) -> Callable[..., Any]:
    def plain(context: Any, arguments: Any, call_next: Any) -> Any:
        log.append(f"{name} in")
        value = call_next(context, arguments)
        log.append(f"{name} out")
        return value

    async def late(context: Any, arguments: Any, call_next: Any) -> Any:
        log.append(f"{name} in")
        value = await call_next(context, arguments)
        log.append(f"{name} out")
        return value

    return late if is_async else plain


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.booleans(), max_size=6),
    st.lists(st.booleans(), max_size=3),
    st.booleans(),
    st.sampled_from([1, None]),
)
def test_every_mixture_runs_outermost_first(
    own: Sequence[bool], servers: Sequence[bool], is_async: bool, threads: int | None
) -> None:
    log: list[str] = []
    outer = [recording(log, f"server {n}", late) for n, late in enumerate(servers)]
    inner = [recording(log, f"own {n}", late) for n, late in enumerate(own)]
    server = Server("order", middleware=outer, threads=threads)

    if is_async:

        @server.tool(name="f", middleware=inner)
        async def f(x: int) -> int:
            log.append("f")
            return x

    else:

        @server.tool(name="f", middleware=inner)
        def g(x: int) -> int:
            log.append("f")
            return x

    assert text(server, x=3) == "3"
    names = [f"server {n}" for n in range(len(servers))] + [f"own {n}" for n in range(len(own))]
    assert log == [f"{n} in" for n in names] + ["f"] + [f"{n} out" for n in reversed(names)]


def identity(is_async: bool) -> Callable[..., Any]:
    async def late(context: Any, arguments: Any, call_next: Any) -> Any:
        return await call_next()

    return late if is_async else lambda context, arguments, call_next: call_next()


@settings(deadline=None, max_examples=30)
@given(st.lists(st.booleans(), max_size=5), st.integers(0, 5), st.booleans())
def test_layers_that_do_nothing_change_nothing(
    layers: Sequence[bool], place: int, is_async: bool
) -> None:
    async def adds(context: Any, arguments: Any, call_next: Any) -> Any:
        return await call_next(context, {"x": arguments["x"] + 1}) * 2

    chain: list[Any] = [identity(late) for late in layers]
    chain.insert(place, adds)
    answers = []
    for middleware_ in ([adds], chain):
        server = Server("identity")
        if is_async:

            @server.tool(name="f", middleware=middleware_)
            async def f(x: int) -> int:
                return x

        else:
            server.tool(name="f", middleware=middleware_)(plain)
        answers.append(call(server, x=5))
    assert answers[0] == answers[1]
    assert answers[0]["structuredContent"] == 12


def plain(x: int) -> int:
    return x


def test_without_middleware_nothing_surrounds_a_component() -> None:
    server = Server("plain")
    server.tool(plain)
    assert all(
        spec.wrapper is None
        for spec in server._offering.offered(server._offering.components)["tools"]
    )
    assert server._offering._composer is None


# Where state belongs


def test_a_component_that_stays_keeps_its_state_through_changes() -> None:
    server = Server("kept", middleware=[rate_limit(1, 3600)])
    server.tool(plain)
    assert text(server, "plain", x=1) == "1"
    with server.changes() as changes:
        changes.add(snodo.tool(name="other")(plain))
    assert call(server, "plain", x=1)["content"][0]["text"] == "Component rate limit reached"
    assert text(server, "other", x=1) == "1"
    with server.changes() as changes:
        changes.remove("tool", "plain")
    with server.changes() as changes:
        changes.add(snodo.tool(name="plain")(plain))
    assert text(server, "plain", x=1) == "1"


def test_one_object_on_two_servers_counts_twice() -> None:
    one = rate_limit(1, 3600)
    for _ in range(2):
        server = Server("apart")
        server.tool(middleware=[one])(plain)
        assert text(server, "plain", x=1) == "1"


# The laws of limits

PLACE = Place("f", "tool", 0, False, Kept)


def admitted(law: Law, times: Sequence[float]) -> list[float]:
    now = 0.0
    callers = Callers(Rate(law, 1, None, lambda: now), PLACE)
    found = []
    for now in times:
        try:
            callers.plain(None, {}, lambda: None)
        except ToolError:
            continue
        found.append(now)
    return found


TIMES = st.lists(st.integers(0, 400), min_size=1, max_size=200).map(sorted)


@settings(deadline=None)
@given(TIMES, st.integers(1, 6), st.integers(1, 60), st.integers(1, 8))
def test_a_bucket_never_admits_more_than_limit_and_burst(
    times: list[int], limit: int, window: int, burst: int
) -> None:
    found = admitted(Bucket(limit, window, burst), times)
    for first in found:
        assert sum(first <= time < first + window for time in found) <= limit + burst


@settings(deadline=None)
@given(TIMES, st.integers(1, 6), st.integers(1, 60), st.integers(1, 8))
def test_a_bucket_admits_the_burst_after_a_quiet_time(
    times: list[int], limit: int, window: int, burst: int
) -> None:
    law = Bucket(limit, window, burst)
    quiet = times[-1] + window * burst / limit + window
    found = admitted(law, [*times, *[quiet] * (burst + 1)])
    assert sum(time == quiet for time in found) == burst


@settings(deadline=None)
@given(TIMES, st.integers(1, 6), st.integers(1, 60))
def test_a_fixed_window_admits_the_limit_and_no_more(
    times: list[int], limit: int, window: int
) -> None:
    found = admitted(Window(limit, window), times)
    began = -float(window)
    count = 0
    expected = []
    for now in times:
        if now - began >= window:
            began, count = now, 0
        if count < limit:
            expected.append(now)
            count += 1
    assert found == expected


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 30)), max_size=100),
    st.integers(1, 5),
    st.sampled_from([Window(2, 10), Bucket(2, 10, 2)]),
)
def test_no_more_callers_are_remembered_than_allowed(
    calls: list[tuple[int, int]], most: int, law: Law
) -> None:
    now = 0.0
    callers = Callers(Rate(law, most, lambda who: who, lambda: now), PLACE)
    for who, passes in calls:
        now += passes
        with suppress(ToolError):
            callers.plain(who, {}, lambda: None)
        assert len(callers._states) <= most
        assert {key for _, key in callers._ends} == callers._states.keys()
        assert len(callers._ends) == len(callers._states)


def test_who_finds_no_room_is_refused_at_a_glance() -> None:
    looks = 0

    class Counting(Window):
        def ends(self, state: Any) -> float:
            nonlocal looks
            looks += 1
            return super().ends(state)

    now = 0.0
    callers = Callers(Rate(Counting(1, 60), 500, lambda who: who, lambda: now), PLACE)
    for who in range(500):
        now += 0.1
        callers.plain(who, {}, lambda: None)
    looks = 0
    for who in range(500, 600):
        with pytest.raises(ToolError, match="Component rate key capacity reached"):
            callers.plain(who, {}, lambda: None)
    assert looks == 0
    now = 60.15  # the first has had its time
    callers.plain(600, {}, lambda: None)
    assert looks < 5
    with pytest.raises(ToolError, match="capacity"):
        callers.plain(601, {}, lambda: None)


@settings(deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 3)), max_size=60), st.integers(1, 3))
def test_permits_are_counted_by_key_and_all_come_back(
    steps: list[tuple[bool, int]], limit: int
) -> None:
    running = Running(Concurrency(limit, lambda who: who), PLACE)
    model: dict[int, int] = {}
    held: dict[int, list[str]] = {}
    for takes, who in steps:
        if takes and model.get(who, 0) < limit:
            held.setdefault(who, []).append(running._take(who))
            model[who] = model.get(who, 0) + 1
        elif takes:
            with pytest.raises(ToolError, match="Component concurrency limit reached"):
                running._take(who)
        elif model.get(who):
            running._release(held[who].pop())
            model[who] -= 1
    for each in held.values():
        for key in each:
            running._release(key)
    assert running._counts == {}


def test_a_time_limit_that_is_left_waits_for_the_end_of_what_it_began() -> None:
    ended: list[str] = []

    async def tidies() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.01)
            ended.append("tidied")

    async def main() -> None:
        task = asyncio.create_task(Patience(60, PLACE).late(None, {}, tidies))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended == ["tidied"]

    asyncio.run(main())


# The laws of memory


CONTEXT = SimpleNamespace(
    check_cancelled=lambda: None, method="tools/call", _would_send=lambda value: True
)


def calls_of(memory: Memory, name: str, call_next: Callable[[], Any]) -> Any:
    return memory.plain(name, CONTEXT, call_next)


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 4)), max_size=80),
    st.integers(1, 4),
)
def test_a_value_is_given_until_its_time_is_over(calls: list[tuple[int, int]], most: int) -> None:
    now = 0
    memory = Memory(Caching(10, None, most, lambda: now), PLACE)
    made: dict[int, tuple[int, int]] = {}  # by name, the most recently given last
    numbers = itertools.count()
    for name, passes in calls:
        now += passes
        known = made.pop(name, None)
        if known is not None and now < known[0]:
            expected = known[1]
            made[name] = known
        else:
            expected = next(numbers)
            made[name] = (now + 10, expected)
            if len(made) > most:
                del made[next(iter(made))]
        value = expected
        assert calls_of(memory, str(name), lambda value=value: value) == expected
        assert len(memory._values) <= most
        assert memory._flights == {}


@settings(deadline=None, max_examples=20)
@given(st.lists(st.integers(0, 2), min_size=1, max_size=12))
def test_one_call_is_made_for_all_who_wait(names: list[int]) -> None:
    memory = Memory(Caching(60, None, 10, lambda: 0.0), PLACE)
    counts: dict[int, int] = {}
    go = threading.Event()

    def make(name: int) -> int:
        counts[name] = counts.get(name, 0) + 1
        assert go.wait(10)
        return name

    with ThreadPoolExecutor(len(names)) as pool:
        running = [pool.submit(calls_of, memory, str(n), lambda n=n: make(n)) for n in names]
        go.set()
        assert [one.result(timeout=10) for one in running] == names
    assert counts == dict.fromkeys(names, 1)


@settings(deadline=None, max_examples=20)
@given(st.integers(1, 12), st.integers(0, 3))
def test_who_is_cancelled_leaves_the_others_their_value(waiting: int, cancelled: int) -> None:
    memory = Memory(Caching(60, None, 10, lambda: 0.0), PLACE)

    async def main() -> None:
        go = asyncio.Event()
        made = 0

        async def make() -> str:
            nonlocal made
            made += 1
            await go.wait()
            return "value"

        tasks = [asyncio.ensure_future(memory.late("a", CONTEXT, make)) for _ in range(waiting)]
        await asyncio.sleep(0)
        for task in tasks[:cancelled]:
            task.cancel()
        await asyncio.sleep(0)
        go.set()
        results = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 10)
        assert results[cancelled:] == ["value"] * max(waiting - cancelled, 0)
        # The first leaves at once; whoever is left makes it anew.
        assert made <= 2

    asyncio.run(main())


class Fussy(Exception):
    """Cannot be made of its arguments."""

    def __init__(self, part: str, *, whole: str) -> None:
        super().__init__(f"{part} of {whole}")
        self.part = part


@pytest.mark.parametrize("error", [KeyError("x"), Fussy("a", whole="b"), Error(-32010, "no")])
def test_a_failure_that_many_wait_for_has_one_short_traceback(error: Exception) -> None:
    memory = Memory(Caching(60, None, 10, lambda: 0.0), PLACE)

    async def main() -> None:
        go = asyncio.Event()

        async def fail() -> None:
            await go.wait()
            raise error

        tasks = [asyncio.ensure_future(memory.late("a", CONTEXT, fail)) for _ in range(20)]
        await asyncio.sleep(0)
        go.set()
        for task in tasks:
            with pytest.raises(type(error)) as caught:
                await asyncio.wait_for(task, 10)
            assert caught.value.args == error.args
            assert vars(caught.value) == vars(error)
            assert len(caught.traceback) < 12

    asyncio.run(main())


class Locked:
    """Cannot be copied."""

    def __init__(self) -> None:
        self._lock = threading.Lock()


@pytest.mark.parametrize("make", [Locked, lambda: ToolError("x")])
def test_what_no_copy_can_be_made_of_is_not_kept(make: Callable[[], Any]) -> None:
    memory = Memory(Caching(60, None, 10, lambda: 0.0), PLACE)
    if make is not Locked:
        memory._would_send = lambda context, value: False  # type: ignore[method-assign]
    values = [make(), make()]
    assert [calls_of(memory, "a", lambda value=value: value) for value in values] == values


def test_a_clock_that_fails_leaves_nobody_waiting() -> None:
    times = iter([0.0])
    memory = Memory(Caching(60, None, 10, lambda: next(times)), PLACE)
    calls_of(memory, "a", lambda: 1)
    with pytest.raises(StopIteration):
        calls_of(memory, "b", lambda: 1)
    assert memory._flights == {}


def test_what_is_kept_has_an_end() -> None:
    now = 0.0
    kept = Kept(lambda: now)
    context: Any = SimpleNamespace(auth={"name": "ada"})
    uris = [kept.keep(context, str(n), "text/plain", 1, 60) for n in range(MOST_ENTRIES + 5)]
    names = [uri.rpartition("/")[2] for uri in uris]
    token = _current.set(context)
    try:
        assert len(set(uris)) == len(uris)
        with pytest.raises(Error, match="Resource not found"):
            kept.read(names[4])
        assert kept.read(names[5]) == {"mimeType": "text/plain", "text": "5"}
        _current.set(SimpleNamespace(auth={"name": "bob"}))  # type: ignore[arg-type]
        with pytest.raises(Error, match="Resource not found"):
            kept.read(names[5])
        _current.set(context)
        now = 60.0
        with pytest.raises(Error, match="Resource not found"):
            kept.read(names[-1])
        huge = kept.keep(context, "a", "text/plain", 60 << 20, 60)
        assert kept._entries.keys() == {huge.rpartition("/")[2]}
        kept.keep(context, "b", "text/plain", 10 << 20, 60)
        assert len(kept._entries) == 1
    finally:
        _current.reset(token)


# What is refused


def test_a_servers_middleware_is_checked_with_the_server() -> None:
    for wrong, words in (
        ([3], "middleware.0: is no middleware"),
        (lambda a, b, c: 1, "must be a list"),
        ([(lambda a, b, c, d: 1, {"slot": 1})], "middleware.0.options.slot: is a reserved option"),
    ):
        with pytest.raises(DeclarationError) as caught:
            Server("shop", middleware=wrong)  # type: ignore[arg-type]
        assert words in str(caught.value)
        assert "test_middleware.py:" in caught.value.where
        assert caught.value.component == "server 'shop'"


@pytest.mark.parametrize(
    "maker", [cache, concurrency, rate_limit, response_limit, retry, snodo.middleware.timeout]
)
def test_ready_made_middleware_has_to_be_called(maker: Any) -> None:
    with pytest.raises(DeclarationError) as caught:
        Server("shop", middleware=[maker])
    name = maker.__name__
    assert f"middleware.0: is {name} uncalled" in str(caught.value)
    assert f"call it: {name}(...)" in str(caught.value)


@pytest.mark.parametrize("base", [snodo.Tool, snodo.Resource, snodo.Prompt])
def test_a_class_is_checked_when_it_is_made(base: Any) -> None:
    methods = {snodo.Tool: "call", snodo.Resource: "read", snodo.Prompt: "render"}
    body = {"name": "x", "uri": "x://y", methods[base]: lambda self, a, b: "", "middleware": [3]}
    with pytest.raises(DeclarationError, match=r"middleware\.0"):
        type("Wrong", (base,), body)


@pytest.mark.parametrize(
    ("make", "path"),
    [
        (lambda: timeout(0), "seconds"),
        (lambda: timeout(True), "seconds"),
        (lambda: timeout(float("nan")), "seconds"),
        (lambda: concurrency(0), "limit"),
        (lambda: concurrency(1.0), "limit"),  # type: ignore[arg-type]
        (lambda: concurrency(1, "me"), "key"),  # type: ignore[arg-type]
        (lambda: rate_limit(0), "limit"),
        (lambda: rate_limit(1, 0), "window"),
        (lambda: rate_limit(1, 1, 0), "max_keys"),
        (lambda: rate_limit(method="leaky"), "method"),  # type: ignore[arg-type]
        (lambda: rate_limit(burst=3), "burst"),
        (lambda: rate_limit(burst=0, method="gcra"), "burst"),
        (lambda: retry(0), "attempts"),
        (lambda: retry(on=()), "on"),
        (lambda: retry(on=KeyboardInterrupt), "on"),  # type: ignore[arg-type]
        (lambda: retry(backoff=-1), "backoff"),
        (lambda: cache(0), "ttl"),
        (lambda: cache(1, max_entries=0), "max_entries"),
        (lambda: response_limit(), "max_chars"),
        (lambda: response_limit(10, max_bytes=10), "max_chars"),
        (lambda: response_limit(10, head=8, tail=3), "head"),
        (lambda: response_limit(10, keep=0), "keep"),
    ],
)
def test_options_that_cannot_hold_are_refused(make: Callable[[], Any], path: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        make()
    assert caught.value.path == path
    assert "test_middleware.py:" in caught.value.where


def test_no_number_of_attempts_is_too_many_for_the_pauses_between_them() -> None:
    server, runs = Server("s", version="1"), itertools.count(1)

    @server.tool(middleware=[retry(1100, backoff=0)])
    def f() -> str:
        if next(runs) < 1100:
            raise ConnectionError
        return "at last"

    assert text(server) == "at last"


def test_a_key_is_no_coroutine_function() -> None:
    async def key(context: Any) -> str:
        return ""

    with pytest.raises(DeclarationError, match="key: must be a plain function"):
        concurrency(key=key)


def test_only_a_tool_has_a_result_with_links() -> None:
    server = Server("links", middleware=[response_limit(10)])
    with pytest.raises(DeclarationError, match="response_limit is for tools"):
        server.prompt(name="p", middleware=[response_limit(10)])(lambda: "")
    server.resource("x://a", name="a")(lambda: "x" * 100)
    answer = server.handle(request("resources/read", {"uri": "x://a"}))
    assert answer is not None
    assert answer["result"]["contents"][0]["text"] == "x" * 100


def test_no_template_is_offered_for_nothing() -> None:
    server = Server("none", middleware=[timeout(1)])
    server.tool(plain)
    answer = server.handle(request("resources/templates/list"))
    assert answer is not None
    assert "result" not in answer or answer["result"]["resourceTemplates"] == []


def test_a_validator_of_ones_own_is_asked_again() -> None:
    class Small:
        def validate(self, instance: Any, schema: Any) -> bool:
            return bool(instance.get("x", 0) < 10) if isinstance(instance, dict) else True

    def grows(context: Any, arguments: Any, call_next: Any) -> Any:
        return call_next(context, {"x": arguments["x"] + 8})

    server = Server("own", validator=Small())
    server.tool(middleware=[grows])(plain)
    assert text(server, "plain", x=1) == "9"
    assert call(server, "plain", x=2)["isError"] is True
    assert "error id" in call(server, "plain", x=2)["content"][0]["text"]
    assert "error id" not in call(server, "plain", x=11)["content"][0]["text"]


def test_null_means_absent_in_changed_arguments_too() -> None:
    def forgets(context: Any, arguments: Any, call_next: Any) -> Any:
        return call_next(context, {**arguments, "limit": None})

    server = Server("null")

    @server.tool(middleware=[forgets])
    def f(x: int, limit: int | None = None, most: Annotated[int, Arg(ge=1)] = 3) -> str:
        return f"{x} {limit} {most}"

    assert text(server, x=1, limit=5) == "1 None 3"
    answer = call(server, x=1, limit="no")
    assert answer["isError"] is True


def test_files_are_surrounded_too(tmp_path: Path) -> None:
    def shouts(context: Any, arguments: Any, call_next: Any) -> Any:
        value = call_next()
        seen.append((arguments, value))
        return value

    seen: list[Any] = []
    (tmp_path / "a.txt").write_text("hello")
    server = Server("files", middleware=[shouts])
    server.add(FileResource(tmp_path / "a.txt", uri="x://a"))
    answer = server.handle(request("resources/read", {"uri": "x://a"}))
    assert answer is not None
    assert answer["result"]["contents"][0]["text"] == "hello"
    assert seen == [({}, "hello")]


def test_what_was_given_up_and_runs_on_is_bounded() -> None:
    server = Server("stuck", threads=100)
    go = threading.Event()

    @server.tool(middleware=[timeout(0.05)])
    def f() -> str:
        go.wait(50)
        return "late"

    # On a busy machine one may be given up before it begins; that one is gone.
    answers = [call(server)["content"][0]["text"] for _ in range(MOST_GIVEN_UP)]
    while answers[-1] == "Component timed out" and len(answers) < 4 * MOST_GIVEN_UP:
        answers.append(call(server)["content"][0]["text"])
    assert answers[-1] == "Component timeout worker unavailable"
    assert set(answers[:-1]) == {"Component timed out"}
    go.set()
    for _ in range(500):
        if call(server)["content"][0]["text"] == "late":
            break
        time.sleep(0.01)
    else:
        raise AssertionError("it stays refused")


def test_the_names_are_these() -> None:
    assert sorted(middleware.__all__) == middleware.__all__
    assert json.dumps(middleware.__all__) == (
        '["cache", "concurrency", "rate_limit", "response_limit", "retry", "timeout"]'
    )


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("wrapped_async", [False, True])
def test_as_many_as_nobody_has_do_not_end_the_process(is_async: bool, wrapped_async: bool) -> None:
    server = Server("deep")
    wrappers = [recording([], "w", is_async)] * 500

    if wrapped_async:

        @server.tool(middleware=wrappers)
        async def f() -> str:
            return "below"
    else:

        @server.tool(name="f", middleware=wrappers)
        def g() -> str:
            return "below"

    # Python itself counts how deep it is, and says so before the stack ends.
    answer = server.handle(request("tools/call", {"name": "f", "arguments": {}}))
    assert answer is not None
    assert text_of(answer) == "below" or "failed" in text_of(answer)


def text_of(answer: dict[str, Any]) -> str:
    found: str = answer["result"]["content"][0]["text"]
    return found
