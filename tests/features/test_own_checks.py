"""Checks of the author's own types: their words are logged, and sent when they are a ToolError."""

from __future__ import annotations

from typing import Any

import pytest

CHECKED = """
from dataclasses import dataclass
from typing import NamedTuple

import msgspec
import pydantic

from snodo import Server, ToolError

server = Server("checked", version="1.0.0")


def check(text):
    if text == "told":
        raise ToolError("Use another word")
    if text.startswith("Expected"):
        raise ValueError(text + ", which is secret")
    raise ValueError(f"the word {text} is secret")


@dataclass
class Data:
    word: str

    def __post_init__(self) -> None:
        check(self.word)


class Struct(msgspec.Struct):
    word: str

    def __post_init__(self) -> None:
        check(self.word)


class Model(pydantic.BaseModel):
    word: str

    @pydantic.field_validator("word")
    @classmethod
    def checked(cls, word: str) -> str:
        check(word)
        return word


@server.tool
def data(value: Data) -> str:
    return "unreached"


@server.tool
def struct(value: Struct) -> str:
    return "unreached"


@server.tool
def structs(value: list[Struct]) -> str:
    return "unreached"


@server.tool
def model(value: Model) -> str:
    return "unreached"


@server.tool
def either(value: Data | Model) -> str:
    return "unreached"
"""

TOOLS = ["data", "struct", "structs", "model", "either"]


def given(tool: str, word: str) -> dict[str, Any]:
    value = {"word": word}
    return {"value": [value] if tool == "structs" else value}


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("word", ["hunter2", "Expected hunter2"])
def test_their_words_are_logged_and_not_sent(serve: Any, tool: str, word: str) -> None:
    session = serve(CHECKED)
    text = session.failure(tool, given(tool, word))
    assert text.startswith("Invalid arguments at /value")
    assert "secret" not in text
    assert "hunter2" not in text
    if session.transport != "direct":  # where the application says what is logged
        log = session.wait_for_log(f"tool '{tool}': argument value")
        assert "secret" in log


@pytest.mark.parametrize("tool", TOOLS)
def test_a_tool_error_is_sent(serve: Any, tool: str) -> None:
    assert serve(CHECKED).failure(tool, given(tool, "told")) == "Use another word"
