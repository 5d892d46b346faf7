"""How the kernels run: within bounds, the same without the compiler, from the disk cache, compiled once."""

import json
import os
import subprocess
import sys
from pathlib import Path

import naive
import pytest

from mccfr_plus import Solver
from mccfr_plus.kernels import loop
from mccfr_plus.solver import registry as parts

ALL_PARTS = """
import json, hashlib
SPECIAL = ("full(traversal=True)", "escher(values='learned',sampling='balanced')",
           "full(pruning=True)", "external(sample_per_infoset=True)", "external(prune_below=-0.1)",
           "outcome(update_all_players=True)", "external", "opponent", "chance", "outcome", "balanced",
           "average_strategy(beta=0.0)")
WITH_BASELINE = ("external(sample_per_infoset=True)", "external(prune_below=-0.1)", *SPECIAL[6:])
import numpy as np
import mccfr_plus
from mccfr_plus import PowerAverage
from mccfr_plus.kernels import loop
from mccfr_plus.solver import registry as parts

def digest(game, iterations):
    tree = mccfr_plus.compile_game(game)
    bits = hashlib.sha256()
    for estimator in parts.ESTIMATORS:
        for minimizer in parts.MINIMIZERS:
            if estimator == "escher" and minimizer in ("ftrl", "omd"):
                continue
            for averaging in (None, "exact", "optimistic", "stochastic"):
                solver = mccfr_plus.Solver(tree, estimator, minimizer, averaging, seed=1)
                for _ in range(iterations):
                    solver.iteration()
                evaluation = solver.evaluate()
                for array in (solver.average_strategy(), solver.current_strategy(), *evaluation):
                    bits.update(array.tobytes())
                bits.update(str(solver.nodes_touched).encode())
    for estimator in SPECIAL:
        for options in ({}, {"batch": 2, "baseline": estimator in WITH_BASELINE}):
            if "full" in estimator and options:
                continue
            solver = mccfr_plus.Solver(tree, estimator, "rm", "stochastic", seed=1, **options)
            for _ in range(iterations):
                solver.iteration()
            bits.update(solver.average_strategy().tobytes() + solver.current_strategy().tobytes())
    return bits.hexdigest()
"""


def run(code, **environment):
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", ALL_PARTS + code],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )
    assert result.returncode == 0, result.stderr[-3000:]
    return json.loads(result.stdout)


@pytest.mark.slow
def test_indices_stay_within_bounds(tmp_path):
    # Compiled anew: Numba's cache does not tell kernels with and without checks apart.
    code = "print(json.dumps([digest(g, 3) for g in ('kuhn_poker', 'kuhn_poker(players=3)', 'leduc_poker')]))"
    checked = run(code, NUMBA_BOUNDSCHECK="1", NUMBA_CACHE_DIR=str(tmp_path))
    assert checked == run(code, NUMBA_BOUNDSCHECK="0")


def test_the_same_bits_without_the_compiler():
    code = "print(json.dumps([digest('kuhn_poker', 2), digest('kuhn_poker(players=3)', 1)]))"
    assert run(code, NUMBA_DISABLE_JIT="1") == run(code)


def test_a_second_process_compiles_nothing():
    code = """
digest('kuhn_poker', 1)
from mccfr_plus.evaluation import kernels
stats = [f.stats for f in (loop.run, loop.max_visits, kernels.evaluate)]
print(json.dumps([[sum(s.cache_hits.values()), sum(s.cache_misses.values())] for s in stats]))
"""
    run(code)
    for hits, misses in run(code):
        assert hits > 0
        assert misses == 0


def test_kernels_of_the_tests_are_kept_where_no_stale_one_is():
    assert Path(loop.run.stats.cache_path).is_relative_to(os.environ["NUMBA_CACHE_DIR"])


def test_a_second_solver_compiles_nothing():
    Solver(naive.tree_of("kuhn_poker"), "external", seed=1).iteration()
    signatures = list(loop.run.signatures)
    assert len(signatures) <= 2  # another one serves teams and trees that expand
    for game in ("kuhn_poker(players=3)", "leduc_poker", "matrix_rps", "random:3:1"):
        for estimator in parts.ESTIMATORS:
            for minimizer in parts.MINIMIZERS:
                if naive.go_together(estimator, minimizer):
                    solver = Solver(naive.tree_of(game), estimator, minimizer, "power", alternating=False, seed=1)
                    solver.iteration()
                    solver.run(1)
    assert list(loop.run.signatures) == signatures


@pytest.mark.parametrize("scheme", ["external", "outcome"])
def test_a_kernel_without_decisions_for_a_player_runs(scheme):
    # Player 1 never moves.
    import pyspiel

    text = (
        'EFG 2 R "one mover" { "A" "B" }\np "" 1 1 "I" { "a" "b" } 0\nt "" 1 "" { 1.0 -1.0 }\nt "" 2 "" { 2.0 -2.0 }\n'
    )
    solver = Solver(pyspiel.load_efg_game(text), scheme, seed=1).run(200)
    assert solver.average_strategy()[1] > 0.9
    assert solver.exploitability() < 0.1
