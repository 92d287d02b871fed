"""Values that the runtime does not know become plainer, or are refused with advice."""

from __future__ import annotations

import base64
import collections
import datetime
import decimal
import enum
import pathlib
import uuid
from typing import Any, NamedTuple

import pytest

from snodo import Audio, Image, Result, Text
from snodo._encode import EncodeError, normalise, simplify, to_json

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 8


class Color(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1


class Name(enum.StrEnum):
    A = "a"


class Pair(NamedTuple):
    a: int
    b: Color


class Words(str):
    pass


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (Color.RED, "red"),
        (Level.LOW, 1),
        (Name.A, "a"),
        (Words("x"), "x"),
        (datetime.datetime(2026, 7, 28, 9, 30, tzinfo=datetime.UTC), "2026-07-28T09:30:00+00:00"),
        (datetime.date(2026, 7, 28), "2026-07-28"),
        (datetime.time(9, 30), "09:30:00"),
        (datetime.timedelta(days=1, hours=2), "P1DT7200S"),
        (datetime.timedelta(0), "PT0S"),
        (-datetime.timedelta(milliseconds=1500), "-PT1.5S"),
        (decimal.Decimal("1.10"), "1.10"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (pathlib.PurePosixPath("a/b"), "a/b"),
        (collections.deque([1]), [1]),
        (range(2), [0, 1]),
        (collections.OrderedDict(a=1), {"a": 1}),
    ],
)
def test_a_value_becomes_plainer(value: Any, plain: Any) -> None:
    made = simplify(value)
    assert made == plain
    assert type(made) is type(plain)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (b"x", "base64"),
        (bytearray(b"x"), "base64"),
        (object(), "objects of type object are not JSON; return"),
        (len, "call it"),
        (iter([1]), "list(...)"),
        (ValueError("secret"), "raise exceptions"),
        (decimal.Decimal("NaN"), "NaN"),
        (Text("secret"), "content"),
        (1j, "complex"),
    ],
)
def test_what_is_not_json_is_refused_with_advice(value: Any, words: str) -> None:
    with pytest.raises(EncodeError) as caught:
        simplify(value)
    assert words in str(caught.value)
    assert "secret" not in str(caught.value)


def test_objects_of_other_libraries_are_understood() -> None:
    pydantic = pytest.importorskip("pydantic")
    attrs = pytest.importorskip("attrs")
    msgspec = pytest.importorskip("msgspec")
    numpy = pytest.importorskip("numpy")
    Model = pydantic.create_model("Model", at=(datetime.date, ...))
    Attrs = attrs.make_class("Attrs", ["x"])
    Struct = msgspec.defstruct("Struct", [("at", datetime.date)])
    day = datetime.date(2026, 7, 28)
    assert simplify(Model(at=day)) == {"at": "2026-07-28"}
    assert simplify(Attrs(day)) == {"x": day}
    assert simplify(Struct(day)) == {"at": "2026-07-28"}
    assert simplify(numpy.float32(1.5)) == 1.5
    assert type(simplify(numpy.int64(3))) is int
    assert simplify(numpy.array([1, 2])) == [1, 2]


def test_a_whole_value_is_written_or_refused_with_its_path() -> None:
    assert to_json({"a": [Pair(1, Color.RED), {2}]}) == {"a": [[1, "red"], [2]]}
    for value, path in (
        ({"a": [1, b""]}, "a.1"),
        ({"a": {"b": float("nan")}}, "a.b"),
        ({"a": {1: 2}}, "a"),
        (["\ud800"], "0"),
    ):
        with pytest.raises(EncodeError, match=rf"\(at {path}\)"):
            to_json(value)
    with pytest.raises(EncodeError):
        to_json({"a": Color.RED}, strict=True)


class Figure:
    def _repr_png_(self) -> bytes:
        return PNG


class Bundle:
    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        return {"text/plain": "x", "image/jpeg": base64.encodebytes(b"\xff\xd8\xff").decode()}, {}


class Wordy:
    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        return {"text/plain": "x"}


def blocks(value: Any) -> Any:
    result = normalise(value)
    assert isinstance(result, Result)
    assert result.kind == "content"
    return result.value


def test_content_values_become_a_content_result() -> None:
    image = Image(data=PNG)
    assert blocks(image) == [image.block()]
    assert blocks([Text("a"), image]) == [{"type": "text", "text": "a"}, image.block()]
    assert blocks(["a", Figure()])[0] == {"type": "text", "text": "a"}
    assert blocks((Audio(data="AAAA", mime_type="audio/wav"),))[0]["mimeType"] == "audio/wav"


def test_what_can_show_itself_becomes_an_image() -> None:
    assert blocks(Figure()) == [Image(data=PNG).block()]
    assert blocks(Bundle()) == [{"type": "image", "data": "/9j/", "mimeType": "image/jpeg"}]
    assert normalise(Figure) is None
    assert normalise(Wordy()) is None


def test_a_picture_of_pillow_becomes_an_image() -> None:
    picture = pytest.importorskip("PIL.Image").new("RGB", (1, 1))
    assert blocks(picture)[0]["mimeType"] == "image/png"


@pytest.mark.parametrize("value", [{"a": 1}, [1, 2], ["a", "b"], 5, object(), [Text("a"), 3], "x"])
def test_anything_else_is_left_to_be_data(value: Any) -> None:
    assert normalise(value) is None
