"""`Resource`: the full-control form of a resource, checked when its class is created.

The module is private because a public one would hide the decorator of the same name.
"""

from __future__ import annotations

import sys

from .errors import ConfigurationError, DeclarationError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, ClassVar

    from ._definition import Site
    from ._options import Cache
    from ._resource_spec import ResourceOptions
    from ._signature import ResourceSpec
    from ._snodo import Context

_PARTS = (
    "name",
    "title",
    "description",
    "mime_type",
    "size",
    "annotations",
    "icons",
    "metadata",
    "cache",
    "timeout",
    "complete",
    "middleware",
)


class Resource:
    """A resource as a class: either ``uri`` or ``uri_template``, and `read`.

    A class that only others derive from is written ``class Base(Resource, abstract=True)``.
    """

    name: str
    uri: str | None = None
    uri_template: str | None = None
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    size: int | None = None
    annotations: Mapping[str, Any] | None = None
    icons: Sequence[Mapping[str, Any]] | None = None
    metadata: Mapping[str, Any] | None = None
    cache: Cache | None = None
    timeout: float | None = None
    complete: Mapping[str, Callable[..., Any] | Sequence[str]] | None = None
    """For each variable that can be completed, a function or method, or all the values."""
    middleware: Sequence[Any] = ()
    """What surrounds read and completion, outermost first."""

    __snodo_where__: ClassVar[str] = ""

    def read(self, params: dict[str, Any], context: Context) -> Any:
        """Give the contents; may be a coroutine function.

        Args:
            params: The variables of the template as strings.
            context: The request.

        Returns:
            Whatever a function resource may return.
        """
        raise NotImplementedError

    def matches(self, uri: str) -> bool | dict[str, str]:
        """Tell whether a template matches a URI, where its shape is one that snodo does not know.

        Overriding it replaces the matching of ``uri_template``, which may then have any text. It is
        called for every read that no direct resource answers, so it must be quick; no coroutine.

        Args:
            uri: The URI asked for.

        Returns:
            False, True, or the variables that the URI binds: strings, none of them named ``uri``.
        """
        raise NotImplementedError

    def __init_subclass__(cls, *, abstract: bool = False, **kwargs: Any) -> None:
        """Check the definition.

        Raises:
            DeclarationError: If a part of it is wrong.
        """
        super().__init_subclass__(**kwargs)
        from ._callable import frame_location

        cls.__snodo_where__ = frame_location(sys._getframe(1))
        if abstract:
            return
        from ._definition import Site
        from ._resource_spec import resource_class_spec
        from ._tool import refuse_misspelt, unbound

        site = Site(cls.__snodo_where__, f"resource {cls.__qualname__!r}")
        if not hasattr(cls, "name"):
            raise site.refuse("name", "is missing", 'write name = "..." in the class')
        if cls.read is Resource.read:
            raise site.refuse(
                "read", "is missing", "write def read(self, params, context) in the class"
            )
        refuse_misspelt(cls, Resource, (*_PARTS, "uri", "uri_template", "matches", "read"), site)
        resource_class_spec(
            unbound(cls, "read"), parts(cls, site), site, matches=_own_matcher(cls, cls, site)
        )


def parts(resource: Any, site: Site) -> ResourceOptions:
    """Read the parts of a definition off a class or an object.

    Raises:
        DeclarationError: If not exactly one address is given.
    """
    from ._resource_spec import ResourceOptions

    uri, template = getattr(resource, "uri", None), getattr(resource, "uri_template", None)
    if (uri is None) == (template is None):
        raise site.refuse(
            "uri", "expects exactly one of uri and uri_template", 'write uri = "notes://all"'
        )
    if uri is not None and isinstance(uri, str) and ("{" in uri or "}" in uri):
        raise site.refuse("uri", "is a template", "write uri_template instead of uri")
    if template is not None and isinstance(template, str) and "{" not in template:
        raise site.refuse("uri_template", "has no variables", "write uri instead of uri_template")
    found = {part: getattr(resource, part) for part in _PARTS if hasattr(resource, part)}
    found.setdefault("description", None)
    return ResourceOptions(uri=template if uri is None else uri, **found)


def _own_matcher(cls: Any, owner: Any, site: Site) -> Callable[[str], Any] | None:
    """Give the ``matches`` of a class that has one of its own.

    Raises:
        DeclarationError: If it belongs to a direct resource, or is a coroutine function.
    """
    own = getattr(cls, "matches", None)
    if own is None or own is Resource.matches:
        return None
    if getattr(cls, "uri_template", None) is None:
        raise site.refuse("matches", "belongs to a template", "write uri_template instead of uri")
    if not callable(own) or _is_coroutine(own):
        raise site.refuse("matches", "must be a plain method", "write def matches(self, uri)")
    matcher: Callable[[str], Any] = owner.matches
    return matcher


def _is_coroutine(function: Any) -> bool:
    import inspect

    return inspect.iscoroutinefunction(function)


def registered(resource: Any) -> ResourceSpec:
    """Give the spec of a resource object at registration, where every part is checked again.

    Raises:
        ConfigurationError: If a part is missing or wrong.
    """
    from ._definition import Site
    from ._resource_spec import resource_class_spec

    label = type(resource).__qualname__
    if not isinstance(getattr(resource, "name", None), str) or not resource.name:
        raise ConfigurationError(f"resource {label} requires a non-empty name")
    where = getattr(type(resource), "__snodo_where__", "") or type(resource).__module__
    site = Site(where, f"resource {resource.name!r}")
    try:
        return resource_class_spec(
            resource.read,
            parts(resource, site),
            site,
            resource,
            _own_matcher(type(resource), resource, site),
        )
    except DeclarationError as error:
        raise ConfigurationError(str(error)) from None
