"""Static resources, files and folders: what is sent, and what can never be reached."""

from __future__ import annotations

import base64
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snodo import DirectoryResource, Error, FileResource, Server, StaticResource
from snodo._files import Folder, TooLargeError
from snodo._parsing import stays_below
from snodo._signature import ResourceSpec


def specs(*resources: Any) -> list[ResourceSpec]:
    server = Server("x")
    server.add(*resources, *resources)
    return server._offering.freeze()[1]["resources"]


def listed(spec: ResourceSpec) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(spec.definition)
    return found


def static(*args: Any, **options: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    (spec,) = specs(StaticResource(*args, **options))
    assert spec.function is None
    assert spec.content is not None
    (contents,) = json.loads(spec.content)
    return listed(spec), contents


def test_static_contents_are_written_once() -> None:
    assert static("x://a.md", text="hé") == (
        {"uri": "x://a.md", "name": "x://a.md", "mimeType": "text/markdown", "size": 3},
        {"uri": "x://a.md", "mimeType": "text/markdown", "text": "hé"},
    )
    about, contents = static("x://a", json={"b": [1, None]}, name="a", title="A")
    assert about == {
        "uri": "x://a",
        "name": "a",
        "title": "A",
        "mimeType": "application/json",
        "size": 14,
    }
    assert contents["text"] == '{"b":[1,null]}'
    assert static("x://a", json=None)[1]["text"] == "null"
    about, contents = static("x://a", data=b"\0\1", mime_type="image/x")
    assert (about["size"], contents) == (
        2,
        {"uri": "x://a", "mimeType": "image/x", "blob": base64.b64encode(b"\0\1").decode()},
    )
    assert static("x://a", text="")[0]["size"] == 0


def test_a_file_is_read_anew_each_time(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("one")
    (spec,) = specs(FileResource(file, uri="x://a"))
    assert listed(spec) == {"uri": "x://a", "name": "a.txt", "mimeType": "text/plain"}
    assert spec.function is not None
    assert spec.function({}, None) == "one"
    file.write_text("two")
    assert spec.function({}, None) == "two"
    file.write_bytes(b"\xff\0")
    assert spec.function({}, None) == b"\xff\0"
    file.unlink()
    with pytest.raises(Error) as caught:
        spec.function({}, None)
    assert (caught.value.code, caught.value.data) == (-32602, {"uri": "x://a"})


def test_a_file_may_come_later_and_is_bounded(tmp_path: Path) -> None:
    file = tmp_path / "a b.bin"
    (spec,) = specs(FileResource(file, must_exist=False, max_bytes=3))
    assert spec.uri == file.as_uri()
    assert spec.function is not None
    file.write_bytes(b"abc")
    assert spec.function({}, None) == b"abc"
    file.write_bytes(b"abcd")
    with pytest.raises(TooLargeError):
        spec.function({}, None)
    file.unlink()
    file.mkdir()
    with pytest.raises(Error, match="Resource not found"):
        spec.function({}, None)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "sub" / "deep").mkdir(parents=True)
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text("secret")
    (root / "a.md").write_text("# a")
    (root / "b b.txt").write_text("b")
    (root / ".env").write_text("secret")
    (root / "sub" / "c.md").write_text("c")
    (root / "sub" / "deep" / "d.bin").write_bytes(b"\0\xff")
    (tmp_path / "outside.md").write_text("secret")
    (tmp_path / "root-twin").mkdir()
    (tmp_path / "root-twin" / "e.md").write_text("secret")
    return root


def folder(root: Path, **options: Any) -> Folder:
    bounds = {"max_bytes": 1000, "max_entries": 100}
    rest = {"pattern": "*", "recursive": True, "hidden": False}
    return Folder(str(root), **{**bounds, **rest, **options})


def names(folder: Folder) -> list[str]:
    return [name for name, _ in folder.files()[0]]


def test_a_folder_is_a_listing_and_a_template(tree: Path) -> None:
    listing, template = specs(DirectoryResource(tree, uri_prefix="docs://guide/", title="Guide"))
    assert listed(listing) == {
        "uri": "docs://guide",
        "name": "root",
        "title": "Guide",
        "mimeType": "application/json",
    }
    assert listed(template) == {
        "uriTemplate": "docs://guide/{+path}",
        "name": "root_file",
        "title": "Guide",
    }
    assert listing.function is not None
    assert template.function is not None
    assert listing.function({}, None) == {
        "files": [
            {"uri": "docs://guide/a.md", "name": "a.md", "size": 3, "mimeType": "text/markdown"},
            {
                "uri": "docs://guide/b%20b.txt",
                "name": "b b.txt",
                "size": 1,
                "mimeType": "text/plain",
            },
            {
                "uri": "docs://guide/sub/c.md",
                "name": "sub/c.md",
                "size": 1,
                "mimeType": "text/markdown",
            },
            {
                "uri": "docs://guide/sub/deep/d.bin",
                "name": "sub/deep/d.bin",
                "size": 2,
                "mimeType": "application/octet-stream",
            },
        ],
        "truncated": False,
    }
    found = template.function({"path": "sub/c.md"}, None)
    assert found.value["contents"] == [{"mimeType": "text/markdown", "text": "c"}]
    found = template.function({"path": "sub/deep/d.bin"}, None)
    assert found.value["contents"][0]["blob"] == "AP8="
    (completion,) = template.completions
    assert completion.function is not None
    assert completion.function("sub/", {}) == ["sub/c.md", "sub/deep/d.bin"]
    for path in ("none.md", "sub", "../outside.md"):
        with pytest.raises(Error, match="Resource not found") as caught:
            template.function({"path": path, "uri": "docs://guide/as-asked"}, None)
        assert caught.value.data == {"uri": "docs://guide/as-asked"}


@pytest.mark.parametrize(
    "path",
    [
        "",
        ".",
        "..",
        "/",
        "../outside.md",
        "../root-twin/e.md",
        "sub/../../outside.md",
        "sub/../a.md",
        "./a.md",
        "sub//c.md",
        "a.md/",
        "a.md\0",
        "..\\outside.md",
        "sub\\c.md",
        "C:a.md",
        "sub",
        ".env",
        ".git/config",
        "none",
        "a.md/x",
        "a" * 5000,
        "%2e%2e/outside.md",
        "..%2foutside.md",
        "\ud800",
    ],
)
def test_nothing_but_its_files_is_read(tree: Path, path: str) -> None:
    with pytest.raises((OSError, UnicodeEncodeError)):
        folder(tree).read(path)
    with pytest.raises((OSError, UnicodeEncodeError)):
        folder(tree).read(str(tree / "a.md"))


def test_links_are_followed_inside_and_never_out(tree: Path) -> None:
    (tree / "in.md").symlink_to("sub/c.md")
    (tree / "out.md").symlink_to(tree.parent / "outside.md")
    (tree / "twin").symlink_to(tree.parent / "root-twin")
    (tree / "loop").symlink_to(tree)
    (tree / "round.md").symlink_to("round.md")
    (tree / "hidden.md").symlink_to(".env")
    (tree / "broken.md").symlink_to("nowhere")
    one = folder(tree)
    assert one.read("in.md") == b"c"
    for path in ("out.md", "twin/e.md", "round.md", "broken.md", "hidden.md"):
        with pytest.raises(OSError):
            one.read(path)
    assert one.read("loop/a.md") == b"# a"
    found = names(one)
    assert "in.md" in found
    assert not {"out.md", "round.md", "broken.md"} & set(found)
    assert not any(name.startswith(("twin", "loop")) for name in found)
    linked = tree.parent / "linked"
    linked.symlink_to(tree)
    assert folder(linked).read("a.md") == b"# a"


@pytest.mark.skipif(sys.platform == "win32", reason="folders are not opened by descriptor there")
@pytest.mark.parametrize("swapped", ["sub", "sub/deep", "b b.txt"])
def test_nothing_behind_a_link_that_appears_while_listing_is_told(
    tree: Path, monkeypatch: pytest.MonkeyPatch, swapped: str
) -> None:
    outside = tree.parent / "root-twin"
    (outside / "deep").mkdir()
    (outside / "deep" / "f.md").write_text("secret")
    expected = {name for name in names(folder(tree)) if not name.startswith(swapped)}
    place, scandir, looks = tree / swapped, os.scandir, []

    @contextmanager
    def swap(path: Any) -> Iterator[list[os.DirEntry[str]]]:
        with scandir(path) as entries:
            found = list(entries)
        looks.append(path)
        # What holds it has just been read; it has not been looked at yet.
        if len(looks) == len(Path(swapped).parts):
            place.rename(tree.parent / "was")
            place.symlink_to(outside if (tree.parent / "was").is_dir() else outside / "e.md")
        yield found

    monkeypatch.setattr(os, "scandir", swap)
    assert set(names(folder(tree))) == expected
    assert place.is_symlink()


@pytest.mark.skipif(sys.platform == "win32", reason="there are no named pipes")
def test_pipes_are_neither_listed_nor_waited_for(tree: Path) -> None:
    os.mkfifo(tree / "pipe")
    assert "pipe" not in names(folder(tree))
    with pytest.raises(OSError):
        folder(tree).read("pipe")


def test_what_is_left_out_of_the_listing_is_not_read(tree: Path) -> None:
    assert names(folder(tree, pattern="*.md")) == ["a.md", "sub/c.md"]
    assert names(folder(tree, recursive=False)) == ["a.md", "b b.txt"]
    assert ".git/config" in names(folder(tree, hidden=True))
    for options, path in (
        ({"pattern": "*.md"}, "b b.txt"),
        ({"recursive": False}, "sub/c.md"),
        ({"max_bytes": 1}, "a.md"),
    ):
        with pytest.raises((OSError, TooLargeError)):
            folder(tree, **options).read(path)
    assert folder(tree, hidden=True).read(".env") == b"secret"


def test_a_long_listing_is_cut_and_says_so(tree: Path) -> None:
    found, truncated = folder(tree, max_entries=2).files()
    assert (len(found), truncated) == (2, True)
    assert folder(tree, max_entries=4).files()[1] is False


@given(st.text(st.characters(codec="utf-8"), max_size=30))
def test_a_path_that_stays_below_resolves_below(text: str) -> None:
    if stays_below(text):
        joined = os.path.normpath(os.path.join("/root/of", text))
        assert joined.startswith("/root/of/")


@given(st.lists(st.sampled_from(["..", ".", "", "a", "/", "\\", "\0", "b."]), max_size=6))
def test_dots_and_emptiness_never_stay(parts: list[str]) -> None:
    text = "/".join(parts)
    good = bool(parts) and all(part in ("a", "b.") for part in parts)
    assert stays_below(text) is good
