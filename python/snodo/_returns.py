"""A return annotation to the schema of structured content, or to none."""

from __future__ import annotations

import typing
from collections import abc
from collections.abc import Mapping
from typing import Any

from . import _hints
from ._algebra import admits
from ._definition import Schema, Site, dotted, schema_refusal
from ._encode import displays
from ._hints import NONE_TYPE, HintError
from ._schema import ARRAYS, SETS, SchemaBuilder
from .errors import Error

_DRAINED = (
    abc.Iterator,
    abc.Iterable,
    abc.Generator,
    abc.AsyncIterator,
    abc.AsyncIterable,
    abc.AsyncGenerator,
)
_AWAITED = (abc.Awaitable, abc.Coroutine)


def output_schema(hint: Any, local: Mapping[str, Any], site: Site, drained: bool) -> Schema | None:
    """Give the schema that values of a return annotation fit; None for no schema.

    Args:
        hint: The evaluated annotation.
        local: Names that hints of locally defined types may use.
        site: Where the tool is declared.
        drained: Whether the tool is a generator, whose items make a list.

    Raises:
        DeclarationError: If the annotation says what JSON cannot.
    """
    hint = _produced(hint, drained)
    # A returned Error fails the request, so it is no part of what is published.
    members = [m for m in _hints.union_members(hint) if _hints.peel(m)[0] is not Error]
    if not members or all(_hints.peel(member)[0] is NONE_TYPE for member in members):
        return None
    if any(_is_unstructured(member) for member in members):
        return None
    if len(members) < len(_hints.union_members(hint)):
        hint = typing.Union[tuple(members)]  # noqa: UP007 - known at run time only
    builder = SchemaBuilder(local, output=True)
    try:
        schema = builder.schema(hint, "return")
    except HintError as error:
        raise site.refuse(error.path, error.reason, error.advice) from None
    if not schema:
        return None
    reference = schema.get("$ref")
    if isinstance(reference, str):
        # Hosts look at the root's type first.
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        schema = {**builder.definitions[reference.rpartition("/")[2]], **rest}
    if builder.definitions:
        schema = {**schema, "$defs": builder.definitions}
    refusal = schema_refusal(schema, output=True)
    if refusal is not None:
        pointer, reason = refusal
        raise site.refuse(dotted("return", pointer), reason, "change the return annotation")
    return schema


def admits_null(schema: Schema | None) -> bool:
    """Tell whether a structured null fits an output schema."""
    return schema is not None and admits(schema, "null", schema.get("$defs", {}))


def _produced(hint: Any, drained: bool) -> Any:
    """Give what is got in the end: awaited, and drained."""
    bare, _ = _hints.peel(hint)
    origin, args = typing.get_origin(bare) or bare, typing.get_args(bare)
    if origin in _AWAITED:
        return _produced(args[-1] if args else Any, drained)
    if origin in _DRAINED and (drained or origin is not abc.Iterable):
        return list[args[0]] if args else list  # type: ignore[valid-type]
    return hint


def _is_unstructured(hint: Any) -> bool:
    """Tell what may become text or content, so that no schema can be promised."""
    bare, _ = _hints.peel(hint)
    value = _hints.alias_value(bare)
    if value is not None:
        return any(_is_unstructured(member) for member in _hints.union_members(value))
    if bare in (Any, object, str, typing.NoReturn, typing.Never):
        return True
    origin, args = typing.get_origin(bare), typing.get_args(bare)
    if origin is typing.Literal:
        return any(isinstance(arg, str) for arg in args)
    kind = origin or bare
    if kind in ARRAYS or kind in SETS or kind is tuple:
        # A list with a content value in it is content; strings alone are data.
        if not args:
            return True
        items = [m for arg in args if arg is not Ellipsis for m in _hints.union_members(arg)]
        return any(_is_content(item) for item in items)
    return _is_content(bare)


def _is_content(hint: Any) -> bool:
    bare, _ = _hints.peel(hint)
    if bare in (Any, object):
        return True
    if not isinstance(bare, type):
        return False
    if issubclass(bare, str):  # an Enum of strings is sent as text, as every string is
        return bare is not str
    from ._snodo import Result

    if issubclass(bare, (Result, Error)) or getattr(bare, "__snodo_content__", False) is True:
        return True
    return bare.__module__ not in ("builtins", "typing") and displays(bare)
