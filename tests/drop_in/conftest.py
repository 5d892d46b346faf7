"""Runs OpenSpiel's own programs in a process of their own, with nothing changed but the import."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import open_spiel.python
import pytest

_OPENSPIEL = Path(next(iter(open_spiel.python.__path__)))
_TIMEOUT = 600  # seconds; a machine that has no compiled kernels yet needs a minute


def _rewritten(source: str, imports: dict[str, str]) -> str:
    """Returns a program in which the import lines that begin with a key begin with its value."""
    for old, new in imports.items():
        source, count = re.subn(rf"^{re.escape(old)}(?= |$)", new, source, flags=re.MULTILINE)
        assert count == 1, f"OpenSpiel's program has {count} lines that begin with {old!r}: this test needs a look"
    return source


def _run(script: Path, *arguments: str) -> str:
    environment = {**os.environ, "TMPDIR": str(script.parent)}
    command = [sys.executable, str(script), *arguments]
    done = subprocess.run(
        command, cwd=script.parent, env=environment, capture_output=True, text=True, timeout=_TIMEOUT, check=False
    )
    assert done.returncode == 0, f"{command} returned {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


@pytest.fixture
def rewrite(tmp_path: Path) -> Callable[..., Path]:
    """Returns a function that writes one of OpenSpiel's programs, with other imports, to a file of its own."""

    def write(name: str, imports: dict[str, str]) -> Path:
        path = tmp_path / Path(name).name
        path.write_text(_rewritten((_OPENSPIEL / name).read_text(), imports))
        return path

    return write


@pytest.fixture
def run_script() -> Callable[..., str]:
    """Returns a function that runs a Python file and returns what it printed; fails if that fails."""
    return _run
