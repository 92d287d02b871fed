"""Actors, and tools that ask and tell them."""

from __future__ import annotations

from ._actor import Actor, ActorName, ThreadActor
from ._actor_tool import actor_call, actor_cast
from ._snodo import Pending
from ._supervisor import Supervisor
from .errors import ActorError

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
