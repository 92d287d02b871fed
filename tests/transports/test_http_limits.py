"""Bodies and heads that are too large, too slow, too many or not HTTP; the server goes on."""

from __future__ import annotations

import contextlib
import json
import resource
import select
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from driver import HttpServer, exchange, head, read_reply, request, wait_until

SERVER = Path(__file__).parent / "echo_server.py"
LIST = json.dumps(request("tools/list")).encode()
HEADERS: dict[str, str | None] = {
    "MCP-Protocol-Version": "2026-07-28",
    "Mcp-Method": "tools/list",
}
CALL: dict[str, str | None] = HEADERS | {"Mcp-Method": "tools/call", "Mcp-Name": "size"}

# Sooner than a server that was told no time, however slow the machine is.
BY_DEFAULT = 8

IMPATIENT = """
from snodo import Server

server = Server(
    "impatient",
    version="1.0.0",
    limits={"head_timeout": 1.0, "body_timeout": 1.0, "body_bytes": 1000},
)

@server.tool
def size(text: str) -> str:
    return str(len(text))
"""


@pytest.fixture(scope="module")
def server() -> Iterator[HttpServer]:
    server = HttpServer(SERVER)
    yield server
    server.close()


@pytest.fixture(scope="module")
def impatient(write_app: Callable[[str], Path]) -> Iterator[HttpServer]:
    server = HttpServer(write_app(IMPATIENT))
    yield server
    server.close()


@pytest.fixture(autouse=True)
def the_server_goes_on(server: HttpServer) -> Iterator[None]:
    yield
    assert server.post(LIST, HEADERS).status == 200


def sized(length: int) -> bytes:
    """A call of exactly `length` bytes."""
    empty = json.dumps(request("tools/call", {"name": "size", "arguments": {"text": ""}})).encode()
    return empty.replace(b'"text": ""', b'"text": "' + b"x" * (length - len(empty)) + b'"')


def closed_within(connection: socket.socket, seconds: float) -> bytes:
    """What arrives up to the end of the connection, which must come in time."""
    connection.settimeout(seconds)
    received = bytearray()
    try:
        while chunk := connection.recv(65536):
            received += chunk
    except TimeoutError:
        raise AssertionError(
            f"still open after {seconds} s; received {bytes(received)!r}"
        ) from None
    except ConnectionResetError:
        pass
    return bytes(received)


