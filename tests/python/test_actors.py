"""Actors by themselves: names, order, ends of every kind, and asks from tasks and threads."""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import gc
import itertools
import logging
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import snodo
from driver import wait_until
from snodo import Actor, ActorError, ActorName, Supervisor, ThreadActor

_names = (f"actor {number}" for number in itertools.count())


@pytest.fixture
def name() -> str:
    return next(_names)


class Counter(Actor):
    def __init__(self, count: int = 0) -> None:
        self.count = count
        self.seen: list[Any] = []

    async def handle_call(self, message: Any) -> Any:
        match message:
            case BaseException():
                raise message
            case asyncio.Event():
                await message.wait()
            case int():
                self.count += message
        return self.count

    async def handle_cast(self, message: Any) -> None:
        await self.handle_call(message)
        self.seen.append(message)


class ThreadCounter(ThreadActor):
    def __init__(self, count: int = 0) -> None:
        self.count = count
        self.seen: list[Any] = []

    def handle_call(self, message: Any) -> Any:
        match message:
            case BaseException():
                raise message
            case threading.Event():
                message.wait(10)
            case int():
                self.count += message
        return self.count

    def handle_cast(self, message: Any) -> None:
        self.handle_call(message)
        self.seen.append(message)


def reason(error: pytest.ExceptionInfo[ActorError]) -> str:
    return error.value.reason


# --- names ---------------------------------------------------------------------------------------


def test_a_name_is_held_by_one_living_actor(name: str) -> None:
    async def main() -> None:
        counter = await Counter.start(name=name)
        with pytest.raises(snodo.ConfigurationError, match="is taken"):
            Counter.start(name=name)
        with pytest.raises(snodo.ConfigurationError, match="is taken"):
            ThreadCounter.start(name=name)
        await counter.stop()
        async with Counter.start(7, name=ActorName(name)):
            assert await ActorName(name).ask(0) == 7
        with pytest.raises(ActorError) as unavailable:
            await ActorName(name).ask(0)
        assert reason(unavailable) == "unavailable"
        with pytest.raises(ActorError, match=r"^Actor target unavailable$"):
            ActorName(name).tell(0)

    asyncio.run(main())


@pytest.mark.parametrize("crashes", [False, True])
def test_the_end_of_one_takes_no_name_from_the_next(name: str, crashes: bool) -> None:
    async def main() -> None:
        first, go = Counter.start(name=name), asyncio.Event()
        first.tell(go)
        if crashes:
            first.tell(ValueError())
        over = first.stop()
        async with Counter.start(7, name=name):
            go.set()
            await over
            assert await ActorName(name).ask(0) == 7

    logging.getLogger("snodo").disabled = True
    try:
        asyncio.run(main())
    finally:
        logging.getLogger("snodo").disabled = False


@pytest.mark.parametrize("wrong", ["", None, 3, b"name"])
def test_a_name_is_a_string_that_is_not_empty(wrong: Any) -> None:
    with pytest.raises(snodo.ConfigurationError, match="a string that is not empty"):
        ThreadCounter.start(name=wrong)


@pytest.mark.parametrize("mailbox", [0, -1, 1.5, None, True])
def test_a_mailbox_has_room(name: str, mailbox: Any) -> None:
    with pytest.raises(snodo.ConfigurationError, match="mailbox"):
        ThreadCounter.start(name=name, mailbox=mailbox)


def test_start_is_the_classes_and_asking_needs_a_start() -> None:
    with pytest.raises(TypeError, match=r"Counter\.start\(\.\.\.\)"):
        Counter(3).start(name="never")
    with pytest.raises(RuntimeError, match="was not started"):
        Counter().ask(1)
    with pytest.raises(RuntimeError, match="running event loop"):
        Counter.start(name="never")


def test_handlers_are_of_the_actors_kind() -> None:
    with pytest.raises(snodo.DeclarationError, match="handle_call: must be a coroutine function"):

        class Plain(Actor):
            def handle_call(self, message: Any) -> Any: ...  # type: ignore[override]

    with pytest.raises(snodo.DeclarationError, match="handle_cast: must be a plain function") as it:

        class Coroutine(ThreadActor):
            async def handle_cast(self, message: Any) -> None: ...  # type: ignore[override]

    assert "test_actors.py:" in it.value.where


