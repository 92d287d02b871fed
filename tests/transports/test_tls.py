"""`--ssl-*`: the same server behind TLS, and files that are no use."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from driver import HttpReply, Process, head, read_reply, request, wait_until
from driver.http import mirrored

SERVER = Path(__file__).parent / "echo_server.py"
FILES = Path(__file__).parent.parent / "fixtures" / "tls"
PLAIN = ("--ssl-certfile", str(FILES / "server.pem"), "--ssl-keyfile", str(FILES / "server.key"))


class TlsServer(Process):
    """A server on a free port that speaks TLS."""

    def __init__(self, *options: str, target: Path = SERVER) -> None:
        super().__init__(target, "--port", "0", *(options or PLAIN))
        try:
            said = self.wait_for_log("https://")
        except BaseException:
            self.close()
            raise
        found = re.search(r"https://127\.0\.0\.1:(\d+)/mcp ", said)
        assert found, said
        self.port = int(found[1])

    def connect(self, *, client: bool = False, **settings: object) -> ssl.SSLSocket:
        context = ssl.create_default_context(cafile=str(FILES / "ca.pem"))
        for name, value in settings.items():
            setattr(context, name, value)
        context.set_alpn_protocols(["h2", "http/1.1"])
        if client:
            context.load_cert_chain(FILES / "client.pem", FILES / "client.key")
        plain = socket.create_connection(("127.0.0.1", self.port), 10)
        return context.wrap_socket(plain, server_hostname="localhost")

    def send(self, *, client: bool = False) -> HttpReply:
        with self.connect(client=client) as connection:
            return call(connection, "echo", text="hello")


def call(connection: socket.socket, tool: str, **arguments: object) -> HttpReply:
    begin(connection, tool, **arguments)
    return read_reply(connection)


def begin(connection: socket.socket, tool: str, **arguments: object) -> None:
    message = request("tools/call", {"name": tool, "arguments": arguments})
    body = json.dumps(message).encode()
    connection.sendall(head("POST", "/mcp", body, dict(mirrored(message))) + body)


@pytest.fixture(scope="module")
def shared() -> Iterator[TlsServer]:
    server = TlsServer()
    yield server
    server.close()


@pytest.fixture
def start() -> Iterator[Callable[..., TlsServer]]:
    opened: list[TlsServer] = []

    def start(*options: str, target: Path = SERVER) -> TlsServer:
        opened.append(TlsServer(*options, target=target))
        return opened[-1]

    yield start
    for server in opened:
        server.close()


def serves(server: TlsServer) -> bool:
    try:
        return server.send().status == 200
    except OSError:
        return False


def refusal(*options: str) -> str:
    """What is said instead of serving."""
    done = subprocess.run(
        [sys.executable, "-m", "snodo", "serve", SERVER, "--port=0", *options],
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode in (1, 2)
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr


def test_it_speaks_tls(shared: TlsServer) -> None:
    with shared.connect() as connection:
        assert connection.version() == "TLSv1.3"
        assert connection.selected_alpn_protocol() == "http/1.1"
        for _ in range(3):
            assert call(connection, "echo", text="x" * 100_000).status == 200


def test_an_older_client_gets_one_version_less(shared: TlsServer) -> None:
    with shared.connect(maximum_version=ssl.TLSVersion.TLSv1_2) as connection:
        assert connection.version() == "TLSv1.2"
        assert call(connection, "echo").status == 200


def test_long_answers_and_streams_arrive_whole(shared: TlsServer) -> None:
    with shared.connect() as connection:
        reply = call(connection, "big", characters=3_000_000)
        assert len(reply.json()["result"]["content"][0]["text"]) == 3_000_000


def test_who_speaks_no_tls_gets_no_answer(shared: TlsServer) -> None:
    with socket.create_connection(("127.0.0.1", shared.port), 10) as connection:
        connection.sendall(head("GET", "/healthz"))
        with contextlib.suppress(ConnectionError):
            assert b"HTTP" not in connection.recv(1000)
    assert shared.send().status == 200


def test_a_handshake_has_its_time(
    start: Callable[..., TlsServer], write_app: Callable[[str], Path]
) -> None:
    source = SERVER.read_text().replace(
        'version="1.0.0"', 'version="1.0.0", limits={"head_timeout": 2, "connections": 2}'
    )
    server = start(*PLAIN, target=write_app(source))
    silent = [socket.create_connection(("127.0.0.1", server.port), 10) for _ in range(2)]
    # They count as connections, so that there is no room for another one; and are gone in time.
    with pytest.raises(OSError):
        server.send()
    for connection in silent:
        with connection:
            assert connection.recv(1) == b""
    wait_until(lambda: serves(server), "a place for a new connection")


def test_a_client_that_leaves_is_noticed(start: Callable[..., TlsServer]) -> None:
    server = start()
    with server.connect() as connection:
        begin(connection, "pause", seconds=60)
        server.wait_for_log("pause begins")
    server.wait_for_log("pause cancelled")


def test_a_signal_lets_calls_finish(start: Callable[..., TlsServer]) -> None:
    server = start()
    with server.connect() as connection:
        begin(connection, "pause", seconds=0.7)
        server.wait_for_log("pause begins")
        server.signal(signal.SIGTERM)
        assert read_reply(connection).status == 200
    assert server.wait(10) == 0


@pytest.mark.parametrize("said", [b"", b"\x16\x03\x01"])
def test_half_a_handshake_does_not_hold_the_end(
    start: Callable[..., TlsServer], said: bytes
) -> None:
    server = start()
    with socket.create_connection(("127.0.0.1", server.port), 10) as connection:
        connection.sendall(said)
        # The next one is accepted after it.
        assert server.send().status == 200
        server.signal(signal.SIGTERM)
        # A handshake may take ten seconds.
        assert server.wait(8) == 0


def test_workers_speak_it_too(start: Callable[..., TlsServer]) -> None:
    server = start(*PLAIN, "--workers", "2")
    assert server.send().status == 200


@pytest.mark.parametrize(
    "options",
    [
        ("--ssl-certfile", str(FILES / "both.pem")),
        (
            *PLAIN[:2],
            "--ssl-keyfile",
            str(FILES / "encrypted.key"),
            "--ssl-keyfile-password",
            "sesame",
        ),
    ],
    ids=["one file", "an encrypted key"],
)
def test_keys_come_in_several_forms(
    start: Callable[..., TlsServer], options: tuple[str, ...]
) -> None:
    assert start(*options).send().status == 200


def test_clients_need_a_certificate_where_authorities_are_named(
    start: Callable[..., TlsServer],
) -> None:
    server = start(*PLAIN, "--ssl-ca-certs", str(FILES / "ca.pem"))
    with pytest.raises((ssl.SSLError, ConnectionError)):
        server.send()
    assert server.send(client=True).status == 200


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--ssl-certfile", "nowhere.pem"), "cannot read nowhere.pem: No such file"),
        ((*PLAIN[:2], "--ssl-keyfile", "nowhere.key"), "cannot read nowhere.key: No such file"),
        (("--ssl-certfile", str(SERVER)), "echo_server.py holds no certificate in PEM form"),
        (PLAIN[:2], "server.pem holds no private key in PEM form"),
        (
            (*PLAIN[:2], "--ssl-keyfile", str(FILES / "client.key")),
            "client.key is not that of the certificate in",
        ),
        (
            (*PLAIN[:2], "--ssl-keyfile", str(FILES / "encrypted.key")),
            "encrypted.key is encrypted: --ssl-keyfile-password opens it",
        ),
        (
            (
                *PLAIN[:2],
                "--ssl-keyfile",
                str(FILES / "encrypted.key"),
                "--ssl-keyfile-password",
                "wrong",
            ),
            "the password does not open the key in",
        ),
        (
            (*PLAIN[:2], "--ssl-keyfile", str(FILES / "outdated.key")),
            "is encrypted in an outdated form",
        ),
        ((*PLAIN, "--ssl-ca-certs", str(SERVER)), "echo_server.py holds no certificate"),
        (PLAIN[2:], "--ssl-keyfile says nothing without --ssl-certfile"),
        ((*PLAIN, "--stdio"), "--ssl-certfile is for HTTP"),
    ],
)
@pytest.mark.parametrize("how", [(), ("--workers", "2"), ("--reload",)])
def test_files_that_are_no_use_are_named(
    options: tuple[str, ...], said: str, how: tuple[str, ...]
) -> None:
    if "--stdio" in options and how:
        return
    text = refusal(*options, *how)
    assert said in text
    assert "BEGIN" not in text.replace("-----BEGIN CERTIFICATE-----", "").replace(
        "-----BEGIN PRIVATE KEY-----", ""
    )


def test_serve_takes_them_too() -> None:
    source = (
        "import asyncio\nfrom snodo import Server\n"
        "server = Server('echo', version='1')\n"
        "asyncio.run(server.serve(port=0, on_started=lambda url: print(url, flush=True),"
        f"ssl_certfile={str(FILES / 'both.pem')!r}))"
    )
    command = [sys.executable, "-c", source]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            url = server.stdout.readline()
            assert url.startswith("https://127.0.0.1:")
            port = int(url.split(":")[2].split("/")[0])
            context = ssl.create_default_context(cafile=str(FILES / "ca.pem"))
            with context.wrap_socket(
                socket.create_connection(("127.0.0.1", port), 10), server_hostname="localhost"
            ) as connection:
                connection.sendall(head("GET", "/healthz"))
                assert read_reply(connection).status == 200
        finally:
            server.kill()
