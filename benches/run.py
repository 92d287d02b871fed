"""Calls per second, end to end over HTTP, in one run on one machine.

    python benches/run.py                             snodo alone
    python benches/run.py --mcp-python PATH           and the official SDK, which PATH has installed
    python benches/run.py --peer 'NAME=COMMAND'       and another server with these tools at /mcp;
                                                      PORT in its command is replaced
    python benches/run.py --revision 2025-11-25       as clients that open with `initialize`: once,
                                                      then calls in a session, and calls without one

Connections are kept alive, each with one call in flight. Every answer must be a 200 of the same
length as one that was looked at. This driver is Python too and shares the machine with the server,
so its own ceiling hides the speed of a fast server: the server's CPU time per call is the figure to
compare. Standard library only. A dash is where a server does not serve such calls, or not as one
JSON answer.
"""

import argparse
import http.client
import json
import os
import selectors
import shlex
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
CALLS = {
    "add": ("add", {"a": 2, "b": 40}),
    "aadd": ("aadd", {"a": 2, "b": 40}),
    "rows": ("rows", {"n": 100}),
    "invalid": ("add", {"a": "two", "b": 40}),
    "list": None,
    # Last: what other servers do not have ends their column.
    "actor": ("count", {"by": 1}),
}


STATELESS = "2026-07-28"


class NotServed(Exception):
    """The server has no answer to this kind of call that can be measured."""


def request(
    port: int, call: tuple[str, dict[str, object]] | None, revision: str, session: str | None
) -> bytes:
    """The bytes of one request, head and body."""
    method = "tools/call" if call else "tools/list"
    params: dict[str, object] = {}
    headers = {
        "Host": f"127.0.0.1:{port}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": revision,
    }
    if call:
        params |= {"name": call[0], "arguments": call[1]}
    if revision == STATELESS:
        headers["Mcp-Method"] = method
        if call:
            headers["Mcp-Name"] = call[0]
        params["_meta"] = client()
    elif session:
        headers["Mcp-Session-Id"] = session
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    headers["Content-Length"] = str(len(body))
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"POST /mcp HTTP/1.1\r\n{head}\r\n".encode() + body


def client() -> dict[str, object]:
    """What a client of 2026-07-28 says of itself in every request."""
    return {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1.0.0"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }


def handshake(port: int, revision: str) -> str:
    """Open a session; give its id."""
    hello = {
        "protocolVersion": revision,
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1.0.0"},
    }
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }

    def post(said: dict[str, object]) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        connection.request("POST", "/mcp", json.dumps({"jsonrpc": "2.0", **said}), headers)
        return connection.getresponse()

    answer = post({"id": 0, "method": "initialize", "params": hello})
    session = answer.headers["Mcp-Session-Id"]
    if answer.status != 200 or session is None:
        raise NotServed(f"no session, status {answer.status}")
    headers |= {"MCP-Protocol-Version": revision, "Mcp-Session-Id": session}
    post({"method": "notifications/initialized"})
    return session


def answer_length(data: bytes) -> int | None:
    """The length of the answer that `data` begins with; None while its head is not complete."""
    head, found, _ = data.partition(b"\r\n\r\n")
    if not found:
        return None
    if not head.startswith(b"HTTP/1.1 200"):
        raise NotServed(f"not a 200: {data[:300]!r}")
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return len(head) + 4 + int(line.split(b":")[1])
    raise NotServed("an answer without Content-Length")


def once(port: int, sent: bytes) -> bytes:
    """Send one request on a connection of its own and give the whole answer."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(sent)
        data = b""
        while (length := answer_length(data)) is None or len(data) < length:
            data += connection.recv(65536)
        return data


def drive(
    port: int, sent: bytes, length: int, connections: int, seconds: float
) -> tuple[int, float]:
    """Keep so many calls in flight for so long; give how many were answered, and in what time."""
    selector = selectors.DefaultSelector()
    missing: dict[socket.socket, int] = {}
    for _ in range(connections):
        connection = socket.create_connection(("127.0.0.1", port), timeout=10)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        selector.register(connection, selectors.EVENT_READ)
        missing[connection] = length
    began = time.perf_counter()
    for connection in missing:
        connection.sendall(sent)
    done, end = 0, began + seconds
    while (now := time.perf_counter()) < end:
        for key, _ in selector.select(1):
            connection = key.fileobj  # type: ignore[assignment]
            data = connection.recv(65536)
            if not data:
                sys.exit("the server closed a connection")
            missing[connection] -= len(data)
            if missing[connection] <= 0:
                done += 1
                missing[connection] = length
                connection.sendall(sent)
    for connection in missing:
        connection.close()
    return done, now - began


def cpu_seconds(pid: int) -> float:
    """The CPU time a process has used; NaN where there is no /proc."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return float("nan")
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@dataclass
class Peer:
    name: str
    command: list[str]
    in_session: bool = False


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 30
    while time.monotonic() < end and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    sys.exit(f"{process.args!r} does not listen")


def measure(peer: Peer, options: argparse.Namespace) -> dict[str, tuple[float, float]]:
    """Calls per second and CPU microseconds per call, for each workload."""
    port = free_port()
    command = [part.replace("PORT", str(port)) for part in peer.command]
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    rows = {}
    try:
        wait_for(port, process)
        session = handshake(port, options.revision) if peer.in_session else None
        for workload in options.only:
            sent = request(port, CALLS[workload], options.revision, session)
            length = len(once(port, sent))
            drive(port, sent, length, options.connections, options.seconds / 4)
            before = cpu_seconds(process.pid)
            done, took = drive(port, sent, length, options.connections, options.seconds)
            spent = cpu_seconds(process.pid) - before
            if not done:
                raise NotServed(f"{workload}: no answer within {options.seconds:g} s")
            rows[workload] = (done / took, spent / done * 1e6)
    except NotServed as reason:
        print(f"{peer.name}: {reason}", file=sys.stderr)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mcp-python", metavar="PATH", help="an interpreter that has `mcp`")
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=COMMAND")
    parser.add_argument("--revision", default=STATELESS, help="of the clients; 2026-07-28")
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(CALLS))
    options = parser.parse_args()
    server = str(HERE / "snodo_server.py")
    peers = [Peer("snodo", [sys.executable, "-m", "snodo", "serve", server, "--port", "PORT"])]
    if options.mcp_python:
        peers.append(Peer("mcp", [options.mcp_python, str(HERE / "mcp_server.py"), "PORT"]))
    for name, _, command in (peer.partition("=") for peer in options.peer):
        peers.append(Peer(name, shlex.split(command)))
    if options.revision != STATELESS:
        peers = [
            variant
            for peer in peers
            for variant in (
                # The official SDK has sessions, or has none, for all of its clients.
                Peer(
                    f"{peer.name}, session",
                    [*peer.command, *(["sessions"] if peer.name == "mcp" else [])],
                    in_session=True,
                ),
                Peer(f"{peer.name}, no session", peer.command),
            )
        ]

    found = {peer.name: measure(peer, options) for peer in peers}
    names = list(found)
    print(f"{options.revision}, {options.connections} connections, {options.seconds:g} s each\n")
    print("| workload | " + " | ".join(f"{name}: calls/s | µs CPU" for name in names) + " |")
    print("| --- |" + " ---: | ---: |" * len(names))
    for workload in options.only:
        cells = [
            f"{row[0]:,.0f} | {row[1]:.1f}" if (row := found[name].get(workload)) else "– | –"
            for name in names
        ]
        print(f"| {workload} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