def peak_memory(server: HttpServer) -> int:
    """The most the process ever held, in MiB."""
    status = Path(f"/proc/{server.popen.pid}/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) // 1024


def chunked(body: bytes, size: int) -> bytes:
    parts = [body[start : start + size] for start in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def test_a_body_of_exactly_the_limit_is_served(impatient: HttpServer) -> None:
    assert impatient.post(sized(1000), CALL).status == 200


def test_one_byte_more_is_413(impatient: HttpServer) -> None:
    reply = impatient.post(sized(1001), CALL)
    assert reply.status == 413
    body = reply.json()
    assert body["error"]["code"] == -32600
    assert "id" not in body
    assert impatient.post(sized(1000), CALL).status == 200


def test_four_mebibytes_are_served_by_default(server: HttpServer) -> None:
    assert server.post(sized(4 << 20), CALL).status == 200


def test_five_megabytes_are_refused(server: HttpServer) -> None:
    assert server.post(sized(5_000_000), CALL).status == 413


def test_a_hundred_megabytes_are_refused_without_being_held(server: HttpServer) -> None:
    block = b"x" * 1_000_000
    with server.connect() as connection:
        connection.sendall(head("POST", "/mcp", headers=CALL | {"Content-Length": "100000000"}))
        try:
            for _ in range(100):
                connection.sendall(block)
                if select.select([connection], [], [], 0)[0]:
                    break
        except (BrokenPipeError, ConnectionResetError):
            pass
        assert read_reply(connection).status == 413
    assert peak_memory(server) < 150


def test_a_chunked_body_is_served(server: HttpServer) -> None:
    raw = head(
        "POST", "/mcp", headers=HEADERS | {"Content-Length": None, "Transfer-Encoding": "chunked"}
    )
    assert exchange(server, raw + chunked(LIST, 7)).status == 200


def test_a_chunked_body_is_bounded_too(server: HttpServer) -> None:
    headers = CALL | {"Content-Length": None, "Transfer-Encoding": "chunked"}
    with server.connect() as connection:
        connection.sendall(head("POST", "/mcp", headers=headers))
        piece = b"%x\r\n%s\r\n" % (1 << 20, b"x" * (1 << 20))
        try:
            for _ in range(100):
                connection.sendall(piece)
                if select.select([connection], [], [], 0)[0]:
                    break
        except (BrokenPipeError, ConnectionResetError):
            pass
        assert read_reply(connection).status == 413
    assert peak_memory(server) < 150


@pytest.mark.parametrize("brackets", [b"[]", b'{"a":}'])
def test_a_hundred_thousand_levels_are_a_parse_error(server: HttpServer, brackets: bytes) -> None:
    opening, closing = brackets[:-1], brackets[-1:]
    body = opening * 100_000 + (b"1" if b":" in opening else b"") + closing * 100_000
    reply = server.post(body, HEADERS)
    assert (reply.status, reply.json()["error"]["code"]) == (400, -32700)


def test_unclosed_levels_are_a_parse_error(server: HttpServer) -> None:
    reply = server.post(b"[" * 1_000_000, HEADERS)
    assert (reply.status, reply.json()["error"]["code"]) == (400, -32700)


@pytest.mark.parametrize("length", ["+5", "-1", "abc", "5, 6"])
def test_a_malformed_length_is_400(server: HttpServer, length: str) -> None:
    with server.connect() as connection:
        connection.sendall(head("POST", "/mcp", headers=HEADERS | {"Content-Length": length}))
        assert read_reply(connection).status == 400


def test_two_lengths_that_differ_are_400(server: HttpServer) -> None:
    raw = head("POST", "/mcp", LIST, HEADERS)
    reply = exchange(server, raw[:-2] + b"Content-Length: 5\r\n\r\n" + LIST)
    assert reply.status == 400


@pytest.mark.parametrize(
    "raw",
    [
        b"hello\r\n\r\n",
        b"POST /mcp\r\nHost: localhost\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nno colon here\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
    ids=["no request line", "no version", "no colon", "TLS"],
)
def test_what_is_not_http_is_400_or_closed(server: HttpServer, raw: bytes) -> None:
    with server.connect() as connection:
        connection.sendall(raw)
        connection.shutdown(socket.SHUT_WR)
        answer = closed_within(connection, BY_DEFAULT)
    assert answer == b"" or answer.split()[1] == b"400"


def test_a_head_over_32_kib_is_431(server: HttpServer) -> None:
    raw = head("POST", "/mcp", LIST, HEADERS | {"X-Filler": "x" * 40_000})
    with server.connect() as connection:
        connection.sendall(raw)
        assert read_reply(connection).status == 431


def test_very_many_headers_are_431(server: HttpServer) -> None:
    raw = head("POST", "/mcp", LIST, HEADERS | {f"X-{n}": "x" for n in range(5000)})
    with server.connect() as connection:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            connection.sendall(raw)
        assert read_reply(connection).status == 431


def test_a_stalled_body_is_408(impatient: HttpServer) -> None:
    with impatient.connect() as connection:
        begun = time.monotonic()
        connection.sendall(head("POST", "/mcp", LIST, HEADERS) + LIST[:10])
        reply = read_reply(connection)
        assert reply.status == 408
        assert reply.json()["error"]["code"] == -32600
        assert 0.9 < time.monotonic() - begun < BY_DEFAULT


def test_a_stalled_head_is_closed(impatient: HttpServer) -> None:
    begun = time.monotonic()
    with impatient.connect() as connection:
        connection.sendall(b"POST /mcp HTTP/1.1\r\nHost: loc")
        answer = closed_within(connection, BY_DEFAULT)
        assert answer == b"" or answer.split()[1] in (b"400", b"408")
        assert time.monotonic() - begun > 0.9


@pytest.mark.parametrize("part", ["head", "body"])
def test_a_trickle_does_not_extend_the_time(impatient: HttpServer, part: str) -> None:
    raw = head("POST", "/mcp", LIST, HEADERS)
    whole = raw + LIST
    start = 0 if part == "head" else len(raw)
    with impatient.connect() as connection:
        begun = time.monotonic()
        connection.sendall(whole[:start])
        for byte in whole[start : start + 100]:
            # Waiting for an answer is the pause between two bytes.
            if select.select([connection], [], [], 0.1)[0]:
                break
            connection.sendall(bytes([byte]))
        assert time.monotonic() - begun < BY_DEFAULT, "every byte bought more time"


def test_a_silent_connection_is_closed(impatient: HttpServer) -> None:
    with impatient.connect() as connection:
        answer = closed_within(connection, BY_DEFAULT)
        assert answer == b"" or answer.split()[1] in (b"400", b"408")


def test_a_kept_connection_that_stays_silent_is_closed(impatient: HttpServer) -> None:
    with impatient.connect() as connection:
        connection.sendall(head("POST", "/mcp", LIST, HEADERS) + LIST)
        assert read_reply(connection).status == 200
        closed_within(connection, BY_DEFAULT)


def test_a_slow_client_does_not_stop_the_others(server: HttpServer) -> None:
    with server.connect() as slow:
        slow.sendall(head("POST", "/mcp", LIST, HEADERS) + LIST[:10])
        assert server.post(LIST, HEADERS).status == 200
        slow.sendall(LIST[10:])
        assert read_reply(slow).status == 200


def test_a_client_that_gives_up_in_the_middle_harms_nobody(server: HttpServer) -> None:
    for cut in (5, 60, len(head("POST", "/mcp", LIST, HEADERS)) + 10):
        with server.connect() as connection:
            connection.sendall((head("POST", "/mcp", LIST, HEADERS) + LIST)[:cut])
    assert server.post(LIST, HEADERS).status == 200
    assert "Traceback" not in server.log()


def test_connections_over_the_limit_are_closed_unread(write_app: Callable[[str], Path]) -> None:
    source = IMPATIENT.replace('"body_bytes": 1000', '"connections": 2').replace("1.0,", "30,")
    server = HttpServer(write_app(source))
    try:
        with server.connect() as first, server.connect() as second:
            for connection in (first, second):
                connection.sendall(head("POST", "/mcp", LIST, HEADERS) + LIST)
                assert read_reply(connection).status == 200
            with server.connect() as third:
                assert closed_within(third, BY_DEFAULT) == b""
        server.wait_for_log("closed a connection unread: 2 are open")
        wait_until(lambda: served(server), "a place for a new connection")
    finally:
        server.close()


def served(server: HttpServer) -> bool:
    """Whether a request gets through on a new connection."""
    try:
        return server.post(LIST, HEADERS).status == 200
    except (ConnectionError, TimeoutError):
        return False


def test_two_thousand_idle_connections_do_not_end_the_service(
    write_app: Callable[[str], Path],
) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    server = HttpServer(write_app(IMPATIENT.replace('"head_timeout": 1.0', '"head_timeout": 2.0')))
    idle: list[socket.socket] = []
    try:
        for _ in range(2000):
            idle.append(server.connect())
        wait_until(lambda: served(server), "an answer beside 2,000 idle connections", 15)
        assert peak_memory(server) < 150
    finally:
        for connection in idle:
            connection.close()
        server.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
