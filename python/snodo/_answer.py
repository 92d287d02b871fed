"""What a handler asks the client for, and what comes back. Knows nothing of rounds or of state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar

from ._definition import dumps
from .errors import Declined, Error

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from typing import TypeAlias

    from ._snodo import Context

    Action: TypeAlias = Literal["accept", "decline", "cancel"]

__all__ = ["Answer", "InputRequest", "Root"]

T_co = TypeVar("T_co", covariant=True)

_WARNING = 30  # as `logging` has it, which is not imported for this

_NOUNS = {
    "elicitation/create": "elicitation",
    "sampling/createMessage": "sampling",
    "roots/list": "roots",
}


class Answer(Generic[T_co]):
    """What the client answered. Look at ``accepted``, or take ``value`` and let it raise.

    It may be awaited and then gives itself, so that coroutines can write
    ``await context.ask(...)``.
    """

    __slots__ = ("_value", "action", "response")

    action: Action
    """What the user did. Sampling and roots have no other answer than ``accept``."""
    response: dict[str, Any]
    """The answer as it came."""

    def __init__(
        self,
        action: Action,
        value: T_co | None,
        response: dict[str, Any],
    ) -> None:
        """Take the parts; ``value`` counts only if the action is ``accept``."""
        self.action = action
        self.response = response
        self._value = value

    @property
    def accepted(self) -> bool:
        """Whether there is a value."""
        return self.action == "accept"

    @property
    def value(self) -> T_co:
        """What was asked for: the fields of a form in their type, a sampled message, the roots.

        None for a URL: accepting says that the user agreed to open it, not that anything is done.

        Raises:
            Declined: If the user declined or cancelled.
        """
        if self.action != "accept":
            raise Declined(self.action)
        return self._value  # type: ignore[return-value]

    def __bool__(self) -> bool:
        """Refuse: an answer of "no" is an answer too.

        Raises:
            TypeError: Always.
        """
        raise TypeError(
            "an Answer is neither true nor false: look at .accepted, or at .value for what was"
            " answered"
        )

    def __await__(self) -> Generator[Any, None, Answer[T_co]]:
        yield from ()
        return self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Answer):
            return NotImplemented
        return (self.action, self.response, self._value) == (
            other.action,
            other.response,
            other._value,
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Answer({self.action!r}, {self._value!r})"


class InputRequest(dict[str, Any], Generic[T_co]):
    """A question for the client, as it is sent: ``method`` and, but for roots, ``params``.

    Made by `snodo.elicit`, `snodo.sampling` and `snodo.roots`; asked with ``context.ask``, or sent
    with ``Result.input_required`` and read back with `response`.
    """

    __slots__ = ("_read",)

    def __init__(
        self,
        method: str,
        params: dict[str, Any] | None,
        read: Callable[[dict[str, Any]], T_co | None],
        *,
        check: bool = True,
    ) -> None:
        """Put the question together.

        Args:
            method: Which kind of question.
            params: What it says.
            read: Makes the value of an accepted answer that fits the question; a ValueError says
                that it does not fit after all.
            check: Whether to hold the question to the protocol; left out for parts that were held
                to it before.

        Raises:
            ValueError: If the protocol does not allow this question.
        """
        super().__init__(method=method)
        if params is not None:
            self["params"] = params
        self._read = read
        if check and (reason := refusal(self)) is not None:
            raise ValueError(f"Invalid {_NOUNS.get(method, 'input')} request: {reason}")

    def response(self, context: Context, key: str) -> Answer[T_co] | None:
        """Give the answer that this request brought under a key; None if it brought none.

        Only that key is looked at, and the answer is held to this very question.

        Args:
            context: The request that may bring it.
            key: What the question was sent under.

        Raises:
            Error: -32602 ``Invalid elicitation response`` (``sampling``, ``roots``) if it does not
                answer the question; nothing of it is told.
        """
        response = (context.input_responses or {}).get(key)
        return None if response is None else self.answer(response, key)

    def answer(self, response: dict[str, Any], key: str = "") -> Answer[T_co]:
        """Hold a response to this question.

        Args:
            response: What the client sent.
            key: What the question was sent under, for the log.

        Raises:
            Error: -32602 if it does not answer the question; the log says why.
        """
        from ._snodo import check_input_response

        action: Action = "accept"
        value = None
        try:
            wrong = check_input_response(dumps(self), dumps(response))
            if wrong is None and self["method"] == "elicitation/create":
                action = response["action"]
            if wrong is None and action == "accept":
                value = self._read(response)
        except ValueError:
            wrong = "response does not fit the types that were asked for"
        if wrong is not None:
            from ._report import tell

            noun = _NOUNS[self["method"]]
            tell(_WARNING, f"the client's {noun} response to {key!r} was refused: {wrong}")
            raise Error.invalid_params(f"Invalid {noun} response")
        return Answer(action, value, response)


class Root(NamedTuple):
    """A directory or file the user works on. It informs; it does not authorise."""

    uri: str
    """Starts with ``file://``."""
    name: str | None = None
    """For people."""


def refusal(request: dict[str, Any]) -> str | None:
    """Say why the protocol does not allow a question; None if it does."""
    from ._snodo import check_input_request

    return check_input_request(dumps(request))
