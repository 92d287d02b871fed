"""Loading a module to the end although declarations in it are wrong, so that all can be told.

Used by `snodo check` alone: everywhere else the first wrong declaration ends the import.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import snodo
from snodo import Server, Tool, decorators
from snodo.errors import ConfigurationError, DeclarationError

Wrong = DeclarationError | ConfigurationError


@contextlib.contextmanager
def collected() -> Iterator[list[Wrong]]:
    """Give a list that gathers wrong declarations while the body runs, instead of raising them."""
    errors: list[Wrong] = []
    doors: list[tuple[Any, str]] = [
        (Server, "tool"),
        (Server, "add"),
        (decorators, "tool"),
        (snodo, "tool"),
    ]
    shut = [(owner, name, getattr(owner, name)) for owner, name in doors if hasattr(owner, name)]
    subclassed = Tool.__dict__.get("__init_subclass__")
    for owner, name, function in shut:
        setattr(owner, name, _tolerant(function, errors))
    if subclassed is not None:
        Tool.__init_subclass__ = _tolerant_subclass(errors, subclassed)  # type: ignore[assignment]
    try:
        yield errors
    finally:
        for owner, name, function in shut:
            setattr(owner, name, function)
        if subclassed is not None:
            Tool.__init_subclass__ = subclassed  # type: ignore[method-assign]


def _tolerant(declare: Callable[..., Any], errors: list[Wrong]) -> Callable[..., Any]:
    """Wrap a decorator, with and without parentheses, to note what it raises and go on."""

    def attempt(function: Callable[..., Any], subject: object, *args: Any, **options: Any) -> Any:
        try:
            return function(*args, **options)
        except (DeclarationError, ConfigurationError) as error:
            errors.append(error)
            return subject

    def wrapped(*args: Any, **options: Any) -> Any:
        subject = next((one for one in args if callable(one)), None)
        if subject is not None:
            return attempt(declare, subject, *args, **options)
        decorate = attempt(declare, None, *args, **options)
        if not callable(decorate):
            return lambda function: function
        return lambda function: attempt(decorate, function, function)

    return wrapped


def _tolerant_subclass(errors: list[Wrong], declared: Any) -> classmethod[Any, Any, None]:
    def wrapped(cls: type, **options: Any) -> None:
        try:
            declared.__get__(None, cls)(**options)
        except (DeclarationError, ConfigurationError) as error:
            errors.append(error)

    return classmethod(wrapped)
