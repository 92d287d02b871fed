"""Declarations of actor tools: every wrong one is refused at import, in the order of the checks."""

# ruff: noqa: E501 - a table reads best with a case a line

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import snodo
from driver import request
from snodo import ActorName, DeclarationError, Server
from snodo.middleware import retry

PRELUDE = """\
from typing import Any, Final
from snodo import ActorName, Server
from snodo.actors import actor_call, actor_cast
server = Server("test")
TARGET: Final = "counter"
NAMED: Final[ActorName] = ActorName("counter")
loose = "counter"
NOTHING: dict[str, Any] = {"type": "object"}
def value(count): return {"value": count}
def call(name, **options): ...
async def later(args): return args
class Later:
    async def __call__(self, args): return args
opts = {"target": "counter", "input_schema": NOTHING, "message": 1, "encode_reply": value}
"""

Run = Callable[[str], Server]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs declarations from a file, so that they have a source, and gives their server."""
    path = tmp_path / "declares.py"

    def run(source: str) -> Server:
        text = PRELUDE + textwrap.dedent(source)
        path.write_text(text)
        module: dict[str, Any] = {"__name__": "declares"}
        exec(compile(text, str(path), "exec"), module)
        server: Server = module["server"]
        return server

    return run


CALL = 'actor_call(server, "n", target="counter", input_schema=NOTHING, message=1, encode_reply=value{})'
CAST = 'actor_cast(server, "n", target="counter", input_schema=NOTHING, message=1{})'


def refused(run: Run, source: str) -> DeclarationError:
    with pytest.raises(DeclarationError) as error:
        run(source)
    return error.value


@pytest.mark.parametrize(
    "source",
    [
        CALL.format(""),
        CAST.format(""),
        CALL.format(', description=None, output_schema={"type": "object"}, timeout_ms=1'),
        CALL.format(", timeout_ms=60_000"),
        CALL.replace('"counter"', "TARGET"),
        CALL.replace('"counter"', "NAMED"),
        CALL.replace('"counter"', 'ActorName("counter")'),
        'server.actor_call(\n    "n",\n    target="counter",\n    input_schema=NOTHING,\n'
        "    message=1,\n    encode_reply=value,\n)",
        '@server.actor_cast("n", target="counter", input_schema=NOTHING)\ndef n(args): ...',
        '(\n    server\n    .actor_cast("n", target="counter", input_schema=NOTHING, message=1)\n)',
    ],
)
def test_what_is_written_out_is_declared(run: Run, source: str) -> None:
    server = run(source.format("") if "{}" in source else source)
    (tool,) = listed(server)
    assert tool["name"] == "n"


@pytest.mark.parametrize("name", ['""', "7", "None", "loose", '"a" + "b"', 'f"{loose}"'])
def test_a_name_is_a_literal(run: Run, name: str) -> None:
    error = refused(run, CALL.format("").replace('"n"', name))
    assert error.reason == "Actor tool names must be non-empty string literals"
    assert error.where.endswith(f"declares.py:{PRELUDE.count(chr(10)) + 1}")


@pytest.mark.parametrize(
    ("source", "form", "told"),
    [
        (CALL.format("").replace(", encode_reply=value", ""), "call", "missing: encode_reply"),
        (CAST.format("").replace(", message=1", ""), "cast", "missing: message"),
        (CALL.format(", icons=[]"), "call", "unknown: icons"),
        (CALL.format(", title='x', annotations={}"), "call", "unknown: title, annotations"),
        (CAST.format(", encode_reply=value"), "cast", "unknown: encode_reply"),
        (CAST.format(", timeout_ms=5"), "cast", "unknown: timeout_ms"),
        (CAST.format(", output_schema={}"), "cast", "unknown: output_schema"),
        ('actor_call(server, "n", **opts)', "call", None),
        ('actor_call(server, "n", **{}, **opts)', "call", None),
        ('server.actor_call("n", **opts)', "call", None),
    ],
)  # fmt: skip
def test_options_are_known_complete_and_written_out(
    run: Run, source: str, form: str, told: str | None
) -> None:
    error = refused(run, source)
    whole = f'Actor {form} "n" has missing or unknown options'
    assert error.reason == (whole if told is None else f"{whole}; {told}")


@pytest.mark.parametrize(
    "timeout", ["0", "-1", "5000.0", "True", "None", "'1'", "int('1')", "2 * 3"]
)
def test_a_timeout_is_a_positive_integer_literal(run: Run, timeout: str) -> None:
    error = refused(run, CALL.format(f", timeout_ms={timeout}"))
    assert error.reason == "timeout_ms must be a positive integer"
    assert error.path == "timeout_ms"


def test_a_timeout_is_no_constant_either(run: Run) -> None:
    error = refused(run, "PATIENCE: Final = 100\n" + CALL.format(", timeout_ms=PATIENCE"))
    assert error.reason == "timeout_ms must be a positive integer"


@pytest.mark.parametrize(
    "target", ["None", "value", "lambda: 'counter'", '""', "loose", "7", 'loose + "x"', "ActorName(loose)"]
)  # fmt: skip
def test_a_target_is_fixed(run: Run, target: str) -> None:
    error = refused(run, CALL.format("").replace('"counter"', target))
    assert error.reason == "target must be a fixed actor name"
    assert error.path == "target"


@pytest.mark.parametrize(
    "source",
    [
        "def make(TARGET):\n    {}\nmake('other')",
        "TARGET = 'other'\n{}",
        "TARGET = TARGET\n{}",
        "for TARGET in ('other',):\n    {}",
        "match 'other':\n    case TARGET:\n        {}",
        "import os.path as TARGET\nTARGET = 'counter'\n{}",
        "def make():\n    TARGET = 'counter'\n    {}\nmake()",
        "globals()['TARGET'] = 'other'\n{}",
    ],
)
def test_a_constant_is_the_same_everywhere(run: Run, source: str) -> None:
    error = refused(run, source.format(CALL.format("").replace('"counter"', "TARGET")))
    assert error.reason == "target must be a fixed actor name"


def test_what_is_written_is_what_is_given(run: Run) -> None:
    other = "class Names:\n    def ActorName(self, name): return name + loose\n"
    call = CALL.format("").replace('"counter"', 'Names().ActorName("counter")')
    assert refused(run, other + call).reason == "target must be a fixed actor name"


@pytest.mark.parametrize(
    ("first", "second"),
    [("counter-get", "counter_get"), ("n", "n"), ("a.b", "aB"), ("one two", "One--Two")],
)
def test_names_that_fold_into_one_clash(run: Run, first: str, second: str) -> None:
    one, other = (CAST.format("").replace('"n"', f'"{name}"') for name in (first, second))
    error = refused(run, f"{one}\n{other}")
    assert error.reason == f'Actor tool "{second}" duplicates an earlier declaration'
    assert len(listed(run(f"{one}\n" + other.replace(f'"{second}"', '"else"')))) == 2


def test_the_name_of_another_tool_is_taken(run: Run) -> None:
    with pytest.raises(snodo.ConfigurationError, match="already registered"):
        run("@server.tool\ndef n(): ...\n" + CAST.format(""))


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ('{"type": "string"}', "exactly 'object'"),
        ("[]", "must be a JSON Schema object"),
        ('{"type": "object", "properties": {"a": {"type": "nonsense"}}}', ""),
        ('{"type": "object", "default": {1}}', "is not JSON"),
    ],
)
def test_a_schema_passes_the_ordinary_checks_first(run: Run, schema: str, reason: str) -> None:
    error = refused(run, CALL.format("").replace("NOTHING", schema))
    assert error.path.startswith("input_schema")
    assert reason in error.reason
    assert error.keyword is None


KEYWORDS = {
    "$ref": "#/properties/a",
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "format": "uri",
    "oneOf": [True],
    "anyOf": [True],
    "allOf": [True],
    "not": {"type": "null"},
    "examples": [],
    "patternProperties": {},
    "deprecated": True,
    "$defs": {},
    "prefixItems": [True],
}
PLACES: dict[str, Any] = {
    "[]": lambda keyword: {"type": "object", "properties": {"a": {}}, **keyword},
    '["properties","a"]': lambda keyword: {"type": "object", "properties": {"a": keyword}},
    '["properties","a","items"]': lambda keyword: {
        "type": "object",
        "properties": {"a": {"items": keyword}},
    },
    '["additionalProperties"]': lambda keyword: {
        "type": "object",
        "properties": {"a": {}},
        "additionalProperties": keyword,
    },
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("keyword", KEYWORDS)
def test_a_keyword_that_nobody_would_enforce_is_refused(run: Run, keyword: str, place: str) -> None:
    schema = PLACES[place]({keyword: KEYWORDS[keyword]})
    error = refused(run, CALL.format("").replace("NOTHING", repr(schema)))
    said = f'Actor tool input schema uses unsupported keyword "{keyword}" at {place}'
    assert error.reason == said
    assert error.keyword == keyword
    assert error.path == ".".join(["input_schema", *json.loads(place)])


def test_all_keywords_that_are_enforced_are_taken(run: Run) -> None:
    schema = {
        "type": "object",
        "title": "All",
        "description": "of them",
        "default": {},
        "required": ["a"],
        "minProperties": 1,
        "maxProperties": 9,
        "additionalProperties": False,
        "properties": {
            "a": {"type": "string", "minLength": 1, "maxLength": 3, "pattern": "^a", "x-mcp-header": "A"},
            "b": {"type": "array", "items": True, "minItems": 1, "maxItems": 2, "uniqueItems": True},
            "c": {"type": "number", "minimum": 0, "maximum": 9, "exclusiveMinimum": -1,
                  "exclusiveMaximum": 10},
            "d": {"const": 1},
            "e": {"enum": [1, 2]},
            "f": True,
        },
    }  # fmt: skip
    (tool,) = listed(run(CAST.format("").replace("NOTHING", repr(schema))))
    assert tool["inputSchema"] == schema


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        ({"properties": {"a": {"items": []}}}, ["properties", "a", "items"]),
        ({"properties": []}, ["properties"]),
        ({"additionalProperties": "x"}, ["additionalProperties"]),
        ({"properties": {"a": None}}, ["properties", "a"]),
    ],
)
def test_what_is_no_schema_is_refused(run: Run, schema: dict[str, Any], path: list[str]) -> None:
    whole = {"type": "object", **schema}
    error = refused(run, CAST.format("").replace("NOTHING", repr(whole)))
    # The ordinary check, which comes first, knows it too.
    assert error.path.startswith("input_schema")
    from snodo import _snodo

    found = _snodo.unenforced_keyword(json.dumps(whole).encode())
    assert found == ("invalid schema", path)


def test_an_output_schema_passes_the_ordinary_check(run: Run) -> None:
    error = refused(run, CALL.format(", output_schema=3"))
    assert error.path == "output_schema"


@pytest.mark.parametrize(
    "builder",
    [
        "lambda: 1",
        "lambda a, b, c: 1",
        "lambda *a: 1",
        "lambda a, **b: 1",
        "lambda a, *, b: 1",
        "lambda a, b=1: 1",
        "later",
        "Later()",
        "lambda a: (yield a)",
        "getattr",
    ],
)
def test_a_builder_takes_arguments_and_perhaps_the_context(run: Run, builder: str) -> None:
    error = refused(run, CALL.format("").replace("message=1", f"message={builder}"))
    assert error.path == "message"


def test_checks_come_in_order(run: Run) -> None:
    wrongs = [
        ("name", CALL.format(", icons=1, timeout_ms=0").replace('"n"', '""')),
        ("options", CALL.format(", icons=1, timeout_ms=0")),
        ("timeout_ms", CALL.format(", timeout_ms=0").replace('"counter"', "None")),
        ("target", CALL.format("").replace('"counter"', "None").replace("NOTHING", "[]")),
        ("name", CAST.format("") + "\n" + CALL.format("").replace("NOTHING", "[]")),
        ("input_schema", CALL.format(", output_schema=3").replace("NOTHING", "[]")),
        ("input_schema", CALL.format(", output_schema=3").replace("NOTHING", '{"type": "object", "examples": []}')),
        ("output_schema", CALL.format(", output_schema=3").replace("message=1", "message=later")),
    ]  # fmt: skip
    for part, source in wrongs:
        assert refused(run, source).path == part


def test_without_a_source_what_can_be_seen_is_checked() -> None:
    module: dict[str, Any] = {}
    exec(PRELUDE + 'actor_call(server, loose, **opts)\nserver.actor_cast("m", target=loose, '
         "input_schema=NOTHING, message=1)", module)  # fmt: skip
    assert [tool["name"] for tool in listed(module["server"])] == ["counter", "m"]
    with pytest.raises(DeclarationError, match="timeout_ms must be a positive integer"):
        exec(PRELUDE + 'actor_call(server, "n", **opts, timeout_ms=True)', {})


def test_only_a_server_takes_declarations() -> None:
    nobody: Any = object()
    with pytest.raises(snodo.ConfigurationError, match="takes the server first"):
        snodo.actor_cast(nobody, "n", target="counter", input_schema={}, message=1)


def test_a_later_change_of_the_schema_changes_nothing(run: Run) -> None:
    properties: dict[str, Any] = {"by": {"type": "integer"}}
    server = Server("frozen")
    snodo.actor_cast(
        server,
        "n",
        target="nobody at all",
        input_schema={"type": "object", "properties": properties},
        message=1,
    )
    properties["by"]["type"] = "string"
    (tool,) = listed(server)
    assert tool["inputSchema"]["properties"] == {"by": {"type": "integer"}}


def test_a_decorator_gives_the_function_back() -> None:
    server = Server("decorator")

    def build(args: dict[str, Any]) -> Any:
        return args

    decorate = server.actor_cast("n", target="nobody", input_schema={"type": "object"})
    assert decorate(build) is build


def test_the_handler_alone_checks_arguments_too() -> None:
    handler = snodo.actor_call(
        Server("direct"),
        "n",
        target="nobody at all",
        input_schema={"type": "object", "properties": {"by": {"type": "integer"}}},
        message=lambda args: sent.append(args),
        encode_reply=lambda count: {"value": count},
    )
    sent: list[Any] = []
    wrong = "Invalid tool arguments: value is not one of the declared JSON types"
    no_json = "Tool arguments must be JSON values with string keys"
    for arguments, text in [
        ({"by": "x"}, wrong),
        ({1: 2}, no_json),
        ({"by": {1}}, no_json),
        ({"by": "\ud800"}, no_json),
        ({"by": float("nan")}, no_json),
        ([], no_json),
    ]:
        result = asyncio.run(handler(arguments))
        assert (result.kind, result.value) == ("error", text)
        assert sent == []
    assert asyncio.run(handler({"by": 1})).value == "Actor target unavailable"


def test_a_timeout_may_be_longer_than_any_wait() -> None:
    server = Server("patient")

    class Echo(snodo.Actor):
        async def handle_call(self, message: Any) -> Any:
            return message

    patient = server.actor_call(
        "patient",
        target="patient",
        input_schema={"type": "object"},
        message=1,
        encode_reply=lambda reply: {"reply": reply},
        timeout_ms=100_000_000_000_000_000_000_000,
    )

    async def main() -> None:
        async with Echo.start(name="patient"):
            assert (await patient({})).value == {"reply": 1}

    asyncio.run(main())


def test_the_handler_alone_gives_what_a_client_gets() -> None:
    server = Server("direct")

    class Counter(snodo.Actor):
        async def handle_call(self, message: Any) -> Any:
            return message

        async def handle_cast(self, message: Any) -> None: ...

    def build(args: dict[str, Any], context: Any) -> Any:
        if args.get("refuse"):
            raise snodo.Error.authorization(-32003, "Peer not allowed")
        return (args["by"], context)

    call = server.actor_call(
        "call",
        target="direct counter",
        input_schema={"type": "object"},
        message=build,
        encode_reply=lambda reply: {"reply": list(reply)},
    )
    cast = server.actor_cast(
        "cast", target="direct counter", input_schema={"type": "object"}, message="poke"
    )

    async def main() -> None:
        async with Counter.start(name="direct counter"):
            assert (await call({"by": 1}, "context")).value == {"reply": [1, "context"]}
            assert (await cast({})).value == {"sent": True}
            with pytest.raises(snodo.Error) as refused:
                await call({"refuse": True})
            assert refused.value == snodo.Error.authorization(-32003, "Peer not allowed")

    asyncio.run(main())


def test_an_actor_refuses_by_its_reply_and_keeps_what_it_has() -> None:
    server = Server("stock")

    class Stock(snodo.ThreadActor):
        left = 5

        def handle_call(self, n: int) -> int | None:
            if n > self.left:
                return None
            self.left -= n
            return self.left

    server.actor_call(
        "hold",
        target="stock to hold",
        input_schema={"type": "object", "properties": {"n": {"type": "integer"}}},
        message=lambda arguments: arguments["n"],
        encode_reply=lambda left: {"refused": "Sold out"} if left is None else {"left": left},
    )

    @server.tool
    async def take(n: int) -> int:
        left: int | None = await snodo.ActorName("stock to hold").ask(n)
        if left is None:
            raise snodo.ToolError("Sold out")
        return left

    def called(tool: str, n: int) -> dict[str, Any]:
        answer = server.handle(request("tools/call", {"name": tool, "arguments": {"n": n}}))
        assert answer is not None
        result: dict[str, Any] = answer["result"]
        return result

    with Stock.start(name="stock to hold"):
        assert called("hold", 2)["structuredContent"] == {"left": 3}
        assert called("hold", 9)["structuredContent"] == {"refused": "Sold out"}
        refused = called("take", 9)
        assert (refused["isError"], refused["content"][0]["text"]) == (True, "Sold out")
        assert called("take", 2)["structuredContent"] == 1


def test_a_failure_is_raised_through_the_layers_as_of_any_function() -> None:
    reasons: list[str] = []
    built: list[int] = []

    def heard(context: Any, arguments: Any, call_next: Any) -> Any:
        return call_next()

    async def told(context: Any, arguments: Any, call_next: Any) -> Any:
        try:
            return await call_next()
        except snodo.ActorError as error:
            reasons.append(error.reason)
            raise

    again = retry(3, on=snodo.ActorError, backoff=0)
    server = Server("layers", middleware=[heard, told, again])
    handler = server.actor_cast(
        "cast", target="nobody at all", input_schema={"type": "object"}, message=built.append
    )
    text = "Actor target unavailable"
    message = request("tools/call", {"name": "cast", "arguments": {}})
    answer = server.handle(message)
    assert answer is not None
    assert answer["result"]["isError"] is True
    assert answer["result"]["content"] == [{"type": "text", "text": text}]
    assert (len(built), reasons) == (3, ["unavailable"])
    # No layer is around what whoever declares was given.
    assert asyncio.run(handler({})).value == text
    assert len(built) == 4


def test_names_are_strings_that_are_not_empty() -> None:
    for wrong in ("", None, 3):
        with pytest.raises(snodo.ConfigurationError):
            ActorName(wrong)  # type: ignore[arg-type]
    assert ActorName("a") == ActorName("a") != ActorName("b")
    assert len({ActorName("a"), ActorName("a")}) == 1
    with pytest.raises(AttributeError):
        ActorName("a").name = "b"


# --- snodo check ---------------------------------------------------------------------------------


def check(tmp_path: Path, source: str) -> tuple[int, list[str]]:
    path = tmp_path / "app.py"
    path.write_text(PRELUDE + textwrap.dedent(source))
    done = subprocess.run(
        [sys.executable, "-m", "snodo", "check", path.name],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=30,
    )
    return done.returncode, done.stdout.splitlines()


def test_check_refuses_what_is_not_written_out_though_it_is_not_run(tmp_path: Path) -> None:
    status, told = check(
        tmp_path,
        """\
        from snodo.actors import actor_call as ask
        def make(name, patience):
            ask(server, "n", **opts)
            server.actor_cast(name, target=loose, input_schema=NOTHING, message=1)
            ask(server, "m", target=TARGET, input_schema=NOTHING, message=1, encode_reply=value,
                timeout_ms=patience)
            ask(server, "o", target=TARGET, input_schema=NOTHING, message=1, encode_reply=value)
        def shadowed(NAMED):
            ask(server, "p", target=NAMED, input_schema=NOTHING, message=1, encode_reply=value)
        """,
    )
    line = PRELUDE.count("\n") + 3
    assert status == 1
    assert [one.partition(" → ")[0] for one in told] == [
        f"app.py:{line}: tool 'n': options: Actor call \"n\" has missing or unknown options",
        f"app.py:{line + 1}: tool '?': name: Actor tool names must be non-empty string literals",
        f"app.py:{line + 1}: tool '?': target: target must be a fixed actor name",
        f"app.py:{line + 2}: tool 'm': timeout_ms: timeout_ms must be a positive integer",
        f"app.py:{line + 6}: tool 'p': target: target must be a fixed actor name",
    ]


def test_check_tells_what_was_run_once(tmp_path: Path) -> None:
    status, told = check(tmp_path, 'actor_call(server, "n", **opts)\n')
    assert (status, len(told)) == (1, 1)


def test_check_takes_what_is_written_out(tmp_path: Path) -> None:
    status, told = check(tmp_path, CALL.format(", timeout_ms=100").replace('"counter"', "TARGET"))
    assert status == 0, told


def listed(server: Server) -> list[dict[str, Any]]:
    answer = server.handle(
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/list",
            "params": {
                "_meta": {
                    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    "io.modelcontextprotocol/clientCapabilities": {},
                }
            },
        }
    )
    assert answer is not None
    tools: list[dict[str, Any]] = answer["result"]["tools"]
    return tools


@pytest.mark.parametrize("form", ["call", "cast"])
@pytest.mark.parametrize("rest", ["", '(target="counter", input_schema=NOTHING)'])
def test_a_decorator_without_parentheses_or_name_is_refused(run: Run, form: str, rest: str) -> None:
    error = refused(run, f"@server.actor_{form}{rest}\ndef n(args): ...")
    assert "Actor tool names must be non-empty string literals" in str(error)
    assert f'@server.actor_{form}("name", target=' in str(error)
