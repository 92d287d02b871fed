"""Ready-made resources: contents that never change, a file, and the files below a folder."""

from __future__ import annotations

import sys

from ._media import guessed, text_or_bytes
from .errors import Error

__all__ = ["DirectoryResource", "FileResource", "StaticResource"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ._definition import Site
    from ._options import Cache
    from ._signature import ResourceSpec

    Texts = Mapping[str, Any]

MAX_BYTES = 10 << 20
"""Bytes of a file that is read unless its resource says otherwise; more is an error."""
MAX_ENTRIES = 1_000
"""Files that a listing names unless its resource says otherwise; the rest is left out."""


class StaticResource:
    """Contents that never change, answered without running any Python."""

    def __init__(
        self,
        uri: str,
        *,
        text: str | None = None,
        data: bytes | None = None,
        json: Any = ...,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        mime_type: str | None = None,
        annotations: Mapping[str, Any] | None = None,
        icons: Sequence[Mapping[str, Any]] | None = None,
        metadata: Mapping[str, Any] | None = None,
        cache: Cache | None = None,
    ) -> None:
        """Take the URI and one of ``text``, ``data`` and ``json``.

        Args:
            uri: An absolute URI.
            text: The contents as text.
            data: The contents as bytes.
            json: The contents as a JSON value, sent as compact text.
            name: For programs; the URI by default.
            title: For people.
            description: For the model.
            mime_type: Told from the URI's ending when left out; ``application/json`` for ``json``.
            annotations: ``audience``, ``priority`` and ``lastModified``, for hosts.
            icons: For hosts.
            metadata: Becomes ``_meta``.
            cache: How long clients may keep it; None for the server's policy.

        Raises:
            DeclarationError: If a part is wrong.
        """
        site = _site(uri, name)
        _refuse_template(uri, site)
        given = [text is not None, data is not None, json is not ...]
        if sum(given) != 1:
            raise site.refuse(
                "text", "expects exactly one of text, data and json", 'write text="..."'
            )
        if mime_type is None:
            mime_type = "application/json" if json is not ... else guessed(str(uri))
        if text is not None and not isinstance(text, str):
            raise site.refuse("text", f"must be a string, not {type(text).__name__}", "use data=")
        if data is not None and not isinstance(data, (bytes, bytearray, memoryview)):
            raise site.refuse("data", f"must be bytes, not {type(data).__name__}", "use text=")
        contents, size = _contents(uri, text, data, json, mime_type, site)
        self._spec = _spec(
            site,
            uri=uri,
            name=uri if name is None else name,
            title=title,
            description=description,
            mime_type=mime_type,
            size=size,
            annotations=annotations,
            icons=icons,
            metadata=metadata,
            cache=cache,
            content=contents,
        )

    def __snodo_specs__(self) -> list[ResourceSpec]:
        return [self._spec]

    def __repr__(self) -> str:
        """Show the URI."""
        return f"<StaticResource {self._spec.uri!r}>"


class FileResource:
    """A file, read anew whenever it is asked for."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        uri: str | None = None,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        mime_type: str | None = None,
        annotations: Mapping[str, Any] | None = None,
        icons: Sequence[Mapping[str, Any]] | None = None,
        metadata: Mapping[str, Any] | None = None,
        cache: Cache | None = None,
        timeout: float | None = None,
        max_bytes: int = MAX_BYTES,
        must_exist: bool = True,
    ) -> None:
        """Take the path.

        Args:
            path: Of the file; a relative one is meant from the folder that is current now.
            uri: Where clients find it; ``file://`` and the absolute path when left out.
            name: For programs; the file's own by default.
            title: For people.
            description: For the model.
            mime_type: Told from the file's name when left out. Files that hold UTF-8 text are sent
                as text, others as a blob, unless this says that it is no text.
            annotations: ``audience``, ``priority`` and ``lastModified``, for hosts.
            icons: For hosts.
            metadata: Becomes ``_meta``.
            cache: How long clients may keep it; None for the server's policy.
            timeout: Seconds; None for the server's default.
            max_bytes: A larger file is refused.
            must_exist: Whether it has to be there now already.

        Raises:
            DeclarationError: If a part is wrong.
        """
        import os
        from pathlib import Path

        file = os.path.abspath(os.fspath(path))
        label = os.path.basename(file)
        uri = Path(file).as_uri() if uri is None else uri
        site = _site(uri, label if name is None else name)
        _refuse_template(uri, site)
        if must_exist and not os.path.isfile(file):
            raise site.refuse(
                "path", "there is no such file", "correct it, or write must_exist=False"
            )
        limit = _limit("max_bytes", max_bytes, site)
        mime_type = guessed(file) if mime_type is None else mime_type
        self._uri = uri

        def read(_params: Any, _context: Any) -> Any:
            from ._files import open_file, read_limited

            try:
                data = read_limited(open_file(file), limit)
            except OSError:
                raise Error.resource_not_found(self._uri) from None
            return text_or_bytes(data, mime_type)

        self._spec = _spec(
            site,
            uri=uri,
            name=label if name is None else name,
            title=title,
            description=description,
            mime_type=mime_type,
            annotations=annotations,
            icons=icons,
            metadata=metadata,
            cache=cache,
            timeout=timeout,
            function=read,
        )

    def __snodo_specs__(self) -> list[ResourceSpec]:
        return [self._spec]

    def __repr__(self) -> str:
        """Show the URI."""
        return f"<FileResource {self._uri!r}>"


class DirectoryResource:
    """The files below a folder: one resource that lists them, and a template that reads them.

    Nothing outside the folder can be read: neither with ``..`` and absolute paths, encoded or not,
    nor through a symbolic link that leads out of it. Symbolic links that stay inside are followed.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        uri_prefix: str,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        mime_type: str | None = None,
        pattern: str = "*",
        recursive: bool = True,
        hidden: bool = False,
        annotations: Mapping[str, Any] | None = None,
        icons: Sequence[Mapping[str, Any]] | None = None,
        metadata: Mapping[str, Any] | None = None,
        cache: Cache | None = None,
        timeout: float | None = None,
        max_bytes: int = MAX_BYTES,
        max_entries: int = MAX_ENTRIES,
    ) -> None:
        """Take the folder and the URI it is found at.

        Args:
            root: The folder; a relative one is meant from the folder that is current now.
            uri_prefix: URI of the listing, such as ``docs://guide``; the file ``a/b.md`` is read at
                ``docs://guide/a/b.md``.
            name: For programs, of the listing; the folder's own by default. The template is called
                the same with ``_file`` after it.
            title: For people.
            description: For the model.
            mime_type: Of every file; told from each file's name when left out.
            pattern: Which files there are, by their own name, as ``*.md``.
            recursive: Whether folders below the folder belong to it.
            hidden: Whether names that begin with a dot belong to it.
            annotations: ``audience``, ``priority`` and ``lastModified``, for hosts.
            icons: For hosts.
            metadata: Becomes ``_meta``.
            cache: How long clients may keep what they read; None for the server's policy.
            timeout: Seconds; None for the server's default.
            max_bytes: A larger file is refused.
            max_entries: A longer listing is cut and says so.

        Raises:
            DeclarationError: If a part is wrong.
        """
        import os
        from urllib.parse import quote

        from ._files import Folder

        path = os.path.abspath(os.fspath(root))
        label = os.path.basename(path) or "files" if name is None else name
        prefix = uri_prefix.rstrip("/") if isinstance(uri_prefix, str) else uri_prefix
        site = _site(prefix, label, "uri_prefix")
        _refuse_template(prefix, site, "uri_prefix")
        if not os.path.isdir(path):
            raise site.refuse("root", "there is no such folder", "correct the path")
        folder = Folder(
            path,
            pattern=pattern,
            recursive=recursive,
            hidden=hidden,
            max_bytes=_limit("max_bytes", max_bytes, site),
            max_entries=_limit("max_entries", max_entries, site),
        )
        self._prefix = prefix

        def address(relative: str) -> str:
            return f"{prefix}/{quote(relative)}"

        def read(params: dict[str, Any], _context: Any) -> Any:
            relative = params["path"]
            try:
                data = folder.read(relative)
            except (OSError, ValueError):
                raise Error.resource_not_found(params.get("uri", address(relative))) from None
            kind = guessed(relative) if mime_type is None else mime_type
            return _one(data, kind)

        def listing(_params: Any, _context: Any) -> Any:
            files, truncated = folder.files()
            entries = []
            for relative, size in files:
                kind = guessed(relative) if mime_type is None else mime_type
                entry: dict[str, Any] = {"uri": address(relative), "name": relative, "size": size}
                entries.append(entry if kind is None else {**entry, "mimeType": kind})
            return {"files": entries, "truncated": truncated}

        def complete(value: str) -> list[str]:
            return [relative for relative, _ in folder.files()[0] if relative.startswith(value)]

        shared: dict[str, Any] = {
            "title": title,
            "annotations": annotations,
            "icons": icons,
            "metadata": metadata,
            "cache": cache,
            "timeout": timeout,
        }
        self._specs = [
            _spec(
                site,
                uri=prefix,
                name=label,
                description=description,
                mime_type="application/json",
                function=listing,
                **shared,
            ),
            _spec(
                site,
                uri=f"{prefix}/{{+path}}",
                name=f"{label}_file",
                description=description,
                mime_type=mime_type,
                function=read,
                complete=complete,
                **shared,
            ),
        ]

    def __snodo_specs__(self) -> list[ResourceSpec]:
        return list(self._specs)

    def __repr__(self) -> str:
        """Show the prefix."""
        return f"<DirectoryResource {self._prefix!r}>"


