"""What an extension may be, found when its server is made."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

import msgspec
import pytest

from driver import request
from snodo import ConfigurationError, Context, Error, Event, Extension, Server, tool
from snodo.extension import Method, Operation, method


class Good(Extension):
    id = "com.example/good"

    @method("jobs/good")
    def get(self, params: dict[str, Any], context: Context) -> dict[str, Any]:
        return {}


def varied(**attributes: Any) -> Extension:
    kind = type("Varied", (Good,), attributes)
    extension: Extension = kind()
    return extension


def refusal(*extensions: Any, **options: Any) -> str:
    with pytest.raises(ConfigurationError) as refused:
        Server("x", extensions=extensions, **options)
    return str(refused.value)


async def _async(self: Any, *given: Any) -> None:
    """A coroutine where none belongs."""


def _plain(self: Any, *given: Any) -> None:
    """No coroutine where one belongs."""


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        ({"id": "good"}, "must be a prefix and a name"),
        ({"id": "com.example/"}, "must be a prefix and a name"),
        ({"id": 5}, "id must be a string"),
        ({"methods": {}}, "needs at least one method"),
        ({"methods": 5}, "methods must map names to functions"),
        ({"methods": {5: _plain}}, "methods must map names to functions"),
        ({"methods": {"a/b": 5}}, "must be a function"),
        ({"methods": {"a/b": lambda params: {}}}, "must take (params, context)"),
        ({"methods": {"tools/call": _plain}}, "the protocol's own"),
        ({"methods": {"roots/list": _plain}}, "the protocol's own"),
        ({"methods": {"notifications/message": _plain}}, "no request of a client"),
        ({"methods": {"a/b": Method(_plain, ("Host", "x"))}}, "must be Mcp-Name"),
        ({"methods": {"a/b": Method(_plain, "x")}}, 'header must be ("Mcp-Name", "parameter")'),
        ({"versions": ["2025-11-25"]}, "has no extensions"),
        ({"versions": ["2030-01-01"]}, "is not enabled"),
        ({"versions": []}, "name one at least"),
        ({"versions": "2026-07-28"}, "versions must be a list of strings"),
        ({"settings": 5}, "settings must be a JSON object"),
        ({"settings": {"a": object()}}, "settings must be a JSON object"),
        ({"advertise": 1}, "advertise must be a boolean"),
        ({"missing_capability": "no"}, "must be a boolean or an Error"),
        ({"missing_capability": Error(1, "x", object())}, "the data of missing_capability"),
        ({"result_types": ["complete"]}, "the protocol's own"),
        ({"result_types": "job"}, "result_types must be a list of strings"),
        ({"operations": [5], "around": _async}, "operations must be a list of strings"),
        ({"operations": ["tools/call"]}, "operations needs around()"),
        (
            {"operations": ["tools/cal"], "around": _async},
            'operation "tools/cal" is none that around() can be around',
        ),
        (
            {"operations": ["subscriptions/listen"], "around": _async},
            'operation "subscriptions/listen" is none',
        ),
        (
            {"operations": ["jobs/good"], "around": _async},
            'operation "jobs/good" is none',
        ),
        ({"filter_keys": ["jobIds"]}, "filter_keys needs notification()"),
        ({"notification": _plain}, "notification() needs filter_keys"),
        ({"subscribe": _plain}, "subscribe() needs filter_keys"),
        (
            {"filter_keys": ["toolsListChanged"], "notification": _plain},
            "the protocol's own",
        ),
        ({"around": _plain}, "around() must be written as `async def`"),
        ({"validate": _async}, "validate() must be a plain function"),
        ({"shape": _async}, "shape() must be a plain function"),
    ],
)
def test_what_cannot_hold_is_refused(attributes: dict[str, Any], said: str) -> None:
    assert said in refusal(varied(**attributes))


@pytest.mark.parametrize(
    ("extensions", "said"),
    [
        (lambda: [Good], "write Good() for an instance"),
        (lambda: ["com.example/good"], "which is not installed"),
        (lambda: [5], "must be Extension objects, not int"),
        (lambda: [Good(), Good()], "installed twice"),
        (lambda: [Good(), varied(id="com.example/other")], '"com.example/good"\'s already'),
    ],
)
def test_what_is_no_extension_is_refused(extensions: Callable[[], list[Any]], said: str) -> None:
    assert said in refusal(*extensions())


def test_two_filter_keys_cannot_be_the_same() -> None:
    own = {"filter_keys": ["jobIds"], "notification": _plain}
    other = varied(id="com.example/other", methods={"a/b": _plain}, **own)
    assert '"com.example/good"\'s already' in refusal(varied(**own), other)


def test_a_lone_extension_is_no_list() -> None:
    for lone in (Good(), "com.example/good", 5):
        with pytest.raises(ConfigurationError, match="must be a list of Extension objects"):
            Server("x", extensions=lone)  # type: ignore[arg-type]


def test_a_revision_has_to_be_enabled() -> None:
    assert "is not enabled" in refusal(Good(), protocols=["2025-11-25"])


def test_the_parentheses_of_a_method_are_not_forgotten() -> None:
    with pytest.raises(ConfigurationError, match="an extension method needs its name"):

        @method  # type: ignore[arg-type]
        def get(params: Any, context: Any) -> None:
            """Never called."""


def test_marked_methods_are_found() -> None:
    class More(Good):
        @method("good/more", header=("Mcp-Name", "goodId"))
        async def more(self, params: dict[str, Any], context: Context) -> dict[str, Any]:
            return {}

    more = More()
    assert dict(more.methods) == {
        "jobs/good": Method(more.get),
        "good/more": Method(more.more, ("Mcp-Name", "goodId")),
    }


class Struct(msgspec.Struct):
    jobId: str


@dataclass
class Record:
    jobId: str


class Typed(TypedDict):
    jobId: str


def test_parameters_become_what_their_hint_says() -> None:
    seen: list[Any] = []

    class Hinted(Extension):
        id = "com.example/good"

        @method("jobs/struct")
        def struct(self, params: Struct, context: Context) -> dict[str, Any]:
            seen.append(params)
            return {}

        @method("jobs/record")
        async def record(self, params: Record, context: Context) -> dict[str, Any]:
            seen.append(params)
            return {}

        @method("jobs/typed")
        def typed(self, params: Typed, context: Context) -> dict[str, Any]:
            seen.append(params)
            return {}

        @method("jobs/plain")
        def plain(self, params: Mapping[str, Any], context: Context) -> dict[str, Any]:
            seen.append(params)
            return {}

    server = Server("x", extensions=[Hinted()])
    declared = {"extensions": {"com.example/good": {}}}
    for name in ("struct", "record", "typed", "plain"):
        sent = {"jobId": "a"} if name in ("typed", "plain") else {"jobId": "a", "more": 1}
        message = request(f"jobs/{name}", sent, clientCapabilities=declared)
        answer = server.handle(message)
        assert answer is not None
        assert "result" in answer, answer
        if name != "plain":
            message = request(f"jobs/{name}", {"jobId": 5}, clientCapabilities=declared)
            refused = server.handle(message)
            assert refused is not None
            assert refused["error"]["code"] == -32602
    record = {"jobId": "a"}
    assert seen == [Struct("a"), Record("a"), record, record]


def test_a_hint_that_cannot_be_resolved_is_refused() -> None:
    class Unknown(Good):
        @method("jobs/unknown")
        def unknown(self, params: Nowhere, context: Context) -> None:  # type: ignore[name-defined]  # noqa: F821
            """Never called."""

    assert "cannot be read" in refusal(Unknown())


def test_an_operation_says_what_is_asked() -> None:
    operation = Operation("tools/call", {"name": "x"})
    assert (operation.method, operation.params) == ("tools/call", {"name": "x"})


def test_events_of_extensions_say_what_they_are() -> None:
    event = Event.extension("com.example/good", "a", {"n": [1]}, {"com.example/k": 1})
    assert (event.kind, event.selector, event.payload) == ("extension", "a", {"n": [1]})
    assert event.uri is None
    assert event.metadata == {"com.example/k": 1}
    assert repr(event) == "<snodo.Event com.example/good a>"
    assert event == Event.extension("com.example/good", "a", {"n": [1]}, {"com.example/k": 1})
    assert event != Event.extension("com.example/good", "a", {"n": [2]}, {"com.example/k": 1})
    assert Event.tools_changed().selector is None
    assert Event.tools_changed().payload is None
    with pytest.raises(ValueError, match="selector must not be empty"):
        Event.extension("com.example/good", "", {})
    with pytest.raises(TypeError, match="event payload"):
        Event.extension("com.example/good", "a", object())
    with pytest.raises(TypeError, match="larger than"):
        Event.extension("com.example/good", "a", "x" * (1 << 20))


@tool
def added() -> str:
    return ""


def test_a_change_of_the_offer_keeps_extensions() -> None:
    server = Server("x", extensions=[Good()])
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"extensions": {"com.example/good": {}}},
    }
    message = {"jsonrpc": "2.0", "id": 1, "method": "jobs/good", "params": {"_meta": meta}}

    def ask() -> str:
        return json.dumps(server.handle(message))

    before = ask()
    with server.changes() as changes:
        changes.add(added)

    assert ask() == before
    assert "complete" in before


async def _goes_on(self: Any, context: Any, operation: Any, call_next: Any) -> Any:
    return await call_next()


def test_layers_have_an_end_far_from_that_of_the_stack() -> None:
    def layers(count: int) -> list[Extension]:
        methods = [{f"l{at}/x": lambda params, context: {}} for at in range(count)]
        return [
            varied(id=f"com.example/l{at}", methods=methods[at], around=_goes_on)
            for at in range(count)
        ]

    assert "at most 16 may have around()" in refusal(*layers(17))
