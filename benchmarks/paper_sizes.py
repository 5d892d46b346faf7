"""Seconds per iteration at the sizes of Lanctot et al. 2009, table 1, beside the paper's, on one thread.

    python benchmarks/paper_sizes.py                # needs about 10 GB of memory and some minutes
    python benchmarks/paper_sizes.py --games=one_card_poker

Nodes per second and bytes per node, at the peak, are those of compiling the tree from its rules. CPU seconds all along.
An iteration updates both players. The paper's machine was of 2008; its games have the sizes that it prints, which two
of ours, by the rules as it tells them, have not: see docs/games.md.
"""

import contextlib
import gc
import multiprocessing
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


def measure(game, seconds):
    """Prints the lines of a game."""
    FLAGS([""])
    FLAGS.seconds = seconds
    with contextlib.suppress(mccfr_plus.BudgetError):
        mccfr_plus.compile_game(game, max_nodes=1)  # loads the kernels
    before, begin = peak_bytes(), time.process_time()
    tree = mccfr_plus.compile_game(game)
    spent, used = time.process_time() - begin, peak_bytes() - before
    size = f"{tree.num_nodes / 1e6:.1f} M, {tree.num_infosets / 1e3:,.0f} K"
    print(
        f"{game:<21}{size:>18}{spent:>8.1f} s{tree.num_nodes / spent / 1e6:>7.1f} M{used / tree.num_nodes:>7.0f}",
        end="",
    )
    for number, (scheme, paper) in enumerate(zip(SCHEMES, PAPER[game], strict=True)):
        gc.collect()
        here = seconds_per_iteration(tree, scheme)
        blank = " " * 65 if number else ""
        print(f"{blank}  {scheme:<9}{text(here):>9}{text(paper):>8}{paper / here:>8,.0f}", flush=True)
    print(f"{'':<65}largest memory in use: {peak_bytes() / 2**30:.1f} GiB", flush=True)


def peak_bytes():
    """Returns the most memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main(_):
    heading = f"{'game':<21}{'nodes, infosets':>18}{'compiled':>10}{'nodes/s':>9}{'B/node':>7}"
    print(f"{heading}{'scheme':>8}{'here':>12}{'paper':>8}{'ratio':>8}", flush=True)
    for game in FLAGS.games:  # each in a process of its own, so that peaks are its own
        process = multiprocessing.get_context("spawn").Process(target=measure, args=(game, FLAGS.seconds))
        process.start()
        process.join()


def text(seconds):
    """Returns a time with three digits and its unit."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1 or unit == "us":
            return f"{seconds * factor:.3g} {unit}"
    return ""


if __name__ == "__main__":
    app.run(main)
