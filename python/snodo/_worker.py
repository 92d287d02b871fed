"""What one of several processes that serve together knows of the others.

The process that started it said so in a variable, which is not for whatever this one starts.
"""

from __future__ import annotations

import os
import signal

_VARIABLE = "SNODO_WORKER"
# Seconds that calls may take to finish at the end, where no limit says otherwise.
DRAINING = 10.0


class Worker:
    """One of the processes."""

    __slots__ = ("count", "folder", "index", "parent", "report", "secret", "socket")

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
    secret: str
    """What all of them seal with where nobody has named a secret; empty if somebody has."""

    def __init__(
        self,
        index: int,
        count: int,
        socket: int,
        report: int,
        parent: int,
        folder: str,
        secret: str,
    ) -> None:
        self.index = index
        self.count = count
        self.socket = socket
        self.report = report
        self.parent = parent
        self.folder = folder
        self.secret = secret

    def environment(self) -> dict[str, str]:
        """Give the variables of a process that is to be this one."""
        numbers = (self.index, self.count, self.socket, self.report, self.parent)
        said = ":".join([*map(str, numbers), self.secret, self.folder])
        return {**os.environ, _VARIABLE: said}

    def tell(self, lines: list[tuple[str, bool]], draining: float) -> None:
        """Tell the parent what is served.

        Args:
            lines: For people, and whether each is a warning.
            draining: Seconds that calls may take to finish when this process is told to end.
        """
        text = "".join(f"{'!' if warning else ' '}{line}\n" for line, warning in lines)
        text = f"{draining}\n{text}"
        try:
            os.write(self.report, text.encode("utf-8", "backslashreplace"))
            os.close(self.report)
        except OSError:
            pass  # the parent is gone, which is noticed elsewhere


def heard(said: bytes) -> tuple[list[tuple[str, bool]], float]:
    """Read what `Worker.tell` wrote."""
    draining, *lines = said.decode(errors="replace").splitlines()
    return [(line[1:], line.startswith("!")) for line in lines], float(draining)


_shared_secret = ""


def shared_secret() -> str | None:
    """Give what the workers seal with where nobody has named a secret; None if this is none."""
    return _shared_secret or None


def taken() -> Worker | None:
    """Give what this process was told, once; None if it serves alone.

    Ctrl-C reaches every process of a terminal; from here on it is the parent's affair alone.

    Raises:
        ValueError: If that was not said to this process.
    """
    global _shared_secret
    said = os.environ.pop(_VARIABLE, None)
    if said is None:
        return None
    try:
        *numbers, secret, folder = said.split(":", 6)
        index, count, socket, report, parent = map(int, numbers)
        if parent != os.getppid():
            raise ValueError
        for descriptor in (socket, report):
            os.set_inheritable(descriptor, False)
    except (ValueError, OverflowError, OSError):
        raise ValueError(f"{_VARIABLE} is set by snodo for its own workers: unset it") from None
    worker = Worker(index, count, socket, report, parent, folder, secret)
    _shared_secret = secret
    signal.signal(signal.SIGINT, lambda _number, _frame: None)
    return worker
