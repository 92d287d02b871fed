"""Several processes at one address: they are replaced when they die, drain together, and a client
does not notice which of them it speaks to.
"""

from __future__ import annotations

import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from driver import (
    HttpHandshake,
    HttpReply,
    HttpServer,
    HttpSession,
    Process,
    SseHandshake,
    exchange,
    head,
    initialize,
    read_reply,
    request,
    wait_until,
)
from driver.http import mirrored

APP = """
import asyncio
import ctypes
import os
import sys

from snodo import Context, Server, elicit

server = Server("fleet", version="1.0.0", limits={"body_bytes": 1 << 20})


@server.tool
def pid() -> str:
    return str(os.getpid())


@server.tool
async def pause(seconds: float) -> str:
    print("pause begins", file=sys.stderr, flush=True)
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        print("pause cancelled", file=sys.stderr, flush=True)
        raise
    return "awake"


@server.tool
def dies(how: str) -> str:
    if how == "exit":
        os._exit(7)
    elif how == "segfault":
        ctypes.string_at(0)
    return "alive"


@server.tool
def size(text: str) -> str:
    return str(len(text))


@server.tool
def who(context: Context) -> str:
    headers = sorted(name for name in context.headers if "snodo" in name)
    return f"{context.auth} {headers}"


@server.tool
def rounds(context: Context) -> str:
    first = context.once("pid", os.getpid)
    answer = context.ask("name", elicit.form("Who?", {"type": "object", "properties": {
        "name": {"type": "string"}}, "required": ["name"]}))
    return f"{answer.value['name']} {first} {os.getpid()}"


@server.tool
def change(uri: str) -> str:
    server.notify.resource_updated(uri)
    return str(os.getpid())


@server.tool
def complete() -> str:
    server.notify.complete()
    return "done"


@server.resource("note://a")
def note() -> str:
    return "a"
"""

WORKERS = 3
NAME = {"action": "accept", "content": {"name": "Ada"}}


