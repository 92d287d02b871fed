"""The two ways to fail, and what happens to a bug.

What a model can read and act on is a *result* with `isError: true`: raise `ToolError`.
A request that should never have been made is a JSON-RPC *error*: raise `Error`.
Any other exception is a bug: the client gets a fixed text with an id, the log has the traceback.

python examples/03_failures.py --check
"""

import sys

from snodo import Error, Server, ToolError

server = Server("shop", version="1.0.0")

STOCK = {"apple": 3, "pear": 0}


@server.tool
def buy(item: str, count: int = 1) -> str:
    """Buy something."""
    if item not in STOCK:
        raise ToolError(f"There is no {item}. There are: {', '.join(STOCK)}.")
    if STOCK[item] < count:
        raise ToolError(f"Only {STOCK[item]} of {item} left.")
    return f"Bought {count} {item}."


@server.tool
def refund(order: str) -> str:
    """Refund an order."""
    if not order.startswith("A-"):
        raise Error.invalid_params("Not an order number", data={"order": order})
    return f"Refunded {order}."


@server.tool
def restock(item: str) -> str:
    """Order more of something. It has a bug."""
    secret = "s3cret-token"
    raise RuntimeError(f"supplier refused {secret}")


def check() -> None:
    import logging

    from _check import call, request

    # The bug below is logged with its traceback, which is not what this program is about.
    logging.getLogger("snodo").addHandler(logging.NullHandler())
    logging.getLogger("snodo").propagate = False

    assert not call(server, "buy", item="apple")["isError"]
    sold_out = call(server, "buy", item="pear")
    assert sold_out["isError"]
    assert sold_out["content"][0]["text"] == "Only 0 of pear left."

    # Wrong arguments are something a model can correct, so they are the same kind of answer.
    misspelt = call(server, "buy", itme="apple")
    assert misspelt["isError"], misspelt

    answer = request(server, "tools/call", name="refund", arguments={"order": "17"})
    assert answer["error"]["code"] == -32602, answer
    assert answer["error"]["data"] == {"order": "17"}

    bug = call(server, "restock", item="pear")
    assert bug["isError"]
    assert bug["content"][0]["text"].startswith("Tool 'restock' failed (error id ")
    assert "s3cret" not in str(bug)


if __name__ == "__main__":
    check() if "--check" in sys.argv else server.run()
