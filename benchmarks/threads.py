"""Nodes/s of two threads over one, in both modes, and of two solvers that share nothing, by the clock on the wall.

    python benchmarks/threads.py
    python benchmarks/threads.py --game=leduc_poker --batches=1,64

All take turns in this process. Solvers that share nothing, each in a thread of its own, tell what the machine gives to
several threads just then; its load is printed, too, because threads need idle cores.
Of several rounds the median counts. A batch is of each thread: with 64, a deterministic gradient is the mean of 128.
"""

import os
import statistics
import time
from concurrent import futures

from absl import app, flags

import mccfr_plus

FLAGS = flags.FLAGS

flags.DEFINE_string("game", "liars_dice", "Game")
flags.DEFINE_list("schemes", ["external", "outcome"], "Schemes")
flags.DEFINE_list("batches", ["1", "16", "256"], "Traversals per gradient and thread")
flags.DEFINE_integer("threads", 2, "How many threads")
flags.DEFINE_float("seconds", 1.0, "Seconds of a run")
flags.DEFINE_integer("rounds", 7, "How often")


def rate(*solvers):
    """Returns nodes per second of all solvers together, each of which runs in a thread of its own."""
    before, begin = sum(solver.nodes_touched for solver in solvers), time.perf_counter()
    with futures.ThreadPoolExecutor(len(solvers)) as threads:
        for done in [threads.submit(solver.run, seconds=FLAGS.seconds) for solver in solvers]:
            done.result()
    return (sum(solver.nodes_touched for solver in solvers) - before) / (time.perf_counter() - begin)


def shown(ratios):
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f})"


def main(_):
    tree = mccfr_plus.compile_game(FLAGS.game)
    print(
        f"{FLAGS.game}, {FLAGS.threads} threads over one; load average {os.getloadavg()[0]:.2f}, {os.cpu_count()} cores"
    )
    print("over one thread: median (least-most)")
    print(f"{'scheme':<10}{'batch':>6}{'one, M nodes/s':>16}{'apart':>19}{'fast':>19}{'deterministic':>19}")
    for scheme in FLAGS.schemes:
        for batch in map(int, FLAGS.batches):

            def new(scheme=scheme, batch=batch, **options):
                return mccfr_plus.Solver(tree, scheme, "rm", batch=batch, **options).run(10)

            one = new(seed=1)
            apart = [new(seed=seed) for seed in range(FLAGS.threads)]
            fast, deterministic = (
                new(seed=1, threads=FLAGS.threads, thread_mode=mode) for mode in ("fast", "deterministic")
            )
            rounds = [(rate(one), rate(*apart), rate(fast), rate(deterministic)) for _ in range(FLAGS.rounds)]
            ratios = [shown([several / alone for alone, several in zip(*pair, strict=True)]) for pair in _pairs(rounds)]
            alone = statistics.median(row[0] for row in rounds) / 1e6
            print(f"{scheme:<10}{batch:>6}{alone:>16.1f}" + "".join(f"{text:>19}" for text in ratios), flush=True)
    print(f"load average at the end {os.getloadavg()[0]:.2f}")


def _pairs(rounds):
    """Returns for each of the other columns a pair: the first column, and that one."""
    first, *others = zip(*rounds, strict=True)
    return [(first, other) for other in others]


if __name__ == "__main__":
    app.run(main)
