"""URI templates as declarations see them: which variables there are and what each may hold.

The grammar and the matching are the core's; a template that it has not accepted is not read here.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_EXPRESSION = re.compile(r"\{([+/?&]?)([^{}]*)\}")


class Variable(NamedTuple):
    """One variable of an accepted template."""

    name: str
    optional: bool
    """Whether a URI may match without it."""
    spans: bool
    """Whether it may hold several segments, slashes between them."""


def is_template(text: str) -> bool:
    """Tell a template from a URI."""
    return "{" in text or "}" in text


def refusal(text: str) -> str | None:
    """Ask the core whether it can match a template: None, or why not."""
    from ._snodo import uri_template_error

    return uri_template_error(text)


def variables(text: str) -> list[Variable]:
    """Give the variables of an accepted template, each once."""
    found: dict[str, Variable] = {}
    for operator, names in _EXPRESSION.findall(text):
        for item in names.split(","):
            name = item.removesuffix("*")
            optional = operator in ("/", "?", "&")
            spans = operator == "+" or item.endswith("*")
            earlier = found.get(name)
            if earlier is not None:
                # Where it stands twice both must be equal, so the narrower place decides.
                optional = optional and earlier.optional
                spans = spans and earlier.spans
            found[name] = Variable(name, optional, spans)
    return list(found.values())
