"""The compiled half of snodo: messages, routing, validation, transports, and the lanes of tools."""

from asyncio import AbstractEventLoop, Future, Task
from collections.abc import (
    AsyncIterable,
    Awaitable,
    Callable,
    Coroutine,
    Generator,
    Iterable,
    Mapping,
    Sequence,
)
from typing import Any, Literal, Self, TypedDict, TypeVar, final, overload, type_check_only

from ._answer import Answer, InputRequest
from ._http_options import TlsFiles
from ._interview import Answers, Interview
from ._track import Track
from ._worker import Worker
from .errors import Error

_T = TypeVar("_T")
_J = TypeVar("_J", bound=str | float | list[Any] | dict[str, Any] | None)

__all__ = [
    "PRINCIPAL_BYTES",
    "ActorTool",
    "CallNext",
    "Context",
    "Detached",
    "Door",
    "Event",
    "Feed",
    "Exchange",
    "Hosted",
    "Hub",
    "KeyRing",
    "Letter",
    "Mailbox",
    "Pending",
    "Porter",
    "Result",
    "Runtime",
    "Serving",
    "Wait",
    "ask_actor",
    "check_extensions",
    "check_hosted",
    "check_input_request",
    "check_input_response",
    "check_schema",
    "listen",
    "tell_actor",
    "unenforced_keyword",
    "uri_template_error",
    "uri_template_matches",
    "validate",
    "wrong_principal",
]

PRINCIPAL_BYTES: int
"""Bytes of a principal, as JSON."""

def wrong_principal(said: Any) -> str | None:
    """Say what a principal is where this can be none; give None where it can."""

def check_schema(schema: bytes, output: bool) -> tuple[str, str] | None:
    """Say whether a tool's schema is accepted.

    Args:
        schema: JSON text of the schema.
        output: Whether it describes structured content; else it describes arguments, whose root
            must be of type object.

    Returns:
        None, or a JSON pointer to the fault and the reason.
    """

def unenforced_keyword(schema: bytes) -> tuple[str, list[str]] | None:
    """Name the first keyword of a schema that the basic validator would not enforce.

    Returns:
        None, or the keyword (``invalid schema`` where no schema is) and the keys that lead there.

    Raises:
        ValueError: If it is not JSON.
    """

def ask_actor(name: str, message: Any, timeout: float | None = None) -> Pending:
    """Ask the actor that has this name. What goes wrong is raised by what is pending."""

def tell_actor(name: str, message: Any) -> None:
    """Tell the actor that has this name.

    Raises:
        ActorError: If there is none, or its mailbox is full.
    """

@final
class Pending:
    """Something that will be known, as the reply to an ask.

    Awaited on any event loop, by any number of tasks, or waited for by threads.
    """

    def __new__(cls) -> Self: ...
    def __await__(self) -> Generator[Any, None, Any]:
        """Wait for it without blocking the loop.

        Raises:
            ActorError: If an ask came to nothing.
        """

    def wait(self, timeout: float | None = None) -> Any:
        """Block this thread until it is known, and give it.

        Args:
            timeout: Seconds; None for as long as it takes.

        Raises:
            ActorError: If an ask came to nothing.
            TimeoutError: If it is not known in time.
            RuntimeError: If an event loop runs on this thread, which would be held up.
        """

    def is_known(self) -> bool:
        """Tell whether it is known."""

    def result(self) -> Any:
        """Give what is known.

        Raises:
            ActorError: If an ask came to nothing.
            RuntimeError: If it is not known yet.
        """

    def _watch(self, door: Door, future: Future[None]) -> bool:
        """Set the result of a future of the door's loop when it is known. False: it is already."""

    def _stand(self) -> Wait | None:
        """Take a place among those that wait. None: for an end that waits for this code."""

    def _settle(self, value: Any) -> None:
        """Make it known."""

@final
class Wait:
    """A task that waits for an actor."""

    def over(self) -> None:
        """Wait no more."""

@final
class Door:
    """The way onto an event loop from other threads. Made on the thread of that loop."""

    def __new__(cls, event_loop: AbstractEventLoop) -> Self: ...

@final
class Letter:
    """A message that an actor on a thread has taken."""

    @property
    def message(self) -> Any:
        """What was sent."""

    @property
    def asks(self) -> bool:
        """Whether somebody waits for a reply."""

    def reply(self, value: Any) -> None:
        """Say that it was handled, and what the reply is."""

