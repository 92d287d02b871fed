"""Roots: what is asked, and what comes back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from snodo import Error, roots
from snodo._snodo import check_input_request


def test_the_question_has_no_params() -> None:
    request = roots.list()
    assert request == {"method": "roots/list"}
    assert check_input_request(json.dumps(request).encode()) is None


def test_the_value_is_a_list_of_roots() -> None:
    response = {"roots": [{"uri": "file:///a", "name": "A"}, {"uri": "file:///b"}]}
    answer = roots.list().answer(response)
    assert answer.value == [roots.Root("file:///a", "A"), roots.Root("file:///b")]
    assert answer.response == response
    assert answer.value[1].name is None


@pytest.mark.parametrize(
    "response", [{}, {"roots": {}}, {"roots": [{"uri": "https://a.example/"}]}, {"roots": [{}]}]
)
def test_another_response_is_an_error_that_tells_nothing(response: Any) -> None:
    with pytest.raises(Error) as caught:
        roots.list().answer(response)
    assert caught.value == Error.invalid_params("Invalid roots response")
