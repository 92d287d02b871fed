"""The exceptions a user of snodo raises or meets. What they become on the wire is decided in Rust.

BaseException
├── Cancelled                 nobody waits for the answer any more
└── Exception
    ├── Error                 fails the JSON-RPC request: code, message, data
    ├── ToolError             a tool's own failure: a successful response with ``isError: true``
    │   ├── Declined          the user did not give what was asked for
    │   └── ActorError        an actor did not take a message, or did not reply
    ├── RuntimeError
    │   └── LifespanError     the application's lifespan raised something
    └── ValueError
        ├── DeclarationError  a component that cannot be what it says it is, found at import
        └── ConfigurationError  a server option or registration that cannot hold
"""

from __future__ import annotations

__all__ = [
    "ActorError",
    "Cancelled",
    "ConfigurationError",
    "DeclarationError",
    "Declined",
    "Error",
    "LifespanError",
    "ToolError",
]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal, TypeAlias

    Kind: TypeAlias = Literal[
        "json_rpc", "protocol", "transport", "execution", "authorization", "extension"
    ]

_KINDS = ("json_rpc", "protocol", "transport", "execution", "authorization", "extension")


class Error(Exception):
    """A request that should never have been made: raised or returned, it fails the request.

    Only ``code``, ``message`` and ``data`` reach the peer; ``__cause__`` stays on this side.
    """

    code: int
    message: str
    data: Any
    kind: Kind

    def __init__(
        self, code: int, message: str, data: Any = None, *, kind: Kind = "protocol"
    ) -> None:
        """Say what is wrong.

        Args:
            code: JSON-RPC error code.
            message: One sentence for the peer.
            data: Any JSON value; left out of the answer when None.
            kind: Which part of the work failed; never sent.

        Raises:
            TypeError: If ``code`` is not an int or ``message`` not a string.
            ValueError: If ``code`` does not fit 64 bits, or ``kind`` is not one of the known kinds.
        """
        if type(code) is not int:
            raise TypeError(f"Error code must be an int, not {type(code).__name__}")
        if not -(1 << 63) <= code < 1 << 63:
            raise ValueError("Error code must fit 64 bits")
        if not isinstance(message, str):
            raise TypeError(f"Error message must be a string, not {type(message).__name__}")
        if kind not in _KINDS:
            raise ValueError(f"Error kind must be one of {', '.join(_KINDS)}")
        super().__init__(code, message, data)
        self.code = code
        self.message = message
        self.data = data
        self.kind = kind

    def __str__(self) -> str:
        """Show code and message; data may be private."""
        return f"[{self.code}] {self.message}"

    def __repr__(self) -> str:
        """Show everything but the cause."""
        return f"Error({self.code}, {self.message!r}, data={self.data!r}, kind={self.kind!r})"

    def __eq__(self, other: object) -> bool:
        """Compare code, message, data and kind."""
        if not isinstance(other, Error):
            return NotImplemented
        return (self.code, self.message, self.data, self.kind) == (
            other.code,
            other.message,
            other.data,
            other.kind,
        )

    def __hash__(self) -> int:
        """Hash what is always hashable."""
        return hash((self.code, self.message, self.kind))

    def __reduce__(self) -> tuple[Any, ...]:
        """Survive pickling with the keyword-only kind."""
        return _restored, (type(self), self.code, self.message, self.data, self.kind)

    @classmethod
    def parse_error(cls, message: str = "Parse error", data: Any = None) -> Error:
        """The message is not JSON (-32700)."""
        return cls(-32700, message, data, kind="json_rpc")

    @classmethod
    def invalid_request(cls, message: str = "Invalid Request", data: Any = None) -> Error:
        """The message is JSON but no JSON-RPC request (-32600)."""
        return cls(-32600, message, data, kind="json_rpc")

    @classmethod
    def method_not_found(cls, method: str) -> Error:
        """Nobody answers to this method (-32601)."""
        return cls(-32601, f"Method not found: {method}")

    @classmethod
    def invalid_params(cls, message: str = "Invalid params", data: Any = None) -> Error:
        """The parameters break the protocol (-32602)."""
        return cls(-32602, message, data)

    @classmethod
    def resource_not_found(cls, uri: str) -> Error:
        """There is nothing at this URI (-32602, with the URI as data)."""
        return cls(-32602, "Resource not found", {"uri": uri})

    @classmethod
    def internal(
        cls, message: str = "Internal error", *, cause: BaseException | None = None
    ) -> Error:
        """Something of ours is broken (-32603); the cause is kept, never sent."""
        error = cls(-32603, message, kind="execution")
        error.__cause__ = cause
        return error

    @classmethod
    def authorization(cls, code: int, message: str, data: Any = None) -> Error:
        """The application refuses the caller, with a code of its own."""
        return cls(code, message, data, kind="authorization")

    @classmethod
    def execution(cls, reason: object = None) -> Error:
        """Something failed while running (-32603); an Error passes through unchanged."""
        if isinstance(reason, Error):
            return reason
        cause = reason if isinstance(reason, BaseException) else None
        error = cls(-32603, "Tool execution failed", kind="execution")
        error.__cause__ = cause
        return error


