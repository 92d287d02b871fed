"""What a listener costs, and how soon a published event has reached the last one.

    python benches/listeners.py                       10, 100 and 1,000 listeners
    python benches/listeners.py --only 10,100

One `snodo serve` process for each row, over HTTP on loopback, a connection for each listener.
Memory is what the process grew by (VmRSS), connections included. Time runs from the moment the tool
publishes to the moment this driver has read the event from the last socket; reading is one thread
of Python on the same machine, so the true time is shorter. Linux, standard library only.
"""

import argparse
import json
import resource
import selectors
import signal
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from snodo import Server

server = Server("listeners", version="1.0.0")


@server.tool
def publish() -> str:
    """Tell every listener, and say when."""
    now = time.monotonic_ns()
    server.notify.tools_changed()
    return str(now)


@server.tool
def listening() -> str:
    """Count the listeners."""
    return str(server.notify.stats()["subscriptions"])


PATIENCE = 30
"""Seconds that anything here may take."""

ACKNOWLEDGED = b"notifications/subscriptions/acknowledged"
EVENT = b"notifications/tools/list_changed"


def post(port: int, method: str, **params: Any) -> bytes:
    """The bytes of one request, head and body."""
    params["_meta"] = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    headers = {
        "Host": f"127.0.0.1:{port}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": method,
    }
    if "name" in params:
        headers["Mcp-Name"] = params["name"]
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    headers["Content-Length"] = str(len(body))
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"POST /mcp HTTP/1.1\r\n{head}\r\n".encode() + body


class Listeners:
    """So many connections, each with one subscription."""

    def __init__(self, port: int, count: int) -> None:
        self.selector = selectors.DefaultSelector()
        self.heard: dict[socket.socket, bytes] = {}
        sent = post(port, "subscriptions/listen", notifications={"toolsListChanged": True})
        for _ in range(count):
            connection = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
            connection.sendall(sent)
            self.selector.register(connection, selectors.EVENT_READ)
            self.heard[connection] = b""
        self.wait_for(ACKNOWLEDGED)

    def wait_for(self, words: bytes) -> int:
        """Read until every listener has heard these words; give when the last one had."""
        missing = set(self.heard)
        end = time.monotonic() + PATIENCE
        now = time.monotonic_ns()
        while missing:
            ready = self.selector.select(end - time.monotonic())
            if not ready:
                sys.exit(f"{len(missing)} listeners have not heard {words.decode()}")
            for key, _ in ready:
                connection: socket.socket = key.fileobj  # type: ignore[assignment]
                data = connection.recv(65536)
                if not data:
                    sys.exit(f"the server closed a stream: {self.heard[connection][-300:]!r}")
                self.heard[connection] += data
                if words in self.heard[connection]:
                    now = time.monotonic_ns()
                    missing.discard(connection)
                    self.heard[connection] = b""
        return now

    def close(self) -> None:
        for connection in self.heard:
            connection.close()
        self.selector.close()


def call(port: int, tool: str) -> int:
    """Call a tool that gives a number."""
    from run import once

    answer = once(port, post(port, "tools/call", name=tool, arguments={}))
    result = json.loads(answer.partition(b"\r\n\r\n")[2])["result"]
    return int(result["content"][0]["text"])


def resident(pid: int) -> int:
    """The memory of a process, in bytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) * 1024


def measure(count: int, rounds: int) -> str:
    """One row of the table."""
    from run import free_port, wait_for

    port = free_port()
    command = [sys.executable, "-m", "snodo", "serve", __file__, "--port", str(port)]
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        wait_for(port, process)
        # What the first ones cost is not the price of a listener.
        listeners = Listeners(port, 2)
        call(port, "publish")
        listeners.wait_for(EVENT)
        listeners.close()
        before = resident(process.pid)

        began = time.monotonic()
        listeners = Listeners(port, count)
        opened = time.monotonic() - began
        delays = []
        for _ in range(rounds):
            published = call(port, "publish")
            delays.append((listeners.wait_for(EVENT) - published) / 1e6)
        each = (resident(process.pid) - before) / count / 1024
        listeners.close()
        end = time.monotonic() + PATIENCE
        while call(port, "listening") > 0:
            if time.monotonic() > end:
                sys.exit("listeners that have gone are still there")
            time.sleep(0.05)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    return (
        f"| {count:,} | {each:.1f} | {statistics.median(delays):.2f} | {max(delays):.2f}"
        f" | {opened / count * 1e3:.2f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", type=lambda text: [int(one) for one in text.split(",")], default=[10, 100, 1000]
    )
    parser.add_argument("--rounds", type=int, default=50)
    options = parser.parse_args()
    # A file descriptor for each end of each connection; the server inherits what is allowed here.
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = max(options.only) + 256
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))

    print(
        "| listeners | KiB each | all reached, ms (median) | worst | ms to open one |\n"
        "| ---: | ---: | ---: | ---: | ---: |"
    )
    for count in options.only:
        print(measure(count, options.rounds), flush=True)


if __name__ == "__main__":
    main()
