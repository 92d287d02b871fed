"""From what was typed (`app.py`, `app.py:name`, `package.module:name`) to the `Server` it means.

Loads the user's module as `python app.py` would see it. Never prints and never serves.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.machinery import ModuleSpec
    from types import ModuleType, TracebackType

    from .server import Server

DEFAULTS = ("server.py", "app.py", "main.py")


class TargetError(Exception):
    """What was typed does not lead to a server; the text is one line saying what was found."""


class Target:
    """A module to load and, perhaps, the name of the server in it."""

    def __init__(self, text: str | None) -> None:
        """Read what was typed; nothing is loaded yet.

        Args:
            text: what was typed, or None for the first of `server.py`, `app.py`, `main.py`.

        Raises:
            TargetError: it names a file that is not there.
        """
        text = _default() if text is None else text
        head, name = _split(text)
        self.name = name
        self.path: str | None = None
        self.module = head
        if head.endswith(".py") or os.sep in head or os.path.isfile(head):
            if os.path.isdir(head):
                raise TargetError(f"{head} is a folder; name a file in it, such as {head}/app.py")
            if not os.path.isfile(head):
                raise TargetError(f"there is no file {head}{_nearby(head)}")
            self.path = os.path.abspath(head)
        elif not all(part.isidentifier() for part in head.split(".")):
            raise TargetError(f"{text!r} is neither a file nor a module; try app.py or app.py:name")
        self.label = head

    def load(self, execute: Callable[[ModuleType, str], object] | None = None) -> ModuleType:
        """Import the module.

        Args:
            execute: runs a module made from a file, in place of the import system.

        Raises:
            TargetError: there is no such module, or its code failed; the text says where.
            DeclarationError: a declaration in it is wrong.
            ConfigurationError: a server in it is set up wrongly.
        """
        from .errors import ConfigurationError, DeclarationError

        with _not_serving(self.label):
            try:
                return self._import_file(execute) if self.path else self._import_module(execute)
            except (TargetError, DeclarationError, ConfigurationError):
                raise
            except ModuleNotFoundError as error:
                if not self.path and error.name and _leads_to(error.name, self.module):
                    raise TargetError(
                        f"there is no module {error.name} (looked in {os.getcwd()} and on the path)"
                    ) from None
                raise self._failed(error) from error
            except SystemExit as error:
                place = where(error.__traceback__, self.path)
                raise TargetError(f"{place}called sys.exit({error.code!r}) when imported") from None
            except Exception as error:
                raise self._failed(error) from error

    def server(self) -> Server:
        """Load the module and find the server in it.

        Raises:
            TargetError: as `load` and `find`.
            DeclarationError: a declaration in it is wrong.
            ConfigurationError: a server in it is set up wrongly.
        """
        return self.find(self.load())

    def find(self, module: ModuleType) -> Server:
        """Find the server in the loaded module: the named one, or the only one.

        Raises:
            TargetError: it is missing, is something else, or there are several.
        """
        from .server import Server

        servers = _servers(module)
        if self.name is not None:
            if self.name not in vars(module) and not hasattr(module, self.name):
                raise TargetError(f"{self.label} has no {self.name!r}; {_found(module, servers)}")
            value = getattr(module, self.name)
            if not isinstance(value, Server):
                kind = type(value).__name__
                raise TargetError(
                    f"{self.label}:{self.name} is of type {kind}, not a Server; "
                    f"{_found(module, servers)}{_if_made(module, [self.name])}"
                )
            return value
        unique = {id(value): value for value in servers.values()}
        if len(unique) == 1:
            return next(iter(unique.values()))
        if not unique:
            raise TargetError(
                f"{self.label} defines no Server; {_found(module, servers)}"
                f"{_if_made(module, list(vars(module)))}"
            )
        names = ", ".join(servers)
        first = next(iter(servers))
        raise TargetError(
            f"{self.label} defines {len(unique)} servers ({names}); "
            f"name one, such as {self.label}:{first}"
        )

    def _import_file(self, execute: Callable[[ModuleType, str], object] | None) -> ModuleType:
        assert self.path is not None
        from importlib.util import spec_from_file_location

        _put_first(os.path.dirname(self.path))
        name = os.path.splitext(os.path.basename(self.path))[0].replace(".", "_")
        if name in sys.modules or name in sys.stdlib_module_names:
            # A file called json.py must not replace the real one for everybody else.
            name = f"_snodo_target_{name}"
        spec = spec_from_file_location(name, self.path)
        if spec is None:
            raise TargetError(f"{self.label} is not a Python file")
        return _run(spec, execute)

    def _import_module(self, execute: Callable[[ModuleType, str], object] | None) -> ModuleType:
        from importlib import import_module
        from importlib.util import find_spec

        _put_first(os.getcwd())
        if execute is None:
            return import_module(self.module)
        spec = find_spec(self.module)
        if spec is None:
            raise ModuleNotFoundError(name=self.module)
        return _run(spec, execute)

    def _failed(self, error: Exception) -> TargetError:
        if isinstance(error, SyntaxError):
            place = f"{os.path.relpath(error.filename)}:{error.lineno}: " if error.filename else ""
            return TargetError(f"{place}SyntaxError: {error.msg}")
        place = where(error.__traceback__, self.path)
        text = " ".join(str(error).split())
        return TargetError(f"{place}{type(error).__name__}: {text}".rstrip(": "))


def _run(spec: ModuleSpec, execute: Callable[[ModuleType, str], object] | None) -> ModuleType:
    from importlib.util import module_from_spec

    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    assert spec.loader is not None, "a spec of a file has a loader"
    if execute is None or not (spec.has_location and str(spec.origin).endswith(".py")):
        spec.loader.exec_module(module)
    else:
        execute(module, str(spec.origin))
    return module


class _not_serving:
    """Refuses `Server.run` while a module is loaded: it would serve amid the import."""

    def __init__(self, label: str) -> None:
        self.label = label

    def __enter__(self) -> None:
        from .server import Server

        def refuse(*_args: object, **_options: object) -> NoReturn:
            frame = sys._getframe(1)
            raise TargetError(
                f"{os.path.relpath(frame.f_code.co_filename)}:{frame.f_lineno} runs the server "
                f'when imported; put that line under `if __name__ == "__main__":`'
            )

        self.run = Server.run
        Server.run = refuse  # type: ignore[method-assign]

    def __exit__(self, *_exc: object) -> None:
        from .server import Server

        Server.run = self.run  # type: ignore[method-assign]


def _default() -> str:
    for name in DEFAULTS:
        if os.path.isfile(name):
            return name
    raise TargetError(
        f"no target given and none of {', '.join(DEFAULTS)} is in {os.getcwd()}; "
        "name one, such as app.py or package.module:server"
    )


def _split(text: str) -> tuple[str, str | None]:
    head, colon, name = text.rpartition(":")
    # A colon of a drive letter belongs to the path, and a name has no separators.
    if not colon or len(head) == 1 or not name.isidentifier():
        if colon and len(head) > 1 and os.sep not in name:
            raise TargetError(f"{name!r} in {text!r} is not a name; write {head}:server")
        return text, None
    return head, name


def _put_first(folder: str) -> None:
    """Make `folder` what `python app.py` would have made of `sys.path[0]`."""
    if sys.flags.safe_path or not sys.path:
        sys.path.insert(0, folder)
    else:
        sys.path[0] = folder


def _servers(module: ModuleType) -> dict[str, Server]:
    from .server import Server

    return {name: value for name, value in vars(module).items() if isinstance(value, Server)}


def _found(module: ModuleType, servers: dict[str, Server]) -> str:
    if servers:
        return "found " + ", ".join(servers)
    others = [
        f"{name} ({type(value).__name__})"
        for name, value in vars(module).items()
        if not name.startswith("_") and _is_own_instance(value, module)
    ]
    if not others:
        return "found nothing that could be one"
    more = f" and {len(others) - 5} more" if len(others) > 5 else ""
    return "found " + ", ".join(others[:5]) + more


def _if_made(module: ModuleType, names: list[str]) -> str:
    """Say what to write when one of these functions of the module seems to make the server."""
    for name in names:
        value = vars(module).get(name)
        hints = getattr(value, "__annotations__", {})
        if (
            isinstance(value, type(_if_made))
            and value.__module__ == module.__name__
            and getattr(hints.get("return"), "__name__", hints.get("return"))
            in ("Server", "snodo.Server", None)
            and ("return" in hints or name.startswith(("create", "make", "build", "get")))
        ):
            return f"; if {name} makes it, assign it at module level: server = {name}()"
    return ""


def _is_own_instance(value: Any, module: ModuleType) -> bool:
    if isinstance(value, (type, type(sys))):
        return False
    owner = getattr(value, "__module__", None)
    return owner == module.__name__ or not callable(value)


def _nearby(path: str) -> str:
    folder = os.path.dirname(path) or "."
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".py"))
    except OSError:
        return f" (nor a folder {folder})"
    return f"; found {', '.join(names[:5])}" if names else f" and no .py file in {folder}"


def _leads_to(missing: str, wanted: str) -> bool:
    return wanted == missing or wanted.startswith(f"{missing}.")


def where(trace: TracebackType | None, path: str | None = None) -> str:
    """Name the innermost place in the user's file, or else the innermost that is not ours."""
    places = []
    while trace is not None:
        places.append((trace.tb_frame.f_code.co_filename, trace.tb_lineno))
        trace = trace.tb_next
    ours = os.path.dirname(__file__)
    own = [place for place in places if place[0] == path]
    theirs = own or [one for one in places if "importlib" not in one[0] and ours not in one[0]]
    if not theirs:
        return ""
    filename, line = theirs[-1]
    return f"{os.path.relpath(filename)}:{line}: "
