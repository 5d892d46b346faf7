"""Deep CFR, DREAM, ESCHER and NFSP on a game whose tree fits into memory.

python examples/neural.py --algorithm=dream --game=leduc_poker --iterations=300 --checkpoint=leduc.checkpoint

Needs torch: pip install 'mccfr_plus[neural]'. A second call with the same --checkpoint runs --iterations more.
"""

from pathlib import Path

from absl import app, flags

import mccfr_plus
from mccfr_plus import neural

SMALL = {"hidden_layers": (64, 64), "train_steps": 20}  # for a laptop and a small game
SOLVERS = {
    "deep_cfr": (neural.DeepCFR, neural.DeepCFRConfig(traversals=500, **SMALL)),
    "dream": (neural.DREAM, neural.DREAMConfig(traversals=500, **SMALL)),
    "escher": (neural.ESCHER, neural.ESCHERConfig(traversals=500, value_traversals=500, **SMALL)),
    "nfsp": (neural.NFSP, neural.NFSPConfig(episodes=1000, hidden_layers=(64, 64))),
}

_ALGORITHM = flags.DEFINE_enum("algorithm", "deep_cfr", list(SOLVERS), "Which networks learn what.")
_GAME = flags.DEFINE_string("game", "kuhn_poker", "An OpenSpiel game string.")
_ITERATIONS = flags.DEFINE_integer("iterations", 50, "How many iterations to run.", lower_bound=1)
_SEED = flags.DEFINE_integer("seed", 1, "Makes the run repeatable.", lower_bound=0)
_CHECKPOINT = flags.DEFINE_string("checkpoint", None, "The file to save the state in and resume from.")
_POLICY = flags.DEFINE_string("policy", None, "A file for the average policy, .npz.")


def make_solver():
    solver_class, config = SOLVERS[_ALGORITHM.value]
    if _CHECKPOINT.value is not None and Path(_CHECKPOINT.value).exists():
        return solver_class.from_checkpoint(_CHECKPOINT.value)
    return solver_class(_GAME.value, config, seed=_SEED.value)


def report(progress):
    if progress.evaluation is not None:
        losses = "  ".join("n/a" if loss is None else f"{loss:.5f}" for loss in progress.solver.losses)
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
