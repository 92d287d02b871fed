"""`actor_call` and `actor_cast`: an operation of a named actor, declared as a tool.

A declaration fixes everything but the arguments, and is checked whole before the tool exists.
"""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

from . import _literal
from ._actor import ActorName
from ._callable import frame_location, innermost, runner
from ._definition import (
    Schema,
    Site,
    checked_call_name,
    checked_schema,
    checked_text,
    dumps,
    listed,
)
from ._literal import ADVICE, WRONG_NAME, WRONG_TARGET, WRONG_TIMEOUT
from ._signature import ToolSpec
from .errors import ActorError, DeclarationError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from types import FrameType
    from typing import TypeAlias

    from ._offering import Offering
    from ._snodo import ActorTool, Result

    Handler: TypeAlias = Callable[..., Coroutine[Any, Any, Result]]

PATIENCE_MS = 5_000
"""Milliseconds that a call waits for the actor unless it says otherwise."""

_LONGEST_MS = 1 << 40
"""More than anybody waits, and no more than a clock counts."""

_REQUIRED = {
    "call": ("target", "input_schema", "message", "encode_reply"),
    "cast": ("target", "input_schema", "message"),
}
_OPTIONAL = {"call": ("description", "output_schema", "timeout_ms"), "cast": ("description",)}


def decorator(
    form: str, offering: Offering, name: Any, options: dict[str, Any], frame: FrameType
) -> Any:
    """Declare with the ``message`` among the options, or give what takes a function for it."""
    declaration = _Declaration(form, offering, name, options, frame)
    if not isinstance(name, str):
        # It would be refused when the decorator is used, which without parentheses never is.
        raise declaration.site.refuse(
            "name", WRONG_NAME, f'write @server.actor_{form}("name", target=..., input_schema=...)'
        )
    if "message" in options:
        return declaration.add()

    def decorate(builder: Any) -> Any:
        declaration.options["message"] = builder
        declaration.add(builder)
        return builder

    return decorate


def declare(
    form: str, offering: Offering, name: Any, options: dict[str, Any], frame: FrameType
) -> Handler:
    """Declare with the ``message`` among the options, as `snodo.actor_call` does.

    Raises:
        DeclarationError: If anything is wrong.
    """
    return _Declaration(form, offering, name, options, frame).add()


