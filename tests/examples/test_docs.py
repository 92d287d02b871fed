"""The documents keep up with the code: their Python runs, their JSON parses, tables are whole."""

import json
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from driver import request

ROOT = Path(__file__).parents[2]
DOCS = sorted((ROOT / "docs").glob("*.md"))
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

BLOCKS = [
    pytest.param(language, body, id=f"{page.stem}-{number}-{language}")
    for page in DOCS
    for number, (language, body) in enumerate(FENCE.findall(page.read_text()), 1)
]


@pytest.mark.parametrize(("language", "body"), BLOCKS)
def test_block_is_what_it_says(language: str, body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if language == "json":
        json.loads(body)
    elif language == "python":
        module = ModuleType("documented")
        monkeypatch.setitem(sys.modules, "documented", module)
        exec(compile(body, "documented.py", "exec"), vars(module))
        assert module.server.handle(
            {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "tools/list",
                "params": {
                    "_meta": {
                        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                        "io.modelcontextprotocol/clientCapabilities": {},
                    }
                },
            }
        )
    elif language not in ("dockerfile", "ini", "nginx"):
        assert language == "console", language
        assert all(line.startswith("$ ") for line in body.splitlines())


def test_every_limit_is_tabled() -> None:
    source = (ROOT / "rust/snodo-core/src/limits.rs").read_text()
    declared = set(re.findall(r"^    pub (\w+):", source, re.MULTILINE))
    tabled = set(re.findall(r"^\| `(\w+)`", (ROOT / "docs/limits.md").read_text(), re.MULTILINE))
    assert declared == tabled


def test_every_flag_is_tabled() -> None:
    from snodo._flags import SERVE_FLAGS

    page = (ROOT / "docs/cli.md").read_text()
    for flag in SERVE_FLAGS:
        row = re.search(rf"^\| `{flag.flag}`.*$", page, re.MULTILINE)
        assert row, flag.flag
        assert f"`{flag.variable}`" in row[0], row[0]


def test_the_documented_extension_lets_in_who_has_the_scope() -> None:
    page = (ROOT / "docs/extensions.md").read_text()
    (source,) = [body for _, body in FENCE.findall(page) if "class Stocktaking" in body]
    documented: dict[str, Any] = {"__name__": "documented"}
    exec(compile(source, "documented.py", "exec"), documented)
    capabilities = {"extensions": {"com.example/stocktaking": {}}}
    message = request("stocktaking/start", clientCapabilities=capabilities)

    def told(caller: Any) -> Any:
        answer = documented["server"].handle(message, auth=caller)
        return answer.get("error", {}).get("code") or answer["result"]["started"]

    assert told({"user": "ada", "scope": "stock:write"}) is True
    assert [told(caller) for caller in (None, "eve", {"user": "eve", "scope": "stock"})] == [
        -32003
    ] * 3
