"""Text to typed values: what is written comes back, and nothing else is let in."""

from __future__ import annotations

import enum
import string
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snodo import Arg
from snodo._makers import Mismatch
from snodo._parsing import Reader


class Color(enum.Enum):
    RED = "red"
    TWO = 2


def parse(hint: Any, text: str) -> Any:
    reading = Reader({}).read(hint, "a")
    return text if reading.parse is None else reading.parse(text)


@given(st.integers(-(10**63), 10**63))
def test_integers_come_back(value: int) -> None:
    assert parse(int, str(value)) == value
    assert parse(int | str, str(value)) == value


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_come_back(value: float) -> None:
    assert parse(float, repr(value)) == value


@given(st.dates())
def test_dates_come_back(value: date) -> None:
    assert parse(date, value.isoformat()) == value
    assert parse(date | None, value.isoformat()) == value


@given(st.datetimes())
def test_times_come_back(value: datetime) -> None:
    assert parse(datetime, value.isoformat()) == value


@given(st.uuids())
def test_ids_come_back(value: UUID) -> None:
    assert parse(UUID, str(value)) == value


@given(st.decimals(allow_nan=False, allow_infinity=False, places=3))
def test_decimals_come_back(value: Decimal) -> None:
    assert parse(Decimal, str(value)) == value


@given(st.text())
def test_text_is_itself(value: str) -> None:
    assert parse(str, value) == value
    assert parse(Any, value) == value
    assert parse(int | str, value) in (value, *([int(value)] if _is_number(value) else []))


def _is_number(text: str) -> bool:
    digits = text[1:] if text[:1] in ("-", "+") else text
    return bool(digits) and set(digits) <= set(string.digits)


HINTS: list[Any] = [
    int,
    float,
    bool,
    date,
    datetime,
    timedelta,
    UUID,
    Decimal,
    Color,
    Literal["a", 1, True],
    int | Color,
    Annotated[int, Arg(ge=3)],
    Annotated[str, Arg(pattern="^a+$", max_length=9)],
    Annotated[Decimal, Arg(lt=9)],
]


@given(st.sampled_from(HINTS), st.text(max_size=40) | st.sampled_from(["1_0", " 1", "1 ", "+-1"]))
def test_any_text_is_a_value_or_a_mismatch_that_does_not_show_it(hint: Any, text: str) -> None:
    said = ""
    try:
        parse(hint, text)
    except Mismatch as error:
        said = error.expected
    assert len(text) <= 12 or text not in said


@pytest.mark.parametrize(
    ("hint", "text", "value"),
    [
        (bool, "true", True),
        (bool, "False", False),
        (Color, "red", Color.RED),
        (Color, "2", Color.TWO),
        (Literal["a", 1, True], "1", 1),
        (Literal["a", 1, True], "true", True),
        (timedelta, "PT90S", timedelta(seconds=90)),
        (Annotated[int, Arg(ge=3)], "3", 3),
        (Annotated[int, Arg(ge=3)] | None, "4", 4),
        (int, "-0", 0),
        (int, "+7", 7),
    ],
)
def test_text_becomes_the_value(hint: Any, text: str, value: Any) -> None:
    found = parse(hint, text)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("hint", "text"),
    [
        (int, ""),
        (int, "1.0"),
        (int, "1_000"),
        (int, " 1"),
        (int, "0x1"),
        (int, "²"),
        (int, "9" * 65),
        (float, "inf"),
        (float, "1e999"),
        (float, "1_0.0"),
        (float, "1 "),
        (bool, "yes"),
        (bool, ""),
        (Decimal, "NaN"),
        (Decimal, "1,5"),
        (Color, "RED"),
        (Literal["a"], "A"),
        (Annotated[int, Arg(ge=3)], "2"),
        (Annotated[str, Arg(pattern="^a$")], "b"),
        (Annotated[str, Arg(enum=["a"])], "b"),
        (Annotated[Decimal, Arg(lt=9)], "9"),
        (date, "2026-02-30"),
    ],
)
def test_other_text_is_refused(hint: Any, text: str) -> None:
    with pytest.raises(Mismatch):
        parse(hint, text)
