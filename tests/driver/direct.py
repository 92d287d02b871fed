"""A server object in this process, asked through `Server.handle`: no transport at all."""

from __future__ import annotations

import itertools
import json
import logging
import sys
import time
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from driver.messages import Session

_numbers = itertools.count(1)


def load(target: Path) -> Any:
    """Imports a file under a name of its own."""
    name = f"direct_{next(_numbers)}"
    spec = spec_from_file_location(name, target)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


class DirectSession(Session):
    """Runs the file in this process and talks to the `server` it defines."""

    transport = "direct"

    def __init__(self, target: Path) -> None:
        super().__init__()
        self._records = _Records()
        logging.getLogger("snodo").addHandler(self._records)
        self.app = load(target)

    def handle(self, body: bytes) -> dict[str, Any] | None:
        """The decoded answer to one message; None when there is none to give."""
        answer: dict[str, Any] | None = self.app.server.handle(body)
        return answer

    def send(
        self, message: dict[str, Any], *, timeout: float = 10
    ) -> tuple[int | None, dict[str, Any]]:
        answer = self.handle(json.dumps(message).encode())
        assert answer is not None, f"no answer to {message}"
        return None, answer

    def log(self) -> str:
        return "\n".join(self._records.lines)

    def wait_for_log(self, text: str) -> str:
        # Whatever runs on another thread may tell it after the answer.
        end = time.monotonic() + 20
        while text not in (log := self.log()):
            assert time.monotonic() < end, f"the log never said {text!r}; it said:\n{log}"
            time.sleep(0.01)
        return log

    def close(self) -> None:
        logging.getLogger("snodo").removeHandler(self._records)


class _Records(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))
