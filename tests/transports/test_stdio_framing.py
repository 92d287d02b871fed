"""Lines in, lines out: what ends one, how long it may be, and that each has its answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from driver import StdioServer, request

SERVER = Path(__file__).parent / "echo_server.py"

SMALL_LINES = """
from snodo import Server

server = Server("small", version="1.0.0", limits={"line_bytes": 1000})

@server.tool
def size(text: str) -> str:
    return str(len(text))
"""


@pytest.fixture(scope="module")
def server() -> Iterator[StdioServer]:
    server = StdioServer(SERVER)
    yield server
    server.close()


def listing(id: Any) -> bytes:
    return json.dumps(request("tools/list", id=id)).encode()


def call(tool: str, arguments: dict[str, Any], id: Any) -> bytes:
    params = {"name": tool, "arguments": arguments}
    return json.dumps(request("tools/call", params, id=id), ensure_ascii=False).encode()


def error_of(message: dict[str, Any], code: int) -> dict[str, Any]:
    assert message["error"]["code"] == code, message
    error: dict[str, Any] = message["error"]
    return error


@pytest.mark.parametrize(
    "line",
    [
        listing("x") + b"\n",
        listing("x") + b"\r\n",
        b"\xef\xbb\xbf" + listing("x") + b"\n",
        b"  " + listing("x") + b"  \n",
        b"\n\r\n  \n" + listing("x") + b"\n",
    ],
    ids=["LF", "CRLF", "byte order mark", "blanks around", "blank lines before"],
)
def test_every_usual_line_is_served(server: StdioServer, line: bytes) -> None:
    server.write(line)
    assert server.read_message()["id"] == "x"


def test_a_last_line_without_its_ending_is_served() -> None:
    server = StdioServer(SERVER)
    try:
        server.write(listing("last"))
        server.end_input()
        assert server.read_message()["id"] == "last"
        assert server.wait(10) == 0
    finally:
        server.close()


def test_a_message_in_pieces_is_served(server: StdioServer) -> None:
    line = listing("pieces") + b"\n"
    for start in range(0, len(line), 7):
        server.write(line[start : start + 7])
    assert server.read_message()["id"] == "pieces"


def test_many_messages_in_one_write_are_served(server: StdioServer) -> None:
    server.write(b"".join(listing(n) + b"\n" for n in range(200)))
    assert sorted(server.read_message()["id"] for _ in range(200)) == list(range(200))


def test_each_answer_is_one_line_without_a_mark(server: StdioServer) -> None:
    text = "line one\nline two\r\n\u2028\u2029\x85 end"
    server.write(call("echo", {"text": text}, 1) + b"\n")
    line = server.read_line()
    assert line.endswith(b"}\n")
    assert line.startswith(b"{")
    assert json.loads(line)["result"]["content"][0]["text"] == text


def test_output_is_utf8_as_it_is(server: StdioServer) -> None:
    server.write(call("echo", {"text": "blåbær 茶 🍵"}, 1) + b"\n")
    assert "blåbær 茶 🍵".encode() in server.read_line()


@pytest.mark.parametrize(
    "env",
    [{"LC_ALL": "C", "PYTHONUTF8": "0"}, {"LC_ALL": "POSIX", "PYTHONIOENCODING": "ascii"}],
    ids=["C", "ASCII"],
)
def test_it_is_utf8_whatever_the_locale(env: dict[str, str]) -> None:
    server = StdioServer(SERVER, env=env)
    try:
        server.write(call("echo", {"text": "blåbær 茶 🍵"}, 1) + b"\n")
        assert "blåbær 茶 🍵".encode() in server.read_line()
    finally:
        server.close()


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"hello", -32700),
        (b"{", -32700),
        (b"\xff\xfe", -32700),
        (b'{"a":"\xff"}', -32700),
        (b"[" * 100_000 + b"]" * 100_000, -32700),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, -32700),
        (b"[" * 1_000_000, -32700),
        (b"[]", -32600),
        (b"17", -32600),
        (b"\x00", -32700),
    ],
    ids=[
        *("text", "cut off", "not UTF-8", "not UTF-8 inside", "deep list", "deep object"),
        *("unclosed", "batch", "number", "NUL"),
    ],
)
def test_every_bad_line_is_answered_and_service_goes_on(
    server: StdioServer, line: bytes, code: int
) -> None:
    server.write(line + b"\n")
    message = server.read_message()
    error_of(message, code)
    assert "id" not in message
    server.write(listing("after") + b"\n")
    assert server.read_message()["id"] == "after"


def test_a_line_of_exactly_the_limit_is_served_and_one_more_is_not(
    write_app: Callable[[str], Path],
) -> None:
    server = StdioServer(write_app(SMALL_LINES))
    try:
        empty = call("size", {"text": ""}, 1)
        fits = call("size", {"text": "x" * (999 - len(empty))}, 1) + b"\n"
        assert len(fits) == 1000
        server.write(fits)
        assert server.read_message()["id"] == 1
        server.write(fits.replace(b"x", b"xx", 1))
        message = server.read_message()
        error_of(message, -32600)
        assert message["id"] == 1  # it stands at the beginning of the line
        server.write(fits)
        assert server.read_message()["id"] == 1
    finally:
        server.close()


@pytest.mark.parametrize("megabytes", [5, 100])
def test_a_huge_line_is_refused_once_and_not_held(megabytes: int) -> None:
    server = StdioServer(SERVER)
    try:
        block = b"x" * 1_000_000
        for _ in range(megabytes):
            server.write(block)
        server.write(b"\n" + listing("after") + b"\n")
        message = server.read_message(40)
        error_of(message, -32600)
        assert "id" not in message
        assert server.read_message()["id"] == "after"
        status = Path(f"/proc/{server.popen.pid}/status").read_text()
        (peak,) = (line for line in status.splitlines() if line.startswith("VmHWM"))
        assert int(peak.split()[1]) < 150 * 1024
    finally:
        server.close()


def test_a_call_of_four_mebibytes_is_served(server: StdioServer) -> None:
    empty = call("size", {"text": ""}, 1)
    length = (4 << 20) - len(empty) - 1
    server.write(call("size", {"text": "x" * length}, 1) + b"\n")
    assert server.read_message()["result"]["content"][0]["text"] == str(length)


def test_a_quick_call_overtakes_a_slow_one(server: StdioServer) -> None:
    for tool in ("pause", "block"):
        slow, quick = call(tool, {"seconds": 1}, "slow"), call("echo", {"text": "hi"}, "quick")
        server.write(slow + b"\n" + quick + b"\n")
        assert [server.read_message()["id"] for _ in range(2)] == ["quick", "slow"]


def test_large_answers_never_interleave(server: StdioServer) -> None:
    for n in range(50):
        server.write(call("big", {"characters": 200_000 + n}, n) + b"\n")
    seen = {}
    for _ in range(50):
        message = server.read_message()
        seen[message["id"]] = len(message["result"]["content"][0]["text"])
    assert seen == {n: 200_000 + n for n in range(50)}


def test_an_id_in_use_is_refused_and_the_first_call_is_answered(server: StdioServer) -> None:
    server.write(call("pause", {"seconds": 1}, 7) + b"\n" + call("echo", {"text": "hi"}, 7) + b"\n")
    first, second = server.read_message(), server.read_message()
    assert error_of(first, -32600)["message"] == "Duplicate in-flight request id"
    assert first["id"] == 7
    assert second["result"]["content"][0]["text"] == "awake"
    server.write(call("echo", {"text": "free again"}, 7) + b"\n")
    assert server.read_message()["result"]["content"][0]["text"] == "free again"


def test_the_id_one_is_not_the_id_string_one(server: StdioServer) -> None:
    slow, quick = call("pause", {"seconds": 1}, 1), call("echo", {"text": "hi"}, "1")
    server.write(slow + b"\n" + quick + b"\n")
    assert [server.read_message()["id"] for _ in range(2)] == ["1", 1]


def test_nothing_is_said_to_responses_and_unknown_notifications(server: StdioServer) -> None:
    server.write(b'{"jsonrpc":"2.0","id":1,"result":{}}\n')
    server.write(b'{"jsonrpc":"2.0","method":"notifications/foo","params":{}}\n')
    server.write(b'{"jsonrpc":"2.0","method":"notifications/foo","params":[]}\n')
    server.write(b'{"jsonrpc":"2.0","method":"tools/call"}\n')
    server.write(listing("after") + b"\n")
    assert server.read_message()["id"] == "after"


def test_each_request_has_its_own_client(server: StdioServer) -> None:
    """Metadata belongs to a request, not to the pipe."""
    server.write_message(request("tools/list", id=1, protocolVersion="2099-01-01"))
    error_of(server.read_message(), -32022)
    server.write(listing(2) + b"\n")
    assert "result" in server.read_message()


def test_mirrored_arguments_need_no_headers_here(write_app: Callable[[str], Path]) -> None:
    source = """
    from snodo import Server

    server = Server("mirror", version="1.0.0")
    schema = {
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
    }

    @server.tool(input_schema=schema)
    def route(arguments, context):
        return arguments["region"]
    """
    server = StdioServer(write_app(source))
    try:
        answer = server.ask(request("tools/call", {"name": "route", "arguments": {"region": "eu"}}))
        assert answer["result"]["content"][0]["text"] == "eu"
    finally:
        server.close()
