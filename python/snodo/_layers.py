"""Middleware around a component: checked where it is declared, put together for a server.

A layer is a function of ``(context, arguments, call_next)``, sync or async. What is put together of
them is a function of ``(context, arguments, rest)``, where ``rest(arguments)`` calls the
component's own. It is a coroutine function if the component's is, or any layer is.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _callable
from ._definition import Site, kind_of
from .errors import Error, ToolError

if TYPE_CHECKING:
    from typing import TypeAlias

    from ._kept import Kept

    Middleware: TypeAlias = (
        Callable[..., Any] | tuple[Callable[..., Any], Mapping[str, Any]] | "Ready"
    )

RESERVED = ("component", "kind", "operation", "slot")
"""Options that every layer is given."""

_ADVICE = "write a function of (context, arguments, call_next), or of (..., call_next, options)"

Step = Callable[..., Any]
"""``(context, arguments, rest)`` to a value, or to a coroutine."""


class Sides(NamedTuple):
    """A layer as a function of ``(context, arguments, call_next)``, in one form or in both."""

    plain: Callable[..., Any] | None = None
    """Where what is below it gives values."""
    late: Callable[..., Any] | None = None
    """A coroutine function, where what is below it has to be awaited."""


class Place(NamedTuple):
    """Where a layer is: what its state belongs to."""

    component: str
    kind: str
    slot: int
    """How many layers are outside of it."""
    has_output: bool
    """Whether the component is a tool with an output schema."""
    kept: Callable[[], Kept]
    """Gives where the server keeps what was too long for a result."""
    shape: Callable[[Any], Any] | None = None
    """What is made of a value that has left all layers; not of a completion's."""

    def refusal(self, text: str) -> Exception:
        """Give what says no: an `isError` result of a tool, an error of anything else."""
        return ToolError(text) if self.kind == "tool" else Error.internal(text)


class Ready:
    """A layer that is there already: it has a state for each of its places."""

    name: str
    """What it is imported by."""

    def at(self, place: Place) -> Callable[[str], Sides]:
        """Give the layer of one place, as a function of the operation."""
        raise NotImplementedError

    def check(self, kind: str) -> str | None:
        """Say why it cannot surround a component of a kind; None if it can."""
        return None


class Layer(NamedTuple):
    """A layer as it was declared."""

    wrap: Any
    options: Mapping[str, Any]
    takes_options: bool
    is_async: bool
    name: str
    """What people know it by."""

    def at(self, place: Place) -> Callable[[str], Sides]:
        """Give the layer of one place, as a function of the operation."""
        if isinstance(self.wrap, Ready):
            return self.wrap.at(place)
        return partial(self._sides, place)

    def _sides(self, place: Place, operation: str) -> Sides:
        wrap = self.wrap
        if self.takes_options:
            given = {
                **self.options,
                "component": place.component,
                "kind": place.kind,
                "operation": operation,
                "slot": place.slot,
            }
            wrap = partial(_with_options, wrap, MappingProxyType(given))
        return Sides(late=wrap) if self.is_async else Sides(plain=wrap)


def _with_options(wrap: Any, options: Any, context: Any, arguments: Any, call_next: Any) -> Any:
    return wrap(context, arguments, call_next, options)


def declared(value: Any, site: Site, kind: str | None = None) -> tuple[Layer, ...]:
    """Check a list of layers.

    Args:
        value: What was written.
        site: Where.
        kind: What they surround; None for whatever a server has.

    Raises:
        DeclarationError: If one of them cannot be a layer.
    """
    if value is None or value == ():
        return ()
    if not isinstance(value, (list, tuple)):
        raise site.refuse(
            "middleware",
            f"must be a list or a tuple, not {kind_of(value)}",
            "write middleware=[...]",
        )
    return tuple(_layer(entry, f"middleware.{i}", site, kind) for i, entry in enumerate(value))


