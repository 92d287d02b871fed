"""Ready-made middleware: time, room, rate, another try, memory, length.

Each has a state of its own for each component and each place in its list, so that one of them may
be used on several components. A refusal is an `isError` result of a tool, and error -32603 of a
resource or a prompt. What ``context.ask`` ends a run with, and cancellation, pass through them all.
"""

from __future__ import annotations

import sys
from time import monotonic
from typing import TYPE_CHECKING, Literal

from ._layers import Ready

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Never

    from ._definition import Site
    from ._snodo import Context

    Key = Callable[[Context], Any]

__all__ = ["cache", "concurrency", "rate_limit", "response_limit", "retry", "timeout"]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Never:
        """Say what is here instead of what other libraries have."""
        from ._elsewhere import missing_name

        raise missing_name(__name__, name)


def timeout(seconds: float = 5.0, **unknown: Never) -> Ready:
    """Give up waiting: ``Component timed out``.

    A coroutine is cancelled. A plain function runs on, on its thread, and nobody hears of it.

    Raises:
        DeclarationError: If it is no positive number, or something else is given.
    """
    _refuse_unknown("timeout", unknown)
    from ._limiting import Timeout

    return Timeout(_seconds("timeout", "seconds", seconds))


def concurrency(limit: int = 32, key: Key | None = None, **unknown: Never) -> Ready:
    """Let so many calls run at once, and refuse more: ``Component concurrency limit reached``.

    A plain function that a `timeout` inside of it gave up is not counted any more, though it runs:
    put the `timeout` outside.

    Args:
        limit: Most calls that run at once.
        key: Tells callers apart, each of whom has a limit of their own; None for one of them all.
            A string, or any other JSON value. If it raises: ``Component concurrency key failed``.
        **unknown: None: what is given beside these is refused.

    Raises:
        DeclarationError: If an option cannot hold, or there is none of its name.
    """
    _refuse_unknown("concurrency", unknown)
    from ._limiting import Concurrency

    return Concurrency(_count("concurrency", "limit", limit), _key("concurrency", key))


def rate_limit(
    limit: int = 60,
    window: float = 60.0,
    max_keys: int = 10_000,
    key: Key | None = None,
    method: Literal["fixed", "gcra"] = "fixed",
    *,
    burst: int | None = None,
    clock: Callable[[], float] = monotonic,
    **unknown: Never,
) -> Ready:
    """Let so many calls begin in a time, and refuse more: ``Component rate limit reached``.

    Args:
        limit: Calls in a window.
        window: Its length in seconds.
        max_keys: Most callers that are remembered at once. Who comes when all of them are still
            within their time is refused: ``Component rate key capacity reached``.
        key: Tells callers apart; None for one limit of them all. A string, or any other JSON value.
            If it raises: ``Component rate key failed``.
        method: ``fixed``: windows that begin with their first call. ``gcra``: a bucket that fills
            evenly, so that no two windows meet: never more than ``limit + burst`` in any time of
            ``window`` seconds.
        burst: With ``gcra``, calls that may come at once after a quiet time; None for ``limit``.
        clock: Seconds that only go up.
        **unknown: None: what is given beside these is refused.

    Raises:
        DeclarationError: If an option cannot hold, or there is none of its name.
    """
    _refuse_unknown("rate_limit", unknown)
    from ._limiting import Bucket, Rate, Window

    name = "rate_limit"
    limit, window = _count(name, "limit", limit), _seconds(name, "window", window)
    max_keys, key = _count(name, "max_keys", max_keys), _key(name, key)
    if method not in ("fixed", "gcra"):
        raise _site(name).refuse("method", 'must be "fixed" or "gcra"', "leave it out")
    if burst is not None and method == "fixed":
        raise _site(name).refuse("burst", "belongs to gcra", 'write method="gcra"')
    burst = limit if burst is None else _count(name, "burst", burst)
    law = Window(limit, window) if method == "fixed" else Bucket(limit, window, burst)
    return Rate(law, max_keys, key, clock)


def retry(
    attempts: int = 3,
    on: type[Exception] | tuple[type[Exception], ...] = (ConnectionError, TimeoutError),
    backoff: float | Callable[[int], float] = 0.1,
    **unknown: Never,
) -> Ready:
    """Call again what raised an exception that may not come again.

    Use it where a call may be done twice. Dependencies are resolved for each attempt.

    Args:
        attempts: Most calls in all.
        on: Exceptions that are worth another try.
        backoff: Seconds before the second attempt, twice as many before each further one; or a
            function from the number of attempts made to seconds.
        **unknown: None: what is given beside these is refused.

    Raises:
        DeclarationError: If an option cannot hold, or there is none of its name.
    """
    _refuse_unknown("retry", unknown)
    from ._retrying import Retry

    attempts = _count("retry", "attempts", attempts)
    kinds = on if isinstance(on, tuple) else (on,)
    if not kinds or not all(isinstance(one, type) and issubclass(one, Exception) for one in kinds):
        raise _site("retry").refuse(
            "on", "must be classes of exceptions", "write on=(ConnectionError,)"
        )
    if not callable(backoff):
        first = _seconds("retry", "backoff", backoff, least=0)
        # Nobody waits for that many doublings, and 2**1024 is more than a float holds.
        return Retry(attempts, kinds, lambda made: first * 2.0 ** min(made - 1, 64))
    return Retry(attempts, kinds, backoff)


