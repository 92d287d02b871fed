"""Serving from within a program: in threads, on its own loop, across forks, among its signals."""

from __future__ import annotations

import asyncio
import gc
import io
import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import urllib.request
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from driver import HttpServer, request
from driver.http import mirrored
from driver.process import wait_until
from snodo import Server


def run(source: str, timeout: float = 20) -> str:
    """What a program prints; it may hang, so it has a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(source)],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def call(tool: str) -> dict[str, Any]:
    return request("tools/call", {"name": tool})


def test_threads_that_ask_first_at_once_share_one_lifespan() -> None:
    server = Server("once", version="1.0.0")
    begun = 0

    @server.lifespan
    async def alive() -> AsyncIterator[None]:
        nonlocal begun
        begun += 1
        await asyncio.sleep(0.05)
        yield

    @server.tool
    async def ask() -> str:
        return "done"

    server._offering.runtime()
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(server.handle, [call("ask")] * 8))
    assert begun == 1
    assert all(answer is not None and "result" in answer for answer in answers)


def test_the_loop_of_a_server_that_is_no_more_is_no_more_either() -> None:
    def loops() -> set[threading.Thread]:
        return {one for one in threading.enumerate() if one.name == "snodo-loop"}

    def serve() -> threading.Thread:
        server = Server("s", version="1.0.0")

        @server.tool
        async def there() -> str:
            return "here"

        answer = server.handle(request("tools/call", {"name": "there"}))
        assert answer is not None
        assert answer["result"]["content"][0]["text"] == "here"
        (own,) = loops() - before
        return own

    before = loops()
    own = serve()

    def is_over() -> bool:
        gc.collect()
        return not own.is_alive()

    wait_until(is_over, "the end of the loop's thread", 20)


def test_a_lifespan_that_fails_is_tried_again_at_the_next_message() -> None:
    server = Server("fails", version="1.0.0")
    tried = 0

    @server.lifespan
    async def alive() -> AsyncIterator[None]:
        nonlocal tried
        tried += 1
        if tried == 1:
            raise RuntimeError("no database")
        yield

    @server.tool(timeout=5)
    async def ask() -> str:
        return "done"

    with pytest.raises(RuntimeError, match="no database"):
        server.handle(call("ask"))
    answer = server.handle(call("ask"))
    assert answer is not None
    assert "result" in answer


def test_a_state_may_look_at_the_state_when_it_goes() -> None:
    """Its finaliser runs while it is being replaced."""
    said = run(
        """
        from snodo import Context, Server

        server = Server("state", version="1.0.0")
        contexts = []

        @server.tool
        def keep(context: Context) -> str:
            contexts.append(context)
            return "kept"

        META = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        params = {"name": "keep", "_meta": META}
        server.handle({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})

        class Last:
            def __del__(self):
                print("after it:", contexts[0].state)

        runtime = server._offering.runtime()
        runtime.set_state(Last())
        runtime.set_state(5)
        """
    )
    assert said == "after it: 5\n"


def test_a_fork_of_a_process_that_served_is_told_and_does_not_hang() -> None:
    said = run(
        """
        import os
        import warnings
        from snodo import Server

        warnings.simplefilter("ignore")
        server = Server("forked", version="1.0.0")

        @server.tool
        def ask() -> str:
            return "done"

        META = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        params = {"name": "ask", "_meta": META}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        server.handle(message)
        if os.fork() == 0:
            try:
                server.handle(message)
            except RuntimeError as error:
                print(error, flush=True)
            finally:
                os._exit(0)
        os.wait()
        """
    )
    assert "forked" in said
    assert '"spawn"' in said


def test_a_server_runs_in_a_thread_and_leaves_signals_alone() -> None:
    server = Server("threaded", version="1.0.0")
    before = signal.getsignal(signal.SIGINT)
    found: list[str] = []
    started = threading.Event()

    def on_started(url: str) -> None:
        found.append(url)
        started.set()

    threading.Thread(
        target=server.run, args=["http"], kwargs={"port": 0, "on_started": on_started}, daemon=True
    ).start()
    assert started.wait(20)
    assert "result" in post(found[0], request("server/discover"))
    assert signal.getsignal(signal.SIGINT) is before


def test_one_server_is_served_every_way_at_once() -> None:
    server = Server("shared", version="1.0.0")

    @server.tool
    def plain(number: int) -> int:
        return number

    @server.tool
    async def late(number: int) -> int:
        await asyncio.sleep(0)
        return number

    urls: list[str] = []
    started = threading.Event()

    def on_started(url: str) -> None:
        urls.append(url)
        started.set()

    threading.Thread(
        target=server.run, args=["http"], kwargs={"port": 0, "on_started": on_started}, daemon=True
    ).start()
    assert started.wait(20)

    def ask(number: int) -> Any:
        params = {"name": "late" if number % 2 else "plain", "arguments": {"number": number}}
        message = request("tools/call", params)
        answer = server.handle(message) if number % 3 else post(urls[0], message)
        assert answer is not None
        return answer["result"]["structuredContent"]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(200))) == list(range(200))


FULL = """
    import os
    from snodo import Context, Error, Extension, Server, actor_call, auth
    from snodo.extension import method
    from snodo.middleware import cache, timeout
    from snodo.telemetry import logging_sink

    def held():
        return len(os.listdir("/proc/self/task")), sorted(os.listdir("/proc/self/fd"))

    class Jobs(Extension):
        id = "com.example/jobs"

        @method("jobs/get")
        def get(self, params, context):
            return {}

        async def around(self, context, operation, call_next):
            return await call_next()

    before = held()
    server = Server(
        "full",
        authorize=lambda phase, component, context: None,
        authenticate=auth.bearer({"key": "ada"}),
        middleware=[timeout(1), cache(4)],
        extensions=[Jobs()],
        instrument=[logging_sink()],
        metrics=True,
        access_log=True,
    )
    server.tool(name="plain")(lambda: "x")

    @server.tool
    async def late() -> str:
        return "x"

    @server.lifespan
    async def lifespan():
        yield

    actor_call(
        server, "call", target="nobody", input_schema={"type": "object"}, message=1,
        encode_reply=lambda reply: {},
    )
    server.asgi()
    print(held() == before)
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted in /proc")
def test_declaring_a_server_starts_nothing() -> None:
    assert run(FULL) == "True\n"


