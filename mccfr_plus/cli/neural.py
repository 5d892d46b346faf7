"""`mccfr-plus solve --algorithm=SPEC` with neural networks. Torch is imported only with that flag."""

import argparse
import sys

from mccfr_plus.cli import checkpoints, output
from mccfr_plus.cli.arguments import seed_of
from mccfr_plus.cli.run import run_and_print
from mccfr_plus.files.lock import CheckpointLock
from mccfr_plus.neural import ALGORITHMS, from_checkpoint, new_solver

HELP = (
    f"Solve with neural networks (pip install 'mccfr_plus[neural]'): {', '.join(ALGORITHMS)}, with settings, as in "
    '"dream(traversals=1000, representation=batched)".'
)


def solve(arguments: argparse.Namespace, lock: CheckpointLock | None) -> None:
    """Runs a neural solver, and prints and writes its result; `lock` is the checkpoint's, if there is one."""
    resumed = lock if arguments.resume else None
    if arguments.algorithm is None:
        assert resumed is not None
        solver = from_checkpoint(resumed, arguments.game)
    else:
        progress = False if arguments.quiet else None
        solver = new_solver(arguments.game, arguments.algorithm, seed=seed_of(arguments), progress=progress)
    if resumed is not None:
        solver.restore(resumed)  # compares the settings
        checkpoints.require_seed(resumed, solver.seed, arguments)
    name = {kind: name for name, kind in ALGORITHMS.items()}[type(solver).__name__]
    plain = type(solver.config)().resolved(solver.representation.kind)
    settings, defaults = solver.config.as_dict(), plain.as_dict()
    changes = ", ".join(f"{name}={value}" for name, value in settings.items() if value != defaults[name])
    output.show_notes()
    if not arguments.quiet:
        print(f"solving with {name}, seed {solver.seed}: {changes or 'the default settings'}", file=sys.stderr)
    heading = [["algorithm", name], ["settings", changes or "the default ones"]]
    run_and_print(solver, arguments, lock, {"algorithm": name, "settings": settings}, heading)
