"""`mccfr-plus warm_up`: compiles common kernels once, so that later commands start at once."""

import argparse
import time

from mccfr_plus.cli import command
from mccfr_plus.kernels.compile import cache_folder
from mccfr_plus.policies.table import infoset_values
from mccfr_plus.solver.solver import Solver
from mccfr_plus.trees.game_tree import compile_game

SUMMARY = "Compile commonly used kernels in advance, so that later commands need not compile them."

_SOLVERS = [(estimator, rule) for estimator in ("external", "outcome", "full") for rule in ("rm", "rm+")]
_SOLVERS.append(("full", "pdcfr+"))  # the default on small games
NOTES = """
This command compiles each of the estimators external, outcome and full with each of the minimizers rm and rm+;
the estimator full with pdcfr+; and the kernels of evaluate, view and export. Any other combination is compiled on first
use, which takes about 4 seconds. Compiled kernels are kept on disk until the package or Numba changes.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    command.add_quiet(parser)


def run(arguments: argparse.Namespace) -> None:
    begin, tree = time.perf_counter(), compile_game("leduc_poker")  # kernels are the same for all games
    for estimator, minimizer in _SOLVERS:
        Solver(tree, estimator, minimizer, seed=1).run(1).evaluate()
    infoset_values(tree, tree.uniform_strategy())
    names = ", ".join(f"{estimator} + {minimizer}" for estimator, minimizer in _SOLVERS)
    print(f"compiled or already in {cache_folder()}: {names}, evaluation")
    print(f"{time.perf_counter() - begin:.1f} s")
