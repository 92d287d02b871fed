"""What a command says and how it ends: complaints, its output, its exit code."""

from __future__ import annotations

import os
import sys

FAILED = 1
MISUSED = 2
INTERRUPTED = 130


class Misuse(Exception):
    """A flag or variable is wrong; the text says which."""


def complain(text: str, code: int) -> int:
    """Say on standard error what is wrong, and give the code to exit with."""
    print(f"snodo: {text}", file=sys.stderr, flush=True)
    return code


def take_stdout() -> int:
    """Keep standard output from whatever else prints; give the descriptor of what it was.

    Raises:
        Misuse: It is closed.
    """
    from ._streams import take_stdout

    try:
        return take_stdout()
    except OSError:
        raise Misuse("standard output is closed") from None


class Output:
    """Standard output for what a command prints, kept apart from what the user's code prints."""

    def __init__(self) -> None:
        self._file = open(take_stdout(), "w", encoding="utf-8", errors="backslashreplace")  # noqa: SIM115

    def print(self, text: str) -> None:
        """Print it; whoever reads may have seen enough."""
        try:
            print(text, file=self._file, flush=True)
        except BrokenPipeError:
            # `snodo inspect … | head` has seen enough.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._file.fileno())
