"""Solves a game whose tree does not fit into memory, with a memory limit, threads and a checkpoint.

python examples/large_game.py --game=phantom_ttt --seconds=600 --memory=4GB --threads=2 --checkpoint=phantom.checkpoint

After each of --looks equal parts of the run, the program prints a lower bound on the exploitability: the payoff of
local best responses in sampled games. The exploitability is higher, by an unknown amount. If you start the program
again with the same --checkpoint, it continues the run for another --seconds.
"""

from pathlib import Path

from absl import app, flags

import mccfr_plus
from mccfr_plus.evaluation.quality import local_bound

_GAME = flags.DEFINE_string("game", "phantom_ttt", "An OpenSpiel game string.")
_SECONDS = flags.DEFINE_float("seconds", 4.0, "Time of the run.", lower_bound=0.1)
_BOUND_SECONDS = flags.DEFINE_float("bound_seconds", 1.0, "Time for each bound.", lower_bound=0.1)
_LOOKS = flags.DEFINE_integer("looks", 2, "Number of bounds.", lower_bound=1)
_ESTIMATOR = flags.DEFINE_string("estimator", "outcome", "external, outcome or another sampling estimator.")
_MEMORY = flags.DEFINE_string("memory", "1GB", "Memory limit of the process.")
_THREADS = flags.DEFINE_integer("threads", 1, "Number of threads.", lower_bound=1)
_CHECKPOINT = flags.DEFINE_string("checkpoint", None, "File for the state, from which a run continues.")
_SEED = flags.DEFINE_integer("seed", 1, "Makes the run repeatable until the clock ends it.", lower_bound=0)


def make_solver():
    if _CHECKPOINT.value is not None and Path(_CHECKPOINT.value).exists():
        return mccfr_plus.Solver.from_checkpoint(_CHECKPOINT.value, memory=_MEMORY.value)
    options = {"seed": _SEED.value, "memory": _MEMORY.value, "threads": _THREADS.value}
    return mccfr_plus.Solver(_GAME.value, _ESTIMATOR.value, **options)


def main(_):
    solver = make_solver()
    print(f"{solver.tree.game}: {_ESTIMATOR.value}, {solver.iterations:,} iterations so far, tree={solver.tree.kind!r}")
    print(f"{'seconds':>8} {'iterations':>11} {'information sets':>17}   exploitability")
    for _ in range(_LOOKS.value):
        solver.run(seconds=_SECONDS.value / _LOOKS.value, checkpoint=_CHECKPOINT.value)
        found = local_bound(solver.tree.game, solver.average_policy(), _BOUND_SECONDS.value, seed=_SEED.value)
        bound = str(found.estimate) if found else "n/a: give more --bound_seconds"
        print(f"{solver.seconds:8.1f} {solver.iterations:11,} {solver.tree.num_infosets:17,}   {bound}", flush=True)
        if solver.stopped:
            print(solver.stopped)
            break


if __name__ == "__main__":
    app.run(main)