@final
class Mailbox:
    """What one incarnation of an actor is sent. Under its name until it is stopped or closed."""

    def __new__(cls, name: str, capacity: int, over: Pending, door: Door | None = None) -> Self:
        """Take a name.

        Args:
            name: Of the actor.
            capacity: Messages that may wait.
            over: What is known with its end, in whichever incarnation.
            door: Of the loop that it is read on; None for a thread.

        Raises:
            ConfigurationError: If a living actor has the name.
        """

    def ask(self, message: Any, timeout: float | None = None) -> Pending:
        """Put a message in whose reply is pending from here on. Never raises `ActorError`."""

    def tell(self, message: Any) -> None:
        """Put a message in.

        Raises:
            ActorError: If it takes none any more, or is full.
        """

    def serve(self, actor: Any, event_loop: AbstractEventLoop) -> Awaitable[None]:
        """Handle messages one after the other in the task that awaits this, until it is stopped.

        Raises:
            BaseException: What a handler raises; then everybody who waits was told.
        """

    def take(self) -> Letter | None:
        """Block this thread until there is a message; None if there will be none any more."""

    def stop(self) -> None:
        """Give the name back and take no more messages. Those that wait are handled yet."""

    def close(self) -> None:
        """The actor is gone: fail whoever waits."""

    def is_current(self) -> bool:
        """Tell whether the calling code runs for a message of this actor."""

@final
class ActorTool:
    """What an actor tool does, fixed when it is declared."""

    def __new__(
        cls,
        name: str,
        target: str,
        input_schema: bytes,
        message: Any,
        parameters: int,
        *,
        timeout_ms: int | None = None,
        encode_reply: Callable[[Any], Any] | None = None,
    ) -> Self:
        """Fix it.

        Args:
            name: Of the tool, for the log.
            target: Name of the actor.
            input_schema: JSON text of the schema that arguments are held to.
            message: What is sent, or with ``parameters`` the function that makes it.
            parameters: 0, or how many of arguments and context that function takes.
            timeout_ms: Milliseconds to wait for the reply; None for a cast.
            encode_reply: Makes a JSON object of the reply; None if what was declared cannot.

        Raises:
            ValueError: If the schema is not accepted.
        """

    def __call__(self, arguments: Any, context: Any) -> Pending:
        """Do it, outside of any server.

        Returns:
            The JSON object that is the structured content; or it raises `Error` where the builder
            refuses, and `ActorError` with the text of a tool error for all else.
        """

def validate(schema: bytes, instance: bytes) -> list[tuple[str, str]]:
    """Check a JSON text against a schema text.

    Returns:
        Each failure as a JSON pointer into the instance and the rule it breaks.

    Raises:
        ValueError: If either is not JSON, or the schema is not accepted.
    """

def check_extensions(extensions: Any, protocols: list[str]) -> None:
    """Raise ConfigurationError if these ``ExtensionSpec`` cannot be installed."""

def uri_template_matches(text: str, uri: str) -> bool:
    """Say whether a URI template matches a URI; one that is not supported matches none."""

def uri_template_error(text: str) -> str | None:
    """Say why a URI template is not supported; None if it is."""

def check_input_request(request: bytes) -> str | None:
    """Say why the JSON text of a request may not be embedded in a result.

    Returns:
        None if it may, whatever the client can do; else where it is wrong and how, without values.

    Raises:
        ValueError: If it is not JSON.
    """

def check_input_response(request: bytes, response: bytes) -> str | None:
    """Say why the JSON text of a response does not answer an embedded request.

    Args:
        request: JSON text of a request that `check_input_request` finds nothing wrong with.
        response: JSON text of what the client sent.

    Returns:
        None if it does; else where it is wrong and how, without values.

    Raises:
        ValueError: If either is not JSON.
    """

@final
class KeyRing:
    """The keys that seal and open request state. Immutable; shows only their ids."""

    def __new__(cls, secrets: Sequence[tuple[str | None, bytes]]) -> Self:
        """Derive keys from secrets.

        Args:
            secrets: 1 to 8 pairs of id and secret, the current one first. An id is 1 to 32
                characters of ``A-Za-z0-9_-``, unique; None derives one from the secret. A secret
                has at least 32 bytes.

        Raises:
            ValueError: If one of these does not hold.
        """

