"""What handlers of resources and prompts return, made into results where it is more than data.

Strings, bytes, results and data are left to the runtime, which shapes them for the request.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._answer import InputRequest
from ._content import encoded
from ._encode import block, is_content, presents
from ._snodo import Result
from .results import Message

Shape = Callable[[Any], Any]

_LEFT = frozenset({str, bytes, dict, type(None), bool, int, float})


def shaped(run: Callable[..., Any], is_async: bool, shape: Shape) -> Callable[..., Any]:
    """Give a function that runs another one and shapes what it gives."""
    if is_async:

        async def call_async(*args: Any, **kwargs: Any) -> Any:
            return shape(await run(*args, **kwargs))

        return call_async

    def call(*args: Any, **kwargs: Any) -> Any:
        return shape(run(*args, **kwargs))

    return call


def contents_of(mime_type: str | None) -> Shape:
    """Give what makes contents of content values, alone or in a list.

    Args:
        mime_type: What the resource declares, for contents that do not say it themselves.
    """

    def shape(value: Any) -> Any:
        if type(value) in _LEFT:
            return value
        if isinstance(value, Result):
            return _spelled(value, "resource_read", lambda item: _contents(item, mime_type))
        if isinstance(value, (list, tuple)):
            # Data, unless something in it can only be contents.
            if not any(_is_contents(item) for item in value):
                return value
            return Result.resource_read([_contents(item, mime_type) for item in value])
        if isinstance(value, (bytearray, memoryview)):
            return bytes(value)
        if _presents(value):
            return Result.resource_read([_contents(value, mime_type)])
        return value

    return shape


def _spelled(result: Result, kind: str, spell: Callable[[Any], Any]) -> Result:
    """Give a result whose list holds plain objects, where its maker put content values."""
    if result.kind != kind:
        return result
    parts: dict[str, Any] = dict(result.value)
    member = "contents" if kind == "resource_read" else "messages"
    items = parts.pop(member)
    items = list(items) if isinstance(items, (list, tuple)) else [items]
    if all(type(item) is dict and not is_content(item.get("content")) for item in items):
        return result
    make: Any = getattr(Result, kind)
    made: Result = make([spell(item) for item in items], metadata=result.metadata, **parts)
    return made


def _presents(value: Any) -> bool:
    cls: Any = type(value)
    return presents(cls)


def _is_contents(item: Any) -> bool:
    return isinstance(item, (bytes, bytearray, memoryview)) or _presents(item)


def _contents(item: Any, mime_type: str | None) -> dict[str, Any]:
    """Give one contents object; the runtime adds the requested URI where there is none.

    Raises:
        TypeError: If the item is no contents.
    """
    declared = {} if mime_type is None else {"mimeType": mime_type}
    if isinstance(item, (bytes, bytearray, memoryview)):
        return {**declared, "blob": encoded(item, "item")[0]}
    if isinstance(item, dict):
        return item
    found = block(item)
    if found is None:
        raise TypeError(f"a {type(item).__name__} among contents is none")
    rest: dict[str, Any] = {key: found[key] for key in ("annotations", "_meta") if key in found}
    if found["type"] == "text":
        return {**declared, "text": found["text"], **rest}
    if found["type"] in ("image", "audio"):
        return {"mimeType": found["mimeType"], "blob": found["data"], **rest}
    if found["type"] == "resource":
        return {**found["resource"], **rest}
    raise TypeError("a ResourceLink is no contents of a resource")


def messages(value: Any) -> Any:
    """Make messages of `Message` values, strings and content values, alone or in a list."""
    if type(value) is str:
        return value
    if isinstance(value, Result):
        return _spelled(value, "prompt_get", _message)
    if isinstance(value, (list, tuple)):
        return Result.prompt_get([_message(item) for item in value])
    if isinstance(value, dict) and _asks(value):
        return value  # for the runtime to refuse
    if isinstance(value, (Message, dict)) or _presents(value):
        return Result.prompt_get([_message(value)])
    return value


def _asks(value: dict[str, Any]) -> bool:
    """Tell a question, or questions by key, from a message."""
    return isinstance(value, InputRequest) or any(
        isinstance(member, InputRequest) for member in value.values()
    )


def _message(item: Any) -> Any:
    """Give one message as it is sent.

    Raises:
        TypeError: If the item is none.
    """
    if isinstance(item, Message):
        return item.message()
    if isinstance(item, dict):
        content: Any = item.get("content")
        return {**item, "content": content.block()} if is_content(content) else item
    found = block(item)
    if found is None:
        raise TypeError(f"a {type(item).__name__} among messages is none")
    return {"role": "user", "content": found}
