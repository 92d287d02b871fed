"""Docstrings in Google, NumPy and Sphinx style, split into description and parameters.

Never raises: a docstring in no style at all is all description.
"""

from __future__ import annotations

import re

_GOOGLE = re.compile(r"^(?P<title>[A-Z][A-Za-z ]*):\s*$")
_GOOGLE_ITEM = re.compile(
    r"^\*{0,2}(?P<name>\w+)\s*(?:\((?P<type>[^)]*(?:\([^)]*\))*[^)]*)\))?\s*:\s*(?P<text>.*)$"
)
_NUMPY_ITEM = re.compile(r"^\*{0,2}(?P<names>\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?$")
_SPHINX = re.compile(r"^:(?P<field>\w+)(?P<argument>[^:]*):\s*(?P<text>.*)$")

_PARAMETERS = frozenset(
    {
        "args",
        "arguments",
        "params",
        "parameters",
        "keyword args",
        "keyword arguments",
        "other parameters",
        "attributes",
    }
)
# Told to the programmer, not to the model.
_DROPPED = frozenset({"raises", "raise", "yields", "yield", "warns", "see also", "references"})
_SPHINX_PARAMETERS = frozenset({"param", "parameter", "arg", "argument", "key", "keyword"})
_SPHINX_FIELDS = _SPHINX_PARAMETERS | frozenset(
    [
        "type",
        "raises",
        "raise",
        "except",
        "exception",
        "return",
        "returns",
        "rtype",
        "yield",
        "yields",
        "var",
        "ivar",
        "cvar",
        "vartype",
        "meta",
    ]
)


def parse(text: str | None) -> tuple[str, dict[str, str]]:
    """Split a docstring.

    Args:
        text: A docstring as written; None for none.

    Returns:
        The description without parameter sections, and the text of each parameter.
    """
    if not text or not text.strip():
        return "", {}
    lines = _dedented(text)
    kept: list[str] = []
    found: dict[str, str] = {}
    index = 0
    while index < len(lines):
        index = _section(lines, index, kept, found)
    description = re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()
    return description, {name: value for name, value in found.items() if value}


def _section(lines: list[str], index: int, kept: list[str], found: dict[str, str]) -> int:
    """Take what starts at this line; give the index of what comes after."""
    line = lines[index]
    google = _GOOGLE.match(line)
    if google:
        title = google["title"].lower()
        end = _indented_end(lines, index + 1)
        body = lines[index + 1 : end]
        if title in _PARAMETERS and any(_GOOGLE_ITEM.match(item.strip()) for item in body):
            found.update(_items(body, _google_item))
            return end
        if title in _DROPPED and any(item.strip() for item in body):
            return end
    if index + 1 < len(lines) and line and _is_rule(lines[index + 1]):
        title = line.strip().lower()
        if title in _PARAMETERS | _DROPPED:
            end = _numpy_end(lines, index + 2)
            if title in _PARAMETERS:
                found.update(_items(lines[index + 2 : end], _numpy_item))
            return end
    sphinx = _SPHINX.match(line)
    if sphinx and sphinx["field"].lower() in _SPHINX_FIELDS:
        end = _indented_end(lines, index + 1, blanks=False)
        if sphinx["field"].lower() in _SPHINX_PARAMETERS and sphinx["argument"].split():
            name = sphinx["argument"].split()[-1].lstrip("*\\")
            found[name] = _joined([sphinx["text"], *lines[index + 1 : end]])
        return end
    kept.append(line)
    return index + 1


def _dedented(text: str) -> list[str]:
    """Take off the indentation, the first line's apart, as ``inspect.cleandoc`` does."""
    lines = text.expandtabs().splitlines()
    margins = [len(line) - len(line.lstrip()) for line in lines[1:] if line.strip()]
    margin = min(margins, default=0)
    result = [lines[0].strip(), *(line[margin:].rstrip() for line in lines[1:])]
    while result and not result[0]:
        result.pop(0)
    while result and not result[-1]:
        result.pop()
    return result


def _is_rule(line: str) -> bool:
    return len(line) >= 3 and not line.strip("-")


def _indented_end(lines: list[str], start: int, *, blanks: bool = True) -> int:
    end = start
    for index in range(start, len(lines)):
        if not lines[index].strip():
            if not blanks:
                break
            continue
        if not lines[index].startswith(" "):
            break
        end = index + 1
    return end


def _numpy_end(lines: list[str], start: int) -> int:
    for index in range(start, len(lines) - 1):
        if lines[index].strip() and _is_rule(lines[index + 1]):
            return index
    return len(lines)


def _google_item(line: str) -> tuple[list[str], str] | None:
    match = _GOOGLE_ITEM.match(line)
    return ([match["name"]], match["text"]) if match else None


def _numpy_item(line: str) -> tuple[list[str], str] | None:
    match = _NUMPY_ITEM.match(line)
    return ([name.strip().lstrip("*") for name in match["names"].split(",")], "") if match else None


def _items(body: list[str], read: object) -> dict[str, str]:
    """Read a section whose items start at its own margin and go on further in."""
    reader = read if callable(read) else _google_item
    margin = min((len(line) - len(line.lstrip()) for line in body if line.strip()), default=0)
    items: dict[str, list[str]] = {}
    current: list[list[str]] = []
    for line in body:
        indent = len(line) - len(line.lstrip())
        head = reader(line.strip()) if line.strip() and indent == margin else None
        if head:
            current = []
            for name in head[0]:
                items[name] = [head[1]]
                current.append(items[name])
        else:
            for texts in current:
                texts.append(line)
    return {name: _joined(texts) for name, texts in items.items()}


def _joined(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())
