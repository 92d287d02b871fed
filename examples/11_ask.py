"""Tools that ask while they work. `ask` reads like `input()`, and never waits.

A call that asks ends with its question. When the answers come the function runs again, from the
top, and `ask` gives the answers. So whatever changes the world belongs after the last question, or
into `once`.

python examples/11_ask.py --check
"""

import sys
from dataclasses import dataclass
from typing import Annotated, Literal

from snodo import Arg, Context, Server, elicit

server = Server("hotel", version="1.0.0")

holds: list[str] = []


@dataclass
class Stay:
    nights: Annotated[int, Arg("How many nights", ge=1, le=14)]
    breakfast: Annotated[bool, Arg("With breakfast")] = True


def hold(room: str) -> str:
    """Keep a room free for a while. It must not happen twice."""
    holds.append(room)
    return f"{room}-{len(holds)}"


@server.tool
def book(city: str, context: Context) -> str:
    """Book a room, asking for what is not said."""
    kind = context.ask("kind", elicit.form(f"Which room in {city}?", Literal["single", "double"]))
    if not kind.accepted:
        return "Nothing booked."
    number = context.once("hold", lambda: hold(kind.value))
    # Unless it is accepted, `value` raises: the model reads that the user declined.
    stay = context.ask("stay", elicit.form(f"Your {kind.value} room in {city}", Stay)).value
    breakfast = "with" if stay.breakfast else "without"
    return f"Booked {number} for {stay.nights} nights, {breakfast} breakfast."


@server.tool
async def check_out(room: str, context: Context) -> str:
    """Check out, asking several things at once and one thing more than once."""
    answers = await context.ask(
        {
            "minibar": elicit.form("How many bottles from the minibar?", int),
            "stars": elicit.form("How was it?", Literal["good", "bad"]),
        }
    )
    complaints: list[str] = []
    if answers["stars"].value == "bad":
        while len(complaints) < 3:
            more = await context.ask("complaint", elicit.form("What was wrong?", str))
            if not more.accepted:
                break
            complaints.append(more.value)
    bottles = answers["minibar"].value
    return f"{room}: {bottles} bottles, complaints: {', '.join(complaints) or 'none'}."


def check() -> None:
    from _check import request, talk

    asked: list[str] = []

    def respond(key: str, question: dict[str, object]) -> dict[str, object]:
        asked.append(f"{key}: {question['message']}")
        if key == "kind":
            return {"action": "accept", "content": {"value": "double"}}
        return {"action": "accept", "content": {"nights": 2}}

    result = talk(server, "book", respond, city="Oslo")
    assert result["content"][0]["text"] == "Booked double-1 for 2 nights, with breakfast."
    assert asked == ["kind: Which room in Oslo?", "stay: Your double room in Oslo"]
    assert holds == ["double"], "the function ran three times, `hold` once"

    # To decline is an answer too: one to look at, or one that `value` raises.
    declined = talk(server, "book", lambda key, question: {"action": "decline"}, city="Rome")
    assert declined["content"][0]["text"] == "Nothing booked."
    assert not declined["isError"]

    def hesitate(key: str, question: dict[str, object]) -> dict[str, object]:
        return respond(key, question) if key == "kind" else {"action": "cancel"}

    assert talk(server, "book", hesitate, city="Rome")["isError"]

    # The same question again and again: each has a key of its own.
    given = {
        "minibar": {"action": "accept", "content": {"value": 3}},
        "stars": {"action": "accept", "content": {"value": "bad"}},
        "complaint": {"action": "accept", "content": {"value": "noise"}},
        "complaint#2": {"action": "accept", "content": {"value": "draught"}},
        "complaint#3": {"action": "decline"},
    }
    result = talk(server, "check_out", lambda key, question: given[key], room="7")
    assert result["content"][0]["text"] == "7: 3 bottles, complaints: noise, draught."

    # An answer that does not fit the form never reaches the function.
    first = request(server, "tools/call", name="book", arguments={"city": "Oslo"})["result"]
    refused = request(
        server,
        "tools/call",
        name="book",
        arguments={"city": "Oslo"},
        inputResponses={"kind": {"action": "accept", "content": {"value": "castle"}}},
        requestState=first["requestState"],
    )
    assert refused["error"]["message"] == "Invalid elicitation response"


if __name__ == "__main__":
    check() if "--check" in sys.argv else server.run()
