"""Nodes/s of two threads over one, in both modes, by the clock on the wall.

    python benchmarks/threads.py
    python benchmarks/threads.py --game=leduc_poker --batches=1,64

One thread and several take turns in this process; the load of the machine is printed, because threads need idle cores.
Of several rounds the median counts. A batch is of each thread: with 64, a deterministic gradient is the mean of 128.
"""

import os
import statistics
import time

from absl import app, flags

import mccfr_plus

FLAGS = flags.FLAGS

flags.DEFINE_string("game", "liars_dice", "Game")
flags.DEFINE_list("schemes", ["external", "outcome"], "Schemes")
flags.DEFINE_list("batches", ["1", "16", "256"], "Walks per gradient and thread")
flags.DEFINE_integer("threads", 2, "How many threads")
flags.DEFINE_float("seconds", 1.0, "Seconds of a run")
flags.DEFINE_integer("rounds", 7, "How often")


def rate(solver):
    """Returns nodes per second."""
    before, begin = solver.nodes_touched, time.perf_counter()
    solver.run(seconds=FLAGS.seconds)
    return (solver.nodes_touched - before) / (time.perf_counter() - begin)


def main(_):
    tree = mccfr_plus.compile_game(FLAGS.game)
    print(
        f"{FLAGS.game}, {FLAGS.threads} threads over one; load average {os.getloadavg()[0]:.2f}, {os.cpu_count()} cores"
    )
    print(f"{'scheme':<10}{'mode':<15}{'batch':>6}{'one, M nodes/s':>16}{'several':>10}{'ratio':>8}{'least..most':>14}")
    for scheme in FLAGS.schemes:
        for mode in ("fast", "deterministic"):
            for batch in map(int, FLAGS.batches):
                one = mccfr_plus.Solver(tree, scheme, "rm", seed=1, batch=batch).run(10)
                several = mccfr_plus.Solver(
                    tree, scheme, "rm", seed=1, batch=batch, threads=FLAGS.threads, thread_mode=mode
                ).run(10)
                pairs = [(rate(one), rate(several)) for _ in range(FLAGS.rounds)]
                ratios = [b / a for a, b in pairs]
                middle = [statistics.median(x) / 1e6 for x in zip(*pairs, strict=True)]
                print(
                    f"{scheme:<10}{mode:<15}{batch:>6}{middle[0]:>16.1f}{middle[1]:>10.1f}"
                    f"{statistics.median(ratios):>8.2f}{f'{min(ratios):.2f}..{max(ratios):.2f}':>14}",
                    flush=True,
                )
    print(f"load average at the end {os.getloadavg()[0]:.2f}")


if __name__ == "__main__":
    app.run(main)
