"""Docstrings in every usual style give a description without its parameter sections."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snodo._docstring import parse

GOOGLE = """Search the catalogue.

    More on it.

    Args:
        query: What to look for,
            over two lines.
        limit (int, optional): How many.
        *names: Some.

    Returns:
        A list.

    Raises:
        ValueError: Sometimes.
    """
NUMPY = """Search the catalogue.

    Parameters
    ----------
    query : str
        What to look for,
        over two lines.
    limit, offset : int, optional
        How many.

    Returns
    -------
    list
        The list.
    """
SPHINX = """Search the catalogue.

    :param query: What to look for,
        over two lines.
    :param int limit: How many.
    :type query: str
    :returns: A list.
    :raises ValueError: Sometimes.
    """
QUERY = "What to look for, over two lines."


@pytest.mark.parametrize(
    ("text", "description", "parameters"),
    [
        (None, "", {}),
        ("  ", "", {}),
        ("One line.", "One line.", {}),
        (
            GOOGLE,
            "Search the catalogue.\n\nMore on it.\n\nReturns:\n    A list.",
            {"query": QUERY, "limit": "How many.", "names": "Some."},
        ),
        (
            NUMPY,
            "Search the catalogue.\n\nReturns\n-------\nlist\n    The list.",
            {"query": QUERY, "limit": "How many.", "offset": "How many."},
        ),
        (SPHINX, "Search the catalogue.", {"query": QUERY, "limit": "How many."}),
        ("Note:\n    Not here.\n\nEnd.", "Note:\n    Not here.\n\nEnd.", {}),
        ("Args:\n    none at all\n\nEnd.", "Args:\n    none at all\n\nEnd.", {}),
        ("A: b.\n\nUse :func:`x` well.", "A: b.\n\nUse :func:`x` well.", {}),
    ],
)
def test_a_docstring_is_split(
    text: str | None, description: str, parameters: dict[str, str]
) -> None:
    assert parse(text) == (description, parameters)


@given(st.text(alphabet=st.sampled_from("aA:-( )\n\t*,`")) | st.text())
def test_no_text_at_all_raises(text: str) -> None:
    description, parameters = parse(text)
    assert isinstance(description, str)
    assert all(parameters.values())
