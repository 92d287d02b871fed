"""Other people's clients use all a server has, over HTTP and stdio, in each way they have.

The official TypeScript and Python clients of both generations, fastmcp's, and the MCP Inspector's
command line. What they need is installed by `make interop` or, failing that, right here; without it
these tests fail, they never skip.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from driver import HttpServer

HERE = Path(__file__).parent
SERVER = HERE / "server.py"
INTERACTION = HERE / "interaction_server.py"

pytestmark = pytest.mark.timeout(600)

# What each client is called, how it is told what to speak, and what it then speaks with us.
CLIENTS = {
    "typescript-auto": ("typescript", "auto", "2026-07-28"),
    "typescript-default": ("typescript", "default", "2025-11-25"),
    "typescript-2026-07-28": ("typescript", "2026-07-28", "2026-07-28"),
    "typescript-2025-11-25": ("typescript", "2025-11-25", "2025-11-25"),
    "typescript-2025-06-18": ("typescript", "2025-06-18", "2025-06-18"),
    "typescript-2025-03-26": ("typescript", "2025-03-26", "2025-03-26"),
    "typescript-2024-11-05": ("typescript", "2024-11-05", "2024-11-05"),
    "typescript-sdk-1": ("typescript", "sdk-1", "2025-11-25"),
    "python-auto": ("python", "auto", "2026-07-28"),
    "python-legacy": ("python", "legacy", "2025-11-25"),
    "python-sdk-1": ("python_1", None, "2025-11-25"),
    "fastmcp-auto": ("fastmcp", "auto", "2026-07-28"),
    "fastmcp-legacy": ("fastmcp", "legacy", "2025-11-25"),
}
# These have nothing to ask the user in.
TOO_OLD = ("typescript-2025-03-26", "typescript-2024-11-05")
INTERVIEWED = [name for name in CLIENTS if name not in TOO_OLD]


def run(*command: str | Path, timeout: float, **settings: Any) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        **settings,
    )
    assert done.returncode == 0, f"{command} failed:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def install(wanted: Path, folder: Path, *commands: tuple[str | Path, ...]) -> None:
    """Runs the commands unless `folder` already holds exactly what `wanted` lists."""
    installed = folder / f"installed-{wanted.name}"
    if installed.exists() and installed.read_bytes() == wanted.read_bytes():
        return
    for command in commands:
        run(*command, timeout=280)
    installed.write_bytes(wanted.read_bytes())


@pytest.fixture(scope="module")
def npm() -> None:
    # Not `npm ci`: it wants an optional package for another system to be in the lock file, which
    # cannot be written where that package is not to be had.
    command = ("npm", "install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund")
    install(HERE / "package-lock.json", HERE / "node_modules", (*command, "--prefix", HERE))


def environment(requirements: str, folder: str) -> Path:
    wanted, venv = HERE / requirements, HERE / folder
    python = venv / "bin" / "python"
    pip = (python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "-r", wanted)
    install(wanted, venv, (sys.executable, "-m", "venv", venv), pip)
    return python


@pytest.fixture(scope="module")
def typescript(npm: None) -> Callable[[str], list[str]]:
    return lambda program: ["node", str(HERE / f"{program}.mjs")]


@pytest.fixture(scope="module")
def python() -> Callable[[str], list[str]]:
    python = environment("requirements.txt", ".venv")
    return lambda program: [str(python), str(HERE / f"{program}.py")]


@pytest.fixture(scope="module")
def python_1() -> Callable[[str], list[str]]:
    python = environment("requirements-1.txt", ".venv-1")
    return lambda program: [str(python), str(HERE / f"{program}_1.py")]


@pytest.fixture(scope="module")
def fastmcp() -> Callable[[str], list[str]]:
    python = environment("requirements-fastmcp.txt", ".venv-fastmcp")
    return lambda program: [str(python), str(HERE / f"{program}_fastmcp.py")]


@pytest.fixture(params=["http", "stdio"])
def use(
    request: pytest.FixtureRequest, url: str, interaction_url: str
) -> Callable[[str, str, Path], Any]:
    """Runs a client's program against a server; gives what it printed."""

    def use(client: str, program: str, server: Path) -> Any:
        fixture, way, _ = CLIENTS[client]
        target = [url if server == SERVER else interaction_url]
        if request.param == "stdio":
            target = [sys.executable, "-m", "snodo", "serve", str(server), "--stdio"]
        command = request.getfixturevalue(fixture)(program)
        ways = [way] if way else []
        return json.loads(run(*command, *ways, request.param, *target, timeout=180))

    return use


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    server = HttpServer(SERVER)
    yield server.url
    server.close()


