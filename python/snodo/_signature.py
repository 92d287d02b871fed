"""One look at a callable: its parameters, schema, context slot and binder, as a frozen plan.

Nothing here runs a component; the plan is read once, by the runtime that does. Named tuples, since
their classes are made in a third of the time of dataclasses, and every start of a server waits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._injection import Injection
    from ._layers import Layer
    from ._snodo import ActorTool


class Slot(NamedTuple):
    """Where one argument of a call goes."""

    key: str | None
    """Name on the wire; None for the parameter that takes the context."""
    keyword: str | None = None
    """Keyword it is passed by; None to pass it by position."""
    convert: Callable[[Any], Any] | None = None
    """From the JSON value to the annotated type; None when the JSON value is that already."""
    required: bool = False
    """Whether a call without it is refused."""
    default: Any = None
    """What an absent argument is, when not required."""
    number: Literal["int", "float"] | None = None
    """What a JSON number becomes: ``5.0`` the int 5, or ``5`` the float 5.0."""
    null_is_default: bool = False
    """Whether null means absent although the published schema does not mention null."""


class ToolSpec(NamedTuple):
    """All that is known about a tool before the first call."""

    name: str
    definition: bytes
    """Compact JSON of the tool as it is listed."""
    function: Callable[..., Any]
    """What is called; generators already give lists."""
    is_async: bool
    """Whether calling gives an awaitable."""
    slots: tuple[Slot, ...] | None
    """How arguments are passed, in signature order; None for ``function(arguments, context)``."""
    output_null: bool = False
    """Whether a returned None is a structured null."""
    timeout: float | None = None
    """Seconds; None for the server's default."""
    check_arguments: Callable[[dict[str, Any]], bool] | None = None
    """The application's own validator on arguments; may raise."""
    check_output: Callable[[Any], bool] | None = None
    """The application's own validator on structured content; may raise."""
    where: str = ""
    """``file:line`` of the declaration."""
    actor: ActorTool | None = None
    """Of a tool that asks or tells an actor: what it does. Where nothing surrounds the function,
    that is done without calling it."""
    middleware: tuple[Layer, ...] = ()
    """What surrounds it, outermost first; what the server adds is not among it."""
    injection: Injection | None = None
    """How ``function`` gets its dependencies; None when it has none."""
    wrapper: Callable[..., Any] | None = None
    """``wrapper(context, arguments, rest)``: all middleware around ``function``, which then is
    called by ``rest(arguments)``. Set for a server; ``is_async`` is the wrapper's then."""


class CompletionSpec(NamedTuple):
    """How one argument of a prompt, or one variable of a template, is completed."""

    argument: str
    values: tuple[str, ...] | None = None
    """All the values there are, in order; None when a function knows them."""
    function: Callable[..., Any] | None = None
    """Called with ``(value, arguments)``, and the context after them if ``takes_context``.

    Gives a list of strings or a `Result`, whatever the completer itself returned.
    """
    is_async: bool = False
    """Whether calling gives an awaitable."""
    takes_context: bool = False
    """Whether the function takes the context as its third argument."""
    injection: Injection | None = None
    """How ``function`` gets its dependencies; None when it has none."""
    wrapper: Callable[..., Any] | None = None
    """``wrapper(context, arguments, rest)``: all middleware around ``function``, which then is
    called by ``rest(arguments)``. Set for a server; ``is_async`` is the wrapper's then."""


class ResourceSpec(NamedTuple):
    """All that is known about a resource or a template before the first read."""

    name: str
    definition: bytes
    """Compact JSON of the resource or template as it is listed."""
    uri: str | None
    """The URI of a direct resource; None for a template."""
    template: str | None
    """The text of a template; None for a direct resource."""
    mime_type: str | None = None
    content: bytes | None = None
    """JSON array of contents that never change; None when ``function`` gives them."""
    function: Callable[..., Any] | None = None
    """What is called. Gives a string, bytes, a `Result` or data: contents are results already."""
    is_async: bool = False
    """Whether calling gives an awaitable."""
    slots: tuple[Slot, ...] | None = None
    """How variables are passed, in signature order; None for ``function(params, context)``.

    Values are strings. A `ConversionError` of ``convert`` means that there is no such resource.
    """
    cache: tuple[int, str] | None = None
    """``(ttl_ms, scope)`` of reads; None for the server's policy."""
    timeout: float | None = None
    """Seconds; None for the server's default."""
    where: str = ""
    """``file:line`` of the declaration."""
    completions: tuple[CompletionSpec, ...] = ()
    matches: Callable[[str], bool | dict[str, str]] | None = None
    """Of a template outside the supported shapes: whether it matches a URI, and what that binds."""
    middleware: tuple[Layer, ...] = ()
    """What surrounds it, outermost first; what the server adds is not among it."""
    injection: Injection | None = None
    """How ``function`` gets its dependencies; None when it has none."""
    bare: Callable[..., Any] | None = None
    """``function`` before its value is shaped; middleware sees what that gives."""
    shape: Callable[[Any], Any] | None = None
    """What is made of that value."""
    wrapper: Callable[..., Any] | None = None
    """``wrapper(context, arguments, rest)``: all middleware around ``function``, which then is
    called by ``rest(arguments)``. Set for a server; ``is_async`` is the wrapper's then."""


class PromptSpec(NamedTuple):
    """All that is known about a prompt before it is first asked for."""

    name: str
    definition: bytes
    """Compact JSON of the prompt as it is listed."""
    function: Callable[..., Any]
    """What is called. Gives a string or a `Result`: messages are results already."""
    is_async: bool
    """Whether calling gives an awaitable."""
    slots: tuple[Slot, ...] | None
    """How arguments are passed, in signature order; None for ``function(arguments, context)``.

    Values are strings. The text of a `ConversionError` of ``convert`` is the client's to read.
    """
    timeout: float | None = None
    """Seconds; None for the server's default."""
    where: str = ""
    """``file:line`` of the declaration."""
    completions: tuple[CompletionSpec, ...] = ()
    middleware: tuple[Layer, ...] = ()
    """What surrounds it, outermost first; what the server adds is not among it."""
    injection: Injection | None = None
    """How ``function`` gets its dependencies; None when it has none."""
    bare: Callable[..., Any] | None = None
    """``function`` before its value is shaped; middleware sees what that gives."""
    shape: Callable[[Any], Any] | None = None
    """What is made of that value."""
    wrapper: Callable[..., Any] | None = None
    """``wrapper(context, arguments, rest)``: all middleware around ``function``, which then is
    called by ``rest(arguments)``. Set for a server; ``is_async`` is the wrapper's then."""
