"""Reading files without being led out of a folder, into a device, or past a size."""

from __future__ import annotations

import fnmatch
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from ._parsing import stays_below

_FLAGS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
# A named pipe would otherwise be waited for.
_PLAIN = _FLAGS | getattr(os, "O_NONBLOCK", 0)
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_BY_DESCRIPTOR = bool(_NOFOLLOW) and os.open in os.supports_dir_fd and os.scandir in os.supports_fd
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
        return read_limited(self._open(relative), self.max_bytes)

    def files(self) -> tuple[list[tuple[str, int]], bool]:
        """Give path and size of every file in order, and whether there were too many."""
        found: list[tuple[str, int]] = []
        budget = [_MAX_VISITED]
        for entry in self._walk(os.path.realpath(self.root), [], budget):
            if len(found) == self.max_entries:
                return found, True
            found.append(entry)
        return found, budget[0] <= 0

    def _open(self, relative: str) -> int:
        root = os.path.realpath(self.root)
        # Links are resolved first; what is opened then holds none, so a link that appears
        # meanwhile is refused instead of followed.
        real = os.path.realpath(os.path.join(root, *relative.split("/")), strict=True)
        if not real.startswith(os.path.join(root, "")):
            raise FileNotFoundError
        below = real[len(os.path.join(root, "")) :].split(os.sep)
        if not self._named("/".join(below)):
            raise FileNotFoundError
        return _open_below(root, below)

    def _walk(self, root: str, above: list[str], budget: list[int]) -> Iterator[tuple[str, int]]:
        for name, size in self._look(root, above, budget):
            if size is not None:
                yield "/".join((*above, name)), size
            elif self.recursive and len(above) < _MAX_DEPTH:
                yield from self._walk(root, [*above, name], budget)

    def _look(self, root: str, above: list[str], budget: list[int]) -> list[tuple[str, int | None]]:
        """Give what one folder holds, in order: files with their size, folders without.

        Nothing is looked at by its path, so a folder or a file that becomes a link meanwhile is
        left out; what is behind the link is not told.
        """
        found: list[tuple[str, int | None]] = []
        with suppress(OSError), _scannable(root, above) as folder:
            with os.scandir(folder) as entries:
                ordered = sorted(entries, key=lambda entry: entry.name)
            for entry in ordered:
                budget[0] -= 1
                if budget[0] <= 0:
                    break
                relative = "/".join((*above, entry.name))
                if not self._named(entry.name) or not stays_below(relative):
                    continue
                # It may be gone, or not ours to see; and a name that is no text has no URI.
                with suppress(OSError, UnicodeEncodeError):
                    if entry.is_dir(follow_symlinks=False):
                        found.append((entry.name, None))
                    elif self._belongs(relative):
                        relative.encode()
                        about = self._about(entry, relative)
                        if stat.S_ISREG(about.st_mode):
                            found.append((entry.name, about.st_size))
        return found

    def _about(self, entry: os.DirEntry[str], relative: str) -> os.stat_result:
        if not entry.is_symlink():
            return entry.stat(follow_symlinks=False)
        descriptor = self._open(relative)
        try:
            return os.fstat(descriptor)
        finally:
            os.close(descriptor)

    def _belongs(self, relative: str) -> bool:
        return (
            stays_below(relative)
            and (self.recursive or "/" not in relative)
            and self._named(relative)
            and fnmatch.fnmatchcase(relative.rpartition("/")[2], self.pattern)
        )

    def _named(self, relative: str) -> bool:
        """Tell names that may be seen; those with a dot in front only if hidden ones may."""
        return self.hidden or not any(part.startswith(".") for part in relative.split("/"))


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
    with _folder_below(root, parts[:-1]) as folder:
        return os.open(parts[-1], _PLAIN | _NOFOLLOW, dir_fd=folder)


@contextmanager
def _scannable(root: str, parts: list[str]) -> Iterator[int | str]:
    if not _BY_DESCRIPTOR:
        yield os.path.join(root, *parts)
        return
    with _folder_below(root, parts) as folder:
        yield folder


@contextmanager
def _folder_below(root: str, parts: list[str]) -> Iterator[int]:
    """Open a folder by one name after the other, following no link."""
    folder = os.open(root, _FLAGS | os.O_DIRECTORY)
    try:
        for part in parts:
            inner = os.open(part, _FLAGS | os.O_DIRECTORY | _NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = inner
        yield folder
    finally:
        os.close(folder)
