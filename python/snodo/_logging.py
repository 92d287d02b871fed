"""Where the log of a served process goes: the logger `snodo`, to standard error, never waiting.

Set up by the command line alone. Importing snodo configures nothing and the root logger is never
touched.
"""

from __future__ import annotations

import logging
import os
import queue
import threading
import time
from typing import Literal

Format = Literal["text", "json"]

# Enough for a burst. Beyond it nobody reads standard error and lines are dropped, not replies.
_WAITING = 1000
# How long the process lingers at its end for lines that still wait.
_GRACE = 0.5


class StderrHandler(logging.Handler):
    """Writes log lines from a thread of its own, so that a stuck standard error blocks nobody.

    Lines that find the queue full are dropped and counted; the count is logged once there is room.
    """

    def __init__(self, style: Format = "text", descriptor: int = 2, *, pid: bool = False) -> None:
        super().__init__()
        self.style = style
        self.setFormatter(JsonFormatter(pid=pid) if style == "json" else TextFormatter(pid=pid))
        self._descriptor = descriptor
        self._lines: queue.Queue[bytes] = queue.Queue(_WAITING)
        self._dropped = 0
        threading.Thread(target=self._write_lines, name="snodo-log", daemon=True).start()

    def emit(self, record: logging.LogRecord) -> None:
        """Queue one record; drop it when the queue is full."""
        try:
            self._put(self.format(record))
        except Exception:
            self.handleError(record)

    def say(self, text: str, *, warning: bool = False) -> None:
        """Queue a line for people: bare in text, a record in JSON."""
        if self.style == "json":
            level = logging.WARNING if warning else logging.INFO
            self.emit(logging.LogRecord("snodo", level, "", 0, text, None, None))
        else:
            self._put(f"snodo: {'warning: ' if warning else ''}{text}")

    def flush(self) -> None:
        """Wait a moment for what is queued."""
        end = time.monotonic() + _GRACE
        while self._lines.unfinished_tasks and time.monotonic() < end:
            time.sleep(0.005)

    def _put(self, line: str) -> None:
        try:
            if self._dropped:
                dropped, self._dropped = self._dropped, 0
                self._lines.put_nowait(f"snodo: {dropped} log lines dropped\n".encode())
            self._lines.put_nowait(f"{line}\n".encode("utf-8", "backslashreplace"))
        except queue.Full:
            self._dropped += 1

    def _write_lines(self) -> None:
        while True:
            line = self._lines.get()
            try:
                while line:
                    line = line[os.write(self._descriptor, line) :]
            except OSError:
                pass  # nobody is there to be told
            finally:
                self._lines.task_done()


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


def configure(level: str = "info", style: Format = "text", *, pid: bool = False) -> StderrHandler:
    """Send the logger `snodo` to standard error; with ``pid`` each line says whose it is.

    A handler that the user's module gave that logger stays the only one.

    Returns:
        The handler, for the lines that do not belong to the log.
    """
    logger = logging.getLogger("snodo")
    logger.setLevel(level.upper())
    handler = StderrHandler(style, pid=pid)
    if not logger.handlers:
        logger.addHandler(handler)
        logger.propagate = False
    return handler
