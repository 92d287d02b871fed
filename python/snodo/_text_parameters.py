"""Parameters that are filled from text: the arguments of prompts, the variables of templates."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from . import _hints
from ._arg import Arg
from ._constraints import apply
from ._convert import ConversionError
from ._elsewhere import no_hint, refuse_class, refuse_mark
from ._hints import NONE_TYPE, HintError
from ._makers import Mismatch
from ._parameters import EMPTY, check_default, default_of, is_context, refuse_kind, without_null
from ._parsing import Parse, Reader
from ._report import refused
from ._schema import SchemaBuilder
from ._signature import Slot
from ._subject import Subject


@dataclass(frozen=True, slots=True)
class TextParameter:
    """One parameter: where it goes, and what is said of it."""

    name: str
    """The parameter's own name."""
    slot: Slot
    title: str | None = None
    description: str | None = None
    values: tuple[str, ...] | None = None
    """All the texts it may be, when they can be told."""


def read_text_parameters(
    subject: Subject, what: str, reader: Callable[[str], Reader]
) -> list[TextParameter]:
    """Read the parameters, the context's among them, in signature order.

    Args:
        subject: The callable.
        what: What a parameter is on the wire, as ``prompt argument``.
        reader: Gives the reader of a parameter by its name on the wire.

    Raises:
        DeclarationError: If one cannot be filled from text.
    """
    found: list[TextParameter] = []
    try:
        for parameter in subject.parameters:
            refuse_kind(parameter, subject.site)
            found.append(_read(parameter, subject, what, reader, found))
    except HintError as error:
        raise subject.site.refuse(error.path, error.reason, error.advice, "parameter") from None
    return found


def _read(
    parameter: inspect.Parameter,
    subject: Subject,
    what: str,
    reader: Callable[[str], Reader],
    before: list[TextParameter],
) -> TextParameter:
    name, site = parameter.name, subject.site
    keyword = name if parameter.kind is parameter.KEYWORD_ONLY else None
    if parameter.annotation is EMPTY:
        raise site.refuse(name, "has no type hint", no_hint(name), "parameter")
    hint = subject.scope.hint(parameter.annotation, name)
    if is_context(hint):
        if any(other.slot.key is None for other in before):
            raise site.refuse(name, "is a second Context", "take the context once", "parameter")
        return TextParameter(name, Slot(key=None, keyword=keyword))
    refuse_class(hint, name, site)
    default, extra = default_of(parameter, site)
    bare, metadata = _hints.peel(hint)
    for mark in (default, *metadata):
        refuse_mark(mark, name, site)
    optional = without_null(bare)
    if optional is not None:
        bare, inner = _hints.peel(optional)
        metadata = inner + metadata
    metadata += extra
    key = next((item.name for item in metadata if isinstance(item, Arg) and item.name), name)
    if any(other.slot.key == key for other in before):
        reason = f"{what} {key!r} is declared more than once"
        raise site.refuse(name, reason, "rename one of them", "parameter")
    local = subject.scope.local
    if bare is NONE_TYPE:
        raise site.refuse(name, "text cannot become None", "write str | None", "parameter")
    whole = _annotated(bare, metadata)
    reading = reader(key).read(whole, name)
    schema = apply(SchemaBuilder(local).schema(bare, name), metadata, name)
    if default is not EMPTY and not (default is None and optional is not None):
        check_default(schema, {}, default, name, site)
    return TextParameter(
        name,
        Slot(
            key=key,
            keyword=keyword,
            convert=None
            if reading.parse is None
            else _convert(reading.parse, key, what, site.component),
            required=default is EMPTY,
            default=None if default is EMPTY else default,
        ),
        title=schema.get("title"),
        description=schema.get("description") or subject.texts.get(name),
        values=reading.values,
    )


def _annotated(hint: Any, metadata: list[Any]) -> Any:
    from typing import Annotated

    return Annotated[hint, *metadata] if metadata else hint


def _convert(parse: Parse, key: str, what: str, component: str) -> Callable[[Any], Any]:
    def convert(text: Any) -> Any:
        try:
            return parse(text)
        except Mismatch as error:
            if error.said is not None:
                refused(component, key, error.said)
            raise ConversionError(f"Invalid {what} {key!r}: {error.expected}") from None

    return convert