def cache(
    ttl: float,
    key: Key | None = None,
    max_entries: int = 1000,
    *,
    clock: Callable[[], float] = monotonic,
    **unknown: Never,
) -> Ready:
    """Give again what was given for the same arguments; call once for all who wait for the same.

    Errors, failures and questions are not kept, nor what would be refused as a result, nor calls
    that answer a question. A copy is kept, and each caller is given another; what cannot be copied
    is not kept.

    Args:
        ttl: Seconds that a value is given.
        key: Who shares values: a string or any other JSON value. None for ``context.auth``;
            ``lambda context: None`` for everybody. If it raises: ``Component cache key failed``.
        max_entries: Most values that are kept; the one that was given longest ago goes first.
        clock: Seconds that only go up.
        **unknown: None: what is given beside these is refused.

    Raises:
        DeclarationError: If an option cannot hold, or there is none of its name.
    """
    _refuse_unknown("cache", unknown)
    from ._caching import Caching

    return Caching(
        _seconds("cache", "ttl", ttl),
        _key("cache", key),
        _count("cache", "max_entries", max_entries),
        clock,
    )


def response_limit(
    max_chars: int | None = None,
    *,
    max_bytes: int | None = None,
    head: int | None = None,
    tail: int | None = None,
    keep: float = 600.0,
    **unknown: Never,
) -> Ready:
    """Shorten the text of a tool's result, with a link to the whole.

    What is over the limit becomes the beginning, a line that says what is missing, the end, and a
    link to a resource that has the whole for a time; the server offers its template by itself. Of a
    tool with an output schema that is an `isError` result, since less than the whole is no output.
    Images, audio and other content stay as they are. Put it outside of a `cache`, which would give
    a link after its time.

    Args:
        max_chars: Most characters of text; of data, characters of its JSON.
        max_bytes: Or most bytes of UTF-8.
        head: How much of the beginning is left, in the same unit; half by default.
        tail: How much of the end; the rest by default.
        keep: Seconds that the whole may be read.
        **unknown: None: what is given beside these is refused.

    Raises:
        DeclarationError: If an option cannot hold, or there is none of its name.
    """
    _refuse_unknown("response_limit", unknown)
    from ._response_limit import ResponseLimit

    name = "response_limit"
    if (max_chars is None) == (max_bytes is None):
        reason = "expects exactly one of max_chars and max_bytes"
        raise _site(name).refuse("max_chars", reason, "write max_chars=20_000")
    unit, given = ("max_bytes", max_bytes) if max_chars is None else ("max_chars", max_chars)
    most = _count(name, unit, given)
    if head is None:
        head = most // 2 if tail is None else max(most - _count(name, "tail", tail, least=0), 0)
    head = _count(name, "head", head, least=0)
    tail = max(most - head, 0) if tail is None else _count(name, "tail", tail, least=0)
    if head + tail > most:
        raise _site(name).refuse("head", "and tail are more than the limit", "leave them out")
    seconds = _seconds(name, "keep", keep)
    return ResponseLimit(most, head, tail, in_bytes=max_chars is None, keep=seconds)


def _refuse_unknown(name: str, unknown: Mapping[str, Any]) -> None:
    if unknown:
        from inspect import signature

        from ._elsewhere import renamed

        parameters = signature(globals()[name]).parameters.values()
        known = [one.name for one in parameters if one.kind is not one.VAR_KEYWORD]
        given = next(iter(unknown))
        raise _site(name).refuse(given, "is no option of it", renamed(name, given, known))


def _site(name: str) -> Site:
    from ._callable import frame_location
    from ._definition import Site

    return Site(frame_location(sys._getframe(2)), f"middleware {name!r}")


def _seconds(name: str, part: str, value: Any, *, least: float | None = None) -> float:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not value < float("inf") or not (value > 0 if least is None else value >= 0):
        reason = "must be a positive number of seconds"
        raise _site(name).refuse(part, reason, f"write {part}=30")
    return float(value)


def _count(name: str, part: str, value: Any, *, least: int = 1) -> int:
    if type(value) is not int or value < least:
        raise _site(name).refuse(part, f"must be an int of at least {least}", f"write {part}=100")
    return value


def _key(name: str, value: Any) -> Any:
    if value is None:
        return None
    from ._callable import runner

    if not callable(value) or isinstance(value, type) or runner(value)[1]:
        raise _site(name).refuse(
            "key", "must be a plain function of the context", "write key=lambda context: ..."
        )
    return value
