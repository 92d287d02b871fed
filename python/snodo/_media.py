"""What data is: its media type, told from a name or its first bytes, and whether it is text."""

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

_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"BM", "image/bmp"),
    (b"ID3", "audio/mpeg"),
    (b"\xff\xfb", "audio/mpeg"),
    (b"OggS", "audio/ogg"),
    (b"fLaC", "audio/flac"),
)


def guessed(name: str) -> str | None:
    """Tell the media type of a file from its name."""
    import mimetypes

    return _BY_ENDING.get(name[name.rfind(".") :].lower()) or mimetypes.guess_type(name)[0]


def told(head: bytes, name: str | None, kind: str) -> str:
    """Tell the media type of data from its first bytes, or else from a file's name.

    Raises:
        ValueError: If neither says it.
    """
    if head[:4] == b"RIFF":
        found = {b"WEBP": "image/webp", b"WAVE": "audio/wav"}.get(head[8:12])
    else:
        found = next((mime for start, mime in _SIGNATURES if head.startswith(start)), None)
    if found is None and name is not None:
        import mimetypes

        found = mimetypes.guess_type(name)[0]
    if found is None:
        raise ValueError(f'mime_type cannot be told from the data: write mime_type="{kind}/..."')
    return found


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
