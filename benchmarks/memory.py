"""Speed of `full` beside that of memory: ``python benchmarks/memory.py iteration [--game=GAME]``.

Milliseconds of an iteration, of both players' products with the payoff matrix, of a gather with the same indices, of a
sum over the indices alone and of a copy of them, in turns, medians of CPU time.
"""

import statistics
import time

import numpy as np
from absl import flags
from measuring import FLAGS, run, timed

import mccfr_plus
from mccfr_plus.estimators.full import exact_gradient
from mccfr_plus.kernels.compile import kernel
from mccfr_plus.trees.arrays import BLOCK
from mccfr_plus.trees.scratch import at, gradient_size

GOOFSPIEL = "goofspiel(imp_info=True,num_cards=7,points_order=descending,returns_type=win_loss)"
flags.DEFINE_string("game", GOOFSPIEL, "A game")
flags.DEFINE_integer("rounds", 7, "Measurements", lower_bound=1)


@kernel
def products(tree, reach, gradient):
    for player in range(2):
        exact_gradient(tree, reach, gradient, player)


@kernel
def gather(indices, source):
    sum_0, sum_1, sum_2, sum_3 = 0.0, 0.0, 0.0, 0.0
    for entry in range(0, len(indices), BLOCK):
        sum_0 += source[at(indices[at(entry)])]
        sum_1 += source[at(indices[at(entry + 1)])]
        sum_2 += source[at(indices[at(entry + 2)])]
        sum_3 += source[at(indices[at(entry + 3)])]
    return sum_0 + sum_1 + sum_2 + sum_3


@kernel
def read(indices):
    total = 0
    for entry in range(len(indices)):
        total += indices[at(entry)]
    return total


def iteration():
    tree = mccfr_plus.compile_game(FLAGS.game, max_bytes=16 << 30)
    solver = mccfr_plus.Solver(tree, "full", "rm+").run(1)
    tree, rng = solver.tree.folded_arrays, np.random.default_rng(1)
    has_terms = len(tree.leaf_term) > 0
    indices = tree.leaf_term if has_terms else tree.leaf_others
    reach, gradient = rng.random(solver.tree.num_slots + 2), np.zeros(gradient_size(tree))
    source, target = rng.random(len(gradient)), np.empty_like(indices)
    sides = {
        "iteration": lambda: solver.run(1),
        "products": lambda: products(tree, reach, gradient),
        "gather": lambda: gather(indices, source),
        "sum": lambda: read(indices),
        "copy": lambda: np.copyto(target, indices),
    }
    for work in sides.values():
        work()
    times = [[timed(work, time.process_time) for work in sides.values()] for _ in range(FLAGS.rounds)]
    found = dict(zip(sides, (statistics.median(column) for column in zip(*times, strict=True)), strict=True))
    moved = indices.nbytes + (20 if has_terms else 8) * len(tree.leaf_value)
    sizes = f"{len(indices):,} entries, {len(tree.leaf_value):,} terms, {moved / 1e6:,.1f} MB for both products"
    print(f"{FLAGS.game}: {sizes}")
    for name, seconds in found.items():
        print(f"{name:<10}{1e3 * seconds:>10.3f} ms")
    rates = 2 * target.nbytes / found["copy"] / 1e9, indices.nbytes / found["sum"] / 1e9
    share = found["gather"] / found["products"]
    print(f"rate over the gather's {share:.2f}; copy {rates[0]:.1f}, sum {rates[1]:.1f} GB/s")


if __name__ == "__main__":
    run(__doc__, {"iteration": iteration})
