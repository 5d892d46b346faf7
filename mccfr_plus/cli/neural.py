"""`mccfr-plus solve --algorithm=SPEC` with neural networks. Torch is imported only with that flag."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from mccfr_plus.cli import checkpoints, output
from mccfr_plus.cli.arguments import seed_of
from mccfr_plus.cli.run import run_and_print
from mccfr_plus.errors import BudgetError, MccfrPlusError
from mccfr_plus.files.lock import CheckpointLock
from mccfr_plus.neural import ALGORITHMS, from_checkpoint, new_solver
from mccfr_plus.solver.tree_choice import TreeLimits

HELP = (
    "Solve with neural networks (pip install 'mccfr_plus[neural]'): deep_cfr, dream, escher or nfsp, with settings, as "
    'in "dream(traversals=1000, representation=batched)".'
)


def solve(arguments: argparse.Namespace, lock: CheckpointLock | None) -> None:
    """Runs a neural solver, and prints and writes its result.

    Args:
        arguments: The parsed command line of `mccfr-plus solve`.
        lock: The lock of the checkpoint, if there is one.

    Raises:
        MccfrPlusError: For bad input; or, after the result so far, if networks diverged or the last checkpoint could
            not be written.
    """
    solver = _solver_of(arguments, lock if arguments.resume else None)
    name = {kind: name for name, kind in ALGORITHMS.items()}[type(solver).__name__]
    plain = type(solver.config)().resolved(solver.representation.kind)
    settings, defaults = solver.config.as_dict(), plain.as_dict()
    changes = ", ".join(f"{name}={value}" for name, value in settings.items() if value != defaults[name])
    output.show_notes()
    if not arguments.quiet:
        print(f"solving with {name}, seed {solver.seed}: {changes or 'the default settings'}", file=sys.stderr)
    heading = [["algorithm", name], ["settings", changes or "the default ones"]]
    run_and_print(solver, arguments, lock, {"algorithm": name, "settings": settings}, heading)


def _solver_of(arguments: argparse.Namespace, resumed: CheckpointLock | None) -> Any:
    """Returns the solver of the command line, or the one of the checkpoint to continue."""
    try:
        if arguments.algorithm is None:
            assert resumed is not None
            solver = from_checkpoint(resumed, arguments.game)
        else:
            limits = TreeLimits(progress=False if arguments.quiet else None)
            solver = new_solver(arguments.game, arguments.algorithm, seed=seed_of(arguments), limits=limits)
            if resumed is not None:
                solver.restore(resumed)
    except MccfrPlusError:
        raise
    except (MemoryError, RuntimeError) as error:  # torch raises the latter
        reason = str(error).splitlines()[0]
        raise BudgetError(f"out of memory for networks and samples ({reason}): choose smaller settings.") from None
    if resumed is not None:
        checkpoints.require_seed(resumed, solver.seed, arguments)
    return solver
