"""Programs that must not type-check: where a line is no error, mypy complains of its ignore."""

import snodo
from snodo import Arg, Cache, Error, Image, Server

Server(3)  # type: ignore[arg-type]
Server("x", validator="most")  # type: ignore[arg-type]
Server("x", nonsense=1)  # type: ignore[call-arg]
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
