"""Actors: objects that handle one message at a time, found by name.

Mailboxes, names and deadlines are in Rust; here is who an actor is, where it runs, and what becomes
of it when it crashes.
"""

from __future__ import annotations

import atexit
import sys
from _thread import allocate_lock
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakKeyDictionary

from ._snodo import Door, Mailbox, Pending, ask_actor, tell_actor
from .errors import ConfigurationError, DeclarationError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Generator
    from types import TracebackType

MAILBOX = 1_000
"""Messages that wait for an actor unless it says otherwise."""
PATIENCE = 5.0
"""Seconds that an ask waits unless it says otherwise."""

_HANDLERS = ("handle_call", "handle_cast")

# Seconds that threads of actors get to end at the end of the process.
_ENDING = 0.5

# Which message is being handled; Rust sets it and looks at it.
_variable: ContextVar[Any] = ContextVar("snodo.actor", default=None)
_handling = _variable.get
_set_handling = _variable.set


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


class Supervisor:
    """How often a crashed actor is started again, and after what time."""

    __slots__ = ("backoff", "longest", "restarts", "within")

    def __init__(
        self,
        restarts: int = 3,
        *,
        within: float = 5.0,
        backoff: float = 0.1,
        longest: float = 5.0,
    ) -> None:
        """Set the limits. A restart is a new object with an empty mailbox.

        Args:
            restarts: Most restarts ``within`` so many seconds; one more crash ends the actor.
            within: Seconds that a restart counts.
            backoff: Seconds before the first of these restarts; twice as many before each further.
            longest: Most seconds before a restart.

        Raises:
            ConfigurationError: If a number cannot hold.
        """
        self.restarts: int = _above_zero("supervisor restarts", restarts, "an int", int)
        self.within: float = _above_zero("supervisor within", within, "seconds", int, float)
        self.backoff: float = _above_zero("supervisor backoff", backoff, "seconds", int, float)
        self.longest: float = _above_zero("supervisor longest", longest, "seconds", int, float)


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
        capacity = _above_zero("actor mailbox", mailbox, "an int", int)
        life = cls._lives(lambda: cls(*arguments, **keywords), kept, capacity, supervisor)
        actor: Self = life.incarnate()
        life.begin(actor)
        return actor

    @classmethod
    def _lives(cls, *parts: Any) -> _Life:
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
    def _lives(cls, *parts: Any) -> _Life:
        return _LoopLife(*parts)


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
    def _lives(cls, *parts: Any) -> _Life:
        return _ThreadLife(*parts)

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


# --- lives --------------------------------------------------------------------------------------


class _Life:
    """One actor from its start to its end, in whichever incarnation."""

    mailbox: Mailbox
    door: Door | None = None

    def __init__(
        self, make: Callable[[], Any], name: str, capacity: int, supervisor: Supervisor | None
    ) -> None:
        if supervisor is not None and not isinstance(supervisor, Supervisor):
            raise ConfigurationError("actor supervisor must be a snodo.Supervisor or None")
        self.over = Pending()
        self._make = make
        self._name = name
        self._capacity = capacity
        self._supervisor = supervisor
        self._restarts: list[float] = []
        self._stopped = Pending()

    def incarnate(self) -> Any:
        """Make an object that lives, under the name.

        Raises:
            ConfigurationError: If the name is taken.
        """
        actor = self._make()
        actor._Base__life = self
        self.mailbox = Mailbox(self._name, self._capacity, self.over, self.door)
        if self._stopped.is_known():  # meanwhile
            self.mailbox.close()
        return actor

    def begin(self, actor: Any) -> None:
        """Let the first incarnation handle messages."""
        raise NotImplementedError

    def stop(self) -> Pending:
        """Begin to end."""
        self._stopped._settle(None)
        self.mailbox.stop()
        return self._stopped if self.mailbox.is_current() else self.over

    def _ended(self) -> None:
        self.mailbox.close()
        self.over._settle(None)

    def _crashed(self, error: BaseException) -> float | None:
        """Log it, and give the seconds until the next incarnation; None if there is none."""
        from ._report import crashed

        self.mailbox.close()
        rest, then = self._rest()
        crashed(self._name, error, then)
        return rest

    def _rest(self) -> tuple[float | None, str]:
        from time import monotonic

        supervisor = self._supervisor
        if supervisor is None or self._stopped.is_known():
            return None, ""
        now = monotonic()
        self._restarts = [at for at in self._restarts if now - at < supervisor.within]
        if len(self._restarts) >= supervisor.restarts:
            return None, "; that was too often to start it again"
        # Beyond so many doublings there is no difference, and no float.
        doublings = min(len(self._restarts), 60)
        rest = min(supervisor.backoff * 2**doublings, supervisor.longest)
        self._restarts.append(now)
        return rest, f"; it is started again in {rest:g} s"


