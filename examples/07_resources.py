"""Things to read: contents that never change, functions, templates of URIs, files and folders.

Variables of a template arrive as the annotated types; what does not fit is not there.

python examples/07_resources.py --check
"""

import sys
from datetime import date
from pathlib import Path
from typing import Annotated

from snodo import Arg, DirectoryResource, Error, FileResource, Image, Result, Server, StaticResource

server = Server("observatory", version="1.0.0")

HERE = Path(__file__).parent
STARS = {"vega": 0.03, "deneb": 1.25}
CLOUDS = {date(2026, 3, 1): [80, 95], date(2026, 3, 2): [5, 0]}

# Answered in Rust: no Python runs when it is read.
server.add(
    StaticResource(
        "sky://about",
        text="# The sky\n\nIt is up.",
        name="about",
        description="About the sky",
        mime_type="text/markdown",
    )
)


# Whatever is neither text, bytes nor content becomes JSON.
@server.resource("sky://stars", title="All stars")
def stars() -> dict[str, float]:
    """The stars and how bright they are."""
    return STARS


@server.resource("sky://stars/{name}", mime_type="text/plain")
def star(name: str) -> str:
    """One star."""
    if name not in STARS:
        raise Error.resource_not_found(f"sky://stars/{name}")
    return f"{name.title()} has magnitude {STARS[name]}."


# A date and a number, made of text. A variable of the query may be absent, so it has a default.
@server.resource("sky://clouds/{day}{?below}")
def clouds(
    day: date,
    below: Annotated[int, Arg("Only hours with fewer clouds, in percent", ge=0, le=100)] = 100,
) -> list[int]:
    """How cloudy each hour of a night is."""
    return [cover for cover in CLOUDS.get(day, []) if cover < below]


# Several contents, and a word on how long they may be kept.
@server.resource("sky://chart")
def chart() -> Result:
    """A picture of the sky, and its legend."""
    picture = Image(b"GIF89a...", mime_type="image/gif")
    legend = {"uri": "sky://chart/legend", "mimeType": "text/plain", "text": "* a star"}
    return Result.resource_read([picture, legend], ttl_ms=60_000, cache_scope="public")


# This very file, and the examples beside it. Nothing outside the folder can be read.
server.add(
    FileResource(__file__, uri="code://me", name="me", description="This program"),
    DirectoryResource(
        HERE,
        uri_prefix="code://examples",
        description="The example programs",
        pattern="[0-9]*.py",
        recursive=False,
    ),
)


def check() -> None:
    import json

    from _check import request

    def read(uri: str) -> list[dict[str, str]]:
        answer = request(server, "resources/read", uri=uri)
        assert "result" in answer, answer
        contents: list[dict[str, str]] = answer["result"]["contents"]
        return contents

    def is_missing(uri: str) -> bool:
        error = request(server, "resources/read", uri=uri)["error"]
        return bool((error["code"], error["data"]) == (-32602, {"uri": uri}))

    listed = request(server, "resources/list")["result"]["resources"]
    assert [one["uri"] for one in listed] == sorted(one["uri"] for one in listed)
    templates = request(server, "resources/templates/list")["result"]["resourceTemplates"]
    assert "sky://clouds/{day}{?below}" in [one["uriTemplate"] for one in templates]

    (about,) = read("sky://about")
    assert about["mimeType"] == "text/markdown"
    assert json.loads(read("sky://stars")[0]["text"]) == STARS
    assert read("sky://stars/vega")[0]["text"] == "Vega has magnitude 0.03."
    assert json.loads(read("sky://clouds/2026-03-02?below=5")[0]["text"]) == [0]
    picture, legend = read("sky://chart")
    assert (picture["mimeType"], legend["text"]) == ("image/gif", "* a star")

    for uri in (
        "sky://stars/sun",  # there is none: the function said so
        "sky://clouds/yesterday",  # not a date, so the function was not asked
        "sky://clouds/2026-03-02?below=500",
        "sky://clouds/2026-03-02?above=5",  # no such parameter
        "sky://nothing/here/at/all",
    ):
        assert is_missing(uri), uri

    assert read("code://me")[0]["text"].startswith('"""Things to read')
    files = json.loads(read("code://examples")[0]["text"])["files"]
    assert "code://examples/01_greeter.py" in [file["uri"] for file in files]
    assert "Server(" in read("code://examples/01_greeter.py")[0]["text"]
    for outside in ("_check.py", "../README.md", "..%2FREADME.md", "%2Fetc%2Fpasswd", "a%00.py"):
        assert is_missing(f"code://examples/{outside}"), outside


if __name__ == "__main__":
    check() if "--check" in sys.argv else server.run()
