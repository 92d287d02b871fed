"""`context.ask` and `context.once`: a function that is run again from the top, answer by answer.

An `Interview` is one run. It replays what earlier runs were told, and ends the run at the first
question that nobody has answered. How a question reaches the client is not known here: it leaves
as a `Result.input_required`, and the answers and what was sealed come back with the context.
"""

from __future__ import annotations

import json
import logging
from _thread import RLock
from typing import TYPE_CHECKING, Any, overload

from ._answer import Answer, InputRequest
from ._definition import dumps, kind_of
from ._encode import EncodeError, to_json
from ._report import tell
from ._state import LONGEST_TTL, invalid_state, principal_of, refuse_mixture
from .errors import Error, ToolError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator, Mapping

    from ._snodo import Context, Result

__all__ = ["Answers", "InputNeeded", "Interview", "ask", "needed_in", "once"]

_MAY_ASK = ("tools/call", "prompts/get", "resources/read")


class InputNeeded(BaseException):
    """Ends a run that waits for answers. No subclass of Exception: nobody catches it by accident.

    Tasks of one run that ask at the same time each end with one; they are all the same question.
    """

    def __init__(self, interview: Interview) -> None:
        """Belong to a run."""
        super().__init__("the function is run again when the answers are there")
        self._interview = interview

    @property
    def result(self) -> Result:
        """What to answer the client with: every question that this run has asked."""
        result = self._interview.result
        assert result is not None, "it is made before this is raised"
        return result


class Answers(dict[str, Answer[Any]]):
    """The answers to several questions; may be awaited, and then gives itself."""

    __slots__ = ()

    def __await__(self) -> Generator[Any, None, Answers]:
        yield from ()
        return self


class Interview:
    """One run of a function that asks.

    Threads and tasks of the run may ask at the same time, under keys of their own: the same key
    asked by two of them is told apart only by who comes first, which another run may see
    otherwise.
    """

    def __init__(self, context: Context, rounds: int) -> None:
        """Take up what the request brought.

        Args:
            context: The request.
            rounds: Most times that one call may be answered with questions.

        Raises:
            Error: -32602 if it brought a state that does not open.
            RuntimeError: If that was sealed by `State`.
        """
        # The context holds its run; held by it in turn, neither would ever be freed.
        self.result: Result | None = None
        self._rounds = rounds
        self._lock = RLock()
        self._needed: dict[str, InputRequest[Any]] = {}
        self._names: set[tuple[str, str]] = set()
        memory = _memory(context)
        self._round: int = memory.get("round", 0)
        self._results: dict[str, list[Any]] = memory.get("once", {})
        # By name: the digest of the question, and what was answered to it. Each is held to the
        # question when that is asked, whichever run it is.
        self._answers: dict[str, list[Any]] = memory.get("answers", {})
        responses = context.input_responses or {}
        for name, digest in memory.get("pending", {}).items():
            if name in responses:
                self._answers[name] = [digest, responses[name]]
        # Without state nobody knows what was asked: what fits a question answers it.
        self._loose = {} if memory else responses

    def ask(self, context: Context, requests: Mapping[str, InputRequest[Any]]) -> Answers:
        """Give the answers, or end the run.

        Raises:
            InputNeeded: If one is missing.
            Error: -32602 if one does not fit its question.
            ToolError: If there were too many rounds, or what was answered so far is too much.
        """
        with self._lock:
            answers = Answers()
            missing: dict[str, InputRequest[Any]] = {}
            for key, request in requests.items():
                name = self._name("ask", key)
                answer = self._answer(name, request)
                if answer is None:
                    missing[name] = request
                else:
                    answers[key] = answer
            if missing:
                self._needed.update(missing)
                self.result = self._question(context)
                raise InputNeeded(self)
            return answers

    def _answer(self, name: str, request: InputRequest[Any]) -> Answer[Any] | None:
        digest = _digest(request)
        if name in self._loose:
            self._answers[name] = [digest, self._loose[name]]
        asked, response = self._answers.get(name, (None, None))
        return request.answer(_copy(response), name) if asked == digest else None

    def _question(self, context: Context) -> Result:
        from ._snodo import Result

        if self._round >= self._rounds:
            raise _given_up(context, f"Gave up after {self._rounds} rounds of questions")
        memory = {
            "round": self._round + 1,
            "answers": self._answers,
            "once": self._results,
            "pending": {name: _digest(request) for name, request in self._needed.items()},
        }
        principal = principal_of(context)
        try:
            token = context._seal("ask", dumps(memory), principal, LONGEST_TTL, None)
        except ValueError:
            tell(logging.WARNING, f"{context.method}: {self._sizes()}")
            raise _given_up(
                context,
                "The answers so far and what once() remembers are over 16 KiB together: too long"
                " to go on asking",
            ) from None
        return Result.input_required(input_requests=dict(self._needed), request_state=token)

    def _sizes(self) -> str:
        """Say what takes how much of what is sealed, the largest first; values are not told."""
        sizes = [
            (len(dumps(value)), f"{verb}({name!r})")
            for verb, kept in (("ask", self._answers), ("once", self._results))
            for name, value in kept.items()
        ]
        told = ", ".join(f"{name} {size:,} bytes" for size, name in sorted(sizes, reverse=True)[:5])
        return f"too long to go on asking, the largest of {len(sizes)}: {told}"

    def once(self, key: str, function: Callable[[], Any]) -> Any:
        """Give what the function gave in the first run that called it.

        Raises:
            TypeError: If what it gives is not JSON.
        """
        with self._lock:
            name = self._name("once", key)
            known = self._results.get(name)
        if known is not None:
            late, value = known
            return _given(_copy(value)) if late else _copy(value)
        value = function()
        if hasattr(value, "__await__"):
            return self._later(name, key, value)
        return self._remember(name, key, value, late=False)

    async def _later(self, name: str, key: str, value: Awaitable[Any]) -> Any:
        return self._remember(name, key, await value, late=True)

    def _remember(self, name: str, key: str, value: Any, *, late: bool) -> Any:
        try:
            kept = to_json(value)
        except EncodeError as error:
            raise TypeError(f"once({key!r}) remembers JSON alone: {error}") from None
        with self._lock:
            self._results[name] = [late, kept]
        return _copy(kept)

    def _name(self, verb: str, key: str) -> str:
        """Give the name of the n-th use of a key in this run, so that loops may ask."""
        name, count = key, 1
        while (verb, name) in self._names:
            count += 1
            name = f"{key}#{count}"
        self._names.add((verb, name))
        return name