@pytest.fixture(scope="module")
def interaction_url() -> Iterator[str]:
    server = HttpServer(INTERACTION)
    yield server.url
    server.close()


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_lists_calls_reads_prompts_and_completes(
    client: str, use: Callable[[str, str, Path], Any]
) -> None:
    seen = use(client, "client", SERVER)
    revision = CLIENTS[client][2]
    is_new = revision == "2026-07-28"
    # The first generation of the TypeScript client does not tell what it speaks on a pipe.
    assert seen.pop("version") in (revision, None)
    # A list is no structured content before 2026-07-28.
    days = [{"city": "Oslo", "day": n, "degrees": 20.5 + n} for n in (0, 1)]
    assert seen.pop("forecast", None) == (days if is_new else None)
    # The second generation of the TypeScript client hides the older code.
    not_found = {-32602} if is_new else {-32002, -32602}
    assert seen.pop("notFound") in not_found
    assert seen == {
        "server": {"name": "interop", "version": "1.2.3"},
        "instructions": "Greet before you forecast.",
        "tools": ["forecast", "greet"],
        "greeting": [{"type": "text", "text": "Hello, Ada 茶!"}],
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


@pytest.mark.parametrize("transport", ["http", "stdio"])
@pytest.mark.parametrize(
    ("client", "protocols", "spoken"),
    [
        ("typescript-auto", "2025-11-25 2025-06-18", "2025-11-25"),
        ("python-auto", "2025-11-25 2025-06-18", "2025-11-25"),
        ("fastmcp-auto", "2025-11-25 2025-06-18", "2025-11-25"),
        ("typescript-auto", "2025-06-18", "2025-06-18"),
        ("python-auto", "2025-06-18", "2025-06-18"),
        ("typescript-default", "2025-06-18", "2025-06-18"),
        ("python-sdk-1", "2025-03-26", "2025-03-26"),
        ("typescript-auto", "2026-07-28", "2026-07-28"),
    ],
)
def test_a_client_finds_what_a_server_of_fewer_revisions_speaks(
    client: str, protocols: str, spoken: str, transport: str, request: pytest.FixtureRequest
) -> None:
    fixture, way, _ = CLIENTS[client]
    command = [*request.getfixturevalue(fixture)("client"), *([way] if way else []), transport]
    own = {"INTEROP_PROTOCOLS": protocols}
    if transport == "http":
        server = HttpServer(SERVER, env=own)
        try:
            seen = json.loads(run(*command, server.url, timeout=180))
        finally:
            server.close()
    else:
        # Clients hand their own environment on only in part.
        stdio = ["env", f"INTEROP_PROTOCOLS={protocols}", sys.executable, "-m", "snodo", "serve"]
        seen = json.loads(run(*command, *stdio, SERVER, "--stdio", timeout=180))
    assert seen["version"] == spoken
    assert seen["tools"] == ["forecast", "greet"]


@pytest.mark.parametrize("client", INTERVIEWED)
def test_a_client_answers_hears_and_is_told_of_changes(
    client: str, use: Callable[[str, str, Path], Any]
) -> None:
    seen = use(client, "interaction", INTERACTION)
    revision = CLIENTS[client][2]
    like, pay, happy = "What would you like?", "https://example.com/pay/7", "One word for happy?"
    # At once they are asked at once, and in no order.
    seen["interviews"]["together"]["asked"].sort()
    visits = {
        "url": {"said": "accept", "asked": [pay]},
        "together": {"said": "tea accept glad", "asked": sorted([like, pay, happy, "roots"])},
    }
    if revision == "2025-06-18":
        no_pages = "elicitation/create of a page is no request of this protocol revision"
        visits = {key: {"said": no_pages, "asked": []} for key in visits}
    assert seen["interviews"] == {
        "form": {"said": "2 tea of size s, gift: True", "asked": [like]},
        "sample": {"said": "glad by m", "asked": [happy]},
        "list_roots": {"said": "file:///home/ada file:///tmp", "asked": ["roots"]},
        "rounds": {
            "said": "word1 word2 word3 word4 4 glad",
            "asked": ["After 0?", "After 1?", "After 2?", "After 3?", happy],
        },
        "decline": {"said": "decline", "asked": ["Would you decline?"]},
        "state_alone": {"said": "after two rounds", "asked": []},
        **visits,
    }
    assert seen["secret"] == "recipe, by word1"
    assert seen["advice"] == "Advise on tea, word1."
    assert seen["progress"] == [[1, 3, "step 1"], [2, 3, "step 2"], [3, 3, "step 3"]]
    assert seen["log"] == [{"level": "warning", "logger": "worker", "data": {"slow": True}}]
    changes = seen["changes"]
    if revision != "2026-07-28":
        # What changes at once is told at once, and in no order.
        assert sorted(changes[:2]) == ["note://1", "tools"]
        assert changes[2] == "tools"
        assert sorted(changes[3:]) == ["note://2", "tools"]
    elif client == "fastmcp-auto":
        assert changes == []  # it cannot listen
    else:
        assert changes == ["tools", "note://1", "note://2"]
        assert seen["honored"] == [
            {"toolsListChanged": True, "resourceSubscriptions": ["note://1"]},
            {"promptsListChanged": True, "resourceSubscriptions": ["note://2"]},
        ]
        assert seen["ends"] == ["local", "graceful"]


@pytest.mark.parametrize("client", ["typescript-sdk-1", "python-sdk-1"])
def test_an_old_client_over_a_stream_and_a_post_box(
    client: str, request: pytest.FixtureRequest
) -> None:
    fixture, way, _ = CLIENTS[client]
    programs, ways = request.getfixturevalue(fixture), [way] if way else []
    server = HttpServer(INTERACTION, "--legacy-sse")
    try:
        url = server.url.removesuffix("/mcp") + "/sse"
        seen = json.loads(run(*programs("interaction"), *ways, "sse", url, timeout=180))
    finally:
        server.close()
    assert seen["interviews"]["form"]["said"] == "2 tea of size s, gift: True"
    assert seen["interviews"]["rounds"]["said"] == "word1 word2 word3 word4 4 glad"
    assert seen["secret"] == "recipe, by word1"
    assert seen["progress"] == [[1, 3, "step 1"], [2, 3, "step 2"], [3, 3, "step 3"]]
    assert len(seen["log"]) == 1
    assert sorted(seen["changes"]) == ["note://1", "note://2", "tools", "tools", "tools"]


@pytest.mark.parametrize("transport", ["http", "stdio"])
@pytest.mark.parametrize("era", ["legacy", "auto", "modern"])
def test_the_inspectors_command_line(
    era: str, transport: str, url: str, npm: None, tmp_path: Path
) -> None:
    stdio = [sys.executable, "-m", "snodo", "serve", str(SERVER), "--stdio"]
    target = [url] if transport == "http" else stdio
    inspector = ["node", str(HERE / "node_modules" / ".bin" / "mcp-inspector"), "--cli"]
    settings = ["--format", "json", "--quiet", "--protocol-era", era]
    own = os.environ | {"HOME": str(tmp_path), "MCP_CATALOG_PATH": str(tmp_path / "mcp.json")}

    def inspect(method: str, *options: str) -> Any:
        command = [*inspector, *settings, *options, "--method", method, *target]
        return json.loads(run(*command, timeout=180, env=own))["result"]

    opened = inspect("initialize")
    assert opened["protocolVersion"] == ("2025-11-25" if era == "legacy" else "2026-07-28")
    assert opened["serverInfo"] == {"name": "interop", "version": "1.2.3"}
    assert [tool["name"] for tool in inspect("tools/list")["tools"]] == ["forecast", "greet"]
    greeting = inspect("tools/call", "--tool-name", "greet", "--tool-arg", "name=Ada 茶")
    assert greeting["content"] == [{"type": "text", "text": "Hello, Ada 茶!"}]
    assert len(inspect("resources/list")["resources"]) == 2
    assert len(inspect("resources/templates/list")["resourceTemplates"]) == 1
    (city,) = inspect("resources/read", "--uri", "weather://Oslo/today")["contents"]
    assert city["text"] == "It rains in Oslo."
    assert [prompt["name"] for prompt in inspect("prompts/list")["prompts"]] == ["advise"]
    prompt = inspect("prompts/get", "--prompt-name", "advise", "--prompt-args", "city=Oslo")
    assert len(prompt["messages"]) == 3
    if era == "legacy":
        assert inspect("logging/setLevel", "--log-level", "debug") == {}
