"""`--uds`: the same server on a Unix socket, whose file is there as long as the server is."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from driver import HttpReply, Process, head, read_reply, request, wait_until
from driver.http import mirrored

SERVER = Path(__file__).parent / "echo_server.py"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    # The name of a socket has little room.
    short = Path(f"/tmp/snodo-test-{os.getpid()}-{abs(hash(tmp_path)) % 10**6}.sock")
    short.unlink(missing_ok=True)
    return short


@pytest.fixture
def start(path: Path) -> Iterator[Callable[..., Process]]:
    opened: list[Process] = []

    def start(*options: str) -> Process:
        opened.append(Process(SERVER, "--uds", str(path), *options))
        opened[-1].wait_for_log("http://unix:")
        return opened[-1]

    yield start
    for server in opened:
        server.close()
    path.unlink(missing_ok=True)


def send(path: Path, **headers: str | None) -> HttpReply:
    message = request("tools/call", {"name": "echo", "arguments": {"text": "hello"}})
    body = json.dumps(message).encode()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(10)
        connection.connect(str(path))
        connection.sendall(head("POST", "/mcp", body, mirrored(message) | headers) + body)
        return read_reply(connection)


def answers(path: Path) -> bool:
    try:
        return send(path).status == 200
    except OSError:  # there is no socket yet, or nobody listens on it yet
        return False


def refusal(path: Path, *options: str) -> str:
    """What is said instead of serving."""
    done = subprocess.run(
        [sys.executable, "-m", "snodo", "serve", SERVER, "--uds", path, *options],
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode in (1, 2)
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr


@pytest.mark.parametrize("options", [(), ("--workers", "2")], ids=["alone", "workers"])
def test_it_serves_and_takes_its_file_along(
    start: Callable[..., Process], path: Path, options: tuple[str, ...]
) -> None:
    server = start(*options)
    assert f" on http://unix:{path}:/mcp (" in server.log()
    assert send(path).json()["result"]["content"][0]["text"] == "hello"
    server.signal(signal.SIGTERM)
    assert server.wait(10) == 0
    assert not path.exists()


def test_a_socket_that_nobody_listens_on_gives_way(
    start: Callable[..., Process], path: Path
) -> None:
    server = start()
    server.signal(signal.SIGKILL)
    server.wait(10)
    assert path.is_socket()
    start()
    assert send(path).status == 200


def test_a_socket_in_use_stays(start: Callable[..., Process], path: Path) -> None:
    start()
    for options in ((), ("--workers", "2")):
        assert f"{path} is in use" in refusal(path, *options)
        assert send(path).status == 200


def test_anything_else_stays(path: Path) -> None:
    path.write_text("precious")
    try:
        assert f"{path} is there already and is no socket" in refusal(path)
        assert path.read_text() == "precious"
    finally:
        path.unlink()


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert "nowhere" in refusal(tmp_path / "nowhere" / "x.sock")


@pytest.mark.parametrize("options", [(), ("--workers", "2"), ("--reload",)])
def test_the_file_of_a_later_server_is_not_taken_along(
    start: Callable[..., Process], path: Path, options: tuple[str, ...]
) -> None:
    first = start(*options)
    path.unlink()
    start()
    first.signal(signal.SIGTERM)
    assert first.wait(10) == 0
    assert send(path).status == 200


def test_what_a_proxy_calls_it_is_the_proxys_affair(
    start: Callable[..., Process], path: Path
) -> None:
    start()
    assert send(path, Host="app.example").status == 200
    assert send(path, Host=None).status in (200, 400)
    assert send(path, Origin="http://evil.example").status == 403


def test_names_that_were_allowed_are_the_only_ones(
    start: Callable[..., Process], path: Path
) -> None:
    start("--allow-host", "app.example")
    assert send(path, Host="app.example").status == 200
    assert send(path, Host="evil.example").status == 403


def test_a_client_that_leaves_is_noticed(start: Callable[..., Process], path: Path) -> None:
    server = start()
    message = request("tools/call", {"name": "pause", "arguments": {"seconds": 60}})
    body = json.dumps(message).encode()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(path))
        connection.sendall(head("POST", "/mcp", body, dict(mirrored(message))) + body)
        server.wait_for_log("pause begins")
    server.wait_for_log("pause cancelled")


@pytest.mark.parametrize(
    "options",
    [("--host", "0.0.0.0"), ("--port", "1"), ("--stdio",), ("--ssl-certfile", "x.pem")],
)
def test_what_has_no_place_beside_it_is_refused(path: Path, options: tuple[str, ...]) -> None:
    assert options[0] in refusal(path, *options)
    assert not path.exists()


def test_serve_takes_it_too(path: Path) -> None:
    source = (
        "import asyncio\nfrom snodo import Server\n"
        "server = Server('echo', version='1')\n"
        "@server.tool\ndef echo(text: str) -> str: return text\n"
        f"asyncio.run(server.serve(uds={str(path)!r}, on_started=print))"
    )
    with subprocess.Popen([sys.executable, "-c", source]) as server:
        try:
            wait_until(lambda: answers(path), "an answer")
        finally:
            server.kill()
            path.unlink(missing_ok=True)


@pytest.mark.parametrize("address", [{"port": 1}, {"host": "0.0.0.0"}])
def test_an_address_has_no_place_beside_it_in_python_either(
    path: Path, address: dict[str, Any]
) -> None:
    from snodo import ConfigurationError, Server

    with pytest.raises(ConfigurationError, match="takes the place of host and port"):
        Server("echo", version="1").run("http", uds=path, **address)
    with pytest.raises(ConfigurationError, match="takes the place of host and port"):
        asyncio.run(Server("echo", version="1").serve(uds=path, **address))
    assert not path.exists()


def test_a_path_has_to_have_a_name() -> None:
    from snodo import ConfigurationError, Server

    with pytest.raises(ConfigurationError, match="needs a path"):
        Server("echo", version="1").run("http", uds="")
