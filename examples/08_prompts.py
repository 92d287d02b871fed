"""Prompts that a person fills in, and completion while they type.

Arguments are text on the wire and arrive as the annotated types. What has a few values completes
itself.

python examples/08_prompts.py --check
"""

import sys
from enum import Enum
from typing import Annotated, Literal

from snodo import Arg, EmbeddedResource, Message, Server

server = Server("kitchen", version="1.0.0")

DISHES = {"italian": ["pasta al forno", "polenta"], "swedish": ["pyttipanna", "raggmunk"]}


class Level(Enum):
    BEGINNER = "beginner"
    COOK = "cook"


@server.prompt
def shopping_list(dish: str, people: Annotated[int, Arg(ge=1)] = 2) -> str:
    """Write a shopping list.

    Args:
        dish: What is to be cooked.
        people: For how many.
    """
    return f"Write a shopping list for {dish}, for {people}."


@server.prompt(title="Explain a recipe", complete={"kitchen": list(DISHES)})
def explain(
    kitchen: Annotated[str, "Whose kitchen it comes from"],
    dish: Annotated[str, "What is to be cooked"],
    level: Annotated[Level, "How much the reader knows"] = Level.BEGINNER,
    units: Annotated[Literal["metric", "imperial"], "How things are measured"] = "metric",
) -> list[Message]:
    """Explain how to cook a dish."""
    card = EmbeddedResource("recipes://card", text=f"{dish} ({kitchen})", mime_type="text/plain")
    return [
        Message.user(card),
        Message.assistant("I have read the card. Who is it for?"),
        Message.user(f"For a {level.value}. Explain it in {units} units."),
    ]


# What was given already decides what there is.
@server.complete("explain", "dish")
def dishes(value: str, arguments: dict[str, str]) -> list[str]:
    known = DISHES.get(arguments.get("kitchen", ""), [])
    return [dish for dish in known if dish.startswith(value)]


def check() -> None:
    from typing import Any

    from _check import request

    def render(name: str, **arguments: str) -> list[dict[str, Any]]:
        answer = request(server, "prompts/get", name=name, arguments=arguments)
        assert "result" in answer, answer
        messages: list[dict[str, Any]] = answer["result"]["messages"]
        return messages

    def complete(argument: str, value: str, **given: str) -> list[str]:
        answer = request(
            server,
            "completion/complete",
            ref={"type": "ref/prompt", "name": "explain"},
            argument={"name": argument, "value": value},
            context={"arguments": given},
        )
        values: list[str] = answer["result"]["completion"]["values"]
        return values

    explained, listed = request(server, "prompts/list")["result"]["prompts"]
    assert explained["title"] == "Explain a recipe"
    assert listed["arguments"] == [
        {"name": "dish", "description": "What is to be cooked.", "required": True},
        {"name": "people", "description": "For how many.", "required": False},
    ]

    (message,) = render("shopping_list", dish="polenta", people="4")
    assert message["role"] == "user"
    assert message["content"]["text"] == "Write a shopping list for polenta, for 4."
    card, _, question = render("explain", kitchen="italian", dish="polenta", level="cook")
    assert card["content"]["resource"]["text"] == "polenta (italian)"
    assert question["content"]["text"] == "For a cook. Explain it in metric units."

    # A prompt has no way of saying that it failed, so these are errors of the request.
    for arguments in ({}, {"dish": "polenta", "people": "many"}, {"dish": "tea", "people": "0"}):
        answer = request(server, "prompts/get", name="shopping_list", arguments=arguments)
        assert answer["error"]["code"] == -32602, answer

    assert complete("level", "") == ["beginner", "cook"]
    assert complete("units", "M") == ["metric"]
    assert complete("kitchen", "sw") == ["swedish"]
    assert complete("dish", "p", kitchen="italian") == ["pasta al forno", "polenta"]
    assert complete("dish", "p", kitchen="swedish") == ["pyttipanna"]


if __name__ == "__main__":
    check() if "--check" in sys.argv else server.run()
