"""What other libraries call things, and what they are called here: advice for who comes from there.

Only refusals are made here; what they are about is looked at by whoever refuses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_origin

from . import _hints
from ._misspelt import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ._definition import Site

SERVER_OPTIONS = {
    "auth": "write authenticate=...",
    "lifespan": "write @server.lifespan above the function",
    "log_level": "that is an option of `snodo serve`",
    "host": 'that is an option of server.run("http")',
    "port": 'that is an option of server.run("http")',
    "path": 'that is an option of server.run("http")',
    "tools": "write server.add(...)",
    "tags": "a server has none",
    "include_tags": "write authorize=..., which says who sees what",
    "exclude_tags": "write authorize=..., which says who sees what",
    "mask_error_details": "exceptions are not shown to clients unless debug=True",
    "list_page_size": "write page_size=...",
    "strict_input_validation": 'arguments are held to their schema; validator="basic" does less',
    "stateless_http": "no client needs a session that can do without",
    "json_response": "an answer is JSON unless something is said before it",
    "on_duplicate": "a name that is taken is refused",
    "dependencies": "write Depends in the signatures of components",
    "cache_ttl": "write cache=Cache(ttl_ms=...)",
    "cache_scope": "write cache=Cache(scope=...)",
    "request_state_security": "write secret=...",
    "dereference_schemas": "schemas are written without references but for recursion",
    "providers": "write server.add(...) for what is declared elsewhere",
    "transforms": "write server.add(...) for what is declared elsewhere",
    "tasks": "there are none; write extensions=[...]",
    "session_state_store": "there is no state of sessions; write State or an Actor",
    "client_log_level": "clients say it for themselves",
    "experimental_capabilities": "write extensions=[...]",
}
"""Options of servers there, and what to do here."""

SERVING_OPTIONS = {
    "workers": "that is an option of `snodo serve`",
    "reload": "that is an option of `snodo serve`",
    "log_level": "that is an option of `snodo serve`",
    **dict.fromkeys(("show_banner", "banner"), "there is none"),
    **dict.fromkeys(
        ("stateless", "stateless_http"), "no client needs a session that can do without"
    ),
    "json_response": "an answer is JSON unless something is said before it",
    "uvicorn_config": "uvicorn takes server.asgi()",
    "middleware": "layers are given to Server(middleware=[...]), those of ASGI to your application",
    "metrics": "write Server(metrics=True)",
    "access_log": "write Server(access_log=True)",
    "timeout": "write Server(timeout=...)",
    "sockets": "uds is a Unix socket",
}
"""Options of what serves there, and what to do here."""

SERVER_MEMBERS = {
    **dict.fromkeys(
        ("add_tool", "add_resource", "add_template", "add_prompt", "include_router"),
        "write server.add(...)",
    ),
    **dict.fromkeys(
        ("remove_tool", "remove_resource", "remove_prompt", "disable", "enable"),
        "write `with server.changes() as changes:`",
    ),
    **dict.fromkeys(("add_middleware", "middleware"), "write Server(middleware=[...])"),
    **dict.fromkeys(
        ("http_app", "streamable_http_app", "sse_app"), "write server.asgi(), an ASGI application"
    ),
    **dict.fromkeys(
        ("run_async", "run_http_async", "run_streamable_http_async", "run_sse_async"),
        "write await server.serve(...)",
    ),
    "run_stdio_async": 'write server.run("stdio")',
    **dict.fromkeys(
        (
            *("list_tools", "list_resources", "list_resource_templates", "list_prompts"),
            *("call_tool", "read_resource", "get_prompt", "render_prompt"),
            *("get_tool", "get_tools", "get_resource"),
        ),
        "write server.handle({...}), which takes a message",
    ),
    "get_context": "write snodo.current_context()",
    **dict.fromkeys(
        ("completion", "add_completion_handler"), "write @server.complete(target, argument)"
    ),
    "add_extension": "write Server(extensions=[...])",
    **dict.fromkeys(
        ("add_provider", "add_transform"), "write server.add(...) for what is declared elsewhere"
    ),
    "custom_route": "mount server.asgi() in an application that has the route",
    "dependency_overrides": "write `with server.overrides({...}):`",
    **dict.fromkeys(
        ("mount", "import_server", "as_proxy", "from_openapi", "from_fastapi"),
        "servers are not made of others; declare their components with server.add(...)",
    ),
    **dict.fromkeys(
        ("get", "post", "put", "delete"), "write @server.tool, or @server.resource(uri)"
    ),
    "on_event": "write @server.lifespan above an async generator",
}
"""Members of servers there, and what to write here."""

COMPONENT_OPTIONS = {
    "tags": "say it in metadata={...}",
    "auth": "write Server(authorize=auth.require_scopes()) and metadata={'scopes': ...}",
    "enabled": "`with server.changes() as changes:` adds and removes",
    "exclude_args": "a parameter with Depends is no argument",
    "dependencies": "write Depends in the signature",
    "structured_output": "output_schema=None publishes none",
    "serializer": "give a Result, or a string",
    "response_model": "annotate what the function returns",
    "version": "a component has none; say it in metadata={...}",
    "run_in_thread": "plain functions run on threads by themselves",
    "task": "there are no tasks",
}
"""Options of components there, and what to do here."""

MIDDLEWARE_OPTIONS = {
    "rate_limit": {
        **dict.fromkeys(("per", "period", "interval", "seconds", "window_seconds"), "window"),
        **dict.fromkeys(("rate", "calls", "max_requests", "max_calls", "requests"), "limit"),
        **dict.fromkeys(("burst_capacity", "capacity"), "burst"),
        **dict.fromkeys(("key_func", "get_client_id", "by"), "key"),
        "algorithm": "method",
    },
    "timeout": dict.fromkeys(("timeout", "after", "limit"), "seconds"),
    "concurrency": dict.fromkeys(("max_concurrency", "max", "n"), "limit"),
    "retry": {
        **dict.fromkeys(("max_retries", "retries", "tries", "times"), "attempts"),
        **dict.fromkeys(("retry_exceptions", "exceptions", "errors"), "on"),
        **dict.fromkeys(("delay", "base_delay", "wait"), "backoff"),
    },
    "cache": {
        **dict.fromkeys(("expire", "expires", "timeout", "seconds", "ttl_ms"), "ttl"),
        **dict.fromkeys(("max_size", "maxsize", "size"), "max_entries"),
        **dict.fromkeys(("key_builder", "key_func", "by"), "key"),
    },
    "response_limit": {
        **dict.fromkeys(("max_size", "max_length", "limit", "bytes"), "max_bytes"),
        **dict.fromkeys(("chars", "characters"), "max_chars"),
        "ttl": "keep",
    },
}
"""Options of middleware there, and what they are called here."""

DEPENDS_OPTIONS = {
    "use_cache": "a dependency is always resolved once a call",
    "scope": "a dependency is always left after the call",
    "scopes": "write Server(authorize=auth.require_scopes(...))",
}
"""Options of dependencies there, and how it is here."""

_VERIFIERS = "verify the token in a function, or list tokens, for auth.bearer(...)"

OLD_NAMES: dict[str, dict[str, str]] = {
    "snodo": {
        **dict.fromkeys(("FastMCP", "MCPServer", "FastAPI"), "import Server"),
        "APIRouter": "declare with snodo.tool and its sisters, and server.add(...) them",
        **dict.fromkeys(
            ("get_context", "CurrentContext"),
            "annotate a parameter with Context, or import current_context",
        ),
        **dict.fromkeys(("Request", "Header", "Cookie"), "take a Context, which has the headers"),
        **dict.fromkeys(("get_http_headers", "CurrentHeaders"), "import current_headers"),
        **dict.fromkeys(
            ("get_access_token", "CurrentAccessToken", "AccessToken", "TokenClaim"),
            "import current_auth",
        ),
        **dict.fromkeys(("ToolResult", "ResourceResult", "PromptResult"), "import Result"),
        "Shared": "what the lifespan yields is there for all: import current_state",
        "Client": "there is none yet; server.handle({...}) takes a message",
        "File": "import EmbeddedResource",
        "TextResource": "import StaticResource",
        "PromptMessage": "import Message",
        **dict.fromkeys(("ResourceError", "PromptError", "McpError", "MCPError"), "import Error"),
        "HTTPException": "import ToolError, or Error to fail the request",
        **dict.fromkeys(("Query", "Body", "Form", "Path", "Field"), "import Arg"),
        "Security": "write Server(authorize=auth.require_scopes(...))",
        "require_scopes": "import auth, and write auth.require_scopes(...)",
        "BackgroundTasks": "there are none; an Actor takes a message and works on",
        "Middleware": "a layer is a function of (context, arguments, call_next)",
    },
    "snodo.auth": {
        **dict.fromkeys(
            (
                *("StaticTokenVerifier", "JWTVerifier", "TokenVerifier", "DebugTokenVerifier"),
                *("IntrospectionTokenVerifier", "BearerAuthProvider", "AuthProvider"),
                *("RemoteAuthProvider", "OAuthProvider", "OAuthProxy", "OIDCProxy", "MultiAuth"),
            ),
            _VERIFIERS,
        ),
        "AccessToken": "a principal is a string or a dict",
        "AuthContext": "a policy takes (phase, component, context)",
        **dict.fromkeys(("restrict_tag", "run_auth_checks"), "write require_scopes(needs={...})"),
    },
    "snodo.middleware": {
        **dict.fromkeys(
            ("Middleware", "MiddlewareContext", "CallNext"),
            "a layer is a function of (context, arguments, call_next)",
        ),
        **dict.fromkeys(
            ("TimingMiddleware", "DetailedTimingMiddleware"), "write Server(metrics=True)"
        ),
        **dict.fromkeys(
            ("LoggingMiddleware", "StructuredLoggingMiddleware"),
            "write Server(access_log=True), or Server(instrument=[telemetry.logging_sink()])",
        ),
        "ErrorHandlingMiddleware": "the log has each traceback under its id",
        "RateLimitingMiddleware": 'write rate_limit(10, window=1, method="gcra")',
        "SlidingWindowRateLimitingMiddleware": "write rate_limit(60, window=60)",
        "RetryMiddleware": "write retry(attempts=3)",
        "ResponseCachingMiddleware": "write cache(60), on the components that are worth it",
        "ResponseLimitingMiddleware": "write response_limit(max_bytes=1_000_000)",
        "PingMiddleware": "streams are kept alive by themselves",
        "AuthMiddleware": "write Server(authorize=auth.require_scopes(...))",
    },
}
"""Names that are imported there, by the module here where they are looked for, and what to do."""

_LIBRARIES = {
    "fastapi": "FastAPI",
    "starlette": "Starlette",
    "fastmcp": "FastMCP",
    "uncalled_for": "FastMCP",
    "docket": "FastMCP",
    "mcp": "mcp",
}

_MARKS = {
    "Depends": "import Depends from snodo",
    "Security": "import Depends from snodo",
    "Header": "take a snodo.Context, whose headers has them",
    "CurrentContext": "annotate it with snodo.Context",
    "CurrentHeaders": "write Annotated[..., current_headers]",
    **dict.fromkeys(("CurrentAccessToken", "TokenClaim"), "write Annotated[..., current_auth]"),
    "Shared": "what the lifespan yields is there for all: Annotated[..., current_state]",
    **dict.fromkeys(
        ("Query", "Path", "Body", "Form", "Cookie", "File"),
        "write Annotated[..., Arg(...)]",
    ),
}

_CLASSES = {
    "Context": "annotate it with snodo.Context",
    "Request": "annotate it with snodo.Context, whose headers has those of HTTP",
}


def meant(name: str, elsewhere: Mapping[str, str], known: Iterable[str]) -> str:
    """Say what to do instead of an option that there is not; empty if nobody knows."""
    return elsewhere.get(name) or nearest(name, known)


def renamed(maker: str, unknown: str, known: Iterable[str]) -> str:
    """Say what an option of middleware is called here."""
    here = MIDDLEWARE_OPTIONS.get(maker, {}).get(unknown)
    meant = f"did you mean {here!r}?" if here else nearest(unknown, known)
    return f"{meant}{' ' if meant else ''}there are {', '.join(known)}"


def missing_name(module: str, name: str) -> AttributeError | ImportError:
    """Say what to write instead of a name that a module has not.

    One that is known elsewhere is an ImportError: of an AttributeError `from` tells nothing.
    """
    advice = OLD_NAMES[module].get(name)
    if advice is None:
        return AttributeError(f"module {module!r} has no attribute {name!r}")
    return ImportError(f"{module} has no {name}: {advice}", name=module)


def missing_member(name: str) -> AttributeError:
    """Say what to write instead of a member that `Server` has not."""
    advice = SERVER_MEMBERS.get(name)
    text = f"'snodo.Server' object has no attribute {name!r}"
    return AttributeError(f"{text}: {advice}" if advice else text)


def no_hint(name: str) -> str:
    """Say how to annotate a parameter that is not."""
    if name in ("ctx", "context"):
        return f"annotate it: {name}: snodo.Context"
    return f"annotate it, for example {name}: str"


def refuse_mark(value: Any, name: str, site: Site) -> None:
    """Refuse the mark of another library, as a default or in ``Annotated``.

    Nobody would fill the parameter, and clients could.

    Raises:
        DeclarationError: If it is one.
    """
    library = _library(type(value))
    if library is not None:
        mark = type(value).__name__.lstrip("_")
        advice = _MARKS.get(mark, "snodo has Context, Depends and Arg")
        raise site.refuse(name, f"has the {mark} of {library}", advice, "parameter")


def refuse_class(hint: Any, name: str, site: Site) -> None:
    """Refuse the context or request of another library as a hint.

    Raises:
        DeclarationError: If it is one.
    """
    for member in _hints.union_members(hint):
        bare = _hints.peel(member)[0]
        cls = get_origin(bare) or bare
        library = _library(cls) if isinstance(cls, type) else None
        advice = library and _CLASSES.get(cls.__name__.partition("[")[0])
        if advice:
            called = cls.__name__.partition("[")[0]
            raise site.refuse(name, f"is the {called} of {library}", advice, "parameter")


def _library(cls: type) -> str | None:
    return _LIBRARIES.get(cls.__module__.partition(".")[0])
