"""The flags of the command line: what each may say, and which variable says it otherwise."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ._console import Misuse

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

_LEVELS = ("debug", "info", "warning", "error", "critical")


class Flag:
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
            Misuse: the text makes no sense; the message names where it came from.
        """
        given, source = getattr(options, self.name, None), self.flag
        if given is None:
            given, source = os.environ.get(self.variable) or None, self.variable
        if given is None:
            return self.default
        try:
            return self.read(",".join(given) if isinstance(given, list) else given)
        except ValueError as error:
            raise Misuse(f"{source}: {error}") from None


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


DEBUG = Flag("--debug", False, _switch, "show exceptions of tools to the client, and tracebacks")
SERVE_FLAGS = (
    Flag("--stdio", False, _switch, "serve on standard input and output instead of HTTP"),
    Flag("--host", "127.0.0.1", _text, "address to bind (127.0.0.1)", metavar="ADDRESS"),
    Flag("--port", 8000, _number(0, 65535), "port to bind, 0 for any (8000)", metavar="N"),
    Flag("--path", "/mcp", _path, "path of the endpoint (/mcp)", metavar="PATH"),
    Flag("--threads", None, _number(1, 10_000), "most threads for plain functions", metavar="N"),
    Flag(
        "--allow-host",
        None,
        _names,
        "Host header to accept beside the loopback names; repeatable",
        metavar="NAME",
        variable="SNODO_ALLOWED_HOSTS",
    ),
    Flag(
        "--allow-origin",
        None,
        _names,
        "Origin header to accept beside the loopback ones; repeatable",
        metavar="ORIGIN",
        variable="SNODO_ALLOWED_ORIGINS",
    ),
    Flag(
        "--legacy-sse",
        False,
        _switch,
        "serve hosts that only know HTTP+SSE of 2024-11-05 too, at /sse and /messages",
    ),
    Flag("--workers", 1, _number(1, 256), "processes that serve together (1)", metavar="N"),
    Flag("--reload", False, _switch, "start again when Python files change; for development"),
    Flag(
        "--reload-dir",
        None,
        _names,
        "folder to watch in place of the target's; repeatable",
        metavar="FOLDER",
    ),
    Flag(
        "--uds", None, _text, "Unix socket to serve on, in place of host and port", metavar="PATH"
    ),
    Flag("--ssl-certfile", None, _text, "certificate in PEM form: serves https", metavar="FILE"),
    Flag("--ssl-keyfile", None, _text, "its private key, if in another file", metavar="FILE"),
    Flag(
        "--ssl-keyfile-password",
        None,
        _text,
        "what opens the key; better said by the variable",
        metavar="TEXT",
    ),
    Flag(
        "--ssl-ca-certs",
        None,
        _text,
        "certificates of authorities: clients need one of theirs",
        metavar="FILE",
    ),
    Flag("--log-level", "info", _choice(*_LEVELS), ", ".join(_LEVELS), metavar="LEVEL"),
    Flag("--log-format", "text", _choice("text", "json"), "text or json", metavar="FORMAT"),
    Flag(
        "--metrics",
        False,
        _switch,
        "serve metrics for Prometheus at /metrics",
    ),
    Flag("--access-log", False, _switch, "log each message as a line of JSON"),
    DEBUG,
)
