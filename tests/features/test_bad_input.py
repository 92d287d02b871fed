"""Bad input to resources, prompts and completion: one table, and the server goes on."""

from __future__ import annotations

import time
from typing import Any

import pytest

from snodo import DeclarationError, Server

SOURCE = """
from pathlib import Path
from typing import Literal

from snodo import Result, Server

server = Server("bad input", version="1.0.0")


@server.tool
def alive() -> str:
    return "alive"


@server.resource("x://host/{id}")
def by_id(id: str):
    return id


@server.resource("n://host/{number}")
def by_number(number: int):
    return str(number)


@server.resource("q://host/find{?a,b}")
def find(a: str = "", b: str = ""):
    return f"{a} {b}"


@server.resource("p://host/{+path}")
def by_path(path: Path):
    return str(path)


@server.prompt
def plan(days: int, mood: Literal["sunny", "sober"] = "sunny"):
    return str(days)


def end(how):
    if how == "raise":
        raise RuntimeError("SECRET")
    if how == "nothing":
        return None
    return "x" * int(how)


@server.resource("ends://{how}")
def read_ends(how: str):
    return end(how)


@server.prompt
def prompt_ends(how: str):
    return end(how)


@server.prompt
def completed(how: str):
    return ""


@server.complete("completed", "how")
def complete_ends(value):
    found = end(value)
    return found if found is None else [found]


@server.resource("large://{kind}/{size}")
def large(kind: str, size: int):
    return {
        "bytes": lambda: b"x" * size,
        "json": lambda: {"text": "x" * size},
        "escaped": lambda: "\\n" * size,
        "list": lambda: list(range(size // 8)),
        "contents": lambda: Result.resource_read([{"text": "x" * size}]),
    }[kind]()
"""


def read(uri: Any) -> tuple[str, dict[str, Any]]:
    return "resources/read", {"uri": uri}


def get(name: Any, **arguments: Any) -> tuple[str, dict[str, Any]]:
    return "prompts/get", {"name": name, "arguments": arguments}


def complete(kind: str, of: str, argument: str, value: str = "") -> tuple[str, dict[str, Any]]:
    reference = {"type": f"ref/{kind}", "name" if kind == "prompt" else "uri": of}
    return "completion/complete", {
        "ref": reference,
        "argument": {"name": argument, "value": value},
    }


ABSOLUTE = "Resource URI must be absolute"
NOT_FOUND = "Resource not found"

