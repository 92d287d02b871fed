"""The lives of actors, on a loop or a thread: from a start through restarts to an end."""

from __future__ import annotations

import atexit
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, Any

from ._doors import door_of
from ._snodo import Mailbox, Pending
from ._supervisor import Supervisor
from .errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._snodo import Door

# Seconds that threads of actors get to end at the end of the process.
_ENDING = 0.5

# Which message is being handled; Rust sets it and looks at it.
_variable: ContextVar[Any] = ContextVar("snodo.actor", default=None)
_handling = _variable.get
_set_handling = _variable.set


class Life:
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


class LoopLife(Life):
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


class ThreadLife(Life):
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
_threads: set[ThreadLife] = set()


@atexit.register
def _end_threads() -> None:
    """End all threads of actors: one that wakes up while Python is taken down would crash it."""
    from time import monotonic

    end = monotonic() + _ENDING
    for life in list(_threads):
        life.finish(end - monotonic())
