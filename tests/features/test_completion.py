"""Completion: of arguments and variables, by values, by functions and by the types themselves."""

from __future__ import annotations

from typing import Any

import pytest

from snodo import ConfigurationError, DeclarationError, Prompt, Server, StaticResource

SOURCE = """
import asyncio
import enum
from typing import Literal

from snodo import Context, Error, Prompt, Resource, Result, Server

server = Server("completion", version="1.0.0")


class Summarise(Prompt):
    name = "summarise"
    arguments = [{"name": "text", "required": True}, {"name": "tone"}]

    def words(self, value):
        return [word for word in ("formal", "friendly") if word.startswith(value)]

    complete = {"tone": words}

    def render(self, arguments, context):
        return ""


class Note(Resource):
    name = "note"
    uri_template = "note://{shelf}/{id}"
    complete = {"id": ["1", "10", "2"]}

    def read(self, params, context):
        return ""


server.add(Summarise, Note)


class Size(enum.Enum):
    SMALL = "small"
    LARGE = "large"


@server.prompt
def itself(
    mood: Literal["Sunny", "sober", "Über"],
    size: Size,
    loud: bool,
    level: Literal[1, 2, 10] | None = None,
    text: str = "",
    number: int = 0,
):
    return ""


@server.resource("typed://{size}/{flag}/{other}")
def typed(size: Size, flag: bool, other: str):
    return ""


@server.prompt
def ends(how: str, context_too: str, given: str):
    return ""


@server.complete("ends", "how")
async def complete_how(value):
    await asyncio.sleep(0)
    found = {
        "99": [str(n) for n in range(99)],
        "100": [str(n) for n in range(100)],
        "101": [str(n) for n in range(101)],
        "100 exact": lambda: Result.completion([str(n) for n in range(100)]),
        "101 exact": lambda: Result.completion([str(n) for n in range(101)]),
        "total too small": lambda: Result.completion(["a", "b"], total=1),
        "total": lambda: Result.completion(["a"], total=1, has_more=False),
        "more": lambda: Result.completion(["a"], has_more=True),
        "more is 1": lambda: Result.completion(["a"], has_more=1),
        "total is text": lambda: Result.completion(["a"], total="1"),
        "total is true": lambda: Result.completion(["a"], total=True),
        "total is negative": lambda: Result.completion([], total=-1),
        "numbers": [1, 2],
        "nothing": None,
        "text": "text",
        "tuple": ("a", "b"),
        "set": {"a"},
        "generator": (str(n) for n in range(2)),
        "dict": {"a": 1},
        "read": lambda: Result.resource_read([{"text": "SECRET"}]),
        "result text": lambda: Result.text("SECRET"),
        "result structured": lambda: Result.structured(["SECRET"]),
        "failure": lambda: Result.error("SECRET"),
        "input": lambda: Result.input_required(request_state="x"),
        "raise": lambda: 1 / 0,
        "error": Error(7001, "not today"),
        "surrogate": ["\\ud800"],
    }[value]
    # Some of these cannot even be made, which shall happen only when asked for.
    return found() if callable(found) else found


@server.complete("ends", "given")
def complete_given(value, arguments, context: Context):
    return [value, context.method, *(f"{k}={v}" for k, v in sorted(arguments.items()))]


@server.complete(typed, "other")
def complete_other(value, arguments):
    return [f"{value}-{arguments.get('size')}"]
"""


def refused(
    session: Any,
    of: str,
    argument: str,
    value: str = "",
    given: dict[str, str] | None = None,
) -> tuple[int, str, Any]:
    kind, key = ("ref/resource", "uri") if "://" in of else ("ref/prompt", "name")
    params: dict[str, Any] = {
        "ref": {"type": kind, key: of},
        "argument": {"name": argument, "value": value},
    }
    if given is not None:
        params["context"] = {"arguments": given}
    refusal = session.refusal("completion/complete", params)
    return refusal.code, refusal.message, refusal.data


def test_an_argument_of_a_prompt_is_completed(serve: Any) -> None:
    assert serve(SOURCE).complete("summarise", "tone", "f") == {"values": ["formal", "friendly"]}


def test_what_completes_is_not_listed(serve: Any) -> None:
    prompts = serve(SOURCE).ask("prompts/list")["prompts"]
    (entry,) = [prompt for prompt in prompts if prompt["name"] == "summarise"]
    assert set(entry) == {"name", "arguments"}


def test_a_template_is_completed_by_its_text_alone(serve: Any) -> None:
    session = serve(SOURCE)
    completion = session.complete("note://{shelf}/{id}", "id", "1")
    assert completion == {"values": ["1", "10"], "total": 2, "hasMore": False}
    for uri in ("note://a/1", "NOTE://{shelf}/{id}", "note://{x}/{id}"):
        assert refused(session, uri, "id") == (
            -32602,
            "Unknown completion resource template",
            {"uri": uri},
        )


