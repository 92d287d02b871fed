"""The table of the options of `run`, `serve`, `asgi` and of the flags says what there is."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from snodo import Server, cli
from snodo._flags import SERVE_FLAGS

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
NEITHER = ("self", "unknown")
FUNCTIONS = ("run", "serve", "asgi")


def rows(head: str) -> list[list[str]]:
    """The cells of the table that begins with this line, without backquotes."""
    lines = iter(PAGE.read_text(encoding="utf-8").splitlines())
    assert head in lines, f"there is no table {head!r}"
    next(lines)
    found = []
    for line in lines:
        if not line.startswith("|"):
            break
        found.append([cell.strip() for cell in line.strip("|").split("|")])
    return found


def table() -> list[list[str]]:
    found = rows("| option | `run` | `serve` | `asgi` | flag |")
    return [[cell.strip("`") for cell in row] for row in found]


def flags() -> set[str]:
    parser = cli._parser()
    (commands,) = (one.choices for one in parser._actions if isinstance(one.choices, dict))
    options = [text for action in commands["serve"]._actions for text in action.option_strings]
    return set(options) - {"-h", "--help"}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_function_has_the_options_that_are_told(name: str) -> None:
    parameters = inspect.signature(getattr(Server, name)).parameters.values()
    there = {one.name: repr(one.default) for one in parameters if one.name not in NEITHER}
    column = 1 + FUNCTIONS.index(name)
    assert {row[0]: row[column] for row in table() if row[column]} == there


def test_each_flag_is_told_once_in_both_tables() -> None:
    told = [row[4] for row in table() if row[4]]
    assert len(told) == len(set(told))
    assert set(told) == flags()
    described = [row[0].split("`")[1] for row in rows("| flag | variable | default |")]
    assert len(described) == len(set(described))
    assert set(described) == flags()


def test_a_flag_stands_beside_the_option_that_it_sets() -> None:
    names = {"--stdio": "transport", "--allow-host": "allowed_hosts"}
    names["--allow-origin"] = "allowed_origins"
    for option, *_, flag in table():
        if option.startswith("Server("):
            option = option.removeprefix("Server(").removesuffix("=)")
            assert option in inspect.signature(Server).parameters
        if option and flag:
            assert names.get(flag, flag[2:].replace("-", "_")) == option


def test_variables_and_defaults_are_those_of_the_flags() -> None:
    described = {
        row[0].split("`")[1]: (row[1].split("`")[1], row[2])
        for row in rows("| flag | variable | default |")
    }
    for flag in SERVE_FLAGS:
        variable, default = described[flag.flag]
        assert variable == flag.variable
        if flag.default not in (None, False):
            assert default.startswith(f"`{flag.default}`")