TABLE: dict[str, tuple[tuple[str, dict[str, Any]], int, str]] = {
    # URIs
    "no scheme": (read("host/1"), -32602, ABSOLUTE),
    "slashes only": (read("//host/1"), -32602, ABSOLUTE),
    "path only": (read("/etc/passwd"), -32602, ABSOLUTE),
    "colon first": (read("://host/1"), -32602, ABSOLUTE),
    "scheme with a digit first": (read("1x://host/1"), -32602, ABSOLUTE),
    "scheme only": (read("x:"), -32602, ABSOLUTE),
    "empty": (read(""), -32602, ABSOLUTE),
    "space": (read("x://host/a b"), -32602, ABSOLUTE),
    "line break": (read("x://host/a\nb"), -32602, ABSOLUTE),
    "null character": (read("x://host/a\0b"), -32602, ABSOLUTE),
    "not a string": (read(5), -32602, "Resource URI must be a string"),
    "scheme and slashes only": (read("x://"), -32602, NOT_FOUND),
    "port": (read("x://host:80/1"), -32602, NOT_FOUND),
    "empty port": (read("x://host:/1"), -32602, NOT_FOUND),
    "user": (read("x://me@host/1"), -32602, NOT_FOUND),
    "user and password": (read("x://me:pw@host/1"), -32602, NOT_FOUND),
    "fragment": (read("x://host/1#top"), -32602, NOT_FOUND),
    "empty fragment": (read("x://host/1#"), -32602, NOT_FOUND),
    "other host": (read("x://evil/1"), -32602, NOT_FOUND),
    "host in capitals": (read("x://HOST/1"), -32602, NOT_FOUND),
    "unwanted query": (read("x://host/1?a=1"), -32602, NOT_FOUND),
    "malformed escape": (read("x://host/%zz"), -32602, NOT_FOUND),
    "not UTF-8": (read("x://host/%ff"), -32602, NOT_FOUND),
    "wrong type": (read("n://host/five"), -32602, NOT_FOUND),
    "wrong type, encoded": (read("n://host/%35x"), -32602, NOT_FOUND),
    "too many digits": (read("n://host/" + "9" * 65), -32602, NOT_FOUND),
    "null in a path": (read("p://host/a%00b"), -32602, NOT_FOUND),
    "null as a path": (read("p://host/%00"), -32602, NOT_FOUND),
    "encoded slashes and dots": (read("p://host/a%2F..%2Fb"), -32602, NOT_FOUND),
    "encoded dots": (read("p://host/%2e%2e/b"), -32602, NOT_FOUND),
    "dots": (read("p://host/../b"), -32602, NOT_FOUND),
    "encoded slash first": (read("p://host/%2Fetc/passwd"), -32602, NOT_FOUND),
    "encoded backslash": (read("p://host/a%5C..%5Cb"), -32602, NOT_FOUND),
    "repeated key": (read("q://host/find?a=1&a=2"), -32602, NOT_FOUND),
    "repeated key, equal": (read("q://host/find?a=1&b=2&a=1"), -32602, NOT_FOUND),
    "unknown key": (read("q://host/find?a=1&c=2"), -32602, NOT_FOUND),
    "key without value": (read("q://host/find?a"), -32602, NOT_FOUND),
    "empty query": (read("q://host/find?"), -32602, NOT_FOUND),
    # Prompts
    "unknown prompt": (get("nope"), -32602, "Unknown prompt: nope"),
    "empty name": (get(""), -32602, "Prompt name must be a non-empty string"),
    "name of another type": (get(5), -32602, "Prompt name must be a non-empty string"),
    "missing argument": (get("plan"), -32602, "Missing required prompt arguments"),
    "argument not a string": (
        get("plan", days=5),
        -32602,
        "prompts/get arguments must map strings to strings",
    ),
    # Completion
    "complete unknown prompt": (
        complete("prompt", "nope", "days"),
        -32602,
        "Unknown completion prompt: nope",
    ),
    "complete unknown template": (
        complete("resource", "x://host/{other}", "other"),
        -32602,
        "Unknown completion resource template",
    ),
    "complete a URI": (
        complete("resource", "x://host/1", "id"),
        -32602,
        "Unknown completion resource template",
    ),
    "complete unknown argument": (
        complete("prompt", "plan", "nope"),
        -32602,
        "Argument does not support completion",
    ),
    "complete unknown variable": (
        complete("resource", "x://host/{id}", "nope"),
        -32602,
        "Argument does not support completion",
    ),
    "complete unknown type of reference": (
        complete("tool", "alive", "x"),
        -32602,
        "Completion reference type is not supported",
    ),
    # Handlers
    "read raises": (read("ends://raise"), -32603, "Resource raised an exception"),
    "read gives nothing": (read("ends://nothing"), -32603, "Resource returned an invalid result"),
    "prompt raises": (get("prompt_ends", how="raise"), -32603, "Prompt raised an exception"),
    "prompt gives nothing": (
        get("prompt_ends", how="nothing"),
        -32603,
        "Prompt returned an invalid result",
    ),
    "completion raises": (
        complete("prompt", "completed", "how", "raise"),
        -32603,
        "Completion raised an exception",
    ),
    "completion gives nothing": (
        complete("prompt", "completed", "how", "nothing"),
        -32603,
        "Completion returned an invalid result",
    ),
}


@pytest.mark.parametrize("what", TABLE)
def test_bad_input_has_its_answer_and_the_server_goes_on(serve: Any, what: str) -> None:
    (method, params), code, message = TABLE[what]
    session = serve(SOURCE)
    refused = session.refusal(method, params)
    assert (refused.code, refused.message) == (code, message)
    assert "SECRET" not in str(refused)
    if message in (ABSOLUTE, NOT_FOUND):
        assert refused.data == {"uri": params["uri"]}
    if session.transport == "http":
        assert refused.status == {-32602: 400, -32603: 500}[code]
    assert session.text("alive") == "alive"


@pytest.mark.parametrize(
    ("value", "expected"),
    [("five", "integer"), ("", "integer"), ("5.0", "integer"), ("9" * 65, "integer")],
)
def test_a_prompt_argument_of_the_wrong_type_is_told_what_was_expected(
    serve: Any, value: str, expected: str
) -> None:
    refused = serve(SOURCE).refusal(*get("plan", days=value))
    assert refused.code == -32602
    assert "days" in refused.message
    assert expected in refused.message


