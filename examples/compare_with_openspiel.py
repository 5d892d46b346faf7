"""Solves one game with OpenSpiel's solver and with ours, for as many iterations, and prints how far each got.

python examples/compare_with_openspiel.py --game=leduc_poker --algorithm=cfr --iterations=200
"""

import time

import pyspiel
from absl import app, flags

import mccfr_plus

_GAME = flags.DEFINE_string("game", "leduc_poker", "An OpenSpiel game string, two players, zero-sum.")
_ALGORITHM = flags.DEFINE_enum("algorithm", "cfr", ["cfr", "cfr+", "external", "outcome"], "Which algorithm.")
_ITERATIONS = flags.DEFINE_integer("iterations", 200, "How many iterations.", lower_bound=1)

_PARTS = {
    "cfr": ("full", "rm"),
    "cfr+": ("full", "rm+"),
    "external": ("external", "rm"),
    "outcome": ("outcome", "rm"),
}


def openspiel_solver(game: pyspiel.Game):
    """Returns OpenSpiel's solver and the method that runs one iteration."""
    if _ALGORITHM.value in ("cfr", "cfr+"):
        solver = pyspiel.CFRSolver(game) if _ALGORITHM.value == "cfr" else pyspiel.CFRPlusSolver(game)
        return solver, solver.evaluate_and_update_policy
    if _ALGORITHM.value == "external":
        solver = pyspiel.ExternalSamplingMCCFRSolver(game, 1)
    else:
        solver = pyspiel.OutcomeSamplingMCCFRSolver(game)
    return solver, solver.run_iteration


def main(_):
    tree = mccfr_plus.compile_game(_GAME.value)
    theirs, iteration = openspiel_solver(tree.game)
    ours = mccfr_plus.Solver(tree, *_PARTS[_ALGORITHM.value], seed=1)
    ours.iteration()  # loads the kernels

    begin = time.perf_counter()
    for _ in range(_ITERATIONS.value):
        iteration()
    middle = time.perf_counter()
    ours.run(max(1, _ITERATIONS.value - ours.iterations))
    end = time.perf_counter()

    print(f"{_GAME.value}, {_ALGORITHM.value}, {_ITERATIONS.value:,} iterations")
    # One judge for both, so that the numbers can be compared.
    for name, policy, seconds in (
        ("OpenSpiel", theirs.average_policy(), middle - begin),
        ("mccfr_plus", ours.average_policy(), end - middle),
    ):
        exploitability = mccfr_plus.exploitability(tree, policy)
        print(f"{name:11} exploitability {exploitability:.9f}   {seconds:9.4f} s")


if __name__ == "__main__":
    app.run(main)
