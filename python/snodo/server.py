"""`Server`: what is declared on it, what surrounds it, and the ways to serve it.

Options are checked by `_settings`, components are kept and offered by `_offering`, transports are
started by `_serving`; here is what a user of them reads.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, overload

from . import _options
from ._components import specs_of
from ._offering import Offering
from ._options import Cache
from ._settings import Settings
from .errors import ConfigurationError

__all__ = ["Cache", "Server"]

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager
    from os import PathLike
    from types import FrameType
    from typing import Any, Literal, Never

    from ._actor import ActorName
    from ._actor_tool import Handler
    from ._asgi import App
    from ._changes import Changes
    from ._guest import Guest
    from ._layers import Middleware
    from ._overrides import Overrides
    from ._snodo import Hub
    from ._subject import Declaration
    from ._subscriptions import Source
    from ._types import (
        Authenticator,
        Completer,
        F,
        L,
        Policy,
        PolicyLike,
        Secret,
        ValidatorLike,
    )
    from ._worker import Worker
    from .extension import Extension


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
        settings = Settings(
            name=name,
            version=version,
            title=title,
            description=description,
            instructions=instructions,
            website_url=website_url,
            icons=icons,
            validator=validator,
            page_size=page_size,
            cache=cache,
            tools_cache=tools_cache,
            resources_cache=resources_cache,
            prompts_cache=prompts_cache,
            discover_cache=discover_cache,
            limits=limits,
            timeout=timeout,
            threads=threads,
            debug=debug,
            protocols=protocols,
            subscriptions=subscriptions,
            secret=secret,
            heartbeat=heartbeat,
            authorize=authorize,
            conceal_refusals=conceal_refusals,
            authenticate=authenticate,
            middleware=middleware,
            extensions=extensions,
            instrument=instrument,
            metrics=metrics,
            access_log=access_log,
            frame=sys._getframe(1),
        )
        self.name = settings.name
        self.version = settings.version
        self._offering = Offering(settings)
        self._lifespan: Callable[[], AbstractAsyncContextManager[Any]] | None = None
        self._guest: Guest | None = None
        self._worker: Worker | None = None
        """What this process knows of others that serve together with it."""

    def __repr__(self) -> str:
        """Show what is served."""
        return f"<Server {self.name!r} {self.version}, {self._offering.counts()}>"

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Never:
            """Say what those who look for what other libraries have may write instead."""
            from ._elsewhere import missing_member

            if hasattr(type(self), name):  # a property of a subclass misses something else
                object.__getattribute__(self, name)
            raise missing_member(name)

        def __call__(self, *_given: object, **_options: object) -> Never:
            """Say to a host of ASGI applications, or to who mounts this in one, what is one."""
            raise TypeError("'snodo.Server' object is no ASGI application: write server.asgi()")

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
            self._offering.refuse_frozen()
            from ._completing import attach

            attach(self._offering.components, target, argument, function, sys._getframe(1))
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

        return decorator("call", self._offering, name, options, sys._getframe(1))

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

        return decorator("cast", self._offering, name, options, sys._getframe(1))

    def add(self, *definitions: Any) -> None:
        """Add components declared elsewhere.

        They are functions decorated with `@snodo.tool`, `@snodo.resource` or `@snodo.prompt`,
        classes of `Tool`, `Resource` or `Prompt` or their instances, and `StaticResource`,
        `FileResource` or `DirectoryResource`. Adding the same one again does nothing.

        Raises:
            ConfigurationError: If one is none of these, its name is taken or the server is in use.
        """
        self._offering.refuse_frozen()
        components, frame = self._offering.components, sys._getframe(1)
        for definition in definitions:
            for kind, spec in specs_of(definition, components, frame):
                components.register(kind, definition, spec)

    @property
    def notify(self) -> Hub:
        """The hub that tells whoever listens: ``server.notify.resource_updated(uri)``.

        It is for any thread and any task, and never blocks. Changes made by `changes` are told by
        themselves.

        With a `Source` of its own the server tells what this hub is told beside what the source
        tells; with ``subscriptions=False`` nobody listens.
        """
        return self._offering.announcements.hub()

    def changes(self) -> Changes:
        """Add and remove components of a server that may be in use, all at once.

        ``with server.changes() as changes:`` collects; leaving the block checks the whole and puts
        it in place, or changes nothing if anything is wrong or the block raises. Calls under way
        end as they began. ``changes.changed`` then names the lists that read otherwise.
        """
        from ._changes import Changes

        return Changes(self._offering)

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
        from ._overrides import Overrides

        return Overrides(self._offering, functions, sys._getframe(1))

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
        if hasattr(manager, "router"):  # FastAPI or Starlette, which calls its lifespan with itself
            raise ConfigurationError(
                "Server lifespan takes a function, not the application that this is mounted in:"
                " write lifespan=server.asgi().lifespan there"
            )
        self._offering.refuse_frozen()
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
        from . import _direct

        return _direct.handle(self._offering.runtime(), message, self._lifespan, auth)

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
        **unknown: Never,
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
            **unknown: None: what is given beside these is refused.

        Raises:
            ConfigurationError: If an option cannot hold, or is for HTTP and stdio is served.
            OSError: If the address cannot be bound, or the transport fails.
            RuntimeError: If the lifespan fails; what it raised is the cause.
        """
        from . import _serving, _start_line, _streams
        from ._http_options import http_options

        offering = self._offering
        _options.refuse_strange("run", unknown, Server.run)
        _options.refuse_mixture(uds, host, port)
        http: dict[str, Any] = {
            "host": host,
            "port": port,
            "path": path,
            "allowed_hosts": allowed_hosts,
            "allowed_origins": allowed_origins,
            "legacy_sse": legacy_sse,
            "uds": uds,
            "ssl_certfile": ssl_certfile,
            "ssl_keyfile": ssl_keyfile,
            "ssl_keyfile_password": ssl_keyfile_password,
            "ssl_ca_certs": ssl_ca_certs,
        }
        if transport is None:
            if sys.stdin is not None and sys.stdin.isatty():
                print(_serving.usage(self.name), file=sys.stderr)
                return
            transport = "stdio"
        if transport == "stdio":
            _options.refuse_http(http, Server.run.__kwdefaults__ or {})
            # Before anything else: what is printed from here on must not reach the client.
            protocol = _streams.take_stdout() if stdout_fd is None else stdout_fd
            runtime = offering.runtime(threads, debug)
            start = _serving.stdio(runtime, protocol, signals=True, on_started=on_started)
        elif transport == "http":
            runtime = offering.runtime(threads, debug)
            start = _serving.http(
                runtime,
                http_options(**http),
                worker=self._worker,
                signals=True,
                on_started=on_started or (lambda url: _start_line.say(offering, url)),
            )
        else:
            raise _options.wrong_transport(transport)
        offering.loopless = self._lifespan is None and not runtime.has_coroutines
        _serving.run(runtime, start, self._lifespan)

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
        **unknown: Never,
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
            **unknown: None: what is given beside these is refused.

        Raises:
            ConfigurationError: If an option cannot hold.
            OSError: If the address cannot be bound, or the transport fails.
            RuntimeError: If the lifespan fails; what it raised is the cause.
        """
        from . import _serving, _start_line
        from ._http_options import http_options

        offering = self._offering
        _options.refuse_strange("serve", unknown, Server.serve)
        _options.refuse_mixture(uds, host, port)
        runtime = offering.runtime()
        start = _serving.http(
            runtime,
            http_options(
                host=host,
                port=port,
                path=path,
                allowed_hosts=allowed_hosts,
                allowed_origins=allowed_origins,
                legacy_sse=legacy_sse,
                uds=uds,
                ssl_certfile=ssl_certfile,
                ssl_keyfile=ssl_keyfile,
                ssl_keyfile_password=ssl_keyfile_password,
                ssl_ca_certs=ssl_ca_certs,
            ),
            on_started=on_started or (lambda url: _start_line.warn(offering, url)),
        )
        await _serving.serve(runtime, start, self._lifespan)

    def asgi(
        self,
        path: str = "/mcp",
        *,
        allowed_hosts: Sequence[str] | None = None,
        allowed_origins: Sequence[str] | None = None,
        legacy_sse: bool = False,
        **unknown: Never,
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
            **unknown: None: what is given beside these is refused.

        Raises:
            ConfigurationError: If an option cannot hold.
        """
        from . import _asgi

        _options.refuse_strange("asgi", unknown, Server.asgi)
        return _asgi.application(
            self,
            path=path,
            allowed_hosts=allowed_hosts,
            allowed_origins=allowed_origins,
            legacy_sse=legacy_sse,
        )

    def _declare(self, kind: str, function: Any, options: dict[str, Any], frame: FrameType) -> Any:
        self._offering.refuse_frozen()
        from .decorators import declare

        declaration: Declaration = declare(kind, function, options, frame)
        assert declaration.spec is not None, "only a lone decorator leaves a method open"
        self._offering.components.register(kind, function, declaration.spec)
        return function
