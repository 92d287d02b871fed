"""Prompts as declared: what is listed, how text becomes arguments, what rendering gives."""

from __future__ import annotations

import asyncio
import enum
import json
from typing import Annotated, Any, Literal

import pytest

import snodo
from snodo import (
    Arg,
    Audio,
    ConfigurationError,
    Context,
    EmbeddedResource,
    Image,
    Message,
    ResourceLink,
    Result,
    Server,
    Text,
)
from snodo._convert import ConversionError
from snodo._signature import PromptSpec


class Tone(enum.IntEnum):
    LOW = 1
    HIGH = 2


def specs(server: Server) -> dict[str, PromptSpec]:
    return {spec.name: spec for spec in server._offering.freeze()[1]["prompts"]}


def declared(function: Any, **options: Any) -> PromptSpec:
    server = Server("x")
    server.prompt(**options)(function)
    (spec,) = specs(server).values()
    return spec


def rendered(value: Any) -> Any:
    def render() -> Any:
        return value

    return declared(render).function()


def messages(value: Any) -> Any:
    assert value.kind == "prompt_get"
    return value.value["messages"]


def text(words: str, role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": {"type": "text", "text": words}}


def test_arguments_come_from_the_signature() -> None:
    def review(
        code: Annotated[str, "What to review"],
        context: Context,
        tone: Annotated[Tone | None, Arg(title="Tone")] = None,
        *,
        strict: bool = False,
        depth: Annotated[int, Arg("How deep", name="how-deep", ge=1, le=3)] = 1,
    ) -> str:
        """Review some code.

        Args:
            tone: How to speak.
        """
        return code

    spec = declared(review, title="Review", metadata={"m": 1}, icons=[{"src": "https://a/b"}])
    assert json.loads(spec.definition) == {
        "name": "review",
        "title": "Review",
        "description": "Review some code.",
        "arguments": [
            {"name": "code", "description": "What to review", "required": True},
            {"name": "tone", "title": "Tone", "description": "How to speak.", "required": False},
            {"name": "strict", "required": False},
            {"name": "how-deep", "description": "How deep", "required": False},
        ],
        "icons": [{"src": "https://a/b"}],
        "_meta": {"m": 1},
    }
    assert spec.slots is not None
    assert [(slot.key, slot.keyword, slot.required) for slot in spec.slots] == [
        ("code", None, True),
        (None, None, False),
        ("tone", None, False),
        ("strict", "strict", False),
        ("how-deep", "depth", False),
    ]
    assert [(c.argument, c.values) for c in spec.completions] == [
        ("tone", ("1", "2")),
        ("strict", ("true", "false")),
    ]


@pytest.mark.parametrize(
    ("hint", "given", "expected"),
    [
        (int, "x", "expected an integer"),
        (float, "nan", "expected a number"),
        (bool, "1", "expected true or false"),
        (Tone, "3", "expected one of 1, 2"),
        (Literal["a", "b"], "c", "expected one of a, b"),
        (int | Literal["all"], "some", "expected an integer or one of all"),
        (Annotated[int, Arg(le=3)], "4", "must be at most 3"),
        (Annotated[str, Arg(max_length=2)], "abc", ""),
    ],
)
def test_an_argument_of_a_wrong_type_is_told_by_name_without_its_value(
    hint: Any, given: str, expected: str
) -> None:
    def render(value: Any) -> str:
        return str(value)

    render.__annotations__["value"] = hint
    spec = declared(render)
    assert spec.slots is not None
    convert = spec.slots[0].convert
    assert convert is not None
    with pytest.raises(ConversionError) as caught:
        convert(given)
    message = str(caught.value)
    assert message.startswith(f"Invalid prompt argument 'value': {expected}")
    assert given not in message.partition(": ")[2].replace(expected, "")


def test_strings_and_results_are_left_to_the_runtime() -> None:
    assert rendered("words") == "words"
    given = Result.prompt_get([text("a")], description="d")
    assert rendered(given) is given
    asked = Result.input_required(request_state="s")
    assert rendered(asked) is asked


def test_messages_are_made_of_whatever_speaks() -> None:
    assert messages(rendered(Message.assistant("a"))) == [text("a", "assistant")]
    found = messages(
        rendered(
            [
                "a",
                Message("assistant", Image(data=b"\x89PNG\r\n\x1a\n")),
                Text("b"),
                Message.user(Audio(data=b"ID3", mime_type="audio/mpeg")),
                Message.user(EmbeddedResource("x://h", text="c")),
                ResourceLink("y://h", "link"),
                {"role": "user", "content": Text("d")},
                text("e"),
            ]
        )
    )
    kinds = [(message["role"], message["content"]["type"]) for message in found]
    assert kinds == [
        ("user", "text"),
        ("assistant", "image"),
        ("user", "text"),
        ("user", "audio"),
        ("user", "resource"),
        ("user", "resource_link"),
        ("user", "text"),
        ("user", "text"),
    ]


def test_a_result_may_hold_messages_and_content_values() -> None:
    found = rendered(
        Result.prompt_get(
            [Message.user("a"), {"role": "assistant", "content": Text("b")}],
            description="d",
            metadata={"m": 1},
        )
    )
    assert found == Result.prompt_get(
        [text("a"), text("b", "assistant")], description="d", metadata={"m": 1}
    )


def test_generators_and_coroutines_give_messages() -> None:
    def several() -> Any:
        yield "a"
        yield Message.assistant("b")

    async def late() -> list[str]:
        return ["a"]

    assert messages(declared(several).function()) == [text("a"), text("b", "assistant")]
    spec = declared(late)
    assert spec.is_async
    assert messages(asyncio.run(spec.function())) == [text("a")]


def test_what_is_no_message_among_messages_raises() -> None:
    with pytest.raises(TypeError, match="a int among messages is none"):
        rendered(["a", 5])


def test_explicit_arguments_are_published_as_they_are() -> None:
    def render(arguments: dict[str, str], context: Any) -> str:
        return arguments["more"]

    arguments = [{"name": "a", "required": True}, {"name": "b", "description": None}]
    spec = declared(render, arguments=arguments, complete={"a": ("x", "y")})
    assert json.loads(spec.definition)["arguments"] == [
        {"name": "a", "required": True},
        {"name": "b"},
    ]
    assert spec.slots is None
    assert spec.function({"more": "undeclared"}, None) == "undeclared"
    assert spec.completions[0].values == ("x", "y")


class Introduce(snodo.Prompt):
    name = "introduce"
    description = "Introduce someone"
    arguments = ({"name": "who", "description": "Whom", "required": True},)

    def render(self, arguments: dict[str, str], context: Context) -> Any:
        return [f"Introduce {arguments['who']}", Message.assistant("Gladly.")]


def test_a_class_renders_arguments_as_received() -> None:
    server = Server("x")
    server.add(Introduce, Introduce)
    (spec,) = specs(server).values()
    assert json.loads(spec.definition) == {
        "name": "introduce",
        "description": "Introduce someone",
        "arguments": [{"name": "who", "description": "Whom", "required": True}],
    }
    assert messages(spec.function({"who": "Ada"}, None)) == [
        text("Introduce Ada"),
        text("Gladly.", "assistant"),
    ]


def test_objects_are_checked_at_registration() -> None:
    class Broken:
        name = "broken"
        arguments = [{}]  # noqa: RUF012

        def render(self, arguments: Any, context: Any) -> str:
            return ""

    class Nameless(Broken):
        name = ""

    for wrong, words in ((Broken, "non-empty string name"), (Nameless, "requires a non-empty")):
        with pytest.raises(ConfigurationError, match=words):
            Server("x").add(wrong)
    with pytest.raises(ConfigurationError, match="is no tool, resource or prompt"):
        Server("x").add(object())


def test_a_prompt_and_a_tool_may_share_a_name_but_not_two_prompts() -> None:
    server = Server("x")

    @server.tool
    @server.prompt
    def same() -> str:
        return ""

    def other() -> str:
        return ""

    with pytest.raises(ConfigurationError, match='prompt name "same" is already registered'):
        server.prompt(name="same")(other)


def test_messages_are_values() -> None:
    import copy
    import pickle

    message = Message.user("a" * 100)
    assert message == Message("user", Text("a" * 100)) != Message.assistant("a" * 100)
    assert {message, copy.deepcopy(message), pickle.loads(pickle.dumps(message))} == {message}
    assert repr(Message.user("a")) == "Message('user', 'a')"
    assert len(repr(message)) < 110
    with pytest.raises(AttributeError):
        message.role = "assistant"  # type: ignore[misc]
    with pytest.raises(ValueError, match="role must be"):
        Message("system", "a")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="several make several messages"):
        Message.user(["a", "b"])
