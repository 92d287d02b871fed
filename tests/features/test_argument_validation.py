"""Arguments that do not fit the schema: a result the model can read, never the value, no call."""

from __future__ import annotations

import json
from typing import Any

import pytest

from driver import Refusal

SHOP = """
from typing import Annotated, Literal

from snodo import Arg, Server

server = Server("shop", version="1.0.0")
calls = []


@server.tool
def search(
    query: Annotated[str, Arg("What to look for", min_length=1, max_length=5)],
    limit: Annotated[int, Arg(ge=1, le=50)] = 10,
    sort: Literal["price", "name"] = "name",
    tags: list[str] | None = None,
    exact: bool = False,
    score: float = 0.5,
) -> str:
    calls.append(query)
    return f"{query!r} {limit!r} {sort!r} {tags!r} {exact!r} {score!r}"


@server.tool
def called() -> str:
    return str(len(calls))


@server.tool
def pair(first: int, second: int) -> str:
    return str(first + second)


@server.tool(
    input_schema={
        "type": "object",
        "properties": {
            "items": {
                "type": "array",
                "maxItems": 3,
                "items": {
                    "type": "object",
                    "properties": {"n": {"type": "integer"}},
                    "required": ["n"],
                },
            },
            "code": {"type": "string", "pattern": "^[A-Z]+$"},
            "even": {"type": "integer", "multipleOf": 2},
            "either": {"oneOf": [{"type": "string"}, {"type": "integer"}]},
        },
        "additionalProperties": False,
        "minProperties": 1,
    }
)
def deep(arguments, context):
    return "ok"


@server.tool(
    input_schema={
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {
            "pair": {"type": "array", "items": [{"type": "string"}, {"type": "integer"}]}
        },
    }
)
def seventh(arguments, context):
    return "ok"


@server.tool(
    input_schema={
        "type": "object",
        "properties": {"when": {"type": "string", "format": "date", "default": "2026-07-28"}},
    }
)
def when(arguments, context):
    return str(sorted(arguments))
"""


def rejected(session: Any, tool: str, arguments: dict[str, Any]) -> str:
    """The text of a refusal, which must not have run the tool."""
    before = session.text("called")
    text: str = session.failure(tool, arguments)
    assert session.text("called") == before, "the tool ran on bad arguments"
    return text


def test_missing_arguments_are_named_in_the_order_of_the_schema(serve: Any) -> None:
    assert rejected(serve(SHOP), "pair", {}) == "Missing required arguments: first, second"
    assert rejected(serve(SHOP), "pair", {"first": 1}) == "Missing required arguments: second"


def test_absent_arguments_are_missing_arguments(serve: Any) -> None:
    assert serve(SHOP).failure("pair") == "Missing required arguments: first, second"


def test_an_extra_argument_is_refused_by_name(serve: Any) -> None:
    text = rejected(serve(SHOP), "pair", {"first": 1, "second": 2, "unrelated": "secret-123"})
    assert "unrelated" in text
    assert "secret-123" not in text


def test_a_misspelt_argument_is_told_what_was_meant(serve: Any) -> None:
    text = rejected(serve(SHOP), "search", {"query": "tea", "limt": 5})
    assert "limt" in text
    assert "did you mean" in text.lower()
    assert "limit" in text


def test_a_misspelt_required_argument_is_told_what_was_meant(serve: Any) -> None:
    text = rejected(serve(SHOP), "search", {"qurey": "tea"})
    assert "query" in text


@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        ({"query": 5}, "query"),
        ({"query": None}, "query"),
        ({"query": ["secret-123"]}, "query"),
        ({"query": ""}, "query"),
        ({"query": "secret-123"}, "query"),
        ({"query": "tea", "limit": "secret"}, "limit"),
        ({"query": "tea", "limit": "5x"}, "limit"),
        ({"query": "tea", "limit": True}, "limit"),
        ({"query": "tea", "limit": 2.5}, "limit"),
        ({"query": "tea", "limit": 0}, "limit"),
        ({"query": "tea", "limit": 51}, "limit"),
        ({"query": "tea", "sort": "secret-123"}, "sort"),
        ({"query": "tea", "tags": "secret-123"}, "tags"),
        ({"query": "tea", "tags": ["ok", 987654]}, "tags/1"),
        ({"query": "tea", "tags": {}}, "tags"),
        ({"query": "tea", "exact": "secret-123"}, "exact"),
        ({"query": "tea", "exact": 1}, "exact"),
        ({"query": "tea", "score": True}, "score"),
    ],
    ids=str,
)
def test_a_wrong_value_is_refused_with_its_path_and_never_shown(
    serve: Any, arguments: dict[str, Any], where: str
) -> None:
    text = rejected(serve(SHOP), "search", arguments)
    assert where in text
    assert "secret" not in text
    assert "987654" not in text


