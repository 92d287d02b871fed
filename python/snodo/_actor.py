"""Actors: objects that handle one message at a time, found by name.

Here is what an application derives from and speaks through. Mailboxes, names and deadlines are in
Rust, and what becomes of an actor when it crashes is in `_lives`.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Self

from ._lives import Life, LoopLife, ThreadLife
from ._snodo import Pending, ask_actor, tell_actor
from ._supervisor import Supervisor, above_zero
from .errors import ConfigurationError, DeclarationError

if TYPE_CHECKING:
    from collections.abc import Generator
    from types import TracebackType

MAILBOX = 1_000
"""Messages that wait for an actor unless it says otherwise."""
PATIENCE = 5.0
"""Seconds that an ask waits unless it says otherwise."""

_HANDLERS = ("handle_call", "handle_cast")


class ActorName:
    """The name of an actor, whether one lives under it or not."""

    __slots__ = ("name",)

    name: str

    def __init__(self, name: str) -> None:
        """Take the name.

        Raises:
            ConfigurationError: If it is no string, or empty.
        """
        object.__setattr__(self, "name", _checked_name(name))

    def ask(self, message: Any, timeout: float | None = PATIENCE) -> Pending:
        """Ask whoever has the name. As `Actor.ask`."""
        return ask_actor(self.name, message, timeout)

    def tell(self, message: Any) -> None:
        """Tell whoever has the name. As `Actor.tell`."""
        tell_actor(self.name, message)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("an ActorName cannot be changed")

    def __eq__(self, other: object) -> bool:
        """Compare names."""
        return self.name == other.name if isinstance(other, ActorName) else NotImplemented

    def __hash__(self) -> int:
        """Hash the name."""
        return hash((ActorName, self.name))

    def __repr__(self) -> str:
        """Show the name."""
        return f"ActorName({self.name!r})"


class _Start:
    """``start`` of a class of actors; an object does not have it."""

    def __get__(self, instance: Any, owner: Any) -> Any:
        if instance is not None:
            name = owner.__qualname__
            raise TypeError(
                f"start is called on the class, which makes the object: {name}.start(...)"
            )
        return owner._started


class _Base:
    """What both kinds of actors have."""

    _coroutines: bool

    if TYPE_CHECKING:

        @classmethod
        def start(
            cls,
            *arguments: Any,
            name: str | ActorName,
            mailbox: int = MAILBOX,
            supervisor: Supervisor | None = None,
            **keywords: Any,
        ) -> Self:
            """Make an actor of this class and let it live under a name.

            Args:
                *arguments: For the class, which is called with them at every restart too.
                name: A name that no living actor of this process has.
                mailbox: Messages that may wait, beside the one that is handled.
                supervisor: Starts it again when it crashes; None lets it rest.
                **keywords: For the class as well.

            Returns:
                The actor. It may be awaited, which gives it at once, and entered as a context
                manager, which stops it at the end.

            Raises:
                ConfigurationError: If the name is taken, an option cannot hold, or the class has
                    no handler.
                RuntimeError: If an `Actor` is started outside of an event loop.
            """
    else:
        start = _Start()

    @classmethod
    def _started(
        cls,
        *arguments: Any,
        name: str | ActorName,
        mailbox: int = MAILBOX,
        supervisor: Supervisor | None = None,
        **keywords: Any,
    ) -> Self:
        base: type[_Base] = Actor if cls._coroutines else ThreadActor
        if all(getattr(cls, one) is getattr(base, one) for one in _HANDLERS):
            raise ConfigurationError(
                f"actor {cls.__qualname__} handles nothing: write handle_call(self, message) for"
                " what is asked, or handle_cast(self, message) for what is told"
            )
        kept = name.name if isinstance(name, ActorName) else _checked_name(name)
        capacity = above_zero("actor mailbox", mailbox, "an int", int)
        life = cls._lives(lambda: cls(*arguments, **keywords), kept, capacity, supervisor)
        actor: Self = life.incarnate()
        life.begin(actor)
        return actor

    @classmethod
    def _lives(cls, *parts: Any) -> Life:
        raise NotImplementedError

    def __init_subclass__(cls, **keywords: Any) -> None:
        """Refuse handlers of the other kind.

        Raises:
            DeclarationError: If a handler is a coroutine function where it must not be, or none
                where it must be.
        """
        super().__init_subclass__(**keywords)
        from inspect import iscoroutinefunction

        from ._callable import innermost

        for handler in _HANDLERS:
            if iscoroutinefunction(innermost(getattr(cls, handler))) is not cls._coroutines:
                _refuse_handler(cls, handler)

    def ask(self, message: Any, timeout: float | None = PATIENCE) -> Pending:
        """Send a message and get what `handle_call` makes of it.

        It is sent by this call already. The reply is awaited, on any event loop:
        ``await actor.ask("get")``; or waited for by a thread: ``actor.ask("get").wait()``.

        Args:
            message: Any object; it is handed over as it is.
            timeout: Seconds to wait for the reply, from now on; None for as long as it takes. The
                message is not withdrawn when they are over.

        Raises:
            ActorError: From the reply: the actor is gone, its mailbox is full, it did not reply in
                time, it died, or it would wait for itself.
        """
        return _life(self).mailbox.ask(message, timeout)

    def tell(self, message: Any) -> None:
        """Send a message to `handle_cast` and wait for nothing.

        Raises:
            ActorError: If the actor is gone, or its mailbox is full.
        """
        _life(self).mailbox.tell(message)

    def stop(self) -> Pending:
        """Take no more messages, handle those that wait, and end. The name is free at once.

        Returns:
            What is known when it has ended: to be awaited, or waited for by a thread. A handler
            that the end waits for does not wait: no actor can wait for its own end, be it by way of
            others.
        """
        return _life(self).stop()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop it."""
        await self.stop()

    def __await__(self) -> Generator[Any, None, Self]:
        """Give the actor itself: both kinds may be started with ``await``."""
        yield from ()
        return self


