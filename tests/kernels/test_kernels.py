"""How the kernels run: within bounds, the same without the compiler, from the disk cache, compiled once."""

import json
import os
import subprocess
import sys

import naive
import pytest

from mccfr_plus import Solver

RUNS = """
import hashlib, json
import mccfr_plus

COMBINATIONS = [("external", "rm", None, {}), ("external", "dcfr", None, {}), ("outcome", "rm+", None, {}),
                ("full", "rm", "exact", {}), ("external", "rm", None, {"baseline": True})]

def digest(game, iterations):
    tree, found = mccfr_plus.compile_game(game), hashlib.sha256()
    for estimator, minimizer, averaging, options in COMBINATIONS:
        solver = mccfr_plus.Solver(tree, estimator, minimizer, averaging, seed=1, **options)
        for _ in range(iterations):
            solver.iteration()
        for array in (solver.average_strategy(), solver.current_strategy(), *solver.evaluate()):
            found.update(array.tobytes())
        found.update(str(solver.nodes_touched).encode())
    return found.hexdigest()

"""


def run(code, **environment):
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", RUNS + code],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )
    assert result.returncode == 0, result.stderr[-3000:]
    return json.loads(result.stdout)


@pytest.mark.slow
def test_indices_stay_within_bounds(tmp_path):
    """Also those of kernels outside of loops, which tests run as Python, where each index is checked."""
    # Compiled anew: the digest of a kernel does not tell whether indices are checked.
    code = "print(json.dumps([digest(game, 3) for game in ('kuhn_poker', 'kuhn_poker(players=3)', 'leduc_poker')]))"
    assert run(code, NUMBA_BOUNDSCHECK="1", NUMBA_CACHE_DIR=str(tmp_path)) == run(code, NUMBA_BOUNDSCHECK="0")


def test_results_without_the_compiler_are_bitwise_identical():
    digests = "[digest('kuhn_poker', 2), digest('kuhn_poker(players=3)', 1)]"
    exec(RUNS, names := {})
    assert run(f"print(json.dumps({digests}))", NUMBA_DISABLE_JIT="1") == eval(digests, names)


def test_a_second_solver_compiles_nothing():
    """Games of any size and number of players, parameters and batches share a kernel."""
    loop = Solver(naive.tree_of("kuhn_poker"), "external", seed=1).run(1)._engine.run
    compiled = list(loop.signatures)
    assert len(compiled) == 1
    for game in ("kuhn_poker(players=3)", "leduc_poker", "matrix_rps", "random:3:1"):
        for options in ({}, {"batch": 5}, {"averaging": "power(gamma=3.0)"}):
            solver = Solver(naive.tree_of(game), "external", "rm", **options, seed=1)
            solver.iteration()
            solver.run(1)
            assert solver._engine.run is loop
    assert list(loop.signatures) == compiled
