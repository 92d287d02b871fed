"""What a server's components come to with middleware around them and dependencies overridden.

Specs say what was declared; here they become what the runtime is given. Nothing is called.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ._layers import Layer, Place, Sides, surrounded
from ._shape import shaped

if TYPE_CHECKING:
    from typing import TypeAlias

    from ._components import Components
    from ._injection import Fake, Injection
    from ._kept import Kept
    from ._signature import ResourceSpec

    Fakes: TypeAlias = Mapping[Any, Fake]

_OPERATIONS = {"tool": "tools/call", "resource": "resources/read", "prompt": "prompts/get"}

Bound = tuple[Callable[[str], Sides], ...]
"""The layers of a component, each with its state."""


class Composer:
    """Puts specs together for one server, and holds the states of their layers."""

    def __init__(self, layers: tuple[Layer, ...]) -> None:
        """Take the server's own layers."""
        self._layers = layers
        self._bound: dict[tuple[str, str], tuple[Any, Bound]] = {}
        self.overrides: list[Fakes] = []
        """What is put in place of dependencies, the later before the earlier."""
        self._kept: Kept | None = None

    def composed(self, components: Components) -> dict[str, list[Any]]:
        """Give the specs by list. A component that is there already keeps its states."""
        bound: dict[tuple[str, str], tuple[Any, Bound]] = {}
        overrides = {key: fake for each in self.overrides for key, fake in each.items()}
        offered = {
            f"{kind}s": [
                self._composed(kind, spec, bound, overrides)
                for _, spec in components.table(kind).values()
            ]
            for kind in _OPERATIONS
        }
        self._bound = bound  # once nothing can be wrong any more
        if self._kept is not None:
            offered["resources"].append(self._kept.spec)
        return offered

    def _composed(
        self,
        kind: str,
        declared: Any,
        after: dict[tuple[str, str], tuple[Any, Bound]],
        overrides: Fakes,
    ) -> Any:
        spec = _filled(declared, overrides)
        layers = (*self._layers, *spec.middleware)
        if not layers:
            return spec
        known, bound = self._bound.get((kind, spec.name), (None, ()))
        if known is not declared:
            bound = self._bind(kind, declared, layers)
        after[kind, spec.name] = declared, bound
        if spec is not declared:
            bound = self._bind(kind, declared, layers)  # what was remembered is of other values
        if getattr(spec, "content", None) is not None:
            spec = _awake(spec)
        wrapper, is_async = surrounded(
            bound, _OPERATIONS[kind], spec.is_async, getattr(spec, "shape", None)
        )
        function = getattr(spec, "bare", None) or spec.function
        spec = spec._replace(function=function, wrapper=wrapper, is_async=is_async)
        if kind == "tool":
            # An actor is reached through the function then: the short way has no room for layers.
            return spec._replace(actor=None)
        completions = tuple(_completed(one, bound) for one in spec.completions)
        return spec._replace(completions=completions)

    def _bind(self, kind: str, spec: Any, layers: tuple[Layer, ...]) -> Bound:
        if getattr(spec, "template", None) is not None:
            kind = "resource_template"
        has_output = kind == "tool" and "outputSchema" in json.loads(spec.definition)
        shape = getattr(spec, "shape", None)
        return tuple(
            layer.at(Place(spec.name, kind, slot, has_output, self.kept, shape))
            for slot, layer in enumerate(layers)
        )

    def kept(self) -> Kept:
        """Give where what is too long for a result is kept, made when it is first needed."""
        if self._kept is None:
            from ._kept import Kept

            self._kept = Kept()
        return self._kept


def _filled(spec: Any, overrides: Fakes) -> Any:
    """Give the spec with other dependencies; itself if it has none of them."""
    if _needs(spec.injection, overrides):
        run, is_async = spec.injection.build(overrides)
        shape = getattr(spec, "shape", None)
        function = run if shape is None else shaped(run, is_async, shape)
        spec = spec._replace(function=function, is_async=is_async)
        if hasattr(spec, "bare"):
            spec = spec._replace(bare=run)
    completions = getattr(spec, "completions", ())
    if not any(_needs(one.injection, overrides) for one in completions):
        return spec
    return spec._replace(completions=tuple(_refilled(one, overrides) for one in completions))


def _needs(injection: Injection | None, overrides: Fakes) -> bool:
    return injection is not None and not injection.plan().keys.isdisjoint(overrides)


def _refilled(completion: Any, overrides: Fakes) -> Any:
    if not _needs(completion.injection, overrides):
        return completion
    function, is_async = completion.injection.build(overrides)
    return completion._replace(function=function, is_async=is_async)


def _completed(completion: Any, bound: Bound) -> Any:
    if completion.function is None:
        return completion
    wrapper, is_async = surrounded(bound, "completion/complete", completion.is_async)
    return completion._replace(wrapper=wrapper, is_async=is_async)


def _awake(spec: ResourceSpec) -> ResourceSpec:
    """Give a resource that never changes as one that is read, so that layers are asked."""
    from ._snodo import Result

    assert spec.content is not None, "only such resources are given"
    contents = json.loads(spec.content)
    read = Result.resource_read(contents)
    return spec._replace(content=None, bare=lambda params, context: read)
