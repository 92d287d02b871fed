"""One server process: started, watched, and certainly ended."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path


def wait_until(condition: Callable[[], bool], what: str, timeout: float = 20) -> None:
    """Waits for something this process cannot be told about; fails with `what` when it is late."""
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end, f"{what} did not happen within {timeout} s"
        time.sleep(0.01)


class Process:
    """`python -m snodo serve TARGET …` in a process group of its own.

    Standard error is read all the time unless `read_stderr` is false.
    """

    # What Python is started with, before the target.
    command: tuple[str, ...] = ("-m", "snodo", "serve")

    def __init__(
        self,
        target: Path | str,
        *options: str,
        env: dict[str, str] | None = None,
        cwd: Path | None = None,
        read_stderr: bool = True,
    ) -> None:
        self.popen = subprocess.Popen(
            [sys.executable, *self.command, str(target), *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=os.environ | (env or {}),
            cwd=cwd,
            start_new_session=True,
        )
        self._said = bytearray()
        self._changed = threading.Condition()
        self._reader = threading.Thread(target=self._read_stderr, daemon=True)
        # Whether it was ended in the middle of whatever it did.
        self._killed = False
        # Whoever reads from a pipe that is to be closed.
        self._readers = [self._reader] if read_stderr else []
        if read_stderr:
            self._reader.start()

    def _read_stderr(self) -> None:
        assert self.popen.stderr is not None
        while chunk := os.read(self.popen.stderr.fileno(), 65536):
            with self._changed:
                self._said += chunk
                self._changed.notify_all()
        with self._changed:
            self._changed.notify_all()

    def log(self) -> str:
        """What the server wrote to stderr so far."""
        with self._changed:
            return self._said.decode(errors="replace")

    def wait_for_log(self, text: str, timeout: float = 20) -> str:
        """Waits until `text` is on stderr; gives all of stderr."""

        def there() -> bool:
            return text.encode() in self._said or not self._reader.is_alive()

        with self._changed:
            self._changed.wait_for(there, timeout)
        said = self.log()
        assert text in said, f"stderr never said {text!r}; it said:\n{said}"
        return said

    def signal(self, number: int) -> None:
        """Signals the server alone, not its children."""
        self.popen.send_signal(number)

    def wait(self, timeout: float) -> int:
        """The exit code; fails when the process outlives `timeout`. All it said is known then."""
        try:
            code = self.popen.wait(timeout)
        except subprocess.TimeoutExpired:
            raise AssertionError(
                f"the server still runs after {timeout} s; stderr:\n{self.log()}"
            ) from None
        for reader in self._readers:
            # Whoever it started may have a pipe open still, and then there is no end to read.
            reader.join(5)
        return code

    def close(self) -> None:
        """Kills the process group, whatever state it is in, and closes our pipe ends."""
        self._killed = self.popen.poll() is None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.popen.pid, signal.SIGKILL)
        self.popen.wait(10)
        for reader in self._readers:
            reader.join(10)
        for pipe in (self.popen.stdin, self.popen.stdout, self.popen.stderr):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