class Actor(_Base):
    """An actor on the event loop that it is started on. Its handlers are coroutine functions."""

    _coroutines = True

    async def handle_call(self, message: Any) -> Any:
        """Handle a message that somebody asks, and give the reply.

        Whatever it raises ends the actor.
        """
        raise NotImplementedError(f"{type(self).__qualname__} has no handle_call")

    async def handle_cast(self, message: Any) -> None:
        """Handle a message that somebody tells.

        Whatever it raises ends the actor.
        """
        raise NotImplementedError(f"{type(self).__qualname__} has no handle_cast")

    @classmethod
    def _lives(cls, *parts: Any) -> Life:
        return LoopLife(*parts)


class ThreadActor(_Base):
    """An actor on a thread of its own. Its handlers are plain functions, which may block."""

    _coroutines = False

    def handle_call(self, message: Any) -> Any:
        """Handle a message that somebody asks, and give the reply.

        Whatever it raises ends the actor.
        """
        raise NotImplementedError(f"{type(self).__qualname__} has no handle_call")

    def handle_cast(self, message: Any) -> None:
        """Handle a message that somebody tells.

        Whatever it raises ends the actor.
        """
        raise NotImplementedError(f"{type(self).__qualname__} has no handle_cast")

    @classmethod
    def _lives(cls, *parts: Any) -> Life:
        return ThreadLife(*parts)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop it."""
        self.stop().wait()


def _checked_name(name: Any) -> str:
    if not isinstance(name, str) or not name:
        raise ConfigurationError("an actor's name must be a string that is not empty")
    return name


def _life(actor: Any) -> Life:
    life: Life | None = getattr(actor, "_Base__life", None)
    if life is None:
        name = type(actor).__qualname__
        raise RuntimeError(f"this actor was not started: {name}.start(name=...) makes one that is")
    return life


def _refuse_handler(cls: type[_Base], handler: str) -> None:
    from ._callable import frame_location

    kind, other = (
        ("a coroutine function", ThreadActor) if cls._coroutines else ("a plain function", Actor)
    )
    raise DeclarationError(
        frame_location(sys._getframe(2)),
        f"actor {cls.__qualname__!r}",
        "",
        handler,
        f"must be {kind}, as the actor runs on "
        + ("an event loop" if cls._coroutines else "a thread"),
        f"write {'async ' * cls._coroutines}def {handler}(self, message), or derive from"
        f" snodo.{other.__name__}",
    )
