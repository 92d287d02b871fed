"""A value that fits a hint, written as JSON, arrives as an equal value of that hint."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import json
import uuid
from typing import Any, Literal, NamedTuple, TypedDict

from hypothesis import given, settings
from hypothesis import strategies as st

from snodo import Server
from snodo._encode import to_json
from snodo._snodo import validate


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Pair(NamedTuple):
    left: int
    right: str


class Movie(TypedDict):
    title: str
    at: datetime.date


@dataclasses.dataclass(frozen=True)
class Point:
    x: int
    y: float
    color: Color = Color.RED


Case = tuple[Any, st.SearchStrategy[Any]]

INTEGERS = st.integers(-(10**20), 10**20)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
LEAVES: list[Case] = [
    (str, st.text()),
    (int, INTEGERS),
    (float, FLOATS),
    (bool, st.booleans()),
    (Color, st.sampled_from(Color)),
    (Literal["a", 1], st.sampled_from(["a", 1])),
    (datetime.date, st.dates()),
    (datetime.datetime, st.datetimes(timezones=st.just(datetime.UTC))),
    (datetime.time, st.times()),
    (
        datetime.timedelta,
        st.timedeltas(datetime.timedelta(-(10**6)), datetime.timedelta(10**6)),
    ),
    (decimal.Decimal, st.decimals(allow_nan=False, allow_infinity=False)),
    (uuid.UUID, st.uuids()),
    (Pair, st.builds(Pair, INTEGERS, st.text())),
    (Movie, st.fixed_dictionaries({"title": st.text(), "at": st.dates()})),
    (Point, st.builds(Point, INTEGERS, FLOATS, st.sampled_from(Color))),
]


def wrapped(case: Case) -> st.SearchStrategy[Case]:
    hint, values = case
    forms: list[Case] = [
        (list[hint], st.lists(values, max_size=3)),  # type: ignore[valid-type]
        (tuple[hint, ...], st.lists(values, max_size=3).map(tuple)),  # type: ignore[valid-type]
        (tuple[hint, int], st.tuples(values, INTEGERS)),  # type: ignore[valid-type]
        (dict[str, hint], st.dictionaries(st.text(), values, max_size=3)),  # type: ignore[valid-type]
        (hint | None, st.none() | values),
    ]
    return st.sampled_from(forms)


HINTS = st.recursive(st.sampled_from(LEAVES), lambda inner: inner.flatmap(wrapped), max_leaves=3)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_value_survives_the_way_to_json_and_back(data: st.DataObject) -> None:
    hint, values = data.draw(HINTS)
    value = data.draw(values)

    def tool(a: Any) -> None: ...

    tool.__annotations__["a"] = hint
    server = Server("test")
    server.tool(tool)
    (spec,) = server._offering.tools()
    assert spec.slots is not None
    (slot,) = spec.slots
    sent = json.loads(json.dumps(to_json(value)))
    schema = json.loads(spec.definition)["inputSchema"]
    assert validate(json.dumps(schema).encode(), json.dumps({"a": sent}).encode()) == []
    arrived = slot.convert(sent) if slot.convert else sent
    assert arrived == value
    assert type(arrived) is type(value)
