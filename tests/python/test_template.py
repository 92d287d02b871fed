"""Variables of templates: which there are, which may be absent, which hold slashes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snodo._template import Variable, is_template, variables


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("x://h", []),
        ("x://{a}", [("a", False, False)]),
        ("x://h/{a}/{b.c-d_e}", [("a", False, False), ("b.c-d_e", False, False)]),
        ("x://h/{+p}/end", [("p", False, True)]),
        ("x://h{/v}", [("v", True, False)]),
        ("x://h{/v*}", [("v", True, True)]),
        ("x://h{?a,b}{&c}", [("a", True, False), ("b", True, False), ("c", True, False)]),
        ("x://{a}/{a}{?a}", [("a", False, False)]),
        ("x://{a}{/a*}", [("a", False, False)]),
    ],
)
def test_variables_are_told_once_with_what_they_may_hold(
    text: str, found: list[tuple[str, bool, bool]]
) -> None:
    assert variables(text) == [Variable(*one) for one in found]


NAMES = st.text("abcXYZ019_-", min_size=1, max_size=6)


@given(st.lists(NAMES, max_size=5, unique=True), st.lists(NAMES, max_size=5, unique=True))
def test_every_variable_that_is_written_is_found(path: list[str], query: list[str]) -> None:
    text = "x://h" + "".join(f"/{{{name}}}" for name in path)
    text += f"{{?{','.join(query)}}}" if query else ""
    assert is_template(text) is bool(path or query)
    found = variables(text)
    assert [one.name for one in found] == list(dict.fromkeys([*path, *query]))
    assert {one.name for one in found if not one.optional} == set(path)
