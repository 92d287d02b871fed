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
    tolerance = _Tolerance()
    doors: list[tuple[Any, str]] = [
        (Server, "tool"),
        (Server, "add"),
        (decorators, "tool"),
        (snodo, "tool"),
    ]
    shut = [(owner, name, getattr(owner, name)) for owner, name in doors if hasattr(owner, name)]
    subclassed = Tool.__dict__["__init_subclass__"]
    for owner, name, declare in shut:
        setattr(owner, name, tolerance.decorator(declare))
    Tool.__init_subclass__ = tolerance.subclassed(subclassed)  # type: ignore[assignment]
    try:
        yield tolerance.errors
    finally:
        for owner, name, declare in shut:
            setattr(owner, name, declare)
        Tool.__init_subclass__ = subclassed  # type: ignore[method-assign]


class _Tolerance:
    """Notes what declarations raise, and goes on."""

    def __init__(self) -> None:
        self.errors: list[Wrong] = []
        self._inside = False

    def attempt(self, declare: Callable[..., Any], instead: Any, *args: Any, **options: Any) -> Any:
        """Declare, and give `instead` when that fails.

        A door may go through another one; only the outermost tolerates, or else the outer one would
        go on with what the inner one refused.
        """
        if self._inside:
            return declare(*args, **options)
        self._inside = True
        try:
            return declare(*args, **options)
        except (DeclarationError, ConfigurationError) as error:
            self.errors.append(error)
            return instead
        finally:
            self._inside = False

    def decorator(self, declare: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a decorator, which may be used with and without parentheses."""

        def wrapped(*args: Any, **options: Any) -> Any:
            subject = next((one for one in args if callable(one)), None)
            made = self.attempt(declare, subject, *args, **options)
            if subject is not None:
                return made
            if not callable(made):
                return lambda function: function
            return lambda function: self.attempt(made, function, function)

        return wrapped

    def subclassed(self, declared: Any) -> classmethod[Any, Any, None]:
        """Wrap the check that a class gets when it is made."""

        def wrapped(cls: type, **options: Any) -> None:
            self.attempt(declared.__get__(None, cls), None, **options)

        return classmethod(wrapped)
