"""`Depends`, for parameters that a function of yours fills; and parts of the request for them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from .context import current_context

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Never

__all__ = [
    "Current",
    "Dependency",
    "Depends",
    "current_auth",
    "current_client_capabilities",
    "current_client_info",
    "current_headers",
    "current_meta",
    "current_request_id",
    "current_state",
    "current_trace",
]

T = TypeVar("T")


class Dependency:
    """What `Depends` gives: marks a parameter that is no argument."""

    __slots__ = ("_function",)

    def __init__(self, function: Callable[..., Any]) -> None:
        """Take what makes the value."""
        self._function = function

    @property
    def function(self) -> Callable[..., Any]:
        """What makes the value."""
        return self._function

    def __repr__(self) -> str:
        """Show what makes the value."""
        return f"Depends({getattr(self.function, '__qualname__', self.function)!s})"


def Depends(function: Callable[..., Any], /, **unknown: Never) -> Any:
    """Fill a parameter with what a function gives, in every call anew; clients do not see it.

    Write ``Annotated[Database, Depends(database)]`` as the hint, or ``= Depends(database)`` as the
    default. It may be a function, a coroutine function, or a generator of either kind that yields
    the value once and cleans up after the call; a function decorated with ``contextmanager`` or
    ``asynccontextmanager``; or a class. Its own parameters are filled the same way, and with the
    context. Within one call it runs once, however many ask for it.

    Raises:
        DeclarationError: If it cannot be called, or anything else is said of it.
    """
    given: object = function
    if unknown or not callable(given):
        from ._callable import frame_location
        from ._definition import Site, kind_of
        from ._elsewhere import DEPENDS_OPTIONS

        site = Site(frame_location(sys._getframe(1)), "Depends")
        for name in unknown:
            advice = DEPENDS_OPTIONS.get(name, "write Depends(function)")
            raise site.refuse(name, "is no option: it has none", advice)
        raise site.refuse(
            "function", f"a {kind_of(given)} cannot be called", "give the function itself"
        )
    return Dependency(function)


class Current(Dependency, Generic[T]):
    """A part of the request: ``Annotated[dict, current_headers]``, or ``current_headers()``.

    In `Depends` and in ``server.overrides`` it is a function like any other.
    """

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        """Name the member of the context."""
        super().__init__(self)
        self._name = name

    def __call__(self) -> T:
        """Give it, of the request that the calling code serves.

        Raises:
            LookupError: If no request is being served here.
        """
        value: T = getattr(current_context(), self._name)
        return value

    def __repr__(self) -> str:
        """Show the name it is imported by."""
        return f"current_{self._name}"


current_auth: Current[Any] = Current("auth")
"""Who sends the request; None where nobody has said."""
current_client_capabilities: Current[dict[str, Any]] = Current("client_capabilities")
"""What the client can do."""
current_client_info: Current[dict[str, Any] | None] = Current("client_info")
"""What the client says it is."""
current_headers: Current[Mapping[str, str]] = Current("headers")
"""The HTTP headers, names in lower case; empty elsewhere."""
current_meta: Current[dict[str, Any]] = Current("meta")
"""The ``_meta`` of the request."""
current_request_id: Current[int | str] = Current("request_id")
"""The id of the request."""
current_state: Current[Any] = Current("state")
"""What the lifespan yielded."""
current_trace: Current[dict[str, str]] = Current("trace")
"""The trace context that the request came with."""
