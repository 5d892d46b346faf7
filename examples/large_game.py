"""Solves a game whose tree does not fit memory: a memory limit, threads, a checkpoint, and a bound as it goes.

python examples/large_game.py --game=phantom_ttt --seconds=600 --memory=4GB --threads=2 --checkpoint=phantom.checkpoint

Prints a lower bound of the exploitability after each of the --looks equal parts of the training time. It is what local
best responses win in sampled games: the truth is above it, and how far is not known. With matplotlib and --picture=FILE
the same as a picture. Called again with the same --checkpoint it goes on for another --seconds.
"""

import importlib.util
from pathlib import Path

from absl import app, flags

import mccfr_plus
from mccfr_plus.evaluation.quality import local_bound

_GAME = flags.DEFINE_string("game", "phantom_ttt", "An OpenSpiel game string.")
_SECONDS = flags.DEFINE_float("seconds", 4.0, "How long to train.", lower_bound=0.1)
_BOUND_SECONDS = flags.DEFINE_float("bound_seconds", 1.0, "How long to look for each bound.", lower_bound=0.1)
_LOOKS = flags.DEFINE_integer("looks", 2, "How many bounds.", lower_bound=1)
_ESTIMATOR = flags.DEFINE_string("estimator", "outcome", "external, outcome or another that samples.")
_MEMORY = flags.DEFINE_string("memory", "1GB", "Of the whole process.")
_THREADS = flags.DEFINE_integer("threads", 1, "In how many threads to traversal.", lower_bound=1)
_CHECKPOINT = flags.DEFINE_string("checkpoint", None, "Keep the state there, and go on from it if it is there.")
_PICTURE = flags.DEFINE_string("picture", None, "Draw bound against time there, if matplotlib is installed.")
_SEED = flags.DEFINE_integer("seed", 1, "Makes the run repeatable up to when the clock ends it.", lower_bound=0)


def make_solver():
    if _CHECKPOINT.value is not None and Path(_CHECKPOINT.value).exists():
        return mccfr_plus.Solver.from_checkpoint(_CHECKPOINT.value, memory=_MEMORY.value)
    return mccfr_plus.Solver(
        _GAME.value,
        _ESTIMATOR.value,
        seed=_SEED.value,
        memory=_MEMORY.value,
        threads=_THREADS.value,
        tree="lazy",
    )


def draw(times, bounds):
    if importlib.util.find_spec("matplotlib") is None:
        print("no picture: matplotlib is not installed")
        return
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    values = [bound.value for bound in bounds]
    errors = [[bound.value - bound.low for bound in bounds], [bound.high - bound.value for bound in bounds]]
    pyplot.errorbar(times, values, yerr=errors, marker="o", capsize=3)
    pyplot.xlabel("seconds of training")
    pyplot.ylabel("exploitability, lower bound")
    pyplot.title(_GAME.value)
    pyplot.savefig(_PICTURE.value)
    print(f"picture: {_PICTURE.value}")


def main(_):
    solver = make_solver()
    print(f"{solver.tree.game}: {_ESTIMATOR.value}, {solver.iterations:,} iterations so far")
    print(f"{'seconds':>8} {'iterations':>11} {'information sets':>17} {'exploitability at least':>24}   interval")
    times, bounds = [], []
    for _ in range(_LOOKS.value):
        solver.run(seconds=_SECONDS.value / _LOOKS.value, checkpoint=_CHECKPOINT.value)
        found = local_bound(solver.tree.game, solver.average_policy(), _BOUND_SECONDS.value, seed=_SEED.value)
        line = f"{solver.seconds:8.1f} {solver.iterations:11,} {solver.tree.num_infosets:17,}"
        if found is None:
            print(f"{line} {'n/a: --bound_seconds':>24}", flush=True)
        else:
            bound = found.estimate
            print(f"{line} {bound.value:24.4f}   {bound.low:.4f} to {bound.high:.4f}", flush=True)
            times.append(solver.seconds)
            bounds.append(bound)
        if solver.stopped:
            print(solver.stopped)
            break
    if _PICTURE.value is not None and bounds:
        draw(times, bounds)


if __name__ == "__main__":
    app.run(main)
