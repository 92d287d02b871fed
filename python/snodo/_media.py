"""What a file holds: its media type, told from its name, and whether it is text."""

from __future__ import annotations

# Known on every machine, whatever its own tables say.
_BY_ENDING = {
    ".md": "text/markdown",
    ".txt": "text/plain",
    ".json": "application/json",
    ".toml": "application/toml",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
    ".csv": "text/csv",
    ".html": "text/html",
    ".py": "text/x-python",
    ".rs": "text/x-rust",
}
_TEXTS = ("json", "xml", "yaml", "toml", "javascript", "ecmascript", "sql", "x-sh", "markdown")


def guessed(name: str) -> str | None:
    """Tell the media type of a file from its name."""
    import mimetypes

    return _BY_ENDING.get(name[name.rfind(".") :].lower()) or mimetypes.guess_type(name)[0]


def text_or_bytes(data: bytes, mime_type: str | None) -> str | bytes:
    """Give text where the bytes are UTF-8 and nothing says that they mean something else."""
    if mime_type is not None and not _is_text(mime_type):
        return data
    if mime_type is None and b"\0" in data:
        return data
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def _is_text(mime_type: str) -> bool:
    kind, _, rest = mime_type.partition(";")[0].strip().lower().partition("/")
    return kind == "text" or rest.rpartition("+")[2] in _TEXTS or rest in _TEXTS
