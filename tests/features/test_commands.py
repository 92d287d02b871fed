"""`serve`, `inspect`, `call` and `check`: what they print, where, and how they exit."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from driver import HttpServer, StdioServer, request

APP = """
from snodo import Server, ToolError

app = Server("shop", version="1.0.0")

@app.tool
def add(a: int, b: int) -> int:
    \"\"\"Add two integers.\"\"\"
    return a + b

@app.tool
def greet(name: str = "you") -> str:
    return f"Hello, {name}!"

@app.tool
def fail() -> str:
    raise ToolError("upstream down")
"""


def snodo(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "snodo", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=20,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
    )


@pytest.fixture(scope="module")
def app(write_app: Callable[[str], Path]) -> Path:
    return write_app(APP)


def test_call_prints_the_answer(app: Path) -> None:
    done = snodo("call", app, "add", "a=1", "b=2")
    assert (done.returncode, done.stdout.strip()) == (0, "3"), done.stderr


def test_call_gives_text_to_a_string_parameter(app: Path) -> None:
    done = snodo("call", app, "greet", "name=5")
    assert (done.returncode, done.stdout.strip()) == (0, "Hello, 5!"), done.stderr


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["fail"], "upstream down"),
        (["add", "a=1"], "Missing required arguments: b"),
        (["add", "a=x", "b=2"], "a"),
    ],
)
def test_a_call_that_fails_says_so_and_exits_with_1(
    app: Path, arguments: list[str], text: str
) -> None:
    done = snodo("call", app, *arguments)
    assert done.returncode == 1
    assert text in done.stderr + done.stdout
    assert "Traceback" not in done.stderr


def test_a_call_of_an_unknown_tool_names_the_known_ones(app: Path) -> None:
    done = snodo("call", app, "nope")
    assert (done.returncode, done.stdout) == (2, "")
    assert "add" in done.stderr


def test_inspect_shows_the_catalogue(app: Path) -> None:
    done = snodo("inspect", app)
    assert done.returncode == 0, done.stderr
    for text in ("shop", "add", "Add two integers.", "greet", "fail"):
        assert text in done.stdout


def test_check_passes_a_good_file(app: Path) -> None:
    done = snodo("check", app)
    assert done.returncode == 0, done.stderr
    assert "add" in done.stdout


def test_check_names_file_and_line_of_a_wrong_declaration(write_app: Callable[[str], Path]) -> None:
    path = write_app(
        """
        from snodo import Server

        server = Server("wrong", version="1.0.0")

        @server.tool
        def f(*names: str) -> str:
            return ""
        """
    )
    done = snodo("check", path)
    assert done.returncode == 1
    assert f"{path.name}:" in done.stderr + done.stdout
    assert "names" in done.stderr + done.stdout


@pytest.mark.parametrize(
    ("target", "source", "told"),
    [
        ("missing.py", None, "missing.py"),
        ("app.py:nope", APP, "nope"),
        ("app.py:add", APP, "add"),
        ("no.such.module:app", None, "no.such.module"),
        ("app.py", "x = 1", "Server"),
        ("app.py", APP + "\nsecond = Server('two', version='1')\n", "second"),
        ("app.py", "def broken(:", "app.py"),
        ("app.py", "raise RuntimeError('at import')", "at import"),
    ],
)
def test_a_bad_target_is_told_in_a_line_and_exits_with_2(
    tmp_path: Path, target: str, source: str | None, told: str
) -> None:
    if source is not None:
        (tmp_path / "app.py").write_text(source)
    done = snodo("serve", target, "--port", "0", cwd=tmp_path)
    assert done.returncode == 2
    assert told in done.stderr
    assert done.stdout == ""
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr


@pytest.mark.parametrize("target", ["app.py", "app.py:app", "app:app", "app"])
def test_a_target_may_be_a_file_or_a_module(tmp_path: Path, target: str) -> None:
    (tmp_path / "app.py").write_text(APP)
    server = StdioServer(target, cwd=tmp_path)
    try:
        assert "result" in server.ask(request("tools/list"))
    finally:
        server.close()


@pytest.mark.parametrize("name", ["server.py", "app.py", "main.py"])
def test_without_a_target_the_usual_files_are_looked_for(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(APP)
    done = snodo("call", name, "add", "a=1", "b=2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    line = json.dumps(request("tools/list")) + "\n"
    served = subprocess.run(
        [sys.executable, "-m", "snodo", "serve", "--stdio"],
        input=line,
        capture_output=True,
        text=True,
        timeout=20,
        cwd=tmp_path,
    )
    assert len(json.loads(served.stdout)["result"]["tools"]) == 3


def test_a_file_may_import_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "neighbour.py").write_text("NAME = 'next door'")
    (tmp_path / "app.py").write_text(
        "from snodo import Server\nimport neighbour\n"
        "server = Server('x', version='1')\n"
        "@server.tool\ndef name() -> str:\n    return neighbour.NAME\n"
    )
    done = snodo("call", tmp_path / "app.py", "name")
    assert (done.returncode, done.stdout.strip()) == (0, "next door"), done.stderr


def test_a_port_in_use_is_told_in_a_line(app: Path) -> None:
    server = HttpServer(app)
    try:
        done = snodo("serve", app, "--port", server.port)
        assert done.returncode not in (0, None)
        assert str(server.port) in done.stderr
        assert "Traceback" not in done.stderr
    finally:
        server.close()


def test_options_have_environment_variables(app: Path) -> None:
    server = HttpServer(app, env={"SNODO_PATH": "/tools"})
    try:
        assert server.url.endswith("/tools")
        assert server.send(request("tools/list")).status == 200
    finally:
        server.close()


def test_the_script_is_the_module(app: Path) -> None:
    script = Path(sys.executable).parent / "snodo"
    done = subprocess.run(
        [script, "call", app, "add", "a=1", "b=2"], capture_output=True, text=True, timeout=20
    )
    assert (done.returncode, done.stdout.strip()) == (0, "3"), done.stderr


def test_python_app_py_serves_stdio_when_stdin_is_a_pipe(write_app: Callable[[str], Path]) -> None:
    path = write_app(APP + '\nif __name__ == "__main__":\n    app.run()\n')
    line = json.dumps(request("tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}})) + "\n"
    done = subprocess.run(
        [sys.executable, str(path)], input=line, capture_output=True, text=True, timeout=20
    )
    assert json.loads(done.stdout)["result"]["structuredContent"] == 3
    assert done.returncode == 0
