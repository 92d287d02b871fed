"""MCP servers in Python with a Rust core: decorate functions, serve them.

Names are imported when they are first used, so that `import snodo` costs next to nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._arg import Arg
    from ._snodo import Context, Result
    from ._tool import Tool
    from .context import current_context
    from .decorators import tool
    from .errors import ConfigurationError, DeclarationError, Error, ToolError
    from .results import Audio, EmbeddedResource, Image, ResourceLink, Text
    from .server import Cache, Server

__all__ = [
    "Arg",
    "Audio",
    "Cache",
    "ConfigurationError",
    "Context",
    "DeclarationError",
    "EmbeddedResource",
    "Error",
    "Image",
    "ResourceLink",
    "Result",
    "Server",
    "Text",
    "Tool",
    "ToolError",
    "current_context",
    "tool",
]

__version__ = "0.1.0"

_HOMES = {
    "Arg": "_arg",
    "Audio": "results",
    "Cache": "server",
    "ConfigurationError": "errors",
    "Context": "_snodo",
    "DeclarationError": "errors",
    "EmbeddedResource": "results",
    "Error": "errors",
    "Image": "results",
    "ResourceLink": "results",
    "Result": "_snodo",
    "Server": "server",
    "Text": "results",
    "Tool": "_tool",
    "ToolError": "errors",
    "current_context": "context",
    "tool": "decorators",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(f".{home}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
