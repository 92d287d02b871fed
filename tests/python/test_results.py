"""Content values are checked when they are made, and never change."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from snodo import Audio, EmbeddedResource, Image, ResourceLink, Text

PNG = b"\x89PNG\r\n\x1a\n"


def test_blocks_are_spelled_as_the_protocol_does(tmp_path: Path) -> None:
    file = tmp_path / "a.png"
    file.write_bytes(PNG)
    assert Text("a", annotations={"priority": 1}, metadata={"com.example/k": 1}).block() == {
        "type": "text",
        "text": "a",
        "annotations": {"priority": 1},
        "_meta": {"com.example/k": 1},
    }
    image = {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}
    assert Image(data=PNG).block() == image
    assert Image(data="iVBORw0KGgo=").block() == image
    assert Image(path=file).block() == image
    assert Audio(data=b"x", mime_type="audio/wav").block() == {
        "type": "audio",
        "data": "eA==",
        "mimeType": "audio/wav",
    }
    assert EmbeddedResource("test://a", text="t", mime_type="text/plain").block() == {
        "type": "resource",
        "resource": {"uri": "test://a", "mimeType": "text/plain", "text": "t"},
    }
    assert EmbeddedResource("test://a", blob=b"x").block()["resource"]["blob"] == "eA=="
    assert ResourceLink("test://a", "a", mime_type="text/plain", size=3).block() == {
        "type": "resource_link",
        "uri": "test://a",
        "name": "a",
        "mimeType": "text/plain",
        "size": 3,
    }


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: Text(1), TypeError),
        (lambda: Text("a", annotations=[]), TypeError),
        (lambda: Text("a", annotations={"audience": ["robots"]}), ValueError),
        (lambda: Text("a", annotations={"priority": 2}), ValueError),
        (lambda: Text("a", metadata={"a b": 1}), ValueError),
        (lambda: Text("a", metadata={"a": object()}), ValueError),
        (lambda: Image(), TypeError),
        (lambda: Image(data=PNG, path="x"), TypeError),
        (lambda: Image(data=5), TypeError),
        (lambda: Image(data="not base64!"), ValueError),
        (lambda: Image(data=b"unknown"), ValueError),
        (lambda: Image(data=PNG, mime_type="audio/wav"), ValueError),
        (lambda: EmbeddedResource("a/b", text=""), ValueError),
        (lambda: EmbeddedResource("a:b"), TypeError),
        (lambda: EmbeddedResource("a:b", text="", blob=b""), TypeError),
        (lambda: ResourceLink("a:b", 1), TypeError),
        (lambda: ResourceLink("a:b", "a", size=-1), ValueError),
        (lambda: ResourceLink("a:b", "a", size=True), TypeError),
    ],
)
def test_a_wrong_part_is_refused_when_the_value_is_made(
    make: Callable[[], Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        make()


def test_values_are_frozen_comparable_and_can_be_copied() -> None:
    text = Text("a")
    with pytest.raises(AttributeError):
        text.text = "b"  # type: ignore[misc]
    text.block()["text"] = "b"
    assert text == Text("a") != Text("b")
    assert len({text, Text("a")}) == 1
    assert copy.deepcopy(text) == pickle.loads(pickle.dumps(text)) == text
    assert "data='" in repr(Image(data=PNG * 20))
    assert len(repr(Image(data=PNG * 20))) < 100


def test_an_embedded_resource_takes_json() -> None:
    resource = EmbeddedResource("x://h", json={"a": [1, None]}).block()["resource"]
    assert resource == {
        "uri": "x://h",
        "mimeType": "application/json",
        "text": '{"a":[1,null]}',
    }
    other = EmbeddedResource("x://h", json=None, mime_type="application/x").block()["resource"]
    assert (other["mimeType"], other["text"]) == ("application/x", "null")
    with pytest.raises(ValueError, match="not JSON"):
        EmbeddedResource("x://h", json=object())
    with pytest.raises(TypeError):
        EmbeddedResource("x://h", json=1, text="a")
