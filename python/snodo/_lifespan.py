"""What surrounds a server's life, in the forms people write it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from .errors import ConfigurationError

Opener = Callable[[], AbstractAsyncContextManager[Any]]


def opener(manager: Any, server: Any) -> Opener:
    """Give a function that makes the context manager.

    Raises:
        ConfigurationError: If it is no async context manager function.
    """
    if not callable(manager):
        raise ConfigurationError("Server lifespan must be an async context manager function")
    if inspect.isasyncgenfunction(manager):
        manager = asynccontextmanager(manager)
    elif inspect.iscoroutinefunction(manager) or inspect.isgeneratorfunction(manager):
        raise ConfigurationError("Server lifespan must be an async function that yields once")
    parameters = inspect.signature(manager).parameters.values()
    needed = [
        p
        for p in parameters
        if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    if len(needed) > 1 or any(
        p.kind is p.KEYWORD_ONLY and p.default is p.empty for p in parameters
    ):
        raise ConfigurationError("Server lifespan takes the server or nothing")
    if needed:
        return lambda: _entered(manager(server))
    return lambda: _entered(manager())


def _entered(value: Any) -> AbstractAsyncContextManager[Any]:
    if not (hasattr(value, "__aenter__") and hasattr(value, "__aexit__")):
        raise ConfigurationError("Server lifespan must give an async context manager")
    found: AbstractAsyncContextManager[Any] = value
    return found
