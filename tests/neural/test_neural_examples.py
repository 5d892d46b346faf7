"""The examples of neural solvers: they run, resume from a checkpoint, and write a policy."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
import mccfr_plus
from mccfr_plus.checkpoints import file as checkpoint_file

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["deep_cfr", "dream", "escher", "nfsp"])
def test_runs_and_resumes(name, tmp_path):
    size = "--episodes=1000" if name == "nfsp" else "--traversals=100"
    flags = ["--iterations=10", size, "--checkpoint=run.checkpoint", "--policy=kuhn.npz"]
    for total in (10, 20):
        result = subprocess.run(
            [sys.executable, EXAMPLES / f"{name}.py", *flags], capture_output=True, text=True, cwd=tmp_path
        )
        assert result.returncode == 0, result.stderr
        lines = result.stdout.splitlines()
        assert lines[0].startswith("iterations   nodes touched")
        assert lines[-2].split()[0] == str(total)
        assert checkpoint_file.read_header(tmp_path / "run.checkpoint")["iterations"] == total
    policy = mccfr_plus.load_policy(tmp_path / "kuhn.npz")
    assert float(lines[-2].split()[2]) == pytest.approx(mccfr_plus.exploitability("kuhn_poker", policy), abs=1e-6)
