"""The command line: `serve`, `inspect`, `call` and `check` a server from a shell.

Reads flags and environment, finds the server, calls it, prints. Never decides what MCP means.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from ._target import DEFAULTS, Target, TargetError, where

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ._snodo import HttpOptions
    from .server import Server

__all__ = ["main"]

_FAILED = 1
_MISUSED = 2
_INTERRUPTED = 130

# Seconds that plain functions get to end once the server has.
_ENDING = 0.3

_LEVELS = ("debug", "info", "warning", "error", "critical")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: the command line without the program's name; None means the process's own.

    Returns:
        The exit code: 0 done, 1 the server or a declaration failed, 2 misused or no such server,
        130 interrupted.
    """
    from . import _streams

    # First of all: whatever is opened later may get the number of a standard stream.
    _streams.fill()
    parser = _parser()
    options, unknown = parser.parse_known_args(arguments)
    options.command_line = list(sys.argv[1:] if arguments is None else arguments)
    if unknown:
        parser.chosen = options.command
        parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    if options.command is None:
        parser.print_help(sys.stderr)
        return _MISUSED
    try:
        return _run(options)
    except _Misuse as error:
        return _complain(str(error), _MISUSED)
    except KeyboardInterrupt:
        return _INTERRUPTED


class _Misuse(Exception):
    """A flag or variable is wrong; the text says which."""


def _run(options: argparse.Namespace) -> int:
    from .errors import ConfigurationError, DeclarationError, LifespanError

    debugging = _DEBUG.value(options)
    command: Callable[[argparse.Namespace], int] = options.run
    try:
        return command(options)
    except (TargetError, LifespanError, DeclarationError, ConfigurationError) as error:
        if debugging:
            import traceback

            traceback.print_exc()
        declared = isinstance(error, (DeclarationError, ConfigurationError))
        text = _one_line(error) if declared else str(error)
        return _complain(text, _MISUSED if isinstance(error, TargetError) else _FAILED)


# --- serve -------------------------------------------------------------------------------------


class _Flag:
    """An option of `serve`: its flag, its variable, and how its text is read."""

    def __init__(
        self,
        flag: str,
        default: Any,
        read: Callable[[str], Any],
        help: str,
        *,
        metavar: str | None = None,
        variable: str | None = None,
    ) -> None:
        self.flag = flag
        self.name = flag[2:].replace("-", "_")
        self.variable = variable or f"SNODO_{self.name.upper()}"
        self.default = default
        self.read = read
        self.metavar = metavar
        self.help = f"{help} [{self.variable}]"

    def add_to(self, parser: argparse.ArgumentParser) -> None:
        if self.read is _switch:
            parser.add_argument(self.flag, action="store_const", const="1", help=self.help)
        elif self.read is _names:
            parser.add_argument(self.flag, action="append", metavar=self.metavar, help=self.help)
        else:
            parser.add_argument(self.flag, metavar=self.metavar, help=self.help)

    def value(self, options: argparse.Namespace) -> Any:
        """Give the flag's value, else the variable's, else the default.

        Raises:
            _Misuse: the text makes no sense; the message names where it came from.
        """
        given, source = getattr(options, self.name, None), self.flag
        if given is None:
            given, source = os.environ.get(self.variable) or None, self.variable
        if given is None:
            return self.default
        try:
            return self.read(",".join(given) if isinstance(given, list) else given)
        except ValueError as error:
            raise _Misuse(f"{source}: {error}") from None


def _switch(text: str) -> bool:
    if text.lower() in ("1", "true", "yes", "on"):
        return True
    if text.lower() in ("0", "false", "no", "off"):
        return False
    raise ValueError(f"expected 1 or 0, got {text!r}")


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:  # a variable that nobody set, in the place of a name
        raise ValueError("expected a name, got nothing")
    return names


def _text(text: str) -> str:
    if not text:
        raise ValueError("expected a value, got nothing")
    return text


