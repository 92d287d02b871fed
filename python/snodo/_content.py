"""The parts of content values, each checked when the value is made."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def string(value: object, part: str) -> str:
    """Check a string.

    Raises:
        TypeError: If it is none.
    """
    if not isinstance(value, str):
        raise TypeError(f"{part} must be a string, not {type(value).__name__}")
    return str.__str__(value)


def absolute_uri(value: object) -> str:
    """Check a URI.

    Raises:
        TypeError: If it is no string.
        ValueError: If it is not absolute.
    """
    from ._definition import is_absolute

    text = string(value, "uri")
    if not is_absolute(text):
        raise ValueError("uri must be absolute: a scheme, a colon and more, without spaces")
    return text


def encoded(value: object, part: str) -> tuple[str, bytes]:
    """Give base64 text, and the first bytes it stands for.

    Raises:
        TypeError: If it is neither text nor bytes.
        ValueError: If it is text that is not base64.
    """
    import binascii

    if isinstance(value, (bytes, bytearray, memoryview)):
        raw = bytes(value)
        return binascii.b2a_base64(raw, newline=False).decode("ascii"), raw[:16]
    text = string(value, part)
    try:
        return text, binascii.a2b_base64(text, strict_mode=True)[:16]
    except ValueError:
        raise ValueError(f"{part} is text that is not base64; pass bytes") from None


def annotations_of(value: object) -> dict[str, Any]:
    """Check annotations and give their copy.

    Raises:
        TypeError: If they or a part are of another type.
        ValueError: If a part says something else.
    """
    found = json_object(value, "annotations")
    audience = found.get("audience")
    if audience is not None and not (
        isinstance(audience, list) and all(who in ("user", "assistant") for who in audience)
    ):
        raise ValueError('annotations.audience must be a list of "user" and "assistant"')
    priority = found.get("priority")
    if priority is not None and (
        isinstance(priority, bool)
        or not isinstance(priority, (int, float))
        or not 0 <= priority <= 1
    ):
        raise ValueError("annotations.priority must be a number from 0 to 1")
    if not isinstance(found.get("lastModified", ""), str):
        raise TypeError("annotations.lastModified must be a string")
    return found


def checked_metadata(value: object) -> dict[str, Any]:
    """Check metadata and give its copy.

    Raises:
        TypeError: If it is no dict.
        ValueError: If a key is none of ``_meta``, or it is not JSON.
    """
    from ._definition import is_meta_key

    found = json_object(value, "metadata")
    for key in found:
        if not is_meta_key(key):
            raise ValueError(f"metadata key {key!r} does not follow the grammar of _meta keys")
    return found


def compact(value: object) -> str:
    """Give a JSON value as compact text.

    Raises:
        ValueError: If it is none.
    """
    from ._definition import dumps
    from ._encode import EncodeError, to_json

    try:
        return dumps(to_json(value)).decode()
    except EncodeError as error:
        raise ValueError(f"json is not JSON: {error}") from None


def json_object(value: object, part: str) -> dict[str, Any]:
    """Check a JSON object and give its copy.

    Raises:
        TypeError: If it is no dict.
        ValueError: If it is not JSON.
    """
    from collections.abc import Mapping

    from ._encode import EncodeError, to_json

    if not isinstance(value, Mapping):
        raise TypeError(f"{part} must be a dict, not {type(value).__name__}")
    try:
        return dict(to_json(dict(value), strict=True))
    except EncodeError as error:
        raise ValueError(f"{part} is not JSON: {error}") from None
