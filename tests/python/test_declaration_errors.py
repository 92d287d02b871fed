"""Every wrong declaration is a DeclarationError at import: file and line, tool, dotted path, advice."""

# ruff: noqa: E501 - a table reads best with a case a line

from __future__ import annotations

import runpy
import textwrap
from pathlib import Path
from typing import Any

import pytest

import snodo
from snodo import DeclarationError, Server

PRELUDE = """\
import dataclasses, datetime, decimal, enum, functools, re, typing, uuid
from typing import Annotated, Any, Literal, NamedTuple, TypedDict
import snodo
from snodo import Arg, Context, Depends, Server
from snodo.middleware import timeout
server = Server("test")
T = typing.TypeVar("T")
class Flags(enum.Flag):
    A = 1
class Empty(enum.Enum):
    pass
class Odd(enum.Enum):
    A = (1, 2)
class Opaque:
    pass
class Inner(TypedDict):
    x: Opaque
@dataclasses.dataclass
class Outer:
    inner: list[Inner]
class Words(str):
    pass
def layer(context, arguments, call_next): ...
def optional(context, arguments, call_next, options): ...
def needs(a: int): ...
def positional(context: Context, /): ...
def first(b: "Annotated[int, Depends(second)]"): ...
def second(a: "Annotated[int, Depends(first)]"): ...
def itself(a: "Annotated[int, Depends(itself)]"): ...
"""
AROUND = '@server.tool(input_schema={"type": "object", "properties": {"a": %s}})  # LINE\n'
RAW = "def f(arguments, context): ..."