def _number(lowest: int, highest: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not (text.isascii() and text.isdigit() and lowest <= int(text[:12]) <= highest):
            raise ValueError(f"expected a whole number from {lowest} to {highest}, got {text!r}")
        return int(text)

    return read


def _choice(*choices: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text.lower() not in choices:
            raise ValueError(f"expected one of {', '.join(choices)}, got {text!r}")
        return text.lower()

    return read


def _path(text: str) -> str:
    if not text.startswith("/"):
        raise ValueError(f"expected a path that starts with /, got {text!r}")
    return text


_DEBUG = _Flag("--debug", False, _switch, "show exceptions of tools to the client, and tracebacks")
_SERVE_FLAGS = (
    _Flag("--stdio", False, _switch, "serve on standard input and output instead of HTTP"),
    _Flag("--host", "127.0.0.1", _text, "address to bind (127.0.0.1)", metavar="ADDRESS"),
    _Flag("--port", 8000, _number(0, 65535), "port to bind, 0 for any (8000)", metavar="N"),
    _Flag("--path", "/mcp", _path, "path of the endpoint (/mcp)", metavar="PATH"),
    _Flag("--threads", None, _number(1, 10_000), "most threads for plain functions", metavar="N"),
    _Flag(
        "--allow-host",
        None,
        _names,
        "Host header to accept beside the loopback names; repeatable",
        metavar="NAME",
        variable="SNODO_ALLOWED_HOSTS",
    ),
    _Flag(
        "--allow-origin",
        None,
        _names,
        "Origin header to accept beside the loopback ones; repeatable",
        metavar="ORIGIN",
        variable="SNODO_ALLOWED_ORIGINS",
    ),
    _Flag(
        "--legacy-sse",
        False,
        _switch,
        "serve hosts that only know HTTP+SSE of 2024-11-05 too, at /sse and /messages",
    ),
    _Flag("--workers", 1, _number(1, 256), "processes that serve together (1)", metavar="N"),
    _Flag("--reload", False, _switch, "start again when Python files change; for development"),
    _Flag(
        "--reload-dir",
        None,
        _names,
        "folder to watch in place of the target's; repeatable",
        metavar="FOLDER",
    ),
    _Flag(
        "--uds", None, _text, "Unix socket to serve on, in place of host and port", metavar="PATH"
    ),
    _Flag("--ssl-certfile", None, _text, "certificate in PEM form: serves https", metavar="FILE"),
    _Flag("--ssl-keyfile", None, _text, "its private key, if in another file", metavar="FILE"),
    _Flag(
        "--ssl-keyfile-password",
        None,
        _text,
        "what opens the key; better said by the variable",
        metavar="TEXT",
    ),
    _Flag(
        "--ssl-ca-certs",
        None,
        _text,
        "certificates of authorities: clients need one of theirs",
        metavar="FILE",
    ),
    _Flag("--log-level", "info", _choice(*_LEVELS), ", ".join(_LEVELS), metavar="LEVEL"),
    _Flag("--log-format", "text", _choice("text", "json"), "text or json", metavar="FORMAT"),
    _Flag(
        "--metrics",
        False,
        _switch,
        "serve metrics for Prometheus at /metrics",
    ),
    _Flag("--access-log", False, _switch, "log each message as a line of JSON"),
    _DEBUG,
)


def _serve(options: argparse.Namespace) -> int:
    from . import _worker

    try:
        worker = _worker.taken()
    except ValueError as error:
        raise _Misuse(str(error)) from None
    flags = {flag.name: flag.value(options) for flag in _SERVE_FLAGS}
    _refuse_mixtures(options, flags)
    if worker is None and (flags["workers"] > 1 or flags["reload"]):
        return _serve_by_others(options, flags)
    # Before the user's module: whatever it prints while it is imported must not reach the client.
    stdout_fd = _take_stdout() if flags["stdio"] else None
    server = _load(options.target)
    server._worker = worker
    server._watch(flags["metrics"], flags["access_log"])

    from . import _logging

    log = _logging.configure(
        flags["log_level"],
        flags["log_format"],
        pid=worker is not None,
        access=server._access_log,
    )

    def started(url: str) -> None:
        lines = [(server._start_line(url), False)]
        exposed = None if flags["stdio"] or flags["uds"] else server._exposed(url)
        if exposed is not None:
            lines.append((exposed, True))
        if worker is not None:
            worker.tell(lines, server._limits.get("drain_timeout", _worker.DRAINING))
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
                path=flags["path"],
                allowed_hosts=flags["allow_host"],
                allowed_origins=flags["allow_origin"],
                legacy_sse=flags["legacy_sse"],
                uds=flags["uds"],
                ssl_certfile=flags["ssl_certfile"],
                ssl_keyfile=flags["ssl_keyfile"],
                ssl_keyfile_password=flags["ssl_keyfile_password"],
                ssl_ca_certs=flags["ssl_ca_certs"],
                threads=flags["threads"],
                debug=flags["debug"],
                on_started=started,
            )
    except OSError as error:
        return _cannot_serve(error, flags)
    finally:
        if server._untold is not None:
            server._untold()
        log.flush()
    if not server._runtime().end_threads(_ENDING):
        _end_at_once()
    return 0


def _refuse_mixtures(options: argparse.Namespace, flags: dict[str, Any]) -> None:
    """Refuse flags that exclude each other.

    Raises:
        _Misuse: two of them do.
    """
    tls = [name for name in flags if name.startswith("ssl_") and flags[name] is not None]
    if flags["stdio"]:
        given = ["reload", "uds", *tls] + ["workers"] * (flags["workers"] > 1)
        for name in given:
            if flags[name]:
                raise _Misuse(f"{_flag(name)} is for HTTP, and --stdio serves no HTTP")
    if flags["reload"] and flags["workers"] > 1:
        raise _Misuse("--reload is for development and starts one process: leave --workers out")
    if flags["reload_dir"] and not flags["reload"]:
        raise _Misuse("--reload-dir says nothing without --reload")
    for folder in flags["reload_dir"] or ():
        if not os.path.isdir(folder):
            raise _Misuse(f"--reload-dir: there is no folder {folder}")
    if flags["uds"] is not None:
        for name in ("host", "port"):
            if getattr(options, name) is not None:
                raise _Misuse(f"--uds takes the place of --{name}: give one of them")
        if tls:
            raise _Misuse(f"{_flag(tls[0])}: a Unix socket speaks no TLS; the proxy before it does")
    if tls and flags["ssl_certfile"] is None:
        raise _Misuse(f"{_flag(tls[0])} says nothing without --ssl-certfile")


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _serve_by_others(options: argparse.Namespace, flags: dict[str, Any]) -> int:
    """Let other processes serve, and watch over them."""
    from . import _fleet, _logging
    from ._serving import tls_files

    target = Target(options.target)
    watcher = None
    if flags["reload"]:
        from ._reload import Watcher

        home = os.getcwd() if target.path is None else os.path.dirname(target.path)
        watcher = Watcher(flags["reload_dir"] or [home])
    log = _logging.configure(flags["log_level"], flags["log_format"], pid=True)
    try:
        http: HttpOptions = {
            "host": flags["host"],
            "port": flags["port"],
            "path": flags["path"],
            "allowed_hosts": flags["allow_host"] or [],
            "allowed_origins": flags["allow_origin"] or [],
            "legacy_sse": flags["legacy_sse"],
            "uds": flags["uds"],
            "tls": tls_files(
                flags["ssl_certfile"],
                flags["ssl_keyfile"],
                flags["ssl_keyfile_password"],
                flags["ssl_ca_certs"],
            ),
        }
        return _fleet.serve(options.command_line, flags["workers"], http, log=log, watcher=watcher)
    except OSError as error:
        return _cannot_serve(error, flags)
    finally:
        log.flush()


def _cannot_serve(error: OSError, flags: dict[str, Any]) -> int:
    place = "over standard input and output" if flags["stdio"] else "over HTTP"
    return _complain(f"cannot serve {place}: {error.strerror or error}", _FAILED)


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


def _take_stdout() -> int:
    from ._streams import take_stdout

    try:
        return take_stdout()
    except OSError:
        raise _Misuse("standard output is closed") from None


# --- inspect, call, check ----------------------------------------------------------------------


def _inspect(options: argparse.Namespace) -> int:
    out = _Output()
    from . import _catalogue

    offer = _offer(_load(options.target))
    tell = {
        "text": _catalogue.as_text,
        "json": _catalogue.as_json,
        "markdown": _catalogue.as_markdown,
    }[options.format]
    out.print(tell(offer))
    return 0


def _call(options: argparse.Namespace) -> int:
    out = _Output()
    from . import _calling
    from ._asking import RefusedError

    server = _load(options.target)
    if _DEBUG.value(options):
        server._runtime(debug=True)
    try:
        result, text = _calling.called(server, options)
    except _calling.MisuseError as error:
        raise _Misuse(str(error)) from None
    except RefusedError as error:
        return _complain(_calling.refusal(error, options), _FAILED)
    if options.format == "json":
        import json

        text = json.dumps(result, ensure_ascii=False, indent=2)
    elif (unfinished := _calling.unfinished(result, options)) is not None:
        return _complain(unfinished, _FAILED)
    out.print(text)
    return _FAILED if result.get("isError") else 0


def _check(options: argparse.Namespace) -> int:
    out = _Output()
    from . import _catalogue, _declarations

    target = Target(options.target)
    errors: list[_declarations.Wrong] = []
    module = target.load(lambda module, path: errors.extend(_declarations.execute(module, path)))
    if errors:
        for error in errors:
            out.print(_one_line(error))
        count = len(errors)
        return _complain(f"{count} wrong declaration{'' if count == 1 else 's'}", _FAILED)
    out.print(_catalogue.as_text(_offer(target.find(module))))
    return 0


def _offer(server: Server) -> dict[str, Any]:
    from . import _catalogue
    from ._asking import RefusedError
    from .errors import ConfigurationError

    try:
        return _catalogue.catalogue(server)
    except RefusedError as error:
        raise ConfigurationError(
            f"Server {server.name!r} cannot tell what it has: {error}"
        ) from None


class _Output:
    """Standard output for what a command prints, kept apart from what the user's code prints."""

    def __init__(self) -> None:
        self._file = open(_take_stdout(), "w", encoding="utf-8", errors="backslashreplace")  # noqa: SIM115

    def print(self, text: str) -> None:
        try:
            print(text, file=self._file, flush=True)
        except BrokenPipeError:
            # `snodo inspect … | head` has seen enough.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._file.fileno())


# --- shared ------------------------------------------------------------------------------------


def _load(text: str | None) -> Server:
    target = Target(text)
    return target.find(target.load())


def _one_line(error: Exception) -> str:
    """Say what is wrong and where; a DeclarationError says so itself."""
    text = " ".join(str(error).split())
    return text if hasattr(error, "where") else f"{where(error.__traceback__)}{text}"


def _complain(text: str, code: int) -> int:
    print(f"snodo: {text}", file=sys.stderr, flush=True)
    return code


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_args: object, **_options: object) -> None:
        from . import __version__

        print(f"snodo {__version__}")
        parser.exit()


