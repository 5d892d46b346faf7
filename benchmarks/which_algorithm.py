"""Exploitability that each algorithm reaches after CPU seconds, on games of several sizes: for docs/which-algorithm.md.

    python benchmarks/which_algorithm.py
    python benchmarks/which_algorithm.py --games="bid_goofspiel;bluff" --seconds=10,60 --seeds=1 --large

All in this process, one after the other on one thread, seed after seed; building the tree and the evaluations are not
counted. The tables are Markdown: median over seeds; within a tenth of the best of a column stand in bold.
"""

import gc
import os
import statistics
import time

from absl import app, flags

import mccfr_plus
from mccfr_plus.experiments.algorithm import algorithm_of

FLAGS = flags.FLAGS

SMALL = (
    "kuhn_poker",
    "leduc_poker",
    "liars_dice",
    "bid_goofspiel(num_cards=5)",
    "princess_and_monster(horizon=9)",
    "nl_holdem_buckets(stack=12)",
)
ALGORITHMS = (
    "cfr",
    "cfr+",
    "dcfr",
    "pcfr+",
    "full(pruning=True)",
    "chance",
    "external",
    "external/rm+",
    "external/linear",
    "external/dcfr",
    "external/ftrl(eta=10.0)",
    "external/ftrl(eta=100.0)",
    "average_strategy",
    "average_strategy(tau=100.0,beta=1e3)",
    "average_strategy(tau=100.0,beta=1e3)/linear",
    "outcome",
    "outcome[baseline=True]",
    "balanced",
    "escher",
    "escher(values='learned')",
)
# For trees of tens of millions of histories: what takes memory for each of them is left out.
LARGE = (
    "cfr",
    "cfr+",
    "pcfr+",
    "external",
    "external/linear",
    "average_strategy(tau=100.0,beta=1e3)",
    "outcome",
)

flags.DEFINE_list("seconds", ["1", "3"], "After how many CPU seconds")
flags.DEFINE_string("games", ";".join(SMALL), "Games, with ; between them")
flags.DEFINE_integer("seeds", 3, "How many, of what is random")
flags.DEFINE_bool("large", False, "The shorter list of algorithms, for large trees")

_CHUNK = 0.05  # seconds between two looks at the clock
_CLOSE = 1.1


def exploitabilities(tree, text, seed, targets):
    """Returns what an algorithm reaches after each number of CPU seconds, and its histories per second."""
    parts = algorithm_of(text)
    solver = mccfr_plus.Solver(tree, parts.estimator, parts.minimizer, parts.averaging, seed=seed, **parts.options).run(
        1
    )
    spent, found, nodes = 0.0, [], solver.nodes_touched
    for target in targets:
        while spent < target:
            begin = time.process_time()
            solver.run(seconds=min(_CHUNK, target - spent))
            spent += time.process_time() - begin
        found.append(solver.exploitability())
    return found, (solver.nodes_touched - nodes) / spent


def table(heading, names, columns, text):
    """Prints a Markdown table; the lowest of each column and what is close to it in bold."""
    print(f"| {heading} | " + " | ".join(columns) + " |")
    print("|---" * (1 + len(columns)) + "|")
    best = {column: min(values.values()) for column, values in columns.items()}
    for name in names:
        cells = []
        for column, values in columns.items():
            cell = text(values[name])
            cells.append(f"**{cell}**" if values[name] <= _CLOSE * best[column] else cell)
        print(f"| `{name}` | " + " | ".join(cells) + " |")
    print(flush=True)


def main(_):
    targets = [float(text) for text in FLAGS.seconds]
    names = LARGE if FLAGS.large else ALGORITHMS
    for game in FLAGS.games.split(";"):
        tree = mccfr_plus.compile_game(game)
        print(f"{game}: {tree.num_nodes:,} histories, {tree.num_infosets:,} information sets", flush=True)
        columns = {f"after {target:g} s": {} for target in targets}
        rates = {}
        for name in names:
            seeds = range(1, 1 + (FLAGS.seeds if algorithm_of(name).is_random else 1))
            runs = [exploitabilities(tree, name, seed, targets) for seed in seeds]
            for index, column in enumerate(columns.values()):
                column[name] = statistics.median(run[0][index] for run in runs)
            rates[name] = statistics.median(run[1] for run in runs)
        table("exploitability", names, columns, lambda value: f"{value:.2g}")
        print("million histories/s: " + ", ".join(f"{name} {rate / 1e6:.0f}" for name, rate in rates.items()))
        print(f"load average {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores\n", flush=True)
        del tree
        gc.collect()


if __name__ == "__main__":
    app.run(main)
