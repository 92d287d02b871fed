"""Reading type hints: wrappers peeled, classes described by their fields. Knows no JSON."""

from __future__ import annotations

import inspect
import sys
import types
import typing
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, is_dataclass
from dataclasses import fields as dataclass_fields
from typing import Any

ABSENT: Any = inspect.Parameter.empty
"""Says that a field has no default."""

_QUALIFIERS = frozenset({"ClassVar", "Final", "NotRequired", "ReadOnly", "Required"})
NONE_TYPE = type(None)


class HintError(Exception):
    """A hint that cannot be expressed; becomes a DeclarationError once the place is known."""

    def __init__(self, path: str, reason: str, advice: str = "") -> None:
        """Keep the dotted path, the reason and the remedy apart."""
        super().__init__(reason)
        self.path = path
        self.reason = reason
        self.advice = advice


@dataclass(frozen=True, slots=True)
class Field:
    """One member of a structured type."""

    name: str
    hint: Any
    required: bool
    default: Any = ABSENT
    description: str | None = None
    constructed: bool = True


@dataclass(frozen=True, slots=True)
class Fields:
    """A structured type, described."""

    kind: str
    """One of ``dataclass``, ``typeddict``, ``namedtuple``, ``attrs``."""
    members: tuple[Field, ...]
    simple: bool = True
    """Whether filling the members is all there is to making one."""


def is_alias(hint: Any) -> bool:
    """Tell a ``type X = ...`` alias, whoever implements it."""
    return type(hint).__name__ == "TypeAliasType"


def peel(hint: Any) -> tuple[Any, list[Any]]:
    """Take off Annotated, NewType and qualifiers; the metadata comes innermost first."""
    metadata: list[Any] = []
    if type(hint) is type:
        return hint, metadata  # a plain class, as most are
    while True:
        origin = typing.get_origin(hint)
        if origin is typing.Annotated:
            metadata[:0] = hint.__metadata__
            hint = hint.__origin__
        elif hasattr(hint, "__supertype__"):
            hint = hint.__supertype__
        elif getattr(origin, "_name", None) in _QUALIFIERS:
            hint = typing.get_args(hint)[0]
        else:
            return (NONE_TYPE if hint is None else hint), metadata


def alias_value(hint: Any) -> Any:
    """Give what a ``type X = ...`` alias stands for, its parameters filled in; None if none."""
    if is_alias(hint):
        return _aliased(hint)
    origin = typing.get_origin(hint)
    if origin is not None and is_alias(origin):
        names = dict(zip(origin.__type_params__, typing.get_args(hint), strict=False))
        return substitute(_aliased(origin), names)
    return None


def _aliased(alias: Any) -> Any:
    """Give the value of an alias, its own name and its module's resolved where they are strings."""
    space = vars(sys.modules[alias.__module__]) if alias.__module__ in sys.modules else {}
    try:
        return resolve({"value": alias.__value__}, space, {alias.__name__: alias})["value"]
    except NameError:  # a name of the function around it, when it is a string
        return alias.__value__


def is_union(hint: Any) -> bool:
    """Tell ``X | Y`` and ``Union[X, Y]``."""
    return typing.get_origin(hint) in (typing.Union, types.UnionType)


def union_members(hint: Any) -> tuple[Any, ...]:
    """Give the members of a union, or the hint alone, looking through Annotated and aliases."""
    if type(hint) is type:
        return (hint,)
    bare, _ = peel(hint)
    value = alias_value(bare)
    if value is not None and is_union(peel(value)[0]):
        return union_members(value)
    if not is_union(bare):
        return (hint,)
    return tuple(part for arg in typing.get_args(bare) for part in union_members(arg))


def substitute(hint: Any, mapping: Mapping[Any, Any]) -> Any:
    """Replace type variables."""
    if not mapping:
        return hint
    if hint in mapping if isinstance(hint, typing.TypeVar) else False:
        return mapping[hint]
    parameters = getattr(hint, "__parameters__", ())
    if typing.get_origin(hint) is not None and parameters:
        return hint[tuple(mapping.get(p, p) for p in parameters)]
    return hint


def resolve(annotations: Mapping[str, Any], space: Mapping[str, Any], local: Any) -> dict[str, Any]:
    """Evaluate annotations that may be strings.

    Raises:
        NameError: If a name in one of them means nothing there.
    """
    holder = types.SimpleNamespace(__annotations__=dict(annotations))
    return typing.get_type_hints(holder, dict(space), dict(local), include_extras=True)


def type_name(hint: Any) -> str:
    """Name a hint for a message."""
    if isinstance(hint, type) and typing.get_origin(hint) is None:
        return hint.__qualname__.rpartition("<locals>.")[2]
    return str(hint).replace("typing.", "")


def is_typeddict(hint: Any) -> bool:
    """Tell a TypedDict of typing and of typing_extensions."""
    return isinstance(hint, type) and issubclass(hint, dict) and hasattr(hint, "__required_keys__")


def is_namedtuple(hint: Any) -> bool:
    """Tell a NamedTuple."""
    return isinstance(hint, type) and issubclass(hint, tuple) and hasattr(hint, "_fields")


def is_attrs(hint: Any) -> bool:
    """Tell an attrs class."""
    return isinstance(hint, type) and hasattr(hint, "__attrs_attrs__")


def is_struct(hint: Any) -> bool:
    """Tell a msgspec.Struct."""
    return isinstance(hint, type) and hasattr(hint, "__struct_config__")


def is_pydantic(hint: Any) -> bool:
    """Tell whatever pydantic can make an adapter for by itself."""
    return isinstance(hint, type) and (
        hasattr(hint, "__get_pydantic_core_schema__") or hasattr(hint, "__pydantic_fields__")
    )


