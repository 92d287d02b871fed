"""Files and folders as resources, and that nothing leads out of them."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from snodo import DeclarationError, DirectoryResource

FILES = """
from pathlib import Path

from snodo import DirectoryResource, FileResource, Server

root = Path({root!r})
server = Server("files", version="1.0.0")
server.add(
    DirectoryResource(root, uri_prefix="docs://guide", name="guide"),
    FileResource(root / "a.md", uri="file:///a.md", name="a", max_bytes=100),
)


@server.resource("raw://files/{{+path}}")
def raw(path: Path):
    return str(path)


@server.resource("one://{{name}}")
def one(name: Path):
    return str(name)
"""


def refused(session: Any, uri: str) -> tuple[int, str, Any]:
    refusal = session.refusal("resources/read", {"uri": uri})
    return refusal.code, refusal.message, refusal.data


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, serve: Any) -> Any:
    root = tmp_path_factory.mktemp("files") / "root"
    (root / "sub dir").mkdir(parents=True)
    (root / "a.md").write_text("# A 茶", encoding="utf-8")
    (root / "sub dir" / "b.bin").write_bytes(b"\x00\xff")
    (root / "empty.txt").write_text("")
    (root.parent / "outside.txt").write_text("SECRET")
    (root / "out").symlink_to(root.parent / "outside.txt")
    (root / "up").symlink_to(root.parent)
    (root / "in").symlink_to(root / "a.md")
    return serve(FILES.format(root=str(root)))


def test_a_directory_lists_its_files(files: Any) -> None:
    listing = json.loads(files.read("docs://guide")["text"])
    assert listing["truncated"] is False
    assert [entry["uri"] for entry in listing["files"]] == [
        "docs://guide/a.md",
        "docs://guide/empty.txt",
        "docs://guide/in",
        "docs://guide/sub%20dir/b.bin",
    ]


def test_the_files_of_a_directory_are_read_as_what_they_are(files: Any) -> None:
    assert files.read("docs://guide/a.md") == {
        "uri": "docs://guide/a.md",
        "mimeType": "text/markdown",
        "text": "# A 茶",
    }
    binary = files.read("docs://guide/sub%20dir/b.bin")
    assert binary["blob"] == base64.b64encode(b"\x00\xff").decode()
    assert files.read("docs://guide/empty.txt")["text"] == ""
    assert files.read("docs://guide/in")["text"] == "# A 茶"
    assert files.read("file:///a.md")["text"] == "# A 茶"


ESCAPES = [
    "../outside.txt",
    "%2E%2E/outside.txt",
    "%2e%2e%2foutside.txt",
    "..%2Foutside.txt",
    "sub%20dir/../../outside.txt",
    "sub%20dir%2F..%2F..%2Foutside.txt",
    "%2Fetc%2Fpasswd",
    "%2Fetc/passwd",
    "/etc/passwd",
    "a.md%00",
    "%00",
    "a.md%00.txt",
    "./a.md",
    "sub%20dir/./b.bin",
    "..%5Coutside.txt",
    "C:%5Cwindows",
    "out",
    "up/outside.txt",
    "up",
    "sub%20dir",
    "nothing.txt",
    "%252e%252e/outside.txt",
]


@pytest.mark.parametrize("path", ESCAPES)
def test_nothing_outside_a_directory_is_read(files: Any, path: str) -> None:
    uri = f"docs://guide/{path}"
    assert refused(files, uri) == (-32602, "Resource not found", {"uri": uri})


@pytest.mark.parametrize(
    "path",
    [
        "../x",
        "..%2Fx",
        "%2E%2E/x",
        "a/../x",
        "a/..",
        "%2Fetc",
        "a%00b",
        "a%5C..%5Cx",
        "a/./b",
        "a/%2F/b",
    ],
)
@pytest.mark.parametrize("prefix", ["raw://files/", "one://"])
def test_a_path_never_leads_elsewhere(files: Any, prefix: str, path: str) -> None:
    uri = f"{prefix}{path}"
    assert refused(files, uri) == (-32602, "Resource not found", {"uri": uri})


def test_a_path_of_one_segment_holds_no_encoded_slash(files: Any) -> None:
    assert files.read("one://a.md")["text"] == "a.md"
    assert files.read("raw://files/a/b.md")["text"] == "a/b.md"
    assert refused(files, "one://a%2Fb.md")[1] == "Resource not found"


def test_a_file_that_grew_too_large_is_not_read(
    tmp_path_factory: pytest.TempPathFactory, serve: Any
) -> None:
    root = tmp_path_factory.mktemp("large")
    (root / "a.md").write_text("x" * 101)
    code, message, _ = refused(serve(FILES.format(root=str(root))), "file:///a.md")
    assert code == -32603
    assert message.startswith("Resource ")


def test_a_directory_that_is_none_is_refused_at_import(tmp_path: Any) -> None:
    with pytest.raises(DeclarationError, match="folder"):
        DirectoryResource(tmp_path / "nothing", uri_prefix="docs://guide")
