"""What goes into the log: bugs of tools, under an id clients are told, and the transports' news."""

from __future__ import annotations

import logging
from secrets import token_hex

_logger = logging.getLogger("snodo")


def tell(level: int, text: str) -> None:
    """Log a line of the transports."""
    _logger.log(level, "%s", text)


def report(kind: str, name: str, exception: BaseException) -> str:
    """Log an exception with its traceback and give the id it is logged under.

    Args:
        kind: What raised it: ``Tool``, ``Resource``, ``Prompt`` or ``Completion``.
        name: Its name; of a completion, its component's.
        exception: What was raised.
    """
    identifier = token_hex(4)
    _logger.error(
        "%s %r failed (error id %s)",
        kind.lower(),
        name,
        identifier,
        exc_info=(type(exception), exception, exception.__traceback__),
    )
    return identifier