def test_what_nothing_completes_is_refused(serve: Any) -> None:
    session = serve(SOURCE)
    for of, argument, kind in (
        ("summarise", "text", "ref/prompt"),
        ("summarise", "nope", "ref/prompt"),
        ("note://{shelf}/{id}", "shelf", "ref/resource"),
        ("itself", "text", "ref/prompt"),
        ("itself", "number", "ref/prompt"),
    ):
        assert refused(session, of, argument) == (
            -32602,
            "Argument does not support completion",
            {"argument": argument, "referenceType": kind},
        )


def test_an_unknown_prompt_is_named(serve: Any) -> None:
    assert refused(serve(SOURCE), "nope", "x")[:2] == (-32602, "Unknown completion prompt: nope")


def test_undeclared_context_arguments_are_named(serve: Any) -> None:
    session = serve(SOURCE)
    given = {"z": "", "text": "", "b": ""}
    assert refused(session, "summarise", "tone", "", given) == (
        -32602,
        "Unknown prompt completion context arguments",
        {"unknown": ["b", "z"]},
    )
    assert session.complete("summarise", "tone", "for", {"text": "x"}) == {"values": ["formal"]}


def test_a_function_is_given_what_was_given_before(serve: Any) -> None:
    session = serve(SOURCE)
    completion = session.complete("ends", "given", "v", {"how": "x"})
    assert completion["values"] == ["v", "completion/complete", "how=x"]
    template = "typed://{size}/{flag}/{other}"
    completion = session.complete(template, "other", "v", {"size": "small"})
    assert completion["values"] == ["v-small"]


@pytest.mark.parametrize(
    ("how", "count", "rest"),
    [
        ("99", 99, {}),
        ("100", 100, {}),
        ("101", 100, {"total": 101, "hasMore": True}),
        ("100 exact", 100, {}),
        ("total", 1, {"total": 1, "hasMore": False}),
        ("more", 1, {"hasMore": True}),
        ("tuple", 2, {}),
        ("set", 1, {}),
        ("generator", 2, {}),
    ],
)
def test_at_most_a_hundred_values_are_sent(
    serve: Any, how: str, count: int, rest: dict[str, Any]
) -> None:
    completion = serve(SOURCE).complete("ends", "how", how)
    assert len(completion.pop("values")) == count
    assert completion == rest


@pytest.mark.parametrize(
    "how",
    [
        "101 exact",
        "total too small",
        "numbers",
        "nothing",
        "text",
    ],
)
def test_a_completion_out_of_bounds_is_an_invalid_result(serve: Any, how: str) -> None:
    session = serve(SOURCE)
    assert refused(session, "ends", "how", how)[:2] == (
        -32603,
        "Completion returned an invalid result",
    )


@pytest.mark.parametrize(
    ("how", "code", "message"),
    [
        ("more is 1", -32603, "Completion "),
        ("total is text", -32603, "Completion "),
        ("total is true", -32603, "Completion returned an invalid result"),
        ("total is negative", -32603, "Completion "),
        ("surrogate", -32603, "Completion "),
        ("read", -32603, "Completion returned the wrong result kind"),
        ("result text", -32603, "Completion returned the wrong result kind"),
        ("result structured", -32603, "Completion returned the wrong result kind"),
        ("failure", -32603, "Completion failed"),
        ("raise", -32603, "Completion raised an exception"),
        ("error", 7001, "not today"),
        ("input", -32603, "Input-required result is not permitted for this operation"),
    ],
)
def test_every_outcome_of_a_completion_has_its_answer(
    serve: Any, how: str, code: int, message: str
) -> None:
    session = serve(SOURCE)
    found = refused(session, "ends", "how", how)
    assert found[0] == code
    assert found[1].startswith(message)
    assert "SECRET" not in f"{found}"
    assert session.complete("summarise", "tone", "fr")["values"] == ["friendly"]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({}, "Completion requires a prompt or resource-template reference"),
        ({"ref": None}, "Completion requires a prompt or resource-template reference"),
        ({"ref": "summarise"}, "Completion requires a prompt or resource-template reference"),
        ({"ref": {}}, "Completion requires a prompt or resource-template reference"),
        (
            {"ref": {"type": "ref/prompt"}},
            "Completion requires a prompt or resource-template reference",
        ),
        (
            {"ref": {"type": "ref/tool", "name": "x"}},
            "Completion reference type is not supported",
        ),
        (
            {"ref": {"type": "ref/prompt", "name": "summarise", "title": 5}},
            "Completion prompt reference title must be a string",
        ),
        ({"argument": None}, "Completion argument requires string name and value"),
        ({"argument": {"name": "tone"}}, "Completion argument requires string name and value"),
        (
            {"argument": {"name": "tone", "value": 5}},
            "Completion argument requires string name and value",
        ),
        (
            {"argument": {"name": "", "value": ""}},
            "Completion argument requires string name and value",
        ),
        ({"context": []}, "Completion context must be an object"),
        ({"context": {"arguments": []}}, "Completion context arguments must be an object"),
        (
            {"context": {"arguments": {"text": 5}}},
            "Completion context arguments must map strings to strings",
        ),
    ],
)
def test_a_malformed_completion_is_told_what_is_wrong(
    serve: Any, params: dict[str, Any], message: str
) -> None:
    good = {
        "ref": {"type": "ref/prompt", "name": "summarise"},
        "argument": {"name": "tone", "value": ""},
    }
    refusal = serve(SOURCE).refusal("completion/complete", params and {**good, **params})
    assert (refusal.code, refusal.message) == (-32602, message)


