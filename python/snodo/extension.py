"""Extensions of the protocol: methods, results and events that both sides agree on.

MCP 2026-07-28, "capabilities": an extension is off unless client and server both declare it,
the client with each request.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from .errors import ConfigurationError

__all__ = ["CallNext", "Detached", "Extension", "Method", "Operation", "method"]

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from typing import TypeAlias, TypeVar

    from ._snodo import CallNext, Context, Detached, Result
    from .errors import Error

    JSON: TypeAlias = Mapping[str, Any]
    F = TypeVar("F", bound=Callable[..., Any])

MARK = "__snodo_extension_method__"


class Operation(NamedTuple):
    """A request of the core that `Extension.around` is put around."""

    method: str
    """As ``tools/call``."""
    params: dict[str, Any]
    """As they were sent, but for ``_meta``; a copy, which changes nothing."""


class Method(NamedTuple):
    """A request that clients may make, and who answers it."""

    function: Callable[..., Any]
    """``function(params, context)``, sync or async: gives a JSON object or a `Result`."""
    header: tuple[str, str] | None = None
    """A header that repeats a parameter over HTTP, and the parameter: ``("Mcp-Name", "jobId")``."""


def method(name: str, *, header: tuple[str, str] | None = None) -> Callable[[F], F]:
    """Mark a function of an `Extension` as the one that answers a method.

    It takes the parameters and the context: ``async def get(self, params, context)``. The
    parameters are a dict, or what the hint says: a dataclass, a TypedDict, a model.

    Args:
        name: As ``jobs/get``.
        header: A header that repeats a parameter over HTTP, and the parameter. A request whose
            header is missing or says something else is refused (400, -32020). The header is
            ``Mcp-Name`` or one that begins with ``Mcp-Param-``.

    Returns:
        A decorator that gives the function back.
    """
    if not isinstance(name, str):
        raise ConfigurationError('an extension method needs its name: write @method("jobs/get")')

    def mark(function: F) -> F:
        setattr(function, MARK, (name, header))
        return function

    return mark


class Extension:
    """What an application adds to the protocol: derive from it, and give an instance to `Server`.

    Only what is there does anything: an extension without `around` puts nothing around anything.
    What its callbacks raise that is no `Error`, and what they give that is nonsense, fails the
    request with -32603.
    """

    id: str = ""
    """What both sides call it: a prefix and a name, as ``com.example/jobs``."""
    versions: Sequence[str] = ("2026-07-28",)
    """The exact protocol revisions it is written for."""
    settings: JSON = MappingProxyType({})
    """What is told of it in discovery, under its id: a JSON object."""
    advertise: bool = True
    """Whether clients are told of it; if not, it does nothing at all."""
    missing_capability: bool | Error = False
    """What a client gets that uses a method or a filter key without declaring the extension.

    False: that there is no such method, and nothing for the filter key. True: -32021 with the
    extension as ``requiredCapabilities``. Or an `Error` of your own.
    """
    result_types: Sequence[str] = ()
    """Values of ``resultType`` that `Result.wire` may have, where the request declares it."""
    operations: Sequence[str] | None = None
    """Methods that `around` is put around, as ``("tools/call",)``; None for all requests but those
    to listen."""
    filter_keys: Sequence[str] = ()
    """Members of a listener's filter that are its own. With them goes `notification`."""

    @property
    def methods(self) -> Mapping[str, Method | Callable[..., Any]]:
        """The methods by name: those marked with `method`. Override it for others."""
        found: dict[str, Method | Callable[..., Any]] = {}
        for name in dir(type(self)):
            function = getattr(type(self), name, None)
            marked = getattr(function, MARK, None)
            if marked is not None:
                found[marked[0]] = Method(getattr(self, name), marked[1])
        return found

    def negotiate(self, settings: JSON, context: Context) -> JSON | Awaitable[JSON | None] | None:
        """Decide whether the extension takes part in a request whose client declares it.

        Args:
            settings: What the client says under its id.
            context: The request.

        Returns:
            What ``context.extensions[id]`` is, or None to decline.

        Raises:
            Error: To refuse the request.
        """
        return settings

    def validate(self, method: str, params: JSON, context: Context) -> None:
        """Hold the parameters of one of its methods to their rules, before it is called.

        Raises:
            Error: To refuse the request.
        """

    def shape(self, method: str, value: Any, context: Context) -> Any:
        """Give the JSON object, or the `Result`, for what one of its methods gave."""
        return value

    async def around(self, context: Context, operation: Operation, call_next: CallNext) -> Result:
        """Answer a request of the core, or let it be answered: ``return await call_next()``.

        It is called for clients too that do not declare the extension: look into
        ``context.extensions``. Of several extensions the first is outermost.

        Args:
            context: The request.
            operation: What is asked.
            call_next: Goes on. ``await call_next(values)`` gives the `Result` of everything below,
                or raises its `Error`; ``values``, a dict, is added to ``context.values`` there.
                ``await call_next.check()`` only makes the checks before (lookup, authorization,
                arguments): it gives None if something would be run, or the `Result` that is known
                without, and raises the `Error` that refuses. ``call_next.detach()`` gives what
                goes on after this has answered.

        Returns:
            What was given by ``call_next``, or a `Result` of its own: `Result.wire` for any
            request, and what a tool may give for ``tools/call``.

        Raises:
            Error: To fail the request.
        """
        return await call_next()

    def subscribe(self, requested: JSON, context: Context) -> JSON | Awaitable[JSON]:
        """Give the part of what a listener asks for that it hears.

        Args:
            requested: The `filter_keys` that were sent, each a list of strings or True. A list
                selects the events of these selectors; True those whose selector is the key.
            context: The request.

        Raises:
            Error: To refuse the request.
        """
        return requested

    def current(self, selector: str, context: Context) -> Any:
        """Give what a listener is told first of what it selected, or None for nothing.

        It is asked when the listener hears of events already, so that none is lost between, and
        for each selector. A coroutine if `notification` is one.

        Args:
            selector: As events are made with.
            context: What is kept of the listener's request.

        Returns:
            The payload of an event, which goes to `notification`.
        """
        return None

    def notification(
        self, selector: str, payload: Any, context: Context
    ) -> tuple[str, JSON] | Awaitable[tuple[str, JSON] | None] | None:
        """Put an event that a listener selected into words.

        Args:
            selector: What `Event.extension` was made with.
            payload: The same.
            context: What is kept of the listener's request.

        Returns:
            Method and parameters of the notification, or None to say nothing.
        """
        raise NotImplementedError("an Extension with filter_keys needs notification()")


def __getattr__(name: str) -> object:
    if name in {"CallNext", "Detached"}:
        from . import _snodo

        return getattr(_snodo, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
