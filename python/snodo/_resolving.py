"""A plan of dependencies, and how it is walked in each call.

What was entered is left in the opposite order when the function has ended, however it ended.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from .context import current_context

if TYPE_CHECKING:
    from collections.abc import Callable

How = Literal["plain", "late", "plain manager", "late manager"]


class Step(NamedTuple):
    """One dependency."""

    function: Callable[..., Any]
    """What gives the value, an awaitable of it, or a context manager."""
    how: How
    quick: bool
    """Whether it may run on the loop although it is a plain function."""
    context: str | None
    """The parameter that takes the context."""
    inputs: tuple[tuple[str, int], ...]
    """Parameters by name, and the places of the steps that fill them."""

    def begin(self, values: list[Any]) -> Any:
        """Call the function with what the steps before gave."""
        named = {name: values[at] for name, at in self.inputs}
        if self.context is not None:
            named[self.context] = current_context()
        return self.function(**named)


class Plan(NamedTuple):
    """Everything that a function needs."""

    steps: tuple[Step, ...]
    inputs: tuple[tuple[str, int], ...]
    keys: frozenset[Any]
    """What the steps are found by in overrides."""

    @property
    def waits(self) -> bool:
        """Whether something has to be awaited."""
        return any(step.how in ("late", "late manager") for step in self.steps)


def _filled(
    plan: Plan, names: tuple[str, ...], values: list[Any], args: Any, kwargs: Any
) -> dict[str, Any]:
    """Give every argument of the function by name."""
    given = dict(zip(names, args, strict=False))
    return {**given, **kwargs, **{name: values[at] for name, at in plan.inputs}}


def plain(
    plan: Plan, run: Callable[..., Any], names: tuple[str, ...], /, *args: Any, **kwargs: Any
) -> Any:
    """Run a plain function with what a plan of plain steps gives."""
    context = current_context()
    entered: list[Any] = []
    values: list[Any] = []
    error: BaseException | None = None
    result = None
    try:
        for step in plan.steps:
            value = step.begin(values)
            if step.how == "plain manager":
                manager, value = value, value.__enter__()
                entered.append(manager)
            values.append(value)
            # Coroutines would be cancelled; this is where a plain function is found out to be late.
            context.check_cancelled()
        result = run(**_filled(plan, names, values, args, kwargs))
    except BaseException as raised:
        error = raised
    try:
        for manager in reversed(entered):
            # It sees what happened and may raise, but not take back what was raised.
            try:
                manager.__exit__(*_told(error))
            except BaseException as raised:
                error = raised
        if error is not None:
            raise error
        return result
    finally:
        del error  # its traceback holds this frame


def _told(error: BaseException | None) -> tuple[Any, Any, Any]:
    return (None, None, None) if error is None else (type(error), error, error.__traceback__)


async def late(
    plan: Plan,
    run: Callable[..., Any],
    is_async: bool,
    names: tuple[str, ...],
    /,
    *args: Any,
    **kwargs: Any,
) -> Any:
    """Run a function with what a plan gives, on the loop what waits and on threads the rest."""
    from ._threads import on_thread

    context = current_context()
    entered: list[tuple[Any, bool]] = []
    values: list[Any] = []
    error: BaseException | None = None
    result = None
    try:
        for step in plan.steps:
            values.append(await _value(step, values, entered, context))
        filled = _filled(plan, names, values, args, kwargs)
        called = run(**filled) if is_async else on_thread(context, partial(run, **filled))
        result = await called
    except BaseException as raised:
        error = raised
    try:
        for manager, is_late in reversed(entered):
            try:
                if is_late:
                    await manager.__aexit__(*_told(error))
                else:
                    await on_thread(context, partial(manager.__exit__, *_told(error)))
            except BaseException as raised:
                error = raised
        if error is not None:
            raise error
        return result
    finally:
        del error  # its traceback holds this frame


async def _value(step: Step, values: list[Any], entered: list[Any], context: Any) -> Any:
    from ._threads import on_thread

    if step.how == "late":
        return await step.begin(values)
    if step.how == "late manager":
        manager = step.begin(values)
        value = await manager.__aenter__()
        entered.append((manager, True))
        return value
    if step.quick:
        return step.begin(values)

    def enter() -> Any:
        value = step.begin(values)
        if step.how == "plain manager":
            manager, value = value, value.__enter__()
            entered.append((manager, False))
        return value

    return await on_thread(context, enter)
