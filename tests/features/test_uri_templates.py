"""URI templates: which shapes there are, and which URIs they match with which variables."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snodo import DeclarationError, Resource, Server


def declare(template: str) -> type[Resource]:
    return type(
        "Probe",
        (Resource,),
        {
            "name": "probe",
            "uri_template": template,
            "read": lambda self, params, context: params,
        },
    )


def refusal(template: str) -> str | None:
    try:
        declare(template)
    except DeclarationError as refused:
        return str(refused)
    return None


class Matcher:
    """One template, asked through the public API."""

    def __init__(self, template: str) -> None:
        self.server = Server("matcher")
        self.server.add(declare(template))

    def __call__(self, uri: str) -> dict[str, str] | None:
        """The variables, or None where the URI is not found."""
        answer = self.server.handle(
            {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "resources/read",
                "params": {
                    "uri": uri,
                    "_meta": {
                        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                        "io.modelcontextprotocol/clientCapabilities": {},
                    },
                },
            }
        )
        assert answer is not None
        if "error" in answer:
            # What is no URI at all is told as that; neither is ever another error.
            assert answer["error"]["code"] == -32602, answer
            return None
        (content,) = answer["result"]["contents"]
        params: dict[str, str] = json.loads(content["text"])
        assert params.pop("uri") == uri
        return params


@pytest.mark.parametrize(
    "template",
    [
        "s://h/{a}",
        "S+x-1.0://h/{a}",
        "s://{a}",
        "s://{a}/b",
        "s:///{a}",
        "s:///x/{+p}",
        "s://h/{a}/x/{b}",
        "s://h/{a}/{a}",
        "s://h/{+p}",
        "s://h/x/{+p}/y/{z}",
        "s://h{/v}",
        "s://h/x{/v}/y",
        "s://h{/v*}",
        "s://h/{a}{/v*}/b",
        "s://h/x{?q}",
        "s://h/x{?a,b,c}",
        "s://h/x{?a}{&b}{&c,d}",
        "s://h{?a}",
        "s://h/{a}{?b}",
        "s://h/{+p}{?q}",
        "s://h/{a_b.c-d9}",
        "s://h/%20/{a}",
        "s://h/~!$'()*,;=@/{a}",
    ],
)
def test_a_supported_shape_is_accepted(template: str) -> None:
    declare(template)


MIXED = "a path segment that holds literal text and an expression, or two expressions"

REFUSED = [
    ("{s}://x", "a scheme that is not a literal followed by ://"),
    ("s:{a}", "a scheme that is not a literal followed by ://"),
    ("1s://h/{a}", "a scheme that is not a literal followed by ://"),
    ("/a/{b}", "a scheme that is not a literal followed by ://"),
    ("s://h/{a", "an unclosed or nested expression"),
    ("s://h/{a{b}}", "an unclosed or nested expression"),
    ("s://h/{b}/a}", "a } outside an expression"),
    ("x://h{#f}", "fragment expansion ({#var})"),
    ("x://h/a{.ext}", "label expansion ({.var})"),
    ("x://h/{.ext}", "label expansion ({.var})"),
    ("x://h/{;a}", "path-style parameter expansion ({;var})"),
    ("x://h/{=a}", "the reserved operator ="),
    ("x://h/{,a}", "the reserved operator ,"),
    ("x://h/{!a}", "the reserved operator !"),
    ("x://h/{@a}", "the reserved operator @"),
    ("x://h/{|a}", "the reserved operator |"),
    ("x://h/{a:3}", "a prefix modifier ({var:n})"),
    ("x://h/{a b}", 'an invalid variable name "a b"'),
    ("x://h/{}", 'an invalid variable name ""'),
    ("x://h/{é}", 'an invalid variable name "é"'),
    ("x://h/{uri}", "a variable named uri, which the request owns"),
    ("x://h/{_meta}", "a variable named _meta, which the request owns"),
    ("x://h/a?b={c}", "a literal query"),
    ("x://h/{a}#top", "a literal fragment"),
    ("x://me@h/{a}", "userinfo"),
    ("x://h:80/{a}", "a port or a colon in literal text"),
    ("x://h/a:b/{c}", "a port or a colon in literal text"),
    ("x://h{?a}/b", "literal text or a path expression after a query expression"),
    ("x://h/a{?b}{/c}", "literal text or a path expression after a query expression"),
    ("x://h/a{&b}", "a {&var} continuation without a preceding {?var}"),
    ("x://h/a{?b}{?c}", "more than one {?var} expression"),
    ("x://h/a{?b*}", "an exploded query variable ({?var*})"),
    ("x://h/a{?b,b}", "a query variable named more than once"),
    ("x://h/a{?b}{&b}", "a query variable named more than once"),
    ("x://{?a}", "an empty authority that is not followed by /"),
    ("x://{+a}", "reserved expansion ({+var}) in the authority"),
    ("x://a{b}/c", "an authority that is not one literal or one {var}"),
    ("x://{a}{b}/c", "an authority that is not one literal or one {var}"),
    ("x://h/{/v}", "a {/var} expression after a literal /, which would leave an empty segment"),
    ("x://h{/a,b}", "more than one variable in a path expression ({/a,b})"),
    ("x://h/{a*}", "an exploded simple or reserved variable ({var*})"),
    ("x://h/{+a*}", "an exploded simple or reserved variable ({var*})"),
    ("x://h/{a,b}", "more than one variable in a simple or reserved expression ({a,b})"),
    ("x://h/{+a,b}", "more than one variable in a simple or reserved expression ({a,b})"),
    ("x://h//{a}", "an empty path segment"),
    ("x://h/{a}/", "an empty path segment"),
    ("x://h/v{version}", MIXED),
    ("x://h/{a}{b}", MIXED),
    ("x://h/{a}.md", MIXED),
    ("x://h/%zz/{a}", "a malformed percent escape or non-UTF-8 literal"),
    ("x://h/%ff/{a}", "a malformed percent escape or non-UTF-8 literal"),
    (
        "x://h/{+a}/x/{+b}",
        "more than one variable-length path expression ({+var}, {/var}, or {/var*})",
    ),
    ("x://h{/a}{/b}", "more than one variable-length path expression ({+var}, {/var}, or {/var*})"),
    ("x://h/a b/{c}", "literal text that is not valid in a URI"),
    ("x://h/<{a}", None),
]


@pytest.mark.parametrize(("template", "reason"), REFUSED)
def test_any_other_shape_is_refused_by_its_name(template: str, reason: str | None) -> None:
    with pytest.raises(DeclarationError) as refused:
        declare(template)
    said = str(refused.value)
    assert template in said
    if reason is not None:
        assert f'"{template}" is not supported: {reason}' in said


def test_a_template_has_1024_bytes_at_most() -> None:
    fixed = len("s://h//{a}")
    declare(f"s://h/{'x' * (1024 - fixed)}/{{a}}")
    with pytest.raises(DeclarationError, match="a template longer than 1024 bytes"):
        declare(f"s://h/{'x' * (1025 - fixed)}/{{a}}")
    # Bytes, not characters.
    with pytest.raises(DeclarationError):
        declare(f"s://h/{'é' * 600}/{{a}}")


def test_a_template_has_32_variables_at_most() -> None:
    def template(count: int) -> str:
        return "s://h/" + "/".join(f"{{v{n}}}" for n in range(count))

    declare(template(32))
    with pytest.raises(DeclarationError, match="more than 32 variables"):
        declare(template(33))
    declare("s://h{?" + ",".join(f"v{n}" for n in range(32)) + "}")
    with pytest.raises(DeclarationError, match="more than 32 variables"):
        declare("s://h{?" + ",".join(f"v{n}" for n in range(33)) + "}")


Expected = dict[str, str] | None

MATCHES: dict[str, dict[str, Expected]] = {
    # A variable is one segment that is not empty.
    "s://h/{a}/x": {
        "s://h/1/x": {"a": "1"},
        "S://h/1/x": {"a": "1"},
        "s://h//x": None,
        "s://h/1/2/x": None,
        "s://h/1/X": None,
        "s://h/1/x/": None,
        "s://h/1": None,
        "s://h/x": None,
        "t://h/1/x": None,
        "s:/h/1/x": None,
        "s:h/1/x": None,
    },
    # A reserved variable is one or more segments.
    "s://h/{+p}": {
        "s://h/a/b": {"p": "a/b"},
        "s://h/a": {"p": "a"},
        "s://h/a%2Fb/c": {"p": "a/b/c"},
        "s://h/": None,
        "s://h": None,
        "s://h//a": None,
        "s://h/a/": None,
        "s://h/a//b": None,
        "s://h/..": {"p": ".."},
        "s://h/%00": {"p": "\0"},
    },
    # Fixed segments are matched from each end, so a URI splits one way only.
    "s://h/a/{+p}/b/{z}": {
        "s://h/a/1/b/2": {"p": "1", "z": "2"},
        "s://h/a/1/b/b/b/2": {"p": "1/b/b", "z": "2"},
        "s://h/a/b/b/2": {"p": "b", "z": "2"},
        "s://h/a/b/2": None,
    },
    # An optional segment, and any number of them.
    "s://h{/v}": {
        "s://h": {},
        "s://h/a": {"v": "a"},
        "s://h/a/b": None,
        "s://h/": None,
    },
    "s://h{/v*}": {
        "s://h": {},
        "s://h/a": {"v": "a"},
        "s://h/a/b": {"v": "a/b"},
        "s://h/": None,
        "s://h/a/": None,
    },
    "s://h/x{/v}/y": {
        "s://h/x/y": {},
        "s://h/x/1/y": {"v": "1"},
        "s://h/x/1/2/y": None,
    },
    "s://h/x{?a,b}": {
        "s://h/x?b=2&a=1": {"a": "1", "b": "2"},
        "s://h/x": {},
        "s://h/x?a=": {"a": ""},
        "s://h/x?a=1%262&b=%3D": {"a": "1&2", "b": "="},
        "s://h/x?a=1=2": {"a": "1=2"},
        "s://h/x?a=1+2": {"a": "1+2"},
        "s://h/x?a=1&a=2": None,
        "s://h/x?a=1&a=1": None,
        "s://h/x?c=1": None,
        "s://h/x?a": None,
        "s://h/x?": None,
        "s://h/x?a=1&": None,
        "s://h/x?&a=1": None,
        "s://h/x?a=1&&b=2": None,
        "s://h/x?%61=1": None,
        "s://h/x?A=1": None,
        "s://h/x?a=%zz": None,
        "s://h/x?a=%ff": None,
        "s://h/x?a=1#f": None,
        "s://h/x/?a=1": None,
    },
    "s://h/x{?a}{&b}": {
        "s://h/x?a=1&b=2": {"a": "1", "b": "2"},
        "s://h/x?b=2": {"b": "2"},
    },
    # Values are decoded once.
    "s://h/{a}": {
        "s://h/%2525": {"a": "%25"},
        "s://h/%2F": {"a": "/"},
        "s://h/%2f..%2f": {"a": "/../"},
        "s://h/+": {"a": "+"},
        "s://h/%E8%8C%B6": {"a": "茶"},
        "s://h/茶": None,  # no URI holds it as it is
        "s://h/%zz": None,
        "s://h/%": None,
        "s://h/%4": None,
        "s://h/%ff": None,
        "s://h/%C0%80": None,
        "s://h/%ED%A0%80": None,
        "s://h/%00": {"a": "\0"},
        "s://h/..": {"a": ".."},
        "s://h/a?": None,
        "s://h/a#": None,
        "s://h/a#f": None,
    },
    # Nothing is normalised.
    "http://h/x/{a}": {
        "http://h/x/1": {"a": "1"},
        "HTTP://h/x/1": {"a": "1"},
        "http://h:80/x/1": None,
        "http://h:/x/1": None,
        "http://u@h/x/1": None,
        "http://u:p@h/x/1": None,
        "http://@h/x/1": None,
        "http://H/x/1": None,
        "http://h/x/../x/1": None,
        "http://h/./x/1": None,
        "http://h/x/1#f": None,
        "http://h/%78/1": None,
        "http://%68/x/1": None,
        "http:///h/x/1": None,
    },
    "s://{host}/x": {
        "s://example.com/x": {"host": "example.com"},
        "s://Example%2Ecom/x": {"host": "Example.com"},
        "s:///x": None,
        "s://h:80/x": None,
        "s://u@h/x": None,
        "s://[::1]/x": None,
        "s://h?x": None,
    },
    # A variable that stands twice has one value.
    "s://h/{a}/{a}": {
        "s://h/1/1": {"a": "1"},
        "s://h/1/2": None,
        "s://h/%31/1": {"a": "1"},
        "s://h/%2531/1": None,
    },
    # Only an empty authority matches one.
    "file:///{+p}": {
        "file:///a/b": {"p": "a/b"},
        "file://h/a/b": None,
        "file:/a/b": None,
        "file:////a": None,
    },
    # Escapes in literals are compared as they are written.
    "s://h/%20/{a}": {
        "s://h/%20/1": {"a": "1"},
        "s://h/+/1": None,
    },
}


@pytest.mark.parametrize(
    ("template", "uri", "variables"),
    [(template, uri, found) for template, table in MATCHES.items() for uri, found in table.items()],
)
def test_a_uri_binds_these_variables_or_is_not_found(
    template: str, uri: str, variables: Expected
) -> None:
    assert _matcher(template)(uri) == variables


_matchers: dict[str, Matcher] = {}


def _matcher(template: str) -> Matcher:
    if template not in _matchers:
        _matchers[template] = Matcher(template)
    return _matchers[template]


# Seconds: far more than it takes on any machine, and far less than its square.
SOON = 15


def test_matching_takes_time_in_proportion_to_the_uri() -> None:
    match = Matcher("s://h/{+p}/end")
    for uri in (
        "s://h/" + "a/" * 500_000 + "end",
        "s://h/" + "a/" * 500_000 + "out",
        "s://h/" + "end/" * 250_000 + "ends",
        "s://h/" + "a" * 1_000_000 + "/end",
        "s://h/" + "/" * 1_000_000 + "/end",
        "s://h/" + "%61" * 300_000 + "/end",
        "s://h/" + "%" * 1_000_000 + "/end",
    ):
        begun = time.perf_counter()
        match(uri)
        assert time.perf_counter() - begun < SOON, uri[:20]


def test_a_query_of_many_parameters_takes_time_in_proportion() -> None:
    match = Matcher("s://h/x{?" + ",".join(f"v{n}" for n in range(32)) + "}")
    for uri in ("s://h/x?" + "&" * 1_000_000, "s://h/x?" + "v31=1&" * 150_000):
        begun = time.perf_counter()
        assert match(uri) is None
        assert time.perf_counter() - begun < SOON


# Expanding then matching gives the variables back

texts = st.text(
    st.characters(exclude_categories=("Cs",)),
    min_size=1,
    max_size=12,
)
segments = st.lists(texts, min_size=1, max_size=4)


def escaped(text: str) -> str:
    return quote(text, safe="")


def tail(parts: list[str]) -> str:
    return "/".join(escaped(part) for part in parts)


Expand = Callable[[dict[str, Any]], str]


def _round_trip(template: str, uri: str, variables: dict[str, str]) -> None:
    assert _matcher(template)(uri) == variables


@settings(max_examples=150, deadline=None)
@given(a=texts, b=texts)
def test_segments_come_back(a: str, b: str) -> None:
    uri = f"s://h/{escaped(a)}/x/{escaped(b)}"
    _round_trip("s://h/{a}/x/{b}", uri, {"a": a, "b": b})


@settings(max_examples=150, deadline=None)
@given(host=texts, rest=segments, last=texts)
def test_a_reserved_span_comes_back(host: str, rest: list[str], last: str) -> None:
    uri = f"s://{escaped(host)}/{tail(rest)}/end/{escaped(last)}"
    found = {"host": host, "rest": "/".join(rest), "last": last}
    _round_trip("s://{host}/{+rest}/end/{last}", uri, found)


@settings(max_examples=150, deadline=None)
@given(rest=st.lists(texts, max_size=4))
def test_an_exploded_span_comes_back(rest: list[str]) -> None:
    uri = "s://h" + "".join(f"/{escaped(part)}" for part in rest) + "/end"
    _round_trip("s://h{/rest*}/end", uri, {"rest": "/".join(rest)} if rest else {})


@settings(max_examples=150, deadline=None)
@given(
    values=st.dictionaries(st.sampled_from(["a", "b", "c"]), st.one_of(texts, st.just(""))),
    order=st.randoms(use_true_random=False),
)
def test_query_parameters_come_back_in_any_order(values: dict[str, str], order: Any) -> None:
    pairs = [f"{name}={escaped(value)}" for name, value in values.items()]
    order.shuffle(pairs)
    uri = "s://h/x" + ("?" + "&".join(pairs) if pairs else "")
    _round_trip("s://h/x{?a,b,c}", uri, values)


@settings(max_examples=150, deadline=None)
@given(uri=st.text(st.sampled_from("s:/hHx?&=#%2F0a1.@+é \0{}"), max_size=30))
def test_no_uri_is_ever_more_than_not_found(uri: str) -> None:
    for template in ("s://h/{a}", "s://{h}/{+p}/x", "s://h{/v*}/x{?q}"):
        _matcher(template)(f"s://{uri}")
        _matcher(template)(uri)


@settings(max_examples=300, deadline=None)
@given(template=st.text(st.sampled_from("s:/hx?&=#%2F{}{}{}+*,.;!@ab0é "), max_size=30))
def test_any_text_is_a_template_or_refused_as_one(template: str) -> None:
    for text in (template, f"s://{template}", f"s://h/{template}"):
        if "{" in text:
            refused = refusal(text)
            assert refused is None or "is not supported" in refused
