"""Content and message values, for when a plain value is not enough. Checked, then frozen."""

from __future__ import annotations

from . import _content, _media

__all__ = ["Audio", "EmbeddedResource", "Image", "Message", "ResourceLink", "Text"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence
    from typing import Any, ClassVar, Literal, NoReturn


class _Content:
    """What content values share: annotations, metadata, and that they never change."""

    __slots__ = ("_block",)

    __snodo_content__: ClassVar[bool] = True
    _block: dict[str, Any]

    def _keep(
        self,
        block: dict[str, Any],
        annotations: Mapping[str, Any] | None,
        metadata: Mapping[str, Any] | None,
    ) -> None:
        if annotations is not None:
            block["annotations"] = _content.annotations_of(annotations)
        if metadata is not None:
            block["_meta"] = _content.checked_metadata(metadata)
        object.__setattr__(self, "_block", block)

    def block(self) -> dict[str, Any]:
        """Give the content block as it is sent."""
        from copy import deepcopy

        return deepcopy(self._block)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        """Refuse: content values are frozen."""
        raise AttributeError(f"{type(self).__name__} is frozen")

    def __delattr__(self, name: str) -> NoReturn:
        """Refuse: content values are frozen."""
        raise AttributeError(f"{type(self).__name__} is frozen")

    def __eq__(self, other: object) -> bool:
        """Compare by what is sent."""
        if type(other) is not type(self):
            return NotImplemented
        return bool(self._block == other._block)

    def __hash__(self) -> int:
        """Hash by what is sent."""
        return hash((type(self).__name__, repr(self._block)))

    def __repr__(self) -> str:
        """Show what is sent, long data cut short."""
        shown = {
            name: f"{value[:24]}..." if isinstance(value, str) and len(value) > 32 else value
            for name, value in self._block.items()
            if name != "type"
        }
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in shown.items())})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Survive pickling and copying."""
        return _restored, (type(self), self._block)


def _restored(cls: type[_Content], block: dict[str, Any]) -> _Content:
    value = cls.__new__(cls)
    object.__setattr__(value, "_block", block)
    return value


class Text(_Content):
    """A text block."""

    __slots__ = ()

    def __init__(
        self,
        text: str,
        *,
        annotations: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        """Take the text.

        Raises:
            TypeError: If it is not a string.
        """
        self._keep({"type": "text", "text": _content.string(text, "text")}, annotations, metadata)

    @property
    def text(self) -> str:
        """The text."""
        return str(self._block["text"])


class _Media(_Content):
    __slots__ = ()
    _kind: ClassVar[str]

    def __init__(
        self,
        data: bytes | str | None = None,
        mime_type: str | None = None,
        *,
        path: str | os.PathLike[str] | None = None,
        annotations: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        """Take the data, or the path of a file to read it from.

        Args:
            data: Bytes, or base64 text.
            mime_type: Told from the data or the file's name when left out.
            path: A file, read now; instead of ``data``.
            annotations: For hosts.
            metadata: Becomes ``_meta``.

        Raises:
            TypeError: If not exactly one of ``data`` and ``path`` is given, or of a wrong type.
            ValueError: If text is not base64, or the MIME type cannot be told or is another kind.
        """
        if (data is None) == (path is None):
            raise TypeError(f"{type(self).__name__} takes either data or path")
        name = None
        if path is not None:
            import os

            name = os.fspath(path)
            with open(name, "rb") as file:
                data = file.read()
        text, head = _content.encoded(data, "data")
        if mime_type is None:
            mime_type = _media.told(head, name, self._kind)
        mime_type = _content.string(mime_type, "mime_type")
        if not mime_type.startswith(f"{self._kind}/"):
            raise ValueError(f"mime_type of {type(self).__name__} must start with {self._kind}/")
        block = {"type": self._kind, "data": text, "mimeType": mime_type}
        self._keep(block, annotations, metadata)

    @property
    def data(self) -> str:
        """The data as base64 text."""
        return str(self._block["data"])

    @property
    def mime_type(self) -> str:
        """What the data is."""
        return str(self._block["mimeType"])


class Image(_Media):
    """An image block: ``Image(data=png_bytes)``, ``Image(path="plot.png")``."""

    __slots__ = ()
    _kind = "image"


class Audio(_Media):
    """An audio block: ``Audio(data=wav_bytes)``."""

    __slots__ = ()
    _kind = "audio"


class EmbeddedResource(_Content):
    """A resource sent along in the result, with its text or its bytes."""

    __slots__ = ()

    def __init__(
        self,
        uri: str,
        *,
        text: str | None = None,
        blob: bytes | str | None = None,
        json: Any = ...,
        mime_type: str | None = None,
        annotations: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        """Take the URI and ``text``, ``blob`` (bytes, or base64 text) or ``json``.

        A value for ``json`` becomes compact text, of the type ``application/json`` unless another
        is given.

        Raises:
            TypeError: If not exactly one of them is given, or of a wrong type.
            ValueError: If the URI is not absolute, text for ``blob`` is not base64, or the value
                for ``json`` is not JSON.
        """
        if (text is not None) + (blob is not None) + (json is not ...) != 1:
            raise TypeError("EmbeddedResource takes either text or blob, or json")
        if json is not ...:
            text, mime_type = _content.compact(json), mime_type or "application/json"
        resource: dict[str, Any] = {"uri": _content.absolute_uri(uri)}
        if mime_type is not None:
            resource["mimeType"] = _content.string(mime_type, "mime_type")
        if text is not None:
            resource["text"] = _content.string(text, "text")
        else:
            resource["blob"] = _content.encoded(blob, "blob")[0]
        self._keep({"type": "resource", "resource": resource}, annotations, metadata)

    @property
    def uri(self) -> str:
        """Where the resource is."""
        return str(self._block["resource"]["uri"])


class ResourceLink(_Content):
    """A pointer to a resource that the client may read."""

    __slots__ = ()

    def __init__(
        self,
        uri: str,
        name: str,
        *,
        title: str | None = None,
        description: str | None = None,
        mime_type: str | None = None,
        size: int | None = None,
        icons: Sequence[Mapping[str, Any]] | None = None,
        annotations: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        """Take what the client shows of it.

        Raises:
            TypeError: If a part is of a wrong type.
            ValueError: If the URI is not absolute or the size negative.
        """
        block: dict[str, Any] = {"type": "resource_link", "uri": _content.absolute_uri(uri)}
        block["name"] = _content.string(name, "name")
        for key, option, value in (
            ("title", "title", title),
            ("description", "description", description),
            ("mimeType", "mime_type", mime_type),
        ):
            if value is not None:
                block[key] = _content.string(value, option)
        if size is not None:
            if type(size) is not int:
                raise TypeError("size must be an int")
            if size < 0:
                raise ValueError("size must not be negative")
            block["size"] = size
        if icons is not None:
            block["icons"] = [_content.json_object(icon, "icons") for icon in icons]
        self._keep(block, annotations, metadata)

    @property
    def uri(self) -> str:
        """Where the resource is."""
        return str(self._block["uri"])

    @property
    def name(self) -> str:
        """What it is called."""
        return str(self._block["name"])


class Message:
    """One message of a prompt: who speaks, and one block of content.

    ``Message.user("...")``, ``Message.assistant(Image(path="plot.png"))``.
    """

    __slots__ = ("_content", "role")

    role: Literal["user", "assistant"]
    _content: dict[str, Any]

    def __init__(self, role: Literal["user", "assistant"], content: Any) -> None:
        """Take who speaks and what.

        Args:
            role: ``user`` or ``assistant``.
            content: A string, a content value (`Text`, `Image`, `Audio`, `EmbeddedResource`,
                `ResourceLink`), or something that can show itself as an image.

        Raises:
            ValueError: If the role is another.
            TypeError: If the content is something else.
        """
        if role not in ("user", "assistant"):
            raise ValueError('role must be "user" or "assistant"')
        from ._encode import block

        found = block(content)
        if found is None:
            raise TypeError(
                "content must be a string or one content value, not"
                f" {type(content).__name__}; several make several messages"
            )
        object.__setattr__(self, "role", role)
        object.__setattr__(self, "_content", found)

    @classmethod
    def user(cls, content: Any) -> Message:
        """Give a message of the user."""
        return cls("user", content)

    @classmethod
    def assistant(cls, content: Any) -> Message:
        """Give a message of the assistant."""
        return cls("assistant", content)

    @property
    def content(self) -> dict[str, Any]:
        """The content block as it is sent."""
        from copy import deepcopy

        return deepcopy(self._content)

    def message(self) -> dict[str, Any]:
        """Give the message as it is sent."""
        return {"role": self.role, "content": self.content}

    def __setattr__(self, name: str, value: object) -> NoReturn:
        """Refuse: messages are frozen."""
        raise AttributeError("Message is frozen")

    def __delattr__(self, name: str) -> NoReturn:
        """Refuse: messages are frozen."""
        raise AttributeError("Message is frozen")

    def __eq__(self, other: object) -> bool:
        """Compare by what is sent."""
        if not isinstance(other, Message):
            return NotImplemented
        return (self.role, self._content) == (other.role, other._content)

    def __hash__(self) -> int:
        """Hash by what is sent."""
        return hash((self.role, repr(self._content)))

    def __repr__(self) -> str:
        """Show role and content, long data cut short."""
        text = repr(self._content.get("text", f"<{self._content['type']}>"))
        return f"Message({self.role!r}, {text if len(text) <= 80 else text[:77] + '...'})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Survive pickling and copying."""
        return _restored_message, (self.role, self._content)


def _restored_message(role: str, content: dict[str, Any]) -> Message:
    value = Message.__new__(Message)
    object.__setattr__(value, "role", role)
    object.__setattr__(value, "_content", content)
    return value
