"""Dependencies of a function: found in its signature and planned once, before any call.

A plan is a list of steps in which what a step needs stands before it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Any, NamedTuple

from . import _callable, _hints
from ._definition import Site
from ._elsewhere import refuse_mark
from ._parameters import EMPTY, Scope, is_context
from ._resolving import How, Plan, Step, late, plain
from .dependencies import Current, Dependency, Depends
from .errors import DeclarationError


class Fake(NamedTuple):
    """What stands in for a dependency."""

    function: Callable[..., Any]
    local: Mapping[str, Any]
    """Names that its annotations may use."""


Overrides = Mapping[Any, Fake]
"""What stands in, by the identity of what it stands in for."""


class Injection(NamedTuple):
    """A function with dependencies, and how it becomes what a component runs."""

    run: Callable[..., Any]
    is_async: bool
    names: tuple[str, ...]
    """The parameters that are filled otherwise, in order."""
    needs: tuple[tuple[str, Callable[..., Any]], ...]
    """The parameters that are filled with dependencies, and what fills them."""
    site: Site
    local: Mapping[str, Any]
    """Names around the function, which annotations of its dependencies may use."""
    adapt: Callable[[Callable[..., Any], bool], Callable[..., Any]] = lambda run, is_async: run
    """Makes what the component runs of what takes the remaining parameters."""

    def build(self, overrides: Overrides) -> tuple[Callable[..., Any], bool]:
        """Give what the component runs, and whether that gives coroutines.

        Raises:
            DeclarationError: If a dependency needs what there is not, or itself.
        """
        run, is_async = self.injected(overrides)
        return self.adapt(run, is_async), is_async

    def injected(self, overrides: Overrides | None = None) -> tuple[Callable[..., Any], bool]:
        """Give what takes the remaining parameters, and whether that gives coroutines."""
        plan = self.plan(overrides)
        is_async = self.is_async or plan.waits
        if is_async:
            return partial(late, plan, self.run, self.is_async, self.names), True
        return partial(plain, plan, self.run, self.names), False

    def plan(self, overrides: Overrides | None = None) -> Plan:
        """Say in which order everything is resolved."""
        planner = _Planner(overrides or {}, self.site, self.local)
        inputs = tuple((name, planner.place(function)) for name, function in self.needs)
        return Plan(tuple(planner.steps), inputs, frozenset(planner.places))


def split(
    run: Callable[..., Any], is_async: bool, parameters: list[inspect.Parameter], scope: Scope
) -> tuple[list[inspect.Parameter], Injection | None]:
    """Take the dependencies out of a function's parameters.

    Returns:
        The other parameters, and what fills those taken out; None if there are none.

    Raises:
        DeclarationError: If they cannot be filled.
    """
    found = [(parameter, _dependency(parameter, scope)) for parameter in parameters]
    needs = tuple((p.name, one.function) for p, one in found if one is not None)
    if not needs:
        return parameters, None
    rest = [parameter for parameter, one in found if one is None]
    for parameter in parameters:
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL):
            raise scope.site.refuse(
                parameter.name,
                "cannot be filled by name, as all are where there are dependencies",
                "remove the '/' or the '*'",
                "parameter",
            )
    names = tuple(p.name for p in rest if p.kind is not p.VAR_KEYWORD)
    injection = Injection(run, is_async, names, needs, scope.site, scope.local)
    injection.plan()  # refuses what cannot be resolved
    return rest, injection


def _dependency(parameter: inspect.Parameter, scope: Scope) -> Dependency | None:
    if isinstance(parameter.default, Dependency):
        return parameter.default
    refuse_mark(parameter.default, parameter.name, scope.site)
    if parameter.annotation is EMPTY:
        return None
    try:
        hint = scope.hint(parameter.annotation, parameter.name)
    except DeclarationError:
        return None  # told by whoever needs the hint
    metadata = _hints.peel(hint)[1]
    if any(one is Depends for one in metadata):
        raise scope.site.refuse(
            parameter.name, "Depends without parentheses", "write Depends(function)", "parameter"
        )
    for one in metadata:
        refuse_mark(one, parameter.name, scope.site)
    return next((one for one in metadata if isinstance(one, Dependency)), None)


class _Planner:
    """Puts steps in order; what several need is one step."""

    def __init__(self, overrides: Overrides, site: Site, local: Mapping[str, Any]) -> None:
        self.steps: list[Step] = []
        self._local = local
        self._overrides = overrides
        self._site = site
        self.places: dict[Any, int] = {}
        self._open: list[Any] = []

    def place(self, function: Callable[..., Any]) -> int:
        """Give the place of the step that a function is, planned if it is not yet."""
        key = identity(function)
        if key in self.places:
            return self.places[key]
        if key in self._open:
            names = [*self._open[self._open.index(key) :], key]
            chain = " → ".join(_named(one) for one in names)
            raise self._refuse(function, f"depends on itself: {chain}", "take one of them out")
        self._open.append(key)
        step = self._step(*self._overrides.get(key, Fake(function, self._local)))
        self._open.pop()
        self.steps.append(step)
        self.places[key] = len(self.steps) - 1
        return self.places[key]

    def _step(self, function: Callable[..., Any], local: Mapping[str, Any]) -> Step:
        call, how = _kind(function)
        if isinstance(function, Current):
            return Step(call, how, True, None, ())
        try:
            parameters, _ = _callable.parameters(function)
        except (TypeError, ValueError):
            raise self._refuse(
                function, "its signature cannot be read", "wrap it in a def"
            ) from None
        names = {**local, **_callable.local_names(function, None)}
        scope = Scope(_callable.global_names(function), names, self._site)
        context, inputs = None, []
        for parameter in parameters:
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                continue
            if parameter.kind is parameter.POSITIONAL_ONLY:
                if parameter.default is not EMPTY:
                    continue
                reason = f"its parameter {parameter.name!r} is positional-only"
                raise self._refuse(function, reason, "remove the '/'")
            dependency = _dependency(parameter, scope)
            if dependency is not None:
                inputs.append((parameter.name, self.place(dependency.function)))
            elif _takes_context(parameter, scope):
                context = parameter.name
            elif parameter.default is EMPTY:
                raise self._refuse(
                    function,
                    f"its parameter {parameter.name!r} is neither a context nor a dependency",
                    "annotate it with Context or Annotated[..., Depends(...)], or give it a value",
                )
        return Step(call, how, False, context, tuple(inputs))

    def _refuse(self, function: Any, reason: str, advice: str) -> DeclarationError:
        return self._site.refuse(_named(function), reason, advice, "dependency")


def _takes_context(parameter: inspect.Parameter, scope: Scope) -> bool:
    if parameter.annotation is EMPTY:
        return False
    try:
        return is_context(scope.hint(parameter.annotation, parameter.name))
    except DeclarationError:
        if parameter.default is EMPTY:
            raise
        return False  # a hint for type checkers alone


def identity(function: Any) -> Any:
    """Give what tells a dependency from others: bound methods are made anew at every access."""
    try:
        hash(function)
    except TypeError:
        return id(function)
    return function


def _named(function: Any) -> str:
    return str(getattr(function, "__qualname__", None) or function).rpartition("<locals>.")[2]


def _kind(function: Any) -> tuple[Callable[..., Any], How]:
    """Tell what calling a function gives."""
    target = function
    while hasattr(target, "func") and hasattr(target, "keywords"):  # a partial
        target = target.func
    if not inspect.isroutine(target) and not isinstance(target, type):
        target = getattr(type(target), "__call__", target)  # noqa: B004 - the function is wanted
    if inspect.isgeneratorfunction(target):
        return contextmanager(function), "plain manager"
    if inspect.isasyncgenfunction(target):
        return asynccontextmanager(function), "late manager"
    if inspect.iscoroutinefunction(target):
        return function, "late"
    inner = _callable.innermost(function)
    if inspect.isgeneratorfunction(inner):
        return function, "plain manager"  # decorated with contextmanager
    if inspect.isasyncgenfunction(inner):
        return function, "late manager"
    return function, "late" if inspect.iscoroutinefunction(inner) else "plain"
