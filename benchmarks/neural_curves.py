"""Exploitability of the neural solvers' defaults against CPU seconds: the table and the picture of docs/neural.md.

    python benchmarks/neural_curves.py --out=neural.png

One thread; evaluations are not counted. Needs: pip install 'mccfr_plus[neural,plot]'
"""

import time

import numpy as np
import torch
from absl import app, flags

import mccfr_plus
from mccfr_plus import neural
from mccfr_plus.experiments.curves import Curve
from mccfr_plus.experiments.plot import plot_curves
from mccfr_plus.experiments.record import Point

FLAGS = flags.FLAGS

flags.DEFINE_list("games", ["kuhn_poker", "leduc_poker"], "Games")
flags.DEFINE_float("seconds", 60.0, "CPU seconds of each run")
flags.DEFINE_integer("marks", 9, "At how many times they are looked at")
flags.DEFINE_integer("seeds", 3, "How many runs of each")
flags.DEFINE_string("out", None, "Write the picture there, .png or .svg")

SOLVERS = {
    "deep_cfr": lambda game, seed: neural.DeepCFR(game, seed=seed),
    "deep_cfr, pdcfr+": lambda game, seed: neural.DeepCFR(game, neural.DeepCFRConfig(minimizer="pdcfr+"), seed),
    "dream": lambda game, seed: neural.DREAM(game, seed=seed),
    "escher": lambda game, seed: neural.ESCHER(game, seed=seed),
    "escher, exact values": lambda game, seed: neural.ESCHER(game, neural.ESCHERConfig(values="exact"), seed),
    "nfsp": lambda game, seed: neural.NFSP(game, seed=seed),
}


def record(solver, marks):
    """Returns a point at each mark."""
    solver._prepare()
    spent, points = 0.0, []
    for mark in marks:
        while spent < mark:
            begin = time.process_time()
            solver.iteration()
            spent += time.process_time() - begin
        found = solver.evaluate()
        points.append(
            Point(mark, solver.iterations, solver.nodes_touched, spent, found.nash_conv, found.values.tolist())
        )
    return tuple(points)


def main(_):
    torch.set_num_threads(1)
    marks = FLAGS.seconds / 2.0 ** (np.arange(FLAGS.marks)[::-1] / 1.25)
    curves = []
    for game in FLAGS.games:
        tree = mccfr_plus.compile_game(game)
        for name, make in SOLVERS.items():
            curve = Curve(game, name, tuple(record(make(tree, seed), marks) for seed in range(FLAGS.seeds)), 2)
            curves.append(curve)
            medians = np.median(curve.y("exploitability"), axis=0)
            shown = ", ".join(f"{value:.4f} at {mark:.1f} s" for mark, value in zip(marks, medians, strict=True))
            print(f"{game}, {name}, medians of {FLAGS.seeds} seeds: {shown}", flush=True)
    if FLAGS.out:
        plot_curves(curves, [FLAGS.out], unit="seconds", algorithms=list(SOLVERS), source="Defaults; CPU seconds.")


if __name__ == "__main__":
    app.run(main)
