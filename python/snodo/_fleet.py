"""Several processes that serve one address together, and the one that starts and ends them.

The parent takes the address and imports nothing of the application: what is wrong with that is told
by the first worker, before there are more. It starts interpreters and never forks.
"""

from __future__ import annotations

import logging
import os
import selectors
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from ._worker import DRAINING, Worker, heard

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ._logging import StderrHandler
    from ._reload import Watcher
    from ._snodo import HttpOptions

# A worker that lives shorter failed at its start, whatever it did meanwhile.
_SETTLED = 5.0
# The longest wait before a worker that fails again and again is started again.
_LONGEST_WAIT = 10.0
# How often files are looked at.
_LOOK = 0.4
# How long after the time for its calls a worker is killed: one that lives has ended by then.
_GRACE = 3.0
# How long an old worker may finish its calls when files have changed and somebody waits to see it.
_HURRY = 2.0

_log = logging.getLogger("snodo")


class _Place:
    """Where a worker is, or will be."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.process: subprocess.Popen[bytes] | None = None
        self.report = -1
        self.draining = DRAINING
        """How long its calls may take to finish."""
        self.begun = 0.0
        self.is_up = False
        self.was_up = False
        """Whether this or one before it has served."""
        self.leaving = False
        """Whether it was told to end, for another to take its place."""
        self.failures = 0
        self.due: float | None = None
        """When the next one is started."""
        self.overdue: float | None = None
        """When it is killed, as it does not end."""


class Fleet:
    """The workers of one address."""

    def __init__(
        self,
        arguments: Sequence[str],
        count: int,
        listening: int,
        folder: str,
        log: StderrHandler,
        watcher: Watcher | None = None,
    ) -> None:
        """Start nothing yet.

        Args:
            arguments: The command line of each, without the interpreter.
            count: How many.
            listening: The descriptor of their socket.
            folder: Where they reach each other; for this user alone.
            log: Where to say what is served.
            watcher: Says which files have changed; then workers are replaced.
        """
        self._command = [
            sys.executable,
            *subprocess._args_from_interpreter_flags(),  # type: ignore[attr-defined]
            "-m",
            "snodo",
            *arguments,
        ]
        self._places = [_Place(index) for index in range(count)]
        self._listening = listening
        self._folder = folder
        # What one of them seals the others have to open.
        self._secret = "" if "SNODO_SECRET" in os.environ else os.urandom(32).hex()
        self._log = log
        self._watcher = watcher
        self._selector = selectors.DefaultSelector()
        self._lines: list[tuple[str, bool]] = []
        """What is served, as it is to be said."""
        self._said = False
        self._rolling: list[_Place] = []
        self._hanging_up = False
        """Whether a signal to replace every worker is not carried out yet."""
        self._status: int | None = None
        """The exit code, once it is known; then nothing is started any more."""

    def run(self) -> int:
        """Serve until a signal, or until it is known that the application cannot be served.

        Returns:
            The exit code: 0 after a signal; that of the first worker if none ever served.
        """
        self._places[0].due = time.monotonic()
        with _signals() as signals:
            self._selector.register(signals, selectors.EVENT_READ)
            try:
                while self._status is None or any(place.process for place in self._places):
                    self._turn(signals)
            finally:
                self._kill()
        return self._status

    def _turn(self, signals: int) -> None:
        for key, _ in self._selector.select(self._pause()):
            if key.fd == signals:
                for number in os.read(signals, 1024):
                    self._signalled(number)
            else:
                self._report(key.data)
        now = time.monotonic()
        for place in self._places:
            if place.process is not None and place.process.poll() is not None:
                self._ended(place, place.process.returncode, now)
            elif place.overdue is not None and place.overdue <= now:
                place.overdue = None
                assert place.process is not None, "it has not ended"
                if self._watcher is None or self._status is not None:
                    _log.warning("worker %d hangs: it is killed", place.process.pid)
                place.process.kill()
        if self._status is not None:
            return
        if self._watcher is not None and (changed := self._watcher.changed()):
            _log.info("%s changed: starting again", changed[0])
            self._replace(self._places[0], now)
        if self._hanging_up and all(place.is_up and not place.leaving for place in self._places):
            if self._rolling:
                self._replace(self._rolling.pop(0), now)
            else:
                self._hanging_up = False
                count = len(self._places)
                all_of_them = f"all {count} workers are" if count > 1 else "the worker is"
                _log.info("SIGHUP: %s replaced", all_of_them)
        for place in self._places:
            if place.due is not None and place.due <= now:
                self._start(place, now)

    def _pause(self) -> float | None:
        """Give how long nothing needs to be done unless something happens."""
        times = [time for place in self._places for time in (place.due, place.overdue) if time]
        pauses = [max(0.0, min(times) - time.monotonic())] if times else []
        if self._watcher is not None and self._status is None:
            pauses.append(_LOOK)
        return min(pauses, default=None)

    def _start(self, place: _Place, now: float) -> None:
        report, told = os.pipe()
        # Something that the worker started may have it open when the worker has ended.
        os.set_blocking(report, False)
        worker = Worker(
            place.index,
            len(self._places),
            self._listening,
            told,
            os.getpid(),
            self._folder,
            self._secret,
        )
        place.due, place.begun, place.is_up, place.leaving = None, now, False, False
        try:
            place.process = subprocess.Popen(
                self._command,
                env=worker.environment(),
                pass_fds=(self._listening, told),
                # Somebody who watches one process may want to debug it.
                stdin=None if self._watcher is not None else subprocess.DEVNULL,
            )
        except OSError as error:
            os.close(report)
            self._failed(place, f"a worker cannot be started: {error.strerror}", now)
            return
        finally:
            os.close(told)
        place.report = report
        self._selector.register(report, selectors.EVENT_READ, place)

    def _report(self, place: _Place) -> None:
        """Take what a worker says once it serves."""
        try:
            said = os.read(place.report, 1 << 16)
        except BlockingIOError:
            said = b""
        self._forget_report(place)
        if not said:
            return
        place.is_up = place.was_up = True
        self._lines, place.draining = heard(said)
        for other in self._places:
            if not other.was_up and other.process is None and other.due is None:
                other.due = time.monotonic()
        self._say()

    def _say(self) -> None:
        """Say what is served, once it is known of each worker whether it can."""
        if self._said or not all(place.was_up or place.failures for place in self._places):
            return
        count = f", {len(self._places)} workers" if len(self._places) > 1 else ""
        for at, (line, warning) in enumerate(self._lines):
            self._log.say(line + count * (at == 0), warning=warning)
        self._said = self._watcher is None and bool(self._lines)
        self._lines = []

    def _forget_report(self, place: _Place) -> None:
        if place.report >= 0:
            self._selector.unregister(place.report)
            os.close(place.report)
            place.report = -1

    def _ended(self, place: _Place, code: int, now: float) -> None:
        """See what is to be done when a worker has ended."""
        assert place.process is not None, "it has ended"
        pid, served = place.process.pid, place.is_up
        if place.report >= 0:
            self._report(place)  # it may have served for a moment
            served = place.is_up
        place.process, place.overdue, place.is_up = None, None, False
        if self._status is not None:
            return
        if place.leaving:
            place.due = now
        elif self._watcher is not None and not served:
            _log.warning("waiting for a change of the files")
        elif not any(place.was_up for place in self._places):
            # The others would come to the same end, and say it again.
            self._status = code if code > 0 else 1
            if code not in (1, 2):  # with these it has said itself what is wrong
                _log.error("the first worker (pid %d) %s before it served", pid, _how(code))
        else:
            if served and now - place.begun >= _SETTLED:
                place.failures = 0
            self._failed(place, f"worker {pid} {_how(code)}", now)

    def _failed(self, place: _Place, what: str, now: float) -> None:
        place.failures += 1
        # The exponent has a limit of its own: 2**1024 is more than a float holds.
        wait = 0.1 * 2 ** min(place.failures, 10) if place.failures > 1 else 0.0
        wait = min(wait, _LONGEST_WAIT)
        place.due = now + wait
        soon = f"in {wait:.1f} s" if wait else "now"
        _log.warning("%s; another takes its place %s", what, soon)
        self._say()

    def _replace(self, place: _Place, now: float) -> None:
        """Let a worker end, and another take its place."""
        if place.process is None:
            place.due = now
            return
        place.leaving = True
        self._end(place, now, _HURRY if self._watcher is not None else place.draining + _GRACE)

    def _end(self, place: _Place, now: float, patience: float) -> None:
        """Tell a worker to end, and see that it does. It has had notice if it was told before."""
        assert place.process is not None, "it runs"
        place.process.terminate()
        if place.overdue is None:
            place.overdue = now + patience

    def _signalled(self, number: int) -> None:
        if number == signal.SIGHUP:
            self._hung_up()
        elif number in (signal.SIGINT, signal.SIGTERM):
            if self._status is not None:
                _log.warning("a second signal: the workers are ended at once")
                self._status = 128 + number
                self._kill()
                return
            self._status = 0
            # The last one that holds it: from when the workers let go of it, nobody is let in.
            os.close(self._listening)
            now = time.monotonic()
            for place in self._places:
                if place.process is not None:
                    self._end(place, now, place.draining + _GRACE)

    def _hung_up(self) -> None:
        """Replace every worker, or say why not."""
        if self._status is not None:
            _log.info("SIGHUP is ignored: the workers end")
            return
        count = len(self._places)
        each = f"each of the {count} workers, one after the other" if count > 1 else "the worker"
        again = ", beginning anew" if self._rolling else ""
        _log.info("SIGHUP: replacing %s%s", each, again)
        self._rolling, self._hanging_up = list(self._places), True

    def _kill(self) -> None:
        for place in self._places:
            if place.process is not None:
                place.process.kill()


def _how(code: int) -> str:
    """Say how a process ended."""
    if code >= 0:
        return f"ended with code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"


@contextmanager
def _signals() -> Iterator[int]:
    """Give a descriptor from which the numbers of signals are read, as they come."""
    heard, told = os.pipe()
    for descriptor in (heard, told):
        os.set_blocking(descriptor, False)
    taken = [signal.SIGINT, signal.SIGTERM, signal.SIGCHLD]
    if not sys.stdin or not sys.stdin.isatty():
        # Where there is a terminal the signal says that it is gone, and ends whatever it had.
        taken.append(signal.SIGHUP)
    before = {number: signal.signal(number, lambda _number, _frame: None) for number in taken}
    wakeup = signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    try:
        yield heard
    finally:
        signal.set_wakeup_fd(wakeup)
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(heard)
        os.close(told)


def serve(
    arguments: Sequence[str],
    count: int,
    options: HttpOptions,
    *,
    log: StderrHandler,
    watcher: Watcher | None = None,
) -> int:
    """Take the address and let workers serve it.

    Args:
        arguments: The command line of each worker, without the interpreter.
        count: How many.
        options: Where and for whom to serve.
        log: Where to say what is served.
        watcher: Says which files have changed; then the worker is replaced.

    Returns:
        The exit code.

    Raises:
        ConfigurationError: If an option cannot hold.
        OSError: If the address cannot be taken.
    """
    from tempfile import gettempdir, mkdtemp

    from ._snodo import listen

    # The path of a socket has room for a hundred characters.
    folder = mkdtemp(prefix="snodo-", dir="/tmp" if len(gettempdir()) > 80 else None)
    socket, file = None, None
    try:
        listening, socket = listen(options)
        file = _file(socket)
        return Fleet(arguments, count, listening, folder, log, watcher).run()
    finally:
        from shutil import rmtree

        rmtree(folder, ignore_errors=True)
        # Somebody else may have made one there meanwhile.
        if socket is not None and file is not None and _file(socket) == file:
            with suppress(OSError):
                os.unlink(socket)


def _file(path: str | None) -> tuple[int, int] | None:
    """Give what tells a file from any other that had or gets its path."""
    if path is None:
        return None
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
