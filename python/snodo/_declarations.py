"""Running a module to its end although declarations in it are wrong, so that all can be told.

Used by `snodo check` alone: everywhere else the first wrong declaration ends the import.
"""

from __future__ import annotations
import __future__

import ast
import io
from typing import TYPE_CHECKING

from .errors import ConfigurationError, DeclarationError

if TYPE_CHECKING:
    from types import ModuleType

Wrong = DeclarationError | ConfigurationError

_FUTURES = 0
for _name in __future__.all_feature_names:
    _FUTURES |= getattr(__future__, _name).compiler_flag


def execute(module: ModuleType, path: str) -> list[Wrong]:
    """Run a module one top-level statement at a time, and go on after a wrong declaration.

    A later statement that misses only a name which a wrong one should have made is passed over.

    Args:
        module: The module, not run yet.
        path: Its source.

    Returns:
        What the wrong declarations raised, in the order of the file; and of those of actor tools
        that were not run, what can be told from how they are written.
    """
    with io.open_code(path) as file:
        tree = ast.parse(file.read(), path)
    # Each piece is compiled under the `from __future__` lines of the whole.
    futures = compile(tree, path, "exec", dont_inherit=True).co_flags & _FUTURES
    errors: list[Wrong] = []
    missing: set[str] = set()
    for statement in tree.body:
        piece = ast.Module([statement], [])
        try:
            exec(compile(piece, path, "exec", futures, dont_inherit=True), vars(module))
        except (DeclarationError, ConfigurationError) as error:
            errors.append(error)
            missing |= _made_by(statement)
        except NameError as error:
            if error.name not in missing:
                raise
            missing |= _made_by(statement)
    from ._literal import unwritten

    told = {getattr(error, "where", None) for error in errors}
    # Those that no run came upon, in functions that were not called.
    return errors + [error for error in unwritten(tree, path) if error.where not in told]


def _made_by(statement: ast.stmt) -> set[str]:
    """Give the names that a statement binds."""
    names = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        names = {statement.name}
    elif isinstance(statement, (ast.Import, ast.ImportFrom)):
        names = {(one.asname or one.name).partition(".")[0] for one in statement.names}
    return names
