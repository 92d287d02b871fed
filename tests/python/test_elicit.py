"""Forms: what a type becomes, what is refused, and what an answer becomes."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import json
import re
import typing
import uuid
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, TypedDict

import attrs
import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from snodo import (
    Answer,
    Arg,
    DeclarationError,
    Declined,
    Error,
    InputRequest,
    ToolError,
    elicit,
)
from snodo._snodo import check_input_request


class Size(enum.Enum):
    SMALL = "small"
    LARGE = "large"


class Colour(enum.Enum):
    RED = "#f00"
    DEEP_BLUE = "#00f"


class Meal(NamedTuple):
    seats: int


class Level(enum.IntEnum):
    LOW = 1


def schema_of(request: InputRequest[Any]) -> dict[str, Any]:
    assert request["method"] == "elicitation/create"
    assert check_input_request(json.dumps(request).encode()) is None
    schema: dict[str, Any] = request["params"]["requestedSchema"]
    return schema


def field_of(hint: Any) -> dict[str, Any]:
    field: dict[str, Any] = schema_of(elicit.form("?", {"x": hint}))["properties"]["x"]
    return field


def accept(request: InputRequest[Any], **content: Any) -> Any:
    return request.answer({"action": "accept", "content": content}).value


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (str, {"type": "string"}),
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (datetime.date, {"type": "string", "format": "date"}),
        (datetime.datetime, {"type": "string", "format": "date-time"}),
        (pydantic.AnyUrl, {"type": "string", "format": "uri", "minLength": 1}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal["b", "a"], {"type": "string", "enum": ["b", "a"]}),
        (Size, {"type": "string", "enum": ["small", "large"]}),
        (
            Colour,
            {
                "type": "string",
                "oneOf": [
                    {"const": "#f00", "title": "Red"},
                    {"const": "#00f", "title": "Deep blue"},
                ],
            },
        ),
        (list[Literal["a"]], {"type": "array", "items": {"type": "string", "enum": ["a"]}}),
        (set[Size], {"type": "array", "items": {"type": "string", "enum": ["small", "large"]}}),
        (
            list[Colour],
            {
                "type": "array",
                "items": {
                    "anyOf": [
                        {"const": "#f00", "title": "Red"},
                        {"const": "#00f", "title": "Deep blue"},
                    ]
                },
            },
        ),
        (
            Annotated[str, Arg("Words", title="T", min_length=1, max_length=9, format="email")],
            {
                "type": "string",
                "description": "Words",
                "title": "T",
                "minLength": 1,
                "maxLength": 9,
                "format": "email",
            },
        ),
        (Annotated[int, Arg(ge=1, le=9)], {"type": "integer", "minimum": 1, "maximum": 9}),
        (Annotated[float, "Share"], {"type": "number", "description": "Share"}),
        (
            Annotated[list[Size], Arg(min_length=1, max_length=2)],
            {
                "type": "array",
                "items": {"type": "string", "enum": ["small", "large"]},
                "minItems": 1,
                "maxItems": 2,
            },
        ),
    ],
)
def test_a_hint_becomes_a_field(hint: Any, schema: dict[str, Any]) -> None:
    assert field_of(hint) == schema


@pytest.mark.parametrize(
    ("hint", "words"),
    [
        (dict[str, str], "field 'x': a nested object does not fit a form → a field is a str,"),
        (list[int], "is a list of int → a list in a form holds choices"),
        (list[str], 'write list[Literal["a", "b"]]'),
        (list[list[Size]], "a list in a form holds choices"),
        (list, "list does not say what it holds → a list in a form holds choices"),
        (dict, "dict does not say what it holds → a field is a str,"),
        (str | int, "a union does not fit a form"),
        (str | int | None, "a union does not fit a form"),
        (Any, "this type does not fit a form"),
        (None, "must be a type hint, not None → elicit.form(message, None) asks for a yes or no"),
        (Literal[1, 2], "the choices of a form are strings"),
        (Literal["a", None], "the choices of a form are strings"),
        (Level, "the choices of a form are strings"),
        (list[Level], "the choices of a form are strings"),
        (uuid.UUID, "a form has no format 'uuid' → it has email, uri, date, date-time"),
        (datetime.time, "a form has no format 'time'"),
        (decimal.Decimal, "a union does not fit a form"),
        (bytes, "bytes does not fit a form → a field is a str,"),
        (tuple[str, str], "tuple[str, str] does not fit a form → a field is a str,"),
        (Annotated[str, Arg(pattern="a")], "pattern has no place in a form"),
        (Annotated[int, Arg(gt=0)], "exclusiveMinimum has no place in a form"),
        (Annotated[int, Arg(multiple_of=2)], "multipleOf has no place in a form"),
        (Annotated[int, Arg(enum=[1])], "enum has no place in a form"),
        (Annotated[str, Arg(examples=["a"])], "examples has no place in a form"),
        (Annotated[list[Size], Arg(unique_items=True)], "uniqueItems has no place in a form"),
        (Annotated[str, Arg(enum=[1])], "field 'x.enum': must be a list of at least one"),
        (Annotated[str, Arg(ge=1)], "ge does not fit the type"),
        (complex, "complex has no JSON form → a field is a str,"),
        (object(), "must be a type hint, not object → a field is a str,"),
        (len, "must be a type hint, not builtin_function_or_method → a field is a str,"),
        (3, "must be a type hint, not int → write int"),
        (Meal(3), "must be a type hint, not Meal → write Meal"),
        ({"y": int}, "field 'x': must be a type hint, not dict → write a hint, or the whole form"),
        ({"type": "string"}, "field 'x': must be a type hint, not dict → write str, or the whole"),
        ([int], "field 'x': must be a type hint, not list → a field is a str,"),
        (["a", "b"], 'must be a type hint, not list → write Literal["a", "b"]'),
        (("a",), 'must be a type hint, not tuple → write Literal["a"]'),
        ("int", "must be a type hint, not str 'int' → write int, without quotes"),
        ("string", "must be a type hint, not str 'string' → write str, without quotes"),
        ("yes?", "must be a type hint, not str 'yes?' → a field is a str,"),
    ],
)
def test_what_does_not_fit_a_form_is_refused_by_field(hint: Any, words: str) -> None:
    with pytest.raises(DeclarationError, match=re.escape(words)) as caught:
        elicit.form("?", {"x": hint})
    assert caught.value.path.startswith("x")
    assert caught.value.component == "form"
    assert re.match(r".*test_elicit\.py:\d+$", caught.value.where)


def test_a_form_without_fields_asks_for_a_yes_or_no() -> None:
    request = elicit.form("Sure?", None)
    assert schema_of(request) == {"type": "object", "properties": {}}
    answer = request.answer({"action": "accept", "content": {}})
    assert (answer.accepted, answer.value) == (True, None)
    assert request.answer({"action": "accept"}).accepted
    assert not request.answer({"action": "decline"}).accepted


def test_an_answer_is_neither_true_nor_false() -> None:
    for action in ("accept", "decline"):
        answer = elicit.form("Sure?", bool).answer({"action": action, "content": {"value": False}})
        with pytest.raises(TypeError, match=r"look at \.accepted, or at \.value"):
            bool(answer)


def test_an_answer_is_matched_when_those_without_a_value_come_first() -> None:
    def matched(response: dict[str, Any]) -> str:
        match elicit.form("How many?", int).answer(response):
            case Answer(action="cancel"):
                return "cancel"
            case Answer(accepted=False):
                return "decline"
            case Answer(value=1):
                return "one"
            case Answer(value=number):
                return str(number)
        return "nothing"

    assert matched({"action": "accept", "content": {"value": 1}}) == "one"
    assert matched({"action": "accept", "content": {"value": 7}}) == "7"
    assert matched({"action": "decline"}) == "decline"
    assert matched({"action": "cancel"}) == "cancel"


def test_a_nested_class_is_refused_by_the_name_of_its_field() -> None:
    @dataclasses.dataclass
    class Address:
        street: str

    @dataclasses.dataclass
    class Order:
        name: str
        address: Address

    with pytest.raises(DeclarationError, match="field 'address': a nested object"):
        elicit.form("?", Order)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({3: int}, "field '3': its name is not a string but int"),
        (["S", "M"], 'field \'value\': must be a type hint, not list → write Literal["S", "M"]'),
        ({"type": "string"}, "fields: is part of a JSON Schema → for a single value write str"),
        ({"type": "object"}, 'write it whole, {"type": "object", "properties": {...}}'),
        ({"properties": {"a": {}}}, 'write it whole, {"type": "object", "properties": {...}}'),
        (pydantic.RootModel[int], "field 'RootModel[int]': is not an object with properties"),
        (str | int, "field 'value': a union does not fit a form"),
        (pydantic.BaseModel | None, "field 'value': a nested object does not fit a form"),
    ],
)
def test_what_is_no_fields_at_all_is_refused(fields: Any, words: str) -> None:
    with pytest.raises(DeclarationError, match=re.escape(words)):
        elicit.form("?", fields)


def test_the_choices_of_other_libraries_are_read() -> None:
    class OfPydantic(pydantic.BaseModel):
        one: Size | None
        only: Literal["x"]
        more: list[Literal["x"]] = []
        some: list[Size] | None = None
        count: Annotated[int, pydantic.Field(ge=1, description="D")] = 3

    class OfMsgspec(msgspec.Struct):
        one: Size | None
        only: Literal["x"]
        more: list[Literal["x"]] = []
        some: list[Size] | None = None
        count: Annotated[int, msgspec.Meta(ge=1, description="D")] = 3

    for cls in (OfPydantic, OfMsgspec):
        request = elicit.form("?", cls)
        schema = schema_of(request)
        assert schema["required"] == ["only"]
        one = schema["properties"].pop("one")
        assert (one["type"], sorted(one["enum"])) == ("string", ["large", "small"])
        some = schema["properties"].pop("some")["items"]
        assert (some["type"], sorted(some["enum"])) == ("string", ["large", "small"])
        only = {"type": "string", "enum": ["x"]}
        assert schema["properties"] == {
            "only": only,
            "more": {"type": "array", "items": only, "default": []},
            "count": {"type": "integer", "minimum": 1, "description": "D", "default": 3},
        }
        made = accept(request, only="x", some=["small"])
        assert made == cls(one=None, only="x", some=[Size.SMALL])


def test_a_class_may_be_wrapped_or_be_another_library_s_value() -> None:
    assert accept(elicit.form("?", Annotated[Data, "Words"]), name="A") == Data("A", None)
    link = accept(elicit.form("?", pydantic.AnyUrl), value="https://example.org/")
    assert link == pydantic.AnyUrl("https://example.org/")
    assert accept(elicit.form("?", {})) == {}


def test_a_default_that_its_own_field_refuses_is_refused() -> None:
    @dataclasses.dataclass
    class Order:
        count: Annotated[int, Arg(ge=1)] = 0

    with pytest.raises(DeclarationError, match=r"field 'count\.default': must be what"):
        elicit.form("?", Order)


@dataclasses.dataclass
class Data:
    """What is wanted.

    Attributes:
        name: Who it is for.
    """

    name: str
    note: str | None
    when: datetime.date | None = None
    size: Size = Size.SMALL
    tags: list[Colour] = dataclasses.field(default_factory=list)
    count: int = 1


class Typed(TypedDict):
    name: str
    note: str | None
    when: NotRequired[datetime.date]
    size: NotRequired[Size]
    tags: NotRequired[list[Colour]]
    count: NotRequired[int]


class Named(NamedTuple):
    name: str
    note: str | None
    when: datetime.date | None = None
    size: Size = Size.SMALL
    tags: typing.Sequence[Colour] = ()
    count: int = 1


@attrs.define
class Attrs:
    name: str
    note: str | None
    when: datetime.date | None = None
    size: Size = Size.SMALL
    tags: list[Colour] = attrs.field(factory=list)
    _count: int = 1


class Model(pydantic.BaseModel):
    name: str
    note: str | None
    when: datetime.date | None = None
    size: Size = Size.SMALL
    tags: list[Colour] = []
    count: int = 1


class Struct(msgspec.Struct):
    name: str
    note: str | None
    when: datetime.date | None = None
    size: Size = Size.SMALL
    tags: list[Colour] = []
    count: int = 1


CLASSES: list[Any] = [Data, Typed, Named, Attrs, Model, Struct]


@pytest.mark.parametrize("cls", CLASSES)
def test_a_class_of_any_library_becomes_a_form(cls: Any) -> None:
    schema = schema_of(elicit.form("?", cls))
    assert schema.keys() == {"type", "properties", "required"}
    assert schema["required"] == ["name"]
    count = "_count" if cls is Attrs else "count"
    assert list(schema["properties"]) == ["name", "note", "when", "size", "tags", count]
    for name, kind in (("name", "string"), ("note", "string"), (count, "integer")):
        assert schema["properties"][name]["type"] == kind
    assert schema["properties"]["when"] == {"type": "string", "format": "date"}
    assert sorted(schema["properties"]["size"]["enum"]) == ["large", "small"]
    if cls is not Typed:
        assert schema["properties"]["size"]["default"] == "small"
        assert schema["properties"][count]["default"] == 1


@pytest.mark.parametrize("cls", CLASSES)
def test_an_accepted_answer_is_of_the_class(cls: Any) -> None:
    request = elicit.form("?", cls)
    made = accept(request, name="Ada", size="large", tags=["#f00"], when="2026-07-28", other=1)
    when = datetime.date(2026, 7, 28)
    if cls is Typed:
        assert made == {
            "name": "Ada",
            "note": None,
            "size": Size.LARGE,
            "tags": [Colour.RED],
            "when": when,
        }
    else:
        assert (
            made == cls("Ada", None, when, Size.LARGE, [Colour.RED])
            if cls is not Model
            else cls(name="Ada", note=None, when=when, size=Size.LARGE, tags=[Colour.RED])
        )
        assert type(made) is cls


@pytest.mark.parametrize("cls", [cls for cls in CLASSES if cls is not Typed])
def test_what_is_left_out_has_the_default_of_the_class(cls: Any) -> None:
    made = accept(elicit.form("?", cls), name="Ada")
    whole = cls(name="Ada", note=None)
    assert made == whole


def test_descriptions_come_from_docstrings_and_hints() -> None:
    schema = schema_of(elicit.form("?", Data))
    assert schema["properties"]["name"]["description"] == "Who it is for."


@pytest.mark.parametrize(
    ("hint", "sent", "value"),
    [
        (bool, True, True),
        (int, 5.0, 5),
        (float, 5, 5.0),
        (Size, "small", Size.SMALL),
        (Literal["a", "b"], "b", "b"),
        (list[Size], ["small"], [Size.SMALL]),
        (set[Size], ["small", "small"], {Size.SMALL}),
        (datetime.date, "2026-07-28", datetime.date(2026, 7, 28)),
        (
            datetime.datetime,
            "2026-07-28T09:30:00Z",
            datetime.datetime(2026, 7, 28, 9, 30, tzinfo=datetime.UTC),
        ),
        (str | None, "a", "a"),
    ],
)
def test_a_single_hint_is_a_single_value(hint: Any, sent: Any, value: Any) -> None:
    request = elicit.form("?", hint)
    assert list(schema_of(request)["properties"]) == ["value"]
    made = accept(request, value=sent)
    assert made == value
    assert type(made) is type(value)


def test_a_single_value_that_may_be_none_may_be_left_out() -> None:
    request = elicit.form("?", int | None)
    assert "required" not in schema_of(request)
    assert accept(request) is None


def test_a_dict_of_hints_gives_a_dict() -> None:
    request = elicit.form("?", {"size": Size, "note": str | None})
    assert schema_of(request)["required"] == ["size"]
    assert accept(request, size="large") == {"size": Size.LARGE, "note": None}


def test_types_of_the_function_around_it_may_be_named_by_strings() -> None:
    class Mood(enum.Enum):
        GOOD = "good"

    @dataclasses.dataclass
    class Reply:
        mood: Mood

    assert accept(elicit.form("?", Reply), mood="good") == Reply(Mood.GOOD)


def test_an_explicit_schema_is_sent_as_it_is() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "minLength": 1}}}
    request = elicit.form("?", schema)
    assert request["params"] == {"mode": "form", "message": "?", "requestedSchema": schema}
    assert accept(request, a="b", c=1) == {"a": "b", "c": 1}


def test_an_explicit_schema_that_no_form_may_have_is_refused() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": "x"}}}
    words = r"Invalid elicitation request: .*properties\.a\.pattern does not belong here"
    with pytest.raises(ValueError, match=words):
        elicit.form("?", schema)
    with pytest.raises(ValueError, match="Invalid elicitation request: objects of type object"):
        elicit.form("?", {"type": "object", "properties": {"a": object()}})


def test_questions_share_no_schema_although_it_is_made_once() -> None:
    first, second = elicit.form("a", Data), elicit.form("b", Data)
    first["params"]["requestedSchema"]["properties"].clear()
    assert (
        second["params"]["requestedSchema"] == elicit.form("c", Data)["params"]["requestedSchema"]
    )
    assert second["params"]["requestedSchema"]["properties"]


def test_a_form_is_made_once_for_its_fields(monkeypatch: pytest.MonkeyPatch) -> None:
    from snodo import _form

    elicit.form("a", Data)
    elicit.form("a", list[Literal["once"]])
    monkeypatch.delattr(_form, "form_of")
    elicit.form("b", Data)
    elicit.form("b", list[Literal["once"]])


@pytest.mark.parametrize(
    "response",
    [
        {"action": "accept", "content": {"value": "x"}},
        {"action": "accept", "content": {}},
        {"action": "accept"},
        {"action": "agree", "content": {"value": 1}},
        {},
    ],
)
def test_an_answer_that_does_not_fit_is_an_error_that_tells_nothing(response: Any) -> None:
    with pytest.raises(Error) as caught:
        elicit.form("?", int).answer(response)
    assert caught.value == Error.invalid_params("Invalid elicitation response")
    assert caught.value.__cause__ is None


def test_a_class_may_refuse_what_its_schema_admits(caplog: pytest.LogCaptureFixture) -> None:
    @dataclasses.dataclass
    class Even:
        number: int

        def __post_init__(self) -> None:
            if self.number % 2:
                raise ValueError(f"{self.number} is odd")

    request = elicit.form("?", Even)
    assert accept(request, number=2) == Even(2)
    with caplog.at_level("INFO", "snodo"), pytest.raises(Error, match="Invalid elicitation"):
        accept(request, number=3)
    assert "3 is odd" in caplog.text


@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_what_was_declined_is_a_value_to_look_at_or_an_exception(action: Any) -> None:
    answer = elicit.form("?", int).answer({"action": action, "content": {"value": "x"}})
    assert not answer.accepted
    assert answer.action == action
    assert answer.response == {"action": action, "content": {"value": "x"}}
    with pytest.raises(Declined, match=r"The user (declined|cancelled) the request") as caught:
        _ = answer.value
    assert caught.value.action == action
    assert isinstance(caught.value, ToolError)


def test_a_page_to_open_has_no_value() -> None:
    request = elicit.url("Sign in", "https://example.org/connect")
    assert request == {
        "method": "elicitation/create",
        "params": {"mode": "url", "message": "Sign in", "url": "https://example.org/connect"},
    }
    answer = request.answer({"action": "accept"})
    assert answer.accepted
    assert answer.value is None


@pytest.mark.parametrize("url", ["", "/a", "ftp://a.example", "https://u@a.example", "https://a b"])
def test_a_page_must_have_a_plain_address(url: str) -> None:
    with pytest.raises(ValueError, match=r"Invalid elicitation request: params\.url must be"):
        elicit.url("?", url)


def test_messages_are_strings() -> None:
    wrong: Any = 3
    with pytest.raises(TypeError, match="message must be a string, not int"):
        elicit.form(wrong, int)
    with pytest.raises(TypeError, match="url must be a string, not int"):
        elicit.url("?", wrong)
    with pytest.raises(ValueError, match="surrogates"):
        elicit.form("\ud800", int)


class _Context:
    def __init__(self, responses: dict[str, Any] | None) -> None:
        self.input_responses = responses


def test_a_response_is_read_by_its_key() -> None:
    request = elicit.form("?", int)
    context: Any = _Context({"a": {"action": "accept", "content": {"value": 1}}, "b": {}})
    answer = request.response(context, "a")
    assert answer is not None
    assert answer.value == 1
    assert request.response(context, "c") is None
    empty: Any = _Context(None)
    assert request.response(empty, "a") is None
    with pytest.raises(Error, match="Invalid elicitation response"):
        request.response(context, "b")


def test_an_answer_may_be_awaited_and_gives_itself() -> None:
    import asyncio

    answer = elicit.form("?", int).answer({"action": "accept", "content": {"value": 1}})

    async def wait() -> bool:
        return await answer is answer

    assert asyncio.run(wait())
    assert repr(answer) == "Answer('accept', 1)"


# What fields there may be, each with values that fit it and what they become.
_words = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
_choices = st.lists(_words, min_size=1, max_size=4, unique=True)
_numbers = st.integers(-(2**53), 2**53)


@st.composite
def _text_fields(draw: st.DrawFn) -> tuple[Any, Any, Any]:
    low, high = sorted((draw(st.integers(0, 4)), draw(st.integers(0, 4))))
    value = draw(st.text(st.characters(exclude_categories=["Cs"]), min_size=low, max_size=high))
    return Annotated[str, Arg(draw(_words), min_length=low, max_length=high)], value, value


@st.composite
def _number_fields(draw: st.DrawFn) -> tuple[Any, Any, Any]:
    low, value, high = sorted(draw(st.tuples(_numbers, _numbers, _numbers)))
    kind = draw(st.sampled_from([int, float]))
    return Annotated[kind, Arg(ge=low, le=high)], value, kind(value)


@st.composite
def _choice_fields(draw: st.DrawFn) -> tuple[Any, Any, Any]:
    choices = draw(_choices)
    value = draw(st.sampled_from(choices))
    if draw(st.booleans()):
        return Literal[tuple(choices)], value, value
    members = {f"M{index}": choice for index, choice in enumerate(choices)}
    cls: Any = enum.Enum("Choice", members)  # type: ignore[misc]
    if draw(st.booleans()):
        return list[cls], [value], [cls(value)]
    return cls, value, cls(value)


_plain_fields = st.one_of(
    st.booleans().map(lambda value: (bool, value, value)),
    st.dates().map(lambda value: (datetime.date, value.isoformat(), value)),
    st.datetimes(timezones=st.just(datetime.UTC)).map(
        lambda value: (datetime.datetime, value.isoformat(), value)
    ),
)
_fields = st.one_of(_text_fields(), _number_fields(), _choice_fields(), _plain_fields)


@given(st.dictionaries(_words, st.tuples(_fields, st.booleans(), st.booleans()), max_size=5))
def test_every_form_is_one_the_protocol_allows_and_answers_round_trip(drawn: Any) -> None:
    hints = {
        name: hint | None if optional and not isinstance(hint, str) else hint
        for name, ((hint, _, _), optional, _) in drawn.items()
    }
    request = elicit.form("?", hints)
    schema = schema_of(request)
    assert set(schema.get("required", [])) == {
        n for n, (_, optional, _) in drawn.items() if not optional
    }
    given = {n: f for n, (f, optional, left) in drawn.items() if not (optional and left)}
    made = accept(request, **{name: sent for name, (_, sent, _) in given.items()})
    assert made == {name: given[name][2] if name in given else None for name in drawn}


def test_what_a_factory_makes_anew_is_no_part_of_a_form() -> None:
    @dataclasses.dataclass
    class Order:
        name: str
        number: str = dataclasses.field(default_factory=lambda: str(uuid.uuid4()))
        day: datetime.date = dataclasses.field(default_factory=lambda: 1 / 0)  # type: ignore[arg-type,return-value]

    asked = elicit.form("?", Order)
    schema = asked["params"]["requestedSchema"]
    assert schema["required"] == ["name"]
    assert not any("default" in field for field in schema["properties"].values())
