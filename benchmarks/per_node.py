"""Exploitability per node touched of the schemes that sample: the comparison of Gibson et al. 2012, figure 3a.

python benchmarks/per_node.py --game=liars_dice
"""

import numpy as np
from absl import app, flags

import mccfr_plus

FLAGS = flags.FLAGS

flags.DEFINE_string("game", "liars_dice", "Name of the game")
flags.DEFINE_integer("seeds", 3, "How many runs")
flags.DEFINE_list("marks", ["1e6", "1e7", "3e7", "1e8", "3e8"], "Nodes touched at which to look")
flags.DEFINE_multi_string(
    "estimator",
    [
        "external",
        "outcome",
        "outcome, baseline",
        "average_strategy",
        "average_strategy(beta=1e4)",
        "average_strategy(beta=1e3, tau=100.0)",
        "average_strategy(beta=1e3, tau=10.0)",
    ],
    "Estimators; ', baseline' after one adds baselines",
)

_STEPS = 20  # chunks in which a run comes close to a mark


def curve(tree, spec, marks, seed):
    """Returns the exploitability of the average strategy at each mark."""
    name = spec.removesuffix(", baseline")
    solver = mccfr_plus.Solver(tree, name, "rm", seed=seed, baseline=name != spec)
    found = []
    for mark in marks:
        while solver.nodes_touched < mark:
            per_iteration = solver.nodes_touched / solver.iterations if solver.iterations else mark
            left = (mark - solver.nodes_touched) / per_iteration
            solver.run(max(1, int(min(left, mark / per_iteration / _STEPS))))
        found.append(solver.exploitability())
    return found


def main(_):
    tree = mccfr_plus.compile_game(FLAGS.game)
    marks = [float(mark) for mark in FLAGS.marks]
    print(f"{FLAGS.game}: exploitability (mean of {FLAGS.seeds} runs, largest standard deviation) at nodes touched")
    print(f"{'':<40} " + " ".join(f"{mark:>8.0e}" for mark in marks))
    for spec in FLAGS.estimator:
        runs = np.array([curve(tree, spec, marks, seed) for seed in range(FLAGS.seeds)])
        row = " ".join(f"{value:>8.4f}" for value in runs.mean(0))
        print(f"{spec:<40} {row}  (+- {runs.std(0, ddof=1).max():.4f})", flush=True)


if __name__ == "__main__":
    app.run(main)
