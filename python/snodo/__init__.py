"""MCP servers in Python with a Rust core: decorate functions, serve them.

Names are imported when they are first used, so that `import snodo` costs next to nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._arg import Arg
    from ._prompt import Prompt
    from ._ready import DirectoryResource, FileResource, StaticResource
    from ._resource import Resource
    from ._snodo import Context, Event, Hub, Result
    from ._subscriptions import Filter, Source
    from ._tool import Tool
    from .context import current_context
    from .decorators import prompt, resource, tool
    from .errors import ConfigurationError, DeclarationError, Error, ToolError
    from .results import Audio, EmbeddedResource, Image, Message, ResourceLink, Text
    from .server import Cache, Server

__all__ = [
    "Arg",
    "Audio",
    "Cache",
    "ConfigurationError",
    "Context",
    "DeclarationError",
    "DirectoryResource",
    "EmbeddedResource",
    "Error",
    "Event",
    "FileResource",
    "Filter",
    "Hub",
    "Image",
    "Message",
    "Prompt",
    "Resource",
    "ResourceLink",
    "Result",
    "Server",
    "Source",
    "StaticResource",
    "Text",
    "Tool",
    "ToolError",
    "current_context",
    "prompt",
    "resource",
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
    "DirectoryResource": "_ready",
    "EmbeddedResource": "results",
    "Error": "errors",
    "Event": "_snodo",
    "FileResource": "_ready",
    "Filter": "_subscriptions",
    "Hub": "_snodo",
    "Image": "results",
    "Message": "results",
    "Prompt": "_prompt",
    "Resource": "_resource",
    "ResourceLink": "results",
    "Result": "_snodo",
    "Server": "server",
    "Source": "_subscriptions",
    "StaticResource": "_ready",
    "Text": "results",
    "Tool": "_tool",
    "ToolError": "errors",
    "current_context": "context",
    "prompt": "decorators",
    "resource": "decorators",
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
