"""Prompts: declared, listed, given arguments as strings, and rendered to messages."""

from __future__ import annotations

from typing import Any

import pytest

from snodo import ConfigurationError, DeclarationError, Message, Prompt, Server

SOURCE = """
import asyncio
import datetime
import decimal
import enum
import uuid
from typing import Annotated, Literal

from snodo import (
    Arg, Audio, Cache, Context, EmbeddedResource, Error, Image, Message, Prompt, ResourceLink,
    Result, Server, Text, current_context,
)

server = Server("prompts", version="1.0.0", prompts_cache=Cache(ttl_ms=1_000, scope="public"))


class Summarise(Prompt):
    name = "summarise"
    description = "Summarise a text."
    arguments = [
        {"name": "text", "required": True},
        {"name": "tone", "description": "How.", "title": "Tone"},
    ]
    complete = {"tone": ["formal"]}

    async def render(self, arguments, context):
        await asyncio.sleep(0)
        return repr(sorted(arguments.items()))


server.add(Summarise)


class Colour(enum.Enum):
    RED = "red"
    DARK_BLUE = "dark blue"


@server.prompt
def typed(
    n: int = 0,
    f: float = 0.0,
    b: bool = False,
    lit: Literal["x", "y", 3] = "x",
    colour: Colour = Colour.RED,
    day: datetime.date | None = None,
    moment: datetime.datetime | None = None,
    span: datetime.timedelta | None = None,
    money: decimal.Decimal | None = None,
    id: uuid.UUID | None = None,
    maybe: int | None = None,
    either: int | str = 0,
    small: Annotated[int, Arg("At most ten.", le=10)] = 0,
    text: str = "",
) -> str:
    return repr(
        [n, f, b, lit, colour, day, moment, span, money, id, maybe, either, small, text]
    )


@server.prompt
def form(what: str):
    return {
        "string": "text",
        "empty": "",
        "message": Message.assistant("answer"),
        "dict": {"role": "assistant", "content": {"type": "text", "text": "answer"}},
        "image": Image(b"\\x89PNG", mime_type="image/png"),
        "audio": Audio(b"RIFF", mime_type="audio/wav"),
        "resource": EmbeddedResource("x://y", text="inside", mime_type="text/plain"),
        "blob": EmbeddedResource("x://y", blob=b"b"),
        "link": ResourceLink("x://y", "y", title="Y", size=3),
        "annotated": Text("t", annotations={"audience": ["user"]}, metadata={"com.example/k": 1}),
        "list": ["one", Message.assistant("two"), Text("three")],
        "tuple": ("one", "two"),
        "result": Result.prompt_get([Message.user("x")], description="anew"),
    }[what]


GOOD = {"type": "text", "text": "x"}


@server.prompt
def bad(what: str):
    def message(content, role="user", **more):
        return {"role": role, "content": content, **more}

    return Result.prompt_get({
        "system": [message(GOOD, "system")],
        "no-role": [{"content": GOOD}],
        "no-content": [{"role": "user"}],
        "extra": [message(GOOD, name="SECRET")],
        "content-string": [message("SECRET")],
        "content-list": [message([GOOD])],
        "content-extra": [message({**GOOD, "more": "SECRET"})],
        "text-number": [message({"type": "text", "text": 1})],
        "no-type": [message({"text": "SECRET"})],
        "unknown-type": [message({"type": "video", "data": "SECRET"})],
        "tool-use": [message({"type": "tool_use", "id": "1", "name": "x", "input": {}})],
        "base64": [message({"type": "image", "data": "SECRET!", "mimeType": "image/png"})],
        "no-mime": [message({"type": "image", "data": "aaaa"})],
        "relative-link": [message({"type": "resource_link", "uri": "SECRET", "name": "x"})],
        "unnamed-link": [message({"type": "resource_link", "uri": "x://y", "name": ""})],
        "negative-size": [
            message({"type": "resource_link", "uri": "x://y", "name": "x", "size": -1})
        ],
        "resource-without-uri": [message({"type": "resource", "resource": {"text": "SECRET"}})],
        "resource-both": [
            message({"type": "resource", "resource": {"uri": "x://y", "text": "", "blob": ""}})
        ],
        "annotations": [message({**GOOD, "annotations": "SECRET"})],
        "second": [message(GOOD), message(GOOD, "SECRET")],
        "number": [5],
    }[what])


@server.prompt
def ends(how: str):
    if how == "error":
        raise Error(7001, "not today", data={"retry": False})
    if how == "returned-error":
        return Error(7001, "not today")
    if how == "raise":
        raise RuntimeError("SECRET")
    if how == "exit":
        raise SystemExit("SECRET")
    if how == "cancelled":
        raise asyncio.CancelledError("SECRET")
    if how == "nothing":
        return None
    if how == "read":
        return Result.resource_read([{"text": "SECRET"}])
    if how == "completion":
        return Result.completion([])
    if how == "text":
        return Result.text("SECRET")
    if how == "structured":
        return Result.structured({"a": "SECRET"})
    if how == "content":
        return Result.content([{"type": "text", "text": "SECRET"}])
    if how == "failure":
        return Result.error("SECRET")
    if how == "number":
        return 5
    if how == "numbers":
        return [5]
    if how == "object":
        return object()
    if how == "surrogate":
        return "\\ud800"
    if how == "input":
        return Result.input_required(request_state="state")


@server.prompt
def required(first: str, second: str, third: str = "3") -> str:
    return first + second + third


@server.prompt
def seen(context: Context) -> str:
    return f"{context.method} {current_context().request_id == context.request_id}"


@server.prompt
async def waits(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return "done"
"""


