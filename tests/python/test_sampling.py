"""Sampling: how a conversation is written, and what the client's model answers."""

from __future__ import annotations

from typing import Any

import pytest

from snodo import Error, Image, Message, Text, sampling


def test_a_string_is_a_message_of_the_user() -> None:
    assert sampling.create_message("Hello", 16) == {
        "method": "sampling/createMessage",
        "params": {
            "messages": [{"role": "user", "content": {"type": "text", "text": "Hello"}}],
            "maxTokens": 16,
        },
    }


def test_messages_of_every_kind_make_a_conversation() -> None:
    plain = {"role": "user", "content": [{"type": "text", "text": "d"}]}
    said = ["a", Message.assistant("b"), Message.user(Image(b"", "image/png")), plain]
    request = sampling.create_message(said, 1)
    assert [message["role"] for message in request["params"]["messages"]] == [
        "user",
        "assistant",
        "user",
        "user",
    ]
    assert request["params"]["messages"][3] == plain
    for one in (said[1], plain):
        assert len(sampling.create_message(one, 1)["params"]["messages"]) == 1  # type: ignore[arg-type]


def test_options_are_written_as_the_protocol_does() -> None:
    tool = {"name": "add", "inputSchema": {"type": "object"}}
    request = sampling.create_message(
        "a",
        1,
        system_prompt="s",
        model_preferences={"hints": [{"name": "m"}], "costPriority": 0.5},
        temperature=0.5,
        stop_sequences=("x",),
        include_context="thisServer",
        metadata={"k": 1},
        tools=[tool],
        tool_choice={"mode": "auto"},
    )
    assert {k: v for k, v in request["params"].items() if k != "messages"} == {
        "maxTokens": 1,
        "systemPrompt": "s",
        "modelPreferences": {"hints": [{"name": "m"}], "costPriority": 0.5},
        "temperature": 0.5,
        "stopSequences": ["x"],
        "includeContext": "thisServer",
        "metadata": {"k": 1},
        "tools": [tool],
        "toolChoice": {"mode": "auto"},
    }


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"messages": []}, r"params\.messages"),
        ({"messages": {"role": "system", "content": []}}, r"params\.messages\.0"),
        ({"max_tokens": 0}, r"params\.maxTokens must be a positive integer"),
        ({"max_tokens": True}, r"params\.maxTokens must be a positive integer"),
        ({"temperature": "hot"}, r"params\.temperature must be a number"),
        ({"include_context": "all"}, r"params\.includeContext must be"),
        ({"model_preferences": {"costPriority": 2}}, r"params\.modelPreferences\.costPriority"),
        ({"tools": [{"name": "a"}]}, r"params\.tools must be"),
        ({"tool_choice": {"mode": "some"}}, r"params\.toolChoice must be"),
        ({"metadata": {"a": object()}}, r"objects of type object are not JSON"),
    ],
)
def test_what_the_protocol_does_not_allow_is_refused_by_name(options: Any, words: str) -> None:
    with pytest.raises(ValueError, match=f"Invalid sampling request: {words}"):
        sampling.create_message(**{"messages": "a", "max_tokens": 1, **options})


def test_what_is_no_message_is_a_type_error() -> None:
    wrong: Any = [3]
    with pytest.raises(TypeError, match="a message is a string, a Message or a dict, not a int"):
        sampling.create_message(wrong, 1)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ({"type": "text", "text": "glad"}, "glad"),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "a\nb"),
        ([Image(b"", "image/png").block(), Text("c").block()], "c"),
        (Image(b"", "image/png").block(), ""),
    ],
)
def test_the_value_is_the_message_and_knows_its_text(content: Any, text: str) -> None:
    response = {"role": "assistant", "content": content, "model": "m", "stopReason": "endTurn"}
    answer = sampling.create_message("a", 1).answer(response)
    assert answer.accepted
    assert answer.value == response
    assert answer.value.text == text


@pytest.mark.parametrize("response", [{}, {"role": "assistant", "content": "a", "model": "m"}])
def test_another_response_is_an_error_that_tells_nothing(response: Any) -> None:
    with pytest.raises(Error) as caught:
        sampling.create_message("a", 1).answer(response)
    assert caught.value == Error.invalid_params("Invalid sampling response")
