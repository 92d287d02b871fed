"""What a server offers, by kind, with unique names; copied whole when something is to change.

Holds specs and what they were made of. Never looks into a function: that is done when it is
declared.
"""

from __future__ import annotations

from .errors import ConfigurationError, DeclarationError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import FrameType
    from typing import Any

    from ._signature import PromptSpec, ResourceSpec, ToolSpec
    from ._subject import Declaration

KINDS = ("tool", "resource", "prompt")
"""The kinds of components; their lists are called by the plural."""

_METHODS = {"tool": "call", "resource": "read", "prompt": "render"}


class Components:
    """Three tables from name to what was added under it and its spec, in the order of adding."""

    __slots__ = ("prompts", "resources", "tools")

    def __init__(self) -> None:
        """Begin with nothing."""
        self.tools: dict[str, tuple[Any, ToolSpec]] = {}
        self.resources: dict[str, tuple[Any, ResourceSpec]] = {}
        self.prompts: dict[str, tuple[Any, PromptSpec]] = {}

    def copy(self) -> Components:
        """Give a second one that changes by itself."""
        twin = Components()
        for kind in KINDS:
            twin.table(kind).update(self.table(kind))
        return twin

    def table(self, kind: str) -> dict[str, tuple[Any, Any]]:
        """Give the table of a kind."""
        table: dict[str, tuple[Any, Any]] = getattr(self, f"{kind}s")
        return table

    def register(self, kind: str, subject: Any, spec: Any) -> None:
        """Take a spec under its name; the same subject again changes nothing.

        Raises:
            ConfigurationError: If its name or its URI is taken.
        """
        table = self.table(kind)
        taken = table.get(spec.name)
        if taken is not None:
            # Bound methods are made anew at every access and compare equal.
            if taken[0] is subject or (callable(subject) and taken[0] == subject):
                return
            raise ConfigurationError(
                f'{kind} name "{spec.name}" is already registered by {_shown(taken[0])}'
                f" ({taken[1].where})"
            )
        if kind == "resource":
            if spec.matches is not None:
                _asked(spec, spec.matches, spec.template)
            self._refuse_taken_uri(spec)
        else:
            _warn_of_name(kind, spec)
        table[spec.name] = (subject, spec)

    def replace(self, kind: str, spec: Any) -> None:
        """Put a spec in the place of the one with its name."""
        table = self.table(kind)
        table[spec.name] = (table[spec.name][0], spec)

    def remove(self, kind: str, name: str) -> None:
        """Drop a component, and what was added together with it.

        Raises:
            ConfigurationError: If there is none.
        """
        if kind not in KINDS:
            raise ConfigurationError(f"there are no {kind!r} components: {', '.join(KINDS)}")
        table = self.table(kind)
        if name not in table:
            known = ", ".join(sorted(table)) or "none"
            raise ConfigurationError(f"there is no {kind} {name!r} to remove; there are: {known}")
        subject = table[name][0]
        for other in [key for key, (known, _) in table.items() if known is subject]:
            del table[other]

    def has(self, subject: Any) -> bool:
        """Tell whether something was added already."""
        return any(known is subject for kind in KINDS for known, _ in self.table(kind).values())

    def changed(self, before: Components) -> set[str]:
        """Name the lists that read otherwise than before."""
        return {f"{kind}s" for kind in KINDS if _listed(self, kind) != _listed(before, kind)}

    def _refuse_taken_uri(self, spec: ResourceSpec) -> None:
        for subject, known in self.resources.values():
            if (known.uri, known.template) == (spec.uri, spec.template):
                form = "URI" if spec.template is None else "template"
                raise ConfigurationError(
                    f'resource {form} "{spec.uri or spec.template}" is already registered by'
                    f" {_shown(subject)} ({known.where})"
                )
            for template, direct in ((spec, known), (known, spec)):
                if direct.uri is not None and _matches(template, direct.uri):
                    raise ConfigurationError(
                        f'resource URI "{direct.uri}" ({direct.where}) is also matched by the'
                        f' template "{template.template}" ({template.where}): a read would have'
                        " two answers"
                    )


def _matches(spec: ResourceSpec, uri: str) -> bool:
    """Tell whether a template, by its shape or by code of its own, matches a URI."""
    if spec.template is None:
        return False
    if spec.matches is not None:
        return _asked(spec, spec.matches, uri)
    from ._snodo import uri_template_matches

    return uri_template_matches(spec.template, uri)


