"""`Server`: collect definitions, check options, freeze at first use."""

from __future__ import annotations

import atexit
import sys
from _thread import allocate_lock
from _weakref import ref
from typing import TYPE_CHECKING, overload

from . import _options
from ._components import KINDS, Components, specs_of
from ._options import Cache
from .errors import ConfigurationError

__all__ = ["Cache", "Server"]

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager
    from os import PathLike
    from types import FrameType
    from typing import Any, Literal, Never, Protocol, TypeAlias, TypeVar

    from ._actor import ActorName
    from ._actor_tool import Handler
    from ._asgi import App
    from ._changes import Changes
    from ._composing import Composer, Overrides
    from ._extension_spec import ExtensionSpec
    from ._guest import Guest
    from ._layers import Layer, Middleware
    from ._signature import ToolSpec
    from ._snodo import Context, Hub, Runtime
    from ._subject import Declaration
    from ._subscriptions import Source
    from ._worker import Worker
    from .auth import Component, Refusal, Request
    from .errors import Error
    from .extension import Extension

    Secret: TypeAlias = bytes | str
    Policy: TypeAlias = Callable[
        [Literal["discovery", "invocation"], Component, Context],
        Error | Awaitable[Error | None] | None,
    ]
    Principal: TypeAlias = str | dict[str, Any]
    Verdict: TypeAlias = Principal | Refusal | None
    Authenticator: TypeAlias = Callable[[Request], Verdict | Awaitable[Verdict]]
    F = TypeVar("F", bound=Callable[..., Any])
    Completer: TypeAlias = Callable[..., Any] | Sequence[str]
    L = TypeVar("L", bound=Callable[..., AbstractAsyncContextManager[Any] | AsyncIterator[Any]])

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


# One for all servers: it is held for a moment, once for each.
_hubs = allocate_lock()


