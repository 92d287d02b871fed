"""Whether declarations of actor tools can be read off their source, by people and by scanners.

At import the calling expression is found by the positions of the frame that declares; `snodo check`
looks for all of them in a file. Nothing is run here.
"""

from __future__ import annotations

import ast
import functools
import linecache
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from .errors import DeclarationError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import FrameType

FORMS = ("call", "cast")


class Written(NamedTuple):
    """Which parts of one declaration are written out."""

    options: bool = True
    """Each by its keyword, none by ``*`` or ``**``."""
    name: bool = True
    target: bool = True
    timeout_ms: bool = True


WRONG_NAME = "Actor tool names must be non-empty string literals"
WRONG_TARGET = "target must be a fixed actor name"
WRONG_TIMEOUT = "timeout_ms must be a positive integer"
ADVICE = {
    "name": 'write the name itself, as "counter_add"',
    "options": "write each option by its keyword, none by * or **",
    "target": 'write target="counter", or name a module-level constant annotated as Final',
    "timeout_ms": "write the number itself, as timeout_ms=2_000",
}


def wrong_options(form: str, name: object) -> str:
    """Say that there are options too many or too few."""
    return f'Actor {form} "{name}" has missing or unknown options'


def written(frame: FrameType, target: object) -> Written:
    """Tell how the declaration is written that a frame is calling; fully, where no source tells.

    Args:
        frame: The caller of what declares.
        target: The target that came; what is written has to stand for it.
    """
    positions = next(_positions(frame), None)
    if positions is None or None in positions:
        return Written()
    linecache.checkcache(frame.f_code.co_filename)
    lines = linecache.getlines(frame.f_code.co_filename, frame.f_globals)
    source = _parsed("".join(lines))
    call = source and source.calls.get((positions[1], positions[3]))
    if source is None or call is None:
        return Written()
    found = _read(call, source.constants)
    written_out = next((one.value for one in call.keywords if one.arg == "target"), None)
    if written_out is None or _fixed(written_out, source.constants) == target:
        return found
    return found._replace(target=False)


def _positions(frame: FrameType) -> Iterator[Any]:
    for place, positions in enumerate(frame.f_code.co_positions()):
        if place == frame.f_lasti // 2:
            yield positions


class _Source(NamedTuple):
    calls: dict[tuple[int | None, int | None], ast.Call]
    """By line and column of their end: no two calls end in one place."""
    constants: Mapping[str, ast.expr]


@functools.lru_cache(maxsize=4)
def _parsed(text: str) -> _Source | None:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return None
    calls = {
        (node.end_lineno, node.end_col_offset): node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
    }
    return _Source(calls, _constants(tree))


def _constants(tree: ast.Module) -> dict[str, ast.expr]:
    """Give what names of the module stand for that are annotated as Final.

    Those alone that nothing else in the file binds, so that they are the same everywhere in it.
    """
    bound = Counter(_bound(tree))
    return {
        statement.target.id: statement.value
        for statement in tree.body
        if isinstance(statement, ast.AnnAssign)
        and isinstance(statement.target, ast.Name)
        and statement.value is not None
        and _called(_bare(statement.annotation)) == "Final"
        and bound[statement.target.id] == 1
    }


def _bound(tree: ast.Module) -> Iterator[str]:
    """Give each name as often as something in the file binds it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
            yield node.name
        elif isinstance(node, ast.MatchMapping) and node.rest:
            yield node.rest


def _bare(annotation: ast.expr) -> ast.expr:
    return annotation.value if isinstance(annotation, ast.Subscript) else annotation


def _called(node: ast.expr) -> str | None:
    """Give the last part of a dotted name."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None


def _read(call: ast.Call, constants: Mapping[str, ast.expr]) -> Written:
    options = {keyword.arg: keyword.value for keyword in call.keywords}
    starred = None in options or any(isinstance(one, ast.Starred) for one in call.args)
    target, timeout = options.get("target"), options.get("timeout_ms")
    return Written(
        options=not starred,
        name=bool(call.args) and _is_literal(call.args[-1], str),
        target=target is None or _fixed(target, constants) is not None,
        timeout_ms=timeout is None or _is_literal(timeout, int),
    )


def _is_literal(node: ast.expr, kind: type) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is kind


def _fixed(node: ast.expr, constants: Mapping[str, ast.expr]) -> str | None:
    """Give the actor's name that an expression can only be; None if that is not to be seen."""
    if isinstance(node, ast.Name) and node.id in constants:
        return _fixed(constants[node.id], {})
    if isinstance(node, ast.Call) and _called(node.func) == "ActorName":
        return _fixed(node.args[0], {}) if len(node.args) == 1 and not node.keywords else None
    return node.value if isinstance(node, ast.Constant) and type(node.value) is str else None


# --- snodo check --------------------------------------------------------------------------------


def unwritten(tree: ast.Module, path: str) -> list[DeclarationError]:
    """Give what is wrong with how the actor tools of a file are written, in its order."""
    from ._callable import shown

    names = dict(_imported(tree))
    constants = _constants(tree)
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        form = _form(node.func, names)
        if form is not None:
            where = f"{shown(path)}:{node.lineno}"
            found += [(node.lineno, wrong) for wrong in _wrong(node, form, constants, where)]
    return [wrong for _, wrong in sorted(found, key=lambda one: one[0])]


def _imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Give the names by which this module knows `actor_call` and `actor_cast`, and their form."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in ("snodo", "snodo.actors"):
            for one in node.names:
                if one.name.removeprefix("actor_") in FORMS:
                    yield one.asname or one.name, one.name.removeprefix("actor_")


def _form(function: ast.expr, names: Mapping[str, str]) -> str | None:
    if isinstance(function, ast.Name):
        return names.get(function.id)
    if isinstance(function, ast.Attribute) and function.attr.startswith("actor_"):
        form = function.attr.removeprefix("actor_")
        return form if form in FORMS else None
    return None


def _wrong(
    call: ast.Call, form: str, constants: Mapping[str, ast.expr], where: str
) -> list[DeclarationError]:
    parts = _read(call, constants)
    name = call.args[-1].value if parts.name and isinstance(call.args[-1], ast.Constant) else "?"
    reasons = {
        "name": WRONG_NAME,
        "options": wrong_options(form, name),
        "timeout_ms": WRONG_TIMEOUT,
        "target": WRONG_TARGET,
    }
    return [
        DeclarationError(where, f"tool {name!r}", "", part, reason, ADVICE[part])
        for part, reason in reasons.items()
        if not getattr(parts, part)
    ]
