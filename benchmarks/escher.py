"""Exploitability that tabular ESCHER reaches after CPU seconds, beside outcome and external sampling; medians of seeds.

    python benchmarks/escher.py
    python benchmarks/escher.py --game=kuhn_poker --seconds=0.5,1,2

The solvers of a seed take turns in this process, on one thread; evaluations are not counted.
"""

import os
import statistics
import time

from absl import app, flags

import mccfr_plus

FLAGS = flags.FLAGS

flags.DEFINE_string("game", "leduc_poker", "Game")
flags.DEFINE_list("seconds", ["1", "3", "8", "12"], "After how many CPU seconds")
flags.DEFINE_integer("seeds", 3, "How many")

ESTIMATORS = (
    "escher",
    "escher(sampling='balanced')",
    "escher(values='learned')",
    "escher(values='learned',sampling='balanced')",
    "outcome",
    "external",
)
_CHUNK = 0.02  # seconds between two looks at the clock


def run_to(solver, spent, target):
    """Runs a solver until it has spent so many CPU seconds; returns how many it has."""
    while spent < target:
        begin = time.process_time()
        solver.run(seconds=min(_CHUNK, target - spent))
        spent += time.process_time() - begin
    return spent


def main(_):
    targets = [float(text) for text in FLAGS.seconds]
    tree = mccfr_plus.compile_game(FLAGS.game)
    found = {name: [[] for _ in targets] for name in ESTIMATORS}
    for seed in range(1, FLAGS.seeds + 1):
        solvers = {name: mccfr_plus.Solver(tree, name, "rm", seed=seed).run(10) for name in ESTIMATORS}
        spent = dict.fromkeys(ESTIMATORS, 0.0)
        for index, target in enumerate(targets):
            for name, solver in solvers.items():
                spent[name] = run_to(solver, spent[name], target)
                found[name][index].append(solver.exploitability())
    print(f"{FLAGS.game}, rm, {FLAGS.seeds} seeds, exploitability after CPU seconds: median (least .. most)")
    print(f"{'':<46}" + "".join(f"{target:>26g}" for target in targets))
    for name, columns in found.items():
        cells = [f"{statistics.median(c):.4f} ({min(c):.4f} .. {max(c):.4f})" for c in columns]
        print(f"{name:<46}" + "".join(f"{cell:>26}" for cell in cells))
    print(f"load average {os.getloadavg()[0]:.2f}, {os.cpu_count()} cores")


if __name__ == "__main__":
    app.run(main)
