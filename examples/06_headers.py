"""Arguments mirrored in HTTP headers, so that a proxy can route without reading the body.

Clients send the argument and the header `Mcp-Param-Region`; the server refuses what disagrees.

python examples/06_headers.py --check
"""

import sys
from typing import Annotated

from snodo import Arg, Server

server = Server("queries", version="1.0.0")


@server.tool
def run_query(
    region: Annotated[str, Arg("Where the data lives", header="Region")],
    sql: str,
) -> str:
    """Run a query in a region."""
    return f"{sql} in {region}"


def check() -> None:
    from _check import list_tools, serving

    (tool,) = list_tools(server)
    assert tool["inputSchema"]["properties"]["region"]["x-mcp-header"] == "Region"

    arguments = {"region": "eu-north-1", "sql": "select 1"}
    with serving(__file__) as post:
        status, answer = post("run_query", arguments, {"Mcp-Param-Region": "eu-north-1"})
        assert status == 200, answer
        assert answer["result"]["content"][0]["text"] == "select 1 in eu-north-1"

        # `eu-north-1` in base64: the form for values that a header cannot carry as they are.
        status, answer = post(
            "run_query", arguments, {"Mcp-Param-Region": "=?base64?ZXUtbm9ydGgtMQ==?="}
        )
        assert status == 200, answer

        for wrong in ({"Mcp-Param-Region": "us-east-1"}, {}):
            status, answer = post("run_query", arguments, wrong)
            assert (status, answer["error"]["code"]) == (400, -32020), answer


if __name__ == "__main__":
    check() if "--check" in sys.argv else server.run()
