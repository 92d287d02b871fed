"""A callable's parameters to the schema of its arguments and the slots they go into."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from . import _hints
from ._algebra import with_default
from ._arg import Arg
from ._constraints import apply
from ._convert import converter, number_kind
from ._definition import Schema, Site, dotted, dumps, schema_refusal
from ._elsewhere import no_hint, refuse_class, refuse_mark
from ._encode import EncodeError, to_json
from ._hints import NONE_TYPE, HintError
from ._schema import SchemaBuilder
from ._signature import Slot

EMPTY = inspect.Parameter.empty

# A schema of nothing else admits every value of its type.
_UNBOUNDED = {"type", "description", "default"}


@dataclass(slots=True)
class Scope:
    """Where the annotations of a callable mean something."""

    space: Mapping[str, Any]
    local: Mapping[str, Any]
    site: Site
    known: dict[str, Any] = field(default_factory=dict)
    """What annotations that are strings came to."""

    def hint(self, annotation: Any, name: str, label: str = "parameter") -> Any:
        """Evaluate one annotation."""
        if isinstance(annotation, type) and not typing.get_args(annotation):
            return annotation
        if isinstance(annotation, str) and annotation in self.known:
            return self.known[annotation]
        try:
            hint = _hints.resolve({name: annotation}, self.space, self.local)[name]
        except NameError as error:
            if isinstance(annotation, str) and _says_context(annotation):
                return context_class()
            raise self.site.refuse(
                name,
                f"the hint cannot be resolved: {error}",
                "import or define the type before it is used in a declaration",
                label,
            ) from None
        except Exception as error:  # an annotation is code, so anything can come out of it
            raise self.site.refuse(
                name, f"the hint cannot be read: {error}", "fix the annotation", label
            ) from None
        if isinstance(annotation, str):
            self.known[annotation] = hint
        return hint


@dataclass(slots=True)
class Parameters:
    """What the parameters come to."""

    slots: list[Slot] = field(default_factory=list)
    properties: Schema = field(default_factory=dict)
    required: list[str] = field(default_factory=list)
    definitions: dict[str, Schema] = field(default_factory=dict)

    def schema(self) -> Schema:
        """Give the schema of the arguments object."""
        schema: Schema = {"type": "object", "properties": self.properties}
        if self.required:
            schema["required"] = self.required
        schema["additionalProperties"] = False
        if self.definitions:
            schema["$defs"] = self.definitions
        return schema


def context_class() -> Any:
    """Give the class that marks the context parameter."""
    from ._snodo import Context

    return Context


def is_context(hint: Any) -> bool:
    """Tell the context parameter by its hint."""
    context = context_class()
    return any(_hints.peel(member)[0] is context for member in _hints.union_members(hint))


def _says_context(annotation: str) -> bool:
    # Imported for type checkers only, the name means nothing at run time.
    text = annotation.replace("None", "").replace("|", "").strip()
    return text == "Context" or text.endswith(".Context")


def read_parameters(
    parameters: list[inspect.Parameter], scope: Scope, described: Mapping[str, str]
) -> Parameters:
    """Build schema and slots.

    Raises:
        DeclarationError: If a parameter cannot be an argument.
    """
    result = Parameters()
    builder = SchemaBuilder(scope.local)
    try:
        for parameter in parameters:
            refuse_kind(parameter, scope.site)
            _add(result, builder, parameter, scope, described)
    except HintError as error:
        raise scope.site.refuse(error.path, error.reason, error.advice, "parameter") from None
    result.definitions = builder.definitions
    _check(result, scope.site)
    return result


def refuse_kind(parameter: inspect.Parameter, site: Site) -> None:
    """Refuse a parameter that no named argument can fill."""
    name = parameter.name
    if parameter.kind is parameter.VAR_POSITIONAL:
        reason = f"arguments have names, so *{name} can receive nothing"
        advice = "take one parameter of type list[...]"
    elif parameter.kind is parameter.VAR_KEYWORD:
        reason = f"**{name} does not say which arguments there are"
        advice = "name the parameters, or take one of type dict[str, ...]"
    elif parameter.kind is parameter.POSITIONAL_ONLY:
        reason = "arguments are passed by name and this parameter is positional-only"
        advice = "remove the '/' from the signature"
    else:
        return
    raise site.refuse(name, reason, advice, "parameter")


def _add(
    result: Parameters,
    builder: SchemaBuilder,
    parameter: inspect.Parameter,
    scope: Scope,
    described: Mapping[str, str],
) -> None:
    name, site = parameter.name, scope.site
    keyword = name if parameter.kind is parameter.KEYWORD_ONLY else None
    if parameter.annotation is EMPTY:
        raise site.refuse(name, "has no type hint", no_hint(name), "parameter")
    hint = scope.hint(parameter.annotation, name)
    if is_context(hint):
        if any(slot.key is None for slot in result.slots):
            raise site.refuse(name, "is a second Context", "take the context once", "parameter")
        result.slots.append(Slot(key=None, keyword=keyword))
        return
    refuse_class(hint, name, site)
    default, extra = default_of(parameter, site)
    bare, metadata = _hints.peel(hint)
    for mark in (default, *metadata):
        refuse_mark(mark, name, site)
    metadata += extra
    optional = without_null(bare) if default is None else None
    if optional is not None:
        bare = optional
    schema = apply(builder.schema(bare, name), metadata, name)
    if name in described and "description" not in schema:
        schema = {**schema, "description": described[name]}
    if default is not EMPTY:
        schema = with_default(schema, default)
    key = next((item.name for item in metadata if isinstance(item, Arg) and item.name), name)
    if key in result.properties:
        reason = f"argument {key!r} is declared more than once"
        raise site.refuse(name, reason, "rename one of them", "parameter")
    result.properties[key] = schema
    if default is EMPTY:
        result.required.append(key)
    elif optional is None and not (type(default) is bare and schema.keys() <= _UNBOUNDED):
        check_default(schema, builder.definitions, default, name, site)
    number = _plain_number(bare)
    result.slots.append(
        Slot(
            key=key,
            keyword=keyword,
            convert=None if number else converter(bare, key, scope.local, schema, site.component),
            required=default is EMPTY,
            default=None if default is EMPTY else default,
            number=number,
            null_is_default=optional is not None,
        )
    )


def without_null(hint: Any) -> Any:
    """Give what ``T | None`` is beside None; None if it is no such union."""
    members = _hints.union_members(hint)
    rest = tuple(member for member in members if _hints.peel(member)[0] is not NONE_TYPE)
    if not rest or len(rest) == len(members):
        return None
    return typing.Union[rest]  # noqa: UP007 - the members are known at run time only


def _plain_number(hint: Any) -> typing.Literal["int", "float"] | None:
    """Say what a number becomes, when that is the only conversion there is."""
    plain = (int, float, str, bool, NONE_TYPE)
    if all(_hints.peel(member)[0] in plain for member in _hints.union_members(hint)):
        return number_kind(hint)
    return None


def default_of(parameter: inspect.Parameter, site: Site) -> tuple[Any, list[Any]]:
    """Give the default, and the constraints of a pydantic ``Field(...)`` that stands for one."""
    default = parameter.default
    if isinstance(default, Arg) or default is Arg:
        raise site.refuse(
            parameter.name,
            "Arg is the default value",
            f"write {parameter.name}: Annotated[..., Arg(...)]",
            "parameter",
        )
    if type(default).__name__ == "FieldInfo" and type(default).__module__.startswith("pydantic"):
        if default.default_factory is not None:
            return default.default_factory(), [default]
        return (EMPTY if default.is_required() else default.default), [default]
    return default, []


def check_default(
    schema: Schema, definitions: dict[str, Schema], default: Any, name: str, site: Site
) -> None:
    """Refuse a default that its own schema would refuse."""
    try:
        value = to_json(default)
    except EncodeError:
        return  # not JSON, so it is no argument anybody could send and is not published either
    from ._snodo import validate

    whole = {**schema, "$defs": definitions} if definitions else schema
    failures = validate(dumps(whole), dumps(value))
    if failures:
        path, rule = failures[0]
        place = f" (at {path})" if path.strip("/") else ""
        advice = "change the default or the hint"
        if default is None:
            advice = "write the hint as '... | None'"
        reason = f"the default violates the schema: {rule}{place}"
        raise site.refuse(name, reason, advice, "parameter")


def _check(result: Parameters, site: Site) -> None:
    refusal = schema_refusal(result.schema(), output=False)
    if refusal is None:
        return
    pointer, reason = refusal
    segments = dotted("", pointer).split(".")[1:]
    if len(segments) >= 2 and segments[0] == "properties":
        kept = [s for i, s in enumerate(segments[1:]) if i == 0 or s != "properties"]
        if len(kept) > 1 and kept[-1] in ("x-mcp-header", "pattern"):
            kept.pop()
        advice = "change the hint or what Arg says about it"
        raise site.refuse(".".join(kept), reason, advice, "parameter")
    raise site.refuse(dotted("input schema", pointer), reason, "change the hints of the parameters")
