"""The callable that a declaration stands on: its name, its texts, its signature, what runs it."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, Any

from . import _callable
from ._definition import UNSET, Site, checked_call_name, checked_name, checked_text
from ._docstring import parse
from ._parameters import EMPTY, Scope, is_context
from .errors import DeclarationError

if TYPE_CHECKING:
    from ._injection import Injection
    from ._layers import Layer

Adapt = Callable[[Any, bool], Any]
"""Makes what a component runs of what takes the parameters; told whether that gives coroutines."""


class Declaration:
    """What a lone decorator leaves on a function: enough to make the spec again for a method."""

    __slots__ = ("kind", "options", "spec", "subject", "where")

    def __init__(self, kind: str, subject: Any, options: Any, spec: Any, where: str) -> None:
        """Keep the parts; ``spec`` is None for a method without an instance."""
        self.kind = kind
        self.subject = subject
        self.options = options
        self.spec = spec
        self.where = where


def mark(kind: str) -> str:
    """Name the attribute in which a function carries its declaration."""
    return f"__snodo_{kind}__"


@dataclass(frozen=True, slots=True)
class Subject:
    """What every kind of component reads off its callable."""

    name: str
    title: str | None
    description: str | None
    texts: Mapping[str, str]
    """What the docstring says of each parameter."""
    parameters: list[inspect.Parameter]
    """Dependencies are not among them: ``run`` fills those."""
    returned: Any
    scope: Scope
    run: Any
    is_async: bool
    injection: Injection | None = None

    @property
    def site(self) -> Site:
        """Where the declaration stands."""
        return self.scope.site


def read_subject(
    function: Any, options: Any, frame: FrameType, kind: str, *, method: bool = False
) -> Subject:
    """Look at a callable.

    Args:
        function: The callable.
        options: What the declaration says beside it.
        frame: Where it is declared; its names may be used in annotations.
        kind: What it is to be: ``tool``, ``resource`` or ``prompt``.
        method: Whether the first parameter is ``self`` or ``cls``, to be bound later.

    Raises:
        DeclarationError: If it cannot be a component.
    """
    name = _default_name(function) if options.name is None else options.name
    shown = name if isinstance(name, str) and name else str(_default_name(function))
    site = Site(_callable.location(function, frame), f"{kind} {shown!r}")
    _refuse_uncallable(function, site, kind)
    name = (checked_name if kind == "resource" else checked_call_name)(name, site)
    if name == "<lambda>":
        raise site.refuse("name", "a lambda has no name", 'write name="..."')
    title = checked_text(options.title, "title", site)
    described, texts = parse(_doc(function))
    if options.description is UNSET:
        description: str | None = checked_text(described, "description", site) or None
    else:
        description = checked_text(options.description, "description", site)
    try:
        found, returned = _callable.parameters(function)
    except (ValueError, TypeError):
        reason = "its signature cannot be read"
        raise site.refuse("signature", reason, "wrap it in a def with type hints") from None
    if method:
        found = found[1:]
    elif _callable.is_method(function):
        raise site.refuse(
            found[0].name,
            "is the instance, which does not exist yet",
            f"decorate the method with @snodo.{kind} and call server.add(instance.method)",
            "parameter",
        )
    scope = Scope(_callable.global_names(function), _callable.local_names(function, frame), site)
    run, is_async = _callable.runner(function)
    found, injection = injected(run, is_async, found, scope)
    if injection is not None:
        run, is_async = injection.injected()
    return Subject(
        name, title, description, texts, found, returned, scope, run, is_async, injection
    )


def injected(
    run: Any, is_async: bool, parameters: list[inspect.Parameter], scope: Scope
) -> tuple[list[inspect.Parameter], Injection | None]:
    """Take the dependencies out of a function's parameters, if it has any.

    Raises:
        DeclarationError: If they cannot be filled.
    """
    if "snodo.dependencies" not in sys.modules:
        return parameters, None  # nobody can have marked one
    from ._injection import split

    return split(run, is_async, parameters, scope)


def adapted(subject: Subject, adapt: Adapt) -> tuple[Any, Injection | None]:
    """Give what a component runs, and how its dependencies get into that."""
    injection = subject.injection
    if injection is not None:
        injection = injection._replace(adapt=adapt)
    return adapt(subject.run, subject.is_async), injection


def raw(function: Any, subject: Subject, option: str) -> Adapt:
    """Give what makes of a callable's runner a function of arguments and context.

    Raises:
        DeclarationError: If it takes anything else.
    """
    context = None
    for parameter in subject.parameters:
        if parameter.annotation is not EMPTY and is_context(
            subject.scope.hint(parameter.annotation, parameter.name)
        ):
            context = parameter.name

    def adapt(run: Any, is_async: bool) -> Any:
        return _callable.raw_runner(function, run, subject.parameters, context)

    if adapt(subject.run, subject.is_async) is None:
        raise subject.site.refuse(
            "signature",
            f"with an explicit {option} the function is called with (arguments, context)",
            f"take those two, or leave {option} out and annotate the parameters",
        )
    return adapt


def read_call(call: Any, name: str, first: str, site: Site) -> tuple[Any, bool, Injection | None]:
    """Give what runs a method of the class form, called with one mapping and the context.

    Raises:
        DeclarationError: If it cannot be called so.
    """
    run, is_async = _callable.runner(call)
    injection = None
    try:
        signature = inspect.signature(call)
        scope = Scope(_callable.global_names(call), _callable.local_names(call, None), site)
        rest, injection = injected(run, is_async, list(signature.parameters.values()), scope)
        inspect.Signature(rest).bind({}, None)
    except TypeError:
        raise site.refuse(
            name,
            f"must take (self, {first}, context)",
            f"write def {name}(self, {first}, context)",
        ) from None
    except DeclarationError:
        raise
    except ValueError:
        pass  # a compiled callable that tells nothing about itself
    return (*(injection.injected() if injection else (run, is_async)), injection)


def checked_middleware(value: Any, site: Site, kind: str) -> tuple[Layer, ...]:
    """Check what surrounds a component.

    Raises:
        DeclarationError: If one of it cannot.
    """
    if value is None or value == ():
        return ()
    from ._layers import declared

    return declared(value, site, kind)


def _refuse_uncallable(function: Any, site: Site, kind: str) -> None:
    if isinstance(function, type):
        raise site.refuse(
            "function",
            f"{function.__qualname__} is a class",
            f"decorate a function, or derive from snodo.{kind.capitalize()}"
            " and call server.add(...)",
        )
    if not callable(function):
        raise site.refuse(
            "function",
            f"a {type(function).__name__} cannot be called",
            f"decorate a function; the name is an option: @{kind}(name=...)",
        )


def _default_name(function: Any) -> Any:
    while isinstance(function, functools.partial):
        function = function.func
    if isinstance(function, (staticmethod, classmethod)):
        function = function.__func__
    return getattr(function, "__name__", type(function).__name__)


def _doc(function: Any) -> str | None:
    while isinstance(function, functools.partial):
        function = function.func
    if inspect.isroutine(function) or isinstance(function, (staticmethod, classmethod)):
        text = function.__doc__
    else:
        cls = type(function)
        text = cls.__call__.__doc__ or cls.__doc__
    return text if isinstance(text, str) else None
