"""Python values to JSON values, one level at a time, for whatever the runtime does not know.

The runtime itself writes strings, numbers, lists, tuples, dicts, sets and dataclasses.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from datetime import timedelta

    from ._snodo import Result


class EncodeError(Exception):
    """A value that is not JSON and is not guessed at; the text is safe to show."""


def simplify(value: Any) -> Any:
    """Give a plainer value for one that the runtime does not know.

    Raises:
        EncodeError: If there is none.
    """
    cls = type(value)
    for module, reader in _BY_MODULE:
        if any(base.__module__.partition(".")[0] == module for base in cls.__mro__):
            known, result = reader(value)
            if known:
                return result
    if isinstance(value, (int, float, str)):
        return _bare(value)
    if cls.__name__ == "Message" and cls.__module__ == "snodo.results":
        return value.message()  # within `Result.prompt_get([...])`
    if hasattr(cls, "__attrs_attrs__"):
        return {field.name: getattr(value, field.name) for field in cls.__attrs_attrs__}
    if hasattr(cls, "__struct_config__"):
        return _struct(value)
    if hasattr(cls, "__pydantic_fields__") and hasattr(value, "model_dump"):
        return value.model_dump(mode="json", by_alias=True)
    if hasattr(cls, "__dataclass_fields__"):
        return {name: getattr(value, name) for name in _data_fields(cls)}
    return _collection(value)


def to_json(value: Any, path: str = "", *, strict: bool = False) -> Any:
    """Give the whole value as plain JSON values; for declarations, not for calls.

    Args:
        value: What to write.
        path: Where it is, for the message.
        strict: Take dicts, lists, tuples and plain values alone.

    Raises:
        EncodeError: With the path, if any part is not JSON.
    """
    cls = type(value)
    if value is None or cls in (bool, int):
        return value
    if cls is str:
        if not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value):
            raise EncodeError(_at("the string holds a lone surrogate", path))
        return value
    if cls is float:
        if not math.isfinite(value):
            raise EncodeError(_at("NaN and Infinity are not JSON", path))
        return value
    if cls is dict:
        for key in value:
            if not isinstance(key, str):
                raise EncodeError(_at("object keys must be strings", path))
        return {
            str.__str__(key): to_json(item, f"{path}.{key}" if path else key, strict=strict)
            for key, item in value.items()
        }
    if cls in (list, tuple) or (cls in (set, frozenset) and not strict):
        return [
            to_json(item, f"{path}.{index}" if path else str(index), strict=strict)
            for index, item in enumerate(value)
        ]
    if strict:
        raise EncodeError(_at(f"objects of type {cls.__qualname__} are not JSON", path))
    try:
        return to_json(tuple(value) if isinstance(value, tuple) else simplify(value), path)
    except EncodeError as error:
        raise EncodeError(_at(str(error), path)) from None


@functools.lru_cache(maxsize=512)
def presents(cls: type) -> bool:
    """Tell a class whose objects `normalise` makes blocks of. Asked for each new type of value."""
    return getattr(cls, "__snodo_content__", False) is True or (
        cls.__module__ != "builtins" and displays(cls)
    )


def normalise(value: Any) -> Result | None:
    """Make a result of content values and of what can show itself as an image; None otherwise."""
    blocks = _blocks(value)
    if blocks is None:
        return None
    from ._snodo import Result

    return Result.content(blocks)


def is_content(value: Any) -> bool:
    """Tell one of our content values."""
    return getattr(type(value), "__snodo_content__", False) is True


def _blocks(value: Any) -> list[dict[str, Any]] | None:
    if isinstance(value, (list, tuple)):
        # Text between pictures is text; a list of strings alone is data.
        if not any(is_content(item) or shows(item) for item in value):
            return None
        blocks = []
        for item in value:
            one = block(item)
            if one is None:
                return None
            blocks.append(one)
        return blocks
    if isinstance(value, str):
        return None
    one = block(value)
    return None if one is None else [one]


def block(value: Any) -> dict[str, Any] | None:
    """Give the content block a value stands for; None for data."""
    if isinstance(value, str):
        return {"type": "text", "text": str.__str__(value)}
    if is_content(value):
        own: dict[str, Any] = value.block()
        return own
    return _shown(value) if shows(value) else None


def shows(value: Any) -> bool:
    """Tell an object that can show itself: IPython's display protocol, or a figure."""
    cls = type(value)
    if isinstance(value, type) or cls.__module__ == "builtins":
        return False
    return displays(cls)


def displays(cls: Any) -> bool:
    """Tell a class whose objects can show themselves."""
    return any(hasattr(cls, name) for name in _METHODS) or _is_figure(cls)


_METHODS = ("_repr_mimebundle_", "_repr_png_", "_repr_jpeg_")
_IMAGES = ("image/png", "image/jpeg", "image/webp", "image/gif")


def _is_figure(cls: Any) -> bool:
    return bool(cls.__module__.partition(".")[0] == "matplotlib") and hasattr(cls, "savefig")