# One line each: id, the component's name, the path, words of the reason, the source.
# "LINE" marks the line the error must name.
CASES: list[tuple[str, str, str, str, str]] = [
    ("empty name", "f", "name", "empty", '@server.tool(name="")  # LINE\ndef f(): ...'),
    ("name no string", "f", "name", "must be a string", "@server.tool(name=7)  # LINE\ndef f(): ..."),
    ("name surrogate", "\\ud800", "name", "surrogate",
     '@server.tool(name="\\ud800")  # LINE\ndef f(): ...'),
    ("lambda", "<lambda>", "name", "lambda", "server.tool(lambda: 1)  # LINE"),
    ("positional name", "str", "function", "cannot be called", '@server.tool("f")  # LINE\ndef f(): ...'),
    ("a class", "Opaque", "function", "is a class", "server.tool(Opaque)  # LINE"),
    ("not callable", "int", "function", "cannot be called", "server.tool(3)  # LINE"),
    ("builtin", "getattr", "signature", "cannot be read", "server.tool(getattr)  # LINE"),
    ("unknown option", "f", "minn", "unknown options", "@server.tool(minn=1)  # LINE\ndef f(): ..."),
    ("title", "f", "title", "string or None", "@server.tool(title=3)  # LINE\ndef f(): ..."),
    ("description", "f", "description", "string or None",
     '@server.tool(description=["x"])  # LINE\ndef f(): ...'),
    ("annotations", "f", "annotations", "must be a dict",
     "@server.tool(annotations=[])  # LINE\ndef f(): ..."),
    ("annotations no JSON", "f", "annotations", "not JSON",
     '@server.tool(annotations={"x": object()})  # LINE\ndef f(): ...'),
    ("icons", "f", "icons", "must be a list", '@server.tool(icons="x")  # LINE\ndef f(): ...'),
    ("icon src", "f", "icons.0", "string src", "@server.tool(icons=[{}])  # LINE\ndef f(): ..."),
    ("icon relative", "f", "icons.0.src", "absolute",
     '@server.tool(icons=[{"src": "a.png"}])  # LINE\ndef f(): ...'),
    ("icon theme", "f", "icons.0.theme", "light or dark",
     '@server.tool(icons=[{"src": "https://a/b", "theme": "blue"}])  # LINE\ndef f(): ...'),
    ("icon sizes", "f", "icons.0.sizes", "must be a list",
     '@server.tool(icons=[{"src": "https://a/b", "sizes": "16"}])  # LINE\ndef f(): ...'),
    ("icon size", "f", "icons.0.sizes", "must be strings",
     '@server.tool(icons=[{"src": "https://a/b", "sizes": [16]}])  # LINE\ndef f(): ...'),
    ("icon type", "f", "icons.0.mimeType", "must be a string",
     '@server.tool(icons=[{"src": "https://a/b", "mimeType": 1}])  # LINE\ndef f(): ...'),
    ("icon no JSON", "f", "icons.0", "JSON values",
     '@server.tool(icons=[{"src": "https://a/b", "x": {1}}])  # LINE\ndef f(): ...'),
    ("metadata", "f", "metadata", "must be a dict", "@server.tool(metadata=[])  # LINE\ndef f(): ..."),
    ("metadata key", "f", "metadata.a b", "invalid entry",
     '@server.tool(metadata={"a b": 1})  # LINE\ndef f(): ...'),
    ("metadata prefix", "f", "metadata.1bad.x/y", "invalid entry",
     '@server.tool(metadata={"1bad.x/y": 1})  # LINE\ndef f(): ...'),
    ("metadata value", "f", "metadata", "invalid entry",
     '@server.tool(metadata={"a": float("nan")})  # LINE\ndef f(): ...'),
    ("timeout zero", "f", "timeout", "positive", "@server.tool(timeout=0)  # LINE\ndef f(): ..."),
    ("timeout bool", "f", "timeout", "positive", "@server.tool(timeout=True)  # LINE\ndef f(): ..."),
    ("timeout text", "f", "timeout", "positive", '@server.tool(timeout="3")  # LINE\ndef f(): ...'),
    ("timeout endless", "f", "timeout", "positive",
     '@server.tool(timeout=float("inf"))  # LINE\ndef f(): ...'),
    ("no hint", "f", "a", "no type hint", "@server.tool  # LINE\ndef f(a): ..."),
    ("var positional", "f", "args", "*args", "@server.tool  # LINE\ndef f(*args: int): ..."),
    ("var keyword", "f", "kw", "**kw", "@server.tool  # LINE\ndef f(**kw: int): ..."),
    ("positional only", "f", "a", "positional-only", "@server.tool  # LINE\ndef f(a: int, /): ..."),
    ("self", "f", "self", "is the instance",
     "class C:\n    @server.tool  # LINE\n    def f(self, a: int): ..."),
    ("two contexts", "f", "d", "second Context",
     "@server.tool  # LINE\ndef f(c: Context, d: Context): ..."),
    ("same argument twice", "f", "b", "more than once",
     '@server.tool  # LINE\ndef f(a: int, b: Annotated[int, Arg(name="a")]): ...'),
    ("undefined name", "f", "a", "cannot be resolved", '@server.tool  # LINE\ndef f(a: "Nope"): ...'),
    ("broken hint", "f", "a", "cannot be read", '@server.tool  # LINE\ndef f(a: "1 +"): ...'),
    ("bare list", "f", "a", "does not say what it holds", "@server.tool  # LINE\ndef f(a: list): ..."),
    ("bare dict", "f", "a", "does not say what it holds", "@server.tool  # LINE\ndef f(a: dict): ..."),
    ("bare tuple", "f", "a.items", "does not say what it holds",
     "@server.tool  # LINE\ndef f(a: list[tuple]): ..."),
    ("unknown class", "f", "a", "no JSON form", "@server.tool  # LINE\ndef f(a: Opaque): ..."),
    ("nested unknown class", "f", "o.inner.items.x", "no JSON form",
     "@server.tool  # LINE\ndef f(o: Outer): ..."),
    ("callable type", "f", "a", "no JSON form",
     "@server.tool  # LINE\ndef f(a: typing.Callable[[], int]): ..."),
    ("pattern type", "f", "a", "no JSON form", "@server.tool  # LINE\ndef f(a: re.Pattern): ..."),
    ("complex", "f", "a", "no JSON form", "@server.tool  # LINE\ndef f(a: complex): ..."),
    ("type variable", "f", "a", "type variable", "@server.tool  # LINE\ndef f(a: T): ..."),
    ("str subclass", "f", "a", "subclass", "@server.tool  # LINE\ndef f(a: Words): ..."),
    ("int keys", "f", "a.keys", "keys of JSON objects are strings",
     "@server.tool  # LINE\ndef f(a: dict[int, str]): ..."),
    ("bytes literal", "f", "a", "Literal of bytes",
     '@server.tool  # LINE\ndef f(a: Literal[b"x"]): ...'),
    ("flag", "f", "a", "is a Flag", "@server.tool  # LINE\ndef f(a: Flags): ..."),
    ("empty enum", "f", "a", "is empty", "@server.tool  # LINE\ndef f(a: Empty): ..."),
    ("enum of tuples", "f", "a", "not JSON", "@server.tool  # LINE\ndef f(a: Odd): ..."),
    ("ge on a string", "f", "a", "ge does not fit",
     "@server.tool  # LINE\ndef f(a: Annotated[str, Arg(ge=1)]): ..."),
    ("pattern on a number", "f", "a", "pattern does not fit",
     '@server.tool  # LINE\ndef f(a: Annotated[int, Arg(pattern="x")]): ...'),
    ("length on a bool", "f", "a", "min_length does not fit",
     "@server.tool  # LINE\ndef f(a: Annotated[bool, Arg(min_length=1)]): ..."),
    ("negative length", "f", "a", "min_length must be",
     "@server.tool  # LINE\ndef f(a: Annotated[str, Arg(min_length=-1)]): ..."),
    ("bool bound", "f", "a", "ge must be a number",
     "@server.tool  # LINE\ndef f(a: Annotated[int, Arg(ge=True)]): ..."),
    ("enum no list", "f", "a", "enum must be",
     '@server.tool  # LINE\ndef f(a: Annotated[str, Arg(enum="a")]): ...'),
    ("crossed bounds", "f", "a", "above",
     "@server.tool  # LINE\ndef f(a: Annotated[int, Arg(ge=5, le=1)]): ..."),
    ("bad pattern", "f", "a", "",
     '@server.tool  # LINE\ndef f(a: Annotated[str, Arg(pattern="(")]): ...'),
    ("Arg class", "f", "a", "without parentheses",
     "@server.tool  # LINE\ndef f(a: Annotated[int, Arg]): ..."),
    ("Arg description", "f", "a", "description must be a string",
     "@server.tool  # LINE\ndef f(a: Annotated[int, Arg(3)]): ..."),
    ("Arg default", "f", "a", "Arg is the default",
     "@server.tool  # LINE\ndef f(a: int = Arg(ge=1)): ..."),
    ("nested constraint", "f", "a.items", "ge does not fit",
     "@server.tool  # LINE\ndef f(a: list[Annotated[str, Arg(ge=1)]]): ..."),
    ("default of a wrong type", "f", "a", "default violates",
     '@server.tool  # LINE\ndef f(a: int = "x"): ...'),
    ("default out of bounds", "f", "a", "default violates",
     "@server.tool  # LINE\ndef f(a: Annotated[int, Arg(ge=5)] = 1): ..."),
    ("None for no Optional", "f", "a", "default violates", "@server.tool  # LINE\ndef f(a: int = None): ..."),
    ("default not in Literal", "f", "a", "default violates",
     '@server.tool  # LINE\ndef f(a: Literal["x"] = "y"): ...'),
    ("header with a space", "f", "a", "x-mcp-header",
     '@server.tool  # LINE\ndef f(a: Annotated[str, Arg(header="a b")]): ...'),
    ("header on a float", "f", "a", "x-mcp-header",
     '@server.tool  # LINE\ndef f(a: Annotated[float, Arg(header="A")]): ...'),
    ("header no string", "f", "a", "x-mcp-header",
     "@server.tool  # LINE\ndef f(a: Annotated[str, Arg(header=5)]): ..."),
    ("header twice", "f", "", "x-mcp-header",
     '@server.tool  # LINE\ndef f(a: Annotated[str, Arg(header="A")], b: Annotated[str, Arg(header="a")]): ...'),
    ("header in items", "f", "", "x-mcp-header",
     '@server.tool  # LINE\ndef f(a: list[Annotated[str, Arg(header="A")]]): ...'),
    ("input schema no dict", "f", "input_schema", "JSON Schema object",
     "@server.tool(input_schema=[])  # LINE\ndef f(arguments, context): ..."),
    ("input schema no object", "f", "input_schema", "exactly 'object'",
     '@server.tool(input_schema={"type": "array"})  # LINE\ndef f(arguments, context): ...'),
    ("input schema empty", "f", "input_schema", "exactly 'object'",
     "@server.tool(input_schema={})  # LINE\ndef f(arguments, context): ..."),
    ("input schema list type", "f", "input_schema", "exactly 'object'",
     '@server.tool(input_schema={"type": ["object"]})  # LINE\ndef f(arguments, context): ...'),
    ("input schema no JSON", "f", "input_schema", "not JSON",
     '@server.tool(input_schema={"type": "object", "x": {1}})  # LINE\ndef f(arguments, context): ...'),
    ("input schema invalid", "f", "input_schema.properties.a", "",
     AROUND % '{"type": 5}' + RAW),
    ("reference elsewhere", "f", "input_schema.properties.a", "",
     AROUND % '{"$ref": "https://a/b"}' + RAW),
    ("reference to nothing", "f", "input_schema", "",
     AROUND % '{"$ref": "#/$defs/No"}' + RAW),
    ("unknown dialect", "f", "input_schema", "",
     '@server.tool(input_schema={"type": "object", "$schema": "urn:x"})  # LINE\ndef f(arguments, context): ...'),
    ("explicit schema, other parameters", "f", "signature", "(arguments, context)",
     '@server.tool(input_schema={"type": "object"})  # LINE\ndef f(a: int, b: int, c: int): ...'),
    ("output schema no dict", "f", "output_schema", "JSON Schema object",
     "@server.tool(output_schema=[])  # LINE\ndef f(): ..."),
    ("output schema invalid", "f", "output_schema", "",
     '@server.tool(output_schema={"type": "nope"})  # LINE\ndef f(): ...'),
    ("returns bytes", "f", "return", "bytes are not JSON", "@server.tool  # LINE\ndef f() -> bytes: ..."),
    ("returns an unknown class", "f", "return", "no JSON form", "@server.tool  # LINE\ndef f() -> Opaque: ..."),
    ("returns a nested unknown", "f", "return.inner.items.x", "no JSON form",
     "@server.tool  # LINE\ndef f() -> Outer: ..."),
    ("returns an undefined name", "f", "return", "cannot be resolved",
     '@server.tool  # LINE\ndef f() -> "Nope": ...'),
    ("lone decorator", "f", "a", "no JSON form", "@snodo.tool  # LINE\ndef f(a: Opaque): ..."),
    ("lone decorator, bound method", "f", "function", "cannot carry",
     "class C:\n    def f(self): ...  # LINE\nsnodo.tool(C().f)"),
    ("class without name", "V", "name", "is missing",
     "class V(snodo.Tool):  # LINE\n    def call(self, arguments, context): ..."),
    ("class with empty name", "V", "name", "empty",
     'class V(snodo.Tool):  # LINE\n    name = ""\n    def call(self, arguments, context): ...'),
    ("class with None for name", "V", "name", "must be a string",
     "class V(snodo.Tool):  # LINE\n    name = None\n    def call(self, arguments, context): ..."),
    ("class without call", "V", "call", "is missing", 'class V(snodo.Tool):  # LINE\n    name = "v"'),
    ("class with a narrow call", "V", "call", "must take",
     'class V(snodo.Tool):  # LINE\n    name = "v"\n    def call(self): ...'),
    ("class with a wrong schema", "V", "input_schema", "exactly 'object'",
     'class V(snodo.Tool):  # LINE\n    name = "v"\n    input_schema = {}\n    def call(self, arguments, context): ...'),
    ("middleware no list", "f", "middleware", "must be a list",
     "@server.tool(middleware=layer)  # LINE\ndef f(): ..."),
    ("middleware generated", "f", "middleware", "must be a list",
     "@server.tool(middleware=(one for one in [layer]))  # LINE\ndef f(): ..."),
    ("middleware no function", "f", "middleware.1", "is no middleware",
     "@server.tool(middleware=[layer, 3])  # LINE\ndef f(): ..."),
    ("middleware a class", "f", "middleware.0", "is a class",
     "@server.tool(middleware=[Opaque])  # LINE\ndef f(): ..."),
    ("middleware without the interface", "f", "middleware.0", "does not take",
     "@server.tool(middleware=[lambda context, call_next: 1])  # LINE\ndef f(): ..."),
    ("middleware needs more", "f", "middleware.0", "does not take",
     "@server.tool(middleware=[lambda a, b, c, d, e: 1])  # LINE\ndef f(): ..."),
    ("middleware needs a keyword", "f", "middleware.0", "does not take",
     "@server.tool(middleware=[lambda a, b, c, *, d: 1])  # LINE\ndef f(): ..."),
    ("middleware unreadable", "f", "middleware.0", "cannot be read",
     "@server.tool(middleware=[getattr])  # LINE\ndef f(): ..."),
    ("middleware no pair", "f", "middleware.0", "no pair",
     "@server.tool(middleware=[(optional, 3)])  # LINE\ndef f(): ..."),
    ("middleware no options", "f", "middleware.0", "takes none",
     "@server.tool(middleware=[(layer, {})])  # LINE\ndef f(): ..."),
    ("middleware option names", "f", "middleware.0.options", "must be strings",
     "@server.tool(middleware=[(optional, {1: 2})])  # LINE\ndef f(): ..."),
    *((f"middleware reserved {key}", "f", f"middleware.0.options.{key}", "is a reserved option",
       f'@server.tool(middleware=[(optional, {{"{key}": 1}})])  # LINE\ndef f(): ...')
      for key in ("component", "kind", "operation", "slot")),
    ("middleware ready with options", "f", "middleware.0", "beside its own",
     "@server.tool(middleware=[(timeout(1), {})])  # LINE\ndef f(): ..."),
    ("dependency cycle", "f", "first", "depends on itself: first → second → first",
     "@server.tool  # LINE\ndef f(a: Annotated[int, Depends(first)]): ..."),
    ("dependency of itself", "f", "itself", "depends on itself: itself → itself",
     "@server.tool  # LINE\ndef f(a: int = Depends(itself)): ..."),
    ("dependency needs an argument", "f", "needs", "neither a context nor a dependency",
     "@server.tool  # LINE\ndef f(a: Annotated[int, Depends(needs)]): ..."),
    ("dependency positional", "f", "positional", "positional-only",
     "@server.tool  # LINE\ndef f(a: Annotated[int, Depends(positional)]): ..."),
    ("dependency unreadable", "f", "getattr", "cannot be read",
     "@server.tool  # LINE\ndef f(a: Annotated[int, Depends(getattr)]): ..."),
    ("dependency without parentheses", "f", "a", "without parentheses",
     "@server.tool  # LINE\ndef f(a: Annotated[int, Depends]): ..."),
    ("dependency beside positional", "f", "a", "cannot be filled by name",
     "@server.tool  # LINE\ndef f(a: int, /, b: Annotated[int, Depends(layer)] = 1): ..."),
]  # fmt: skip


