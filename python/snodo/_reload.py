"""Which files of a project have changed since somebody last asked."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Folders of other people's code, or of none.
_PASSED_OVER = {"__pycache__", "node_modules", "site-packages"}


class Watcher:
    """The Python files in some folders and below them, hidden and installed ones left out."""

    def __init__(self, folders: Sequence[str]) -> None:
        """Look at them for the first time."""
        self._folders = [os.path.abspath(folder) for folder in folders]
        self._seen = dict(self._look())

    def changed(self) -> list[str]:
        """Give what was changed, added or removed since the last time, as people would name it."""
        before, self._seen = self._seen, dict(self._look())
        if before == self._seen:
            return []
        paths = sorted(before.keys() | self._seen.keys())
        return [os.path.relpath(path) for path in paths if before.get(path) != self._seen.get(path)]

    def _look(self) -> Iterator[tuple[str, tuple[int, int]]]:
        folders = list(self._folders)
        while folders:
            try:
                entries = list(os.scandir(folders.pop()))
            except OSError:
                continue  # it has just gone
            if any(entry.name == "pyvenv.cfg" for entry in entries):
                continue
            for entry in entries:
                try:
                    if entry.name.startswith(".") or entry.name in _PASSED_OVER:
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    elif entry.name.endswith(".py"):
                        found = entry.stat()
                        yield entry.path, (found.st_mtime_ns, found.st_size)
                except OSError:
                    continue
