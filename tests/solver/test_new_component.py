"""Adding a built-in minimizer: its file and one line of the registry, in a copy of the package."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import mccfr_plus

FILE = '''
"""A minimizer that plays the best action so far (fictitious play)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from mccfr_plus.kernels.compile import inline_kernel
from mccfr_plus.trees.scratch import at
from mccfr_plus.minimizers.base import REGRET, Minimizer, expected_value


@inline_kernel
def follow_the_leader(values, strategy, tables, first, last, iteration, parameters):
    """Plays the action of the largest regret. See `Minimizer`."""
    value, best = expected_value(values, strategy, first, last), first
    for slot in range(first, last):
        tables[REGRET, at(slot)] += values[at(slot)] - value
        if tables[REGRET, at(slot)] > tables[REGRET, at(best)]:
            best = slot
    for slot in range(first, last):
        strategy[at(slot)] = 1.0 if slot == best else 0.0
    return value


@dataclass(frozen=True)
class FollowTheLeader(Minimizer):
    """Follow the leader."""

    short_name: ClassVar[str] = "leader"

    @property
    def kernel(self) -> Callable:
        return follow_the_leader
'''

RUN = """
import json, mccfr_plus
solver = mccfr_plus.Solver("kuhn_poker", "full", "leader").run(50)
print(json.dumps([mccfr_plus.__file__, sorted(set(solver.current_strategy().tolist())), solver.exploitability()]))
"""


def test_a_file_and_one_line_of_the_registry(tmp_path):
    copy = tmp_path / "mccfr_plus"
    shutil.copytree(Path(mccfr_plus.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "minimizers" / "follow_the_leader.py").write_text(FILE.lstrip())
    registry = copy / "solver" / "registry.py"
    line = '    "leader": importlib.import_module("mccfr_plus.minimizers.follow_the_leader").FollowTheLeader,\n'
    text = registry.read_text().replace("import difflib\n", "import difflib\nimport importlib\n")
    registry.write_text(
        text.replace('    "rm": minimizers.RegretMatching,\n', '    "rm": minimizers.RegretMatching,\n' + line)
    )
    as_python = {"NUMBA_DISABLE_JIT": "1"}  # compiling is not the point
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONSAFEPATH": "1", **as_python}
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", RUN], capture_output=True, text=True, env=environment, check=False
    )
    assert result.returncode == 0, result.stderr[-2000:]
    file, played, exploitability = json.loads(result.stdout)
    assert Path(file).is_relative_to(tmp_path)
    assert played == [0.0, 1.0]
    assert exploitability < 0.2  # of the average of 50 best responses; uniform play has 0.46