def test_a_class_that_raises_takes_no_name(name: str) -> None:
    class Broken(ThreadCounter):
        def __init__(self) -> None:
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        Broken.start(name=name)
    with ThreadCounter.start(name=name):
        pass


# --- asks and tells ------------------------------------------------------------------------------


def test_one_message_at_a_time_in_order(name: str) -> None:
    class Slow(Actor):
        def __init__(self) -> None:
            self.inside = 0
            self.seen: list[Any] = []

        async def handle_cast(self, message: Any) -> None:
            self.inside += 1
            assert self.inside == 1
            await asyncio.sleep(0)
            self.seen.append(message)
            self.inside -= 1

        async def handle_call(self, message: Any) -> Any:
            return list(self.seen)

    async def main() -> None:
        async with Slow.start(name=name) as slow:
            for number in range(300):
                slow.tell(number)
            assert await slow.ask("seen") == list(range(300))

    asyncio.run(main())


@settings(max_examples=15, deadline=None)
@given(
    senders=st.lists(st.integers(1, 40), min_size=1, max_size=5),
    thread=st.booleans(),
    pauses=st.booleans(),
)
def test_messages_of_one_sender_keep_their_order(
    senders: list[int], thread: bool, pauses: bool
) -> None:
    """Whatever the senders: threads, and the loop the actor is on."""
    name = next(_names)

    class Loop(Counter):
        async def handle_call(self, message: Any) -> Any:
            if pauses:
                await asyncio.sleep(0)
            self.seen.append(message)

        async def handle_cast(self, message: Any) -> None:
            await self.handle_call(message)

    class Thread(ThreadCounter):
        def handle_call(self, message: Any) -> Any:
            self.seen.append(message)

        def handle_cast(self, message: Any) -> None:
            self.seen.append(message)

    async def main() -> list[Any]:
        actor: Any = (Thread if thread else Loop).start(name=name)

        def send(sender: int, count: int) -> None:
            for number in range(count):
                if number % 3:
                    actor.tell((sender, number))
                else:
                    ActorName(name).ask((sender, number))

        sending = [
            asyncio.to_thread(send, sender, count) for sender, count in enumerate(senders, 1)
        ]
        send(0, 20)
        await asyncio.gather(*sending)
        await actor.stop()
        seen: list[Any] = actor.seen
        return seen

    seen = asyncio.run(main())
    for sender, count in enumerate([20, *senders]):
        assert [number for one, number in seen if one == sender] == list(range(count))
    assert len(seen) == 20 + sum(senders)


def test_asks_come_from_other_loops_and_threads(name: str) -> None:
    async def main() -> None:
        async with Counter.start(name=name) as counter:
            assert await counter.ask(1) == 1
            assert await asyncio.to_thread(lambda: counter.ask(1).wait()) == 2

            async def elsewhere() -> Any:
                return await asyncio.gather(*(counter.ask(1) for _ in range(50)))

            replies = await asyncio.to_thread(asyncio.run, elsewhere())
            assert replies == list(range(3, 53))

    asyncio.run(main())


def test_a_thread_actor_needs_no_loop(name: str) -> None:
    with ThreadCounter.start(5, name=name) as counter:
        counter.tell(1)
        assert counter.ask(1).wait() == 7
        assert counter.ask(1).wait(timeout=5) == 8
        assert asyncio.run(_asked(counter)) == 9
    with pytest.raises(ActorError, match="unavailable"):
        counter.ask(1).wait()


async def _asked(counter: Any) -> Any:
    return await counter.ask(1)


def test_waiting_where_a_loop_runs_is_refused(name: str) -> None:
    async def main() -> None:
        async with Counter.start(name=name) as counter:
            pending = counter.ask(1)
            with pytest.raises(RuntimeError, match="await it"):
                pending.wait()
            assert await pending == 1
            # It is known now, so there is nothing to wait for.
            assert pending.wait() == pending.result() == 1

    asyncio.run(main())


def test_a_deadline_bounds_the_wait_alone(name: str) -> None:
    async def main() -> None:
        async with Counter.start(name=name) as counter:
            go = asyncio.Event()
            waiting = counter.ask(go)
            with pytest.raises(ActorError) as late:
                await counter.ask(3, timeout=0.05)
            assert (reason(late), str(late.value)) == ("timed out", "Actor call timed out")
            go.set()
            assert await waiting == 0
            assert await counter.ask(0) == 3, "the message was not withdrawn"

    asyncio.run(main())


