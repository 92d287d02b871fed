"""The programs of this folder, read by mypy in strict mode."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.mark.timeout(180)
def test_what_must_type_check_does_and_what_must_not_does_not() -> None:
    pytest.importorskip("mypy")
    files = [str(HERE / name) for name in ("accepted.py", "refused.py")]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--warn-unused-ignores", *files],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
