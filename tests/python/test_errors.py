"""The exceptions: codes, kinds, texts."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from snodo import Cancelled, DeclarationError, Declined, Error, ToolError


@pytest.mark.parametrize(
    ("error", "code", "kind", "message"),
    [
        (Error.parse_error(), -32700, "json_rpc", "Parse error"),
        (Error.invalid_request(), -32600, "json_rpc", "Invalid Request"),
        (Error.method_not_found("a/b"), -32601, "protocol", "Method not found: a/b"),
        (Error.invalid_params(), -32602, "protocol", "Invalid params"),
        (Error.internal(), -32603, "execution", "Internal error"),
        (Error.execution(), -32603, "execution", "Tool execution failed"),
        (Error.authorization(-32003, "No"), -32003, "authorization", "No"),
    ],
)
def test_constructors(error: Error, code: int, kind: str, message: str) -> None:
    assert (error.code, error.kind, error.message, error.data) == (code, kind, message, None)


def test_the_cause_is_kept_and_never_shown() -> None:
    cause = ValueError("secret")
    for error in (Error.internal(cause=cause), Error.execution(cause)):
        assert error.__cause__ is cause
        assert "secret" not in f"{error} {error!r}"


def test_an_error_passes_through_execution_unchanged() -> None:
    error = Error(-1, "x")
    assert Error.execution(error) is error


def test_errors_compare_by_what_they_say() -> None:
    error = Error(-1, "x", {"a": 1}, kind="transport")
    assert error == Error(-1, "x", {"a": 1}, kind="transport")
    assert error != Error(-1, "x", {"a": 2}, kind="transport")
    assert pickle.loads(pickle.dumps(error)) == error
    assert str(error) == "[-1] x"


@pytest.mark.parametrize("arguments", [("a", "b"), (True, "b"), (1, 2)])
def test_wrong_types_are_refused(arguments: Any) -> None:
    with pytest.raises(TypeError):
        Error(*arguments)


def test_a_tool_error_takes_a_text() -> None:
    assert ToolError("no stock").message == str(ToolError("no stock")) == "no stock"
    assert ToolError().message == "Tool execution failed"
    with pytest.raises(TypeError):
        ToolError(3)  # type: ignore[arg-type]


def test_declined_is_a_tool_error_with_words_of_its_own() -> None:
    assert str(Declined()) == "The user declined the request for input"
    assert str(Declined("cancel")) == "The user cancelled the request for input"
    error = pickle.loads(pickle.dumps(Declined("cancel", "Not today")))
    assert (error.action, error.message) == ("cancel", "Not today")
    assert isinstance(error, ToolError)


@pytest.mark.parametrize("label", ["parameter", ""])
def test_a_declaration_error_comes_whole_from_another_process(label: str) -> None:
    error = DeclarationError("a.py:1", "tool 'a'", label, "b", "is wrong", "mend it")
    error.keyword = "format"
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), vars(again)) == (str(error), vars(error))


def test_cancelled_is_not_caught_by_accident() -> None:
    assert not issubclass(Cancelled, Exception)