def is_alive(pid: int) -> bool:
    """Whether it runs; one that nobody has waited for does not."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return status not in "ZX"


def stop(pid: int) -> None:
    """Lets it stand still, each of its threads."""
    os.kill(pid, signal.SIGSTOP)
    stats = list(Path(f"/proc/{pid}/task").glob("*/stat"))
    wait_until(
        lambda: all(stat.read_text().rpartition(")")[2].split()[0] == "T" for stat in stats),
        f"{pid} standing still",
    )


def none_is_alive(pids: set[int]) -> bool:
    return not any(map(is_alive, pids))


def children(server: Process) -> set[int]:
    pid = server.popen.pid
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return {int(child) for child in found}


def pid_of(server: HttpServer) -> int:
    """The process that a new connection comes to."""
    reply = server.send(request("tools/call", {"name": "pid", "arguments": {}}))
    return int(reply.json()["result"]["content"][0]["text"])


def reached(server: HttpServer, count: int = WORKERS) -> set[int]:
    """All processes that answer, once there are so many."""
    found: set[int] = set()

    def enough() -> bool:
        found.add(pid_of(server))
        return len(found) >= count

    wait_until(enough, f"an answer of each of {count} workers", 20)
    return found


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    """Workers that no test hurts."""
    path = tmp_path_factory.mktemp("fleet") / "app.py"
    path.write_text(APP)
    server = HttpServer(path, "--workers", str(WORKERS))
    yield server
    server.close()


@pytest.fixture
def serve(write_app: Callable[[str], Path]) -> Iterator[Callable[..., HttpServer]]:
    opened: list[HttpServer] = []

    def serve(source: str = APP, *options: str, **settings: Any) -> HttpServer:
        options = options or ("--workers", str(WORKERS))
        opened.append(HttpServer(write_app(source), *options, **settings))
        return opened[-1]

    yield serve
    for server in opened:
        left = children(server) if server.popen.poll() is None else set()
        server.close()
        wait_until(partial(none_is_alive, left), "the end of all workers")


@pytest.fixture
def folder() -> Iterator[Path]:
    """For sockets, whose names have little room."""
    with TemporaryDirectory(dir="/tmp") as folder:
        yield Path(folder)


def begin(server: HttpServer, tool: str, arguments: dict[str, Any]) -> socket.socket:
    message = request("tools/call", {"name": tool, "arguments": arguments})
    body = json.dumps(message).encode()
    connection = server.connect(30)
    connection.sendall(head("POST", server.path, body, dict(mirrored(message))) + body)
    return connection


def wait_for(server: HttpServer, text: str, times: int) -> None:
    wait_until(lambda: server.log().count(text) >= times, f"{text!r} {times} times", 20)


# Beginning


def test_one_line_says_what_is_served_and_by_how_many(shared: HttpServer) -> None:
    lines = [line for line in shared.log().splitlines() if "http://" in line]
    assert len(lines) == 1
    assert re.search(r"fleet 1\.0\.0 on http://127\.0\.0\.1:\d+/mcp \(.*\), 3 workers$", lines[0])


def test_all_of_them_serve(shared: HttpServer) -> None:
    pids = reached(shared)
    assert pids == children(shared)
    assert shared.popen.pid not in pids


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_health_is_told_beside_the_endpoint(shared: HttpServer, path: str) -> None:
    assert exchange(shared, head("GET", path)).status == 200


@pytest.mark.parametrize(
    ("source", "code", "said"),
    [
        ("raise ValueError('no database')", 2, "ValueError: no database"),
        ("def broken(:", 2, "SyntaxError"),
        (
            "from snodo import Server\nserver = Server('a', version='1', limits={'x': 1})",
            1,
            "limits has no 'x'",
        ),
        ("import os\nos._exit(7)", 7, "ended with code 7 before it served"),
        ("import os\nos._exit(0)", 1, "ended with code 0 before it served"),
        (
            "import os, time\nos.fork() or time.sleep(2) or os._exit(0)\nos._exit(7)",
            7,
            "ended with code 7 before it served",
        ),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", 1, "SIGKILL before it served"),
    ],
)
def test_what_cannot_be_served_is_told_once(
    write_app: Callable[[str], Path], source: str, code: int, said: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "snodo", "serve", write_app(source), "--port=0", "--workers=3"],
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert said in done.stderr
    if code in (1, 2) and "before" not in said:
        assert (done.returncode, done.stderr.count("\n")) == (code, 1), done.stderr
    else:
        assert (done.returncode, done.stderr.count("before it served")) == (code or 1, 1)


def test_an_address_in_use_is_told_before_anything_is_started(
    shared: HttpServer, write_app: Callable[[str], Path]
) -> None:
    source = "raise ValueError('imported')"
    port = f"--port={shared.port}"
    done = subprocess.run(
        [sys.executable, "-m", "snodo", "serve", write_app(source), port, "--workers=2"],
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode == 1
    assert "in use" in done.stderr
    assert "imported" not in done.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--workers", "2", "--stdio"), "--workers is for HTTP"),
        (("--reload", "--stdio"), "--reload is for HTTP"),
        (("--host", "127.0.0.1", "--stdio"), "--host is for HTTP"),
        (("--port", "8000", "--stdio"), "--port is for HTTP"),
        (("--path", "/mcp", "--stdio"), "--path is for HTTP"),
        (("--allow-host", "a.example", "--stdio"), "--allow-host is for HTTP"),
        (("--allow-origin", "http://a.example", "--stdio"), "--allow-origin is for HTTP"),
        (("--legacy-sse", "--stdio"), "--legacy-sse is for HTTP"),
        (("--metrics", "--stdio"), "--metrics is for HTTP"),
        (("--workers", "2", "--reload"), "--reload is for development and starts one process"),
        (("--reload-dir", "."), "--reload-dir says nothing without --reload"),
        (("--reload", "--reload-dir", "nowhere"), "--reload-dir: there is no folder nowhere"),
        (("--workers", "0"), "--workers: expected a whole number from 1 to 256"),
        (("--workers", "257"), "--workers: expected a whole number from 1 to 256"),
        (("--workers", "2", "--path", "mcp"), "--path: expected a path"),
        (("--host", ""), "--host: expected a value, got nothing"),
        (("--uds", ""), "--uds: expected a value, got nothing"),
        (("--ssl-certfile", ""), "--ssl-certfile: expected a value, got nothing"),
        (("--allow-host", ""), "--allow-host: expected a name, got nothing"),
    ],
)
def test_flags_that_exclude_each_other_are_named(
    write_app: Callable[[str], Path], options: tuple[str, ...], said: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "snodo", "serve", write_app(APP), *options],
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith(f"snodo: {said}")


@pytest.mark.parametrize("options", [("--workers", "2"), ("--reload",)])
def test_an_option_that_cannot_hold_is_told_before_anything_is_started(
    write_app: Callable[[str], Path], options: tuple[str, ...]
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "snodo", "serve", write_app("raise ValueError('imported')"),
         "--port=0", "--allow-origin=app.example/x", *options],
        capture_output=True,
        text=True,
        timeout=30,
    )  # fmt: skip
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert "app.example/x" in done.stderr


def test_a_worker_that_the_others_cannot_reach_does_not_serve(
    write_app: Callable[[str], Path], folder: Path
) -> None:
    source = f"import pathlib\nfor it in pathlib.Path({str(folder)!r}).iterdir(): it.rmdir()\n{APP}"
    done = subprocess.run(
        [sys.executable, "-m", "snodo", "serve", write_app(source), "--port=0", "--workers=2"],
        env=os.environ | {"TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert "cannot listen on" in done.stderr


@pytest.mark.parametrize(
    "said", ["", "x", "1:2:3", "0:2:999:998:{parent}::/tmp", "0:2:0:1:1::/tmp"]
)
def test_a_variable_of_another_process_is_refused(
    write_app: Callable[[str], Path], said: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "snodo", "serve", write_app(APP), "--port=0"],
        env=os.environ | {"SNODO_WORKER": said.format(parent=os.getpid())},
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "SNODO_WORKER" in done.stderr


def test_one_that_cannot_start_does_not_hide_what_is_served(
    serve: Callable[..., HttpServer], tmp_path: Path
) -> None:
    lock = tmp_path / "lock"
    source = (
        f"import fcntl\nlock = open({str(lock)!r}, 'w')\n"
        f"fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)\n{APP}"
    )
    server = serve(source, "--workers", "2")
    assert "http://" in server.log()
    assert pid_of(server) in children(server)


# Dying


def test_who_dies_under_load_is_replaced_and_the_others_serve_on(
    serve: Callable[..., HttpServer], tmp_path: Path
) -> None:
    held = tmp_path / "held"
    server = serve(f"import os, time\nwhile os.path.exists({str(held)!r}): time.sleep(0.01)\n{APP}")
    before = reached(server)
    over, answered, broken = threading.Event(), Counter[int](), Counter[str]()

    threads = [
        threading.Thread(target=load, args=(server, over, answered, broken)) for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    try:
        (victim, *others) = before
        held.touch()
        os.kill(victim, signal.SIGKILL)
        wait_until(lambda: not is_alive(victim), "its end")
        served = answered.copy()
        wait_until(
            lambda: all(answered[other] > served[other] + 10 for other in others),
            "answers of those that live, while nobody has taken its place",
            20,
        )
        assert set(answered) <= before
        held.unlink()
        wait_until(lambda: set(answered) - before != set(), "an answer of a new worker", 20)
    finally:
        over.set()
        for thread in threads:
            thread.join(10)
    # What was in the hands of the one that died is lost, and no more than that.
    assert broken.total() <= 6, broken
    assert victim not in children(server)
    assert len(children(server)) == WORKERS
    server.wait_for_log(f"worker {victim} was ended by SIGKILL; another takes its place now")


def test_a_place_is_taken_within_a_second(serve: Callable[..., HttpServer]) -> None:
    server = serve()
    before = reached(server)
    took: list[float] = []
    for victim in before:
        known = reached(server)
        began = time.monotonic()
        os.kill(victim, signal.SIGKILL)
        wait_until(partial(is_another, server, known), "an answer of a new worker", 10)
        took.append(time.monotonic() - began)
    # A fifth of it on a machine with nothing else to do, so that one of three is to be in time;
    # where interpreters themselves take long to start, it takes longer too.
    assert min(took) < max(1, 10 * bare_start()), took
    wait_for(server, "another takes its place now", WORKERS)


def bare_start() -> float:
    """Seconds that an interpreter takes to begin and end, at best."""
    took = []
    for _ in range(3):
        began = time.monotonic()
        subprocess.run([sys.executable, "-S", "-c", "pass"], check=True, timeout=30)
        took.append(time.monotonic() - began)
    return min(took)


def is_another(server: HttpServer, known: set[int]) -> bool:
    """Whether a worker answers that was not there before."""
    try:
        return pid_of(server) not in known
    except (OSError, ValueError):
        return False  # it was the one that died that accepted


@pytest.mark.parametrize(("how", "said"), [("exit", "code 7"), ("segfault", "SIGSEGV")])
def test_a_tool_that_kills_its_process_costs_one_worker(
    serve: Callable[..., HttpServer], how: str, said: str
) -> None:
    server = serve(APP, "--workers", "2")
    before = reached(server, 2)
    with begin(server, "dies", {"how": how}) as connection, pytest.raises(ConnectionError):
        read_reply(connection)
    server.wait_for_log(said)
    wait_until(lambda: len(children(server)) == 2, "another worker")
    assert len(reached(server, 2) - before) == 1


def test_what_fails_at_its_start_again_and_again_is_started_ever_more_rarely(
    serve: Callable[..., HttpServer], tmp_path: Path
) -> None:
    broken = tmp_path / "broken"
    source = f"import os\nif os.path.exists({str(broken)!r}): os._exit(9)\n{APP}"
    server = serve(source)
    before = reached(server)
    broken.touch()
    victim = before.pop()
    os.kill(victim, signal.SIGKILL)
    wait_for(server, "ended with code 9", 3)
    waits = [float(wait) for wait in re.findall(r"takes its place in ([\d.]+) s", server.log())]
    assert waits == sorted(waits)
    assert len(set(waits)) == len(waits) >= 2
    assert pid_of(server) in before
    broken.unlink()
    wait_until(lambda: pid_of(server) not in before, "an answer of a new worker", 20)
    # It takes one that lives for a while to forget how often others failed.
    assert server.popen.poll() is None


def test_nothing_outlives_a_parent_that_was_killed(
    serve: Callable[..., HttpServer], folder: Path
) -> None:
    server = serve(env={"TMPDIR": str(folder)})
    workers = reached(server)
    assert list(folder.glob("snodo-*"))
    server.signal(signal.SIGKILL)
    server.wait(10)
    wait_until(partial(none_is_alive, workers), "the end of all workers", 15)
    assert not list(folder.glob("snodo-*"))
    with pytest.raises(OSError):
        server.connect(1)


# Draining


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("group", [False, True], ids=["to the parent", "to all of them"])
def test_one_signal_drains_all(serve: Callable[..., HttpServer], number: int, group: bool) -> None:
    server = serve()
    workers = reached(server)
    calls = [begin(server, "pause", {"seconds": 1.5}) for _ in range(12)]
    wait_for(server, "pause begins", len(calls))
    if group:  # as a terminal and a supervisor do it
        os.killpg(server.popen.pid, number)
    else:
        server.signal(number)
    for connection in calls:
        with connection:
            reply = read_reply(connection)
            assert reply.status == 200
            assert reply.json()["result"]["content"][0]["text"] == "awake"
    assert server.wait(10) == 0
    assert not any(map(is_alive, workers))
    assert "Traceback" not in server.log()
    assert "takes its place" not in server.log()
    with pytest.raises(OSError):
        server.connect(1)


def test_one_that_hangs_is_killed_in_the_end(serve: Callable[..., HttpServer]) -> None:
    server = serve(APP.replace("limits={", 'limits={"drain_timeout": 0.5, '))
    victim = reached(server).pop()
    stop(victim)
    server.signal(signal.SIGTERM)
    assert server.wait(15) == 0
    assert f"worker {victim} hangs" in server.log()
    assert not is_alive(victim)


def test_a_session_whose_worker_hangs_is_told_so(serve: Callable[..., HttpServer]) -> None:
    server = serve(APP, "--workers", "2")
    session = HttpHandshake(server, "2025-11-25")
    call = {"name": "pid", "arguments": {}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    with session.converse(message) as conversation:
        (answer,) = conversation.rest()[1:]
    victim = int(answer["result"]["content"][0]["text"])
    stop(victim)
    body = json.dumps(message).encode()
    connections = [server.connect(60) for _ in range(6)]
    try:
        # Those that come to the other worker are answered; the rest wait for the one that hangs.
        for connection in connections:
            connection.sendall(head("POST", server.path, body, session.headers) + body)
        ready, _, _ = select.select(connections, [], [], 60)
        assert read_reply(ready[0]).status == 504
    finally:
        os.kill(victim, signal.SIGCONT)
        for connection in connections:
            connection.close()
    server.wait_for_log("hangs")


def test_what_was_handed_over_is_drained_too(serve: Callable[..., HttpServer]) -> None:
    server = serve()
    sessions = [HttpHandshake(server, "2025-11-25") for _ in range(WORKERS)]
    call = {"name": "pause", "arguments": {"seconds": 1.5}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    calls = [session.converse(message) for session in sessions for _ in range(4)]
    wait_for(server, "pause begins", len(calls))
    streams = [session.changes() for session in sessions]
    server.signal(signal.SIGTERM)
    for conversation in calls:
        assert conversation.rest()[1]["result"]["content"][0]["text"] == "awake"
    for stream in streams:
        assert stream.wait_for_end() == []
    assert server.wait(10) == 0
    assert "before they were done" not in server.log()


def test_the_second_signal_ends_all_at_once(serve: Callable[..., HttpServer]) -> None:
    server = serve()
    workers = reached(server)
    with begin(server, "pause", {"seconds": 60}):
        server.wait_for_log("pause begins")
        server.signal(signal.SIGTERM)
        wait_until(lambda: not is_listening(server), "the end of accepting")
        server.signal(signal.SIGTERM)
        assert server.wait(8) == 128 + signal.SIGTERM
    assert not any(map(is_alive, workers))
    assert "a second signal: the workers are ended at once" in server.log()


def is_listening(server: HttpServer) -> bool:
    try:
        server.connect(1).close()
    except OSError:
        return False
    return True


def test_sighup_replaces_one_after_the_other(serve: Callable[..., HttpServer]) -> None:
    server = serve()
    before = reached(server)
    over, answered, broken = threading.Event(), Counter[int](), Counter[str]()
    threads = [
        threading.Thread(target=load, args=(server, over, answered, broken)) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    try:
        server.signal(signal.SIGHUP)
        wait_until(
            lambda: not before & children(server) and len(children(server)) == WORKERS,
            "new workers in place of all",
            30,
        )
    finally:
        over.set()
        for thread in threads:
            thread.join(10)
    # Each may send, for each worker once, while that closes what has brought nothing yet.
    assert broken.total() <= len(threads) * WORKERS, broken
    assert set(answered) - before
    assert not before & reached(server)
    done = f"SIGHUP: all {WORKERS} workers are replaced"
    wait_until(lambda: done in server.log(), "a word that it is done", 10)
    log = server.log()
    assert log.count(f"SIGHUP: replacing each of the {WORKERS} workers, one after the other") == 1
    assert "WARNING" not in log


def load(
    server: HttpServer, over: threading.Event, answered: Counter[int], broken: Counter[str]
) -> None:
    """Counts the answers of each worker, and what else came, until it is over."""
    while not over.is_set():
        try:
            answered[pid_of(server)] += 1
        except (OSError, ValueError) as error:
            broken[type(error).__name__] += 1


# Sessions


def test_a_session_is_found_whichever_worker_is_asked(shared: HttpServer) -> None:
    sessions, homes = [], set[str]()

    def spread() -> bool:
        session = HttpHandshake(shared, "2025-11-25")
        sessions.append(session)
        (home,) = {session.text("pid") for _ in range(10)}
        homes.add(home)
        return len(sessions) >= 12 and len(homes) > 1

    # Whose turn it is to take a connection is the system's to say.
    wait_until(spread, "sessions of two workers", 60)
    assert len({session.id for session in sessions}) == len(sessions)
    for session in sessions:
        session.close()
        assert session.post({"jsonrpc": "2.0", "id": 1, "method": "ping"}).status == 404


@pytest.mark.parametrize("worker", ["00", "01", "02", "03", "ff"])
@pytest.mark.parametrize("verb", ["POST", "GET", "DELETE"])
def test_a_session_that_never_was_is_not_found(shared: HttpServer, verb: str, worker: str) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "ping"} if verb == "POST" else None
    body = b"" if message is None else json.dumps(message).encode()
    headers: dict[str, str | None] = {
        "Mcp-Session-Id": "7" * 30 + worker,
        "MCP-Protocol-Version": "2025-11-25",
    }
    for _ in range(WORKERS * 2):
        reply = exchange(shared, head(verb, shared.path, body, headers) + body)
        assert reply.status == 404
        assert "initialize" in reply.json()["error"]["message"]


def test_questions_and_answers_find_their_way(shared: HttpServer) -> None:
    for _ in range(12):
        session = HttpHandshake(shared, "2025-11-25")
        asked, result = session.questioned("tools/call", {"name": "rounds"}, lambda _: NAME)
        assert len(asked) == 1
        assert result["content"][0]["text"].startswith("Ada ")
        session.close()


def test_cancels_find_their_way(serve: Callable[..., HttpServer]) -> None:
    server = serve()
    for number in range(1, 9):
        session = HttpHandshake(server, "2025-11-25")
        call = {"name": "pause", "arguments": {"seconds": 60}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        with session.converse(message):
            wait_for(server, "pause begins", number)
            session.notify("cancelled", requestId=1)
            wait_for(server, "pause cancelled", number)


def test_changes_reach_the_streams_of_sessions(shared: HttpServer) -> None:
    sessions = [HttpHandshake(shared, "2025-11-25") for _ in range(6)]
    streams = []
    for session in sessions:
        session.ask("resources/subscribe", {"uri": "note://a"})
        streams.append(session.changes())
    shared.send(request("tools/call", {"name": "change", "arguments": {"uri": "note://a"}}))
    for stream in streams:
        with stream:
            assert stream.notice()["params"]["uri"] == "note://a"


def test_a_session_ends_with_its_worker(serve: Callable[..., HttpServer]) -> None:
    server = serve()
    session = HttpHandshake(server, "2025-11-25")
    home = int(session.text("pid"))
    os.kill(home, signal.SIGKILL)
    message = {"jsonrpc": "2.0", "id": 1, "method": "ping"}

    def status() -> int | None:
        try:
            return session.post(message).status
        except OSError:
            return None  # it was the one that died that accepted

    wait_until(lambda: status() == 404, "a refusal")
    wait_until(lambda: len(children(server)) == WORKERS, "another worker")
    reached(server)
    for _ in range(WORKERS * 3):  # the one in its place has never heard of it
        assert status() == 404


def test_nobody_but_a_worker_says_who_sends_a_request(shared: HttpServer) -> None:
    session = HttpHandshake(shared, "2025-11-25")
    vouched = "eyJwcmluY2lwYWwiOiJyb290In0="  # {"principal":"root"}
    call = {"name": "who", "arguments": {}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    texts = Counter[str]()
    for _ in range(WORKERS * 6):
        with session.converse(message, {"Snodo-Vouched": vouched}) as conversation:
            answer = conversation.rest()[1]
        texts[answer["result"]["content"][0]["text"].partition(" ")[0]] += 1
    assert set(texts) == {"None"}


def test_as_many_headers_come_through_as_a_client_may_send(shared: HttpServer) -> None:
    session = HttpHandshake(shared, "2025-11-25")
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "pid"}}
    body = json.dumps(message).encode()
    own = head("POST", shared.path, body, session.headers).count(b": ")
    more = {f"X-{number}": "x" for number in range(101 - own)}
    for _ in range(WORKERS * 3):
        assert shared.post(body, session.headers | more).status == 431
    more.popitem()
    for _ in range(WORKERS * 3):
        assert shared.post(body, session.headers | more).status == 200


def test_a_session_takes_what_all_workers_let_in(serve: Callable[..., HttpServer]) -> None:
    server = serve(APP.replace("limits={", 'limits={"connections": 8, '))
    reached(server)
    session = HttpHandshake(server, "2025-11-25")
    call = {"name": "pause", "arguments": {"seconds": 60}}
    connections: list[socket.socket] = []

    def more_than_one_lets_in() -> bool:
        message = {"jsonrpc": "2.0", "id": len(connections), "method": "tools/call", "params": call}
        body = json.dumps(message).encode()
        connections.append(server.connect())
        with suppress(OSError):  # that worker had eight already
            connections[-1].sendall(head("POST", server.path, body, session.headers) + body)
        return server.log().count("pause begins") > 8

    try:
        wait_until(more_than_one_lets_in, "more calls than one worker has clients", 20)
        for connection in connections:
            with suppress(OSError):
                begun = connection.recv(100, socket.MSG_DONTWAIT)
                assert not begun or begun.startswith(b"HTTP/1.1 200"), begun
    finally:
        for connection in connections:
            connection.close()


def test_a_secret_that_was_made_up_is_for_workers_alone(serve: Callable[..., HttpServer]) -> None:
    tool = "\n@server.tool\ndef names() -> str:\n    return str(sorted(os.environ))\n"
    server = serve(APP + tool, "--workers", "2")
    reply = server.send(request("tools/call", {"name": "names", "arguments": {}}))
    assert "SNODO" not in reply.json()["result"]["content"][0]["text"]


@pytest.mark.parametrize(
    ("headers", "length", "status"),
    [
        ({}, 900_000, 200),
        ({}, 1_100_000, 413),
        ({"Content-Type": "text/plain"}, 10, 415),
        ({"Origin": "http://evil.example"}, 10, 403),
        ({"Host": "evil.example"}, 10, 403),
    ],
)
def test_what_is_handed_over_is_held_to_the_same(
    shared: HttpServer, headers: dict[str, str | None], length: int, status: int
) -> None:
    session = HttpHandshake(shared, "2025-11-25")
    call = {"name": "size", "arguments": {"text": "x" * length}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    body = json.dumps(message).encode()
    for _ in range(WORKERS * 2):
        reply: HttpReply = shared.post(body, session.headers | headers)
        assert reply.status == status


def test_a_post_box_is_found_whichever_worker_is_asked(serve: Callable[..., HttpServer]) -> None:
    server = serve(APP, "--workers", str(WORKERS), "--legacy-sse")
    for _ in range(6):
        client = SseHandshake(server)
        assert len({client.text("pid") for _ in range(6)}) == 1
        client.close()


AUTHENTICATED = """
import sys
from snodo import Context, Server
from snodo.auth import Refusal


