"""What a callable really is: its signature, its namespaces, and how its value is got."""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from ._draining import drained, drained_async

_ENCLOSING = 32


def innermost(function: Any) -> Any:
    """Give the Python function whose annotations and lines count, through every wrapping."""
    for _ in range(_ENCLOSING):
        if isinstance(function, functools.partial):
            function = function.func
        elif inspect.ismethod(function) or isinstance(function, (staticmethod, classmethod)):
            function = function.__func__
        elif hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        elif not inspect.isroutine(function) and not isinstance(function, type):
            call = getattr(type(function), "__call__", None)  # noqa: B004 - the function is wanted
            if not inspect.isfunction(call):
                return function
            function = call
        else:
            return function
    return function


def location(function: Any, frame: FrameType) -> str:
    """Give ``file:line`` of a callable, or of the line that declares it."""
    code = getattr(innermost(function), "__code__", None)
    if code is None or isinstance(function, functools.partial):
        return frame_location(frame)
    return f"{shown(code.co_filename)}:{code.co_firstlineno}"


def frame_location(frame: FrameType) -> str:
    """Give ``file:line`` of the line a frame is at, or its nearest caller outside this package."""
    outer: FrameType | None = frame
    while outer is not None:
        if outer.f_globals.get("__name__", "").partition(".")[0] != "snodo":
            frame = outer
            break
        outer = outer.f_back
    return f"{shown(frame.f_code.co_filename)}:{frame.f_lineno}"


def shown(path: str) -> str:
    """Give a path relative to the working directory when it is below it."""
    try:
        below = os.path.join(os.getcwd(), "")
    except OSError:
        return path
    return path.removeprefix(below)


def local_names(function: Any, frame: FrameType | None) -> dict[str, Any]:
    """Give the names of enclosing functions and classes, which annotations may use."""
    inner = innermost(function)
    names: dict[str, Any] = {}
    qualname = getattr(inner, "__qualname__", "")
    enclosing = [part for part in qualname.split(".")[:-1] if part != "<locals>"]
    frames: list[FrameType] = []
    while frame is not None and enclosing and len(frames) < _ENCLOSING:
        if (
            frame.f_globals is getattr(inner, "__globals__", None)
            and frame.f_code.co_name in enclosing
        ):
            frames.append(frame)
        frame = frame.f_back
    for outer in reversed(frames):
        names.update(outer.f_locals)
    code, cells = getattr(inner, "__code__", None), getattr(inner, "__closure__", None)
    if code is not None and cells:
        for name, cell in zip(code.co_freevars, cells, strict=False):
            try:
                names[name] = cell.cell_contents
            except ValueError:  # not assigned yet
                continue
    return names


def global_names(function: Any) -> dict[str, Any]:
    """Give the module's names a callable's annotations use."""
    inner = innermost(function)
    found = getattr(inner, "__globals__", None)
    if found is None:
        found = vars(sys.modules.get(getattr(inner, "__module__", ""), sys))
    return dict(found)


def parameters(function: Any) -> tuple[list[inspect.Parameter], Any]:
    """Give the parameters that a call can fill, and the return annotation.

    Raises:
        ValueError: If the callable tells nothing about itself.
    """
    signature = inspect.signature(function)
    found = list(signature.parameters.values())
    bound: set[str] = set()
    while isinstance(function, functools.partial):
        bound |= function.keywords.keys()
        function = function.func
    return [item for item in found if item.name not in bound], signature.return_annotation


def is_method(function: Any) -> bool:
    """Tell a function that was written in a class body and has no instance yet."""
    if not inspect.isfunction(function):
        return False
    outer, dot, _ = function.__qualname__.rpartition(".")
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    return bool(dot and not outer.endswith("<locals>") and names and names[0] in ("self", "cls"))


def runner(function: Any) -> tuple[Callable[..., Any], bool]:
    """Give what is called for a value, and whether that gives an awaitable.

    Generators are drained into a list. A plain function around a coroutine function is taken to
    give an awaitable, and is forgiven when it does not.
    """
    target = function
    while isinstance(target, functools.partial):
        target = target.func
    if not inspect.isroutine(target) and not isinstance(target, type):
        target = getattr(type(target), "__call__", target)  # noqa: B004 - as above
    if inspect.isasyncgenfunction(target):

        async def drain_async(*args: Any, **kwargs: Any) -> list[Any]:
            return await drained_async(function(*args, **kwargs))

        return drain_async, True
    if inspect.isgeneratorfunction(target):

        def drain(*args: Any, **kwargs: Any) -> list[Any]:
            return drained(function(*args, **kwargs))

        return drain, False
    if inspect.iscoroutinefunction(target):
        return function, True
    inner = innermost(function)
    if inspect.iscoroutinefunction(inner):

        async def awaited(*args: Any, **kwargs: Any) -> Any:
            value = function(*args, **kwargs)
            return await value if inspect.isawaitable(value) else value

        return awaited, True
    if inspect.isasyncgenfunction(inner):

        async def drain_inner_async(*args: Any, **kwargs: Any) -> Any:
            value = function(*args, **kwargs)
            if inspect.isawaitable(value):
                value = await value
            return await drained_async(value) if inspect.isasyncgen(value) else value

        return drain_inner_async, True
    if inspect.isgeneratorfunction(inner):

        def drain_inner(*args: Any, **kwargs: Any) -> Any:
            value = function(*args, **kwargs)
            return drained(value) if inspect.isgenerator(value) else value

        return drain_inner, False
    return function, False


def raw_runner(
    function: Any, run: Callable[..., Any], found: list[inspect.Parameter], context: str | None
) -> Callable[[Any, Any], Any] | None:
    """Give ``run`` as a function of arguments and context; None if its parameters do not allow it.

    Args:
        function: The callable as declared.
        run: What calling it comes to.
        found: Its parameters.
        context: The name of the parameter annotated as the context, if one is.
    """
    kinds = inspect.Parameter
    given = [p for p in found if p.name != context]
    places = [p for p in given if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)]
    if any(p.default is kinds.empty for p in given if p.kind is kinds.KEYWORD_ONLY):
        return None
    needed = sum(p.default is kinds.empty for p in places)
    if context is None:
        if needed > 2:
            return None
        if len(places) >= 2 or any(p.kind is kinds.VAR_POSITIONAL for p in given):
            return run
        if len(places) == 1:
            return lambda arguments, context: run(arguments)
        return lambda arguments, context: run()
    if needed > 1:
        return None
    holder = next(p for p in found if p.name == context)
    if holder.kind is kinds.KEYWORD_ONLY:
        if places:
            return lambda arguments, ctx: run(arguments, **{context: ctx})
        return lambda arguments, ctx: run(**{context: ctx})
    if not places:
        return lambda arguments, context: run(context)
    if found.index(holder) == 0:
        return lambda arguments, context: run(context, arguments)
    return run
