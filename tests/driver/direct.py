"""A server object in this process, asked through `Server.handle`: no transport at all."""

from __future__ import annotations

import json
import logging
import runpy
from pathlib import Path
from typing import Any

from driver.messages import Session


class DirectSession(Session):
    """Runs the file in this process and talks to the `server` it defines."""

    transport = "direct"

    def __init__(self, target: Path) -> None:
        super().__init__()
        self._records = _Records()
        logging.getLogger("snodo").addHandler(self._records)
        self.app = runpy.run_path(str(target), run_name=target.stem)

    def handle(self, body: bytes) -> dict[str, Any] | None:
        """The decoded answer to one message; None when there is none to give."""
        answer: dict[str, Any] | None = self.app["server"].handle(body)
        return answer

    def send(
        self, message: dict[str, Any], *, timeout: float = 10
    ) -> tuple[int | None, dict[str, Any]]:
        answer = self.handle(json.dumps(message).encode())
        assert answer is not None, f"no answer to {message}"
        return None, answer

    def log(self) -> str:
        return "\n".join(self._records.lines)

    def close(self) -> None:
        logging.getLogger("snodo").removeHandler(self._records)


class _Records(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))