@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        ({"items": [{"n": 1}, {"n": "q"}]}, "items/1/n"),
        ({"items": [{"n": 1}, {}]}, "items/1"),
        ({"items": [{"n": 1}] * 4}, "items"),
        ({"code": "abc"}, "code"),
        ({"even": 3}, "even"),
        ({"either": 2.5}, "either"),
        ({"other": 1}, "other"),
        ({}, ""),
    ],
    ids=str,
)
def test_the_whole_of_json_schema_is_applied(
    serve: Any, arguments: dict[str, Any], where: str
) -> None:
    assert where in rejected(serve(SHOP), "deep", arguments)


def test_draft_7_is_applied_when_declared(serve: Any) -> None:
    session = serve(SHOP)
    assert session.text("seventh", {"pair": ["a", 1]}) == "ok"
    assert "pair/0" in session.failure("seventh", {"pair": [1, 1]})


def test_defaults_are_not_filled_in_and_formats_not_asserted_for_explicit_schemas(
    serve: Any,
) -> None:
    session = serve(SHOP)
    assert session.text("when", {}) == "[]"
    assert session.text("when", {"when": "not a date"}) == "['when']"


def test_one_line_a_failure_and_at_most_five(serve: Any) -> None:
    wrong = {"query": 1, "limit": "x", "sort": 2, "tags": 3, "exact": 4, "score": "y"}
    lines = [line for line in rejected(serve(SHOP), "search", wrong).splitlines() if line.strip()]
    about = [line for line in lines if any(name in line for name in wrong)]
    assert 2 <= len(about) <= 5


def test_all_wrong_arguments_are_told_at_once(serve: Any) -> None:
    text = rejected(serve(SHOP), "search", {"query": 1, "limit": "x"})
    assert "query" in text
    assert "limit" in text


@pytest.mark.parametrize(
    ("arguments", "seen"),
    [
        ({"query": "tea"}, "'tea' 10 'name' None False 0.5"),
        ({"query": "tea", "limit": 5}, "'tea' 5 'name' None False 0.5"),
        ({"query": "tea", "limit": 5.0}, "'tea' 5 'name' None False 0.5"),
        ({"query": "tea", "tags": ["a"]}, "'tea' 10 'name' ['a'] False 0.5"),
        ({"query": "tea", "tags": None}, "'tea' 10 'name' None False 0.5"),
        ({"query": "tea", "score": 1}, "'tea' 10 'name' None False 1.0"),
        ({"query": "null"}, "'null' 10 'name' None False 0.5"),
        ({"query": "[1]"}, "'[1]' 10 'name' None False 0.5"),
        ({"query": "5"}, "'5' 10 'name' None False 0.5"),
        ({"query": "茶🍵é"}, "'茶🍵é' 10 'name' None False 0.5"),
    ],
    ids=str,
)
def test_right_values_arrive_as_they_are(serve: Any, arguments: dict[str, Any], seen: str) -> None:
    assert serve(SHOP).text("search", arguments) == seen


def test_strings_are_counted_in_code_points(serve: Any) -> None:
    session = serve(SHOP)
    assert session.text("search", {"query": "👨‍👩‍👧"}), "five code points, one picture"
    assert "query" in session.failure("search", {"query": "👨‍👩‍👧‍👦"}), "seven code points"


@pytest.mark.parametrize(
    ("arguments", "seen"),
    [
        ({"query": "tea", "tags": '["a", "b"]'}, "'tea' 10 'name' ['a', 'b'] False 0.5"),
        ({"query": "tea", "limit": "5"}, None),
        ({"query": "tea", "exact": "true"}, None),
    ],
    ids=str,
)
def test_a_stringified_list_is_read_where_no_string_is_admitted(
    serve: Any, arguments: dict[str, Any], seen: str | None
) -> None:
    session = serve(SHOP)
    if seen is None:
        session.failure("search", arguments)
    else:
        assert session.text("search", arguments) == seen


@pytest.mark.parametrize("arguments", [[], "x", 5, None, True])
def test_arguments_that_are_no_object_are_a_protocol_error(serve: Any, arguments: Any) -> None:
    with pytest.raises(Refusal) as refused:
        serve(SHOP).ask("tools/call", {"name": "pair", "arguments": arguments})
    assert refused.value.code == -32602
    assert refused.value.message == "Tool arguments must be an object"


