"""`snodo.auth.require_scopes`: a policy that goes by the scopes of whoever asks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .errors import ConfigurationError, Error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Literal, TypeAlias

    from ._snodo import Context
    from .auth import Component

    Scopes: TypeAlias = str | Iterable[str]
    Needs: TypeAlias = Mapping[str, Scopes] | Callable[[Component], Scopes | None]
    ScopePolicy: TypeAlias = Callable[
        [Literal["discovery", "invocation"], Component, Context], Error | None
    ]

_CODE = -32003


def require_scopes(*scopes: str, needs: Needs | None = None) -> ScopePolicy:
    """Make a policy that holds callers to scopes: ``Server(authorize=auth.require_scopes())``.

    A component needs all of these: ``scopes``, what its ``metadata`` says under ``scopes`` or
    ``scope``, and what ``needs`` says of it. Needed are strings in a list, or one string with
    spaces between them. Metadata that has both names is a fault, and lets nobody in.
    Whoever asks has those that the principal says under ``scopes`` or ``scope``, in either form, as
    OAuth tokens do; one that is no dict has none.

    Who lacks one is refused with -32003, ``Insufficient scope``, and ``requiredScopes`` as data.

    Args:
        *scopes: What every component needs.
        needs: More for some, by their names; or a function of the component that gives what it
            needs, or None. This is told to nobody, while metadata is to whoever sees the component.

    Returns:
        A policy, which one of your own may call too: it gives None or the `Error`.

    Raises:
        ConfigurationError: If one of them cannot be a scope, or says none.
    """
    everywhere = _declared("require_scopes", scopes)
    by_name, ask = _needed(needs)

    def has_scopes(
        phase: Literal["discovery", "invocation"], component: Component, context: Context
    ) -> Error | None:
        needed = [
            *everywhere,
            *_read(_said(component.metadata)),
            *by_name.get(component.name, ()),
            *(_read(ask(component)) if ask is not None else ()),
        ]
        if not needed or _held(context.auth).issuperset(needed):
            return None
        required = list(dict.fromkeys(needed))
        return Error.authorization(_CODE, "Insufficient scope", {"requiredScopes": required})

    has_scopes.__name__ = "snodo.auth.require_scopes"  # as the log and `snodo inspect` name it
    has_scopes._needs = frozenset(by_name)  # type: ignore[attr-defined]  # for who knows all names
    return has_scopes


def _said(metadata: Mapping[str, Any]) -> Any:
    """Give what metadata says is needed, under either name.

    Raises:
        TypeError: If it has both: who wrote one of them may not know of the other.
    """
    if "scopes" in metadata and "scope" in metadata:
        raise TypeError("metadata has scopes and scope: write one of them")
    return metadata.get("scopes", metadata.get("scope"))


def _needed(
    needs: Any,
) -> tuple[dict[str, tuple[str, ...]], Callable[[Component], Scopes | None] | None]:
    """Give what is needed by name, and who is asked for the rest."""
    if needs is None:
        return {}, None
    if isinstance(needs, Mapping):
        for name in needs:
            if not isinstance(name, str):
                raise ConfigurationError("require_scopes needs: names of components are strings")
        return {
            name: _declared(f"require_scopes needs[{name!r}]", given)
            for name, given in needs.items()
        }, None
    from ._callable import runner

    if not callable(needs) or isinstance(needs, type) or runner(needs)[1]:
        raise ConfigurationError(
            "require_scopes needs must be a dict of names and scopes, or a plain function of the"
            " component"
        )
    return {}, needs


def _declared(option: str, given: Any) -> tuple[str, ...]:
    """Check scopes that are written out."""
    try:
        found = _read(given)
    except TypeError:
        raise ConfigurationError(
            f"{option}: scopes are strings; what some components need besides is said by needs="
        ) from None
    for scope in found or ([given] if isinstance(given, str) else ()):
        if not scope or len(scope.split()) != 1 or scope.strip() != scope:
            raise ConfigurationError(f"{option}: a scope is one word, not {scope!r}")
    return found


def _read(needed: Any) -> tuple[str, ...]:
    """Read what is needed.

    Raises:
        TypeError: If it is neither, which is a fault: nobody is let in by a mistake.
    """
    if needed is None:
        return ()
    if isinstance(needed, str):
        return tuple(needed.split())
    found = tuple(needed)
    if isinstance(needed, Mapping) or not all(isinstance(scope, str) for scope in found):
        raise TypeError("scopes must be strings in a list, or one with spaces between them")
    return found


def _held(principal: Any) -> frozenset[str]:
    """Give the scopes of whoever asks; what is no scope gives no right."""
    if not isinstance(principal, Mapping):
        return frozenset()
    found: list[str] = []
    for key in ("scopes", "scope"):
        said = principal.get(key)
        if isinstance(said, str):
            found += said.split()
        elif isinstance(said, (list, tuple)):
            found += [scope for scope in said if isinstance(scope, str)]
    return frozenset(found)
