"""The official TypeScript and Python clients use all a server has, over HTTP and stdio.

Both speak revision 2026-07-28 of their own accord: they probe with `server/discover` and would fall
back to an older revision if the answer did not convince them. What they need is installed by
`make interop` or, failing that, right here; without it these tests fail, they never skip.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from driver import HttpServer

HERE = Path(__file__).parent
SERVER = HERE / "server.py"
PYTHON = HERE / ".venv" / "bin" / "python"

pytestmark = pytest.mark.timeout(300)


def run(*command: str | Path, timeout: float) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, f"{command} failed:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def install(wanted: Path, folder: Path, *commands: tuple[str | Path, ...]) -> None:
    """Runs the commands unless `folder` already holds exactly what `wanted` lists."""
    installed = folder / f"installed-{wanted.name}"
    if installed.exists() and installed.read_bytes() == wanted.read_bytes():
        return
    for command in commands:
        run(*command, timeout=240)
    installed.write_bytes(wanted.read_bytes())


@pytest.fixture(scope="module")
def typescript() -> list[str]:
    npm = ("npm", "ci", "--prefix", HERE, "--no-audit", "--no-fund")
    install(HERE / "package-lock.json", HERE / "node_modules", npm)
    return ["node", str(HERE / "client.mjs")]


@pytest.fixture(scope="module")
def python() -> list[str]:
    wanted, venv = HERE / "requirements.txt", HERE / ".venv"
    pip = (PYTHON, "-m", "pip", "install", "-q", "--disable-pip-version-check", "-r", wanted)
    install(wanted, venv, (sys.executable, "-m", "venv", venv), pip)
    return [str(PYTHON), str(HERE / "client.py")]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    server = HttpServer(SERVER)
    yield server.url
    server.close()


@pytest.mark.parametrize("transport", ["http", "stdio"])
@pytest.mark.parametrize("language", ["typescript", "python"])
def test_an_official_client_lists_calls_reads_prompts_and_completes(
    language: str, transport: str, url: str, request: pytest.FixtureRequest
) -> None:
    client: list[str] = request.getfixturevalue(language)
    stdio = [sys.executable, "-m", "snodo", "serve", str(SERVER), "--stdio"]
    target = [url] if transport == "http" else stdio
    seen = json.loads(run(*client, transport, *target, timeout=60))
    assert seen == {
        "version": "2026-07-28",
        "server": {"name": "interop", "version": "1.2.3"},
        "instructions": "Greet before you forecast.",
        "tools": ["forecast", "greet"],
        "greeting": [{"type": "text", "text": "Hello, Ada 茶!"}],
        "forecast": [
            {"city": "Oslo", "day": 0, "degrees": 20.5},
            {"city": "Oslo", "day": 1, "degrees": 21.5},
        ],
        "wrong": True,
        "unknown": -32602,
        "resources": [
            {
                "uri": "weather://cities",
                "name": "cities",
                "description": "Where it is known.",
                "mimeType": "application/json",
                "size": 15,
            },
            {
                "uri": "weather://map",
                "name": "weather_map",
                "description": "Show the map.",
                "mimeType": "image/png",
            },
        ],
        "templates": [
            {
                "uriTemplate": "weather://{city}/today",
                "name": "today",
                "description": "Tell today's weather.",
                "mimeType": "text/plain",
            }
        ],
        "read": [
            {
                "uri": "weather://cities",
                "mimeType": "application/json",
                "text": '["Oslo","Roma"]',
            },
            {"uri": "weather://map", "mimeType": "image/png", "blob": "iVBORw=="},
            {
                "uri": "weather://S%C3%A3o%20Paulo/today",
                "mimeType": "text/plain",
                "text": "It rains in São Paulo.",
            },
        ],
        "notFound": -32602,
        "prompts": [
            {
                "name": "advise",
                "description": "Advise what to wear.",
                "arguments": [
                    {"name": "city", "description": "Where.", "required": True},
                    {"name": "mood", "description": "In which tone.", "required": False},
                ],
            }
        ],
        "prompt": [
            {
                "role": "user",
                "content": {"type": "text", "text": "What should I wear in Oslo? Be sunny."},
            },
            {
                "role": "user",
                "content": {"type": "image", "data": "iVBORw==", "mimeType": "image/png"},
            },
            {
                "role": "assistant",
                "content": {
                    "type": "resource",
                    "resource": {
                        "uri": "weather://cities",
                        "mimeType": "application/json",
                        "text": '["Oslo","Roma"]',
                    },
                },
            },
        ],
        "missing": -32602,
        "city": {"values": ["Oslo", "Ottawa"]},
        "mood": {"values": ["sunny", "sober"], "total": 2, "hasMore": False},
    }