def test_a_prompt_argument_outside_its_choices_is_told_the_choices(serve: Any) -> None:
    refused = serve(SOURCE).refusal(*get("plan", days="1", mood="SECRET"))
    assert refused.code == -32602
    assert "mood" in refused.message
    assert "sunny, sober" in refused.message
    assert "SECRET" not in refused.message


@pytest.mark.parametrize("length", [3_000, 100_000, 1_000_000])
@pytest.mark.parametrize("prefix", ["x://host/a/", "none://", "q://host/find?", "p://host/"])
def test_an_over_long_uri_is_refused_in_short(serve: Any, length: int, prefix: str) -> None:
    session = serve(SOURCE)
    if session.transport == "http":
        length = min(length, 20_000)  # a header mirrors it, and has to fit a head
    begun = time.monotonic()
    refused = session.refusal("resources/read", {"uri": prefix + "a/" * (length // 2)})
    assert refused.code == -32602
    assert len(str(refused)) < 10_000
    assert time.monotonic() - begun < 9
    assert session.text("alive") == "alive"


def test_a_uri_as_long_as_a_message_allows_is_read(serve: Any) -> None:
    session = serve(SOURCE)
    length = 20_000 if session.transport == "http" else 1_000_000
    assert session.read("x://host/" + "a" * length)["text"] == "a" * length


def test_long_words_of_a_caller_are_not_repeated_whole(serve: Any) -> None:
    session = serve(SOURCE)
    word = "w" * 20_000
    for method, params in (
        get(word),
        complete("prompt", word, "x"),
        complete("resource", f"x://{word}", "x"),
        complete("prompt", "plan", word),
    ):
        refused = session.refusal(method, params)
        assert refused.code == -32602
        assert len(str(refused)) < 4_000


@pytest.mark.parametrize("template", ["v://host/{a}", "v://host/{a}/{b}", "v://host/x{?a,b}"])
def test_a_parameter_that_no_variable_binds_is_refused_at_import(template: str) -> None:
    def handler(a: str = "", b: str = "", c: str = "") -> str:
        return a + b + c

    with pytest.raises(DeclarationError, match=r"'[bc]'.*bound by no variable"):
        Server("x").resource(template)(handler)


def test_a_variable_without_a_parameter_is_refused_at_import() -> None:
    def handler(a: str) -> str:
        return a

    with pytest.raises(DeclarationError, match="'b' has no parameter"):
        Server("x").resource("v://host/{a}/{b}")(handler)


LARGE = 50_000_000
SLOW = 50
"""Seconds; a debug build on a busy machine needs some."""


@pytest.mark.timeout(180)
def test_fifty_megabytes_of_text_are_sent(serve: Any) -> None:
    session = serve(SOURCE)
    assert session.read(f"ends://{LARGE}", timeout=SLOW)["text"] == "x" * LARGE
    (message,) = session.prompt("prompt_ends", {"how": str(LARGE)}, timeout=SLOW)
    assert message["content"]["text"] == "x" * LARGE
    assert session.text("alive") == "alive"


@pytest.mark.timeout(180)
def test_fifty_megabytes_of_bytes_are_sent(serve: Any) -> None:
    content = serve(SOURCE).read(f"large://bytes/{LARGE}", timeout=SLOW)
    assert len(content["blob"]) == (LARGE + 2) // 3 * 4


@pytest.mark.timeout(180)
def test_more_than_a_result_may_hold_is_refused(serve: Any) -> None:
    session = serve(SOURCE)
    for method, params, message in (
        (*read(f"large://bytes/{LARGE + 1_000_000}"), "Resource result is too large"),
        (*get("prompt_ends", how=str(LARGE * 3 // 2)), "Prompt result is too large"),
        (
            *complete("prompt", "completed", "how", str(LARGE * 3 // 2)),
            "Completion result is too large",
        ),
    ):
        refused = session.refusal(method, params, timeout=SLOW)
        assert (refused.code, refused.message) == (-32603, message)
    assert session.text("alive") == "alive"


@pytest.mark.parametrize("kind", ["bytes", "escaped", "json", "contents", "list"])
def test_a_server_may_allow_less(serve: Any, kind: str) -> None:
    small = SOURCE.replace('version="1.0.0"', 'version="1.0.0", limits={"result_bytes": 10_000}')
    session = serve(small)
    assert session.read(f"large://{kind}/1000")
    refused = session.refusal(*read(f"large://{kind}/20000"))
    assert refused.code == -32603
    # What is too large as it is encoded is not encoded to its end.
    assert "is too large" in refused.message or "more than 10000 bytes" in refused.message
