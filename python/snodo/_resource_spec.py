"""From a callable or a class to a `ResourceSpec`, checked in the order the parts are listed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Any

from . import _template
from ._completion import completion, completions
from ._definition import (
    UNSET,
    Schema,
    Site,
    checked_icons,
    checked_json,
    checked_metadata,
    checked_name,
    checked_text,
    checked_timeout,
    is_absolute,
    kind_of,
    listed,
)
from ._options import Cache
from ._parsing import Reader
from ._shape import contents_of, shaped
from ._signature import ResourceSpec, Slot
from ._subject import Subject, checked_middleware, read_call, read_subject
from ._template import Variable
from ._text_parameters import read_text_parameters


@dataclass(frozen=True, slots=True)
class ResourceOptions:
    """What the declaration of a resource says beside the function."""

    uri: Any = None
    name: Any = None
    title: Any = None
    description: Any = UNSET
    mime_type: Any = None
    size: Any = None
    annotations: Any = None
    icons: Any = None
    metadata: Any = None
    cache: Any = None
    timeout: Any = None
    complete: Any = None
    middleware: Any = None


def resource_spec(
    function: Any, options: ResourceOptions, frame: FrameType, *, method: bool = False
) -> ResourceSpec:
    """Give the spec of a resource or a template made from a callable.

    Args:
        function: The callable.
        options: What the declaration says beside it.
        frame: Where it is declared; its names may be used in annotations.
        method: Whether the first parameter is ``self`` or ``cls``, to be bound later.

    Raises:
        DeclarationError: If it cannot be a resource.
    """
    subject = read_subject(function, options, frame, "resource", method=method)
    site = subject.site
    uri, template = checked_address(options.uri, site)
    variables = [] if template is None else _template.variables(template)
    slots, known = _bound(subject, variables, template or str(uri))
    mime_type = checked_text(options.mime_type, "mime_type", site)
    shape = contents_of(mime_type)
    return ResourceSpec(
        name=subject.name,
        definition=definition(
            options,
            site,
            name=subject.name,
            title=subject.title,
            description=subject.description,
            uri=uri,
            template=template,
        ),
        uri=uri,
        template=template,
        mime_type=mime_type,
        function=shaped(subject.run, subject.is_async, shape),
        is_async=subject.is_async,
        slots=slots,
        cache=checked_cache(options.cache, site),
        timeout=checked_timeout(options.timeout, site),
        where=site.where,
        completions=_completions(options, known, template, site, frame),
        middleware=checked_middleware(options.middleware, site, "resource"),
        injection=subject.injection,
        bare=subject.run,
        shape=shape,
    )


def resource_class_spec(
    read: Any,
    options: ResourceOptions,
    site: Site,
    instance: Any = None,
    matches: Callable[[str], bool | dict[str, str]] | None = None,
) -> ResourceSpec:
    """Give the spec of a resource written as a class; ``read`` takes variables and context.

    With ``matches`` the template is only shown: it may have any shape.

    Raises:
        DeclarationError: If a part is wrong.
    """
    name = checked_name(options.name, site)
    title = checked_text(options.title, "title", site)
    description = checked_text(options.description, "description", site)
    uri, template = checked_address(options.uri, site, own_matcher=matches is not None)
    mime_type = checked_text(options.mime_type, "mime_type", site)
    parts = definition(
        options, site, name=name, title=title, description=description, uri=uri, template=template
    )
    run, is_async, injection = read_call(read, "read", "params", site)
    shape = contents_of(mime_type)
    known = {v.name: None for v in _template.variables(template)} if template else {}
    return ResourceSpec(
        name=name,
        definition=parts,
        uri=uri,
        template=template,
        mime_type=mime_type,
        function=shaped(run, is_async, shape),
        is_async=is_async,
        slots=None,
        cache=checked_cache(options.cache, site),
        timeout=checked_timeout(options.timeout, site),
        where=site.where,
        completions=_completions(options, known, template, site, None, instance),
        matches=matches,
        middleware=checked_middleware(options.middleware, site, "resource"),
        injection=injection,
        bare=run,
        shape=shape,
    )


def definition(
    options: ResourceOptions,
    site: Site,
    *,
    name: str,
    title: str | None,
    description: str | None,
    uri: str | None,
    template: str | None,
) -> bytes:
    """Write the definition as it is listed.

    Raises:
        DeclarationError: If a part is wrong.
    """
    return listed(
        {
            "uri": uri,
            "uriTemplate": template,
            "name": name,
            "title": title,
            "description": description,
            "mimeType": checked_text(options.mime_type, "mime_type", site),
            "size": _checked_size(options.size, template, site),
            "icons": checked_icons(options.icons, site, "resource"),
            "annotations": _checked_annotations(options.annotations, site),
            "_meta": checked_metadata(options.metadata, site, "resource"),
        }
    )


def checked_address(
    value: Any, site: Site, *, own_matcher: bool = False
) -> tuple[str | None, str | None]:
    """Give URI and template, one of which is None.

    Raises:
        DeclarationError: If the text is neither.
    """
    if not isinstance(value, str):
        raise site.refuse(
            "uri",
            f"must be a URI or a template of URIs, not {kind_of(value)}",
            'write @server.resource("notes://all") or ("notes://{name}")',
        )
    text = str(checked_json(value, "uri", site))
    if _template.is_template(text):
        reason = None if own_matcher else _template.refusal(text)
        if reason is not None:
            import re

            slashes = re.search(r"\{(\w+)(\*|:path)\}", text)  # as FastMCP and FastAPI have it
            raise site.refuse(
                "uri",
                f'resource template "{text}" is not supported: {reason}',
                f"write {{+{slashes[1]}}} for what may have slashes in it"
                if slashes
                else "see the shapes of templates in the documentation",
            )
        return None, text
    if not is_absolute(text):
        raise site.refuse(
            "uri", "resource uri must be an absolute URI", 'start it with a scheme: "notes://..."'
        )
    return text, None


def checked_cache(value: Any, site: Site) -> tuple[int, str] | None:
    """Check a cache policy and give its parts."""
    if value is None:
        return None
    if not isinstance(value, Cache):
        raise site.refuse(
            "cache", f"must be a Cache, not {kind_of(value)}", "write Cache(ttl_ms=60_000)"
        )
    return value.ttl_ms, value.scope


def _bound(
    subject: Subject, variables: list[Variable], address: str
) -> tuple[tuple[Slot, ...], Mapping[str, tuple[str, ...] | None]]:
    """Bind every variable to the parameter of its name, and find none left over."""
    site = subject.site
    by_name = {variable.name: variable for variable in variables}

    def reader(key: str) -> Reader:
        spans = key in by_name and by_name[key].spans
        return Reader(subject.scope.local, path_parts=0 if spans else 1)

    parameters = read_text_parameters(subject, "variable", reader)
    there = ", ".join(by_name) or "none"
    taken = {p.slot.key: p for p in parameters if p.slot.key is not None}
    for key, parameter in taken.items():
        if key not in by_name:
            raise site.refuse(
                parameter.name,
                f'is bound by no variable of "{address}", whose variables are: {there}',
                f"write {{{key}}} in the template, or take the parameter away",
                "parameter",
            )
        if by_name[str(key)].optional and parameter.slot.required:
            raise site.refuse(
                parameter.name,
                f'may be absent from a URI of "{address}" and has no default',
                f"give it a default, for example {parameter.name}: str | None = None",
                "parameter",
            )
    for name in by_name:
        if name not in taken:
            names = ", ".join(str(key) for key in taken) or "none"
            raise site.refuse(
                "uri",
                f"variable {name!r} has no parameter; the parameters are: {names}",
                f"add the parameter {name}: str",
            )
    slots = tuple(parameter.slot for parameter in parameters)
    return slots, {name: taken[name].values for name in by_name}


def _completions(
    options: ResourceOptions,
    known: Mapping[str, tuple[str, ...] | None],
    template: str | None,
    site: Site,
    frame: FrameType | None,
    instance: Any = None,
) -> Any:
    if template is None and options.complete is not None:
        raise site.refuse(
            "complete",
            "only resource templates may declare completion",
            "leave it out, or write a variable into the URI",
        )
    return completions(options.complete, known, "variable", site, frame, instance)


def _checked_size(value: Any, template: str | None, site: Site) -> int | None:
    if value is None:
        return None
    if type(value) is not int or not 0 <= value < 1 << 53:
        raise site.refuse(
            "size", "resource size must be a non-negative integer or None", "write size=1024"
        )
    if template is not None:
        raise site.refuse("size", "a template has no size of its own", "leave it out")
    return value


def _checked_annotations(value: Any, site: Site) -> Schema:
    if value is None:
        return {}
    from ._content import annotations_of

    try:
        return annotations_of(value)
    except (TypeError, ValueError) as error:
        raise site.refuse(
            "annotations",
            f"resource annotation is invalid: {error}",
            'write {"audience": ["user"], "priority": 0.5}',
        ) from None


def made_spec(
    options: ResourceOptions, site: Site, function: Any, content: bytes | None, complete: Any
) -> ResourceSpec:
    """Give the spec of a ready-made resource.

    Args:
        options: Its parts.
        site: Where it is written.
        function: What reads it, taking params and context.
        content: Or its contents, when they never change.
        complete: What completes every variable of a template.

    Raises:
        DeclarationError: If a part is wrong.
    """
    name = checked_name(options.name, site)
    title = checked_text(options.title, "title", site)
    description = checked_text(options.description, "description", site)
    uri, template = checked_address(options.uri, site)
    mime_type = checked_text(options.mime_type, "mime_type", site)
    names = [v.name for v in _template.variables(template)] if template else []
    return ResourceSpec(
        name=name,
        definition=definition(
            options,
            site,
            name=name,
            title=title,
            description=description,
            uri=uri,
            template=template,
        ),
        uri=uri,
        template=template,
        mime_type=mime_type,
        content=content,
        function=function,
        cache=checked_cache(options.cache, site),
        timeout=checked_timeout(options.timeout, site),
        where=site.where,
        completions=tuple(completion(key, complete, site) for key in names),
    )
