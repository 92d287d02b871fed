"""The page for those who come from FastMCP names only what there is."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import snodo
from snodo import Context, Result, Server, cli, middleware, telemetry

PAGE = Path(__file__).parents[2] / "docs" / "coming-from-fastmcp.md"
CODE = re.compile(r"`([^`]+)`")
OWNERS: dict[str, Any] = {
    "server": Server,
    "context": Context,
    "middleware": middleware,
    "telemetry": telemetry,
    "auth": snodo.auth,
    "elicit": snodo.elicit,
    "snodo": snodo,
    "Result": Result,
    "Message": snodo.Message,
    "notify": snodo.Hub,
}
SERVER_OPTIONS = set(inspect.signature(Server).parameters) - {"unknown"}


def answers() -> list[str]:
    """The code in the second column of each table."""
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    return [code for row in rows for code in CODE.findall(row.rpartition(" | ")[2])]


def flags() -> Iterator[str]:
    (commands,) = (a.choices for a in cli._parser()._actions if isinstance(a.choices, dict))
    for parser in commands.values():
        for action in parser._actions:
            yield from action.option_strings


def test_there_is_something_to_look_at() -> None:
    assert len(answers()) > 80


@pytest.mark.parametrize("code", answers())
def test_what_the_page_says_to_write_is_there(code: str) -> None:
    for owner, member in re.findall(r"\b(\w+)\.(?!py\b)(\w+)", code):
        if owner in OWNERS:
            assert hasattr(OWNERS[owner], member), f"{owner} has no {member}"
    for call, written in re.findall(r"([\w.]+)\(([^()]*=[^()]*)\)", code):
        owner, _, member = call.rpartition(".")
        found = getattr(OWNERS.get(owner, snodo), member)
        there = inspect.signature(found).parameters
        for option in re.findall(r"(\w+)=", written):
            assert option in there, f"{call} has no option {option}"
    for flag in re.findall(r"--[a-z-]+", code):
        assert flag in set(flags())
    option = re.match(r"(\w+)=", code)
    if option is not None:
        components = inspect.signature(snodo.resource).parameters
        keys = inspect.signature(middleware.rate_limit).parameters
        assert option[1] in SERVER_OPTIONS | components.keys() | keys.keys()


def test_what_there_is_not_is_not_there() -> None:
    missing = [row for row in PAGE.read_text(encoding="utf-8").splitlines() if "not there" in row]
    assert len(missing) >= 5
    for name in ("Client", "FastMCP", "Tasks"):
        assert name not in dir(snodo), f"the page says that there is no {name}"
    for name in ("mount", "from_openapi"):
        assert not hasattr(Server("x"), name)
