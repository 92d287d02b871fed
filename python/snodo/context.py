"""The request being served, reachable from anywhere in the code that serves it."""

from __future__ import annotations

from contextvars import ContextVar

from ._snodo import Context

__all__ = ["Context", "current_context"]

_current: ContextVar[Context | None] = ContextVar("snodo.context", default=None)
_set_current = _current.set


def current_context() -> Context:
    """Give the context of the request that the calling code serves.

    It follows context variables: into threads started with ``contextvars.copy_context().run`` or
    ``asyncio.to_thread``, and into every asyncio task.

    Raises:
        LookupError: If no request is being served here.
    """
    context = _current.get()
    if context is None:
        raise LookupError(
            "no request is being served here; call this from within a tool, resource or prompt"
        )
    return context
