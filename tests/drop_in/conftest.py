"""Runs OpenSpiel's own programs in a process of their own, with nothing changed but the import."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from pathlib import Path

import open_spiel.python
import programs
import pytest

_OPENSPIEL = Path(next(iter(open_spiel.python.__path__)))
_TIMEOUT = 600  # seconds; a machine that has no compiled kernels yet needs a minute


def _rewritten(source: str, imports: dict[str, str]) -> str:
    """Returns a program in which the import lines that begin with a key begin with its value."""
    for old, new in imports.items():
        source, count = re.subn(rf"^{re.escape(old)}(?= |$)", new, source, flags=re.MULTILINE)
        assert count == 1, f"OpenSpiel's program has {count} lines that begin with {old!r}: this test needs a look"
    return source


def _run(folder: Path, script: Path, *arguments: str) -> str:
    code, printed = programs.run(script, arguments, folder, _TIMEOUT)
    assert code == 0, f"{script} {arguments} returned {code}\n{printed}"
    return printed


@pytest.fixture
def rewrite(tmp_path: Path) -> Callable[..., Path]:
    """Returns a function that writes one of OpenSpiel's programs, with other imports, to a file of its own."""

    def write(name: str, imports: dict[str, str]) -> Path:
        path = tmp_path / Path(name).name
        path.write_text(_rewritten((_OPENSPIEL / name).read_text(), imports))
        return path

    return write


@pytest.fixture
def run_script(tmp_path: Path) -> Callable[..., str]:
    """Returns a function that runs a Python file and returns what it printed; fails if that fails."""
    return functools.partial(_run, tmp_path)
