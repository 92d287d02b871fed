"""How a command line is read: help of the terminal's width, and what may have been meant."""

from __future__ import annotations

import argparse
import os
from typing import Any, NoReturn


class Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_args: object, **_options: object) -> None:
        from . import __version__

        print(f"snodo {__version__}")
        parser.exit()


class Help(argparse.HelpFormatter):
    """Help as wide as the terminal, found out without `shutil`, which takes longer to import."""

    def __init__(self, prog: str) -> None:
        try:
            columns = os.get_terminal_size(2).columns
        except OSError:
            columns = 80
        super().__init__(prog, width=columns - 2)


class Parser(argparse.ArgumentParser):
    """A parser that names what may have been meant."""

    chosen: str | None = None
    """The command whose words may be meant."""

    def __init__(self, **options: Any) -> None:
        # What begins like one flag today may begin like two tomorrow.
        super().__init__(formatter_class=Help, allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        from difflib import get_close_matches

        meant = None
        if "invalid choice: " in message or "unrecognized arguments: " in message:
            wrong = message.partition(": ")[2].removeprefix("invalid choice: ").split()[0]
            near = get_close_matches(wrong.partition("=")[0].strip("'"), self._words(), 1)
            meant = near[0] if near else None
        super().error(f"{message}; did you mean {meant}?" if meant else message)

    def _words(self) -> list[str]:
        """Give every command, and the flags and choices of the chosen one."""
        words: list[str] = []
        for action in self._actions:
            words += action.option_strings
            if isinstance(action.choices, dict):
                chosen = action.choices.get(self.chosen)
                words += [*action.choices, *(chosen._words() if chosen else ())]
            elif action.choices:
                words += map(str, action.choices)
        return words
