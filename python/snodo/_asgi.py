"""`server.asgi()`: the HTTP endpoint as an ASGI 3 application, alone or within another one."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import threading
from contextlib import asynccontextmanager
from contextvars import Context
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from . import _options
from ._guest import Guest
from .errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping, Sequence

    from ._snodo import Exchange, Hosted, Porter
    from .server import Server

    Message = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]

_log = logging.getLogger("snodo")

# One for all applications: it is held for a moment, once for each.
_making = threading.Lock()


def application(
    server: Server,
    *,
    path: str,
    allowed_hosts: Sequence[str] | None,
    allowed_origins: Sequence[str] | None,
    legacy_sse: bool,
) -> App:
    """Make the application; the server is built when it is first used.

    Raises:
        ConfigurationError: If an option cannot hold.
    """
    from ._snodo import check_hosted

    options: dict[str, Any] = {
        "path": _options.text("path", path),
        "allowed_hosts": _names("allowed_hosts", allowed_hosts),
        "allowed_origins": _names("allowed_origins", allowed_origins),
        "legacy_sse": legacy_sse,
    }
    check_hosted(**options)
    return App(server, options)


def _names(option: str, given: Sequence[str] | None) -> list[str]:
    """Give a list of names: the one given, or that of the environment."""
    if given is None:
        said = os.environ.get(f"SNODO_{option.upper()}", "")
        return [name.strip() for name in said.split(",") if name.strip()]
    if isinstance(given, str):
        raise ConfigurationError(f"{option} must be a list of strings, not one string")
    return list(given)


class App:
    """An ASGI 3 application that serves one server's endpoint.

    Nothing has to be started: the first request, or the host's lifespan if it reaches us, does it.
    """

    def __init__(self, server: Server, options: dict[str, Any]) -> None:
        self._server = server
        self._options = options
        self._hosted: Hosted | None = None
        self._porters: WeakKeyDictionary[asyncio.AbstractEventLoop, Porter] = WeakKeyDictionary()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve one connection, or the life of the host.

        Raises:
            RuntimeError: If the scope is of no type that ASGI has.
        """
        kind = scope["type"]
        if kind == "http":
            await self._http(scope, receive, send)
        elif kind == "lifespan":
            await self._live(receive, send)
        elif kind == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1000})
        else:
            raise RuntimeError(f"snodo serves no ASGI scope of type {kind!r}")

    @asynccontextmanager
    async def lifespan(self, _app: object = None) -> AsyncIterator[None]:
        """Surround the host's life: ``FastAPI(lifespan=mcp.lifespan)``, or within one of your own.

        Only a server whose lifespan must be left in time when the process is told to end needs it.

        Raises:
            LifespanError: If the server's lifespan raises.
        """
        await self._begin()
        try:
            yield
        finally:
            await self._end()

    async def _http(self, scope: Message, receive: Receive, send: Send) -> None:
        try:
            hosted, porter = self._ready() or await self._begin()
            exchange = hosted.begin(porter, scope)
        except Exception as error:
            _log.error("%s", error, exc_info=error)
            await _fail(send)
            return
        loop = asyncio.get_running_loop()
        listening = loop.create_task(_listen(exchange, receive))
        begun = False
        try:
            while (messages := exchange.take()) is not None:
                for message in messages:
                    begun = True
                    if message.get("more_body"):
                        async with asyncio.timeout(hosted.write_timeout):
                            await send(message)
                    else:
                        await send(message)
                if not messages:
                    await exchange.coming(loop.create_future())
            if not begun:  # middlewares insist on a response, whether or not anybody waits for it
                await send({"type": "http.response.start", "status": 204, "headers": []})
                await send({"type": "http.response.body", "body": b""})
        except OSError as error:
            _log.debug("a client has gone: %s", error)
        finally:
            exchange.close()
            listening.cancel()

    def _ready(self) -> tuple[Hosted, Porter] | None:
        """Give what serves requests on the running loop, if all of it is there."""
        porter = self._porters.get(asyncio.get_running_loop())
        hosted, guest = self._hosted, self._server._guest
        if hosted is None or porter is None or guest is None or not guest.lives:
            return None
        return hosted, porter

    async def _begin(self) -> tuple[Hosted, Porter]:
        """Do what has to be done before the first request on a loop."""
        from ._snodo import Hosted, Porter

        loop = asyncio.get_running_loop()
        runtime = self._server._offering.runtime()
        with _making:
            guest = self._server._guest
            if guest is None:
                guest = self._server._guest = Guest(runtime, self._server._lifespan)
            hosted = self._hosted
            if hosted is None:
                hosted = self._hosted = Hosted(runtime, **self._options)
                hosted.end_streams_at(_handled_signals())
            porter = self._porters.get(loop)
            if porter is None:
                porter = self._porters[loop] = Context().run(Porter, loop)
        await guest.begin()
        return hosted, porter

    async def _end(self) -> None:
        """Undo it: nobody asks any more."""
        loop = asyncio.get_running_loop()
        hosted, porter, guest = self._hosted, self._porters.get(loop), self._server._guest
        self._hosted = None
        if hosted is not None and porter is not None:
            over: asyncio.Future[None] = loop.create_future()
            hosted.drain(porter, over)
            await over
        if guest is not None:
            await guest.end()

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            kind = (await receive())["type"]
            step = self._begin if kind == "lifespan.startup" else self._end
            try:
                await step()
            except Exception as error:
                _log.error("%s", error, exc_info=error)
                await send({"type": f"{kind}.failed", "message": str(error)})
                return
            await send({"type": f"{kind}.complete"})
            if kind == "lifespan.shutdown":
                return


async def _listen(exchange: Exchange, receive: Receive) -> None:
    """Hand over the body, and hear whether the client leaves."""
    is_whole = False
    try:
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                exchange.close()
                return
            if is_whole:
                return  # a middleware that gives the body again and again, and never says more
            is_whole = not message.get("more_body", False)
            if not exchange.feed(message.get("body", b""), not is_whole) and not is_whole:
                return  # it has been refused
    except Exception as error:
        _log.debug("a client has gone: %s", error)
        exchange.close()


async def _fail(send: Send) -> None:
    """Answer a request that nothing can be done for; the log says why."""
    error = {"code": -32603, "message": "Internal error"}
    body = json.dumps({"jsonrpc": "2.0", "error": error}, separators=(",", ":")).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 500, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _handled_signals() -> list[int]:
    """Give the signals that tell this process to end, and that somebody handles in Python.

    Streams end when one comes: hosts wait for them before they tell anybody that they end. Where
    the system acts by itself it goes on doing so, which a handler of ours would prevent.
    """
    ends = (signal.SIGINT, signal.SIGTERM)
    return [number for number in ends if callable(signal.getsignal(number))]
