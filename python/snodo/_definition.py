"""The parts of a definition as it is listed, each checked, whatever the kind of component."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ._encode import EncodeError, to_json
from .errors import DeclarationError

Schema = dict[str, Any]

UNSET: Any = ...
"""Says that an option was not given, where None means something."""


@dataclass(frozen=True, slots=True)
class Site:
    """Where a declaration stands, so that every refusal can say so."""

    where: str
    component: str

    def refuse(self, path: str, reason: str, advice: str = "", label: str = "") -> DeclarationError:
        """Give the error to raise."""
        return DeclarationError(self.where, self.component, label, path, reason, advice)


def dumps(value: Any) -> bytes:
    """Write compact JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def checked_name(name: Any, site: Site) -> str:
    """Check a name."""
    if not isinstance(name, str):
        raise site.refuse("name", f"must be a string, not {kind_of(name)}", 'write name="..."')
    if not name:
        raise site.refuse("name", "must not be empty", 'write name="..."')
    return str(checked_json(name, "name", site))


def checked_call_name(name: Any, site: Site) -> str:
    """Check a name that clients call something by: of a tool or a prompt."""
    checked = checked_name(name, site)
    if checked.isspace():
        raise site.refuse("name", "must not be white space alone", 'write name="..."')
    if any(char < " " or "\x7f" <= char < "\xa0" for char in checked):
        raise site.refuse("name", "holds a control character", 'write name="..." without it')
    return checked


MOST_OF_NAME = 128


def is_usual_name(name: str) -> bool:
    """Tell a name that every client takes: the protocol recommends these characters."""
    return 0 < len(name) <= MOST_OF_NAME and all(_plain(char) or char in "_.-" for char in name)


def checked_text(value: Any, part: str, site: Site) -> str | None:
    """Check a title or a description."""
    if value is not None and not isinstance(value, str):
        raise site.refuse(
            part, f"must be a string or None, not {kind_of(value)}", f'write {part}="..."'
        )
    return None if value is None else str(checked_json(value, part, site))


def checked_schema(value: Any, part: str, site: Site) -> Schema:
    """Check an explicit schema and take a copy that later changes don't reach."""
    if not isinstance(value, Mapping):
        raise site.refuse(
            part,
            f"must be a JSON Schema object, not {kind_of(value)}",
            f"pass a dict as {part}"
            + (" or annotate the parameters" if part == "input_schema" else " or None"),
        )
    schema: Schema = checked_json(dict(value), part, site)
    if part == "input_schema" and schema.get("type") != "object":
        raise site.refuse(
            part,
            "must be a JSON Schema whose type is exactly 'object'",
            'start it with {"type": "object", "properties": ...}',
        )
    refusal = schema_refusal(schema, output=part == "output_schema")
    if refusal is not None:
        pointer, reason = refusal
        raise site.refuse(
            dotted(part, pointer), reason, f"correct {part}; it is published as it is"
        )
    return schema


def schema_refusal(schema: Schema, *, output: bool) -> tuple[str, str] | None:
    """Ask the core whether it accepts a schema: None, or where and why not."""
    from ._snodo import check_schema

    return check_schema(dumps(schema), output)


def dotted(part: str, pointer: str) -> str:
    """Give a JSON pointer as a dotted path."""
    segments = pointer.lstrip("#").split("/")[1:]
    return ".".join([part, *(s.replace("~1", "/").replace("~0", "~") for s in segments)])


