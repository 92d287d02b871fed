"""What Rust calls to find out who sends an HTTP request, and what it is given for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._policy import answers, callable_named, refuse_uncalled
from .auth import Refusal, Request
from .errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Protocol

    class Answer(Protocol):
        """Takes what came of asking, once."""

        def give(self, said: object, /) -> None:
            """Take what was said."""

        def fail(self, raised: BaseException, /) -> None:
            """Take what was raised."""


def checked(authenticate: Any) -> tuple[Callable[[Request], Any], bool]:
    """Check what authenticates; give what is called for a verdict, and whether it is a coroutine.

    Raises:
        ConfigurationError: If it cannot be called with a request.
    """
    refuse_uncalled("authenticate", authenticate)
    if not callable(authenticate) or isinstance(authenticate, type):
        raise ConfigurationError(
            "Server authenticate must be a function of the request, such as"
            f" snodo.auth.bearer({{...}}), not {callable_named(authenticate)}"
        )
    run, is_async = answers("authenticate", authenticate, ("request",))

    def identify(request: Request) -> Any:
        try:
            said = run(request)
        except Refusal as refusal:
            return refusal
        return Refusal() if said is None else said

    async def identify_async(request: Request) -> Any:
        try:
            said = await run(request)
        except Refusal as refusal:
            return refusal
        return Refusal() if said is None else said

    # For who wants to know what it is.
    identify.__wrapped__ = identify_async.__wrapped__ = authenticate  # type: ignore[attr-defined]
    return (identify_async, True) if is_async else (identify, False)


async def identified(identify: Callable[[Request], Any], request: Request, answer: Answer) -> None:
    """Hand over who sends a request once that is known."""
    try:
        answer.give(await identify(request))
    except BaseException as raised:  # whatever ends it ends this request alone
        answer.fail(raised)


def request(
    method: str, path: str, headers: Iterable[tuple[str, str]], peer: tuple[str, int] | None
) -> Request:
    """Make a request of what was sent: repeated fields are one list, as HTTP says."""
    from types import MappingProxyType

    joined: dict[str, str] = {}
    for name, value in headers:
        joined[name] = f"{joined[name]}, {value}" if name in joined else value
    return Request(method, path, MappingProxyType(joined), peer)
