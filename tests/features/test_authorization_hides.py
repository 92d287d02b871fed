"""Whatever a policy hides is never seen: in no list, call, error, suggestion or subscription."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from snodo import Context, Error, Server, StaticResource, auth

PREFIX = "io.modelcontextprotocol/"
META = {PREFIX + "protocolVersion": "2026-07-28", PREFIX + "clientCapabilities": {}}
# Names that are close enough to each other to be suggested for one another.
NAMES = ["alpha", "alphb", "alpah", "beta", "betta", "gamma"]
WORD = "hidden-word"
KINDS = ("tool", "prompt", "resource", "resource_template")

components = st.sets(st.tuples(st.sampled_from(KINDS), st.sampled_from(NAMES)), min_size=1)


def policy_of(hidden: set[tuple[str, str]]) -> Any:
    def policy(phase: str, component: auth.Component, context: Context) -> Error | None:
        if (component.kind, component.name.partition("-")[0]) in hidden:
            return Error(-32003, WORD, {"why": WORD})
        return None

    return policy


def made(
    offered: set[tuple[str, str]], hidden: set[tuple[str, str]] | None, page_size: int | None
) -> Server:
    """A server of these; those that are hidden have a word in all that is said of them."""
    policy = None if hidden is None else policy_of(hidden)
    server = Server("s", authorize=policy, conceal_refusals=True, page_size=page_size)
    for kind, name in sorted(offered):
        description = WORD if hidden and (kind, name) in hidden else "open"
        if kind == "tool":
            server.tool(name=name, description=description, input_schema={"type": "object"})(
                lambda arguments, context, said=description: said
            )
        elif kind == "prompt":
            server.prompt(
                name=name,
                description=description,
                arguments=[{"name": "x", "required": True}],
                complete={"x": [description]},
            )(lambda arguments, context, said=description: said)
        elif kind == "resource":
            server.add(
                StaticResource(
                    f"r://{name}", text=description, name=f"{name}-r", description=description
                )
            )
        else:
            _template(server, name, description)
    return server


def _template(server: Server, name: str, description: str) -> None:
    def read(id: str) -> str:
        return description

    server.resource(
        f"t://{name}/{{id}}",
        name=f"{name}-t",
        description=description,
        complete={"id": [description]},
    )(read)


def ask(server: Server, method: str, **params: Any) -> dict[str, Any]:
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META}}
    answer = server.handle(message)
    assert answer is not None
    return answer


def everything(server: Server) -> list[tuple[str, dict[str, Any]]]:
    """What a client can ask about these names, and the answers."""
    said = []

    def note(method: str, **params: Any) -> dict[str, Any]:
        answer = ask(server, method, **params)
        said.append((json.dumps([method, params], sort_keys=True), answer))
        return answer

    for method in ("tools/list", "prompts/list", "resources/list", "resources/templates/list"):
        cursor: dict[str, Any] = {}
        while True:
            answer = note(method, **cursor)
            if "nextCursor" not in answer.get("result", {}):
                break
            cursor = {"cursor": answer["result"]["nextCursor"]}
    for name in [*NAMES, "alph", "bet", "zzz"]:
        note("tools/call", name=name, arguments={})
        note("tools/call", name=name, arguments={"x": 1})
        note("prompts/get", name=name)
        note("prompts/get", name=name, arguments={"x": "1"})
        for uri in (f"r://{name}", f"t://{name}/1", f"t://{name}"):
            note("resources/read", uri=uri)
        for reference in (
            {"type": "ref/prompt", "name": name},
            {"type": "ref/resource", "uri": f"t://{name}/{{id}}"},
        ):
            for argument in ("x", "id", "no"):
                note(
                    "completion/complete",
                    ref=reference,
                    argument={"name": argument, "value": ""},
                )
    return said


@settings(deadline=None, max_examples=40)
@given(offered=components, hidden=components, page_size=st.sampled_from([None, 1, 2]))
def test_what_is_hidden_is_not_there(
    offered: set[tuple[str, str]], hidden: set[tuple[str, str]], page_size: int | None
) -> None:
    # One component of each kind is there for all, for what there is none of has no method.
    always = {(kind, "gamma") for kind in KINDS}
    hidden = (hidden & offered) - always
    with_hidden = everything(made(offered | always, hidden, page_size))
    without = everything(made((offered | always) - hidden, set(), page_size))
    assert with_hidden == without
    assert WORD not in json.dumps(with_hidden)
