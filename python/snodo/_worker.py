"""What one of several processes that serve together knows of the others.

The process that started it said so in a variable, which is not for whatever this one starts.
"""

from __future__ import annotations

import os
import signal

_VARIABLE = "SNODO_WORKER"


class Worker:
    """One of the processes."""

    __slots__ = ("count", "folder", "index", "parent", "report", "socket")

    index: int
    """Which, from 0."""
    count: int
    """Of how many."""
    socket: int
    """The descriptor of the socket that all of them serve."""
    report: int
    """Where the parent reads what is served, once it is."""
    parent: int
    """Its process id. This process ends when that is gone."""
    folder: str
    """Where they reach each other."""

    def __init__(
        self, index: int, count: int, socket: int, report: int, parent: int, folder: str
    ) -> None:
        self.index = index
        self.count = count
        self.socket = socket
        self.report = report
        self.parent = parent
        self.folder = folder

    def environment(self) -> dict[str, str]:
        """Give the variables of a process that is to be this one."""
        numbers = (self.index, self.count, self.socket, self.report, self.parent)
        return {**os.environ, _VARIABLE: ":".join([*map(str, numbers), self.folder])}

    def tell(self, lines: list[tuple[str, bool]]) -> None:
        """Tell the parent what is served: lines for people, and whether each is a warning."""
        text = "".join(f"{'!' if warning else ' '}{line}\n" for line, warning in lines)
        try:
            os.write(self.report, text.encode("utf-8", "backslashreplace"))
            os.close(self.report)
        except OSError:
            pass  # the parent is gone, which is noticed elsewhere


def heard(said: bytes) -> list[tuple[str, bool]]:
    """Read what `Worker.tell` wrote."""
    lines = said.decode(errors="replace").splitlines()
    return [(line[1:], line.startswith("!")) for line in lines]


def taken() -> Worker | None:
    """Give what this process was told, once; None if it serves alone.

    Ctrl-C reaches every process of a terminal; from here on it is the parent's affair alone.
    """
    said = os.environ.pop(_VARIABLE, None)
    if said is None:
        return None
    index, count, socket, report, parent, folder = said.split(":", 5)
    worker = Worker(int(index), int(count), int(socket), int(report), int(parent), folder)
    for descriptor in (worker.socket, worker.report):
        os.set_inheritable(descriptor, False)
    signal.signal(signal.SIGINT, lambda _number, _frame: None)
    return worker