@pytest.mark.parametrize(
    ("component", "path", "words", "source"),
    [pytest.param(*case[1:], id=case[0]) for case in CASES],
)
def test_a_wrong_declaration_is_refused_at_import(
    tmp_path: Path, component: str, path: str, words: str, source: str
) -> None:
    file = tmp_path / "app.py"
    text = PRELUDE + textwrap.dedent(source) + "\n"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(DeclarationError) as caught:
        runpy.run_path(str(file), run_name="app")
    error = caught.value
    line = next(number for number, line in enumerate(text.splitlines(), 1) if "# LINE" in line)
    assert error.where == f"{file}:{line}"
    assert error.component == f"tool '{component}'"
    assert error.path == path or (path and error.path.startswith(f"{path}.")) or not path
    assert words in error.reason
    assert error.advice
    message = str(error)
    assert message.startswith(f"{file}:{line}: tool '{component}': ")
    assert f"{error.reason} → {error.advice}" in message
    assert "\n" not in message


def test_at_least_forty_kinds_are_told_apart() -> None:
    assert len({case[0] for case in CASES}) == len(CASES) >= 40


def test_the_error_is_a_value_error() -> None:
    assert issubclass(DeclarationError, ValueError)


@pytest.mark.parametrize("declare", [snodo.tool, snodo.prompt])
@pytest.mark.parametrize("name", [" ", "\t", "a\x00b", "a\nb", "a\x7fb", "\x85"])
def test_a_name_nobody_can_read_is_refused(declare: Any, name: str) -> None:
    with pytest.raises(DeclarationError, match="name: "):

        @declare(name=name)
        def named() -> str:
            return ""


@pytest.mark.parametrize("kind", ["tool", "prompt"])
@pytest.mark.parametrize("name", ["my tool", "größe", "a/b", "x" * 129])
def test_a_name_that_some_clients_refuse_is_warned_of_once(
    caplog: pytest.LogCaptureFixture, kind: str, name: str
) -> None:
    server = Server("named")

    @getattr(server, kind)(name=name)
    def named() -> str:
        """Do."""
        return ""

    with server.changes() as changes:
        changes.remove(kind, name)
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("snodo", "WARNING")
    assert repr(name) in record.getMessage()


@pytest.mark.parametrize("name", ["a", "A-z_0.9", "x" * 128])
def test_a_usual_name_is_not_warned_of(caplog: pytest.LogCaptureFixture, name: str) -> None:
    Server("named").tool(name=name)(lambda: "")
    assert not caplog.records
