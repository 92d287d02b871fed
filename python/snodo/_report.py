"""What goes into the log: bugs of tools, under an id clients are told, and the transports' news."""

from __future__ import annotations

import logging
from secrets import token_hex

_logger = logging.getLogger("snodo")

# Bytes of one exception in the log: its text may hold whatever a tool was given.
_LONGEST = 64 * 1024


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
    _log_exception(exception, "%s %r failed (error id %s)", kind.lower(), name, identifier)
    return identifier


def crashed(actor: str, exception: BaseException, then: str) -> None:
    """Log what ended an actor.

    Args:
        actor: Its name.
        exception: What its handler raised.
        then: What comes of it.
    """
    _log_exception(exception, "actor %r failed%s", actor, then)


def stray(exception: BaseException, place: str) -> None:
    """Log an exception that nobody asked for and that ends nothing.

    Args:
        exception: What came.
        place: Where, and what comes of it.
    """
    _log_exception(exception, "stray %s %s", type(exception).__name__, place)


def refused(component: str, argument: str, said: str) -> None:
    """Log why the author's own check refused an argument: words that are not the caller's to read.

    Args:
        component: Whose argument it is, as ``tool 'search'``.
        argument: Its name, or its path.
        said: The words.
    """
    _logger.info("%s: argument %s was refused: %s", component, argument, bounded(said))


def unusual_name(kind: str, name: str, where: str) -> None:
    """Warn of a name that some clients refuse."""
    _logger.warning(
        "%s: %s %r: some clients refuse names that are not 1 to 128 of A-Z a-z 0-9 _ . -",
        where,
        kind,
        name,
    )


NEEDS_NOBODY = "require_scopes: needs names {!r}, which no component is called: it guards nothing"


def needs_nobody(names: list[str]) -> None:
    """Warn of scopes that are needed for components that there are not."""
    for name in names:
        _logger.warning("%s", NEEDS_NOBODY.format(name))


def text_of(exception: BaseException) -> str:
    """Give an exception's text, whatever its own code does when it is asked."""
    try:
        return str(exception)
    except Exception:
        return type(exception).__name__


def _log_exception(exception: BaseException, text: str, *parts: object) -> None:
    """Log at ERROR with a traceback of bounded length.

    The record holds the exception too, for handlers that look at it themselves.
    """
    if not _logger.isEnabledFor(logging.ERROR):
        return
    told = (type(exception), exception, exception.__traceback__)
    record = _logger.makeRecord(_logger.name, logging.ERROR, __file__, 0, text, parts, told)
    record.exc_text = bounded(_traceback(exception))
    _logger.handle(record)


def _traceback(exception: BaseException) -> str:
    import traceback

    try:
        return "".join(traceback.format_exception(exception)).rstrip("\n")
    except Exception:  # whatever an exception's own code may do
        return f"{type(exception).__name__}, whose traceback cannot be told"


def bounded(text: str) -> str:
    """Cut a text out of the application's hands to what a log can take, and say so."""
    data = text.encode("utf-8", "backslashreplace")
    if len(data) <= _LONGEST:
        return text
    half = _LONGEST // 2
    head, tail = (part.decode(errors="ignore") for part in (data[:half], data[-half:]))
    return f"{head}\n[{len(data) - 2 * half} bytes cut]\n{tail}"