def test_running_over_http_says_where(write_app: Callable[[str], Path]) -> None:
    path = write_app(
        """
        from snodo import Server

        server = Server("told", version="1.0.0")

        @server.tool
        def ask() -> str:
            return "done"

        server.run("http", port=0)
        """
    )
    with subprocess.Popen(
        [sys.executable, str(path)], stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stderr is not None
            line = process.stderr.readline()
            assert line.startswith("snodo: told 1.0.0 on http://127.0.0.1:")
            assert line.endswith(
                "/mcp (MCP 2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05; 1 tool)\n"
            )
        finally:
            process.kill()


def test_a_server_on_a_terminal_says_how_to_serve_http(capsys: pytest.CaptureFixture[str]) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", Terminal())
        Server("typed").run()
    assert 'server.run("http")' in capsys.readouterr().err


@pytest.mark.parametrize("message", [5, None, [call("ask")]])
def test_what_is_no_message_is_refused_by_its_type(message: Any) -> None:
    with pytest.raises(TypeError, match=f"dict, str or bytes, not {type(message).__name__}"):
        Server("typed").handle(message)


def post(url: str, message: dict[str, Any]) -> dict[str, Any]:
    headers = {"Content-Type": "application/json", **mirrored(message)}
    asked = urllib.request.Request(url, json.dumps(message).encode(), headers)
    with urllib.request.urlopen(asked, timeout=10) as answer:
        found: dict[str, Any] = json.load(answer)
        return found


def test_calls_are_gone_before_the_lifespan_ends() -> None:
    server = Server("own loop", version="1.0.0", limits={"drain_timeout": 0.1})
    events: list[str] = []

    @server.lifespan
    async def alive() -> AsyncIterator[None]:
        try:
            yield
        finally:
            events.append("lifespan ends")

    async def main() -> None:
        begun, started = asyncio.Event(), asyncio.Event()
        found: list[str] = []

        @server.tool
        async def hold() -> str:
            begun.set()
            try:
                await asyncio.sleep(60)
            finally:
                events.append("call ends")
            return "never"

        def on_started(url: str) -> None:
            found.append(url)
            started.set()

        serving = asyncio.create_task(server.serve(port=0, on_started=on_started))
        await asyncio.wait_for(started.wait(), 20)
        asking = asyncio.create_task(asyncio.to_thread(post, found[0], call("hold")))
        await asyncio.wait_for(begun.wait(), 20)
        serving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await serving
        with pytest.raises(OSError):
            await asking

    asyncio.run(main())
    assert events == ["call ends", "lifespan ends"]


SIGNALLED = """
import signal
import sys

from snodo import Server

server = Server("signalled", version="1.0.0")
signal.signal(signal.SIGUSR1, lambda *_: print("told", file=sys.stderr, flush=True))
"""


def test_the_users_own_signal_handlers_run_while_serving(
    write_app: Callable[[str], Path],
) -> None:
    server = HttpServer(write_app(SIGNALLED))
    try:
        server.signal(signal.SIGUSR1)
        server.wait_for_log("told")
    finally:
        server.close()


SLOW_END = """
import asyncio
import sys

from snodo import Server

server = Server("slow end", version="1.0.0")


@server.lifespan
async def alive():
    yield
    await asyncio.sleep(1.5)
    print("closed", file=sys.stderr, flush=True)
"""


def test_a_lifespan_has_the_time_that_draining_leaves(write_app: Callable[[str], Path]) -> None:
    server = HttpServer(write_app(SLOW_END))
    try:
        server.signal(signal.SIGTERM)
        assert server.wait(20) == 0
        assert "closed" in server.log()
    finally:
        server.close()


BLOCKS = """
import sys
import time

from snodo import Server

server = Server("blocks", version="1.0.0")


@server.tool
def block() -> str:
    print("block begins", file=sys.stderr, flush=True)
    time.sleep(60)
    return "done"
"""


def test_ctrl_c_ends_a_call_from_the_shell(write_app: Callable[[str], Path]) -> None:
    path = write_app(BLOCKS)
    process = subprocess.Popen(
        [sys.executable, "-m", "snodo", "call", str(path), "block"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        assert process.stderr is not None
        assert process.stderr.readline() == b"block begins\n"
        os.kill(process.pid, signal.SIGINT)
        assert process.wait(10) == 130
    finally:
        process.kill()
        process.wait(5)
        assert process.stderr is not None
        process.stderr.close()


def test_one_who_is_cancelled_twice_leaves_nothing_to_complain_of() -> None:
    out = run(
        """
        import asyncio
        from snodo import Server

        complaints = []

        async def main():
            asyncio.get_running_loop().set_exception_handler(
                lambda loop, context: complaints.append(context["message"])
            )
            served = asyncio.Event()
            serving = asyncio.create_task(
                Server("twice").serve(port=0, on_started=lambda url: served.set())
            )
            await served.wait()
            serving.cancel()
            await asyncio.sleep(0)
            serving.cancel()
            try:
                await serving
            except asyncio.CancelledError:
                pass
            for _ in range(200):
                await asyncio.sleep(0.01)
                if complaints or "snodo-wait" not in threads():
                    break
            await asyncio.sleep(0.05)

        def threads():
            import threading
            return [one.name for one in threading.enumerate()]

        asyncio.run(main())
        print(complaints)
        """
    )
    assert out == "[]\n"
