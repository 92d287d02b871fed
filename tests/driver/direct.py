"""A server object in this process, asked through `Server.handle`: no transport at all."""

from __future__ import annotations

import asyncio
import json
import logging
import runpy
import threading
from pathlib import Path
from typing import Any

from driver.messages import Session


class DirectSession(Session):
    """Runs the file and its `server` on an event loop in a thread of its own."""

    transport = "direct"

    def __init__(self, target: Path) -> None:
        super().__init__()
        self._records = _Records()
        logging.getLogger("snodo").addHandler(self._records)
        self.app = runpy.run_path(str(target), run_name=target.stem)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def handle(self, body: bytes, timeout: float = 10) -> bytes | None:
        """The answer to one message, as the bytes a transport would send."""
        answer = asyncio.run_coroutine_threadsafe(self._handle(body), self._loop).result(timeout)
        return answer

    async def _handle(self, body: bytes) -> bytes | None:
        answer: bytes | None = await self.app["server"].handle(body)
        return answer

    def send(
        self, message: dict[str, Any], *, timeout: float = 10
    ) -> tuple[int | None, dict[str, Any]]:
        answer = self.handle(json.dumps(message).encode(), timeout)
        assert answer is not None, f"no answer to {message}"
        response: dict[str, Any] = json.loads(answer)
        return None, response

    def log(self) -> str:
        return "\n".join(self._records.lines)

    def close(self) -> None:
        logging.getLogger("snodo").removeHandler(self._records)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()


class _Records(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))
