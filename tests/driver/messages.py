"""Requests of revision 2026-07-28, and what every way of sending them has in common."""

from __future__ import annotations

import itertools
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from driver.conversation import Conversation

VERSION = "2026-07-28"

PREFIX = "io.modelcontextprotocol/"

SUBSCRIPTION = PREFIX + "subscriptionId"

# A client that can be asked anything.
ABLE: dict[str, Any] = {
    "elicitation": {"form": {}, "url": {}},
    "sampling": {"tools": {}, "context": {}},
    "roots": {},
}

# What a client answers: given the key and the request; or by key.
Answers = Mapping[str, Any] | Callable[[str, dict[str, Any]], Any]


def meta(**extra: Any) -> dict[str, Any]:
    """The `_meta` every request must have; `extra` overrides by the key's last part."""
    fields: dict[str, Any] = {"protocolVersion": VERSION, "clientCapabilities": {}} | extra
    return {PREFIX + key: value for key, value in fields.items()}


def request(
    method: str, params: dict[str, Any] | None = None, *, id: Any = 1, **meta_fields: Any
) -> dict[str, Any]:
    """A complete request. A `_meta` in `params` is added to the required keys."""
    params = dict(params or {})
    params["_meta"] = meta(**meta_fields) | params.get("_meta", {})
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


class Refusal(Exception):
    """A JSON-RPC error where a result was possible."""

    def __init__(self, error: dict[str, Any], status: int | None = None) -> None:
        super().__init__(json.dumps(error))
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data: Any = error.get("data")
        self.status = status
        self.error = error


class Session(ABC):
    """One way to a running server. `transport` is `http`, `stdio` or `direct`."""

    transport: str

    def __init__(self) -> None:
        self._ids = itertools.count(1)

    @abstractmethod
    def send(
        self, message: dict[str, Any], *, timeout: float = 10
    ) -> tuple[int | None, dict[str, Any]]:
        """Sends a request and waits for its response; the first item is the HTTP status."""

    @abstractmethod
    def log(self) -> str:
        """What the server wrote to stderr so far."""

    @abstractmethod
    def wait_for_log(self, text: str) -> str:
        """Waits until `text` is in the log; gives all of it."""

    @abstractmethod
    def close(self) -> None:
        """Ends the server."""

    def compose(
        self, method: str, params: dict[str, Any] | None = None, *, id: Any, **meta_fields: Any
    ) -> dict[str, Any]:
        """A complete request of the revision that is spoken."""
        return request(method, params, id=id, **meta_fields)

    def ask(
        self,
        method: str,
        params: dict[str, Any] | None = None,
        *,
        timeout: float = 10,
        **meta_fields: Any,
    ) -> dict[str, Any]:
        """The result of a request; raises `Refusal` when the answer is an error."""
        message = self.compose(method, params, id=next(self._ids), **meta_fields)
        status, response = self.send(message, timeout=timeout)
        assert response.get("jsonrpc") == "2.0", response
        if "error" in response:
            raise Refusal(response["error"], status)
        assert response["id"] == message["id"], response
        result: dict[str, Any] = response["result"]
        return result

    def call(
        self,
        tool: str,
        arguments: dict[str, Any] | None = None,
        *,
        timeout: float = 10,
        **meta_fields: Any,
    ) -> dict[str, Any]:
        """The result of `tools/call`. Without `arguments` the member is left out."""
        params: dict[str, Any] = {"name": tool}
        if arguments is not None:
            params["arguments"] = arguments
        return self.ask("tools/call", params, timeout=timeout, **meta_fields)

    def text(self, tool: str, arguments: dict[str, Any] | None = None, **options: Any) -> str:
        """The text of a call that succeeds with exactly one text block."""
        result = self.call(tool, arguments, **options)
        assert result.get("isError", False) is False, f"{tool} failed: {result['content']}"
        (block,) = result["content"]
        assert block["type"] == "text", block
        text: str = block["text"]
        return text

    def failure(self, tool: str, arguments: dict[str, Any] | None = None, **options: Any) -> str:
        """The text of a call that fails in the tool's way: `isError`, one text block."""
        result = self.call(tool, arguments, **options)
        assert result.get("isError") is True, f"{tool} should have failed: {result}"
        (block,) = result["content"]
        text: str = block["text"]
        return text

    def read(self, uri: str, **options: Any) -> dict[str, Any]:
        """The one content of `resources/read`."""
        (content,) = self.ask("resources/read", {"uri": uri}, **options)["contents"]
        found: dict[str, Any] = content
        return found

    def prompt(
        self, name: str, arguments: dict[str, Any] | None = None, **options: Any
    ) -> list[dict[str, Any]]:
        """The messages of `prompts/get`. Without `arguments` the member is left out."""
        params: dict[str, Any] = {"name": name}
        if arguments is not None:
            params["arguments"] = arguments
        messages: list[dict[str, Any]] = self.ask("prompts/get", params, **options)["messages"]
        return messages

    def complete(
        self, of: str, argument: str, value: str = "", given: dict[str, str] | None = None
    ) -> dict[str, Any]:
        """The completion for an argument of a prompt, or of what looks like a template."""
        reference = (
            {"type": "ref/resource", "uri": of}
            if "://" in of
            else {"type": "ref/prompt", "name": of}
        )
        params: dict[str, Any] = {"ref": reference, "argument": {"name": argument, "value": value}}
        if given is not None:
            params["context"] = {"arguments": given}
        completion: dict[str, Any] = self.ask("completion/complete", params)["completion"]
        return completion

    def rounds(
        self,
        method: str,
        params: dict[str, Any],
        answers: Answers = {},  # noqa: B006 - never changed
        *,
        at_most: int = 50,
        timeout: float = 10,
        **meta_fields: Any,
    ) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """Retries a request until it is complete, as a client does: the same parameters, answers
        to the latest round alone, its state as it came. Gives the results that asked, and the last.
        """
        meta_fields = {"clientCapabilities": ABLE} | meta_fields
        asked: list[dict[str, Any]] = []
        retry: dict[str, Any] = {}
        while True:
            result = self.ask(method, params | retry, timeout=timeout, **meta_fields)
            if result["resultType"] != "input_required":
                return asked, result
            asked.append(result)
            assert len(asked) <= at_most, f"asks for ever: {result}"
            retry = {}
            if "requestState" in result:
                retry["requestState"] = result["requestState"]
            if "inputRequests" in result:
                retry["inputResponses"] = {
                    key: answers(key, wanted) if callable(answers) else answers[key]
                    for key, wanted in result["inputRequests"].items()
                }

    def interview(
        self,
        tool: str,
        answers: Answers = {},  # noqa: B006 - never changed
        arguments: dict[str, Any] | None = None,
        **options: Any,
    ) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """The `rounds` of `tools/call`."""
        params = {"name": tool, "arguments": arguments or {}}
        return self.rounds("tools/call", params, answers, **options)

    def questioned(
        self, method: str, params: dict[str, Any], answer: Callable[[dict[str, Any]], Any]
    ) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """A request whose every question is answered: the questions, and the result."""
        rounds, result = self.rounds(method, params, lambda _key, question: answer(question))
        asked = [each.get("inputRequests", {}).values() for each in rounds]
        return [question for questions in asked for question in questions], result

    def refusal(self, method: str, params: dict[str, Any], **options: Any) -> Refusal:
        """The error of a request that must fail."""
        try:
            result = self.ask(method, params, **options)
        except Refusal as refused:
            return refused
        raise AssertionError(f"{method} should have failed: {result}")

    def tools(self) -> dict[str, dict[str, Any]]:
        """All listed tools by name, in the listed order, through every page."""
        found: dict[str, dict[str, Any]] = {}
        cursor: dict[str, Any] = {}
        while True:
            page = self.ask("tools/list", cursor)
            found |= {tool["name"]: tool for tool in page["tools"]}
            if "nextCursor" not in page:
                return found
            cursor = {"cursor": page["nextCursor"]}


