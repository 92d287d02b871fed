"""Sources of events that the application writes: what a listener asked for, and how it is told."""

from __future__ import annotations

from dataclasses import dataclass, field
from inspect import isasyncgenfunction, isawaitable, iscoroutinefunction, isgeneratorfunction
from typing import TYPE_CHECKING, Any, Protocol

from ._report import report
from .errors import Cancelled, ConfigurationError

if TYPE_CHECKING:
    from asyncio import Future
    from collections.abc import AsyncIterator, Awaitable

    from ._snodo import Context, Event


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which events a listener hears. Immutable; `dataclasses.replace` makes a narrower one."""

    tools_list_changed: bool = False
    """That the list of tools reads otherwise."""
    prompts_list_changed: bool = False
    """That the list of prompts does."""
    resources_list_changed: bool = False
    """That the list of resources or of templates does."""
    resource_subscriptions: tuple[str, ...] = ()
    """That what is at one of these URIs does."""
    extensions: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What happens to extensions: by id the members of the filter that are theirs."""


class Source:
    """Where the events of subscriptions come from, when no `Hub` fits: derive from it.

    One instance serves every listener. Both methods run on the server's event loop.
    """

    def accept(self, filter: Filter, context: Context) -> Filter | Awaitable[Filter]:
        """Give the part of what a listener asked for that it may hear; it may be a coroutine.

        Args:
            filter: What was asked for, as far as the server offers it.
            context: The request.

        Raises:
            Error: To refuse the request.
        """
        return filter

    def listen(self, filter: Filter, context: Context) -> AsyncIterator[Event]:
        """Give the events, as an async generator: they end when the subscription does.

        The next one is asked for when the transport has taken the one before. However the
        subscription ends, the generator is closed once. What the filter does not select is dropped.

        Args:
            filter: What was accepted.
            context: What is kept of the request while the stream is open: who asks and how, but
                neither metadata nor headers.
        """
        raise NotImplementedError("a Source gives its events in listen()")


def check_source(source: Any) -> None:
    """Check a source as far as can be told without listening to it.

    Raises:
        ConfigurationError: If it could not be listened to.
    """
    name = type(source).__name__
    listen, accept = source.listen, getattr(source, "accept", None)
    advice = "write it as `async def` with `yield Event...(...)` in it"
    if getattr(listen, "__func__", None) is Source.listen:
        raise ConfigurationError(f"{name}.listen is missing: {advice}")
    if isgeneratorfunction(listen):
        raise ConfigurationError(f"{name}.listen is a generator, and would hold the loop: {advice}")
    if iscoroutinefunction(listen):
        raise ConfigurationError(f"{name}.listen is a coroutine, and gives no events: {advice}")
    if accept is not None and not callable(accept):
        raise ConfigurationError(f"{name}.accept must be a method, not {type(accept).__name__}")
    if isgeneratorfunction(accept) or isasyncgenfunction(accept):
        raise ConfigurationError(
            f"{name}.accept is a generator: return a Filter, or raise Error to refuse"
        )


class Pull(Protocol):
    """The transport's side of one listener's stream."""

    closed: bool

    def accept(self, filter: Filter, /) -> None:
        """Say what is accepted."""

    def wanted(self) -> Future[None]:
        """Give what is done when the transport wants an event."""

    def tell(self, event: Event, /) -> None:
        """Hand an event over."""

    def end(self) -> None:
        """Say that there are no more."""

    def refuses(self, error: BaseException, /) -> bool:
        """Tell whether an exception is a refusal and no fault."""

    def fail(self, error: BaseException, /) -> None:
        """Say that the source raised."""


async def pump(source: Any, filter: Filter, context: Context, kept: Context, pull: Pull) -> None:
    """Tell one listener what a source has to tell, at the pace of the transport.

    Args:
        source: A `Source`, or what is like one.
        filter: What was asked for.
        context: The request, while the source decides.
        kept: What is kept of it.
        pull: Where the events go.
    """
    try:
        accepted = source.accept(filter, context) if hasattr(source, "accept") else filter
        del context
        if isawaitable(accepted):
            accepted = await accepted
        if not isinstance(accepted, Filter):
            raise TypeError(f"accept() must give a Filter, not {type(accepted).__name__}")
        pull.accept(accepted)
        await _wanted(pull)
        await _told(source.listen(accepted, kept), pull)
    except BaseException as error:
        from asyncio import CancelledError

        if pull.closed and isinstance(error, CancelledError):
            raise
        if pull.closed and isinstance(error, Cancelled):
            return
        if not pull.refuses(error):
            report("subscription source", type(source).__name__, error)
        pull.fail(error)
    else:
        pull.end()


async def _told(events: AsyncIterator[Event], pull: Pull) -> None:
    iterator = aiter(events)
    try:
        async for event in iterator:
            pull.tell(event)
            await _wanted(pull)
    finally:
        close = getattr(iterator, "aclose", None)
        if close is not None:
            await close()


async def _wanted(pull: Pull) -> None:
    if pull.closed:
        # A source that gives more after it was told to stop would wait for ever.
        raise Cancelled
    wanted = pull.wanted()
    if wanted.done():
        from asyncio import sleep

        # A transport that is always quick, and a source that never waits, would keep the loop.
        await sleep(0)
    else:
        await wanted
