"""The game of docs/tutorials/own-game.md: as a program, as a module, and its kernels in the disk cache."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parent.parent.parent / "docs" / "tutorials" / "own-game.md"
USE = """
import sys
sys.path.insert(0, {folder!r})
import {module}
import mccfr_plus
print(mccfr_plus.compile_game("cup_game(cups=2)").num_nodes)
"""


@pytest.fixture
def program(tmp_path):
    """The program of docs/tutorials/own-game.md. Its cached kernels are deleted with the test's folder."""
    path = tmp_path / "my_game.py"
    path.write_text(re.search(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S).group(1))
    return path


def run(*arguments):
    done = subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def use(path):
    return run("-c", USE.format(folder=str(path.parent), module=path.stem))


def cached_kernels():
    return set(Path(os.environ["NUMBA_CACHE_DIR"]).rglob("*.nb*"))


@pytest.mark.slow
def test_a_second_run_of_the_program_compiles_nothing(program, monkeypatch):
    # A folder that no other test writes to.
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(program.parent / "cache"))
    first = run(program)
    assert "6 checks passed" in first
    before = cached_kernels()
    assert any("my_game" in path.name for path in before)
    assert run(program) == first
    assert cached_kernels() == before


@pytest.mark.slow
def test_a_change_of_a_rule_is_seen(program):
    assert use(program) == "85\n"
    text = program.read_text()
    changed = text.replace("        actions[count] = cups  # leave\n        count += 1\n", "        pass\n")
    assert changed != text
    program.write_text(changed)
    assert int(use(program)) < 85
