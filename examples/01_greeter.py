"""The smallest server worth having: one function, decorated.

python -m snodo serve examples/01_greeter.py     serve it
python examples/01_greeter.py --check            let it check itself
"""

import sys

from snodo import Server

server = Server("greeter", version="1.0.0")


@server.tool
def greet(name: str, greeting: str = "Hello") -> str:
    """Greet someone.

    Args:
        name: Whom to greet.
        greeting: The word to greet with.
    """
    return f"{greeting}, {name}!"


def check() -> None:
    from _check import call, list_tools

    (tool,) = list_tools(server)
    assert tool["name"] == "greet"
    assert tool["description"] == "Greet someone."
    assert tool["inputSchema"]["required"] == ["name"]
    assert tool["inputSchema"]["properties"]["greeting"]["default"] == "Hello"

    assert call(server, "greet", name="Ada")["content"] == [{"type": "text", "text": "Hello, Ada!"}]
    assert call(server, "greet", name="Bo", greeting="Hej")["content"][0]["text"] == "Hej, Bo!"


if __name__ == "__main__":
    check() if "--check" in sys.argv else server.run()
