"""One tool for every client: those of 2026-07-28, and those that open with `initialize`.

Nothing here says which. A new client gets the question as a result and calls again with the answer,
an older one gets it as a request of the server in the middle of its call. The function is the same.

python examples/14_every_client.py --check
"""

import sys

from snodo import Context, Server, elicit

server = Server("ferry", version="1.0.0")


@server.tool
def book(port: str, context: Context) -> dict[str, str | int]:
    """Book a crossing."""
    context.progress(1, 2, "looking for a ferry")
    cabins = context.ask("cabins", elicit.form(f"How many cabins to {port}?", int))
    if not cabins.accepted:
        return {"port": port, "cabins": 0}
    context.progress(2, 2, "booking")
    return {"port": port, "cabins": cabins.value}


BOOKED = {"port": "Oslo", "cabins": 2}


def check() -> None:
    from _check import Session, served, stream

    with served(__file__) as url:
        # Revision 2026-07-28: every request stands on its own, and the answer is a second call.
        wanted = {"name": "book", "arguments": {"port": "Oslo"}}
        (first,) = stream(url, "tools/call", **wanted)
        question = first["result"]["inputRequests"]["cabins"]
        assert question["params"]["message"] == "How many cabins to Oslo?"
        (second,) = stream(
            url,
            "tools/call",
            **wanted,
            inputResponses={"cabins": {"action": "accept", "content": {"value": 2}}},
            requestState=first["result"]["requestState"],
        )
        assert second["result"]["structuredContent"] == BOOKED

        # The revisions before it, at the same URL: a handshake, and one call, in which the server
        # asks. What they ask and say is the same; how they say it is not.
        for revision in ("2025-11-25", "2025-06-18"):
            session = Session(url, revision, {"elicitation": {}})
            heard = []
            for message in session.stream("tools/call", **wanted, _meta={"progressToken": "p"}):
                heard.append(message)
                if message.get("method") == "elicitation/create":
                    assert message["params"]["message"] == "How many cabins to Oslo?"
                    session.respond(message, {"action": "accept", "content": {"value": 2}})
            # The function ran twice, and progress has to rise: so each report is heard once.
            kinds = [message.get("method", "the answer") for message in heard]
            progress = "notifications/progress"
            assert kinds == [progress, "elicitation/create", progress, "the answer"], kinds
            assert heard[-1]["result"]["structuredContent"] == BOOKED
            session.end()

        # A client that cannot be asked reads why, and nothing was booked.
        session = Session(url, "2025-03-26", {})
        (answer,) = session.stream("tools/call", **wanted)
        assert answer["result"]["isError"]
        assert "no request of this protocol revision" in answer["result"]["content"][0]["text"]

        # Who needs no question and no news needs no session either.
        (answer,) = session.outside("tools/list")
        assert [tool["name"] for tool in answer["result"]["tools"]] == ["book"]
        session.end()


if __name__ == "__main__":
    check() if "--check" in sys.argv else server.run()
