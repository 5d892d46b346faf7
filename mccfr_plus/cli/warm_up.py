"""`mccfr-plus warm_up`: compiles common kernels once, so that later commands start at once."""

import argparse
import functools
import sys
import time
from collections.abc import Callable
from typing import Any

from tqdm.auto import tqdm

from mccfr_plus.cli.arguments import add_quiet
from mccfr_plus.evaluation.infoset_values import infoset_values
from mccfr_plus.kernels.disk_cache import cache_folder
from mccfr_plus.policies.table import reach_of
from mccfr_plus.solver.solver import Solver
from mccfr_plus.trees.game_tree import compile_game

_GAME = "kuhn_poker"  # kernels are the same for all games
_SOLVERS = [(estimator, rule) for estimator in ("external", "outcome", "full") for rule in ("rm", "rm+")]
_SOLVERS.append(("full", "pdcfr+"))  # the default on small games


SUMMARY = "Compile common kernels once, so that later commands start at once."

_NOTES = """
Compiled are the estimators external, outcome and full with the minimizers rm and rm+, full with pdcfr+, and the kernels
of evaluate, view and export. Other combinations are compiled at their first use, in about 4 seconds each. Compiled
kernels are kept on disk until the package or Numba changes.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of the verb."""
    parser.epilog = _NOTES
    add_quiet(parser)


def run(arguments: argparse.Namespace) -> None:
    """Runs the verb."""
    begin, steps = time.perf_counter(), _steps()
    disable = arguments.quiet or not sys.stderr.isatty()
    for name, compile_it in (bar := tqdm(steps.items(), unit="kernel", leave=False, disable=disable)):
        bar.set_description(name)
        compile_it()
    print(f"compiled, or found in {cache_folder()}: {', '.join(steps)}")
    print(f"{time.perf_counter() - begin:.1f} s")


def _steps() -> dict[str, Callable[[], Any]]:
    """Returns calls that compile kernels, by name."""
    steps: dict[str, Callable[[], Any]] = {}
    tree = compile_game(_GAME)
    for estimator, minimizer in _SOLVERS:
        solver = Solver(tree, estimator, minimizer, seed=1)
        steps[f"{estimator} + {minimizer}"] = functools.partial(solver.run, 1)
    strategy = tree.uniform_strategy()
    steps["evaluation"] = solver.evaluate
    steps["values of information sets"] = lambda: infoset_values(tree, strategy)
    steps["reach"] = lambda: reach_of(tree, strategy)
    return steps