@overload
def ask(context: Context, key: str, request: InputRequest[Any]) -> Answer[Any]: ...
@overload
def ask(
    context: Context, key: Mapping[str, InputRequest[Any]], request: None = None
) -> Answers: ...
def ask(context: Context, key: Any, request: Any = None) -> Any:
    """Give the answer to a question, or end the run; what ``context.ask`` does."""
    if isinstance(key, InputRequest):
        raise TypeError('ask needs a key to find the answer by: context.ask("key", ...)')
    single = isinstance(key, str)
    if single and request is None:
        raise TypeError(f"ask takes a request beside its key: context.ask({key!r}, ...)")
    requests = {key: request} if single else key
    if not hasattr(requests, "items") or not requests:
        raise TypeError(f"ask takes a key and a request, or a dict of them, not {_given_as(key)}")
    if not single and request is not None:
        raise TypeError("ask takes no request beside a dict of them")
    for name, asked in requests.items():
        if not isinstance(name, str) or not name:
            raise TypeError(
                f"the key of a question must be a non-empty string, not {_kind_of_key(name)}"
            )
        _encodable(name)
        if not isinstance(asked, InputRequest):
            raise TypeError(
                "ask takes what elicit.form(...), elicit.url(...), sampling.create_message(...) or"
                f" roots.list() gives, not {kind_of(asked)}"
            )
    if context.method not in _MAY_ASK:
        raise Error.internal("Input-required result is not permitted for this operation")
    try:
        answers = _interview(context).ask(context, requests)
    except Error as error:
        # A handler that catches it must not turn what a client made up into a result.
        context._refusal = error
        raise
    return answers[key] if single else answers


def once(context: Context, key: str, function: Callable[[], Any]) -> Any:
    """Run a function in one run alone; what ``context.once`` does."""
    if not isinstance(key, str) or not key:
        raise TypeError(
            f"the key of what is done once must be a non-empty string, not {_kind_of_key(key)}"
        )
    _encodable(key)
    if not callable(function):
        raise TypeError(
            f"once takes a function, not {kind_of(function)}; it is called without arguments"
        )
    try:
        interview = _interview(context)
    except Error as error:
        context._refusal = error
        raise
    return interview.once(key, function)


def needed_in(exception: BaseException) -> InputNeeded | None:
    """Find the question in what a run ended with: alone, or as all that its tasks ended with."""
    if isinstance(exception, InputNeeded):
        return exception
    if not isinstance(exception, BaseExceptionGroup):
        return None
    found = [needed_in(inner) for inner in exception.exceptions]
    return found[0] if all(found) else None


def _given_up(context: Context, text: str) -> Exception:
    """Tell the model, or where there is none, whoever made the request."""
    return ToolError(text) if context.method == "tools/call" else Error.internal(text)


def _encodable(key: str) -> None:
    try:
        key.encode()
    except UnicodeEncodeError:
        raise TypeError("a key must not hold a lone surrogate, which is not UTF-8") from None


def _kind_of_key(key: Any) -> str:
    return "an empty one" if key == "" else kind_of(key)


def _given_as(key: Any) -> str:
    return "an empty dict" if key == {} else kind_of(key)


_beginning = RLock()


def _interview(context: Context) -> Interview:
    with _beginning:
        interview: Interview | None = context._interview
        if interview is None:
            interview = context._interview = Interview(context, context._input_rounds)
        return interview


def _memory(context: Context) -> dict[str, Any]:
    """Open what earlier runs sealed; empty if this is the first."""
    token = context.request_state
    if token is None:
        return {}
    text = context._open("ask", token, principal_of(context), LONGEST_TTL, None)
    if text is None:
        refuse_mixture(context, "state", token)
        raise invalid_state()
    memory: dict[str, Any] = json.loads(text)
    return memory


def _digest(request: InputRequest[Any]) -> str:
    """Tell a question from every other, in few bytes: they travel."""
    from hashlib import sha256

    text = json.dumps(request, sort_keys=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()[:32]


def _copy(value: Any) -> Any:
    """Give a value of its own, which the function may change without changing what is kept."""
    return json.loads(dumps(value))


async def _given(value: Any) -> Any:
    return value
