"""The tools that the documents show asking: what they ask, and what comes of the answers."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def accept(**content: Any) -> dict[str, Any]:
    return {"action": "accept", "content": content}


DECLINE = {"action": "decline"}
FOLDERS = {"roots": [{"uri": "file:///home/ada/tea", "name": "Tea"}, {"uri": "file:///srv"}]}
MESSAGE = {"role": "assistant", "content": {"type": "text", "text": "Neat."}, "model": "m"}

DIALOGUES: list[tuple[str, dict[str, Any], dict[str, dict[str, Any]], str]] = [
    (
        "deploy",
        {"version": "1.2"},
        {"approval": accept(reason="It is time", notify=False)},
        "Deployed 1.2 in silence: It is time",
    ),
    ("deploy", {"version": "1.2"}, {"approval": DECLINE}, "Nothing deployed."),
    (
        "order",
        {},
        {"dish": accept(value="soup"), "seats": accept(value=3)},
        "soup for 3",
    ),
    ("next_event", {"account": "ada"}, {"connect": DECLINE}, "The user declined the request for"),
    (
        "next_event",
        {"account": "ada"},
        {key: {"action": "accept"} for key in ("connect", "connect#2", "connect#3")},
        "The calendar is not connected.",
    ),
    ("review", {}, {"folders": FOLDERS, "summary": MESSAGE}, "Neat."),
    (
        "order_shirt",
        {"count": 2},
        {"size": accept(value="M"), "colour": accept(value="red")},
        "2 red shirts in M.",
    ),
]


@pytest.fixture
def talk(monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Any]]:
    monkeypatch.syspath_prepend(ROOT / "examples")
    from _check import talk

    return talk  # type: ignore[no-any-return]


def documented(tool: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The server of the only example in the documents that has this tool."""
    pages = [ROOT / "docs" / name for name in ("asking.md", "rounds-and-state.md")]
    blocks = [block for page in pages for block in PYTHON.findall(page.read_text())]
    (block,) = [block for block in blocks if f"def {tool}(" in block]
    module = ModuleType("documented")
    monkeypatch.setitem(sys.modules, "documented", module)
    exec(compile(block, "documented.py", "exec"), vars(module))
    return module.server


@pytest.mark.parametrize(("tool", "arguments", "responses", "text"), DIALOGUES)
def test_what_the_documents_ask_is_answered(
    talk: Callable[..., dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
    tool: str,
    arguments: dict[str, Any],
    responses: dict[str, dict[str, Any]],
    text: str,
) -> None:
    server = documented(tool, monkeypatch)
    asked: list[str] = []

    def respond(key: str, params: dict[str, Any]) -> dict[str, Any]:
        asked.append(key)
        return responses[key]

    result = talk(server, tool, respond, **arguments)
    assert result["content"][0]["text"].startswith(text)
    assert asked == list(responses)


def test_the_number_to_guess_is_drawn_once(
    talk: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = documented("guess", monkeypatch)
    draws: list[int] = []
    monkeypatch.setattr("random.randint", lambda least, most: draws.append(7) or 7)
    guesses = iter([5, 6, 7])
    result = talk(server, "guess", lambda key, params: accept(value=next(guesses)))
    assert result["content"][0]["text"] == "Right after 3 guesses."
    assert draws == [7]
