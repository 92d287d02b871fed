"""What goes into the log: bugs of tools, under an id clients are told, and the transports' news."""

from __future__ import annotations

import logging
from secrets import token_hex

_logger = logging.getLogger("snodo")


def tell(level: int, text: str) -> None:
    """Log a line of the transports."""
    _logger.log(level, "%s", text)


def report(tool: str, exception: BaseException) -> str:
    """Log an exception with its traceback and give the id it is logged under."""
    identifier = token_hex(4)
    _logger.error(
        "tool %r failed (error id %s)",
        tool,
        identifier,
        exc_info=(type(exception), exception, exception.__traceback__),
    )
    return identifier
