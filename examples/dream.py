"""DREAM: regrets from single trajectories, with baselines that another network learns.

python examples/dream.py --game=leduc_poker --traversals=1000 --iterations=300 --checkpoint=leduc.checkpoint

Needs torch: pip install 'mccfr_plus[neural]'. A second call with the same --checkpoint runs --iterations more.
"""

from pathlib import Path

from absl import app, flags

import mccfr_plus
from mccfr_plus.neural import DREAM, DREAMConfig

_GAME = flags.DEFINE_string("game", "kuhn_poker", "An OpenSpiel game string.")
_ITERATIONS = flags.DEFINE_integer("iterations", 100, "How many iterations to run.", lower_bound=1)
_TRAVERSALS = flags.DEFINE_integer("traversals", 500, "Trajectories per player and iteration.", lower_bound=1)
_HIDDEN_LAYERS = flags.DEFINE_list("hidden_layers", ["64", "64"], "Widths of the hidden layers.")
_TRAIN_STEPS = flags.DEFINE_integer("train_steps", 20, "Steps of Adam per network and iteration.", lower_bound=1)
_LEARNING_RATE = flags.DEFINE_float("learning_rate", 1e-3, "Step size of Adam.")
_EPSILON = flags.DEFINE_float("epsilon", 0.5, "Probability of drawing an own action uniformly.")
_BASELINE = flags.DEFINE_bool("baseline", True, "Whether baselines are learned.")
_SEED = flags.DEFINE_integer("seed", 1, "Makes the run repeatable.", lower_bound=0)
_CHECKPOINT = flags.DEFINE_string("checkpoint", None, "The file to save the state in and resume from.")
_POLICY = flags.DEFINE_string("policy", None, "A file for the average policy, .npz.")


def make_solver():
    if _CHECKPOINT.value is not None and Path(_CHECKPOINT.value).exists():
        return DREAM.load(_CHECKPOINT.value)
    config = DREAMConfig(
        traversals=_TRAVERSALS.value,
        hidden_layers=tuple(int(width) for width in _HIDDEN_LAYERS.value),
        train_steps=_TRAIN_STEPS.value,
        learning_rate=_LEARNING_RATE.value,
        epsilon=_EPSILON.value,
        baseline=_BASELINE.value,
    )
    return DREAM(_GAME.value, config, seed=_SEED.value)


def report(progress):
    if progress.evaluation is not None:
        losses = "  ".join("n/a" if loss is None else f"{loss:.5f}" for loss in progress.losses)
        counts = f"{progress.iterations:10,}   {progress.nodes_touched:13,}"
        print(f"{counts}   {progress.evaluation.exploitability:14.6f}   {losses}", flush=True)


def main(_):
    solver = make_solver()
    print("iterations   nodes touched   exploitability   losses")
    solver.run(_ITERATIONS.value, callback=report, evaluate_every=0.2, checkpoint=_CHECKPOINT.value)
    if _POLICY.value is not None:
        mccfr_plus.save_policy(solver.average_policy(), _POLICY.value)
        print(f"mccfr-plus evaluate {_GAME.value!r} {_POLICY.value} reads the policy")


if __name__ == "__main__":
    app.run(main)
