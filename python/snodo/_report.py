"""Where unexpected exceptions go: into the log, under an id that the client is told."""

from __future__ import annotations

import logging
from secrets import token_hex

_logger = logging.getLogger("snodo")


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