def _shown(value: Any) -> dict[str, Any] | None:
    bundle: dict[str, Any] = {}
    if hasattr(value, "_repr_mimebundle_"):
        answer = value._repr_mimebundle_()
        if isinstance(answer, tuple) and answer:
            answer = answer[0]
        if isinstance(answer, dict):
            bundle.update(answer)
    for mime, method in (("image/png", "_repr_png_"), ("image/jpeg", "_repr_jpeg_")):
        if mime not in bundle and hasattr(value, method) and not _has_image(bundle):
            answer = getattr(value, method)()
            bundle[mime] = answer[0] if isinstance(answer, tuple) and answer else answer
    if not _has_image(bundle) and _is_figure(type(value)):
        import io

        buffer = io.BytesIO()
        value.savefig(buffer, format="png", bbox_inches="tight")
        bundle["image/png"] = buffer.getvalue()
    for mime in _IMAGES:
        data = bundle.get(mime)
        if isinstance(data, (bytes, bytearray, memoryview)) and data:
            from .results import Image

            return Image(data=bytes(data), mime_type=mime).block()
        if isinstance(data, str) and data:
            # Notebook front ends break base64 into lines.
            from .results import Image

            return Image(data="".join(data.split()), mime_type=mime).block()
    return None


def _has_image(bundle: dict[str, Any]) -> bool:
    return any(bundle.get(mime) for mime in _IMAGES)


def _bare(value: Any) -> Any:
    """Give an int, float or str subclass without its subclass."""
    if isinstance(value, str):
        return str.__str__(value)
    return int(value) if isinstance(value, int) else float(value)


def _enum(value: Any) -> tuple[bool, Any]:
    from enum import Enum

    return (True, value.value) if isinstance(value, Enum) else (False, None)


def _datetime(value: Any) -> tuple[bool, Any]:
    from datetime import date, time, timedelta

    if isinstance(value, timedelta):
        return True, duration(value)
    return (True, value.isoformat()) if isinstance(value, (date, time)) else (False, None)


def duration(value: timedelta) -> str:
    """Write a timedelta as an ISO 8601 duration."""
    sign = "-" if value.days < 0 else ""
    value = abs(value)
    text = f"{sign}P{value.days}D" if value.days else f"{sign}P"
    if value.seconds or value.microseconds or not value.days:
        seconds = str(value.seconds)
        if value.microseconds:
            seconds += f".{value.microseconds:06d}".rstrip("0")
        text += f"T{seconds}S"
    return text


def _decimal(value: Any) -> tuple[bool, Any]:
    from decimal import Decimal

    if not isinstance(value, Decimal):
        return False, None
    if not value.is_finite():
        raise EncodeError("NaN and Infinity are not JSON")
    return True, str(value)


def _text(*names: str) -> Any:
    def read(value: Any) -> tuple[bool, Any]:
        known = any(base.__name__ in names for base in type(value).__mro__)
        return known, str(value) if known else None

    return read


def _numpy(value: Any) -> tuple[bool, Any]:
    if hasattr(value, "tolist"):
        return True, value.tolist()
    return False, None


_BY_MODULE: tuple[tuple[str, Any], ...] = (
    ("enum", _enum),
    ("datetime", _datetime),
    ("decimal", _decimal),
    ("uuid", _text("UUID")),
    ("pathlib", _text("PurePath")),
    ("numpy", _numpy),
)


def _struct(value: Any) -> Any:
    import msgspec

    try:
        return msgspec.to_builtins(value, enc_hook=simplify)
    except (TypeError, ValueError) as error:
        raise EncodeError(f"a {type(value).__qualname__} is not JSON") from error


def _data_fields(cls: Any) -> list[str]:
    return [
        name
        for name, field in cls.__dataclass_fields__.items()
        if field._field_type.name == "_FIELD"
    ]


def _collection(value: Any) -> Any:
    from collections import abc

    name = type(value).__qualname__
    if isinstance(value, (bytes, bytearray, memoryview)):
        raise EncodeError(
            f"{name} is not JSON; return Image(data=...), Audio(data=...) or"
            " base64.b64encode(data).decode()"
        )
    if is_content(value):
        raise EncodeError(
            f"{name} is content, not data; return it alone or in a list of content values"
        )
    if isinstance(value, BaseException):
        raise EncodeError(f"objects of type {name} are not JSON; raise exceptions instead")
    if isinstance(value, abc.Mapping):
        return dict(value)
    if isinstance(value, (abc.Set, abc.Sequence, abc.ValuesView)):
        return list(value)
    if isinstance(value, abc.Awaitable):
        raise EncodeError(f"objects of type {name} are not JSON; await it first")
    if isinstance(value, (abc.Iterator, abc.AsyncIterator)):
        raise EncodeError(f"objects of type {name} are not JSON; return list(...) of it")
    if callable(value):
        raise EncodeError(f"objects of type {name} are not JSON; call it and return its value")
    raise EncodeError(
        f"objects of type {name} are not JSON; return a dict, a list, a string or a dataclass"
    )


def _at(reason: str, path: str) -> str:
    return f"{reason} (at {path})" if path and "(at " not in reason else reason