def test_a_deadline_passes_on_a_blocked_loop(name: str) -> None:
    class Blocks(Counter):
        async def handle_cast(self, message: Any) -> None:
            time.sleep(message)

    async def main() -> None:
        async with Blocks.start(name=name) as blocks:

            def ask() -> float:
                begun = time.monotonic()
                with pytest.raises(ActorError, match="timed out"):
                    blocks.ask(1, timeout=0.05).wait()
                return time.monotonic() - begun

            blocks.tell(3.0)  # handled at the next turn of the loop, and before what is asked
            assert await asyncio.to_thread(ask) < 2.5

    asyncio.run(main())


@pytest.mark.parametrize("timeout", [-1, float("nan"), float("inf")])
def test_a_timeout_is_a_time(name: str, timeout: float) -> None:
    with (
        ThreadCounter.start(name=name) as counter,
        pytest.raises(snodo.ConfigurationError, match="timeout"),
    ):
        counter.ask(1, timeout=timeout)


def test_whoever_stops_waiting_is_dropped(name: str) -> None:
    async def main() -> None:
        async with Counter.start(name=name) as counter:
            go = asyncio.Event()
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.01):
                    await counter.ask(go)
            go.set()
            assert await counter.ask(1) == 1

    asyncio.run(main())


def test_a_full_mailbox_refuses(name: str) -> None:
    began = threading.Event()

    class Says(ThreadCounter):
        def handle_call(self, message: Any) -> Any:
            began.set()
            return super().handle_call(message)

    go = threading.Event()
    with Says.start(name=name, mailbox=2) as counter:
        counter.tell(go)
        assert began.wait(20)
        counter.tell(1)
        last = counter.ask(1)
        with pytest.raises(ActorError) as full:
            counter.tell(1)
        assert (reason(full), str(full.value)) == ("full", "Actor mailbox is full")
        with pytest.raises(ActorError, match="full"):
            counter.ask(1).wait()
        go.set()
        assert last.wait() == 2


@pytest.mark.parametrize("kind", ["itself", "task", "thread", "stale"])
def test_an_actor_does_not_wait_for_itself(name: str, kind: str) -> None:
    class Selfish(Actor):
        left: Any = None

        async def handle_call(self, message: Any) -> Any:
            match message:
                case "itself":
                    return await self.ask("get")
                case "task":
                    return await asyncio.create_task(self.later(0))
                case "thread":
                    return await asyncio.to_thread(lambda: self.ask("get").wait())
                case "stale":
                    # Its own message is over by then, so it may ask as anybody may.
                    self.left = asyncio.create_task(self.later(0.05))
            return "got"

        async def later(self, seconds: float) -> Any:
            await asyncio.sleep(seconds)
            return await self.ask("get")

    async def main() -> None:
        async with Selfish.start(name=name) as selfish:
            if kind == "stale":
                assert await selfish.ask(kind) == "got"
                assert await selfish.left == "got"
                return
            with pytest.raises(ActorError) as failed:
                await selfish.ask(kind)
            assert reason(failed) == "failed"

    begun = time.monotonic()
    asyncio.run(main())
    assert time.monotonic() - begun < 4


def test_actors_that_ask_in_a_circle_fail_at_once(name: str) -> None:
    class Link(Actor):
        def __init__(self, following: list[str]) -> None:
            self.following = following

        async def handle_call(self, message: Any) -> Any:
            following, *rest = message
            try:
                return await ActorName(following).ask(rest)
            except ActorError as error:
                return error.reason

    class Threaded(ThreadActor):
        def handle_call(self, message: Any) -> Any:
            following, *rest = message
            return ActorName(following).ask(rest).wait()

    async def main() -> None:
        async with (
            Link.start([], name=f"{name} a") as first,
            Link.start([], name=f"{name} b"),
            Threaded.start(name=f"{name} c"),
        ):
            assert await first.ask([f"{name} b", f"{name} c", f"{name} a"]) == "failed"

    begun = time.monotonic()
    asyncio.run(main())
    assert time.monotonic() - begun < 4


def test_a_handler_may_tell_itself(name: str) -> None:
    class Chatty(Counter):
        async def handle_cast(self, message: int) -> None:
            self.count += 1
            if message:
                self.tell(message - 1)

    async def main() -> None:
        async with Chatty.start(name=name) as chatty:
            chatty.tell(4)
            while await chatty.ask(0) < 5:
                await asyncio.sleep(0)

    asyncio.run(main())


