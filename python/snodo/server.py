"""`Server`: collect definitions, check options, freeze at first use."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, overload

from . import _options
from ._options import Cache
from .errors import ConfigurationError

__all__ = ["Cache", "Server"]

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager
    from types import FrameType
    from typing import Any, Literal, Protocol, TypeVar

    from ._declaration import Declaration
    from ._signature import ToolSpec
    from ._snodo import Runtime

    F = TypeVar("F", bound=Callable[..., Any])
    L = TypeVar("L", bound=Callable[..., AbstractAsyncContextManager[Any] | AsyncIterator[Any]])

    class ValidatorLike(Protocol):
        """Anything that can hold a value to a schema."""

        def validate(self, instance: Any, schema: Any, /) -> Any:
            """Return None or True to accept; anything else, or a ValidationError, refuses."""


class Server:
    """What is served: its identity, its policies and its tools."""

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
        discover_cache: Cache | None = None,
        limits: Mapping[str, int | float] | None = None,
        timeout: float | None = 30.0,
        threads: int | None = None,
        debug: bool = False,
        protocols: Iterable[str] | None = None,
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
            page_size: Tools in one page of the list; None for all.
            cache: How long clients may keep lists.
            discover_cache: How long clients may keep the answer to discovery.
            limits: Bounds by name that differ from the defaults; times in seconds.
            timeout: Seconds a call may take unless its tool says otherwise; None for no bound.
            threads: Most threads for plain functions; None for 256.
            debug: Show exceptions of tools to the client.
            protocols: Revisions to speak; None for all.

        Raises:
            ConfigurationError: If an option cannot hold.
        """
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
        self._cache = _options.checked_cache("cache", cache)
        self._discover_cache = _options.checked_cache("discover_cache", discover_cache)
        self._limits = _options.checked_limits(limits)
        self._timeout = None if timeout is None else _options.seconds("timeout", timeout)
        self._threads = None if threads is None else _options.count("threads", threads)
        if not isinstance(debug, bool):
            raise ConfigurationError("Server debug must be a boolean")
        self._debug = debug
        self._protocols = _options.checked_protocols(protocols)
        if icons is not None:
            self._info["icons"] = _options.checked_icons(icons)
        self._tools: dict[str, tuple[Any, ToolSpec]] = {}
        self._lifespan: Callable[[], AbstractAsyncContextManager[Any]] | None = None
        self._frozen = False
        self._made: Runtime | None = None

    def __repr__(self) -> str:
        """Show what is served."""
        return f"<Server {self.name!r} {self.version}, {len(self._tools)} tools>"

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
            return lambda function: self._declare(function, options, sys._getframe(1))
        return self._declare(function, options, sys._getframe(1))

    def add(self, *definitions: Any) -> None:
        """Add tools declared elsewhere: `@snodo.tool` functions, `Tool` classes or instances.

        Adding the same one again does nothing.

        Raises:
            ConfigurationError: If one is no tool, its name is taken or the server is in use.
        """
        self._refuse_frozen()
        frame = sys._getframe(1)
        for definition in definitions:
            self._add(definition, frame)

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
        """
        self._refuse_frozen()
        if self._lifespan is not None:
            raise ConfigurationError("Server lifespan is already set")
        from ._lifespan import opener

        self._lifespan = opener(manager, self)
        return manager

    def handle(self, message: dict[str, Any] | bytes | str) -> dict[str, Any] | None:
        """Serve one JSON-RPC message in this process: for tests, scripts and embedding.

        Tools run as they do when served: plain functions on threads, coroutines on an event loop in
        the background. Blocks until the answer is there; never call it on that loop.

        Args:
            message: A request or notification, decoded or as JSON text.

        Returns:
            The decoded response; None for a notification.
        """
        from . import _serving

        return _serving.handle(self._runtime(), message, self._lifespan)

    def run(
        self,
        transport: Literal["stdio", "http"] | None = None,
        *,
        host: str = "127.0.0.1",
        port: int = 8000,
        path: str = "/mcp",
        allowed_hosts: Sequence[str] | None = None,
        allowed_origins: Sequence[str] | None = None,
        threads: int | None = None,
        debug: bool = False,
        stdout_fd: int | None = None,
        on_started: Callable[[str], None] | None = None,
    ) -> None:
        """Serve until Ctrl-C, SIGTERM or the end of input; block meanwhile.

        Args:
            transport: ``stdio`` or ``http``. None means stdio when standard input is a pipe; on a
                terminal it prints what to type instead.
            host: Address to bind, for HTTP.
            port: Port to bind, for HTTP; 0 for any.
            path: Path of the endpoint, for HTTP.
            allowed_hosts: ``Host`` names accepted beside the loopback ones.
            allowed_origins: ``Origin`` values accepted beside the loopback ones.
            threads: Most threads for plain functions; None for the server's own setting.
            debug: Show exceptions of tools to the client.
            stdout_fd: The protocol's descriptor, when standard output was taken already.
            on_started: Called with the URL, or ``stdio``, once it is served.

        Raises:
            ConfigurationError: If an option cannot hold.
            OSError: If the address cannot be bound, or the transport fails.
        """
        from . import _serving

        if transport is None:
            if sys.stdin is not None and sys.stdin.isatty():
                print(_serving.usage(self.name), file=sys.stderr)
                return
            transport = "stdio"
        if transport == "stdio":
            # Before anything else: what is printed from here on must not reach the client.
            protocol = _serving.take_stdout() if stdout_fd is None else stdout_fd
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
                signals=True,
                on_started=on_started,
            )
        else:
            raise ConfigurationError('Server transport must be "stdio" or "http"')
        _serving.run(self._runtime(), start, self._lifespan)

    async def serve(
        self,
        *,
        host: str = "127.0.0.1",
        port: int = 8000,
        path: str = "/mcp",
        allowed_hosts: Sequence[str] | None = None,
        allowed_origins: Sequence[str] | None = None,
        on_started: Callable[[str], None] | None = None,
    ) -> None:
        """Serve HTTP on the running loop until cancelled. Signals stay the caller's.

        Args:
            host: Address to bind.
            port: Port to bind; 0 for any.
            path: Path of the endpoint.
            allowed_hosts: ``Host`` names accepted beside the loopback ones.
            allowed_origins: ``Origin`` values accepted beside the loopback ones.
            on_started: Called with the URL once it is served.

        Raises:
            ConfigurationError: If an option cannot hold.
            OSError: If the address cannot be bound, or the transport fails.
        """
        from . import _serving

        runtime = self._runtime()
        start = _serving.http(
            runtime,
            host=host,
            port=port,
            path=path,
            allowed_hosts=allowed_hosts,
            allowed_origins=allowed_origins,
            on_started=on_started,
        )
        await _serving.serve(runtime, start, self._lifespan)

    def _runtime(self, threads: int | None = None, debug: bool = False) -> Runtime:
        """Give the frozen server, made at the first call."""
        if self._made is None:
            from ._snodo import Runtime

            settings, specs = self._freeze()
            if threads is not None:
                settings["threads"] = _options.count("threads", threads)
            settings["debug"] = settings["debug"] or debug
            self._made = Runtime(settings, specs)
        return self._made

    def _declare(self, function: Any, options: dict[str, Any], frame: FrameType) -> Any:
        self._refuse_frozen()
        from .decorators import declare

        declaration: Declaration = declare(function, options, frame)
        assert declaration.spec is not None, "only a lone decorator leaves a method open"
        self._register(function, declaration.spec)
        return function

    def _add(self, definition: Any, frame: FrameType) -> None:
        from ._tool import Tool, registered

        if isinstance(definition, type):
            if not (issubclass(definition, Tool) or hasattr(definition, "call")):
                raise ConfigurationError(
                    f"{definition.__qualname__} is no tool: derive it from snodo.Tool"
                )
            if self._has(definition):
                return
            try:
                instance = definition()
            except TypeError as error:
                raise ConfigurationError(
                    f"tool {definition.__qualname__} cannot be made without arguments: add an"
                    " instance of it"
                ) from error
            self._register(definition, registered(instance))
            return
        declaration = _mark(definition)
        if declaration is not None:
            self._register(definition, _spec(definition, declaration, frame))
        elif isinstance(definition, Tool) or hasattr(definition, "call"):
            self._register(definition, registered(definition))
        else:
            name = getattr(definition, "__qualname__", type(definition).__qualname__)
            raise ConfigurationError(
                f"{name} is no tool: decorate it with @snodo.tool, or use server.tool"
            )

    def _register(self, subject: Any, spec: ToolSpec) -> None:
        taken = self._tools.get(spec.name)
        if taken is not None:
            # Bound methods are made anew at every access and compare equal.
            if taken[0] is subject or (callable(subject) and taken[0] == subject):
                return
            raise ConfigurationError(
                f'tool name "{spec.name}" is already registered by {_shown(taken[0])}'
                f" ({taken[1].where})"
            )
        self._tools[spec.name] = (subject, spec)

    def _has(self, subject: Any) -> bool:
        return any(known is subject for known, _ in self._tools.values())

    def _refuse_frozen(self) -> None:
        if self._frozen:
            raise ConfigurationError(
                f"Server {self.name!r} is in use already: add everything before it is served"
            )

    def _freeze(self) -> tuple[dict[str, Any], list[ToolSpec]]:
        """Let nothing be added any more, and give what the runtime is made of."""
        self._frozen = True
        return self._settings(), self._specs()

    def _settings(self) -> dict[str, Any]:
        """Give the policies as plain values.

        Caches are ``(ttl_ms, scope)``; times are seconds.
        """
        return {
            "server_info": dict(self._info),
            "instructions": self._instructions,
            "validator": self._validator if isinstance(self._validator, str) else "custom",
            "page_size": self._page_size,
            "tools_cache": (self._cache.ttl_ms, self._cache.scope),
            "discover_cache": (self._discover_cache.ttl_ms, self._discover_cache.scope),
            "limits": dict(self._limits),
            "timeout": self._timeout,
            "threads": self._threads,
            "debug": self._debug,
            "protocols": list(self._protocols),
        }

    def _specs(self) -> list[ToolSpec]:
        """Give the tools, held to the application's own validator if there is one."""
        specs = [spec for _, spec in self._tools.values()]
        if isinstance(self._validator, str):
            return specs
        from ._validator import held

        return [held(spec, self._validator) for spec in specs]


def _mark(definition: Any) -> Declaration | None:
    from ._declaration import MARK

    found: Declaration | None = getattr(definition, MARK, None)
    return found


def _spec(definition: Any, declaration: Declaration, frame: FrameType) -> ToolSpec:
    """Give the spec of what carries a declaration: declared itself, bound, or wrapped."""
    if declaration.spec is not None and declaration.subject is definition:
        return declaration.spec
    from ._callable import is_method
    from ._declaration import function_spec

    if is_method(definition):
        raise ConfigurationError(
            f"{definition.__qualname__} is a method without an instance: add it from one,"
            f" server.add(instance.{definition.__name__})"
        )
    return function_spec(definition, declaration.options, frame)


def _shown(subject: Any) -> str:
    cls = subject if hasattr(subject, "__qualname__") else type(subject)
    return f"{cls.__module__}.{cls.__qualname__}"
