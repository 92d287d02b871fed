"""What a server says of itself once it is served: what, where, and what is dangerous about it."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._offering import Offering


def start_line(offering: Offering, url: str) -> str:
    """Say what is served, and where."""
    settings = offering.settings
    revisions = ", ".join(offering.runtime().versions)
    return f"{settings.name} {settings.version} on {url} (MCP {revisions}; {offering.counts()})"


def exposed(offering: Offering, url: str) -> str | None:
    """Say what is dangerous about serving there, if anything is."""
    if offering.settings.authenticate is not None or "://127." in url or "://[::1]" in url:
        return None
    if url.startswith("http://unix:") and url.count(":") > 2:  # a socket of this machine
        return None
    from urllib.parse import urlsplit

    host = urlsplit(url).hostname
    return (
        f"{host} is reachable from other machines and nothing asks callers who they are: give"
        " Server(authenticate=...), put a proxy that does in front, or bind 127.0.0.1"
    )


def say(offering: Offering, url: str) -> None:
    """Say both on standard error."""
    _print(start_line(offering, url))
    warn(offering, url)


def warn(offering: Offering, url: str) -> None:
    """Warn of a URL that anybody may use."""
    danger = exposed(offering, url)
    if danger is not None:
        _print(f"warning: {danger}")


def _print(text: str) -> None:
    if sys.stderr is not None:  # where `print` would take standard output instead
        print(f"snodo: {text}", file=sys.stderr, flush=True)