class Server:
    """What is served: its identity, its policies and its components."""

    def __init__(
        self,
        name: str,
        version: str = "0.0.0",
        *,
        title: str | None = None,
        description: str | None = None,
        instructions: str | None = None,
        website_url: str | None = None,
        icons: Sequence[Mapping[str, Any]] | None = None,
        validator: Literal["full", "basic", "passthrough"] | ValidatorLike = "full",
        page_size: int | None = None,
        cache: Cache | None = None,
        tools_cache: Cache | None = None,
        resources_cache: Cache | None = None,
        prompts_cache: Cache | None = None,
        discover_cache: Cache | None = None,
        limits: Mapping[str, int | float] | None = None,
        timeout: float | None = 30.0,
        threads: int | None = None,
        debug: bool = False,
        protocols: Iterable[str] | None = None,
        subscriptions: bool | Hub | Source = True,
        secret: Secret | Sequence[Secret | tuple[str, Secret]] | None = None,
        heartbeat: float | None = None,
        authorize: Policy | PolicyLike | None = None,
        conceal_refusals: bool = False,
        authenticate: Authenticator | None = None,
        middleware: Sequence[Middleware] = (),
        extensions: Sequence[Extension] = (),
        instrument: Sequence[Any] = (),
        metrics: bool = False,
        access_log: bool = False,
        **unknown: Never,
    ) -> None:
        """Take identity and policies.

        Args:
            name: For programs.
            version: Of the application.
            title: For people.
            description: For people.
            instructions: For the model, how to use the server.
            website_url: Where to read more.
            icons: For hosts.
            validator: What arguments and output are held to: ``full`` JSON Schema, the ``basic``
                subset, nothing (``passthrough``), or an object with ``validate(instance, schema)``.
            page_size: Entries in one page of a list; None for all.
            cache: How long clients may keep lists and what they read, where nothing else is said.
            tools_cache: The same for the list of tools alone.
            resources_cache: The same for the lists of resources and templates and for reads alone.
            prompts_cache: The same for the list of prompts alone.
            discover_cache: How long clients may keep the answer to discovery.
            limits: Bounds by name that differ from the defaults; times in seconds.
            timeout: Seconds a call may take unless its component says otherwise; None for no bound.
            threads: Most threads for plain functions; None for 256.
            debug: Show exceptions of tools to the client.
            protocols: Revisions to speak; None for all.
            subscriptions: Whether clients may listen for changes, or where these come from: a
                `Hub`, which may be of several servers, or a `Source` of your own.
            secret: What `State` and ``context.ask`` seal with, where a call may be continued by
                another process: at least 32 bytes, or 1 to 8 of them or ``(id, secret)`` pairs, the
                current one first. None for those of ``SNODO_SECRET`` (separated by commas), or
                without it for one that this process makes up and nobody else knows.
            heartbeat: Seconds that a call may be silent before its progress is told again by
                itself, to a client that asked for progress; None for never.
            authorize: Says which components a request may see and use: a function of
                ``(phase, component, context)``, plain or a coroutine, or an object with such a
                method ``authorize``. ``phase`` is ``discovery`` or ``invocation``. None allows; an
                `Error`, raised or returned, refuses; anything else is a fault of the policy.
            conceal_refusals: Whether what a request may not use looks to it as if it did not exist.
            authenticate: Says who sends an HTTP request, before its body is read: a function of a
                `snodo.auth.Request`, plain or a coroutine, that gives the principal, a string or a
                dict of JSON values, which becomes ``context.auth``. None, or a `snodo.auth.Refusal`
                raised or returned, refuses. See `snodo.auth.bearer` and `snodo.auth.api_key`.
            middleware: What surrounds every component, outermost first: functions of
                ``(context, arguments, call_next)``, or pairs of one and a dict of its options.
            extensions: What is added to the protocol; of those that put something around requests
                the first is outermost.
            instrument: Sinks that are told what happens: ``sink(name, measurements, metadata)``,
                on a thread of their own.
            metrics: Whether ``/metrics`` is served beside the endpoint, in the format of
                Prometheus.
            access_log: Whether each message becomes a line of JSON on the logger
                ``snodo.access``.
            **unknown: None: what is given beside these is refused.

        Raises:
            ConfigurationError: If an option cannot hold, or there is none of its name.
            DeclarationError: If there is wrong middleware.
        """
        if unknown:
            _options.refuse_unknown(unknown, Server.__init__.__kwdefaults__ or ())
        self.name = _options.text("name", name)
        if not name:
            raise ConfigurationError("Server name must not be empty")
        self.version = _options.text("version", version)
        self._info: dict[str, Any] = {"name": self.name, "version": self.version}
        for key, option, value in (
            ("title", "title", title),
            ("description", "description", description),
            ("websiteUrl", "website_url", website_url),
        ):
            if value is not None:
                self._info[key] = _options.text(option, value)
        self._instructions = (
            None if instructions is None else _options.text("instructions", instructions)
        )
        self._validator = _options.checked_validator(validator)
        self._page_size = None if page_size is None else _options.count("page_size", page_size)
        lists = _options.checked_cache("cache", cache)
        self._caches = {
            option: lists if value is None else _options.checked_cache(option, value)
            for option, value in (
                ("tools_cache", tools_cache),
                ("resources_cache", resources_cache),
                ("prompts_cache", prompts_cache),
            )
        }
        self._caches["discover_cache"] = _options.checked_cache("discover_cache", discover_cache)
        self._limits = _options.checked_limits(limits)
        self._timeout = None if timeout is None else _options.seconds("timeout", timeout)
        self._threads = None if threads is None else _options.count("threads", threads)
        if not isinstance(debug, bool):
            raise ConfigurationError("Server debug must be a boolean")
        self._debug = debug
        self._protocols = _options.checked_protocols(protocols)
        self._subscriptions = _options.checked_subscriptions(subscriptions)
        self._secrets = (
            None if secret is None else _options.checked_secrets("Server secret", secret)
        )
        self._heartbeat = None if heartbeat is None else _options.seconds("heartbeat", heartbeat)
        self._authorize = _options.checked_policy(authorize, self._caches)
        if not isinstance(conceal_refusals, bool):
            raise ConfigurationError("Server conceal_refusals must be a boolean")
        self._conceal_refusals = conceal_refusals
        self._authenticate = _options.checked_authenticator(authenticate)
        self._middleware: tuple[Layer, ...] = ()
        if middleware != ():
            from . import _layers
            from ._callable import frame_location
            from ._definition import Site

            site = Site(frame_location(sys._getframe(1)), f"server {name!r}")
            self._middleware = _layers.declared(middleware, site)
        self._extensions = self._extended(extensions)
        self._instrument = _options.checked_sinks(instrument)
        self._metrics = _options.switch("metrics", metrics)
        self._access_log = _options.switch("access_log", access_log)
        if icons is not None:
            self._info["icons"] = _options.checked_icons(icons)
        self._components = Components()
        self._lifespan: Callable[[], AbstractAsyncContextManager[Any]] | None = None
        self._frozen = False
        self._loopless = False
        self._composer: Composer | None = None
        self._made: Runtime | None = None
        self._bare: Runtime | None = None
        # Hands on what sinks and access log were not told yet, at the end of the process.
        self._untold: Callable[[], None] | None = None
        self._making = allocate_lock()
        self._own_hub: Hub | None = None
        self._guest: Guest | None = None
        self._worker: Worker | None = None
        """What this process knows of others that serve together with it."""

    def __repr__(self) -> str:
        """Show what is served."""
        return f"<Server {self.name!r} {self.version}, {self._counts()}>"

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Never:
            """Say what those who look for what other libraries have may write instead."""
            from ._elsewhere import missing_member

            raise missing_member(name)

    @overload
    def tool(self, function: F, /) -> F: ...
    @overload
    def tool(
        self,
        /,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = ...,
        annotations: Mapping[str, Any] | None = None,
        icons: Sequence[Mapping[str, Any]] | None = None,
        metadata: Mapping[str, Any] | None = None,
        input_schema: Mapping[str, Any] | None = None,
        output_schema: Mapping[str, Any] | None = ...,
        timeout: float | None = None,
        middleware: Sequence[Middleware] = (),
    ) -> Callable[[F], F]: ...
    def tool(self, function: Any = None, /, **options: Any) -> Any:
        """Declare a tool and add it; with or without parentheses. Options as `snodo.tool`.

        Returns:
            The function, or a decorator that gives it back.

        Raises:
            DeclarationError: If this cannot be a tool.
            ConfigurationError: If its name is taken or the server is in use.
        """
        if function is None:
            return lambda function: self._declare("tool", function, options, sys._getframe(1))
        return self._declare("tool", function, options, sys._getframe(1))

    def resource(
        self,
        uri: str,
        /,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = ...,  # type: ignore[assignment]
        mime_type: str | None = None,
        size: int | None = None,
        annotations: Mapping[str, Any] | None = None,
        icons: Sequence[Mapping[str, Any]] | None = None,
        metadata: Mapping[str, Any] | None = None,
        cache: Cache | None = None,
        timeout: float | None = None,
        complete: Mapping[str, Completer] | None = None,
        middleware: Sequence[Middleware] = (),
        **unknown: Never,
    ) -> Callable[[F], F]:
        """Declare a resource, or a template of them, and add it. Options as `snodo.resource`.

        Returns:
            A decorator that gives the function back.

        Raises:
            DeclarationError: If this cannot be a resource.
            ConfigurationError: If its name or URI is taken or the server is in use.
        """
        options = {
            **unknown,
            "uri": uri,
            "name": name,
            "title": title,
            "description": description,
            "mime_type": mime_type,
            "size": size,
            "annotations": annotations,
            "icons": icons,
            "metadata": metadata,
            "cache": cache,
            "timeout": timeout,
            "complete": complete,
            "middleware": middleware,
        }
        if callable(uri):  # the parentheses were forgotten, which the declaration says
            self._declare("resource", uri, {**options, "uri": None}, sys._getframe(1))
        return lambda function: self._declare("resource", function, options, sys._getframe(1))

    @overload
    def prompt(self, function: F, /) -> F: ...
    @overload
    def prompt(
        self,
        /,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = ...,
        arguments: Sequence[Mapping[str, Any]] | None = None,
        icons: Sequence[Mapping[str, Any]] | None = None,
        metadata: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        complete: Mapping[str, Completer] | None = None,
        middleware: Sequence[Middleware] = (),
    ) -> Callable[[F], F]: ...
    def prompt(self, function: Any = None, /, **options: Any) -> Any:
        """Declare a prompt and add it; with or without parentheses. Options as `snodo.prompt`.

        Returns:
            The function, or a decorator that gives it back.

        Raises:
            DeclarationError: If this cannot be a prompt.
            ConfigurationError: If its name is taken or the server is in use.
        """
        if function is None:
            return lambda function: self._declare("prompt", function, options, sys._getframe(1))
        return self._declare("prompt", function, options, sys._getframe(1))

    def complete(self, target: str | Callable[..., Any], argument: str) -> Callable[[F], F]:
        """Complete an argument of a prompt, or a variable of a template, declared before.

        The function takes what was typed so far and gives the strings it may become; it may also
        take the other arguments given already, and the context.

        Args:
            target: The prompt's name, the template's text or name, or the function itself.
            argument: Which argument or variable.

        Returns:
            A decorator that gives the function back.

        Raises:
            DeclarationError: If there is no such argument, or the function cannot complete.
            ConfigurationError: If there is no such prompt or template, or the server is in use.
        """

        def decorate(function: F) -> F:
            self._refuse_frozen()
            from ._completion import attach

            attach(self._components, target, argument, function, sys._getframe(1))
            return function

        return decorate

    @overload
    def actor_call(
        self,
        name: str,
        /,
        *,
        target: str | ActorName,
        input_schema: Mapping[str, Any],
        message: Any,
        encode_reply: Callable[[Any], Mapping[str, Any]],
        description: str | None = None,
        output_schema: Mapping[str, Any] | None = None,
        timeout_ms: int = 5_000,
    ) -> Handler: ...
    @overload
    def actor_call(
        self,
        name: str,
        /,
        *,
        target: str | ActorName,
        input_schema: Mapping[str, Any],
        encode_reply: Callable[[Any], Mapping[str, Any]],
        description: str | None = None,
        output_schema: Mapping[str, Any] | None = None,
        timeout_ms: int = 5_000,
    ) -> Callable[[F], F]: ...
    def actor_call(self, name: Any = None, /, **options: Any) -> Any:
        """Declare a tool that asks an actor, as `snodo.actor_call`.

        Without a ``message`` it is a decorator of the function that builds one.

        Returns:
            What the tool runs, or a decorator that gives the function back.

        Raises:
            DeclarationError: If any of it is wrong, or not written out.
            ConfigurationError: If the name is taken or the server is in use.
        """
        from ._actor_tool import decorator

        return decorator("call", self, name, options, sys._getframe(1))

    @overload
    def actor_cast(
        self,
        name: str,
        /,
        *,
        target: str | ActorName,
        input_schema: Mapping[str, Any],
        message: Any,
        description: str | None = None,
    ) -> Handler: ...
    @overload
    def actor_cast(
        self,
        name: str,
        /,
        *,
        target: str | ActorName,
        input_schema: Mapping[str, Any],
        description: str | None = None,
    ) -> Callable[[F], F]: ...
    def actor_cast(self, name: Any = None, /, **options: Any) -> Any:
        """Declare a tool that tells an actor something, as `snodo.actor_cast`.

        Without a ``message`` it is a decorator of the function that builds one.

        Returns:
            What the tool runs, or a decorator that gives the function back.

        Raises:
            DeclarationError: If any of it is wrong, or not written out.
            ConfigurationError: If the name is taken or the server is in use.
        """
        from ._actor_tool import decorator

        return decorator("cast", self, name, options, sys._getframe(1))

    def add(self, *definitions: Any) -> None:
        """Add components declared elsewhere.

        They are functions decorated with `@snodo.tool`, `@snodo.resource` or `@snodo.prompt`,
        classes of `Tool`, `Resource` or `Prompt` or their instances, and `StaticResource`,
        `FileResource` or `DirectoryResource`. Adding the same one again does nothing.

        Raises:
            ConfigurationError: If one is none of these, its name is taken or the server is in use.
        """
        self._refuse_frozen()
        frame = sys._getframe(1)
        for definition in definitions:
            for kind, spec in specs_of(definition, self._components, frame):
                self._components.register(kind, definition, spec)

    @property
    def notify(self) -> Hub:
        """The hub that tells whoever listens: ``server.notify.resource_updated(uri)``.

        It is for any thread and any task, and never blocks. Changes made by `changes` are told by
        themselves.

        With a `Source` of its own the server tells what this hub is told beside what the source
        tells; with ``subscriptions=False`` nobody listens.
        """
        return self._hub()

    def changes(self) -> Changes:
        """Add and remove components of a server that may be in use, all at once.

        ``with server.changes() as changes:`` collects; leaving the block checks the whole and puts
        it in place, or changes nothing if anything is wrong or the block raises. Calls under way
        end as they began. ``changes.changed`` then names the lists that read otherwise.
        """
        from ._changes import Changes

        return Changes(self)

    def overrides(self, functions: Mapping[Any, Callable[..., Any]], /) -> Overrides:
        """Put other functions in place of dependencies within a ``with`` block, for tests.

        Calls that begin within the block see them, whoever makes them and from whichever thread;
        calls under way end as they began. Blocks may be nested and may overlap: what was put in
        place last counts.

        Args:
            functions: For each function that is given to `Depends` somewhere, or ``current_...``
                value, what fills its parameters instead. That may need other things, and be sync,
                async or a generator, whatever the original is.

        Raises:
            ConfigurationError: On entering, if nothing depends on one of them.
            DeclarationError: If one cannot be a dependency.
        """
        from ._composing import Overrides

        return Overrides(self, functions, sys._getframe(1))

    def lifespan(self, manager: L) -> L:
        """Set what surrounds the server's life: an async context manager, entered once.

        Args:
            manager: A function of no argument or of the server, giving an async context manager or
                being an async generator; what it yields is ``context.state``.

        Returns:
            The function.

        Raises:
            ConfigurationError: If there is one already, it is something else, or the server is in
                use.
            DeclarationError: If it is a context manager that is not async.
        """
        self._refuse_frozen()
        if self._lifespan is not None:
            raise ConfigurationError("Server lifespan is already set")
        from ._lifespan import opener

        self._lifespan = opener(manager, self, sys._getframe(1))
        return manager

    def handle(
        self, message: dict[str, Any] | bytes | str, *, auth: Any = None
    ) -> dict[str, Any] | None:
        """Serve one JSON-RPC message in this process: for tests, scripts and embedding.

        Tools run as they do when served: plain functions on threads, coroutines on an event loop in
        the background. Blocks until the answer is there; never call it on that loop.

        Args:
            message: A request or notification, decoded or as JSON text.
            auth: Who sends it, as a JSON value: ``context.auth``. Nothing is verified here.

        Returns:
            The decoded response; None for a notification.

        Raises:
            TypeError: If the message is something else, or ``auth`` is not JSON.
            RuntimeError: If the lifespan fails; what it raised is the cause.
        """
        given: object = message
        if not isinstance(given, (dict, bytes, str)):
            kind = type(given).__name__
            raise TypeError(f"Server.handle takes one message as a dict, str or bytes, not {kind}")
        from . import _serving

        return _serving.handle(self._runtime(), message, self._lifespan, auth)

    def run(
        self,
        transport: Literal["stdio", "http"] | None = None,
        *,
        host: str = "127.0.0.1",
        port: int = 8000,
        path: str = "/mcp",
        allowed_hosts: Sequence[str] | None = None,
        allowed_origins: Sequence[str] | None = None,
        legacy_sse: bool = False,
        uds: str | PathLike[str] | None = None,
        ssl_certfile: str | PathLike[str] | None = None,
        ssl_keyfile: str | PathLike[str] | None = None,
        ssl_keyfile_password: str | None = None,
        ssl_ca_certs: str | PathLike[str] | None = None,
        threads: int | None = None,
        debug: bool = False,
        stdout_fd: int | None = None,
        on_started: Callable[[str], None] | None = None,
    ) -> None:
        """Serve until Ctrl-C, SIGTERM or the end of input; block meanwhile.

        This process serves alone. Several that serve together, and one that starts again when files
        change, are the command line's: ``python -m snodo serve app.py --workers 4``.

        Args:
            transport: ``stdio`` or ``http``. None means stdio when standard input is a pipe; on a
                terminal it prints what to type instead.
            host: Address to bind, for HTTP.
            port: Port to bind, for HTTP; 0 for any.
            path: Path of the endpoint, for HTTP.
            allowed_hosts: ``Host`` names accepted beside the loopback ones.
            allowed_origins: ``Origin`` values accepted beside the loopback ones.
            legacy_sse: Whether hosts that only know HTTP+SSE of 2024-11-05 are served too, at
                ``/sse`` and ``/messages``.
            uds: A Unix socket to make and serve on, in place of host and port.
            ssl_certfile: The server's certificate and those between it and an authority, in PEM
                form: then ``https`` is served.
            ssl_keyfile: Its private key, in PEM form; None means that it is in the same file.
            ssl_keyfile_password: What opens that key, if it is encrypted (PKCS #8).
            ssl_ca_certs: Certificates of authorities, in PEM form: then clients need a certificate
                of one of them.
            threads: Most threads for plain functions; None for the server's own setting.
            debug: Show exceptions of tools to the client.
            stdout_fd: The protocol's descriptor, when standard output was taken already.
            on_started: Called with the URL, or ``stdio``, once it is served. None means that
                standard error says so, for HTTP.

        Raises:
            ConfigurationError: If an option cannot hold.
            OSError: If the address cannot be bound, or the transport fails.
            RuntimeError: If the lifespan fails; what it raised is the cause.
        """
        from . import _serving, _streams

        _options.refuse_mixture(uds, host, port)
        if transport is None:
            if sys.stdin is not None and sys.stdin.isatty():
                print(_serving.usage(self.name), file=sys.stderr)
                return
            transport = "stdio"
        if transport == "stdio":
            # Before anything else: what is printed from here on must not reach the client.
            protocol = _streams.take_stdout() if stdout_fd is None else stdout_fd
            start = _serving.stdio(
                self._runtime(threads, debug), protocol, signals=True, on_started=on_started
            )
        elif transport == "http":
            start = _serving.http(
                self._runtime(threads, debug),
                host=host,
                port=port,
                path=path,
                allowed_hosts=allowed_hosts,
                allowed_origins=allowed_origins,
                legacy_sse=legacy_sse,
                uds=None if uds is None else str(uds),
                tls=_serving.tls_files(
                    ssl_certfile, ssl_keyfile, ssl_keyfile_password, ssl_ca_certs
                ),
                worker=self._worker,
                signals=True,
                on_started=self._say if on_started is None else on_started,
            )
        else:
            raise _options.wrong_transport(transport)
        self._loopless = self._lifespan is None and not self._runtime().has_coroutines
        _serving.run(self._runtime(), start, self._lifespan)

    async def serve(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = 8000,
        path: str = "/mcp",
        allowed_hosts: Sequence[str] | None = None,
        allowed_origins: Sequence[str] | None = None,
        legacy_sse: bool = False,
        uds: str | PathLike[str] | None = None,
        ssl_certfile: str | PathLike[str] | None = None,
        ssl_keyfile: str | PathLike[str] | None = None,
        ssl_keyfile_password: str | None = None,
        ssl_ca_certs: str | PathLike[str] | None = None,
        on_started: Callable[[str], None] | None = None,
    ) -> None:
        """Serve HTTP on the running loop until cancelled. Signals stay the caller's.

        Args:
            host: Address to bind.
            port: Port to bind; 0 for any.
            path: Path of the endpoint.
            allowed_hosts: ``Host`` names accepted beside the loopback ones.
            allowed_origins: ``Origin`` values accepted beside the loopback ones.
            legacy_sse: Whether hosts that only know HTTP+SSE of 2024-11-05 are served too, at
                ``/sse`` and ``/messages``.
            uds: A Unix socket to make and serve on, in place of host and port.
            ssl_certfile: The server's certificate and those between it and an authority, in PEM
                form: then ``https`` is served.
            ssl_keyfile: Its private key, in PEM form; None means that it is in the same file.
            ssl_keyfile_password: What opens that key, if it is encrypted (PKCS #8).
            ssl_ca_certs: Certificates of authorities, in PEM form: then clients need a certificate
                of one of them.
            on_started: Called with the URL once it is served.

        Raises:
            ConfigurationError: If an option cannot hold.
            OSError: If the address cannot be bound, or the transport fails.
            RuntimeError: If the lifespan fails; what it raised is the cause.
        """
        from . import _serving

        _options.refuse_mixture(uds, host, port)
        runtime = self._runtime()
        start = _serving.http(
            runtime,
            host=host,
            port=port,
            path=path,
            allowed_hosts=allowed_hosts,
            allowed_origins=allowed_origins,
            legacy_sse=legacy_sse,
            uds=None if uds is None else str(uds),
            tls=_serving.tls_files(ssl_certfile, ssl_keyfile, ssl_keyfile_password, ssl_ca_certs),
            on_started=self._warn if on_started is None else on_started,
        )
        await _serving.serve(runtime, start, self._lifespan)

    def asgi(
        self,
        path: str = "/mcp",
        *,
        allowed_hosts: Sequence[str] | None = None,
        allowed_origins: Sequence[str] | None = None,
        legacy_sse: bool = False,
    ) -> App:
        """Give an ASGI 3 application that serves the endpoint, alone or mounted in another one.

        ``app.mount("/", server.asgi())`` is all: coroutines run on the host's own event loop, the
        lifespan is entered before the first request. What ``authenticate`` does not say of a
        request is said by the host: ``request.state.mcp_auth`` becomes ``context.auth``, and two
        requests of equal ``mcp_auth`` and ``mcp_cancellation_scope`` may cancel each other.

        Args:
            path: Path of the endpoint, below where it is mounted; there it answers as well.
            allowed_hosts: ``Host`` names accepted beside the loopback ones; None for those of
                ``SNODO_ALLOWED_HOSTS``. With none any name is accepted from other machines.
            allowed_origins: ``Origin`` values accepted beside the loopback ones; None for those of
                ``SNODO_ALLOWED_ORIGINS``.
            legacy_sse: Whether hosts that only know HTTP+SSE of 2024-11-05 are served too, at
                ``/sse`` and ``/messages``.

        Raises:
            ConfigurationError: If an option cannot hold.
        """
        from . import _asgi

        return _asgi.application(
            self,
            path=path,
            allowed_hosts=allowed_hosts,
            allowed_origins=allowed_origins,
            legacy_sse=legacy_sse,
        )

    def _runtime(self, threads: int | None = None, debug: bool = False) -> Runtime:
        """Give the frozen server, made at the first call."""
        with self._making:
            if self._made is not None:
                if threads is not None or debug:
                    raise ConfigurationError(
                        f"Server {self.name!r} is in use already: give threads and debug to Server"
                    )
                return self._made
            from ._snodo import Runtime

            settings, components = self._freeze()
            if threads is not None:
                settings["threads"] = _options.count("threads", threads)
            settings["debug"] = settings["debug"] or debug
            self._made = Runtime(settings, components)
            if self._made.feed is not None:
                from . import _telemetry

                self._untold = _telemetry.start(self._made.feed, self._made, self._instrument)
            # A call that still runs when the interpreter is taken down would abort the process.
            atexit.register(_end_threads, ref(self._made))
            return self._made

    def _listing(self) -> Runtime:
        """Give a runtime that lists everything without asking any of the application's code.

        A policy may need a principal, and a loop; so may what extensions put around requests.
        """
        if self._authorize is None and not self._extensions:
            return self._runtime()
        if self._bare is None:
            from ._snodo import Runtime

            settings, components = self._freeze()
            settings |= {"authorize": None, "instrument": [], "metrics": False, "access_log": False}
            settings["extensions"] = [one._replace(around=None) for one in self._extensions]
            self._bare = Runtime(settings, components)
        return self._bare

    def _watch(self, metrics: bool, access_log: bool) -> None:
        """Serve metrics and write access lines too, if these say so.

        Raises:
            ConfigurationError: If the server is in use already.
        """
        if (metrics and not self._metrics) or (access_log and not self._access_log):
            if self._made is not None:
                raise ConfigurationError(
                    f"Server {self.name!r} is in use already: give metrics and access_log to Server"
                )
            self._metrics = self._metrics or metrics
            self._access_log = self._access_log or access_log

    def _declare(self, kind: str, function: Any, options: dict[str, Any], frame: FrameType) -> Any:
        self._refuse_frozen()
        from .decorators import declare

        declaration: Declaration = declare(kind, function, options, frame)
        assert declaration.spec is not None, "only a lone decorator leaves a method open"
        self._components.register(kind, function, declaration.spec)
        return function

    def _say(self, url: str) -> None:
        _print(self._start_line(url))
        self._warn(url)

    def _warn(self, url: str) -> None:
        """Warn of a URL that anybody may use."""
        exposed = self._exposed(url)
        if exposed is not None:
            _print(f"warning: {exposed}")

    def _exposed(self, url: str) -> str | None:
        """Say what is dangerous about serving there, if anything is."""
        if self._authenticate is not None or "://127." in url or "://[::1]" in url:
            return None
        if url.startswith("http://unix:") and url.count(":") > 2:  # a socket of this machine
            return None
        from urllib.parse import urlsplit

        host = urlsplit(url).hostname
        return (
            f"{host} is reachable from other machines and nothing asks callers who they are: give"
            " Server(authenticate=...), put a proxy that does in front, or bind 127.0.0.1"
        )

    def _start_line(self, url: str) -> str:
        """Say what is served, and where."""
        revisions = ", ".join(self._runtime().versions)
        return f"{self.name} {self.version} on {url} (MCP {revisions}; {self._counts()})"

    def _counts(self) -> str:
        """Say how many components there are of each kind."""
        counts = [(kind, len(self._components.table(kind))) for kind in KINDS]
        return ", ".join(
            f"{count} {kind}{'' if count == 1 else 's'}"
            for kind, count in counts
            if count or kind == "tool"
        )

    def _refuse_frozen(self) -> None:
        if self._frozen:
            raise ConfigurationError(
                f"Server {self.name!r} is in use already: add everything before it is served, or"
                " within `with server.changes() as changes:`"
            )

    def _freeze(self) -> tuple[dict[str, Any], dict[str, list[Any]]]:
        """Let nothing be added any more, and give what the runtime is made of.

        Settings, and the specs of each list: ``tools``, ``resources`` (templates among them) and
        ``prompts``.
        """
        self._frozen = True
        return self._settings(), self._offered(self._components)

    def _replace(self, components: Components) -> None:
        """Offer these components instead, from the next request on.

        Raises:
            ConfigurationError: If they cannot be offered together; then nothing has changed.
        """
        offered = self._offered(components)
        if self._made is not None:
            if self._loopless and _needs_loop(offered):
                # It began to serve without coroutines, so nobody runs a loop.
                from . import _serving

                _serving._background_loop(self._made, None)
                self._loopless = False
            self._made.replace(offered)
        self._components = components

    def _offered(self, components: Components) -> dict[str, list[Any]]:
        """Give the specs by list, tools held to the application's own validator if there is one."""
        if self._composer is None and not self._middleware and not _has_middleware(components):
            offered: dict[str, list[Any]] = {
                f"{kind}s": [spec for _, spec in components.table(kind).values()] for kind in KINDS
            }
        else:
            offered = self._composing().composed(components)
        return {**offered, "tools": self._held(offered["tools"])}

    def _composing(self) -> Composer:
        """Give what puts middleware around components, made when there first is any."""
        if self._composer is None:
            from ._composing import Composer

            self._composer = Composer(self._middleware)
        return self._composer

    def _settings(self) -> dict[str, Any]:
        """Give the policies as plain values.

        Caches are ``(ttl_ms, scope)``; times are seconds; secrets are ``(id or None, secret)``.
        """
        secrets = self._secrets
        return {
            "server_info": dict(self._info),
            "instructions": self._instructions,
            "validator": self._validator if isinstance(self._validator, str) else "custom",
            "page_size": self._page_size,
            **{name: (cache.ttl_ms, cache.scope) for name, cache in self._caches.items()},
            "limits": dict(self._limits),
            "timeout": self._timeout,
            "threads": self._threads,
            "debug": self._debug,
            "protocols": list(self._protocols),
            "subscriptions": self._source(),
            "hub": self._hub(),
            "secret": _options.environment_secrets() if secrets is None else secrets,
            "heartbeat": self._heartbeat,
            "authorize": self._authorize,
            "conceal_refusals": self._conceal_refusals,
            "authenticate": self._authenticate,
            "extensions": self._extensions,
            "instrument": self._instrument,
            "metrics": self._metrics,
            "access_log": self._access_log,
        }

    def _extended(self, extensions: Any) -> list[ExtensionSpec]:
        if isinstance(extensions, (tuple, list)) and not extensions:
            return []
        from ._extension_spec import specs

        return specs(extensions, self._protocols)

    def _hub(self) -> Hub:
        """Give the hub: the one the server was given, or its own, made when first asked for."""
        from ._snodo import Hub

        if isinstance(self._subscriptions, Hub):
            return self._subscriptions
        with _hubs:
            if self._own_hub is None:
                self._own_hub = Hub()
        return self._own_hub

    def _source(self) -> Any:
        """Give what the events of subscriptions come from; None if there are no subscriptions."""
        if isinstance(self._subscriptions, bool):
            return self._hub() if self._subscriptions else None
        return self._subscriptions

    def _tell(self, lists: set[str]) -> None:
        """Tell whoever listens that lists read otherwise."""
        if self._made is not None:
            for name in sorted(lists):
                getattr(self._hub(), f"{name}_changed")()

    def _specs(self) -> list[ToolSpec]:
        """Give the tools as they were declared, held to the application's own validator."""
        return self._held([spec for _, spec in self._components.tools.values()])

    def _held(self, specs: list[ToolSpec]) -> list[ToolSpec]:
        """Give tools that are held to the application's own validator if there is one."""
        if isinstance(self._validator, str):
            return specs
        from ._validator import held

        return [held(spec, self._validator) for spec in specs]


def _print(text: str) -> None:
    if sys.stderr is not None:  # where `print` would take standard output instead
        print(f"snodo: {text}", file=sys.stderr, flush=True)


def _has_middleware(components: Components) -> bool:
    return any(spec.middleware for kind in KINDS for _, spec in components.table(kind).values())


def _needs_loop(offered: dict[str, list[Any]]) -> bool:
    specs = [spec for specs in offered.values() for spec in specs]
    return any(
        part.is_async for spec in specs for part in (spec, *getattr(spec, "completions", ()))
    )


def _end_threads(runtime: ref[Runtime]) -> None:
    alive = runtime()
    if alive is not None:
        alive.end_threads(0.5)