def fields_of(hint: Any, local: Mapping[str, Any], path: str = "") -> Fields | None:
    """Describe a structured type; None for any other hint.

    Raises:
        HintError: If its own hints cannot be resolved.
    """
    origin = typing.get_origin(hint) or hint
    if not isinstance(origin, type):
        return None
    if is_dataclass(origin):
        read = _dataclass
    elif is_typeddict(origin):
        read = _typeddict
    elif is_namedtuple(origin):
        read = _namedtuple
    elif is_attrs(origin):
        read = _attrs
    else:
        return None
    try:
        variables = {p.__name__: p for p in getattr(origin, "__parameters__", ())}
        names = {**variables, **local, origin.__name__: origin}
        hints = typing.get_type_hints(origin, localns=names, include_extras=True)
    except NameError as error:
        raise HintError(
            path,
            f"a hint of {type_name(origin)} cannot be resolved: {error}",
            "define or import the type before it is used in a declaration",
        ) from None
    except Exception as error:  # hints are evaluated, so anything can come out of them
        raise HintError(
            path,
            f"the hints of {type_name(origin)} cannot be read: {error}",
            "fix the annotation it names",
        ) from None
    parameters = getattr(origin, "__parameters__", ())
    mapping = dict(zip(parameters, typing.get_args(hint), strict=False))
    hints = {name: substitute(value, mapping) for name, value in hints.items()}
    return read(origin, hints)


def _dataclass(cls: Any, hints: dict[str, Any]) -> Fields:
    described = _described(cls)
    members = []
    for field in dataclass_fields(cls):
        required = field.default is MISSING and field.default_factory is MISSING
        default = ABSENT if field.default is MISSING else field.default
        if field.default_factory is not MISSING:
            default = made_default(field.default_factory)
        text = field.metadata.get("description")
        members.append(
            Field(
                name=field.name,
                hint=hints.get(field.name, field.type),
                required=required,
                default=default,
                description=text if isinstance(text, str) else described.get(field.name),
                constructed=field.init,
            )
        )
    initvars = any(
        type(value).__name__ == "InitVar" or str(value).startswith(("InitVar", "dataclasses.InitV"))
        for value in own_annotations(cls).values()
    )
    generated = cls.__init__.__code__.co_filename == "<string>" if _has_code(cls) else False
    simple = all(member.constructed for member in members) and not initvars and generated
    return Fields("dataclass", tuple(members), simple)


def made_default(factory: Any) -> Any:
    """Give what a default factory makes, if it is always the same.

    What another factory makes (an id, today's date) is no part of a schema, which is made once.
    """
    return factory() if factory in (list, dict, set, frozenset, tuple, str, int, float) else ABSENT


def _has_code(cls: Any) -> bool:
    return hasattr(cls.__init__, "__code__")


def own_annotations(cls: Any) -> dict[str, Any]:
    """Give the annotations of a class and its bases as they are, strings unresolved."""
    found: dict[str, Any] = {}
    for base in reversed(getattr(cls, "__mro__", ())):
        found.update(inspect.get_annotations(base))
    return found


def _typeddict(cls: Any, hints: dict[str, Any]) -> Fields:
    described = _described(cls)
    return Fields(
        "typeddict",
        tuple(
            Field(
                name=name,
                hint=hint,
                required=_is_required(hint, name in cls.__required_keys__),
                description=described.get(name),
            )
            for name, hint in hints.items()
        ),
    )


def _is_required(hint: Any, otherwise: bool) -> bool:
    """Read Required/NotRequired off the hint: string annotations hide them from the class."""
    while (origin := typing.get_origin(hint)) is not None:
        name = getattr(origin, "_name", None)
        if name in ("Required", "NotRequired"):
            return bool(name == "Required")
        if origin is typing.Annotated:
            hint = hint.__origin__
        elif name == "ReadOnly":
            hint = typing.get_args(hint)[0]
        else:
            break
    return otherwise


def _namedtuple(cls: Any, hints: dict[str, Any]) -> Fields:
    described = _described(cls)
    defaults = cls._field_defaults
    return Fields(
        "namedtuple",
        tuple(
            Field(
                name=name,
                hint=hints.get(name, Any),
                required=name not in defaults,
                default=defaults.get(name, ABSENT),
                description=described.get(name),
            )
            for name in cls._fields
        ),
    )


def _attrs(cls: Any, hints: dict[str, Any]) -> Fields:
    described = _described(cls)
    members = []
    for attribute in cls.__attrs_attrs__:
        default = attribute.default
        if hasattr(default, "factory"):
            default = ABSENT if default.takes_self else made_default(default.factory)
            required = False
        else:
            required = default is sys.modules["attr"].NOTHING
            default = ABSENT if required else default
        members.append(
            Field(
                name=attribute.name,
                hint=hints.get(attribute.name, attribute.type or Any),
                required=required,
                default=default,
                description=described.get(attribute.name),
                constructed=attribute.init,
            )
        )
    return Fields("attrs", tuple(members), all(member.constructed for member in members))


def _described(cls: Any) -> dict[str, str]:
    text = own_doc(cls)
    if not text:
        return {}
    from ._docstring import parse

    return parse(text)[1]


def own_doc(cls: Any) -> str | None:
    """Give the docstring somebody wrote for this very class."""
    text = cls.__dict__.get("__doc__")
    if not isinstance(text, str) or not text.strip():
        return None
    # Generated ones repeat the signature: "Point(x: int)", "Point(x, y)".
    return None if text.startswith(f"{cls.__name__}(") else text
