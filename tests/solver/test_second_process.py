"""What one process has compiled the next one finds on disk: built-in and user-defined components alike."""

import json
import os
import subprocess
import sys

import pytest

from mccfr_plus import Solver
from mccfr_plus.kernels.compile import cache_folder

RULE = """
import numba
from mccfr_plus import Minimizer

@numba.njit
def helper(x):
    return max(x, 0.0)

@numba.njit
def rule(values, strategy, tables, first, last, iteration, parameters):
    value, total = 0.0, 0.0
    for slot in range(first, last):
        value += strategy[slot] * values[slot]
    for slot in range(first, last):
        tables[0, slot] += values[slot] - value
        values[slot] = helper(tables[0, slot])
        total += values[slot]
    for slot in range(first, last):
        strategy[slot] = values[slot] / total if total > 0.0 else 1.0 / (last - first)
    return value

class MyRule(Minimizer):
    short_name = "my rule"
    kernel = staticmethod(rule)
"""

RUN = """
import json, own_rule
from mccfr_plus import Solver
solvers = [
    Solver("kuhn_poker", "external", "rm", seed=1, threads=2),
    Solver("kuhn_poker", "external", own_rule.MyRule(), seed=1),
]
values = [solver.run(100).current_strategy().tolist() for solver in solvers]
misses = sum(sum(solver._engine.run.stats.cache_misses.values()) for solver in solvers)
print(json.dumps([values, misses]))
"""


def run(folder):
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path, "NUMBA_CACHE_DIR": str(folder / "cache")}
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", RUN], capture_output=True, text=True, env=environment, check=False
    )
    assert result.returncode == 0, result.stderr[-3000:]
    return json.loads(result.stdout)


def test_the_second_process_compiles_nothing_until_the_rule_changes(tmp_path):
    (tmp_path / "own_rule.py").write_text(RULE)
    Solver("kuhn_poker", "external", "rm", seed=1, threads=2).run(1)  # the first process finds it on disk
    kept = tmp_path / "cache" / "kernels"
    kept.mkdir(parents=True)
    for path in cache_folder().glob("*.nbc"):
        (kept / path.name).symlink_to(path)
    values, misses = run(tmp_path)
    assert misses in (1, 2)  # the loop with the rule; the other one, too, if another test has kept it elsewhere
    regret_matching = Solver("kuhn_poker", "external", "rm", seed=1).run(100)
    assert values[1] == pytest.approx(regret_matching.current_strategy().tolist(), rel=1e-9)  # which the rule is
    assert run(tmp_path) == [values, 0]
    (tmp_path / "own_rule.py").write_text(RULE.replace("max(x, 0.0)", "max(x, 0.0) ** 2"))
    changed, misses = run(tmp_path)
    assert misses == 1  # the loop with the rule, and no other
    assert changed[0] == values[0]
    assert changed[1] != values[1]
