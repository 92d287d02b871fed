"""Where the log of a served process goes: the logger `snodo`, to standard error, never waiting.

Set up by the command line alone. Importing snodo configures nothing and the root logger is never
touched.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import deque
from typing import Literal

Format = Literal["text", "json"]

ACCESS = "snodo.access"
"""The logger of access lines, whatever the level of the others."""

# Enough for a burst. Beyond it nobody reads standard error and lines are dropped, not replies.
_WAITING = 1000
# Of access lines, which come in bursts.
_ACCESS_WAITING = 8192
# Bytes that are written at once, so that a line which matters more waits for no more than these.
_PIECE = 16 << 10
# How long the process lingers at its end for lines that still wait.
_GRACE = 0.5


class _Waiting:
    """Lines that wait to be written. Those that find no room are dropped and counted.

    The count is told once there is room.
    """

    def __init__(self, what: str, room: int) -> None:
        self._what = what
        self._room = room
        self._dropped = 0
        self.lines: deque[bytes] = deque()

    def put(self, line: str) -> None:
        if len(self.lines) >= self._room:
            self._dropped += 1
            return
        if self._dropped:
            self.lines.append(f"snodo: {self._dropped} {self._what} dropped\n".encode())
            self._dropped = 0
        self.lines.append(f"{line}\n".encode("utf-8", "backslashreplace"))

    def take(self) -> bytes:
        """Give what is to be written at once; nothing if none waits."""
        taken = bytearray()
        while self.lines and len(taken) < _PIECE:
            taken += self.lines.popleft()
        return bytes(taken)


class StderrHandler(logging.Handler):
    """Writes log lines from a thread of its own, so that a stuck standard error blocks nobody.

    Access lines wait apart from the others and after them, for they may come at any rate.
    """

    def __init__(self, style: Format = "text", descriptor: int = 2, *, pid: bool = False) -> None:
        super().__init__()
        self.style = style
        self._pid = pid
        self.setFormatter(JsonFormatter(pid=pid) if style == "json" else TextFormatter(pid=pid))
        self._descriptor = descriptor
        self._ready = threading.Condition()
        self._lines = _Waiting("log lines", _WAITING)
        self._access = _Waiting("lines of the access log", _ACCESS_WAITING)
        self._writing = False
        threading.Thread(target=self._write_lines, name="snodo-log", daemon=True).start()

    def emit(self, record: logging.LogRecord) -> None:
        """Queue one record; drop it when the queue is full."""
        try:
            if record.name == ACCESS:  # an object of JSON already
                line = record.getMessage()
                if self._pid:
                    line = f'{line[:-1]},"pid":{record.process}}}'
                self._put(line, self._access)
            else:
                self._put(self.format(record), self._lines)
        except Exception:
            self.handleError(record)

    def say(self, text: str, *, warning: bool = False) -> None:
        """Queue a line for people: bare in text, a record in JSON."""
        if self.style == "json":
            level = logging.WARNING if warning else logging.INFO
            self.emit(logging.LogRecord("snodo", level, "", 0, text, None, None))
        else:
            self._put(f"snodo: {'warning: ' if warning else ''}{text}", self._lines)

    def flush(self) -> None:
        """Wait a moment for what is queued."""
        end = time.monotonic() + _GRACE
        while self._is_busy() and time.monotonic() < end:
            time.sleep(0.005)

    def _is_busy(self) -> bool:
        return bool(self._writing or self._lines.lines or self._access.lines)

    def _put(self, line: str, waiting: _Waiting) -> None:
        with self._ready:
            waiting.put(line)
            self._ready.notify()

    def _next(self) -> bytes:
        with self._ready:
            self._writing = False
            self._ready.wait_for(self._is_busy)
            self._writing = True
            return self._lines.take() or self._access.take()

    def _write_lines(self) -> None:
        while True:
            lines = self._next()
            try:
                while lines:
                    lines = lines[os.write(self._descriptor, lines) :]
            except OSError:
                pass  # nobody is there to be told


class TextFormatter(logging.Formatter):
    """`2026-11-30 10:02:19 WARNING snodo: …`, in local time; `snodo[PID]` among several."""

    def __init__(self, *, pid: bool = False) -> None:
        name = "%(name)s[%(process)d]" if pid else "%(name)s"
        super().__init__(f"%(asctime)s %(levelname)s {name}: %(message)s", "%Y-%m-%d %H:%M:%S")


class JsonFormatter(logging.Formatter):
    """One JSON object a line: `time` (UTC), `level`, `logger`, `message`, perhaps `exception`.

    With several processes also `pid`.
    """

    def __init__(self, *, pid: bool = False) -> None:
        super().__init__()
        self._pid = pid

    def format(self, record: logging.LogRecord) -> str:
        """Format one record."""
        import json

        seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        entry: dict[str, object] = {
            "time": f"{seconds}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if self._pid:
            entry["pid"] = record.process
        if record.exc_info and not record.exc_text:
            record.exc_text = self.formatException(record.exc_info)
        if record.exc_text:
            entry["exception"] = record.exc_text
        return json.dumps(entry, ensure_ascii=False)


def configure(
    level: str = "info", style: Format = "text", *, pid: bool = False, access: bool = False
) -> StderrHandler:
    """Send the logger `snodo` to standard error; with ``pid`` each line says whose it is.

    A handler that the user's module gave that logger stays the only one.

    Args:
        level: From which on lines are logged.
        style: Of the lines.
        pid: Whether lines say whose they are, where several processes write.
        access: Whether access lines are, whatever the level.

    Returns:
        The handler, for the lines that do not belong to the log.
    """
    logger = logging.getLogger("snodo")
    logger.setLevel(level.upper())
    if access:
        logging.getLogger(ACCESS).setLevel(logging.INFO)
    handler = StderrHandler(style, pid=pid)
    if not logger.handlers:
        logger.addHandler(handler)
        logger.propagate = False
    return handler