class _Declaration:
    """One declaration, checked in the order its parts are listed in."""

    def __init__(
        self, form: str, offering: Offering, name: Any, options: dict[str, Any], frame: FrameType
    ) -> None:
        self.form = form
        self.offering = offering
        self.name = name
        self.options = options
        # Now, while the frame is at the call that declares.
        self.written = _literal.written(frame, _unwrapped(options.get("target")))
        shown = name if isinstance(name, str) else "?"
        self.site = Site(frame_location(frame), f"tool {shown!r}")

    def add(self, builder: Any = None) -> Handler:
        """Check it and add its tool.

        Args:
            builder: The function that was decorated.

        Raises:
            DeclarationError: If anything is wrong.
        """
        self.offering.refuse_frozen()
        self._check_options()
        target = self._target()
        self._refuse_duplicate()
        name = checked_call_name(self.name, self.site)
        schema = checked_schema(self.options["input_schema"], "input_schema", self.site)
        self._refuse_keywords(schema)
        output = self.options.get("output_schema")
        if output is not None:
            output = checked_schema(output, "output_schema", self.site)
        description = checked_text(self.options.get("description"), "description", self.site)
        tool = self._tool(target, schema)
        function = _function(name, tool)
        handler = _handler(function)
        spec = ToolSpec(
            name=name,
            definition=listed(
                {
                    "name": name,
                    "description": description,
                    "inputSchema": schema,
                    "outputSchema": output,
                }
            ),
            function=function,
            is_async=True,
            slots=None,
            where=self.site.where,
            actor=tool,
        )
        self.offering.components.register("tool", builder or handler, spec)
        return handler

    def _check_options(self) -> None:
        if not (isinstance(self.name, str) and self.name and self.written.name):
            raise self._refuse("name", WRONG_NAME)
        reason = _literal.wrong_options(self.form, self.name)
        if not self.written.options:
            raise self._refuse("options", reason)
        required = _REQUIRED[self.form]
        known = (*required, *_OPTIONAL[self.form])
        unknown = [option for option in self.options if option not in known]
        missing = [option for option in required if option not in self.options]
        if unknown or missing:
            told = [f"unknown: {', '.join(unknown)}"] * bool(unknown)
            told += [f"missing: {', '.join(missing)}"] * bool(missing)
            advice = f"there are {', '.join(known)}"
            raise self.site.refuse("options", "; ".join([reason, *told]), advice)
        timeout = self.options.get("timeout_ms", PATIENCE_MS)
        if type(timeout) is not int or timeout <= 0 or not self.written.timeout_ms:
            raise self._refuse("timeout_ms", WRONG_TIMEOUT)

    def _target(self) -> str:
        target = _unwrapped(self.options["target"])
        if not (isinstance(target, str) and target and self.written.target):
            raise self._refuse("target", WRONG_TARGET)
        return target

    def _refuse_duplicate(self) -> None:
        folded = _folded(self.name)
        for _, spec in self.offering.components.tools.values():
            if spec.actor is not None and _folded(spec.name) == folded:
                raise self.site.refuse(
                    "name",
                    f'Actor tool "{self.name}" duplicates an earlier declaration',
                    f"{spec.name!r} at {spec.where} reads the same without punctuation",
                )

    def _refuse_keywords(self, schema: Schema) -> None:
        from ._snodo import unenforced_keyword

        found = unenforced_keyword(dumps(schema))
        if found is None:
            return
        keyword, path = found
        shown = dumps(path).decode()
        error = self.site.refuse(
            ".".join(["input_schema", *path]),
            f'Actor tool input schema uses unsupported keyword "{keyword}" at {shown}',
            "leave it out: arguments of actor tools are held to the basic validator",
        )
        error.keyword = keyword
        raise error

    def _tool(self, target: str, schema: Schema) -> ActorTool:
        from ._snodo import ActorTool

        message = self.options["message"]
        if self.form == "cast":
            how: dict[str, Any] = {}
        else:
            encoder = self.options["encode_reply"]
            how = {
                "timeout_ms": min(self.options.get("timeout_ms", PATIENCE_MS), _LONGEST_MS),
                # One that cannot be called with a reply is found out when there is one.
                "encode_reply": encoder if _takes_one(encoder) else None,
            }
        parameters = self._parameters(message) if callable(message) else 0
        return ActorTool(self.name, target, dumps(schema), message, parameters, **how)

    def _parameters(self, builder: Any) -> int:
        """Count the parameters of a builder: arguments, or arguments and context."""
        advice = "write a function of the arguments, or of arguments and context"
        if runner(builder)[1]:
            raise self.site.refuse("message", "must be no coroutine function", advice)
        if inspect.isgeneratorfunction(innermost(builder)):
            raise self.site.refuse("message", "must be no generator function", advice)
        try:
            parameters = inspect.signature(builder).parameters.values()
        except (ValueError, TypeError):
            raise self.site.refuse("message", "its signature cannot be read", advice) from None
        places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        if len(parameters) not in (1, 2) or not all(
            one.kind in places and one.default is one.empty for one in parameters
        ):
            raise self.site.refuse("message", "must take one or two positional parameters", advice)
        return len(parameters)

    def _refuse(self, part: str, reason: str) -> DeclarationError:
        return self.site.refuse(part, reason, ADVICE[part])


def _function(name: str, tool: ActorTool) -> Handler:
    """Give what layers go around: as of any function, a failure is raised through them."""
    from ._snodo import Result

    async def function(arguments: Any, context: Any = None) -> Result:
        return Result.structured(await tool(arguments, context))

    function.__name__ = function.__qualname__ = name
    return function


def _handler(function: Handler) -> Handler:
    """Give what whoever declares may call: it gives what a client gets."""
    from ._snodo import Result

    @functools.wraps(function)
    async def handler(arguments: Any, context: Any = None) -> Result:
        try:
            return await function(arguments, context)
        except ActorError as error:
            return Result.error(error.message)

    return handler


def _unwrapped(target: Any) -> Any:
    return target.name if isinstance(target, ActorName) else target


def _takes_one(encoder: Any) -> bool:
    if not callable(encoder) or runner(encoder)[1]:
        return False
    try:
        inspect.signature(encoder).bind(None)
    except TypeError:
        return False
    except ValueError:
        return True  # a compiled function that tells nothing about itself
    return True


def _folded(name: str) -> str:
    """Give a name without punctuation, in camel case: tools that differ in nothing else clash."""
    words = "".join(char if char.isalnum() else "_" for char in name).split("_")
    return "".join(word[:1].upper() + word[1:] for word in words)
