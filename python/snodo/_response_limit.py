"""`response_limit`: the beginning and the end of a long text, and a link to the whole."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from ._encode import EncodeError, block, presents, to_json
from ._layers import Place, Ready, Sides
from ._snodo import Result
from .results import ResourceLink, Text


class Content(NamedTuple):
    """A result taken apart."""

    text: str
    mime_type: str
    others: list[Any]
    """Blocks that are no text."""
    metadata: Any = None


class ResponseLimit(Ready):
    """Shortens; what it cuts off is the server's to keep."""

    name = "response_limit"

    def __init__(self, most: int, head: int, tail: int, *, in_bytes: bool, keep: float) -> None:
        """Take the options."""
        self._most = most
        self._head = head
        self._tail = tail
        self._in_bytes = in_bytes
        self._keep = keep

    def check(self, kind: str) -> str | None:
        """Say that only a tool has a result with links."""
        return None if kind == "tool" else "response_limit is for tools"

    def at(self, place: Place) -> Callable[[str], Sides]:
        """Give the layer of a place; around what is no tool it does nothing."""
        if place.kind == "tool":
            place.kept()  # so that its template is offered from the beginning

        def plain(context: Any, arguments: Any, call_next: Any) -> Any:
            return self._shortened(place, context, call_next())

        async def late(context: Any, arguments: Any, call_next: Any) -> Any:
            return self._shortened(place, context, await call_next())

        sides = Sides(plain, late)
        return lambda operation: sides

    def _shortened(self, place: Place, context: Any, value: Any) -> Any:
        content = _content(value) if place.kind == "tool" else None
        if content is None:
            return value
        text, mime_type, others, metadata = content
        data = text.encode(errors="surrogatepass")
        size = len(data) if self._in_bytes else len(text)
        if size <= self._most:
            return value
        unit = "bytes" if self._in_bytes else "characters"
        uri = place.kept().keep(context, text, mime_type, len(data), self._keep)
        head, tail = self._ends(data if self._in_bytes else text)
        missing = f"[{size - self._head - self._tail:,} of {size:,} {unit} are left out here; the"
        link = ResourceLink(
            uri,
            f"{place.component}-result",
            description=f"The whole result, for {self._keep:g} seconds",
            mime_type=mime_type,
            size=len(data),
        )
        cut = f"{head}\n{missing} whole is at {uri}]\n{tail}"
        blocks: list[Any] = [Text(cut).block(), *others, link.block()]
        if place.has_output:
            return Result.raw({"content": blocks, "isError": True})
        return Result.content(blocks, metadata=metadata)

    def _ends(self, whole: Any) -> tuple[str, str]:
        head, tail = whole[: self._head], whole[len(whole) - self._tail :]
        if isinstance(whole, bytes):
            # A character that is cut in two is left out.
            return head.decode(errors="ignore"), tail.decode(errors="ignore")
        return head, tail


def _content(value: Any) -> Content | None:
    """Take a value apart; None for what has no text, or is no success."""
    if isinstance(value, str):
        return Content(value, "text/plain", [])
    if not isinstance(value, Result):
        blocks = _blocks(value) if _presents(value) else None
        return _json(value, None) if blocks is None else _texts(blocks, None)
    if value.kind == "text":
        return Content(value.value, "text/plain", [], value.metadata)
    if value.kind == "structured":
        return _json(value.value, value.metadata)
    if value.kind == "content":
        blocks = _blocks(value.value)
        return None if blocks is None else _texts(blocks, value.metadata)
    return None


def _items(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _blocks(value: Any) -> list[Any] | None:
    """Give content blocks where a value is one, or a list of them."""
    found = [item if _is_block(item) else block(item) for item in _items(value)]
    return found if found and all(one is not None for one in found) else None


def _presents(value: Any) -> bool:
    kinds: list[Any] = [type(item) for item in _items(value)]
    return any(presents(kind) for kind in kinds)


def _is_block(item: Any) -> bool:
    return isinstance(item, dict) and item.get("type") in (
        "text",
        "image",
        "audio",
        "resource",
        "resource_link",
    )


def _texts(blocks: list[Any], metadata: Any) -> Content | None:
    texts = [one["text"] for one in blocks if one["type"] == "text"]
    others = [one for one in blocks if one["type"] != "text"]
    return Content("\n".join(texts), "text/plain", others, metadata) if texts else None


def _json(value: Any, metadata: Any) -> Content | None:
    if value is None or isinstance(value, BaseException):
        return None
    try:
        plain = to_json(value)
    except EncodeError:
        return None  # the runtime says what is wrong with it
    text = json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
    return Content(text, "application/json", [], metadata)
