"""Names for what signatures take. Only type checkers read this file."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

from ._snodo import Context
from .auth import Component, Refusal, Request
from .errors import Error

F = TypeVar("F", bound=Callable[..., Any])
L = TypeVar("L", bound=Callable[..., AbstractAsyncContextManager[Any] | AsyncIterator[Any]])

Secret: TypeAlias = bytes | str
Policy: TypeAlias = Callable[
    [Literal["discovery", "invocation"], Component, Context],
    Error | Awaitable[Error | None] | None,
]
Principal: TypeAlias = str | dict[str, Any]
Verdict: TypeAlias = Principal | Refusal | None
Authenticator: TypeAlias = Callable[[Request], Verdict | Awaitable[Verdict]]
Completer: TypeAlias = Callable[..., Any] | Sequence[str]


class PolicyLike(Protocol):
    """Anything that decides who sees and uses a component."""

    def authorize(
        self,
        phase: Literal["discovery", "invocation"],
        component: Component,
        context: Context,
        /,
    ) -> Error | Awaitable[Error | None] | None:
        """Return None to allow; return or raise an Error to refuse."""


class ValidatorLike(Protocol):
    """Anything that can hold a value to a schema."""

    def validate(self, instance: Any, schema: Any, /) -> Any:
        """Return None or True to accept; anything else, or a ValidationError, refuses."""
