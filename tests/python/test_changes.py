"""Changes to a server in use: all at once, or not at all."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import snodo
from snodo import ConfigurationError, Resource, Server, StaticResource


@snodo.tool
def add(a: int, b: int) -> int:
    return a + b


@snodo.prompt
def hello(name: str) -> str:
    return name


@snodo.prompt(name="hello")
def other_hello(name: str) -> str:
    """Say hello."""
    return name


class Runtime:
    """Stands for the compiled one: takes components, or refuses them."""

    has_coroutines = False
    has_loop = False

    def __init__(self, refusal: str | None = None) -> None:
        self.refusal = refusal
        self.offered: list[dict[str, list[str]]] = []

    def replace(self, components: dict[str, list[Any]]) -> None:
        if self.refusal is not None:
            raise ConfigurationError(self.refusal)
        self.offered.append(
            {kind: [spec.name for spec in specs] for kind, specs in components.items()}
        )


def serving(refusal: str | None = None) -> tuple[Server, Runtime]:
    server = Server("x")
    server.add(add, hello)
    server._offering.freeze()
    runtime = Runtime(refusal)
    server._offering._made = runtime  # type: ignore[assignment]
    return server, runtime


def test_changes_are_put_in_place_together() -> None:
    server, runtime = serving()
    with server.changes() as changes:
        changes.remove("tool", "add")
        changes.add(StaticResource("x://a", text="a", name="a"))
        assert runtime.offered == []
        assert changes.changed == set()
    assert runtime.offered == [{"tools": [], "resources": ["a"], "prompts": ["hello"]}]
    assert changes.changed == {"tools", "resources"}
    assert server._offering.counts() == "0 tools, 1 resource, 1 prompt"


def test_a_component_may_take_the_place_of_another() -> None:
    server, _ = serving()
    with server.changes() as changes:
        changes.remove("prompt", "hello")
        changes.add(other_hello)
    assert changes.changed == {"prompts"}


def test_what_reads_as_before_has_not_changed() -> None:
    server, runtime = serving()
    with server.changes() as changes:
        changes.remove("tool", "add")
        changes.add(add)
        changes.add(hello)
    assert changes.changed == set()
    assert len(runtime.offered) == 1


@pytest.mark.parametrize("wrong", ["removed", "taken", "raised", "refused"])
def test_nothing_changes_when_anything_is_wrong(wrong: str) -> None:
    server, runtime = serving("no" if wrong == "refused" else None)
    changes = server.changes()

    def change() -> None:
        with changes:
            changes.add(StaticResource("x://a", text="a"))
            if wrong == "removed":
                changes.remove("tool", "nothing")
            if wrong == "taken":
                changes.add(other_hello)
            if wrong == "raised":
                raise ConfigurationError("mine")

    with pytest.raises(ConfigurationError) as caught:
        change()
    if wrong == "removed":
        assert "there is no tool 'nothing' to remove; there are: add" in str(caught.value)
    assert runtime.offered == []
    assert changes.changed == set()
    assert server._offering.counts() == "1 tool, 1 prompt"


def test_changes_work_before_the_server_is_used() -> None:
    server = Server("x")
    with server.changes() as changes:
        changes.add(add)
    assert changes.changed == {"tools"}
    server.add(hello)
    assert server._offering.counts() == "1 tool, 1 prompt"


def test_a_block_is_used_once_and_from_within() -> None:
    server, _ = serving()
    changes = server.changes()
    for outside in (lambda: changes.add(add), lambda: changes.remove("tool", "add")):
        with pytest.raises(ConfigurationError, match="within"):
            outside()
    with changes:
        pass
    with pytest.raises(ConfigurationError, match="used once"), changes:
        pass
    with server.changes() as more:
        with pytest.raises(ConfigurationError, match="is no tool"):
            more.add(5)
        with pytest.raises(ConfigurationError, match="is no tool"):
            more.add(len)
    with pytest.raises(ConfigurationError, match="no 'tools' components"), server.changes() as more:
        more.remove("tools", "add")  # type: ignore[arg-type]


def test_adding_to_a_server_in_use_names_the_way_to_do_it() -> None:
    server, _ = serving()
    for refused in (
        lambda: server.add(add),
        lambda: server.prompt(other_hello),
        lambda: server.resource("x://a")(lambda: ""),
        lambda: server.complete("hello", "name")(lambda value: []),
    ):
        with pytest.raises(ConfigurationError, match=r"server\.changes\(\)"):
            refused()


def test_changes_from_many_threads_are_all_there() -> None:
    server, runtime = serving()

    def change(number: int) -> None:
        with server.changes() as changes:
            changes.add(StaticResource(f"x://{number}", text="a"))

    threads = [threading.Thread(target=change, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=10)
    assert len(runtime.offered[-1]["resources"]) == 20


def test_a_matcher_may_change_another_server() -> None:
    other = Server("other")

    class Curious(Resource):
        name = "curious"
        uri_template = "x://{a}"

        def matches(self, uri: str) -> bool:
            with other.changes() as changes:
                changes.add(StaticResource(f"seen://{len(seen)}", text=uri))
            seen.append(uri)
            return False

        def read(self, params: object, context: object) -> str:
            return ""

    seen: list[str] = []
    server = Server("asked")
    server.add(Curious)
    with server.changes() as changes:
        changes.add(StaticResource("y://b", text="b"))
    assert changes.changed == {"resources"}
    assert "y://b" in seen
