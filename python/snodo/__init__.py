"""MCP servers in Python with a Rust core: decorate functions, serve them.

Names are imported when they are first used, so that `import snodo` costs next to nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import actors, auth, elicit, extension, middleware, roots, sampling
    from ._answer import Answer, InputRequest
    from ._arg import Arg
    from ._interview import Answers
    from ._prompt import Prompt
    from ._ready import DirectoryResource, FileResource, StaticResource
    from ._resource import Resource
    from ._snodo import Context, Event, Hub, Result
    from ._state import State
    from ._subscriptions import Filter, Source
    from ._tool import Tool
    from .actors import (
        Actor,
        ActorError,
        ActorName,
        Supervisor,
        ThreadActor,
        actor_call,
        actor_cast,
    )
    from .context import current_context
    from .decorators import prompt, resource, tool
    from .dependencies import (
        Depends,
        current_auth,
        current_client_capabilities,
        current_client_info,
        current_headers,
        current_meta,
        current_request_id,
        current_state,
        current_trace,
    )
    from .errors import (
        Cancelled,
        ConfigurationError,
        DeclarationError,
        Declined,
        Error,
        ToolError,
    )
    from .extension import Extension
    from .results import Audio, EmbeddedResource, Image, Message, ResourceLink, Text
    from .server import Cache, Server

__all__ = [
    "Actor",
    "ActorError",
    "ActorName",
    "Answer",
    "Answers",
    "Arg",
    "Audio",
    "Cache",
    "Cancelled",
    "ConfigurationError",
    "Context",
    "DeclarationError",
    "Declined",
    "Depends",
    "DirectoryResource",
    "EmbeddedResource",
    "Error",
    "Event",
    "Extension",
    "FileResource",
    "Filter",
    "Hub",
    "Image",
    "InputRequest",
    "Message",
    "Prompt",
    "Resource",
    "ResourceLink",
    "Result",
    "Server",
    "Source",
    "State",
    "StaticResource",
    "Supervisor",
    "Text",
    "ThreadActor",
    "Tool",
    "ToolError",
    "actor_call",
    "actor_cast",
    "actors",
    "auth",
    "current_auth",
    "current_client_capabilities",
    "current_client_info",
    "current_context",
    "current_headers",
    "current_meta",
    "current_request_id",
    "current_state",
    "current_trace",
    "elicit",
    "extension",
    "middleware",
    "prompt",
    "resource",
    "roots",
    "sampling",
    "telemetry",
    "tool",
]

__version__ = "0.1.0"

# Names by the module they are in; the empty one says that they are modules themselves.
_HOMES = {
    "Actor": "actors",
    "ActorError": "errors",
    "ActorName": "actors",
    "Answer": "_answer",
    "Answers": "_interview",
    "Arg": "_arg",
    "Audio": "results",
    "Cache": "server",
    "Cancelled": "errors",
    "ConfigurationError": "errors",
    "Context": "_snodo",
    "DeclarationError": "errors",
    "Declined": "errors",
    "Depends": "dependencies",
    "DirectoryResource": "_ready",
    "EmbeddedResource": "results",
    "Error": "errors",
    "Event": "_snodo",
    "Extension": "extension",
    "FileResource": "_ready",
    "Filter": "_subscriptions",
    "Hub": "_snodo",
    "Image": "results",
    "InputRequest": "_answer",
    "Message": "results",
    "Prompt": "_prompt",
    "Resource": "_resource",
    "ResourceLink": "results",
    "Result": "_snodo",
    "Server": "server",
    "Source": "_subscriptions",
    "State": "_state",
    "StaticResource": "_ready",
    "Supervisor": "actors",
    "Text": "results",
    "ThreadActor": "actors",
    "Tool": "_tool",
    "ToolError": "errors",
    "actor_call": "actors",
    "actor_cast": "actors",
    "actors": "",
    "auth": "",
    "current_auth": "dependencies",
    "current_client_capabilities": "dependencies",
    "current_client_info": "dependencies",
    "current_context": "context",
    "current_headers": "dependencies",
    "current_meta": "dependencies",
    "current_request_id": "dependencies",
    "current_state": "dependencies",
    "current_trace": "dependencies",
    "elicit": "",
    "extension": "",
    "middleware": "",
    "prompt": "decorators",
    "resource": "decorators",
    "roots": "",
    "sampling": "",
    "telemetry": "",
    "tool": "decorators",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        # Tools look for names with underscores in any module; they are nobody's old ones.
        if name.startswith("_"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from ._elsewhere import missing_name

        raise missing_name(__name__, name)
    from importlib import import_module

    module = import_module(f".{home or name}", __name__)
    value: object = getattr(module, name) if home else module
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
