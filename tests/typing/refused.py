"""Programs that must not type-check: where a line is no error, mypy complains of its ignore."""

import snodo
from snodo import (
    Arg,
    Cache,
    Context,
    Depends,
    Error,
    Hub,
    Image,
    Message,
    Server,
    State,
    StaticResource,
    elicit,
    roots,
    sampling,
)
from snodo.middleware import rate_limit, timeout

Server(3)  # type: ignore[arg-type]
Server("x", validator="most")  # type: ignore[arg-type]
Server("x", nonsense=1)  # type: ignore[arg-type]
Cache(scope="shared")  # type: ignore[arg-type]
Cache(5)  # type: ignore[call-arg]
Arg(minimum=1)  # type: ignore[call-arg]
Arg(ge="1")  # type: ignore[arg-type]
Error("1", "x")  # type: ignore[arg-type]
Image(data=3)  # type: ignore[arg-type]

server = Server("x")


@server.tool(nonsense=1)  # type: ignore[call-overload, untyped-decorator]
def first() -> None: ...


@snodo.tool(timeout="3")  # type: ignore[call-overload, untyped-decorator]
def second() -> None: ...


@server.tool
def third(a: int) -> str:
    return str(a)


third("a")  # type: ignore[arg-type]
server.tool("name")  # type: ignore[call-overload]


@server.resource  # type: ignore[arg-type]
def fourth() -> None: ...


@server.resource("a://b", nonsense=1)  # type: ignore[arg-type]
def fifth() -> None: ...


@server.prompt(mime_type="a")  # type: ignore[call-overload, untyped-decorator]
def sixth() -> None: ...


@snodo.prompt(complete=5)  # type: ignore[call-overload, untyped-decorator]
def seventh() -> None: ...


Message("system", "a")  # type: ignore[arg-type]
StaticResource("a://b", text=b"c")  # type: ignore[arg-type]
with server.changes() as changes:
    changes.remove("tools", "a")  # type: ignore[arg-type]


def eighth(context: Context) -> None:
    context.ask("a", {"method": "roots/list"})  # type: ignore[call-overload]
    context.ask(3, roots.list())  # type: ignore[call-overload]
    text: str = context.ask("a", elicit.form("?", bool)).value  # type: ignore[assignment]
    context.log("loud", text)  # type: ignore[arg-type]
    context.progress("1")  # type: ignore[arg-type]
    context.once("a", 3)  # type: ignore[call-overload]
    elicit.form(3, bool)  # type: ignore[call-overload]
    sampling.create_message("a", "1")  # type: ignore[arg-type]


State(3)  # type: ignore[arg-type]
State(ttl="1")  # type: ignore[arg-type]
Server("x", secret=3)  # type: ignore[arg-type]


Hub(overflow="drop")  # type: ignore[arg-type]
Hub().publish("tools_changed")  # type: ignore[arg-type]
Server("x", subscriptions=3)  # type: ignore[arg-type]


Server("x", middleware=[3])  # type: ignore[list-item]
Server("x", middleware=3)  # type: ignore[arg-type]
timeout("1")  # type: ignore[arg-type]
rate_limit(method="leaky")  # type: ignore[arg-type]
rate_limit(per=3)  # type: ignore[arg-type]
Depends(3)  # type: ignore[arg-type]
server.overrides([3])  # type: ignore[arg-type]


Server("x", extensions=["com.example/jobs"])  # type: ignore[list-item]
Server("x", extensions=3)  # type: ignore[arg-type]
