"""Members that look like ones which mean something are refused, and others are left alone."""

from __future__ import annotations

from typing import Any

import pytest

import snodo
from snodo import ConfigurationError, DeclarationError, Extension, Server
from snodo.extension import method


def extended(**members: Any) -> Server:
    get = method("jobs/get")(lambda self, params, context: {})
    made = type("Jobs", (Extension,), {"id": "com.example/jobs", "get": get, **members})
    return Server("x", extensions=[made()])


@pytest.mark.parametrize(
    ("member", "meant"),
    [
        ("method", "methods"),
        ("version", "versions"),
        ("setting", "settings"),
        ("result_type", "result_types"),
        ("resultTypes", "result_types"),
        ("filterKeys", "filter_keys"),
        ("operation", "operations"),
        ("negotate", "negotiate"),
        ("notificaton", "notification"),
        ("subcribe", "subscribe"),
        ("missing_capabilties", "missing_capability"),
        ("Shape", "shape"),
    ],
)
def test_an_extension_has_no_misspelt_member(member: str, meant: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        extended(**{member: lambda self: None})
    said = f"extension 'com.example/jobs': {member} means nothing: did you mean {meant}?"
    assert str(caught.value) == said


@pytest.mark.parametrize(
    "member",
    [
        *(
            "jobs",
            "notify",
            "arounds",
            "notifications",
            "result",
            "_version",
            "validate_job",
            "ids",
        ),
        *("negotiated", "negotiator", "subscriber", "VERSION", "METHODS"),
    ],
)
def test_an_extension_may_have_members_of_its_own(member: str) -> None:
    extended(**{member: lambda self: None})


def test_a_function_that_answers_a_method_may_have_any_name() -> None:
    extended(version=method("jobs/version")(lambda self, params, context: {}))


def test_what_stands_between_is_looked_at_too() -> None:
    class Base(Extension):
        id = "com.example/jobs"
        version = ("2026-07-28",)

    class Jobs(Base):
        """Adds nothing."""

    with pytest.raises(ConfigurationError, match="did you mean versions"):
        Server("x", extensions=[Jobs()])


COMPONENTS: list[tuple[type, dict[str, Any]]] = [
    (snodo.Tool, {"call": lambda self, arguments, context: None}),
    (snodo.Prompt, {"render": lambda self, arguments, context: "x"}),
    (snodo.Resource, {"read": lambda self, params, context: "x", "uri": "x://a"}),
]


@pytest.mark.parametrize(("base", "members"), COMPONENTS)
@pytest.mark.parametrize(
    ("member", "meant"),
    [("icon", "icons"), ("descripton", "description"), ("meta_data", "metadata"), ("Name", "name")],
)
def test_a_component_has_no_misspelt_member(
    base: type, members: dict[str, Any], member: str, meant: str
) -> None:
    with pytest.raises(DeclarationError) as caught:
        type("V", (base,), {"name": "v", **members, member: None})
    assert (caught.value.path, caught.value.reason) == (member, "means nothing")
    assert caught.value.advice.startswith(f"did you mean {meant}?")


@pytest.mark.parametrize(("base", "members"), COMPONENTS)
@pytest.mark.parametrize(
    "member",
    [
        *("names", "calls", "tile", "timeouts", "database", "_icon"),
        *("descriptor", "described", "annotated", "NAME", "TIMEOUT", "URI"),
    ],
)
def test_a_component_may_have_members_of_its_own(
    base: type, members: dict[str, Any], member: str
) -> None:
    type("V", (base,), {"name": "v", **members, member: None})


@pytest.mark.parametrize(
    ("base", "members", "member"),
    [
        (snodo.Tool, COMPONENTS[0][1], "inputSchema"),
        (snodo.Tool, COMPONENTS[0][1], "output_shema"),
        (snodo.Prompt, COMPONENTS[1][1], "argument"),
        (snodo.Resource, COMPONENTS[2][1], "mimetype"),
        (snodo.Resource, COMPONENTS[2][1], "uriTemplate"),
    ],
)
def test_each_kind_knows_its_own(base: type, members: dict[str, Any], member: str) -> None:
    with pytest.raises(DeclarationError, match="did you mean"):
        type("V", (base,), {"name": "v", **members, member: None})