def _layer(entry: Any, path: str, site: Site, kind: str | None) -> Layer:
    options: Mapping[str, Any] = {}
    given = isinstance(entry, tuple)
    if given:
        if len(entry) != 2 or not isinstance(entry[1], Mapping):
            raise site.refuse(path, "is no pair of a function and its options", _ADVICE)
        entry, options = entry
    if isinstance(entry, Ready):
        reason = "takes no options beside its own" if given else kind and entry.check(kind)
        if reason:
            raise site.refuse(path, reason, "leave it out here")
        return Layer(entry, {}, takes_options=False, is_async=False, name=entry.name)
    maker = getattr(entry, "__name__", "")
    if entry is not None and entry is getattr(sys.modules.get("snodo.middleware"), maker, None):
        raise site.refuse(path, f"is {maker} uncalled", f"call it: {maker}(...)")
    if getattr(entry, "__module__", "") == "snodo._scopes":
        raise site.refuse(path, "is a policy", "write Server(authorize=auth.require_scopes(...))")
    if isinstance(entry, type) or not callable(entry):
        what = f"{entry.__qualname__} is a class" if isinstance(entry, type) else kind_of(entry)
        raise site.refuse(path, f"is no middleware: {what}", _ADVICE)
    for key in options:
        if not isinstance(key, str):
            raise site.refuse(f"{path}.options", "keys must be strings", "name every option")
        if key in RESERVED:
            reserved = ", ".join(RESERVED)
            raise site.refuse(
                f"{path}.options.{key}", "is a reserved option", f"snodo gives {reserved} itself"
            )
    takes_options = _takes_options(entry, path, site)
    if given and not takes_options:
        raise site.refuse(path, "has options and takes none", _ADVICE)
    run, is_async = _callable.runner(entry)
    known = entry.func if isinstance(entry, partial) else entry
    name = getattr(known, "__name__", type(known).__name__)
    return Layer(run, dict(options), takes_options, is_async, name)


def _takes_options(entry: Any, path: str, site: Site) -> bool:
    try:
        parameters = inspect.signature(entry).parameters.values()
    except (TypeError, ValueError):
        raise site.refuse(path, "its signature cannot be read", _ADVICE) from None
    places = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = sum(p.default is p.empty for p in places)
    stray = any(p.kind is p.KEYWORD_ONLY and p.default is p.empty for p in parameters)
    enough = len(places) >= 3 or any(p.kind is p.VAR_POSITIONAL for p in parameters)
    if stray or not enough or needed > 4:
        raise site.refuse(path, "does not take (context, arguments, call_next)", _ADVICE)
    return len(places) >= 4


def surrounded(
    layers: Iterable[Callable[[str], Sides]],
    operation: str,
    is_async: bool,
    shape: Callable[[Any], Any] | None = None,
) -> tuple[Step, bool]:
    """Put layers around a component's function.

    Args:
        layers: Outermost first, each with the state of its place.
        operation: The method they serve.
        is_async: Whether the function gives coroutines.
        shape: What is made of the value that the outermost layer gives.

    Returns:
        A function of context, arguments and rest, and whether it gives coroutines.
    """
    step: Step = _innermost_late if is_async else _innermost
    for layer in reversed(list(layers)):
        step, is_async = _over(step, is_async, layer(operation))
    if shape is not None:
        from ._shape import shaped

        step = shaped(step, is_async, shape)
    return step, is_async


def _innermost(context: Any, arguments: Any, rest: Any) -> Any:
    return rest(arguments)


async def _innermost_late(context: Any, arguments: Any, rest: Any) -> Any:
    return await rest(arguments)


def _over(below: Step, is_async: bool, sides: Sides) -> tuple[Step, bool]:
    plain, late = sides
    if not is_async and plain is not None:
        return _plain(below, plain), False
    if late is not None:
        return _late(below if is_async else _lifted(below), late), True
    assert plain is not None, "a layer has one form at least"
    return _crossing(below, plain), True


def _plain(below: Step, wrap: Callable[..., Any]) -> Step:
    def step(context: Any, arguments: Any, rest: Any) -> Any:
        def call_next(same: Any = None, given: Any = None) -> Any:
            _refuse_other(same, context)
            return below(context, arguments if given is None else given, rest)

        return wrap(context, arguments, call_next)

    return step


def _late(below: Step, wrap: Callable[..., Any]) -> Step:
    async def step(context: Any, arguments: Any, rest: Any) -> Any:
        async def call_next(same: Any = None, given: Any = None) -> Any:
            _refuse_other(same, context)
            return await below(context, arguments if given is None else given, rest)

        return await wrap(context, arguments, call_next)

    return step


def _lifted(below: Step) -> Step:
    """Run plain functions on a thread: on the loop they would keep it from everybody else."""
    from ._threads import on_thread

    async def step(context: Any, arguments: Any, rest: Any) -> Any:
        return await on_thread(context, partial(below, context, arguments, rest))

    return step


def _crossing(below: Step, wrap: Callable[..., Any]) -> Step:
    """Run a plain layer on a thread, which waits for what is below it."""
    from ._threads import Wait, beside

    async def step(context: Any, arguments: Any, rest: Any) -> Any:
        def run(wait: Wait) -> Any:
            def call_next(same: Any = None, given: Any = None) -> Any:
                _refuse_other(same, context)
                return wait(lambda: below(context, arguments if given is None else given, rest))

            return wrap(context, arguments, call_next)

        return await beside(context, run)

    return step


def _refuse_other(same: Any, context: Any) -> None:
    if same is not None and same is not context:
        raise TypeError(
            "call_next takes the context of this very call first, and then the arguments:"
            " call_next(context, arguments)"
        )
