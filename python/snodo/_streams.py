"""Standard input, output and error: taken for the protocol, and there even when closed at start.

A descriptor that is closed at start is the next one that anybody opens gets. So nothing is opened
or duplicated here before 0 and 2 are known to be what their numbers say.
"""

from __future__ import annotations

import errno
import io
import os
import sys


def fill() -> None:
    """Open ``/dev/null`` where standard input or standard error is closed.

    Standard output is left as it is: without it there is nobody to answer.
    """
    for descriptor, flags in ((0, os.O_RDONLY), (2, os.O_WRONLY)):
        if not _is_open(descriptor):
            _nowhere(descriptor, flags)
    if sys.stderr is None and _is_open(2):
        # `print(file=None)` writes to standard output.
        sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115


def take_stdout() -> int:
    """Keep standard output for ourselves: give its duplicate, and point fd 1 at stderr.

    Works for Python, C code and child processes alike, which all write to fd 1.

    Raises:
        OSError: If standard output is closed.
    """
    if sys.__stdout__ is None:
        # Closed at start: whatever has this number by now is not ours to write to.
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    theirs = sys.__stderr__ is not None
    fill()
    if sys.stdout is not None:
        sys.stdout.flush()
    ours = os.dup(1)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # It belongs to a log from here on, where half lines and encoding errors help nobody. Said
        # while it is what it was opened as: a file is asked for its position, which no pipe has.
        sys.stdout.reconfigure(line_buffering=True, errors="backslashreplace")
    if theirs:
        os.dup2(2, 1)
    else:
        # What is printed goes nowhere, rather than to the client or a file of the application's.
        _nowhere(1, os.O_WRONLY)
    return ours


def take_stdin() -> int:
    """Keep standard input for the protocol: give its duplicate, and let fd 0 be empty.

    A tool or child process that reads fd 0 would take messages away from the server.
    """
    if sys.__stdin__ is None:
        return os.open(os.devnull, os.O_RDONLY)
    protocol = os.dup(0)
    _nowhere(0, os.O_RDONLY)
    return protocol


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def _nowhere(descriptor: int, flags: int) -> None:
    nothing = os.open(os.devnull, flags)
    if nothing == descriptor:
        os.set_inheritable(descriptor, True)
        return
    os.dup2(nothing, descriptor)
    os.close(nothing)
