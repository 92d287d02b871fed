"""The public names, pinned, and what importing them costs."""

from __future__ import annotations

import subprocess
import sys

import snodo

NAMES = [
    "Actor",
    "ActorError",
    "ActorName",
    "Answer",
    "Answers",
    "Arg",
    "Audio",
    "Cache",
    "Cancelled",
    "ConfigurationError",
    "Context",
    "DeclarationError",
    "Declined",
    "Depends",
    "DirectoryResource",
    "EmbeddedResource",
    "Error",
    "Event",
    "Extension",
    "FileResource",
    "Filter",
    "Hub",
    "Image",
    "InputRequest",
    "Message",
    "Prompt",
    "Resource",
    "ResourceLink",
    "Result",
    "Server",
    "State",
    "Source",
    "StaticResource",
    "Supervisor",
    "Text",
    "ThreadActor",
    "Tool",
    "ToolError",
    "actor_call",
    "actor_cast",
    "actors",
    "auth",
    "current_auth",
    "current_client_capabilities",
    "current_client_info",
    "current_context",
    "current_headers",
    "current_meta",
    "current_request_id",
    "current_state",
    "current_trace",
    "elicit",
    "extension",
    "middleware",
    "prompt",
    "resource",
    "roots",
    "sampling",
    "telemetry",
    "tool",
]


def test_the_public_names_are_these_and_no_others() -> None:
    assert sorted(NAMES) == snodo.__all__ == sorted(snodo._HOMES)
    assert set(NAMES) <= set(dir(snodo))


def test_every_public_name_can_be_had() -> None:
    for name in NAMES:
        value = getattr(snodo, name)
        assert value is getattr(snodo, name)
        assert getattr(value, "__name__", name) in (name, f"snodo.{name}")


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(snodo, "nothing")


def test_importing_snodo_imports_nothing_heavy() -> None:
    code = (
        "import sys; before = set(sys.modules); import snodo; from snodo import Server;"
        "Server('x'); print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"asyncio", "dataclasses", "inspect", "msgspec", "pydantic", "logging", "json"}
    assert heavy.isdisjoint(done.stdout.split())
