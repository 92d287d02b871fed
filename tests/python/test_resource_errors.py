"""Every wrong resource, prompt or completer is a DeclarationError at import, as tools are."""

# ruff: noqa: E501 - a table reads best with a case a line

from __future__ import annotations

import runpy
import textwrap
from pathlib import Path

import pytest

from snodo import DeclarationError

PRELUDE = """\
import dataclasses, enum, functools, re, typing
from typing import Annotated, Any, Literal
import snodo
from snodo import Arg, Cache, Context, DirectoryResource, FileResource, Server, StaticResource
server = Server("test")
class Empty(enum.Enum):
    pass
class Odd(enum.Enum):
    A = (1, 2)
class Opaque:
    pass
@dataclasses.dataclass
class Point:
    x: int
"""

# One line each: id, the component, the path, words of the reason, the source.
# "LINE" marks the line the error must name.
CASES: list[tuple[str, str, str, str, str]] = [
    # --- resources
    ("no parentheses", "resource 'f'", "uri", "must be a URI or a template of URIs", "@server.resource  # LINE\ndef f(): ..."),
    ("uri no string", "resource 'f'", "uri", "not int", "@server.resource(7)  # LINE\ndef f(): ..."),
    ("uri empty", "resource 'f'", "uri", "absolute", '@server.resource("")  # LINE\ndef f(): ...'),
    ("uri relative", "resource 'f'", "uri", "absolute", '@server.resource("notes/all")  # LINE\ndef f(): ...'),
    ("uri with a space", "resource 'f'", "uri", "absolute", '@server.resource("notes://a b")  # LINE\ndef f(): ...'),
    ("uri surrogate", "resource 'f'", "uri", "surrogate", '@server.resource("n://\\ud800")  # LINE\ndef f(): ...'),
    ("template fragment", "resource 'f'", "uri", 'template "x://h{#f}" is not supported: fragment expansion ({#var})',
     '@server.resource("x://h{#f}")  # LINE\ndef f(f: str): ...'),
    ("template mixed segment", "resource 'f'", "uri", "literal text and an expression",
     '@server.resource("x://h/v{version}")  # LINE\ndef f(version: str): ...'),
    ("template scheme", "resource 'f'", "uri", "a scheme that is not a literal",
     '@server.resource("{s}://x")  # LINE\ndef f(s: str): ...'),
    ("template too long", "resource 'f'", "uri", "longer than 1024 bytes",
     '@server.resource("x://h/{a}/" + "b" * 1024)  # LINE\ndef f(a: str): ...'),
    ("variable without parameter", "resource 'f'", "uri", "variable 'b' has no parameter; the parameters are: a",
     '@server.resource("x://{a}/{b}")  # LINE\ndef f(a: str): ...'),
    ("parameter without variable", "resource 'f'", "b", 'bound by no variable of "x://{a}", whose variables are: a',
     '@server.resource("x://{a}")  # LINE\ndef f(a: str, b: str): ...'),
    ("parameter of a direct resource", "resource 'f'", "a", "whose variables are: none",
     '@server.resource("x://h")  # LINE\ndef f(a: str = "x"): ...'),
    ("optional variable, no default", "resource 'f'", "q", "may be absent",
     '@server.resource("x://h/{a}{?q}")  # LINE\ndef f(a: str, q: str): ...'),
    ("variable no hint", "resource 'f'", "a", "no type hint", '@server.resource("x://{a}")  # LINE\ndef f(a): ...'),
    ("variable as a list", "resource 'f'", "a", "text cannot become",
     '@server.resource("x://{a}")  # LINE\ndef f(a: list[str]): ...'),
    ("variable as a class", "resource 'f'", "a", "no JSON form",
     '@server.resource("x://{a}")  # LINE\ndef f(a: Opaque): ...'),
    ("variable as a dataclass", "resource 'f'", "a", "text cannot become Point",
     '@server.resource("x://{a}")  # LINE\ndef f(a: Point): ...'),
    ("two contexts", "resource 'f'", "d", "second Context",
     '@server.resource("x://h")  # LINE\ndef f(c: Context, d: Context): ...'),
    ("var keyword", "resource 'f'", "kw", "**kw", '@server.resource("x://h")  # LINE\ndef f(**kw: str): ...'),
    ("resource name", "resource 'f'", "name", "must not be empty",
     '@server.resource("x://h", name="")  # LINE\ndef f(): ...'),
    ("resource title", "resource 'f'", "title", "string or None",
     '@server.resource("x://h", title=3)  # LINE\ndef f(): ...'),
    ("resource mime type", "resource 'f'", "mime_type", "string or None",
     '@server.resource("x://h", mime_type=3)  # LINE\ndef f(): ...'),
    ("resource size", "resource 'f'", "size", "non-negative integer",
     '@server.resource("x://h", size=-1)  # LINE\ndef f(): ...'),
    ("template size", "resource 'f'", "size", "no size",
     '@server.resource("x://{a}", size=1)  # LINE\ndef f(a: str): ...'),
    ("audience", "resource 'f'", "annotations", "audience",
     '@server.resource("x://h", annotations={"audience": ["robot"]})  # LINE\ndef f(): ...'),
    ("priority", "resource 'f'", "annotations", "priority must be a number from 0 to 1",
     '@server.resource("x://h", annotations={"priority": 1.5})  # LINE\ndef f(): ...'),
    ("last modified", "resource 'f'", "annotations", "lastModified",
     '@server.resource("x://h", annotations={"lastModified": 5})  # LINE\ndef f(): ...'),
    ("resource icons", "resource 'f'", "icons", "resource icons must be a list",
     '@server.resource("x://h", icons="x")  # LINE\ndef f(): ...'),
    ("resource metadata", "resource 'f'", "metadata.a b", "resource _meta contains an invalid entry",
     '@server.resource("x://h", metadata={"a b": 1})  # LINE\ndef f(): ...'),
    ("resource cache", "resource 'f'", "cache", "must be a Cache",
     '@server.resource("x://h", cache=5)  # LINE\ndef f(): ...'),
    ("resource timeout", "resource 'f'", "timeout", "positive",
     '@server.resource("x://h", timeout=0)  # LINE\ndef f(): ...'),
    ("completion of a direct resource", "resource 'f'", "complete", "only resource templates",
     '@server.resource("x://h", complete={})  # LINE\ndef f(): ...'),
    ("completion of no variable", "resource 'f'", "complete.b", "there is no variable 'b'",
     '@server.resource("x://{a}", complete={"b": ["x"]})  # LINE\ndef f(a: str): ...'),
    ("lone resource", "resource 'f'", "uri", "absolute", '@snodo.resource("x")  # LINE\ndef f(): ...'),
    ("resource of a class", "resource 'Opaque'", "function", "is a class", 'server.resource("x://h")(Opaque)  # LINE'),
    ("resource method", "resource 'f'", "self", "is the instance",
     'class C:\n    @server.resource("x://h")  # LINE\n    def f(self): ...'),
    ("class without uri", "resource 'V'", "uri", "exactly one of uri and uri_template",
     'class V(snodo.Resource):  # LINE\n    name = "v"\n    def read(self, params, context): ...'),
    ("class with both", "resource 'V'", "uri", "exactly one of uri and uri_template",
     'class V(snodo.Resource):  # LINE\n    name = "v"\n    uri = "x://h"\n    uri_template = "x://{a}"\n    def read(self, params, context): ...'),
    ("class uri is a template", "resource 'V'", "uri", "is a template",
     'class V(snodo.Resource):  # LINE\n    name = "v"\n    uri = "x://{a}"\n    def read(self, params, context): ...'),
    ("class template is a uri", "resource 'V'", "uri_template", "no variables",
     'class V(snodo.Resource):  # LINE\n    name = "v"\n    uri_template = "x://a"\n    def read(self, params, context): ...'),
    ("class without name", "resource 'V'", "name", "is missing",
     'class V(snodo.Resource):  # LINE\n    uri = "x://h"\n    def read(self, params, context): ...'),
    ("class without read", "resource 'V'", "read", "is missing",
     'class V(snodo.Resource):  # LINE\n    name = "v"\n    uri = "x://h"'),
    ("class with a narrow read", "resource 'V'", "read", "must take (self, params, context)",
     'class V(snodo.Resource):  # LINE\n    name = "v"\n    uri = "x://h"\n    def read(self): ...'),
    ("static with nothing", "resource 'x://h'", "text", "exactly one of text, data and json",
     'StaticResource("x://h")  # LINE'),
    ("static with two", "resource 'x://h'", "text", "exactly one of text, data and json",
     'StaticResource("x://h", text="a", json=1)  # LINE'),
    ("static text", "resource 'x://h'", "text", "must be a string", 'StaticResource("x://h", text=b"a")  # LINE'),
    ("static data", "resource 'x://h'", "data", "must be bytes", 'StaticResource("x://h", data="a")  # LINE'),
    ("static json", "resource 'x://h'", "json", "not JSON", 'StaticResource("x://h", json=object())  # LINE'),
    ("static surrogate", "resource 'x://h'", "text", "surrogate", 'StaticResource("x://h", text="\\ud800")  # LINE'),
    ("static template", "resource 'x://{a}'", "uri", "is a template", 'StaticResource("x://{a}", text="a")  # LINE'),
    ("file missing", "resource 'nothing.txt'", "path", "no such file", 'FileResource("nothing.txt")  # LINE'),
    ("file bound", "resource 'nothing.txt'", "max_bytes", "above zero",
     'FileResource("nothing.txt", must_exist=False, max_bytes=0)  # LINE'),
    ("folder missing", "resource 'nothing'", "root", "no such folder",
     'DirectoryResource("nothing", uri_prefix="x://h")  # LINE'),
    ("folder prefix", "resource 'nothing'", "uri_prefix", "absolute",
     'DirectoryResource("nothing", uri_prefix="x")  # LINE'),
    # --- prompts
    ("prompt name", "prompt 'f'", "name", "must not be empty", '@server.prompt(name="")  # LINE\ndef f(): ...'),
    ("prompt lambda", "prompt '<lambda>'", "name", "lambda", "server.prompt(lambda: 1)  # LINE"),
    ("prompt option", "prompt 'f'", "mime_type", "unknown options",
     '@server.prompt(mime_type="x")  # LINE\ndef f(): ...'),
    ("prompt no hint", "prompt 'f'", "a", "no type hint", "@server.prompt  # LINE\ndef f(a): ..."),
    ("prompt list", "prompt 'f'", "a", "text cannot become list[str]", "@server.prompt  # LINE\ndef f(a: list[str]): ..."),
    ("prompt bare dict", "prompt 'f'", "a", "does not say what it holds", "@server.prompt  # LINE\ndef f(a: dict): ..."),
    ("prompt None", "prompt 'f'", "a", "cannot become None", "@server.prompt  # LINE\ndef f(a: None): ..."),
    ("prompt var positional", "prompt 'f'", "args", "*args", "@server.prompt  # LINE\ndef f(*args: str): ..."),
    ("prompt positional only", "prompt 'f'", "a", "positional-only", "@server.prompt  # LINE\ndef f(a: str, /): ..."),
    ("prompt empty enum", "prompt 'f'", "a", "is empty", "@server.prompt  # LINE\ndef f(a: Empty): ..."),
    ("prompt enum of tuples", "prompt 'f'", "a", "has no text", "@server.prompt  # LINE\ndef f(a: Odd): ..."),
    ("prompt two of a text", "prompt 'f'", "a", "are both written '1'",
     '@server.prompt  # LINE\ndef f(a: Literal[1, "1"]): ...'),
    ("prompt default", "prompt 'f'", "a", "default violates", '@server.prompt  # LINE\ndef f(a: int = "x"): ...'),
    ("prompt default None", "prompt 'f'", "a", "default violates", "@server.prompt  # LINE\ndef f(a: int = None): ..."),
    ("prompt constraint", "prompt 'f'", "a", "ge does not fit",
     "@server.prompt  # LINE\ndef f(a: Annotated[str, Arg(ge=1)]): ..."),
    ("prompt header", "prompt 'f'", "a", "header=",
     '@server.prompt  # LINE\ndef f(a: Annotated[str, Arg(header="A")]): ...'),
    ("prompt same argument twice", "prompt 'f'", "b", "more than once",
     '@server.prompt  # LINE\ndef f(a: str, b: Annotated[str, Arg(name="a")]): ...'),
    ("prompt arguments no list", "prompt 'f'", "arguments", "must be a list",
     "@server.prompt(arguments={})  # LINE\ndef f(arguments, context): ..."),
    ("prompt argument no name", "prompt 'f'", "arguments.0", "non-empty string name",
     "@server.prompt(arguments=[{}])  # LINE\ndef f(arguments, context): ..."),
    ("prompt argument twice", "prompt 'f'", "arguments.1.name", "must be unique",
     '@server.prompt(arguments=[{"name": "a"}, {"name": "a"}])  # LINE\ndef f(arguments, context): ...'),
    ("prompt argument required", "prompt 'f'", "arguments.0.required", "must be a boolean",
     '@server.prompt(arguments=[{"name": "a", "required": 1}])  # LINE\ndef f(arguments, context): ...'),
    ("prompt argument extra", "prompt 'f'", "arguments.0.type", "unsupported or non-JSON fields",
     '@server.prompt(arguments=[{"name": "a", "type": "x"}])  # LINE\ndef f(arguments, context): ...'),
    ("prompt argument description", "prompt 'f'", "arguments.0.description", "string or None",
     '@server.prompt(arguments=[{"name": "a", "description": 1}])  # LINE\ndef f(arguments, context): ...'),
    ("prompt explicit, other parameters", "prompt 'f'", "signature", "explicit arguments",
     "@server.prompt(arguments=[])  # LINE\ndef f(a: str, b: str, c: str): ..."),
    ("prompt metadata", "prompt 'f'", "metadata", "prompt _meta must be a dict",
     "@server.prompt(metadata=[])  # LINE\ndef f(): ..."),
    ("prompt icons", "prompt 'f'", "icons.0", "each prompt icon requires",
     "@server.prompt(icons=[{}])  # LINE\ndef f(): ..."),
    ("prompt timeout", "prompt 'f'", "timeout", "positive", "@server.prompt(timeout=-1)  # LINE\ndef f(): ..."),
    ("class prompt without render", "prompt 'V'", "render", "is missing",
     'class V(snodo.Prompt):  # LINE\n    name = "v"'),
    ("class prompt without name", "prompt 'V'", "name", "is missing",
     "class V(snodo.Prompt):  # LINE\n    def render(self, arguments, context): ..."),
    ("class prompt with a narrow render", "prompt 'V'", "render", "must take",
     'class V(snodo.Prompt):  # LINE\n    name = "v"\n    def render(self): ...'),
    ("class prompt completes nothing it has", "prompt 'V'", "complete.b", "there is no argument 'b'",
     'class V(snodo.Prompt):  # LINE\n    name = "v"\n    complete = {"b": ["x"]}\n    def render(self, arguments, context): ...'),
    # --- completion
    ("complete no dict", "prompt 'f'", "complete", "must be a dict",
     "@server.prompt(complete=[])  # LINE\ndef f(a: str): ..."),
    ("complete unknown", "prompt 'f'", "complete.b", "there is no argument 'b'",
     '@server.prompt(complete={"b": ["x"]})  # LINE\ndef f(a: str): ...'),
    ("completer a string", "prompt 'f'", "complete.a", "a str cannot complete",
     '@server.prompt(complete={"a": "xyz"})  # LINE\ndef f(a: str): ...'),
    ("completer of numbers", "prompt 'f'", "complete.a", "values must be strings",
     '@server.prompt(complete={"a": [1, 2]})  # LINE\ndef f(a: str): ...'),
    ("completer without parameters", "prompt 'f'", "complete.a", "is called with the value",
     '@server.prompt(complete={"a": lambda: []})  # LINE\ndef f(a: str): ...'),
    ("completer with four", "prompt 'f'", "complete.a", "is called with the value",
     '@server.prompt(complete={"a": lambda a, b, c, d: []})  # LINE\ndef f(a: str): ...'),
    ("complete later, unknown argument", "prompt 'f'", "complete.b", "there is no argument 'b'",
     '@server.prompt\ndef f(a: str): ...\n@server.complete("f", "b")  # LINE\ndef g(value): ...'),
    ("complete twice", "prompt 'f'", "complete.a", "completed already",
     '@server.prompt(complete={"a": lambda v: []})\ndef f(a: str): ...\n@server.complete("f", "a")  # LINE\ndef g(value): ...'),
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
    assert error.component == component
    assert error.path == path
    assert words in error.reason
    assert error.advice
    assert "\n" not in str(error)


def test_the_kinds_are_told_apart() -> None:
    assert len({case[0] for case in CASES}) == len(CASES) >= 60