@pytest.mark.parametrize(
    ("argument", "value", "values"),
    [
        ("mood", "", ["Sunny", "sober", "Über"]),
        ("mood", "s", ["Sunny", "sober"]),
        ("mood", "SU", ["Sunny"]),
        ("mood", "ü", ["Über"]),
        ("mood", "x", []),
        ("size", "", ["small", "large"]),
        ("size", "l", ["large"]),
        ("loud", "", ["true", "false"]),
        ("loud", "T", ["true"]),
        ("level", "1", ["1", "10"]),
    ],
)
def test_a_type_with_known_values_completes_itself(
    serve: Any, argument: str, value: str, values: list[str]
) -> None:
    completion = serve(SOURCE).complete("itself", argument, value)
    assert completion == {"values": values, "total": len(values), "hasMore": False}


def test_a_variable_with_known_values_completes_itself(serve: Any) -> None:
    session = serve(SOURCE)
    template = "typed://{size}/{flag}/{other}"
    assert session.complete(template, "size", "s")["values"] == ["small"]
    assert session.complete(template, "flag", "")["values"] == ["true", "false"]


LISTED = {"listChanged": True}
WATCHED = {"subscribe": True, "listChanged": True}


def capabilities(server: Server) -> dict[str, Any]:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    message = {"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": meta}}
    answer = server.handle(message)
    assert answer is not None
    found: dict[str, Any] = answer["result"]["capabilities"]
    return found


def test_the_capability_follows_use() -> None:
    plain = Server("plain")

    @plain.prompt
    def asks(text: str) -> str:
        return text

    assert capabilities(plain) == {"logging": {}, "prompts": LISTED}

    by_type = Server("by type")

    @by_type.prompt
    def chooses(flag: bool) -> str:
        return str(flag)

    assert capabilities(by_type) == {"completions": {}, "logging": {}, "prompts": LISTED}

    by_template = Server("by template")

    @by_template.resource("x://{flag}")
    def reads(flag: bool) -> str:
        return str(flag)

    assert capabilities(by_template) == {"completions": {}, "logging": {}, "resources": WATCHED}

    direct = Server("direct")
    direct.add(StaticResource("x://y", text=""))
    assert capabilities(direct) == {"resources": WATCHED}


def test_a_completer_needs_something_to_complete() -> None:
    server = Server("x")

    @server.prompt
    def p(a: str, b: bool) -> str:
        return a

    def completer(value: str) -> list[str]:
        return []

    with pytest.raises(ConfigurationError, match="nope"):
        server.complete("nope", "a")(completer)
    with pytest.raises(DeclarationError, match="'c'"):
        server.complete("p", "c")(completer)
    with pytest.raises(DeclarationError, match="complete"):
        server.complete("p", "a")(5)  # type: ignore[type-var]
    server.complete("p", "a")(completer)
    with pytest.raises(DeclarationError, match="already"):
        server.complete("p", "a")(completer)
    # What a type knows may be replaced.
    server.complete("p", "b")(completer)


def test_known_values_beyond_a_hundred_are_counted() -> None:
    values = [f"v{n}" for n in range(1_000)]
    many = type(
        "Many",
        (Prompt,),
        {
            "name": "many",
            "arguments": [{"name": "a"}],
            "complete": {"a": values},
            "render": lambda self, arguments, context: "",
        },
    )
    server = Server("x")
    server.add(many)
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {
        "_meta": meta,
        "ref": {"type": "ref/prompt", "name": "many"},
        "argument": {"name": "a", "value": "V"},
    }
    message = {"jsonrpc": "2.0", "id": 1, "method": "completion/complete", "params": params}
    answer = server.handle(message)
    assert answer is not None
    assert answer["result"]["completion"] == {
        "values": values[:100],
        "total": 1_000,
        "hasMore": True,
    }
