"""Actors, and tools that ask and tell them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from ._actor import Actor, ActorName, ThreadActor
from ._actor_tool import PATIENCE_MS, declare
from ._snodo import Pending
from ._supervisor import Supervisor
from .errors import ActorError, ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import FrameType

    from ._actor_tool import Handler
    from .server import Server

__all__ = [
    "Actor",
    "ActorError",
    "ActorName",
    "Pending",
    "Supervisor",
    "ThreadActor",
    "actor_call",
    "actor_cast",
]


if TYPE_CHECKING:

    def actor_call(
        server: Server,
        name: str,
        /,
        *,
        target: str | ActorName,
        input_schema: Mapping[str, Any],
        message: Any,
        encode_reply: Callable[[Any], Mapping[str, Any]],
        description: str | None = None,
        output_schema: Mapping[str, Any] | None = None,
        timeout_ms: int = PATIENCE_MS,
    ) -> Handler:
        """Declare a tool that asks an actor and gives its reply.

        Name, target and time-out are written out as literals, so that all that is exposed can be
        read off the source.

        Args:
            server: What offers the tool.
            name: Of the tool.
            target: The name of the actor; it need not live yet.
            input_schema: An object schema of keywords that the basic validator enforces.
            message: What is sent: any object; or a function of the arguments, or of arguments and
                context, that gives it. Such a function refuses by raising `Error`.
            encode_reply: A function of the reply that gives a JSON object.
            description: For the model.
            output_schema: What the JSON object is held to.
            timeout_ms: Milliseconds to wait for the reply.

        Returns:
            What the tool runs: ``await handler(arguments, context)`` gives a `Result`.

        Raises:
            DeclarationError: If any of it is wrong, or not written out.
            ConfigurationError: If the name is taken or the server is in use.
        """

    def actor_cast(
        server: Server,
        name: str,
        /,
        *,
        target: str | ActorName,
        input_schema: Mapping[str, Any],
        message: Any,
        description: str | None = None,
    ) -> Handler:
        """Declare a tool that tells an actor something. As `actor_call`, without a reply.

        The result is ``{"sent": true}``, which claims that the message was accepted and no more.
        """

else:

    def actor_call(server, name, /, **options):
        """Declare a tool that asks an actor and gives its reply."""
        return _declare("call", server, name, options, sys._getframe(1))

    def actor_cast(server, name, /, **options):
        """Declare a tool that tells an actor something."""
        return _declare("cast", server, name, options, sys._getframe(1))


def _declare(
    form: str, server: Server, name: Any, options: dict[str, Any], frame: FrameType
) -> Handler:
    from .server import Server

    if not isinstance(server, Server):
        raise ConfigurationError(f"actor_{form} takes the server first")
    return declare(form, server._offering, name, options, frame)
