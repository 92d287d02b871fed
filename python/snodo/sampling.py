"""Ask the client's model for a message. Deprecated by the protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ._answer import InputRequest
from ._encode import EncodeError, to_json
from .results import Message

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Said: TypeAlias = str | Message | Mapping[str, Any]

__all__ = ["Sampled", "create_message"]


class Sampled(dict[str, Any]):
    """The message that the client's model wrote: ``role``, ``content``, ``model``, ..."""

    __slots__ = ()

    @property
    def text(self) -> str:
        """Its text, blocks joined by line breaks; empty if it holds none."""
        content = self["content"]
        blocks = content if isinstance(content, list) else [content]
        return "\n".join(block["text"] for block in blocks if block["type"] == "text")


def create_message(
    messages: Said | Sequence[Said],
    max_tokens: int,
    *,
    system_prompt: str | None = None,
    model_preferences: Mapping[str, Any] | None = None,
    temperature: float | None = None,
    stop_sequences: Sequence[str] | None = None,
    include_context: Literal["none", "thisServer", "allServers"] | None = None,
    metadata: Mapping[str, Any] | None = None,
    tools: Sequence[Mapping[str, Any]] | None = None,
    tool_choice: Mapping[str, Any] | None = None,
) -> InputRequest[Sampled]:
    """Ask for a message; the answer's value is a `Sampled`.

    The client must have declared ``sampling``, with ``tools`` for ``tools=`` and ``tool_choice=``,
    with ``context`` for ``include_context=``; otherwise the request ends with -32021.

    Args:
        messages: The conversation so far: a string (of the user), a `Message`, a message as a
            dict, or a list of them.
        max_tokens: Most tokens to sample.
        system_prompt: For the model; the client may change it.
        model_preferences: ``hints``, ``costPriority``, ``speedPriority``,
            ``intelligencePriority`` (0 to 1).
        temperature: How much is left to chance.
        stop_sequences: Texts that end the message.
        include_context: Which servers' context the client is to add.
        metadata: For the provider of the model.
        tools: Definitions of tools the model may use, as they are listed.
        tool_choice: ``{"mode": "auto"}``, ``"required"`` or ``"none"``.

    Raises:
        ValueError: If the protocol does not allow such a request; the text names the part.
        TypeError: If a message is something else.
    """
    one = isinstance(messages, (str, Message)) or hasattr(messages, "keys")
    said: Any = [messages] if one else messages
    params = {
        "messages": [_message(message) for message in said],
        "maxTokens": max_tokens,
        "systemPrompt": system_prompt,
        "modelPreferences": model_preferences,
        "temperature": temperature,
        "stopSequences": stop_sequences,
        "includeContext": include_context,
        "metadata": metadata,
        "tools": tools,
        "toolChoice": tool_choice,
    }
    try:
        given = to_json({name: value for name, value in params.items() if value is not None})
    except EncodeError as error:
        raise ValueError(f"Invalid sampling request: {error}") from None
    return InputRequest("sampling/createMessage", given, Sampled)


def _message(message: Any) -> dict[str, Any]:
    if isinstance(message, str):
        message = Message.user(message)
    if isinstance(message, Message):
        return message.message()
    if hasattr(message, "keys"):
        return dict(message)
    raise TypeError(f"a message is a string, a Message or a dict, not a {type(message).__name__}")