def _site(uri: Any, name: Any, part: str = "uri") -> Site:
    """Give where the resource is written, once its URI is a string."""
    from ._callable import frame_location
    from ._definition import Site, kind_of

    where = frame_location(sys._getframe(2))
    shown = name if isinstance(name, str) and name else uri
    site = Site(where, f"resource {shown!r}" if isinstance(shown, str) else "resource")
    if not isinstance(uri, str):
        reason = f"must be a URI, not {kind_of(uri)}"
        raise site.refuse(part, reason, 'write "notes://all"')
    return site


def _refuse_template(uri: str, site: Site, part: str = "uri") -> None:
    from ._definition import is_absolute
    from ._template import is_template

    if is_template(uri):
        raise site.refuse(part, "is a template, which only a function can answer", "write a URI")
    if not is_absolute(uri):
        raise site.refuse(
            part, "resource uri must be an absolute URI", 'start it with a scheme: "notes://..."'
        )


def _spec(
    site: Site,
    *,
    uri: str,
    name: Any,
    function: Any = None,
    content: bytes | None = None,
    complete: Any = None,
    **parts: Any,
) -> ResourceSpec:
    from ._resource_spec import ResourceOptions, made_spec

    return made_spec(
        ResourceOptions(uri=uri, name=name, **parts), site, function, content, complete
    )


