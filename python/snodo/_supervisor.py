"""How a crashed actor is started again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .errors import ConfigurationError

if TYPE_CHECKING:
    from typing import Any


class Supervisor:
    """How often a crashed actor is started again, and after what time."""

    __slots__ = ("backoff", "longest", "restarts", "within")

    def __init__(
        self,
        restarts: int = 3,
        *,
        within: float = 5.0,
        backoff: float = 0.1,
        longest: float = 5.0,
    ) -> None:
        """Set the limits. A restart is a new object with an empty mailbox.

        Args:
            restarts: Most restarts ``within`` so many seconds; one more crash ends the actor.
            within: Seconds that a restart counts.
            backoff: Seconds before the first of these restarts; twice as many before each further.
            longest: Most seconds before a restart.

        Raises:
            ConfigurationError: If a number cannot hold.
        """
        self.restarts: int = above_zero("supervisor restarts", restarts, "an int", int)
        self.within: float = above_zero("supervisor within", within, "seconds", int, float)
        self.backoff: float = above_zero("supervisor backoff", backoff, "seconds", int, float)
        self.longest: float = above_zero("supervisor longest", longest, "seconds", int, float)


def above_zero(option: str, value: Any, what: str, *kinds: type) -> Any:
    """Check a number of one of these kinds.

    Raises:
        ConfigurationError: If it is none, or not above zero.
    """
    if type(value) not in kinds or not 0 < value < 1 << 53:
        shown = value if isinstance(value, (int, float)) else type(value).__name__
        raise ConfigurationError(f"{option} must be {what} above zero, not {shown}")
    return value
