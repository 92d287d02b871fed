"""The command line: `serve`, `inspect`, `call` and `check` a server from a shell.

Reads flags and environment, finds the server, calls it, prints. Never decides what MCP means.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from ._command_line import Parser, Version
from ._console import FAILED, INTERRUPTED, MISUSED, Misuse, Output, complain
from ._flags import DEBUG, SERVE_FLAGS
from ._target import DEFAULTS, Target, TargetError, where

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .server import Server

__all__ = ["main"]


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
        return MISUSED
    try:
        return _run(options)
    except Misuse as error:
        return complain(str(error), MISUSED)
    except KeyboardInterrupt:
        return INTERRUPTED


def _run(options: argparse.Namespace) -> int:
    from .errors import ConfigurationError, DeclarationError, LifespanError

    debugging = DEBUG.value(options)
    command: Callable[[argparse.Namespace], int] = options.run
    try:
        return command(options)
    except (TargetError, LifespanError, DeclarationError, ConfigurationError) as error:
        if debugging:
            import traceback

            traceback.print_exc()
        declared = isinstance(error, (DeclarationError, ConfigurationError))
        text = _one_line(error) if declared else str(error)
        return complain(text, MISUSED if isinstance(error, TargetError) else FAILED)


def _serve(options: argparse.Namespace) -> int:
    from ._serve_command import serve

    return serve(options)


def _inspect(options: argparse.Namespace) -> int:
    out = Output()
    from . import _catalogue

    offer = _offer(Target(options.target).server())
    tell = {
        "text": _catalogue.as_text,
        "json": _catalogue.as_json,
        "markdown": _catalogue.as_markdown,
    }[options.format]
    out.print(tell(offer))
    return 0


def _call(options: argparse.Namespace) -> int:
    out = Output()
    from . import _calling
    from ._asking import RefusedError

    server = Target(options.target).server()
    if DEBUG.value(options):
        server._offering.runtime(debug=True)
    try:
        result, text = _calling.called(server, options)
    except _calling.MisuseError as error:
        raise Misuse(str(error)) from None
    except RefusedError as error:
        return complain(_calling.refusal(error, options), FAILED)
    if options.format == "json":
        import json

        text = json.dumps(result, ensure_ascii=False, indent=2)
    elif (unfinished := _calling.unfinished(result, options)) is not None:
        return complain(unfinished, FAILED)
    out.print(text)
    return FAILED if result.get("isError") else 0


def _check(options: argparse.Namespace) -> int:
    out = Output()
    from . import _catalogue, _declarations

    target = Target(options.target)
    errors: list[_declarations.Wrong] = []
    module = target.load(lambda module, path: errors.extend(_declarations.execute(module, path)))
    if errors:
        for error in errors:
            out.print(_one_line(error))
        count = len(errors)
        return complain(f"{count} wrong declaration{'' if count == 1 else 's'}", FAILED)
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


def _one_line(error: Exception) -> str:
    """Say what is wrong and where; a DeclarationError says so itself."""
    text = " ".join(str(error).split())
    return text if hasattr(error, "where") else f"{where(error.__traceback__)}{text}"


def _parser() -> Parser:
    parser = Parser(prog="snodo", description="Serve and inspect MCP servers.")
    parser.add_argument("--version", action=Version, nargs=0, help="print the version")
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
    for flag in SERVE_FLAGS:
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
        DEBUG.add_to(quiet)
    return parser