class ProcessSession(Session):
    """A session with a server in a process of its own, which can speak before it answers."""

    @abstractmethod
    def converse(self, message: dict[str, Any]) -> Conversation:
        """Sends a request and does not wait for anything."""

    def begin(
        self,
        method: str,
        params: dict[str, Any] | None = None,
        *,
        token: Any = None,
        level: str | None = None,
        **meta_fields: Any,
    ) -> Conversation:
        """Sends a request that may ask for progress (`token`) and log messages (`level`)."""
        params = dict(params or {})
        if token is not None:
            params["_meta"] = params.get("_meta", {}) | {"progressToken": token}
        if level is not None:
            meta_fields["logLevel"] = level
        id = meta_fields.pop("id", f"{method} {next(self._ids)}")
        return self.converse(self.compose(method, params, id=id, **meta_fields))

    def begin_call(
        self, tool: str, arguments: dict[str, Any] | None = None, **options: Any
    ) -> Conversation:
        """Sends `tools/call`."""
        return self.begin("tools/call", {"name": tool, "arguments": arguments or {}}, **options)

    def hear(
        self, tool: str, arguments: dict[str, Any] | None = None, **options: Any
    ) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """What is said of a `tools/call` before its answer, and the answer."""
        with self.begin_call(tool, arguments, **options) as conversation:
            return conversation.rest()

    def listen(self, /, **wanted: Any) -> Conversation:
        """A subscription, acknowledged with exactly what is `wanted`."""
        conversation = self.begin("subscriptions/listen", {"notifications": wanted})
        acknowledged = conversation.notice()
        assert acknowledged == {
            "jsonrpc": "2.0",
            "method": "notifications/subscriptions/acknowledged",
            "params": {
                "_meta": {SUBSCRIPTION: conversation.message["id"]},
                "notifications": {key: value for key, value in wanted.items() if value},
            },
        }
        return conversation


def event(conversation: Conversation, kind: str, **params: Any) -> dict[str, Any]:
    """The message that tells a listener of `kind`, as `tools/list_changed`."""
    return {
        "jsonrpc": "2.0",
        "method": f"notifications/{kind}",
        "params": {"_meta": {SUBSCRIPTION: conversation.message["id"]}} | params,
    }