def _contents(
    uri: str, text: str | None, data: Any, json: Any, mime_type: str | None, site: Site
) -> tuple[bytes, int]:
    """Give the contents as a JSON array, and how many bytes they are."""
    from ._definition import checked_json, dumps
    from ._encode import EncodeError, to_json

    entry: dict[str, Any] = {"uri": uri}
    if mime_type is not None:
        entry["mimeType"] = mime_type
    if data is not None:
        from ._content import encoded

        entry["blob"] = encoded(data, "data")[0]
        return dumps([entry]), len(bytes(data))
    if text is None:
        try:
            text = dumps(to_json(json)).decode()
        except EncodeError as error:
            raise site.refuse("json", f"is not JSON: {error}", "use JSON values") from None
    entry["text"] = checked_json(text, "text", site)
    return dumps([entry]), len(text.encode())


def _limit(option: str, value: Any, site: Site) -> int:
    if type(value) is not int or value <= 0:
        raise site.refuse(option, "must be an int above zero", f"write {option}=1000")
    return value


def _one(data: bytes, mime_type: str | None) -> Any:
    """Give the contents of one file, with its own type."""
    from ._snodo import Result

    shaped = text_or_bytes(data, mime_type)
    entry: dict[str, Any] = {} if mime_type is None else {"mimeType": mime_type}
    if isinstance(shaped, str):
        entry["text"] = shaped
    else:
        from ._content import encoded

        entry["blob"] = encoded(shaped, "data")[0]
    return Result.resource_read([entry])
