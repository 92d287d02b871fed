"""The application's own validator, asked about one tool's arguments and output."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from ._signature import ToolSpec


def held(spec: ToolSpec, validator: Any) -> ToolSpec:
    """Give the spec with checks that ask this validator."""
    definition = json.loads(spec.definition)
    output = definition.get("outputSchema")
    return spec._replace(
        check_arguments=_check(validator, definition["inputSchema"]),
        check_output=None if output is None else _check(validator, output),
    )


def _check(validator: Any, schema: Any) -> Callable[[Any], bool]:
    """Give a check: None and True accept, any other value and any ValidationError refuse.

    Whatever else it raises means that the validator itself is broken, and goes through.
    """

    def check(instance: Any) -> bool:
        try:
            answer = validator.validate(instance, schema)
        except Exception as error:
            if any(base.__name__ == "ValidationError" for base in type(error).__mro__):
                return False
            raise
        return answer is None or answer is True

    return check