def _warn_of_name(kind: str, spec: ToolSpec | PromptSpec) -> None:
    from ._definition import is_usual_name

    if not is_usual_name(spec.name):
        from ._report import unusual_name

        unusual_name(kind, spec.name, spec.where)


def _asked(spec: ResourceSpec, matches: Callable[[str], Any], uri: str) -> bool:
    """Ask a template's own code, which has to give what it would have to give at a read.

    Raises:
        ConfigurationError: If it raises or gives anything else.
    """
    wrong = f"matches of the resource {spec.name!r} ({spec.where})"
    try:
        answer = matches(uri)
    except Exception as error:
        raise ConfigurationError(
            f"{wrong} raised {type(error).__name__} when asked about {uri!r}: it must give False"
            " for what it does not match"
        ) from error
    if isinstance(answer, bool):
        return answer
    if isinstance(answer, dict) and all(
        isinstance(name, str) and isinstance(value, str) for name, value in answer.items()
    ):
        return True
    raise ConfigurationError(
        f"{wrong} gave {type(answer).__name__} when asked about {uri!r}: it must give True, False"
        " or a dict of strings"
    )


def specs_of(definition: Any, components: Components, frame: FrameType) -> list[tuple[str, Any]]:
    """Give kind and spec of everything that a definition declares; nothing if it is there already.

    Args:
        definition: A declared function, a component's class or object, or a ready-made resource.
        components: What is there already.
        frame: Where it is added.

    Raises:
        ConfigurationError: If it declares nothing, or a part of it is wrong.
    """
    if isinstance(definition, type):
        return _of_class(definition, components)
    found = [(kind, _of_function(definition, one, frame)) for kind, one in _marks(definition)]
    if found:
        return found
    if hasattr(definition, "__snodo_specs__"):
        return [("resource", spec) for spec in definition.__snodo_specs__()]
    kind = _kind(definition)
    if kind is not None:
        return [(kind, _of_object(definition, kind))]
    name = getattr(definition, "__qualname__", type(definition).__qualname__)
    raise ConfigurationError(
        f"{name} is no tool, resource or prompt: decorate it with @snodo.tool, @snodo.resource or"
        " @snodo.prompt"
    )


def _of_class(cls: Any, components: Components) -> list[tuple[str, Any]]:
    kind = _kind(cls)
    if kind is None:
        raise ConfigurationError(
            f"{cls.__qualname__} is no tool, resource or prompt: derive it from snodo.Tool,"
            " snodo.Resource or snodo.Prompt"
        )
    if components.has(cls):
        return []
    try:
        instance = cls()
    except TypeError as error:
        raise ConfigurationError(
            f"{kind} {cls.__qualname__} cannot be made without arguments: add an instance of it"
        ) from error
    return [(kind, _of_object(instance, kind))]


def _kind(definition: Any) -> str | None:
    """Tell what a class or an object of the full-control form is, by the method it has."""
    return next((kind for kind, name in _METHODS.items() if hasattr(definition, name)), None)


def _of_object(instance: Any, kind: str) -> Any:
    """Give the spec of an object of the full-control form.

    Raises:
        ConfigurationError: If a part is missing or wrong.
    """
    try:
        if kind == "tool":
            from ._tool import registered

            return registered(instance)
        if kind == "resource":
            from ._resource import registered as resource_registered

            return resource_registered(instance)
        from ._prompt import registered as prompt_registered

        return prompt_registered(instance)
    except DeclarationError as error:
        raise ConfigurationError(str(error)) from None


def _marks(definition: Any) -> list[tuple[str, Declaration]]:
    from ._subject import mark

    marks = [(kind, getattr(definition, mark(kind), None)) for kind in KINDS]
    return [(kind, found) for kind, found in marks if found is not None]


def _of_function(definition: Any, declaration: Declaration, frame: FrameType) -> Any:
    """Give the spec of what carries a declaration: declared itself, bound, or wrapped."""
    if declaration.spec is not None and declaration.subject is definition:
        return declaration.spec
    from ._callable import is_method
    from .decorators import spec_maker

    if is_method(definition):
        raise ConfigurationError(
            f"{definition.__qualname__} is a method without an instance: add it from one,"
            f" server.add(instance.{definition.__name__})"
        )
    return spec_maker(declaration.kind)[1](definition, declaration.options, frame)


def _listed(components: Components, kind: str) -> Mapping[str, bytes]:
    return {name: spec.definition for name, (_, spec) in components.table(kind).items()}


def _shown(subject: Any) -> str:
    cls = subject if hasattr(subject, "__qualname__") else type(subject)
    return f"{cls.__module__}.{cls.__qualname__}"