MODES = """
from snodo import Server

server = Server("mode", version="1.0.0", validator={validator})

SCHEMA = {{
    "type": "object",
    "properties": {{
        "items": {{
            "type": "array",
            "items": {{"type": "object", "properties": {{"n": {{"type": "integer"}}}}}},
        }},
        "even": {{"type": "integer", "multipleOf": 2}},
        "one": {{"const": 1}},
        "short": {{"type": "string", "maxLength": 1}},
        "found": {{"type": "string", "pattern": "b+"}},
        "seen": {{"type": "string", "pattern": "a(?=b)"}},
    }},
    "required": ["name"],
    "minProperties": 1,
}}


@server.tool(input_schema=SCHEMA)
def check(arguments, context):
    return "ran"


@server.tool(input_schema={{"type": "object"}}, output_schema={{"type": "object",
    "properties": {{"n": {{"type": "integer"}}}}, "required": ["n"]}})
def answer(arguments, context):
    return arguments["value"]
"""


@pytest.mark.parametrize("mode", ["basic", "passthrough", "full"])
def test_the_required_names_of_the_root_hold_in_every_mode(serve: Any, mode: str) -> None:
    session = serve(MODES.format(validator=repr(mode)))
    assert session.failure("check", {}) == "Missing required arguments: name"
    assert session.text("check", {"name": None}) == "ran", "null is present"


def test_passthrough_runs_whatever_comes(serve: Any) -> None:
    session = serve(MODES.format(validator="'passthrough'"))
    assert session.text("check", {"name": 1, "items": "x", "even": 3}) == "ran"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            {"items": [{"n": 1}, {"n": "q"}]},
            "Invalid arguments at /items/1/n: value is not one of the declared JSON types",
        ),
        ({"even": True}, "Invalid arguments at /even: value is not one of the declared JSON types"),
        ({"even": 1.0}, "Invalid arguments at /even: value is not one of the declared JSON types"),
        ({"one": 2}, "Invalid arguments at /one: value does not equal the declared constant"),
        ({"one": True}, "Invalid arguments at /one: value does not equal the declared constant"),
        ({"short": "xy"}, "Invalid arguments at /short: value violates the declared size bound"),
        (
            {"found": "xyz"},
            "Invalid arguments at /found: string does not match the required pattern",
        ),
        ({"seen": "ac"}, "Invalid arguments at /seen: string does not match the required pattern"),
    ],
    ids=str,
)
def test_basic_names_the_path_and_the_rule(
    serve: Any, arguments: dict[str, Any], text: str
) -> None:
    session = serve(MODES.format(validator="'basic'"))
    assert session.failure("check", {"name": 1} | arguments) == text


@pytest.mark.parametrize(
    "arguments",
    [{"even": 3}, {"one": 1.0}, {"short": "🍵"}, {"found": "abbc"}, {"seen": "ab"}, {"extra": 1}],
    ids=str,
)
def test_basic_accepts_what_it_does_not_know(serve: Any, arguments: dict[str, Any]) -> None:
    session = serve(MODES.format(validator="'basic'"))
    assert session.text("check", {"name": 1} | arguments) == "ran"


OWN = """
from snodo import Server


class Own:
    def validate(self, instance, schema):
        if "bad" in instance:
            raise ValueError("secret-123")


server = Server("own", version="1.0.0", validator=Own())


@server.tool(input_schema={"type": "object", "properties": {"n": {"type": "integer"}}})
def check(arguments, context):
    return "ran"
"""


def test_a_validator_of_ones_own_decides_and_its_reason_stays_here(serve: Any) -> None:
    session = serve(OWN)
    assert session.text("check", {"n": "not an integer"}) == "ran"
    try:
        shown = json.dumps(session.call("check", {"bad": 1}))
    except Refusal as refusal:
        shown = json.dumps(refusal.error)
    else:
        assert '"isError": true' in shown
    assert "secret-123" not in shown


@pytest.mark.parametrize("mode", ["full", "basic"])
@pytest.mark.parametrize("value", [{"n": "secret-123"}, {}, [1], 5, None, {"n": True}], ids=str)
def test_output_that_breaks_its_schema_is_the_servers_fault(
    serve: Any, mode: str, value: Any
) -> None:
    session = serve(MODES.format(validator=repr(mode)))
    with pytest.raises(Refusal) as refused:
        session.call("answer", {"value": value})
    assert refused.value.code == -32603
    assert "secret-123" not in json.dumps(refused.value.error)
    assert session.call("answer", {"value": {"n": 1}})["structuredContent"] == {"n": 1}


def test_a_string_from_a_tool_with_an_output_schema_is_the_servers_fault(serve: Any) -> None:
    for mode in ("full", "basic", "passthrough"):
        session = serve(MODES.format(validator=repr(mode)))
        with pytest.raises(Refusal) as refused:
            session.call("answer", {"value": "text"})
        assert refused.value.code == -32603
        assert "structured output" in refused.value.message
