"""What completes an argument or a variable: all its values, or a function that knows them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import FrameType
from typing import Any

from . import _callable
from ._definition import Site, kind_of
from ._parameters import EMPTY, Scope, is_context
from ._signature import CompletionSpec
from ._subject import injected
from .errors import DeclarationError

_ADVICE = "write a function of (value, arguments, context), or a list of strings"


def completions(
    option: Any,
    known: Mapping[str, tuple[str, ...] | None],
    what: str,
    site: Site,
    frame: FrameType | None = None,
    instance: Any = None,
) -> tuple[CompletionSpec, ...]:
    """Give the completions of a component.

    Args:
        option: What was declared: a mapping from names to functions or values.
        known: The names there are, and the values of those that complete themselves.
        what: What a name names, as ``argument``.
        site: Where the declaration stands.
        frame: Its frame.
        instance: What a method in the mapping is bound to.

    Raises:
        DeclarationError: If the option is something else.
    """
    found = {name: CompletionSpec(name, values) for name, values in known.items() if values}
    if option is None:
        return tuple(found.values())
    if not isinstance(option, Mapping):
        raise site.refuse(
            "complete", f"must be a dict, not {kind_of(option)}", f'write {{"{what}": function}}'
        )
    for name, completer in option.items():
        check_name(name, known, what, site)
        if instance is not None and _callable.is_method(completer):
            completer = partial(completer, instance)
        found[name] = completion(name, completer, site, frame)
    return tuple(found.values())


def check_name(name: Any, known: Iterable[str], what: str, site: Site) -> None:
    """Refuse a name that is none.

    Raises:
        DeclarationError: Naming those there are.
    """
    if name not in known:
        there = ", ".join(known) or "none"
        raise site.refuse(f"complete.{name}", f"there is no {what} {name!r}", f"there are: {there}")


def completion(
    argument: str, completer: Any, site: Site, frame: FrameType | None = None
) -> CompletionSpec:
    """Give how one argument is completed.

    Raises:
        DeclarationError: If the completer is neither a function nor values.
    """
    path = f"complete.{argument}"
    if isinstance(completer, Sequence) and not isinstance(completer, (str, bytes)):
        if not all(isinstance(value, str) for value in completer):
            raise site.refuse(path, "values must be strings", _ADVICE)
        return CompletionSpec(argument, tuple(str.__str__(value) for value in completer))
    if isinstance(completer, type) or not callable(completer):
        raise site.refuse(path, f"a {kind_of(completer)} cannot complete", _ADVICE)
    return _function(argument, completer, path, site, frame)


def _function(
    argument: str, completer: Any, path: str, site: Site, frame: FrameType | None
) -> CompletionSpec:
    try:
        parameters, _ = _callable.parameters(completer)
    except (ValueError, TypeError):
        raise site.refuse(path, "its signature cannot be read", "wrap it in a def") from None
    scope = Scope(_callable.global_names(completer), _callable.local_names(completer, frame), site)
    run, is_async = _callable.runner(completer)
    parameters, injection = injected(run, is_async, parameters, scope)
    context = next((p for p in parameters if _is_context(p, scope)), None)
    others = [p for p in parameters if p is not context]
    kinds = inspect.Parameter
    places = [p for p in others if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)]
    most = 3 if context is None else 2
    many = any(p.kind is kinds.VAR_POSITIONAL for p in others)
    needed = sum(p.default is EMPTY for p in places)
    stray = any(p.kind is kinds.KEYWORD_ONLY and p.default is EMPTY for p in others)
    if not (places or many) or needed > most or stray:
        reason = "a completer is called with the value, the other arguments and the context"
        raise site.refuse(path, reason, _ADVICE)
    # Without annotations a third required parameter can only be the context.
    given = most if many and context is None else min(len(places), 2)
    if context is None and needed == 3:
        given = 3
    keyword = None if context is None else context.name
    if context is not None and context.kind is kinds.POSITIONAL_ONLY:
        raise site.refuse(path, "the context is positional-only", "remove the '/'")

    def adapt(run: Any, is_async: bool) -> Any:
        return _adapted(run, is_async, given, keyword)

    if injection is not None:
        injection = injection._replace(adapt=adapt)
        run, is_async = injection.injected()
    return CompletionSpec(
        argument,
        function=adapt(run, is_async),
        is_async=is_async,
        takes_context=given == 3 or keyword is not None,
        injection=injection,
    )


def _is_context(parameter: inspect.Parameter, scope: Scope) -> bool:
    if parameter.annotation is EMPTY:
        return False
    try:
        return is_context(scope.hint(parameter.annotation, parameter.name))
    except DeclarationError:
        return False  # a hint for type checkers alone, which says nothing else here


def _adapted(
    run: Callable[..., Any], is_async: bool, given: int, keyword: str | None
) -> Callable[..., Any]:
    """Give a function of value, arguments and context that passes what is wanted."""

    def call(value: str, arguments: dict[str, str], context: Any = None) -> Any:
        args = (value, arguments, context)[:given]
        return run(*args) if keyword is None else run(*args, **{keyword: context})

    if not is_async:
        return lambda value, arguments, context=None: _listed(call(value, arguments, context))

    async def call_async(value: str, arguments: dict[str, str], context: Any = None) -> Any:
        return _listed(await call(value, arguments, context))

    return call_async


def _listed(found: Any) -> Any:
    """Make a list of whatever holds strings; what is none of it is the runtime's to refuse."""
    if isinstance(found, (str, bytes)) or not isinstance(found, Iterable):
        return found
    return [str.__str__(item) if isinstance(item, str) else item for item in found]
