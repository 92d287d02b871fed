"""Reading files without being led out of a folder, into a device, or past a size."""

from __future__ import annotations

import fnmatch
import os
import stat
from collections.abc import Iterator

from ._parsing import stays_below

_FLAGS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
# A named pipe would otherwise be waited for.
_PLAIN = _FLAGS | getattr(os, "O_NONBLOCK", 0)
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_BY_DESCRIPTOR = os.open in os.supports_dir_fd and bool(_NOFOLLOW)
_MAX_DEPTH = 64
_MAX_VISITED = 100_000
"""Names looked at for one listing; a folder with more is told as cut short."""


class TooLargeError(Exception):
    """A file is larger than its resource allows."""


class Folder:
    """A folder from which files are read and listed, and nothing from anywhere else."""

    def __init__(
        self,
        root: str,
        *,
        pattern: str,
        recursive: bool,
        hidden: bool,
        max_bytes: int,
        max_entries: int,
    ) -> None:
        """Take an absolute path, which files belong to it, and the bounds."""
        self.root = root
        self.pattern = pattern
        self.recursive = recursive
        self.hidden = hidden
        self.max_bytes = max_bytes
        self.max_entries = max_entries

    def read(self, relative: str) -> bytes:
        """Give the bytes of a file.

        Args:
            relative: Names joined by slashes.

        Raises:
            FileNotFoundError: If there is no such file, or it does not belong to the folder.
            OSError: If it cannot be read.
            TooLargeError: If it is larger than allowed.
        """
        if not self._belongs(relative):
            raise FileNotFoundError
        root = os.path.realpath(self.root)
        # Links are resolved first; what is opened then holds none, so a link that appears
        # meanwhile is refused instead of followed.
        real = os.path.realpath(os.path.join(root, *relative.split("/")), strict=True)
        if not real.startswith(os.path.join(root, "")):
            raise FileNotFoundError
        below = real[len(os.path.join(root, "")) :].split(os.sep)
        if not self._named("/".join(below)):
            raise FileNotFoundError
        return read_limited(_open_below(root, below), self.max_bytes)

    def files(self) -> tuple[list[tuple[str, int]], bool]:
        """Give path and size of every file in order, and whether there were too many."""
        found: list[tuple[str, int]] = []
        budget = [_MAX_VISITED]
        for entry in self._walk(os.path.realpath(self.root), "", 0, budget):
            if len(found) == self.max_entries:
                return found, True
            found.append(entry)
        return found, budget[0] <= 0

    def _walk(
        self, folder: str, prefix: str, depth: int, budget: list[int]
    ) -> Iterator[tuple[str, int]]:
        try:
            with os.scandir(folder) as entries:
                ordered = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            return  # it is gone, or it is not ours to see
        for entry in ordered:
            budget[0] -= 1
            if budget[0] <= 0:
                return
            relative = f"{prefix}{entry.name}"
            if not self._named(entry.name, whole=False) or not stays_below(relative):
                continue
            try:
                if entry.is_dir(follow_symlinks=False):
                    if self.recursive and depth < _MAX_DEPTH:
                        yield from self._walk(entry.path, f"{relative}/", depth + 1, budget)
                elif entry.is_file() and self._belongs(relative) and self._inside(entry):
                    relative.encode()  # a name that is no text has no URI
                    yield relative, entry.stat().st_size
            except (OSError, UnicodeEncodeError):
                continue

    def _inside(self, entry: os.DirEntry[str]) -> bool:
        if not entry.is_symlink():
            return True
        root = os.path.join(os.path.realpath(self.root), "")
        return os.path.realpath(entry.path).startswith(root)

    def _belongs(self, relative: str) -> bool:
        return (
            stays_below(relative)
            and (self.recursive or "/" not in relative)
            and self._named(relative)
            and fnmatch.fnmatchcase(relative.rpartition("/")[2], self.pattern)
        )

    def _named(self, relative: str, *, whole: bool = True) -> bool:
        """Tell names that may be seen; those with a dot in front only if hidden ones may."""
        parts = relative.split("/") if whole else (relative,)
        return self.hidden or not any(part.startswith(".") for part in parts)


def open_file(path: str) -> int:
    """Open a file for reading and give its descriptor.

    Raises:
        OSError: If it cannot be opened.
    """
    return os.open(path, _PLAIN)


def read_limited(descriptor: int, most: int) -> bytes:
    """Read a descriptor of a regular file to its end, and close it.

    Raises:
        OSError: If it is no regular file or cannot be read.
        TooLargeError: If it holds more bytes than allowed.
    """
    try:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            raise FileNotFoundError
        if about.st_size > most:
            raise TooLargeError(f"the file is larger than {most} bytes")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            data = file.read(most + 1)
    finally:
        os.close(descriptor)
    if len(data) > most:
        raise TooLargeError(f"the file is larger than {most} bytes")
    return data


def _open_below(root: str, parts: list[str]) -> int:
    """Open a file by one name after the other, following no link."""
    if not _BY_DESCRIPTOR:
        return os.open(os.path.join(root, *parts), _PLAIN | _NOFOLLOW)
    folder = os.open(root, _FLAGS | os.O_DIRECTORY)
    try:
        for part in parts[:-1]:
            inner = os.open(part, _FLAGS | os.O_DIRECTORY | _NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = inner
        return os.open(parts[-1], _PLAIN | _NOFOLLOW, dir_fd=folder)
    finally:
        os.close(folder)
