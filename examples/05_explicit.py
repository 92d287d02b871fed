"""Full control: explicit schemas, published exactly as written, and tools as classes.

python examples/05_explicit.py --check
"""

import sys
from typing import Any

import snodo
from snodo import Context, Result, Server

server = Server("packages", version="1.0.0")

QUERY = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "pattern": "^[a-z][a-z0-9-]*$"},
        "prerelease": {"type": "boolean", "default": False},
    },
    "required": ["name"],
    "additionalProperties": False,
}

VERSIONS = {"snodo": ["0.1.0"], "left-pad": ["1.2.0", "1.3.0", "2.0.0-rc.1"]}


# A function with an explicit schema gets the arguments as they came, as one dict.
@server.tool(input_schema=QUERY)
def versions(arguments: dict[str, Any], context: Context) -> list[str]:
    """List the versions of a package."""
    found = VERSIONS.get(arguments["name"], [])
    return [one for one in found if arguments.get("prerelease") or "-" not in one]


# The behaviour as a class: what the decorators build on. Checked when the class is made.
class Latest(snodo.Tool):
    name = "latest"
    title = "Latest version"
    description = "Find the latest version of a package"
    input_schema = QUERY
    output_schema = {
        "type": "object",
        "properties": {"version": {"type": "string"}},
        "required": ["version"],
    }
    annotations = {"readOnlyHint": True}

    def call(self, arguments: dict[str, Any], context: Context) -> Any:
        found = VERSIONS.get(arguments["name"])
        if not found:
            return Result.error(f"There is no package {arguments['name']}.")
        return {"version": found[-1]}


server.add(Latest)


def check() -> None:
    from _check import call, list_tools

    tools = {tool["name"]: tool for tool in list_tools(server)}
    assert tools["versions"]["inputSchema"] == QUERY
    assert tools["latest"]["inputSchema"] == QUERY
    assert tools["latest"]["outputSchema"] == Latest.output_schema
    assert tools["latest"]["annotations"] == {"readOnlyHint": True}

    assert call(server, "versions", name="left-pad")["structuredContent"] == ["1.2.0", "1.3.0"]
    assert call(server, "latest", name="snodo")["structuredContent"] == {"version": "0.1.0"}
    assert call(server, "latest", name="nothing")["isError"]
    assert call(server, "latest", name="Not A Name")["isError"]

    try:

        class Broken(snodo.Tool):
            name = "broken"
            input_schema = {"type": "strnig"}

            def call(self, arguments: dict[str, Any], context: Context) -> Any:
                return None

    except snodo.DeclarationError as error:
        assert "Broken" in str(error), error
    else:
        raise AssertionError("a wrong schema was accepted")


if __name__ == "__main__":
    check() if "--check" in sys.argv else server.run()
