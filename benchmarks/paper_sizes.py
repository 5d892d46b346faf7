"""Seconds per iteration at the sizes of Lanctot et al. 2009, table 1, beside the paper's, on one thread.

    python benchmarks/paper_sizes.py                # needs about 10 GB of memory and some minutes
    python benchmarks/paper_sizes.py --games=one_card_poker

An iteration updates both players. The paper's machine was of 2008; its games have the sizes that it prints, which two
of ours, by the rules as it tells them, have not: see docs/games.md.
"""

import contextlib
import gc
import resource
import time

from absl import app, flags

import mccfr_plus

FLAGS = flags.FLAGS

# Seconds per iteration in table 1: vanilla CFR, external sampling, outcome sampling.
PAPER = {
    "one_card_poker": (28.0, 99e-6, 46e-6),
    "bid_goofspiel": (110.0, 150e-3, 150e-6),
    "latent_tic_tac_toe": (38.0, 70e-3, 62e-6),
    "princess_and_monster": (120.0, 28e-3, 85e-6),
}
SCHEMES = ("full", "external", "outcome")

flags.DEFINE_list("games", list(PAPER), "Games of table 1")
flags.DEFINE_float("seconds", 10.0, "How long to run each scheme; at least three iterations")


def seconds_per_iteration(tree, scheme):
    """Returns the CPU seconds of an iteration, the first one and the building of tables left out."""
    solver = mccfr_plus.Solver(tree, scheme, "rm", seed=1).run(1)
    before = solver.iterations
    begin = time.process_time()
    while solver.iterations < before + 3 or time.process_time() - begin < FLAGS.seconds:
        solver.run(1 if scheme == "full" else 100)
    return (time.process_time() - begin) / (solver.iterations - before)


def main(_):
    print(f"{'game':<22}{'compiled':>10}{'nodes/s':>9}  {'scheme':<9}{'here':>12}{'paper':>10}{'times as fast':>15}")
    for game in FLAGS.games:
        with contextlib.suppress(mccfr_plus.BudgetError):
            mccfr_plus.compile_game(game, max_nodes=1)  # loads the kernels
        begin = time.process_time()
        tree = mccfr_plus.compile_game(game)
        spent = time.process_time() - begin
        compiled = f"{game:<22}{spent:>8.1f} s{tree.num_nodes / spent / 1e6:>7.1f} M"
        for scheme, paper in zip(SCHEMES, PAPER[game], strict=True):
            gc.collect()
            here = seconds_per_iteration(tree, scheme)
            print(f"{compiled:<41}  {scheme:<9}{text(here):>12}{text(paper):>10}{paper / here:>15,.0f}", flush=True)
            compiled = ""
        del tree
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"largest memory in use: {peak:.1f} GiB")


def text(seconds):
    """Returns a time with three digits and its unit."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1 or unit == "us":
            return f"{seconds * factor:.3g} {unit}"
    return ""


if __name__ == "__main__":
    app.run(main)
