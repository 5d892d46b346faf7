"""Runs Deep CFR, DREAM, ESCHER or NFSP on an OpenSpiel game.

python examples/neural.py --algorithm=dream --game=leduc_poker --iterations=300 --csv=leduc.csv

The program needs torch: pip install 'mccfr_plus[neural]'. If you start it again with the same --checkpoint, it
continues the run for another --iterations.
"""

from pathlib import Path

from absl import app, flags

from mccfr_plus import neural

# Small networks, for a laptop and a small game.
SPECS = {
    "deep_cfr": "deep_cfr(traversals=500, hidden_layers=[64, 64], train_steps=20)",
    "dream": "dream(traversals=500, hidden_layers=[64, 64], train_steps=20)",
    "escher": "escher(traversals=500, value_traversals=500, hidden_layers=[64, 64], train_steps=20)",
    "nfsp": "nfsp(episodes=1000, hidden_layers=[64, 64])",
}

_ALGORITHM = flags.DEFINE_enum("algorithm", "deep_cfr", list(SPECS), "The algorithm.")
_GAME = flags.DEFINE_string("game", "kuhn_poker", "An OpenSpiel game string.")
_ITERATIONS = flags.DEFINE_integer("iterations", 50, "How many iterations to run.", lower_bound=1)
_SEED = flags.DEFINE_integer("seed", 1, "Makes the run repeatable.", lower_bound=0)
_CHECKPOINT = flags.DEFINE_string("checkpoint", None, "File in which the state is saved, to resume from it.")
_CSV = flags.DEFINE_string("csv", None, "A file for the losses and exploitabilities of all iterations.")


def main(_):
    if _CHECKPOINT.value is not None and Path(_CHECKPOINT.value).exists():
        solver = neural.from_checkpoint(_CHECKPOINT.value)
    else:
        solver = neural.new_solver(_GAME.value, SPECS[_ALGORITHM.value], seed=_SEED.value)

    def report(progress):
        if progress.evaluation is not None:
            counts = f"{progress.iterations:10,}   {progress.nodes_touched:13,}"
            print(f"{counts}   {progress.evaluation.exploitability:14.6f}", flush=True)

    callbacks = [report] if _CSV.value is None else [report, neural.CSVLogger(_CSV.value)]
    print("iterations   nodes touched   exploitability")
    solver.run(_ITERATIONS.value, callbacks=callbacks, evaluate_every=0.2, checkpoint=_CHECKPOINT.value)


if __name__ == "__main__":
    app.run(main)
