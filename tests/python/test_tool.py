"""The class form of a tool."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

import snodo
from snodo import ConfigurationError, DeclarationError, Server


class Version(snodo.Tool):
    name = "version"
    description = "Latest version of a package"
    input_schema = {  # noqa: RUF012
        "type": "object",
        "properties": {"name": {"type": "string"}},
        "required": ["name"],
    }

    def call(self, arguments: dict[str, Any], context: snodo.Context) -> Any:
        return {"version": "1.2.3"}


def test_a_class_is_listed_with_its_own_parts() -> None:
    server = Server("test")
    server.add(Version, Version)
    (spec,) = server._offering.tools()
    assert spec.slots is None
    assert spec.function({}, None) == {"version": "1.2.3"}
    assert json.loads(spec.definition) == {
        "name": "version",
        "description": "Latest version of a package",
        "inputSchema": Version.input_schema,
    }


def test_instances_carry_their_own_parts_and_may_be_async() -> None:
    class Echo(snodo.Tool):
        name = "echo"

        def __init__(self, name: str) -> None:
            self.name = name

        async def call(self, arguments: dict[str, Any], context: snodo.Context) -> Any:
            return self.name

    server = Server("test")
    one = Echo("one")
    server.add(one, Echo("two"), one)
    first, second = server._offering.tools()
    assert (first.name, second.name, first.is_async) == ("one", "two", True)
    assert asyncio.run(second.function({}, None)) == "two"
    with pytest.raises(ConfigurationError, match="add an instance"):
        server.add(Echo)
    with pytest.raises(ConfigurationError, match="non-empty string name"):
        server.add(Echo(""))


def test_bases_are_checked_only_when_they_are_tools() -> None:
    class Base(snodo.Tool, abstract=True):
        def call(self, arguments: dict[str, Any], context: snodo.Context) -> Any: ...

    class Real(Base):
        name = "real"

    Server("test").add(Real)
    with pytest.raises(DeclarationError, match="name: is missing"):

        class Wrong(Base):
            pass


def test_hand_written_classes_are_checked_at_registration() -> None:
    class Fine:
        name = "fine"
        description = None
        input_schema = {"type": "object"}  # noqa: RUF012

        def call(self, arguments: Any, context: Any) -> Any: ...

    class Nameless(Fine):
        name = ""

    class Broken(Fine):
        input_schema = {}  # noqa: RUF012

    class Mute:
        name = "mute"

    server = Server("test")
    server.add(Fine())
    assert json.loads(server._offering.tools()[0].definition) == {
        "name": "fine",
        "inputSchema": {"type": "object"},
    }
    with pytest.raises(
        ConfigurationError, match=r"tool .*Nameless must return a non-empty string name"
    ):
        server.add(Nameless())
    with pytest.raises(ConfigurationError, match="exactly 'object'"):
        server.add(Broken)
    with pytest.raises(ConfigurationError, match="is no tool"):
        server.add(Mute)
    with pytest.raises(ConfigurationError, match="is no tool"):
        server.add(len)
