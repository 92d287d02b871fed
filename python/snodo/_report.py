"""Where unexpected exceptions go: into the log, under an id that the client is told."""

from __future__ import annotations

import logging
from secrets import token_hex

_logger = logging.getLogger("snodo")


def report(name: str, exception: BaseException, kind: str = "tool") -> str:
    """Log an exception with its traceback and give the id it is logged under.

    Args:
        name: Of the component that raised.
        exception: What it raised.
        kind: What it is: ``tool``, ``resource``, ``prompt`` or ``completion of prompt`` and such.
    """
    identifier = token_hex(4)
    _logger.error(
        "%s %r failed (error id %s)",
        kind,
        name,
        identifier,
        exc_info=(type(exception), exception, exception.__traceback__),
    )
    return identifier