def test_handlers_find_asyncio_as_everywhere(name: str) -> None:
    class Modern(Actor):
        async def handle_call(self, message: Any) -> Any:
            task = asyncio.current_task()
            assert task is not None
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.01):
                    await asyncio.sleep(10)
            async with asyncio.TaskGroup() as group:
                group.create_task(asyncio.sleep(0))
            return task.get_name()

    async def main() -> None:
        async with Modern.start(name=name) as modern:
            assert await modern.ask(1) == f"snodo-actor-{name}"

    asyncio.run(main())


# --- ends ----------------------------------------------------------------------------------------


def test_what_waits_is_handled_before_the_end(name: str) -> None:
    async def main() -> None:
        counter = Counter.start(name=name)
        waiting = [counter.ask(1) for _ in range(5)]
        stopping = counter.stop()
        with pytest.raises(ActorError, match="unavailable"):
            counter.tell(1)
        # The name is free already.
        other = Counter.start(name=name)
        await stopping
        assert [pending.result() for pending in waiting] == [1, 2, 3, 4, 5]
        await counter.stop()  # again
        await other.stop()

    asyncio.run(main())


def test_an_actor_may_stop_itself(name: str) -> None:
    class Mortal(Actor):
        async def handle_call(self, message: Any) -> Any:
            await self.stop()
            return "last"

    async def main() -> None:
        mortal = Mortal.start(name=name)
        assert await mortal.ask(1) == "last"
        await mortal.stop()

    asyncio.run(main())


