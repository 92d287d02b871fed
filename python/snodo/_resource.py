"""`Resource`: the full-control form of a resource, checked when its class is created.

The module is private because a public one would hide the decorator of the same name.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, ClassVar

    from ._definition import Site
    from ._options import Cache
    from ._resource_spec import ResourceOptions
    from ._signature import ResourceSpec
    from ._snodo import Context


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
        from ._class_form import site_of_class, unbound

        frame = sys._getframe(1)
        site = site_of_class(cls, Resource, "read", "params", frame, abstract=abstract)
        if site is not None:
            from ._resource_spec import resource_class_spec

            read, options = unbound(cls, "read"), parts(cls, site)
            resource_class_spec(read, options, site, matches=_own_matcher(cls, cls, site))


def parts(resource: Any, site: Site) -> ResourceOptions:
    """Read the parts of a definition off a class or an object.

    Raises:
        DeclarationError: If not exactly one address is given.
    """
    from . import _class_form
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
    address = template if uri is None else uri
    return ResourceOptions(**{**_class_form.parts(resource, ResourceOptions), "uri": address})


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
        ConfigurationError: If it has no name.
        DeclarationError: If a part is wrong.
    """
    from ._class_form import site_of_object
    from ._resource_spec import resource_class_spec

    site = site_of_object(resource, "resource", "requires a non-empty name")
    read, options = resource.read, parts(resource, site)
    matches = _own_matcher(type(resource), resource, site)
    return resource_class_spec(read, options, site, resource, matches)
