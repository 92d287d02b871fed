"""The bounds of a server by name, as `limits.rs` has them; what is none of them is refused."""

from __future__ import annotations

from ._misspelt import nearest
from ._options import count, seconds
from .errors import ConfigurationError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Names and kinds of `limits.rs`; times are in seconds here.
_COUNTS = (
    "body_bytes",
    "line_bytes",
    "json_depth",
    "integer_digits",
    "id_bytes",
    "cursor_bytes",
    "head_bytes",
    "connections",
    "streams",
    "running",
    "queued",
    "result_bytes",
    "input_rounds",
    "batch",
    "sessions",
    "replay_events",
    "replay_bytes",
)
_TIMES = (
    "head_timeout",
    "authenticate_timeout",
    "body_timeout",
    "write_timeout",
    "eof_timeout",
    "drain_timeout",
    "keep_alive_interval",
    "session_idle",
    "answer_timeout",
)


def checked_limits(value: Any) -> dict[str, int | float]:
    """Check the limits that differ from the defaults.

    Raises:
        ConfigurationError: If there is no such limit, or it is not above zero.
    """
    if not hasattr(value, "items"):
        raise ConfigurationError("Server limits must be a dict of names and numbers")
    limits: dict[str, int | float] = {}
    for name, number in value.items():
        if name == "queued" and type(number) is int and number == 0:
            limits[name] = 0  # no queue: a call without a place is refused at once
        elif name in _COUNTS:
            limits[name] = count(f"limits[{name!r}]", number)
        elif name in _TIMES:
            limits[name] = seconds(f"limits[{name!r}]", number)
        else:
            raise ConfigurationError(f"Server limits has no {name!r}; {_instead(name)}")
    return limits


def _instead(name: object) -> str:
    """Say what may have been meant by the name of a limit that there is not."""
    known = sorted((*_COUNTS, *_TIMES))
    if name in ("call_timeout", "timeout", "tool_timeout", "request_timeout"):
        return "how long a call may take is said by Server(timeout=...), or by its component"
    meant = nearest(str(name), known)
    return f"{meant}{' ' if meant else ''}there are {', '.join(known)}"
