"""`--reload`: what is served is what the files say, as soon as they say it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from driver import HttpServer, Process, request, wait_until

from .test_workers import children, is_alive

APP = """
import asyncio
import sys
from snodo import Server
from part import WORD

server = Server("app", version="1.0.0")


@server.tool
def word() -> str:
    return WORD


@server.tool
async def pause(seconds: float) -> str:
    print("pause begins", file=sys.stderr, flush=True)
    await asyncio.sleep(seconds)
    return "awake"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "app.py", APP)
    write(tmp_path / "part.py", "WORD = 'first'\n")
    return tmp_path


@pytest.fixture
def server(folder: Path) -> Iterator[HttpServer]:
    server = HttpServer(folder / "app.py", "--reload")
    yield server
    server.close()


def write(path: Path, text: str) -> None:
    """Writes as editors do: nobody ever sees half of it."""
    new = path.with_suffix(".new")
    new.write_text(text)
    new.replace(path)


def word(server: HttpServer) -> str | None:
    try:
        reply = server.send(request("tools/call", {"name": "word", "arguments": {}}))
    except OSError:
        return None  # it came to one that was about to end
    if reply.status != 200:
        return None
    text: str = reply.json()["result"]["content"][0]["text"]
    return text


def test_a_change_is_served(server: HttpServer, folder: Path) -> None:
    assert word(server) == "first"
    (before,) = children(server)
    for new in ("second", "third"):
        write(folder / "part.py", f"WORD = {new!r}\n")
        wait_until(lambda new=new: word(server) == new, f"{new} being served", 15)
    (after,) = children(server)
    assert before != after
    assert not is_alive(before)
    assert "part.py changed" in server.log()


def test_a_new_file_counts_and_what_is_hidden_or_installed_does_not(
    server: HttpServer, folder: Path
) -> None:
    (before,) = children(server)
    for name in (".hidden/x.py", "node_modules/x.py", "__pycache__/x.py", "venv/lib/x.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "venv" / "pyvenv.cfg").parent.mkdir(exist_ok=True)
        (folder / "venv" / "pyvenv.cfg").touch()
        (folder / name).write_text("1")
    (folder / "notes.txt").write_text("1")
    assert word(server) == "first"
    (folder / "deep").mkdir()
    write(folder / "deep" / "new.py", "1\n")
    server.wait_for_log(f"{os.path.join('deep', 'new.py')} changed")
    assert "x.py" not in server.log()
    assert "notes.txt" not in server.log()
    wait_until(lambda: children(server) not in ({before}, set()), "another process")


def test_a_mistake_is_told_and_the_next_change_mends_it(server: HttpServer, folder: Path) -> None:
    (before,) = children(server)
    write(folder / "part.py", "WORD = (\n")
    log = server.wait_for_log("waiting for a change")
    assert log.count("SyntaxError") == 1
    assert not children(server)
    assert not is_alive(before)
    write(folder / "part.py", "WORD = 'mended'\n")
    wait_until(lambda: word(server) == "mended", "mended being served", 15)


def test_a_mistake_at_the_start_waits_too(folder: Path) -> None:
    write(folder / "part.py", "WORD = (\n")
    server = Process(folder / "app.py", "--reload", "--port", "0")
    try:
        server.wait_for_log("waiting for a change")
        write(folder / "part.py", "WORD = 'mended'\n")
        server.wait_for_log("http://")
    finally:
        server.close()


def test_a_long_call_does_not_hold_a_change(server: HttpServer, folder: Path) -> None:
    message = request("tools/call", {"name": "pause", "arguments": {"seconds": 60}})
    with server.converse(message):
        server.wait_for_log("pause begins")
        write(folder / "part.py", "WORD = 'second'\n")
        wait_until(lambda: word(server) == "second", "the change being served", 15)


def test_another_folder_can_be_watched(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("other")
    server = HttpServer(folder / "app.py", "--reload", "--reload-dir", str(other))
    try:
        write(folder / "part.py", "WORD = 'second'\n")
        write(other / "any.py", "1\n")
        log = server.wait_for_log("any.py changed")
        assert "part.py changed" not in log
        wait_until(lambda: word(server) == "second", "the change being served", 15)
    finally:
        server.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_both(server: HttpServer, number: int) -> None:
    (child,) = children(server)
    server.signal(number)
    assert server.wait(10) == 0
    assert not is_alive(child)


def test_nothing_outlives_a_parent_that_was_killed(server: HttpServer) -> None:
    (child,) = children(server)
    server.signal(signal.SIGKILL)
    wait_until(lambda: not is_alive(child), "the end of the server", 15)
