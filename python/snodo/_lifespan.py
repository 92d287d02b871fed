"""What surrounds a server's life, in the forms people write it."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import FrameType
from typing import Any

from ._callable import innermost, location
from ._definition import Site
from .errors import ConfigurationError, LifespanError

Opener = Callable[[], AbstractAsyncContextManager[Any]]


def opener(manager: Any, server: Any, frame: FrameType) -> Opener:
    """Give a function that makes the context manager.

    Args:
        manager: What the application wrote.
        server: What it is called with, if with anything.
        frame: Where it is declared.

    Raises:
        ConfigurationError: If it is no async context manager function.
        DeclarationError: If it is a context manager function that is not async.
    """
    if callable(manager) and manager is not innermost(manager):
        _refuse_plain(manager, server, frame)
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


def _refuse_plain(manager: Any, server: Any, frame: FrameType) -> None:
    """Refuse what `contextlib.contextmanager` made of a generator."""
    if inspect.isgeneratorfunction(innermost(manager)):
        site = Site(location(manager, frame), f"server {server.name!r}")
        raise site.refuse(
            "lifespan",
            "is a context manager that is not async",
            "use @asynccontextmanager on an async def",
        )


@asynccontextmanager
async def entered(opener: Opener) -> AsyncIterator[Any]:
    """Enter a lifespan, give what it yields, and leave it.

    Raises:
        LifespanError: If it raises by itself; what is raised within passes through.
    """
    try:
        manager = opener()
        state = await manager.__aenter__()
    except Exception as error:
        raise _failed("", error) from error
    within: BaseException | None = None
    try:
        yield state
    except BaseException as error:
        within = error
    try:
        parts = (type(within), within, within.__traceback__) if within else (None, None, None)
        swallowed = await manager.__aexit__(*parts)
    except Exception as error:
        if error is not within:
            raise _failed(" at its end", error) from error
        raise
    if within is not None and not swallowed:
        raise within


def _failed(when: str, error: Exception) -> LifespanError:
    text = f"{type(error).__name__}: {' '.join(str(error).split())}".rstrip(": ")
    return LifespanError(f"the lifespan failed{when}: {text}")
