"""`benchmarks/peers.py`: its short run prints a row for each solver; solvers of different games are noticed."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent / "benchmarks" / "peers.py"


class Answering:
    """A worker that answers a check."""

    def __init__(self, peer, **answer):
        self.peer, self.answer = peer, answer

    def ask(self, do):
        return self.answer


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


def test_different_games_are_noticed():
    spec = importlib.util.spec_from_file_location("peers", SCRIPT)
    peers = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(peers)
    ours, checked = Answering("ours", histories=58, infosets=12, uniform=0.25), set()
    peers.check([ours, Answering("same", infosets=12, uniform=0.25 + 1e-12)], checked)
    assert checked == {"same"}
    for wrong in ({"histories": 55}, {"uniform": 0.25 + 1e-8}, {"uniform": float("nan")}):
        with pytest.raises(SystemExit, match=f"other: {next(iter(wrong))} is"):
            peers.check([ours, Answering("other", **wrong)], checked=set())
