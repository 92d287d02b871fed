"""`snodo serve`: this process serves, or watches over others that do."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING, Any

from ._console import FAILED, Misuse, complain, take_stdout
from ._flags import SERVE_FLAGS
from ._target import Target

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

# Flags that say where and to whom HTTP is served.
_OF_ADDRESS = ("host", "port", "path", "allow_host", "allow_origin", "legacy_sse", "metrics")
# Seconds that plain functions get to end once the server has.
_ENDING = 0.3


def serve(options: argparse.Namespace) -> int:
    """Serve until told to end, and give the code to exit with.

    Raises:
        Misuse: If a flag or variable is wrong.
    """
    from . import _worker

    try:
        worker = _worker.taken()
    except ValueError as error:
        raise Misuse(str(error)) from None
    flags = {flag.name: flag.value(options) for flag in SERVE_FLAGS}
    _refuse_mixtures(options, flags)
    if worker is None and (flags["workers"] > 1 or flags["reload"]):
        return _serve_by_others(options, flags)
    # Before the user's module: whatever it prints while it is imported must not reach the client.
    stdout_fd = take_stdout() if flags["stdio"] else None
    server = Target(options.target).server()
    server._worker = worker
    offering = server._offering
    offering.watch(flags["metrics"], flags["access_log"])

    from . import _logging, _start_line

    log = _logging.configure(
        flags["log_level"],
        flags["log_format"],
        pid=worker is not None,
        access=offering.settings.access_log,
    )

    def started(url: str) -> None:
        lines = [(_start_line.start_line(offering, url), False)]
        private = flags["stdio"] or flags["uds"]
        exposed = None if private else _start_line.exposed(offering, url)
        if exposed is not None:
            lines.append((exposed, True))
        if worker is not None:
            limits = offering.settings.limits
            worker.tell(lines, limits.get("drain_timeout", _worker.DRAINING))
            return
        for line, warning in lines:
            log.say(line, warning=warning)

    try:
        if stdout_fd is not None:
            server.run(
                transport="stdio",
                threads=flags["threads"],
                debug=flags["debug"],
                stdout_fd=stdout_fd,
                on_started=started,
            )
        else:
            server.run(
                transport="http",
                **({} if flags["uds"] else {"host": flags["host"], "port": flags["port"]}),
                **_of_http(flags),
                threads=flags["threads"],
                debug=flags["debug"],
                on_started=started,
            )
    except OSError as error:
        return _cannot_serve(error, flags)
    finally:
        if offering.telling is not None:
            offering.telling.end()
        log.flush()
    if not offering.runtime().end_threads(_ENDING):
        _end_at_once()
    return 0


def _refuse_mixtures(options: argparse.Namespace, flags: dict[str, Any]) -> None:
    """Refuse flags that exclude each other.

    Raises:
        Misuse: two of them do.
    """
    tls = [name for name in flags if name.startswith("ssl_") and flags[name] is not None]
    if flags["stdio"]:
        set_anywhere = ["reload", "uds", *tls] + ["workers"] * (flags["workers"] > 1)
        # Variables may be meant for what else is served in the same environment.
        given = [name for name in _OF_ADDRESS if getattr(options, name) is not None]
        for name in (*set_anywhere, *given):
            if flags[name] is not None and flags[name] is not False:
                raise Misuse(f"{_flag(name)} is for HTTP, and --stdio serves no HTTP")
    if flags["reload"] and flags["workers"] > 1:
        raise Misuse("--reload is for development and starts one process: leave --workers out")
    if flags["reload_dir"] and not flags["reload"]:
        raise Misuse("--reload-dir says nothing without --reload")
    for folder in flags["reload_dir"] or ():
        if not os.path.isdir(folder):
            raise Misuse(f"--reload-dir: there is no folder {folder}")
    if flags["uds"] is not None:
        for name in ("host", "port"):
            if getattr(options, name) is not None:
                raise Misuse(f"--uds takes the place of --{name}: give one of them")
        if tls:
            raise Misuse(f"{_flag(tls[0])}: a Unix socket speaks no TLS; the proxy before it does")
    if tls and flags["ssl_certfile"] is None:
        raise Misuse(f"{_flag(tls[0])} says nothing without --ssl-certfile")


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _of_http(flags: Mapping[str, Any]) -> dict[str, Any]:
    """Give what `Server.run` is told for HTTP, but for host and port."""
    return {
        **{name: flags[name] for name in ("path", "legacy_sse", "uds")},
        **{name: value for name, value in flags.items() if name.startswith("ssl_")},
        "allowed_hosts": flags["allow_host"],
        "allowed_origins": flags["allow_origin"],
    }


def _serve_by_others(options: argparse.Namespace, flags: dict[str, Any]) -> int:
    """Let other processes serve, and watch over them."""
    from . import _fleet, _logging
    from ._http_options import http_options

    target = Target(options.target)
    watcher = None
    if flags["reload"]:
        from ._reload import Watcher

        home = os.getcwd() if target.path is None else os.path.dirname(target.path)
        watcher = Watcher(flags["reload_dir"] or [home])
    log = _logging.configure(flags["log_level"], flags["log_format"], pid=True)
    try:
        http = http_options(host=flags["host"], port=flags["port"], **_of_http(flags))
        return _fleet.serve(options.command_line, flags["workers"], http, log=log, watcher=watcher)
    except OSError as error:
        return _cannot_serve(error, flags)
    finally:
        log.flush()


def _cannot_serve(error: OSError, flags: dict[str, Any]) -> int:
    place = "over standard input and output" if flags["stdio"] else "over HTTP"
    return complain(f"cannot serve {place}: {error.strerror or error}", FAILED)


def _end_at_once() -> None:
    """End the process though a plain function runs on, after everything that is done at exit.

    Taking the interpreter down would end that function's thread by force, and the process with it.
    """
    import atexit

    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
    os._exit(0)
