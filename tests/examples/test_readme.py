"""What the README shows works: its files are written, its commands run, its output compared."""

import contextlib
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

# Building takes minutes and is what every test here stands on already.
BUILT_ALREADY = ("pip install .",)


def blocks(language: str) -> list[str]:
    return [body for name, body in FENCE.findall(README) if name == language]


def commands() -> list[tuple[str, str]]:
    """Every command of the README, in order, with the output shown below it."""
    found: list[tuple[str, str]] = []
    for block in blocks("console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            lines = part.splitlines()
            length = 1
            while lines[length - 1].endswith("\\") or "\n".join(lines[:length]).count("'") % 2:
                length += 1
            found.append(("\n".join(lines[:length]), "\n".join(lines[length:])))
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for block in blocks("python"):
        name = re.match(r"# (\w+\.py)\n", block)
        assert name, "a Python block begins with the name of its file"
        (tmp_path / name[1]).write_text(block)
    return tmp_path


@pytest.fixture
def port() -> int:
    # Not one that the system gives to whoever connects meanwhile.
    while True:
        found = random.randrange(20_000, 30_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", found))
            return found


@pytest.fixture
def environment(port: int) -> dict[str, str]:
    # `python` in the README is the one that has snodo; the port shown may be taken here.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "SNODO_PORT": str(port), "PYTHONDONTWRITEBYTECODE": "1"}


@pytest.fixture
def served() -> Iterator[list[subprocess.Popen[str]]]:
    servers: list[subprocess.Popen[str]] = []
    yield servers
    for server in servers:
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=30)


def test_every_command_does_what_is_shown(
    folder: Path,
    port: int,
    environment: dict[str, str],
    served: list[subprocess.Popen[str]],
) -> None:
    ran = 0
    for command, shown in commands():
        if command.startswith(BUILT_ALREADY):
            continue
        if command.startswith("make "):
            target = command.split()[1]
            assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
            continue
        if " serve " in command:
            server = subprocess.Popen(
                command.split(), cwd=folder, env=environment, stderr=subprocess.PIPE, text=True
            )
            served.append(server)
            assert server.stderr is not None
            assert f"http://127.0.0.1:{port}/mcp" in server.stderr.readline()
            continue
        done = subprocess.run(
            ["bash", "-c", command.replace("127.0.0.1:8000", f"127.0.0.1:{port}")],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=30,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        assert same(done.stdout, shown), f"{command}\n{done.stdout}\n--- shown:\n{shown}"
        ran += 1
    assert ran >= 3
    assert served


def same(printed: str, shown: str) -> bool:
    try:
        return bool(json.loads(printed) == json.loads(shown))
    except ValueError:
        return printed.rstrip() == shown.rstrip()


def test_links_lead_somewhere() -> None:
    for paper in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]:
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", paper.read_text()):
            assert (paper.parent / link).exists(), f"{paper.name}: {link}"


def test_the_readme_fits_the_first_screens() -> None:
    assert len(README.splitlines()) < 130