def checked_annotations(value: Any, site: Site) -> Schema:
    """Check that annotations are a JSON object; nothing in them is interpreted."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise site.refuse(
            "annotations",
            f"must be a dict, not {kind_of(value)}",
            'write annotations={"readOnlyHint": True}',
        )
    return dict(checked_json(dict(value), "annotations", site))


_ICON_ADVICE = 'write {"src": "https://...", "mimeType": "image/png"}'


def checked_icons(value: Any, site: Site, owner: str = "tool") -> list[Schema]:
    """Check icons."""
    if value is None:
        return []
    if not isinstance(value, (list, tuple)):
        raise site.refuse("icons", f"{owner} icons must be a list", f"{_ICON_ADVICE} in a list")
    return [_icon(icon, f"icons.{index}", site, owner) for index, icon in enumerate(value)]


def _icon(icon: Any, path: str, site: Site, owner: str) -> Schema:
    if not isinstance(icon, Mapping) or not isinstance(icon.get("src"), str):
        raise site.refuse(path, f"each {owner} icon requires a URI string src", _ICON_ADVICE)
    if not is_absolute(icon["src"]):
        raise site.refuse(
            f"{path}.src",
            f"{owner} icon src must be an absolute URI",
            "start it with https: or data:",
        )
    if "mimeType" in icon and not isinstance(icon["mimeType"], str):
        raise site.refuse(
            f"{path}.mimeType", f"{owner} icon mimeType must be a string", 'write "image/png"'
        )
    if "sizes" in icon:
        sizes = icon["sizes"]
        advice = 'write ["48x48"]'
        if not isinstance(sizes, (list, tuple)):
            raise site.refuse(f"{path}.sizes", f"{owner} icon sizes must be a list", advice)
        if not all(isinstance(size, str) for size in sizes):
            raise site.refuse(f"{path}.sizes", f"{owner} icon sizes must be strings", advice)
    if "theme" in icon and icon["theme"] not in ("light", "dark"):
        raise site.refuse(
            f"{path}.theme", f"{owner} icon theme must be light or dark", 'write "light" or "dark"'
        )
    try:
        return dict(to_json(dict(icon), strict=True))
    except EncodeError:
        raise site.refuse(
            path, f"{owner} icon must contain only JSON values", _ICON_ADVICE
        ) from None


def is_absolute(uri: str) -> bool:
    """Tell whether a URI has a scheme and something after it."""
    scheme, colon, rest = uri.partition(":")
    return bool(
        colon
        and rest
        and scheme[:1].isascii()
        and scheme[:1].isalpha()
        and all(char.isascii() and (char.isalnum() or char in "+-.") for char in scheme)
        and not any(char.isspace() for char in uri)
    )


def checked_metadata(value: Any, site: Site, owner: str = "tool") -> Schema:
    """Check what goes into ``_meta``."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise site.refuse(
            "metadata", f"{owner} _meta must be a dict, not {kind_of(value)}", "pass a dict"
        )
    for key in value:
        if not isinstance(key, str) or not is_meta_key(key):
            raise site.refuse(
                f"metadata.{key}",
                f"{owner} _meta contains an invalid entry: the key does not follow the key grammar",
                "use letters, digits, '.', '_', '-', with a prefix like com.example/ if any",
            )
    try:
        return dict(to_json(dict(value), strict=True))
    except EncodeError as error:
        raise site.refuse(
            "metadata", f"{owner} _meta contains an invalid entry: {error}", "use JSON values"
        ) from None


def is_meta_key(key: str) -> bool:
    """Tell whether a key follows the protocol's grammar for ``_meta`` keys."""
    prefix, slash, name = key.rpartition("/")
    if slash and not all(_is_label(label) for label in prefix.split(".")):
        return False
    if not name:
        return bool(slash)
    return (
        _plain(name[0]) and _plain(name[-1]) and all(_plain(char) or char in ".-_" for char in name)
    )


def _is_label(label: str) -> bool:
    return bool(
        label
        and _plain(label[0])
        and label[0].isalpha()
        and _plain(label[-1])
        and all(_plain(char) or char == "-" for char in label)
    )


def _plain(char: str) -> bool:
    return char.isascii() and char.isalnum()


def checked_timeout(value: Any, site: Site) -> float | None:
    """Check a time-out in seconds."""
    if value is None:
        return None
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not 0 < value < float("inf"):
        raise site.refuse(
            "timeout", "must be a positive number of seconds", "write timeout=30, or leave it out"
        )
    return float(value)


def checked_json(value: Any, part: str, site: Site) -> Any:
    """Check that a value is JSON, and copy it."""
    try:
        return to_json(value, strict=True)
    except EncodeError as error:
        raise site.refuse(
            part, f"is not JSON: {error}", "use dicts, lists, strings and numbers"
        ) from None


def listed(parts: Mapping[str, Any]) -> bytes:
    """Write the definition, parts that are None or empty left out."""
    always = ("name", "inputSchema", "outputSchema", "size")
    return dumps(
        {
            key: value
            for key, value in parts.items()
            if value is not None and (key in always or value not in ({}, []))
        }
    )


def kind_of(value: Any) -> str:
    """Name a value's type for a message, never the value."""
    return "None" if value is None else type(value).__name__
