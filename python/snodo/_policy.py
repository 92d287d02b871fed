"""Authorization policies: what one may be, and how it is asked about many components at once."""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING, Any

from ._callable import runner
from .errors import ConfigurationError, Error

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ._snodo import Context
    from .auth import Component


# Components that a coroutine is asked about at the same time.
AT_A_TIME = 32


def checked(policy: Any) -> tuple[Callable[..., Any], bool, str]:
    """Check a policy.

    Returns:
        What is called for the decisions on many components, whether that is a coroutine, and what
        the policy is called in the log.

    Raises:
        ConfigurationError: If it is neither a function nor an object with ``authorize``, or cannot
            take a phase, a component and a context.
    """
    refuse_uncalled("authorize", policy)
    method = getattr(policy, "authorize", None)
    if isinstance(policy, type):
        advice = f": write {policy.__name__}()" if method is not None else ""
        raise ConfigurationError(f"Server authorize must be a policy, not a class{advice}")
    function = policy if method is None else method
    if not callable(function):
        raise ConfigurationError(
            "Server authorize must be a function of (phase, component, context) or an object with a"
            f" method authorize(phase, component, context), not {callable_named(policy)}"
        )
    ask, is_async = answers("authorize", function, ("phase", "component", "context"))
    name = type(policy).__name__ if method is not None else callable_named(policy)
    return (_judge_async(ask) if is_async else _judge(ask)), is_async, name


def _judge(ask: Callable[..., Any]) -> Callable[..., Any]:
    def judge(phase: str, components: Sequence[Component], context: Context) -> list[Any]:
        decisions: list[Any] = []
        for component in components:
            try:
                decisions.append(ask(phase, component, context))
            except Error as refusal:
                decisions.append(refusal)
        return decisions

    return judge


def _judge_async(ask: Callable[..., Any]) -> Callable[..., Any]:
    import asyncio

    async def judge(phase: str, components: Sequence[Component], context: Context) -> list[Any]:
        decisions: list[Any] = [None] * len(components)
        faults: list[BaseException] = []
        tasks: list[asyncio.Task[None]] = []
        waiting = enumerate(components)

        async def decide() -> None:
            this = asyncio.current_task()
            for place, component in waiting:
                try:
                    decisions[place] = await ask(phase, component, context)
                except Error as refusal:
                    decisions[place] = refusal
                except BaseException as fault:  # out of a task some would end the loop
                    faults.append(fault)
                    for task in tasks:
                        task.cancel()
                if faults or (this is not None and this.cancelling()):
                    return  # a policy that goes on when it is stopped is asked nothing more

        if len(components) == 1:
            await decide()
        else:
            async with asyncio.TaskGroup() as group:
                tasks += [group.create_task(decide()) for _ in components[:AT_A_TIME]]
        if faults:
            raise faults[0]
        return decisions

    return judge


_MAKERS = {
    "require_scopes": ("auth", "authorize=auth.require_scopes()"),
    "bearer": ("auth", "authenticate=auth.bearer({...})"),
    "api_key": ("auth", "authenticate=auth.api_key({...})"),
    "logging_sink": ("telemetry", "instrument=[telemetry.logging_sink()]"),
}
"""What makes something for a server, with the module it is in and how it is written."""


def refuse_uncalled(option: str, value: Any) -> None:
    """Refuse what was to be called here, and would be with each request.

    Raises:
        ConfigurationError: If it is one of those.
    """
    name = getattr(value, "__name__", None)
    module, advice = _MAKERS.get(name, (None, None)) if isinstance(name, str) else (None, None)
    if module and value is getattr(sys.modules.get(f"snodo.{module}"), str(name), None):
        raise ConfigurationError(f"Server {option} has {name} uncalled: write {advice}")


def answers(
    option: str, function: Callable[..., Any], parameters: tuple[str, ...]
) -> tuple[Callable[..., Any], bool]:
    """Check that a function takes these parameters by position and gives one answer.

    Returns:
        What is called, and whether that gives an awaitable.

    Raises:
        ConfigurationError: If it does not.
    """
    wanted = f"({', '.join(parameters)})"
    try:
        inspect.signature(function).bind(*parameters)
    except TypeError:
        raise ConfigurationError(f"Server {option} must take {wanted} by position") from None
    except ValueError:
        pass  # it tells nothing about itself
    target = inspect.unwrap(function)
    target = target if inspect.isroutine(target) else getattr(type(target), "__call__", target)  # noqa: B004
    if inspect.isgeneratorfunction(target) or inspect.isasyncgenfunction(target):
        raise ConfigurationError(f"Server {option} is a generator: it must return its answer")
    is_async = getattr(function, "is_async", None)
    return (function, is_async) if isinstance(is_async, bool) else runner(function)


def callable_named(value: Any) -> str:
    """Give what a value is called, without showing it."""
    name = getattr(value, "__name__", None)
    return name if isinstance(name, str) else "None" if value is None else type(value).__name__