@final
class Result:
    """What a handler gives back when a plain value is not enough. Immutable.

    A result has a kind, a value and metadata; the protocol revision of the request decides how it
    is spelled. Values are encoded when the handler returns.
    """

    @staticmethod
    def text(text: str, *, metadata: Mapping[str, Any] | None = None) -> Result:
        """Give one text block."""

    @staticmethod
    def structured(value: Any, *, metadata: Mapping[str, Any] | None = None) -> Result:
        """Give a JSON value as structured content, and its compact JSON as a text block."""

    @staticmethod
    def content(content: Any, *, metadata: Mapping[str, Any] | None = None) -> Result:
        """Give a content block, or a list of them: content values or plain dicts."""

    @staticmethod
    def error(text: str, *, metadata: Mapping[str, Any] | None = None) -> Result:
        """Say that the tool understood and failed: ``isError: true`` with this text."""

    @staticmethod
    def raw(result: dict[str, Any]) -> Result:
        """Give the result object itself; ``content`` and ``isError`` are added where absent."""

    @staticmethod
    def wire(result: dict[str, Any], *, metadata: Mapping[str, Any] | None = None) -> Result:
        """Give the result object as it leaves; not even ``resultType`` is added."""

    @staticmethod
    def input_required(
        *,
        input_requests: dict[str, Any] | None = None,
        request_state: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Result:
        """Ask the client for input, and to call again with it.

        Raises:
            ValueError: If neither requests nor state are given.
        """

    @staticmethod
    def resource_read(
        contents: Any,
        *,
        metadata: Mapping[str, Any] | None = None,
        ttl_ms: int | None = None,
        cache_scope: str | None = None,
    ) -> Result:
        """Give the contents of a resource, with a cache policy of their own if given."""

    @staticmethod
    def prompt_get(
        messages: Any,
        *,
        description: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Result:
        """Give the messages of a prompt."""

    @staticmethod
    def completion(
        values: Sequence[str],
        *,
        total: int | None = None,
        has_more: bool | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Result:
        """Give the completions of an argument.

        Raises:
            TypeError: If ``values`` is not a list or tuple.
        """

    @property
    def kind(self) -> str:
        """Which builder made it."""

    @property
    def value(self) -> Any:
        """What it was made of."""

    @property
    def metadata(self) -> Mapping[str, Any]:
        """Members for the result's ``_meta``."""

    def __deepcopy__(self, memo: dict[int, Any], /) -> Result: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Event:
    """Something that changed. Immutable.

    ``metadata`` are members for the ``_meta`` of the notification. All builders raise TypeError if
    it is not a mapping of JSON values, and ValueError if it has a key that ``_meta`` cannot have.
    """

    @staticmethod
    def tools_changed(metadata: Mapping[str, Any] | None = None) -> Event:
        """Say that the list of tools reads otherwise."""

    @staticmethod
    def prompts_changed(metadata: Mapping[str, Any] | None = None) -> Event:
        """Say that the list of prompts reads otherwise."""

    @staticmethod
    def resources_changed(metadata: Mapping[str, Any] | None = None) -> Event:
        """Say that the list of resources or of templates reads otherwise."""

    @staticmethod
    def resource_updated(uri: str, metadata: Mapping[str, Any] | None = None) -> Event:
        """Say that what is at a URI, or below it, reads otherwise.

        Raises:
            ValueError: If the URI is not absolute.
        """

    @staticmethod
    def extension(
        extension: str, selector: str, payload: Any, metadata: Mapping[str, Any] | None = None
    ) -> Event:
        """Say that something happened to an extension, to listeners who select it.

        Args:
            extension: The extension's id, which puts the event into words.
            selector: What listeners name in their filters.
            payload: What there is to say: a JSON value of at most 1 MiB.
            metadata: Members for the notification's ``_meta``.

        Raises:
            ValueError: If the selector is empty.
        """

    @property
    def kind(self) -> str:
        """Which builder made it."""

    @property
    def selector(self) -> str | None:
        """Of an extension's event, what listeners name in their filters."""

    @property
    def payload(self) -> Any:
        """Of an extension's event, what there is to say."""

    @property
    def uri(self) -> str | None:
        """Of a resource that was updated, where it is."""

    @property
    def metadata(self) -> dict[str, Any]:
        """Members for the notification's ``_meta``."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class CallNext:
    """What an extension's ``around`` goes on with: once, and while it runs."""

    def __call__(self, values: Mapping[str, Any] | None = None, /) -> Awaitable[Result]:
        """Let everything below answer.

        Args:
            values: What ``context.values`` has there, beside what layers around gave.

        Raises:
            Error: Awaited, if the answer is one.
            RuntimeError: If it was called before, or the request is over.
        """

    def check(self) -> Awaitable[Result | None]:
        """Make the checks before anything is run: lookup, authorization, arguments.

        They are made again by a call that follows. Gives None if something would be run, or the
        `Result` that is known without.

        Raises:
            Error: Awaited, if the request is refused.
            RuntimeError: If the request is over.
        """

    def detach(self, *, timeout: float | None = None) -> Detached:
        """Give what lets everything below answer when the request has its answer already.

        Args:
            timeout: Seconds for each time; None for those of the component.

        Raises:
            RuntimeError: If the request is over.
            ConfigurationError: If that is no time.
        """

@final
class Detached:
    """What goes on with a request that `CallNext.detach` was called for, whether it is over or not.

    Each time it runs as a call of its own: in a place of its own among those that run, with its own
    time, and without a way to the client. What is said is not heard, and its cancellation does not
    arrive; whoever stops waiting stops what is below.
    """

    def __call__(
        self,
        values: Mapping[str, Any] | None = None,
        /,
        *,
        input_responses: dict[str, Any] | None = None,
        request_state: str | None = None,
    ) -> Awaitable[Result]:
        """Let everything below answer; it may be called again, and is run one after the other.

        Args:
            values: What ``context.values`` has there, beside what layers around gave.
            input_responses: Answers to what the result before asked for, whose ``resultType`` was
                ``input_required``, by the keys it used. None for those that came with the request.
            request_state: What that result had as ``requestState``.

        Raises:
            Error: Awaited, if the answer is one, or there is no place or no time for it.
            RuntimeError: On another event loop, or if four wait already.
            ValueError: If the answers are not JSON.
        """

@type_check_only
class Report(TypedDict):
    """What became of an event, in listeners."""

    matched: int
    delivered: int
    buffered: int
    dropped: int

@type_check_only
class Stats(TypedDict):
    """How a hub fares."""

    subscriptions: int
    closing: int
    queued: int
    dropped: int
    max_buffer: int
    overflow: Literal["drop_oldest", "drop_newest"]

@final
class Hub:
    """Tells what the application publishes to whoever listens for it.

    Each listener has a queue of its own, so that one that reads slowly keeps nobody waiting. All
    methods are for any thread and any task, and none blocks. Publishing gives a report: how many
    listeners the event was for (``matched``), how many waited for it (``delivered``), have it in
    their queue, or there already one that says the same (``buffered``), and how many lost this
    event, or their oldest, for want of room (``dropped``).
    """

    def __new__(
        cls,
        *,
        name: str | None = None,
        max_buffer: int = 100,
        overflow: Literal["drop_oldest", "drop_newest"] = "drop_oldest",
    ) -> Self:
        """Make a hub without listeners.

        Args:
            name: For display.
            max_buffer: Events that may wait for one listener.
            overflow: Which event a listener loses when there are more.

        Raises:
            ConfigurationError: If an option cannot hold.
        """

    @property
    def name(self) -> str | None:
        """For display."""

    def publish(self, event: Event) -> Report:
        """Tell whoever listens for it."""

    def tools_changed(self, metadata: Mapping[str, Any] | None = None) -> Report:
        """Publish `Event.tools_changed`."""

    def prompts_changed(self, metadata: Mapping[str, Any] | None = None) -> Report:
        """Publish `Event.prompts_changed`."""

    def resources_changed(self, metadata: Mapping[str, Any] | None = None) -> Report:
        """Publish `Event.resources_changed`."""

    def resource_updated(self, uri: str, metadata: Mapping[str, Any] | None = None) -> Report:
        """Publish `Event.resource_updated`."""

    def complete(self) -> None:
        """End every subscription there is when its queue is empty; later ones are not concerned."""

    def stats(self) -> Stats:
        """Count: listeners, those that are ending, events that wait, and events lost so far."""

@final
class Context:
    """The request that a handler serves. Immutable; facts are read when asked for."""

    @property
    def auth(self) -> Any:
        """The verified identity behind the request; None if nobody verified one."""

    @property
    def request_id(self) -> int | str:
        """The request's id, with the type it came with."""

    @property
    def method(self) -> str:
        """The request's method, as ``tools/call``."""

    @property
    def meta(self) -> dict[str, Any]:
        """The request's ``_meta``."""

    @property
    def extensions(self) -> dict[str, Any]:
        """The extensions that both sides declare for this request: id to settings."""

    @property
    def values(self) -> Mapping[str, Any]:
        """What extensions around this request gave to it, with ``call_next(values)``."""

    @property
    def client_info(self) -> dict[str, Any] | None:
        """Name and version of the client, for display and logs only."""

    @property
    def client_capabilities(self) -> dict[str, Any]:
        """What the client declared on this request."""

    @property
    def protocol_version(self) -> str:
        """The revision of the request."""

    @property
    def transport(self) -> Literal["http", "stdio", "direct"]:
        """How the request came."""

    @property
    def headers(self) -> dict[str, str]:
        """HTTP headers by lower-case name, repeated ones joined; empty on other transports."""

    @property
    def input_responses(self) -> dict[str, Any] | None:
        """Answers to the input asked for in the previous round; None on a first call."""

    @property
    def request_state(self) -> str | None:
        """State handed out in the previous round. The client could have made it up."""

    @property
    def trace(self) -> dict[str, str]:
        """W3C trace context of the request: ``traceparent``, ``tracestate``, ``baggage``."""

    @property
    def cancelled(self) -> bool:
        """Whether nobody waits for the answer any more."""

    @property
    def state(self) -> Any:
        """What the server's lifespan yielded; None without one."""

    def check_cancelled(self) -> None:
        """Leave a call that nobody waits for any more.

        Raises:
            Cancelled: If that is so; no subclass of Exception.
        """

    def progress(
        self, done: float, total: float | None = None, message: str | None = None
    ) -> Awaitable[None]:
        """Tell the client how far the call is, if it asked to be told. Never blocks.

        What does not increase is dropped, and when the client reads slowly the newest report
        replaces the ones before. May be awaited; it is done already.

        Args:
            done: More each time, in any unit.
            total: What it is to become, if known.
            message: For people, at most 4,096 bytes; more is cut.

        Raises:
            TypeError: If a number is none (a bool is none) or the message is not a string.
            ValueError: If a number is not finite.
        """

    def log(
        self,
        level: Literal[
            "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"
        ],
        data: Any,
        logger: str | None = None,
    ) -> Awaitable[None]:
        """Send the client a log message, if it asked for this level. Never blocks.

        May be awaited; it is done already.

        Args:
            level: How grave it is.
            data: Any JSON value. The client's people may read it.
            logger: Which part of the server speaks.

        Raises:
            ValueError: If there is no such level.
            TypeError: If ``logger`` is not a string, or ``data`` that is to be sent is not JSON.
        """

    def track(
        self,
        items: Iterable[_T] | AsyncIterable[_T],
        total: float | None = None,
        message: str | None = None,
    ) -> Track[_T]:
        """Report the progress of a loop: ``for item in context.track(items)``.

        ``async for`` works too, over items of either kind.

        Args:
            items: What is looped over.
            total: How many there are; their ``len`` unless given.
            message: For people, with each report.

        Raises:
            Cancelled: From the loop, if nobody waits for the answer any more.
        """

    @overload
    def ask(self, key: str, request: InputRequest[_T], /) -> Answer[_T]: ...
    @overload
    def ask(self, key: Mapping[str, InputRequest[Any]], request: None = None, /) -> Answers:
        """Ask the client, and give its answer. For tools, prompts and reads of resources.

        It never waits. As long as there is no answer it ends the request, and the function is run
        again from the top when the answer comes; answers of earlier runs are remembered. What has
        an effect before a question is guarded by `once`. A question that reads otherwise than in
        the run before is asked again; one key may be asked again and again, as in a loop. Answers
        may be awaited and then give themselves. Remembered for 900 seconds.

        Tasks and threads of one run may ask at the same time, each under keys of its own: all that
        was asked by the time the function ends goes to the client together. What a task has not
        finished then is begun again in the next run.

        Args:
            key: Names the question. Or several questions of one round, by key.
            request: What `elicit`, `sampling` or `roots` made.

        Returns:
            The answer, or a dict of them.

        Raises:
            Error: -32602 if the answer does not fit the question, or the state that came with it
                does not open; -32603 where nothing may be asked.
            ToolError: If there were too many rounds (limit ``input_rounds``), or the answers so far
                and what `once` remembers are too long together.
            RuntimeError: If the state that came was sealed by `State`.
            TypeError: If the key or the request is something else.
        """

    @overload
    def once(
        self, key: str, function: Callable[[], Coroutine[Any, Any, _J]]
    ) -> Coroutine[Any, Any, _J]: ...
    @overload
    def once(self, key: str, function: Callable[[], _J]) -> _J: ...
    @overload
    def once(self, key: str, function: Callable[[], Any]) -> Any:
        """Run a function in the first run alone, and remember what it gave for those after it.

        What it gives is remembered as JSON with the client, sealed, from the next question on; so
        all runs, the first as well, get it as JSON reads: a tuple is a list, a dataclass a dict. An
        exception is remembered by nobody. A run that ends otherwise than by a question, and a
        client that begins anew, run the function again.

        Args:
            key: Names what is done; the n-th use of a key in a run is another thing.
            function: Called without arguments; a coroutine function's result is awaited by the
                caller.

        Raises:
            TypeError: If what it gives is not JSON.
            Error: -32602 if the state that came does not open.
        """

    _interview: Interview | None
    _refusal: Error
    """An error that this run ends with whatever it gives."""
    @property
    def _input_rounds(self) -> int: ...
    @property
    def _uri(self) -> str | None: ...
    @property
    def _argument(self) -> str | None: ...
    def _would_send(self, value: Any) -> bool:
        """Tell whether the call would succeed if it gave this value."""

    def _on_thread(self, work: Callable[[], None]) -> None:
        """Run a function, which must not raise, on a thread of the lane of plain functions."""

    def _seal(
        self,
        purpose: Literal["ask", "state"],
        data: bytes,
        principal: bytes,
        ttl: int,
        keys: KeyRing | None = None,
    ) -> str:
        """Seal a JSON text for this request.

        Raises:
            ValueError: If the token is longer than 16 KiB.
        """

    def _open(
        self,
        purpose: Literal["ask", "state"],
        token: str,
        principal: bytes,
        ttl: int,
        keys: KeyRing | None = None,
    ) -> bytes | None:
        """Open what was sealed for such a request; None if it was not, or was too long ago."""

    def _opens(
        self, purpose: Literal["ask", "state"], token: str, principal: bytes, ttl: int
    ) -> bool:
        """Tell whether `_open` would, with the server's keys; the log has nothing of it."""

@final
class Runtime:
    """A server that nothing can change any more. Building one starts nothing."""

    def __new__(cls, options: dict[str, Any], offered: dict[str, list[Any]]) -> Self: ...
    @property
    def has_coroutines(self) -> bool:
        """Whether anything needs an event loop."""

    @property
    def has_loop(self) -> bool:
        """Whether a loop runs the coroutines already."""

    @property
    def versions(self) -> list[str]:
        """The revisions served, newest first."""

    @property
    def feed(self) -> Feed | None:
        """What is to be handed on to sinks and to the log; None where that is nothing."""

    def load(self) -> dict[str, int]:
        """Give how much there is to do.

        ``in_flight`` messages are served, ``running`` calls have a place, ``queued`` ones wait for
        one; ``streams``, ``connections`` and ``sessions`` are open.
        """

    def replace(self, offered: dict[str, list[Any]]) -> None:
        """Offer other components from the next request on; calls under way end as they began.

        Raises:
            ConfigurationError: If they cannot be offered together; then nothing has changed.
        """

    def end_threads(self, seconds: float) -> bool:
        """End the plain functions that still run, as the process is about to end.

        Each has a moment to see that it was cancelled, then raises SystemExit at its next
        instruction.

        Returns:
            Whether all have ended within the time.
        """

    def set_state(self, value: Any) -> None:
        """Make a value ``context.state``."""

    def attach_loop(self, event_loop: AbstractEventLoop) -> None:
        """Run the coroutines on this loop; to be called on its own thread."""

    def detach_loop(self, event_loop: AbstractEventLoop) -> list[Task[Any]]:
        """Take the loop back, and give the tasks of its calls, cancelled."""

    def refuse_calls(self) -> None:
        """Fail the calls that wait for a loop, and those that come before there is another."""

    def handle(self, message: bytes, principal: bytes | None = None) -> bytes | None:
        """Serve one message of this principal (JSON); the answer, or None where there is none."""

    def serve_http(self, options: HttpOptions, *, worker: Worker | None, signals: bool) -> Serving:
        """Bind and begin to serve HTTP; a worker serves the socket that it was given.

        Raises:
            OSError: If the address cannot be bound.
            ConfigurationError: If the path, an allow-list or a file of TLS cannot hold.
        """

    def serve_stdio(
        self, *, input: int, output: int, principal: bytes | None, signals: bool
    ) -> Serving:
        """Begin to serve two file descriptors, which are closed at the end."""

@type_check_only
class HttpOptions(TypedDict):
    """Where and for whom to serve HTTP."""

    host: str
    port: int
    path: str
    allowed_hosts: list[str]
    allowed_origins: list[str]
    legacy_sse: bool
    uds: str | None
    tls: TlsFiles | None

@final
class Feed:
    """What waits for the thread that hands it on to sinks and to the log."""

    def take(
        self, seconds: float
    ) -> (
        tuple[
            list[tuple[str, dict[str, Any], dict[str, Any], bool]], list[str], int, int, list[Any]
        ]
        | None
    ):
        """Wait for something to hand on, at most so many seconds.

        Returns:
            Events as ``(name, measurements, metadata, entered)``, access lines, how many of each
            were dropped, and the marks before which there is nothing else; None after the end.
        """

    def mark(self, mark: Any) -> bool:
        """Have this given by `take` with the last of what is there now.

        Returns:
            False if the end has begun.
        """

    def close(self) -> None:
        """Let nothing more come in."""

@final
class Porter:
    """What wakes one event loop."""

    def __new__(cls, event_loop: AbstractEventLoop) -> Self:
        """Of the running loop of the calling thread, until that is closed."""

@final
class Hosted:
    """An endpoint within an ASGI application."""

    def __new__(
        cls,
        runtime: Runtime,
        *,
        path: str,
        allowed_hosts: list[str],
        allowed_origins: list[str],
        legacy_sse: bool,
    ) -> Self: ...
    @property
    def write_timeout(self) -> float:
        """Seconds that a client may take to take a part of a response."""

    def begin(self, porter: Porter, scope: Any) -> Exchange:
        """Begin to serve the request of an ASGI scope, on the loop of the porter.

        Raises:
            TypeError: If the scope holds what no request can.
        """

    def end_streams_at(self, signals: list[int]) -> None:
        """End the streams that go on by themselves whenever one of these signals comes."""

    def drain(self, porter: Porter, over: Future[None]) -> None:
        """End them now; the future gets its result once nothing goes on any more."""

@final
class Exchange:
    """One request and its response."""

    def feed(self, piece: bytes, more: bool) -> bool:
        """Take a piece of the body; False when no more of it is wanted."""

    def take(self) -> list[dict[str, Any]] | None:
        """Give the ASGI messages that are ready; None after the last one.

        Raises:
            RuntimeError: If the response broke off.
        """

    def coming(self, future: Future[None]) -> Future[None]:
        """Give the future back, which gets its result when there is something to take."""

    def close(self) -> None:
        """Cancel what runs: nobody wants the rest."""

def check_hosted(
    *, path: str, allowed_hosts: list[str], allowed_origins: list[str], legacy_sse: bool
) -> None:
    """Raise ConfigurationError for what no endpoint within an ASGI application could be made of."""

@final
class Serving:
    """A transport under way."""

    @property
    def url(self) -> str | None:
        """Where it is served, for HTTP."""

    def stop(self) -> None:
        """Begin to end it: calls under way may finish within the drain time."""

    def wait(self) -> None:
        """Block until it has ended.

        Raises:
            OSError: If it ended by a fault.
        """

def listen(options: HttpOptions) -> tuple[int, str | None]:
    """Take an address for other processes to serve.

    Returns:
        The descriptor of the socket, which is the caller's, and the path of a Unix socket.

    Raises:
        ConfigurationError: If an option cannot hold.
        OSError: If the address cannot be taken.
    """
