"""A server on the other end of three pipes, spoken to in lines."""

from __future__ import annotations

import json
import queue
import threading
from pathlib import Path
from typing import Any

from driver.conversation import StdioConversation
from driver.messages import SUBSCRIPTION, ProcessSession
from driver.process import Process
from driver.recording import Lines


class StdioServer(Process):
    """`serve TARGET --stdio`. Every line it writes to stdout is kept, in order."""

    def __init__(self, target: Path | str, *options: str, **settings: Any) -> None:
        super().__init__(target, "--stdio", *options, **settings)
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._ended = False
        self._recorded = Lines()
        reader = threading.Thread(target=self._read_stdout, daemon=True)
        self._readers.append(reader)
        reader.start()

    def _read_stdout(self) -> None:
        assert self.popen.stdout is not None
        for line in self.popen.stdout:
            if self._killed and not line.endswith(b"\n"):
                break  # nobody is to look at half a message
            self._recorded.received(line)
            self._lines.put(line)
        self._lines.put(None)

    def write(self, data: bytes) -> None:
        """Writes bytes as they are."""
        assert self.popen.stdin is not None
        self._recorded.sent(data)
        self.popen.stdin.write(data)
        self.popen.stdin.flush()

    def write_message(self, message: Any) -> None:
        """Writes one message as one line."""
        self.write(json.dumps(message).encode() + b"\n")

    def end_input(self) -> None:
        """Closes the server's stdin."""
        assert self.popen.stdin is not None
        self.popen.stdin.close()

    def read_line(self, timeout: float = 10) -> bytes:
        """The next line of stdout, which must come in time."""
        try:
            line = None if self._ended else self._lines.get(timeout=timeout)
        except queue.Empty:
            raise AssertionError(
                f"nothing on stdout within {timeout} s; stderr:\n{self.log()}"
            ) from None
        if line is None:
            self._ended = True
            raise AssertionError(f"stdout ended; stderr:\n{self.log()}")
        return line

    def read_message(self, timeout: float = 10) -> dict[str, Any]:
        """The next line, which must be a JSON object."""
        line = self.read_line(timeout)
        try:
            message = json.loads(line)
        except ValueError:
            raise AssertionError(f"not a message on stdout: {line[:500]!r}") from None
        assert isinstance(message, dict), line[:500]
        return message

    def rest(self, timeout: float = 10) -> list[bytes]:
        """All further lines, up to the end of stdout."""
        lines: list[bytes] = []
        while not self._ended:
            try:
                line = self._lines.get(timeout=timeout)
            except queue.Empty:
                raise AssertionError(f"stdout is still open after {timeout} s") from None
            if line is None:
                self._ended = True
            else:
                lines.append(line)
        return lines

    def ask(self, message: dict[str, Any], timeout: float = 10) -> dict[str, Any]:
        """Writes a request and reads the next message, which must be its answer."""
        self.write_message(message)
        answer = self.read_message(timeout)
        assert answer.get("id") == message["id"], answer
        return answer


class StdioSession(ProcessSession):
    """Requests in any number of threads; answers are handed to whoever waits for their id."""

    transport = "stdio"

    def __init__(self, target: Path, *options: str) -> None:
        super().__init__()
        self.server = StdioServer(target, *options)
        self._answers: dict[Any, dict[str, Any]] = {}
        self._conversations: list[StdioConversation] = []
        # Notifications that belong to nobody.
        self.strays: list[dict[str, Any]] = []
        self._arrived = threading.Condition()
        self._writing = threading.Lock()
        threading.Thread(target=self._collect, daemon=True).start()

    def _collect(self) -> None:
        while True:
            line = self.server._lines.get()
            if line is None:
                return
            message = json.loads(line)
            with self._arrived:
                owners = [one for one in self._conversations if belongs(message, one.message)]
                for owner in owners:
                    owner.take(message)
                    if "method" not in message and not owner.left:
                        self._conversations.remove(owner)  # what follows belongs to nobody
                if owners:
                    continue
                if "method" in message:
                    self.strays.append(message)
                    continue
                self._answers[message.get("id")] = message
                self._arrived.notify_all()

    def converse(self, message: dict[str, Any]) -> StdioConversation:
        conversation = StdioConversation(message, self._cancel)
        with self._arrived:
            self._conversations.append(conversation)
        with self._writing:
            self.server.write_message(message)
        return conversation

    def _cancel(self, conversation: StdioConversation) -> None:
        params = {"requestId": conversation.message["id"], "reason": "no longer wanted"}
        message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
        with self._writing:
            self.server.write_message(message)

    def send(
        self, message: dict[str, Any], *, timeout: float = 10
    ) -> tuple[int | None, dict[str, Any]]:
        with self._writing:
            self.server.write_message(message)
        ours = (message["id"], None)  # an answer without id: ours could not be read

        def answered() -> bool:
            return any(id in self._answers for id in ours)

        with self._arrived:
            arrived = self._arrived.wait_for(answered, timeout)
            assert arrived, f"no answer within {timeout} s; stderr:\n{self.log()}"
            id = next(id for id in ours if id in self._answers)
            return None, self._answers.pop(id)

    def log(self) -> str:
        return self.server.log()

    def wait_for_log(self, text: str) -> str:
        return self.server.wait_for_log(text)

    def close(self) -> None:
        self.server.close()
        # A second answer to a request, or one to none.
        assert not self._answers, f"nobody waited for {self._answers}"


def belongs(message: dict[str, Any], request: dict[str, Any]) -> bool:
    """Whether a message is about this request: by id, by token, or because it asked for logs."""
    meta = request["params"]["_meta"]
    params = message.get("params", {})
    match message.get("method"):
        case "notifications/progress":
            return same(params["progressToken"], meta.get("progressToken"))
        case "notifications/message":
            return "io.modelcontextprotocol/logLevel" in meta
        case "notifications/cancelled":
            return same(params["requestId"], request["id"])
        case None:
            return same(message.get("id"), request["id"])
        case _:
            return same(params.get("_meta", {}).get(SUBSCRIPTION), request["id"])


def same(one: Any, other: Any) -> bool:
    """Ids and tokens are compared with their type."""
    return type(one) is type(other) and one == other
