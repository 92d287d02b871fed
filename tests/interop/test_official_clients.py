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
INTERACTION = HERE / "interaction_server.py"
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
    return ["node", str(HERE / "client.mjs"), str(HERE / "interaction.mjs")]


@pytest.fixture(scope="module")
def python() -> list[str]:
    wanted, venv = HERE / "requirements.txt", HERE / ".venv"
    pip = (PYTHON, "-m", "pip", "install", "-q", "--disable-pip-version-check", "-r", wanted)
    install(wanted, venv, (sys.executable, "-m", "venv", venv), pip)
    return [str(PYTHON), str(HERE / "client.py"), str(HERE / "interaction.py")]


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
    program, client, _ = request.getfixturevalue(language)
    stdio = [sys.executable, "-m", "snodo", "serve", str(SERVER), "--stdio"]
    target = [url] if transport == "http" else stdio
    seen = json.loads(run(program, client, transport, *target, timeout=60))
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


@pytest.fixture(scope="module")
def interaction_url() -> Iterator[str]:
    server = HttpServer(INTERACTION)
    yield server.url
    server.close()


@pytest.mark.parametrize("transport", ["http", "stdio"])
@pytest.mark.parametrize("language", ["typescript", "python"])
def test_an_official_client_answers_hears_and_listens(
    language: str, transport: str, interaction_url: str, request: pytest.FixtureRequest
) -> None:
    program, _, client = request.getfixturevalue(language)
    stdio = [sys.executable, "-m", "snodo", "serve", str(INTERACTION), "--stdio"]
    target = [interaction_url] if transport == "http" else stdio
    seen = json.loads(run(program, client, transport, *target, timeout=60))
    like, pay, happy = "What would you like?", "https://example.com/pay/7", "One word for happy?"
    # At once they are asked at once, and in no order.
    seen["interviews"]["together"]["asked"].sort()
    assert seen["interviews"] == {
        "form": {"said": "2 tea of size s, gift: True", "asked": [like]},
        "url": {"said": "accept", "asked": [pay]},
        "sample": {"said": "glad by m", "asked": [happy]},
        "list_roots": {"said": "file:///home/ada file:///tmp", "asked": ["roots"]},
        "together": {"said": "tea accept glad", "asked": sorted([like, pay, happy, "roots"])},
        "rounds": {
            "said": "word1 word2 word3 word4 4 glad",
            "asked": ["After 0?", "After 1?", "After 2?", "After 3?", happy],
        },
        "decline": {"said": "decline", "asked": ["Would you decline?"]},
        "state_alone": {"said": "after two rounds", "asked": []},
    }
    assert seen["secret"] == "recipe, by word1"
    assert seen["advice"] == "Advise on tea, word1."
    assert seen["progress"] == [[1, 3, "step 1"], [2, 3, "step 2"], [3, 3, "step 3"]]
    assert seen["log"] == [{"level": "warning", "logger": "worker", "data": {"slow": True}}]
    assert seen["honored"] == [
        {"toolsListChanged": True, "resourceSubscriptions": ["note://1"]},
        {"promptsListChanged": True, "resourceSubscriptions": ["note://2"]},
    ]
    assert seen["changes"] == ["tools", "note://1", "note://2"]
    assert seen["ends"] == ["local", "graceful"]