def authenticate(request):
    print(f"asked by {request.peer[0]}", file=sys.stderr, flush=True)
    name = request.headers.get("x-name")
    return {"sub": name} if name else Refusal(message="Who?")


server = Server("fleet", version="1.0.0", authenticate=authenticate)


@server.tool
def who(context: Context) -> str:
    return context.auth["sub"]
"""


def test_who_sends_a_request_is_asked_once_and_known_to_every_worker(
    serve: Callable[..., HttpServer],
) -> None:
    server = serve(AUTHENTICATED)
    ada: dict[str, str | None] = {"X-Name": "Ada"}
    # A revision that answers in JSON, however long it takes.
    opened = server.post(json.dumps(initialize("2025-06-18")).encode(), ada)
    session = {
        "Mcp-Session-Id": opened.headers["mcp-session-id"],
        "MCP-Protocol-Version": "2025-06-18",
    }
    call = {"name": "who", "arguments": {}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    body = json.dumps(message).encode()
    forged = "eyJwcmluY2lwYWwiOnsic3ViIjoiRXZlIn19"  # {"principal":{"sub":"Eve"}}
    times = WORKERS * 4
    for _ in range(times):
        reply = server.post(body, session | ada | {"Snodo-Vouched": forged})
        assert reply.json()["result"]["content"][0]["text"] == "Ada"
    wait_for(server, "asked by 127.0.0.1", times + 1)
    assert server.log().count("asked by") == times + 1
    for _ in range(times):  # the session is Ada's, wherever it is asked for
        assert server.post(body, session | {"X-Name": "Eve"}).status == 404
        assert server.post(body, session | {"Snodo-Vouched": forged}).status == 401


# Rounds and subscriptions of the stateless revision


def test_what_one_worker_sealed_the_others_open(serve: Callable[..., HttpServer]) -> None:
    server = serve()
    session = HttpSession.__new__(HttpSession)
    super(HttpSession, session).__init__()
    session.server = server

    def crossed() -> bool:
        _, result = session.rounds("tools/call", {"name": "rounds"}, {"name": NAME})
        name, first, last = result["content"][0]["text"].split()
        assert name == "Ada"
        return bool(first != last)

    wait_until(crossed, "two rounds that come to two workers", 60)


def test_an_event_reaches_the_listeners_of_every_worker(shared: HttpServer) -> None:
    wanted = {"notifications": {"resourceSubscriptions": ["note://a"]}}
    listeners = [
        shared.converse(request("subscriptions/listen", wanted, id=number)) for number in range(9)
    ]
    for listener in listeners:
        assert listener.notice()["method"] == "notifications/subscriptions/acknowledged"
    for _ in range(3):
        call = {"name": "change", "arguments": {"uri": "note://a"}}
        shared.send(request("tools/call", call))
        for listener in listeners:
            assert listener.notice()["params"]["uri"] == "note://a"
    shared.send(request("tools/call", {"name": "complete", "arguments": {}}))
    for listener in listeners:
        assert "result" in listener.rest()[1]


# The log and the metrics


def test_metrics_are_those_of_all(serve: Callable[..., HttpServer]) -> None:
    server = serve(APP, "--workers", str(WORKERS), "--metrics")
    reached(server)
    for _ in range(WORKERS * 2):
        reply = exchange(server, head("GET", "/metrics"))
        assert reply.status == 200
        text = reply.body.decode()
        name = "snodo_requests_total"
        assert text.count(f"# TYPE {name} ") == 1
        told = re.findall(
            rf'^{name}{{worker="(\d)",.*component="pid".*}} [1-9]', text, re.MULTILINE
        )
        assert told == ["0", "1", "2"], text
        assert text.count("\nsnodo_connections{worker=") == WORKERS
    assert exchange(server, head("GET", "/metrics", headers={"Host": "evil"})).status == 403


@pytest.mark.parametrize("style", ["text", "json"])
def test_lines_of_the_log_say_which_process_wrote_them(
    serve: Callable[..., HttpServer], style: str
) -> None:
    source = f"{APP}\n@server.tool\ndef fails() -> None:\n    raise RuntimeError\n"
    server = serve(source, "--workers", "2", "--log-format", style)
    pids = reached(server, 2)
    server.send(request("tools/call", {"name": "fails", "arguments": {}}))
    log = server.wait_for_log("error id")
    (line,) = [line for line in log.splitlines() if "error id" in line and "snodo" in line]
    pid = json.loads(line)["pid"] if style == "json" else re.findall(r"snodo\[(\d+)\]:", line)[0]
    assert int(pid) in pids