def user(text: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": {"type": "text", "text": text}}]


def refused(
    session: Any, name: str, arguments: dict[str, Any] | None = None
) -> tuple[int, str, Any]:
    params = {"name": name} if arguments is None else {"name": name, "arguments": arguments}
    refusal = session.refusal("prompts/get", params)
    return refusal.code, refusal.message, refusal.data


def declare(members: dict[str, Any]) -> None:
    def render(self: Prompt, arguments: dict[str, str], context: Any) -> str:
        return ""

    type("P", (Prompt,), {"name": "p", "render": render, **members})


def test_a_prompt_is_listed_and_rendered(serve: Any) -> None:
    session = serve(SOURCE)
    listed = {p["name"]: p for p in session.ask("prompts/list")["prompts"]}
    assert list(listed) == sorted(listed)
    assert listed["summarise"] == {
        "name": "summarise",
        "description": "Summarise a text.",
        "arguments": [
            {"name": "text", "required": True},
            {"name": "tone", "description": "How.", "title": "Tone"},
        ],
    }
    assert listed["seen"] == {"name": "seen"}
    result = session.ask("prompts/get", {"name": "summarise", "arguments": {"text": "t"}})
    assert result["messages"] == user("[('text', 't')]")
    assert result["description"] == "Summarise a text."


def test_prompts_carry_no_cache_hints_but_their_list_does(serve: Any) -> None:
    session = serve(SOURCE)
    page = session.ask("prompts/list")
    assert (page["ttlMs"], page["cacheScope"]) == (1_000, "public")
    assert not {"ttlMs", "cacheScope"} & set(session.ask("prompts/get", {"name": "seen"}))


@pytest.mark.parametrize(
    "members",
    [
        {"arguments": [{"name": "a"}, {"name": "a"}]},
        {"arguments": [{"name": "a", "required": 1}]},
        {"arguments": [{"name": "a", "type": "string"}]},
        {"arguments": [{"name": ""}]},
        {"arguments": [{}]},
        {"arguments": ["a"]},
        {"arguments": "a"},
        {"arguments": [{"name": "a", "title": 1}]},
        {"arguments": [{"name": "a"}], "complete": {"b": ["x"]}},
        {"complete": {"b": ["x"]}},
        {"name": ""},
        {"name": 5},
        {"icons": [{}]},
        {"metadata": {"a b": 1}},
    ],
)
def test_a_wrong_declaration_is_refused_with_its_own_text(members: dict[str, Any]) -> None:
    with pytest.raises(DeclarationError) as refused:
        type(
            "P", (Prompt,), {"name": "p", "render": lambda self, arguments, context: "", **members}
        )
    assert "prompt 'P'" in str(refused.value) or "prompt 'p'" in str(refused.value)


def test_each_wrong_declaration_says_something_else() -> None:
    texts = set()
    declarations: list[dict[str, Any]] = [
        {"arguments": [{"name": "a"}, {"name": "a"}]},
        {"arguments": [{"name": "a", "required": 1}]},
        {"arguments": [{"name": "a", "type": "string"}]},
        {"arguments": [{"name": "a"}], "complete": {"b": ["x"]}},
        {"arguments": [{"name": ""}]},
    ]
    for members in declarations:
        with pytest.raises(DeclarationError) as refused:
            declare(members)
        texts.add(refused.value.reason)
    assert len(texts) == len(declarations)


def test_a_prompt_without_render_is_refused() -> None:
    with pytest.raises(DeclarationError, match="render"):
        type("P", (Prompt,), {"name": "p"})


def test_names_of_prompts_are_unique() -> None:
    server = Server("x")

    @server.prompt
    def p() -> str:
        return ""

    with pytest.raises(ConfigurationError, match='"p"'):

        @server.prompt(name="p")
        def q() -> str:
            return ""


@pytest.mark.parametrize(
    ("arguments", "missing"),
    [
        (None, ["first", "second"]),
        ({}, ["first", "second"]),
        ({"second": "x"}, ["first"]),
        ({"third": "x", "first": "x"}, ["second"]),
        ({"FIRST": "x", "second": "x"}, ["first"]),
    ],
)
def test_missing_arguments_are_an_error_that_names_them(
    serve: Any, arguments: dict[str, str] | None, missing: list[str]
) -> None:
    session = serve(SOURCE)
    assert refused(session, "required", arguments) == (
        -32602,
        "Missing required prompt arguments",
        {"missing": missing},
    )


def test_an_empty_string_is_an_argument(serve: Any) -> None:
    assert serve(SOURCE).prompt("required", {"first": "", "second": ""}) == user("3")


@pytest.mark.parametrize("value", [1, 1.5, None, True, ["a"], {"a": "b"}])
def test_arguments_are_strings(serve: Any, value: Any) -> None:
    session = serve(SOURCE)
    for arguments in ({"text": value}, {"text": "t", "more": value}):
        assert refused(session, "summarise", arguments)[:2] == (
            -32602,
            "prompts/get arguments must map strings to strings",
        )


def test_extra_arguments_pass_through(serve: Any) -> None:
    messages = serve(SOURCE).prompt("summarise", {"text": "t", "extra": "e"})
    assert messages == user("[('extra', 'e'), ('text', 't')]")


def test_an_unknown_prompt_is_named(serve: Any) -> None:
    session = serve(SOURCE)
    assert refused(session, "x") == (-32602, "Unknown prompt: x", None)
    assert refused(session, "x" * 10_000)[1].startswith("Unknown prompt: xxx")
    assert len(refused(session, "x" * 10_000)[1]) < 400
    assert refused(session, "sumarise") == (
        -32602,
        "Unknown prompt: sumarise",
        {"didYouMean": "summarise"},
    )


@pytest.mark.parametrize(
    "what",
    [
        "system",
        "no-role",
        "no-content",
        "extra",
        "content-string",
        "content-list",
        "content-extra",
        "text-number",
        "no-type",
        "unknown-type",
        "tool-use",
        "base64",
        "no-mime",
        "relative-link",
        "unnamed-link",
        "negative-size",
        "resource-without-uri",
        "resource-both",
        "annotations",
        "second",
        "number",
    ],
)
def test_messages_that_break_the_rules_are_never_sent(serve: Any, what: str) -> None:
    code, message, data = refused(serve(SOURCE), "bad", {"what": what})
    assert code == -32603
    assert message.startswith("Prompt ")
    assert "SECRET" not in f"{message}{data}"


@pytest.mark.parametrize(
    ("what", "content"),
    [
        ("image", {"type": "image", "data": "iVBORw==", "mimeType": "image/png"}),
        ("audio", {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"}),
        (
            "resource",
            {
                "type": "resource",
                "resource": {"uri": "x://y", "mimeType": "text/plain", "text": "inside"},
            },
        ),
        ("blob", {"type": "resource", "resource": {"uri": "x://y", "blob": "Yg=="}}),
        ("link", {"type": "resource_link", "uri": "x://y", "name": "y", "title": "Y", "size": 3}),
        (
            "annotated",
            {
                "type": "text",
                "text": "t",
                "annotations": {"audience": ["user"]},
                "_meta": {"com.example/k": 1},
            },
        ),
    ],
)
def test_every_kind_of_content_is_sent(serve: Any, what: str, content: dict[str, Any]) -> None:
    messages = serve(SOURCE).prompt("form", {"what": what})
    assert messages == [{"role": "user", "content": content}]


@pytest.mark.parametrize(
    ("what", "messages"),
    [
        ("string", user("text")),
        ("empty", user("")),
        ("message", [{"role": "assistant", "content": {"type": "text", "text": "answer"}}]),
        ("dict", [{"role": "assistant", "content": {"type": "text", "text": "answer"}}]),
        (
            "list",
            [
                *user("one"),
                {"role": "assistant", "content": {"type": "text", "text": "two"}},
                *user("three"),
            ],
        ),
        ("tuple", user("one") + user("two")),
        ("result", user("x")),
    ],
)
def test_a_string_a_message_and_a_list_are_messages(
    serve: Any, what: str, messages: list[dict[str, Any]]
) -> None:
    assert serve(SOURCE).prompt("form", {"what": what}) == messages


def test_a_result_describes_itself(serve: Any) -> None:
    result = serve(SOURCE).ask("prompts/get", {"name": "form", "arguments": {"what": "result"}})
    assert result["description"] == "anew"


@pytest.mark.parametrize(
    ("how", "code", "message"),
    [
        ("error", 7001, "not today"),
        ("returned-error", 7001, "not today"),
        ("raise", -32603, "Prompt raised an exception"),
        ("nothing", -32603, "Prompt returned an invalid result"),
        ("read", -32603, "Prompt returned the wrong result kind"),
        ("completion", -32603, "Prompt returned the wrong result kind"),
        ("text", -32603, "Prompt returned the wrong result kind"),
        ("structured", -32603, "Prompt returned the wrong result kind"),
        ("content", -32603, "Prompt returned the wrong result kind"),
        ("failure", -32603, "Prompt rendering failed"),
    ],
)
def test_every_outcome_of_a_render_has_its_answer(
    serve: Any, how: str, code: int, message: str
) -> None:
    session = serve(SOURCE)
    assert refused(session, "ends", {"how": how})[:2] == (code, message)
    assert session.prompt("seen")


@pytest.mark.parametrize("how", ["exit", "cancelled", "number", "numbers", "object", "surrogate"])
def test_a_render_that_ends_badly_is_an_internal_error(serve: Any, how: str) -> None:
    session = serve(SOURCE)
    code, message, data = refused(session, "ends", {"how": how})
    assert code == -32603
    assert message.startswith("Prompt ")
    assert "SECRET" not in f"{message}{data}"
    assert session.prompt("seen")


def test_a_failed_render_is_found_in_the_log(serve: Any) -> None:
    session = serve(SOURCE)
    code, _, data = refused(session, "ends", {"how": "raise"})
    assert code == -32603
    assert "SECRET" in session.wait_for_log(data["errorId"])


def test_a_prompt_may_ask_for_input(serve: Any) -> None:
    params = {"name": "ends", "arguments": {"how": "input"}}
    result = serve(SOURCE).ask("prompts/get", params)
    assert (result["resultType"], result["requestState"]) == ("input_required", "state")


DEFAULTS = {
    "n": "0",
    "f": "0.0",
    "b": "False",
    "lit": "'x'",
    "colour": "<Colour.RED: 'red'>",
    "day": "None",
    "moment": "None",
    "span": "None",
    "money": "None",
    "id": "None",
    "maybe": "None",
    "either": "0",
    "small": "0",
    "text": "''",
}


@pytest.mark.parametrize(
    ("argument", "text", "shown"),
    [
        ("n", "-12", "-12"),
        ("n", "9" * 64, "9" * 64),
        ("f", "1.5e3", "1500.0"),
        ("f", "2", "2.0"),
        ("b", "true", "True"),
        ("b", "False", "False"),
        ("lit", "y", "'y'"),
        ("lit", "3", "3"),
        ("colour", "dark blue", "<Colour.DARK_BLUE: 'dark blue'>"),
        ("day", "2026-07-28", "datetime.date(2026, 7, 28)"),
        ("moment", "2026-07-28T09:00:00", "datetime.datetime(2026, 7, 28, 9, 0)"),
        ("money", "1.10", "Decimal('1.10')"),
        (
            "id",
            "12345678-1234-5678-1234-567812345678",
            "UUID('12345678-1234-5678-1234-567812345678')",
        ),
        ("maybe", "5", "5"),
        ("either", "5", "5"),
        ("either", "five", "'five'"),
        ("small", "10", "10"),
        ("text", "5", "'5'"),
        ("text", "null", "'null'"),
        ("text", "[1]", "'[1]'"),
    ],
)
def test_arguments_become_their_types(serve: Any, argument: str, text: str, shown: str) -> None:
    (message,) = serve(SOURCE).prompt("typed", {argument: text})
    expected = DEFAULTS | {argument: shown}
    assert message["content"]["text"] == f"[{', '.join(expected.values())}]"


@pytest.mark.parametrize(
    ("argument", "text", "expected"),
    [
        ("n", "many", "integer"),
        ("n", "", "integer"),
        ("n", "1.0", "integer"),
        ("n", " 1", "integer"),
        ("n", "1_000", "integer"),
        ("n", "٣", "integer"),
        ("n", "9" * 65, "integer"),
        ("n", "0x10", "integer"),
        ("f", "nan", "number"),
        ("f", "inf", "number"),
        ("f", "1e999", "number"),
        ("f", "1,5", "number"),
        ("b", "1", "true or false"),
        ("b", "yes", "true or false"),
        ("lit", "z", "x, y, 3"),
        ("colour", "RED", "red, dark blue"),
        ("day", "28.7.2026", "date"),
        ("day", "2026-02-30", "date"),
        ("moment", "yesterday", "date"),
        ("money", "NaN", "decimal"),
        ("id", "123", "UUID"),
        ("small", "11", "10"),
    ],
)
def test_an_argument_of_the_wrong_type_is_refused_with_what_was_expected(
    serve: Any, argument: str, text: str, expected: str
) -> None:
    code, message, _ = refused(serve(SOURCE), "typed", {argument: text})
    assert code == -32602
    assert argument in message
    assert expected in message
    if len(text) > 2:
        assert text not in message.replace(expected, "")


def test_a_prompt_may_take_the_context(serve: Any) -> None:
    assert serve(SOURCE).prompt("seen") == user("prompts/get True")


def test_prompts_run_side_by_side(serve: Any) -> None:
    import time
    from concurrent.futures import ThreadPoolExecutor

    session = serve(SOURCE)
    begun = time.monotonic()
    with ThreadPoolExecutor(20) as pool:
        waits = [pool.submit(session.prompt, "waits", {"seconds": "0.5"}) for _ in range(20)]
        assert [wait.result() for wait in waits] == [user("done")] * 20
    assert time.monotonic() - begun < 8, "one after the other it takes 10 seconds"


def test_messages_are_checked_when_they_are_made() -> None:
    with pytest.raises(ValueError, match="role"):
        Message("system", "x")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="content"):
        Message.user(["x"])