class _LoopLife(_Life):
    """Of an actor on an event loop."""

    def __init__(self, *parts: Any) -> None:
        import asyncio

        try:
            self._loop = asyncio.get_running_loop()
        except RuntimeError:
            raise RuntimeError(
                "an Actor is started on a running event loop, as within @server.lifespan; a"
                " ThreadActor needs none"
            ) from None
        super().__init__(*parts)
        self.door = door_of(self._loop)

    def begin(self, actor: Any) -> None:
        name = f"snodo-actor-{self._name}"
        self._task = _task_type()(self._live(actor), loop=self._loop, name=name)

    async def _live(self, actor: Any) -> None:
        try:
            while True:
                try:
                    if actor is None:
                        actor = self.incarnate()
                    await self.mailbox.serve(actor, self._loop)
                    return
                except BaseException as error:
                    if _from_outside(error):
                        raise
                    rest = self._crashed(error)
                actor = None
                if rest is None or await self._stopped_within(rest):
                    return
        finally:
            self._ended()

    async def _stopped_within(self, seconds: float) -> bool:
        import asyncio

        try:
            async with asyncio.timeout(seconds):
                await self._stopped
        except TimeoutError:
            return False
        return True


@cache
def _task_type() -> Any:
    import asyncio

    class LoopTask(asyncio.Task[None]):
        """The task of an actor, which knows whether the actor itself has cancelled it."""

        by_itself = False

        def cancel(self, msg: Any | None = None) -> bool:
            if asyncio.current_task(self.get_loop()) is self:
                self.by_itself = True
            return super().cancel(msg)

    return LoopTask


def _from_outside(error: BaseException) -> bool:
    """Tell the end of a task, as it comes with the end of its loop, from what a handler raised."""
    import asyncio

    if not isinstance(error, asyncio.CancelledError):
        return isinstance(error, GeneratorExit)
    task: Any = asyncio.current_task()
    if task.by_itself and task.cancelling() == 1:
        # That was a crash, after which the same task goes on.
        task.by_itself = False
        task.uncancel()
    cancelled: bool = task.cancelling() > 0
    return cancelled


class _ThreadLife(_Life):
    """Of an actor on a thread."""

    def begin(self, actor: Any) -> None:
        import threading

        # A daemon: one that is stuck must not keep the process from ending.
        self._thread = threading.Thread(
            target=self._live, args=(actor,), name=f"snodo-actor-{self._name}", daemon=True
        )
        _threads.add(self)
        self._thread.start()

    def _live(self, actor: Any) -> None:
        try:
            while True:
                try:
                    if actor is None:
                        actor = self.incarnate()
                    self._serve(actor)
                    return
                except BaseException as error:
                    rest = self._crashed(error)
                actor = None
                if rest is None or self._stopped_within(rest):
                    return
        finally:
            self._ended()
            _threads.discard(self)

    def _serve(self, actor: Any) -> None:
        # The loop is Python's own: were it Rust's, a process that ends while a handler is at work
        # would unwind Rust's frames, which they do not survive.
        while (letter := self.mailbox.take()) is not None:
            handle = actor.handle_call if letter.asks else actor.handle_cast
            letter.reply(handle(letter.message))

    def _stopped_within(self, seconds: float) -> bool:
        try:
            self._stopped.wait(seconds)
        except TimeoutError:
            return False
        return True

    def finish(self, seconds: float) -> None:
        """End it, whatever waits for it; give a handler that is at work so long."""
        self._stopped._settle(None)
        self.mailbox.close()
        self._thread.join(max(0.0, seconds))


# Actors on threads that live.
_threads: set[_ThreadLife] = set()


@atexit.register
def _end_threads() -> None:
    """End all threads of actors: one that wakes up while Python is taken down would crash it."""
    from time import monotonic

    end = monotonic() + _ENDING
    for life in list(_threads):
        life.finish(end - monotonic())


# --- loops --------------------------------------------------------------------------------------

_doors: WeakKeyDictionary[asyncio.AbstractEventLoop, Door] = WeakKeyDictionary()
_opening = allocate_lock()


def door_of(loop: asyncio.AbstractEventLoop) -> Door:
    """Give the way onto the running loop, made when first asked for."""
    with _opening:
        door = _doors.get(loop)
        if door is None:
            door = _doors[loop] = Door(loop)
        return door


async def awaited(pending: Pending) -> Any:
    """Wait until something is known, on the running loop."""
    import asyncio

    wait = pending._stand()
    if wait is None:
        return None
    loop = asyncio.get_running_loop()
    future = loop.create_future()
    try:
        if pending._watch(door_of(loop), future):
            await future
    finally:
        wait.over()
    return pending.result()


# --- checks -------------------------------------------------------------------------------------


def _checked_name(name: Any) -> str:
    if not isinstance(name, str) or not name:
        raise ConfigurationError("an actor's name must be a string that is not empty")
    return name


def _above_zero(option: str, value: Any, what: str, *kinds: type) -> Any:
    if type(value) not in kinds or not 0 < value < 1 << 53:
        shown = value if isinstance(value, (int, float)) else type(value).__name__
        raise ConfigurationError(f"{option} must be {what} above zero, not {shown}")
    return value


def _life(actor: Any) -> _Life:
    life: _Life | None = getattr(actor, "_Base__life", None)
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