def _restored(cls: type[Error], code: int, message: str, data: Any, kind: Kind) -> Error:
    return cls(code, message, data, kind=kind)


class ToolError(Exception):
    """A tool's own failure, in words the model can act on: ``isError: true`` with this text."""

    message: str

    def __init__(self, message: str = "Tool execution failed") -> None:
        """Take the text that the model reads.

        Raises:
            TypeError: If ``message`` is not a string.
        """
        if not isinstance(message, str):
            raise TypeError(f"ToolError takes a string, not {type(message).__name__}")
        super().__init__(message)
        self.message = message


class Declined(ToolError):
    """The value of an answer was taken that the user declined to give, or cancelled.

    Left alone it fails the tool with a sentence the model can read.
    """

    action: Literal["decline", "cancel"]

    def __init__(
        self, action: Literal["decline", "cancel"] = "decline", message: str | None = None
    ) -> None:
        """Say what the user did.

        Args:
            action: ``decline`` or ``cancel``.
            message: The text that the model reads, if another is wanted.
        """
        if message is None:
            verb = "cancelled" if action == "cancel" else "declined"
            message = f"The user {verb} the request for input"
        super().__init__(message)
        self.action = action

    def __reduce__(self) -> tuple[Any, ...]:
        """Survive pickling with the action."""
        return type(self), (self.action, self.message)


class ActorError(ToolError):
    """An actor did not take a message, or gave no reply to it.

    Left alone it fails the tool that asked, with a fixed sentence that tells nothing of either.
    """

    reason: str
    """``unavailable``, ``full``, ``timed out`` or ``failed``."""

    def __init__(self, message: str = "Actor call failed", reason: str = "failed") -> None:
        """Say it to the model and to programs."""
        super().__init__(message)
        self.reason = reason

    def __reduce__(self) -> tuple[Any, ...]:
        """Survive pickling with the reason."""
        return type(self), (self.message, self.reason)


class Cancelled(BaseException):
    """Nobody waits for the answer any more: the client left, cancelled, or the time is up.

    Raised by ``context.check_cancelled()`` and ``context.track(...)``. No subclass of Exception, so
    that ``except Exception`` does not keep a call alive that is over.
    """


class DeclarationError(ValueError):
    """A declaration that cannot work, found at import.

    The text reads ``file.py:12: tool 'search': parameter 'limit': reason → what to do``.
    """

    where: str
    component: str
    path: str
    reason: str
    advice: str
    keyword: str | None = None
    """The keyword of a schema that an actor tool does not take."""

    def __init__(
        self, where: str, component: str, label: str, path: str, reason: str, advice: str = ""
    ) -> None:
        """Put the parts together.

        Args:
            where: ``file:line`` of the declaration.
            component: What is declared, as ``tool 'search'``.
            label: What ``path`` is a path in, as ``parameter``; empty when the path says it.
            path: Dotted path of the culprit.
            reason: What is wrong.
            advice: What to do about it.
        """
        spot = f"{label} '{path}'" if label else path
        text = f"{where}: {component}: {spot}: {reason}"
        super().__init__(f"{text} → {advice}" if advice else text)
        self.where = where
        self.component = component
        self._label = label
        self.path = path
        self.reason = reason
        self.advice = advice

    def __reduce__(self) -> tuple[Any, ...]:
        """Survive pickling with all parts."""
        parts = (self.where, self.component, self._label, self.path, self.reason, self.advice)
        return type(self), parts, self.__dict__


class ConfigurationError(ValueError):
    """A server option or a registration that cannot hold."""


class LifespanError(RuntimeError):
    """The application's lifespan raised something, which is the cause."""
