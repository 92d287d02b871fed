"""What a policy refuses: everything whose name begins with `secret`."""

from snodo import Context, Error, Server, StaticResource, auth


def policy(phase: str, component: auth.Component, context: Context) -> Error | None:
    if component.name.startswith("broken"):
        raise RuntimeError("nobody is told this")
    if component.name.startswith("secret") and component.requested_uri != "secret://open":
        return Error.authorization(-32003, "Not for you", {"phase": phase})
    return None


server = Server("guarded", version="1.0.0", authorize=policy)


@server.tool
def open_tool(n: int) -> str:
    """For all."""
    return str(n)


@server.tool
def secret_tool(n: int) -> str:
    """For nobody."""
    return str(n)


server.add(StaticResource("wire://secret", text="x", name="secret"))


@server.resource("secret://{id}", name="secrets")
def secrets(id: str) -> str:
    """All but one of them for nobody."""
    return id


@server.prompt(complete={"text": ["one"]})
def secret_prompt(text: str) -> str:
    """For nobody."""
    return text


@server.prompt
def open_prompt() -> str:
    """For all."""
    return "open"
