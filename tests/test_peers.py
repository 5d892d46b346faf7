"""`benchmarks/peers.py`: its short run prints a row for each solver; solvers of different games are noticed."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent / "benchmarks" / "peers.py"


@pytest.mark.slow
def test_a_short_run_prints_a_row_for_each_solver():
    done = subprocess.run([sys.executable, SCRIPT, "--short"], capture_output=True, text=True, check=True)
    rows = [
        line.strip("| ").split(" | ") for line in done.stdout.splitlines() if line.startswith(("| Kuhn", "| Leduc"))
    ]
    assert len(rows) == 2 * 4 * 2
    for row in rows:
        ratio, exploitability = float(row[4].replace(",", "")), float(row[7])
        assert ratio == 1 if row[2] == "ours" else ratio > 1
        assert 0 <= exploitability < 5
