"""`snodo call`: one tool, resource or prompt asked for once, and its result told as text."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING, Any

from ._asking import JSON, RefusedError, list_prompts, list_tools, request

if TYPE_CHECKING:
    import argparse

    from .server import Server


class MisuseError(Exception):
    """What was typed asks for nothing; the text says why."""


def called(server: Server, options: argparse.Namespace) -> tuple[JSON, str]:
    """Ask for what was typed; give the result, and its text.

    Raises:
        MisuseError: it is not there, or typed wrongly.
        RefusedError: the answer is an error.
    """
    if sum(one is not None for one in (options.tool, options.read, options.prompt)) != 1:
        there = ", ".join(tool["name"] for tool in list_tools(server))
        raise MisuseError(
            "name one tool, or write --read URI, or --prompt NAME"
            + (f"; the tools are: {there}" if there else "")
        )
    if options.read is not None:
        result = request(server, "resources/read", {"uri": options.read})
        return result, "\n".join(_contents(one) for one in result.get("contents", []))
    if options.prompt is not None:
        name, *pairs = options.prompt
        _refuse_unknown(name, "prompt", [one["name"] for one in list_prompts(server)])
        result = request(server, "prompts/get", {"name": name, "arguments": dict(_pairs(pairs))})
        return result, "\n".join(_message(one) for one in result.get("messages", []))
    tools = {tool["name"]: tool for tool in list_tools(server)}
    _refuse_unknown(options.tool, "tool", list(tools))
    arguments = _arguments(options, tools[options.tool])
    result = request(server, "tools/call", {"name": options.tool, "arguments": arguments})
    return result, "\n".join(_block(block) for block in result.get("content", []))


_MISSING_CAPABILITY = -32021
_REFUSED = -32003


def refusal(error: RefusedError, options: argparse.Namespace) -> str:
    """Say what an error means to whoever typed the call."""
    if error.code == _REFUSED and "SNODO_PRINCIPAL" not in os.environ:
        return f"{error}: SNODO_PRINCIPAL in the environment says who calls"
    if error.code != _MISSING_CAPABILITY or not isinstance(error.data, dict):
        return str(error)
    needed = ", ".join(error.data.get("requiredCapabilities", {}))
    return f"this {_kind(options)} asks the client for {needed}, which `snodo call` cannot answer"


def unfinished(result: JSON, options: argparse.Namespace) -> str | None:
    """Say that a result is none yet, but a round; None if it is one."""
    if result.get("resultType") != "input_required":
        return None
    return f"this {_kind(options)} asks to be called again, which `snodo call` does not do"


def _kind(options: argparse.Namespace) -> str:
    if options.read is not None:
        return "resource"
    return "tool" if options.prompt is None else "prompt"


def _refuse_unknown(name: str, kind: str, known: list[str]) -> None:
    if name not in known:
        found = ", ".join(known) or f"no {kind}s at all"
        raise MisuseError(f"there is no {kind} {name!r}; found {found}")


def _pairs(texts: list[str]) -> list[tuple[str, str]]:
    pairs = []
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals:
            raise MisuseError(f"expected key=value, got {text!r}")
        pairs.append((key, value))
    return pairs


def _arguments(options: argparse.Namespace, tool: JSON) -> JSON:
    import json

    arguments: JSON = {}
    if options.json is not None:
        text = sys.stdin.read() if options.json == "-" else options.json
        try:
            arguments = json.loads(text)
        except ValueError as error:
            raise MisuseError(f"--json: not JSON: {error}") from None
        if not isinstance(arguments, dict):
            raise MisuseError("--json: expected an object of arguments")
    properties = tool["inputSchema"].get("properties", {})
    for key, text in _pairs(options.arguments):
        arguments[key] = text
        if not admits_text(properties.get(key)):
            # Not JSON either: the text goes as it is and the validator says what is wrong.
            with contextlib.suppress(ValueError):
                arguments[key] = json.loads(text)
    return arguments


def admits_text(schema: Any) -> bool:
    """Whether a schema has room for a string, so that text given for it is meant as text."""
    if not isinstance(schema, dict):
        return False
    if "enum" in schema:
        return any(isinstance(value, str) for value in schema["enum"])
    if "const" in schema:
        return isinstance(schema["const"], str)
    kind = schema.get("type", ())
    if kind:
        return "string" in ([kind] if isinstance(kind, str) else kind)
    return any(admits_text(one) for key in ("anyOf", "oneOf") for one in schema.get(key, ()))


def _block(block: JSON) -> str:
    kind = block.get("type")
    if kind == "text":
        return str(block["text"])
    if kind == "resource_link":
        return f"[{kind} {block.get('uri')}]"
    if kind == "resource":
        return _contents(block.get("resource", {}))
    return f"[{kind} {block.get('mimeType')}, {len(block.get('data', ''))} characters of base64]"


def _contents(contents: JSON) -> str:
    if "text" in contents:
        return str(contents["text"])
    kind = contents.get("mimeType", "of unknown type")
    return f"[blob {kind}, {len(contents.get('blob', ''))} characters of base64]"


def _message(message: JSON) -> str:
    return f"{message.get('role')}: {_block(message.get('content', {}))}"