@pytest.mark.parametrize(
    "error",
    [
        KeyError("secret"),
        SystemExit(1),
        asyncio.CancelledError(),
        KeyboardInterrupt(),
        # A handler refuses by its reply.
        snodo.ToolError("secret"),
        snodo.Error.authorization(-32003, "secret"),
    ],
)
@pytest.mark.parametrize("kind", [Counter, ThreadCounter])
def test_a_crash_fails_everybody_and_frees_the_name(
    name: str, kind: Any, error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        counter = kind.start(name=name)
        go = threading.Event() if kind is ThreadCounter else asyncio.Event()
        counter.tell(go)
        crashing = counter.ask(error)
        queued = [counter.ask(1) for _ in range(10)]
        counter.tell(1)
        go.set()
        for pending in [crashing, *queued]:
            with pytest.raises(ActorError) as failed:
                await pending
            assert (reason(failed), str(failed.value)) == ("failed", "Actor call failed")
        await counter.stop()
        await kind.start(name=name).stop()

    with caplog.at_level(logging.ERROR, "snodo"):
        asyncio.run(main())
    assert caplog.messages == [f"actor {name!r} failed"]


def test_the_end_of_its_loop_ends_an_actor(name: str) -> None:
    waiting: list[Any] = []

    async def main() -> None:
        counter = Counter.start(name=name)
        waiting.append(counter.ask(asyncio.Event()))
        waiting.append(counter.ask(1))
        await asyncio.sleep(0.01)

    asyncio.run(main())
    for pending in waiting:
        with pytest.raises(ActorError, match="failed"):
            pending.wait(20)
    with ThreadCounter.start(name=name):
        pass


def test_a_loop_that_is_closed_without_a_word_frees_the_name(name: str) -> None:
    loop = asyncio.new_event_loop()

    async def main() -> Any:
        return Counter.start(name=name).ask(asyncio.Event())

    pending = loop.run_until_complete(main())
    loop.close()
    with pytest.raises(ActorError, match="unavailable"):
        ActorName(name).tell(1)
    with pytest.raises(ActorError, match="failed"):
        pending.wait(20)
    ThreadCounter.start(name=name).stop().wait(20)


# --- supervision ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [Counter, ThreadCounter])
def test_a_restart_is_a_new_one_with_an_empty_mailbox(name: str, kind: Any) -> None:
    async def main() -> None:
        counter = kind.start(3, name=name, supervisor=Supervisor(backoff=0.01))
        assert await counter.ask(1) == 4
        with pytest.raises(ActorError, match="failed"):
            await counter.ask(ValueError())
        # Nobody has the name meanwhile; then it is there again, from the beginning.
        while True:
            try:
                assert await counter.ask(0) == 3
                break
            except ActorError as error:
                assert error.reason == "unavailable"  # noqa: PT017 - until it is there
                await asyncio.sleep(0.001)
        assert await ActorName(name).ask(0) == 3
        await counter.stop()

    asyncio.run(main())


def test_restarts_have_a_limit_and_come_later_each_time(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        supervisor = Supervisor(3, within=60, backoff=0.01, longest=0.03)
        crashing = Counter.start(name=name, supervisor=supervisor)
        for _ in range(4):
            await _crash(crashing)
        with pytest.raises(ActorError, match="unavailable"):
            await crashing.ask(1)
        await crashing.stop()

    async def _crash(counter: Counter) -> None:
        while True:
            try:
                await counter.ask(ValueError())
            except ActorError as error:
                if error.reason == "failed":
                    return
                await asyncio.sleep(0.001)

    with caplog.at_level(logging.ERROR, "snodo"):
        asyncio.run(main())
    assert caplog.messages == [
        f"actor {name!r} failed; it is started again in 0.01 s",
        f"actor {name!r} failed; it is started again in 0.02 s",
        f"actor {name!r} failed; it is started again in 0.03 s",
        f"actor {name!r} failed; that was too often to start it again",
    ]


def test_restarts_are_forgotten_in_time(name: str, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        supervisor = Supervisor(1, within=0.05, backoff=0.001)
        crashing = Counter.start(name=name, supervisor=supervisor)
        for _ in range(3):
            with pytest.raises(ActorError, match="failed"):
                await crashing.ask(ValueError())
            await asyncio.sleep(0.1)
            while True:
                try:
                    assert await crashing.ask(1) == 1
                    break
                except ActorError as error:
                    assert error.reason == "unavailable"  # noqa: PT017 - until it is there
                    await asyncio.sleep(0.001)
        await crashing.stop()

    with caplog.at_level(logging.ERROR, "snodo"):
        asyncio.run(main())
    assert caplog.messages == [f"actor {name!r} failed; it is started again in 0.001 s"] * 3


@pytest.mark.parametrize("kind", [Counter, ThreadCounter])
def test_stopping_ends_the_wait_for_a_restart(name: str, kind: Any) -> None:
    async def main() -> None:
        counter = kind.start(name=name, supervisor=Supervisor(backoff=60, longest=60))
        with pytest.raises(ActorError, match="failed"):
            await counter.ask(ValueError())
        async with asyncio.timeout(20):
            await counter.stop()

    asyncio.run(main())


def test_a_restart_that_fails_counts_too(name: str, caplog: pytest.LogCaptureFixture) -> None:
    made = itertools.count()

    class Unlucky(ThreadCounter):
        def __init__(self) -> None:
            super().__init__()
            if next(made):
                raise OSError("no database")

    unlucky = Unlucky.start(name=name, supervisor=Supervisor(2, backoff=0.01))
    with caplog.at_level(logging.ERROR, "snodo"):
        unlucky.tell(ValueError())
        unlucky._Base__life.over.wait(20)  # type: ignore[attr-defined]
    assert len(caplog.messages) == 3
    assert caplog.messages[-1].endswith("; that was too often to start it again")
    assert next(made) == 3


@pytest.mark.parametrize(
    "options", [{"restarts": 0}, {"within": 0}, {"backoff": -1}, {"longest": "1"}]
)
def test_a_supervisors_numbers_hold(options: dict[str, Any]) -> None:
    with pytest.raises(snodo.ConfigurationError, match="supervisor"):
        Supervisor(**options)
    with pytest.raises(snodo.ConfigurationError, match="supervisor"):
        ThreadCounter.start(name="never", supervisor=object())  # type: ignore[arg-type]


# --- under load ----------------------------------------------------------------------------------


def test_a_crash_under_callers_answers_each_once(name: str) -> None:
    """Sixty-four threads ask while it crashes again and again: no ask is lost or answered twice."""
    crashes = 20
    outcomes: list[str] = []

    def ask(number: int) -> None:
        for turn in range(50):
            crash = number == 0 and turn < crashes
            try:
                ActorName(name).ask(ValueError() if crash else 1, timeout=20).wait()
                outcomes.append("reply")
            except ActorError as error:
                outcomes.append(error.reason)

    async def main() -> None:
        supervisor = Supervisor(1000, backoff=0.001, longest=0.001)
        counter = Counter.start(name=name, supervisor=supervisor)
        with concurrent.futures.ThreadPoolExecutor(64) as pool:
            loop = asyncio.get_running_loop()
            await asyncio.gather(*(loop.run_in_executor(pool, ask, n) for n in range(64)))
        await counter.stop()

    logging.getLogger("snodo").disabled = True
    try:
        asyncio.run(main())
    finally:
        logging.getLogger("snodo").disabled = False
    assert len(outcomes) == 64 * 50
    assert set(outcomes) <= {"reply", "failed", "unavailable"}


def _memory() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@pytest.fixture
def grows_little() -> Iterator[Any]:
    """Runs something many times and holds what it leaves behind to next to nothing."""

    def run(once: Any, turns: int) -> None:
        once(turns // 10)
        gc.collect()
        descriptors, threads = _descriptors(), threading.active_count()
        grown: list[int] = []
        # What is left behind adds up, unlike what the allocator takes at some time for all of them.
        while not grown or (grown[-1] >= 1 << 20 and len(grown) < 3):
            memory = _memory()
            once(turns)
            gc.collect()
            wait_until(lambda: threading.active_count() <= threads, "the end of all threads")
            grown.append(_memory() - memory)
        assert _descriptors() <= descriptors
        assert grown[-1] < 1 << 20, grown

    return run


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is counted in /proc")
def test_ten_thousand_lives_leave_nothing(grows_little: Any) -> None:
    def once(turns: int) -> None:
        async def main() -> None:
            for _ in range(turns):
                async with Counter.start(name=next(_names)) as counter:
                    await counter.ask(1)
                    counter.tell(1)

        asyncio.run(main())

    grows_little(once, 10_000)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is counted in /proc")
def test_a_thousand_threads_and_loops_leave_nothing(grows_little: Any) -> None:
    async def live() -> None:
        async with Counter.start(name=next(_names)) as counter:
            await counter.ask(1)

    def once(turns: int) -> None:
        for _ in range(turns):
            with ThreadCounter.start(name=next(_names)) as counter:
                counter.ask(1).wait()
            asyncio.run(live())

    grows_little(once, 1_000)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is counted in /proc")
def test_a_thousand_crashes_and_restarts_leave_nothing(grows_little: Any) -> None:
    def once(turns: int) -> None:
        async def main() -> None:
            name = next(_names)
            supervisor = Supervisor(turns + 1, within=1000, backoff=1e-6, longest=1e-6)
            counter = Counter.start(name=name, supervisor=supervisor)
            for _ in range(turns):
                crashing = counter.ask(ValueError())
                waiting = counter.ask(1)
                for pending in (crashing, waiting):
                    with pytest.raises(ActorError, match="failed"):
                        await pending
                while True:
                    try:
                        assert await counter.ask(1) == 1
                        break
                    except ActorError:
                        await asyncio.sleep(0)
            await counter.stop()

        asyncio.run(main())

    logging.getLogger("snodo").disabled = True
    try:
        grows_little(once, 1_100)  # more doublings than a float holds
    finally:
        logging.getLogger("snodo").disabled = False


# --- processes and the rest ----------------------------------------------------------------------

AT_THE_END = """
import sys, threading, time
from snodo import ThreadActor

class Thread(ThreadActor):
    def handle_cast(self, message):
        message()
        print("done", flush=True)

ended = threading.Event()

def forever():
    while True:
        pass

asleep = Thread.start(name="asleep")
busy = Thread.start(name="busy")
busy.tell({work})
idle = Thread.start(name="idle")
time.sleep(0.2)
print("end", flush=True)
ended.set()
"""


@pytest.mark.parametrize(
    ("work", "said"),
    [
        ("forever", "end\n"),
        ("lambda: time.sleep(60)", "end\n"),
        ("lambda: (ended.wait(), time.sleep(0.1))", "end\ndone\n"),
    ],
)
def test_a_process_ends_though_threads_of_actors_live(work: str, said: str) -> None:
    begun = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", AT_THE_END.replace("{work}", work)],
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, said, "")
    assert time.monotonic() - begun < 25


def test_an_actor_error_survives_pickling() -> None:
    error = ActorError("Actor mailbox is full", "full")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.reason) == ("Actor mailbox is full", "full")
    assert isinstance(error, snodo.ToolError)


def on_a_loop(test: Any) -> Any:
    @functools.wraps(test)
    def run(*given: Any, **named: Any) -> None:
        asyncio.run(test(*given, **named))

    return run


class Runs(Actor):
    """Does what it is sent."""

    async def handle_call(self, message: Any) -> Any:
        return await message()

    async def handle_cast(self, message: Any) -> None:
        await message()


@on_a_loop
async def test_a_circle_of_stops_ends() -> None:
    one, other = Runs.start(name=next(_names)), Runs.start(name=next(_names))
    ready = asyncio.Event()

    async def stops(whom: Runs) -> None:
        await ready.wait()
        await whom.stop()

    one.tell(lambda: stops(other))
    other.tell(lambda: stops(one))
    ready.set()
    async with asyncio.timeout(20):
        await one.stop()
        await other.stop()


@on_a_loop
async def test_a_circle_of_threads_ends() -> None:
    class Stops(ThreadActor):
        def handle_cast(self, message: Any) -> None:
            whom, both = message
            both.wait(20)
            whom.stop().wait()

    one, other = Stops.start(name=next(_names)), Stops.start(name=next(_names))
    both = threading.Barrier(2)
    one.tell((other, both))
    other.tell((one, both))
    await asyncio.wait_for(asyncio.gather(_end(one), _end(other)), 20)


async def _end(actor: Any) -> None:
    await actor.stop()


@on_a_loop
async def test_a_circle_of_asks_fails_at_once() -> None:
    actors = [Runs.start(name=next(_names)) for _ in range(3)]
    ready = asyncio.Event()

    async def asks(whom: Runs) -> Any:
        await ready.wait()
        try:
            return await whom.ask(lambda: asyncio.sleep(0, "reply"), timeout=None)
        except ActorError as error:
            return error.reason

    def asking(whom: Runs) -> Any:
        return lambda: asks(whom)

    found = [
        actor.ask(asking(actors[(at + 1) % 3]), timeout=None) for at, actor in enumerate(actors)
    ]
    ready.set()
    async with asyncio.timeout(20):
        replies = sorted([await one for one in found])
    # One of them would have closed the circle; the others have their replies then.
    assert replies == ["failed", "reply", "reply"]
    for actor in actors:
        await actor.stop()


@on_a_loop
async def test_actors_that_ask_each_other_in_turn_make_no_circle() -> None:
    one, other = Runs.start(name=next(_names)), Runs.start(name=next(_names))

    async def gives() -> str:
        return "reply"

    async def asks(whom: Runs) -> Any:
        return await whom.ask(gives)

    for _ in range(50):
        assert await one.ask(lambda: asks(other)) == "reply"
        assert await other.ask(lambda: asks(one)) == "reply"
    await one.stop()
    await other.stop()


async def _cancels_itself() -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.sleep(0)


async def _raises_generator_exit() -> None:
    raise GeneratorExit


@pytest.mark.parametrize("ends", [_cancels_itself, _raises_generator_exit])
@on_a_loop
async def test_a_handler_that_ends_its_own_task_has_crashed(
    ends: Any, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    Runs.start(name=name, supervisor=Supervisor(5, within=60, backoff=0.001))
    for _ in range(3):
        with pytest.raises(ActorError, match="failed"):
            await ActorName(name).ask(ends)
        await wait_until_lives(name)
    crashes = [record for record in caplog.records if "started again" in record.getMessage()]
    assert len(crashes) == 3


async def wait_until_lives(name: str) -> None:
    async with asyncio.timeout(20):
        while True:
            try:
                ActorName(name).tell(lambda: asyncio.sleep(0))
                return
            except ActorError:
                await asyncio.sleep(0.001)


def test_whoever_waits_for_an_actor_hears_that_its_loop_was_closed(name: str) -> None:
    loop = asyncio.new_event_loop()

    async def begin() -> Runs:
        return Runs.start(name=name)

    actor = loop.run_until_complete(begin())
    reply = actor.ask(lambda: asyncio.sleep(0), timeout=None)
    end = actor.stop()
    loop.close()
    with pytest.raises(ActorError, match="failed"):
        reply.wait(20)
    end.wait(20)


@pytest.mark.parametrize("base", [Actor, ThreadActor])
def test_an_actor_that_handles_nothing_is_not_started(base: Any) -> None:
    misspelt = type("Misspelt", (base,), {"handle_message": lambda self, message: None})
    with pytest.raises(snodo.ConfigurationError, match=r"Misspelt handles nothing: .*handle_cast"):
        misspelt.start(name="misspelt")
