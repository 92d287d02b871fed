"""What several workers do where one would do, as ratios of calls per second in one run.

    python benches/workers.py                 two workers to one process
    python benches/workers.py --workers 4

`pause` waits for 20 ms in a coroutine, with 256 calls in flight: what is measured is whether
anything is lost by sharing. `busy` computes for about a millisecond: what is won, where there are
cores to win. `session` is `add` in a session of a client that opens with `initialize`, to which
connections come by chance: what handing over costs. This driver shares the machine with what it
measures. Standard library only.
"""

import argparse
import signal
import subprocess
import sys
import time

from run import HERE, STATELESS, drive, free_port, handshake, once, request, wait_for

CALLS: dict[str, tuple[tuple[str, dict[str, object]], int, bool]] = {
    "pause": (("pause", {"seconds": 0.02}), 256, False),
    "busy": (("busy", {"rounds": 10_000}), 64, False),
    "session": (("add", {"a": 2, "b": 40}), 64, True),
}
REVISION = "2025-11-25"


def measure(workers: int, seconds: float, only: list[str]) -> dict[str, float]:
    """Calls per second of each workload."""
    port = free_port()
    server = str(HERE / "snodo_server.py")
    command = [sys.executable, "-m", "snodo", "serve", server, f"--port={port}"]
    process = subprocess.Popen(
        [*command, f"--workers={workers}"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    found = {}
    try:
        wait_for(port, process)
        time.sleep(1)  # the others start after the first
        for name in only:
            call, connections, in_session = CALLS[name]
            revision = REVISION if in_session else STATELESS
            session = handshake(port, revision) if in_session else None
            sent = request(port, call, revision, session)
            length = len(once(port, sent))
            drive(port, sent, length, connections, seconds / 4)
            done, took = drive(port, sent, length, connections, seconds)
            found[name] = done / took
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(CALLS))
    options = parser.parse_args()
    one = measure(1, options.seconds, options.only)
    several = measure(options.workers, options.seconds, options.only)
    print(f"| workload | one process: calls/s | {options.workers} workers: calls/s | ratio |")
    print("| --- | ---: | ---: | ---: |")
    for name in options.only:
        ratio = several[name] / one[name]
        print(f"| {name} | {one[name]:,.0f} | {several[name]:,.0f} | {ratio:.2f} |")


if __name__ == "__main__":
    main()