class _Help(argparse.HelpFormatter):
    """Help as wide as the terminal, found out without `shutil`, which takes longer to import."""

    def __init__(self, prog: str) -> None:
        try:
            columns = os.get_terminal_size(2).columns
        except OSError:
            columns = 80
        super().__init__(prog, width=columns - 2)


class _Parser(argparse.ArgumentParser):
    """A parser that names what may have been meant."""

    chosen: str | None = None
    """The command whose words may be meant."""

    def __init__(self, **options: Any) -> None:
        # What begins like a flag today may begin like two tomorrow.
        super().__init__(formatter_class=_Help, allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        from difflib import get_close_matches

        meant = None
        if "invalid choice: " in message or "unrecognized arguments: " in message:
            wrong = message.partition(": ")[2].removeprefix("invalid choice: ").split()[0]
            near = get_close_matches(wrong.partition("=")[0].strip("'"), self._words(), 1)
            meant = near[0] if near else None
        super().error(f"{message}; did you mean {meant}?" if meant else message)

    def _words(self) -> list[str]:
        """Give every command, and the flags and choices of the chosen one."""
        words: list[str] = []
        for action in self._actions:
            words += action.option_strings
            if isinstance(action.choices, dict):
                chosen = action.choices.get(self.chosen)
                words += [*action.choices, *(chosen._words() if chosen else ())]
            elif action.choices:
                words += map(str, action.choices)
        return words


def _parser() -> _Parser:
    parser = _Parser(prog="snodo", description="Serve and inspect MCP servers.")
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")

    def command(name: str, run: Callable[..., int], help: str, *, target: str | None = "?") -> Any:
        added = commands.add_parser(name, help=help)
        added.add_argument(
            "target",
            nargs=target,
            metavar="TARGET",
            help="app.py, app.py:name or package.module:name; "
            f"absent: the first of {', '.join(DEFAULTS)}",
        )
        added.set_defaults(run=run)
        return added

    serve = command("serve", _serve, "serve over HTTP, or over stdio with --stdio")
    for flag in _SERVE_FLAGS:
        flag.add_to(serve)

    inspect = command("inspect", _inspect, "print what a server offers, and what is missing")
    inspect.add_argument("--format", choices=("text", "json", "markdown"), default="text")

    call = command("call", _call, "call a tool once and print its result", target=None)
    call.add_argument("tool", metavar="TOOL", nargs="?")
    call.add_argument("arguments", nargs="*", metavar="key=value", help="an argument of the tool")
    call.add_argument("--read", metavar="URI", help="read a resource instead")
    call.add_argument(
        "--prompt", nargs="+", metavar=("NAME", "key=value"), help="get a prompt instead"
    )
    call.add_argument("--json", metavar="OBJECT", help="arguments as JSON; - reads standard input")
    call.add_argument("--format", choices=("text", "json"), default="text", help="of the result")

    check = command("check", _check, "import a server and print every wrong declaration")
    for quiet in (inspect, call, check):
        _DEBUG.add_to(quiet)
    return parser
