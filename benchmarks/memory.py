"""Speed of `full` beside that of memory: ``python benchmarks/memory.py SUBJECT [--game=GAME]``.

iteration  milliseconds of an iteration, of both players' products with the payoff matrix, of a gather with the same
           indices, of a sum over the indices alone and of a copy of them, medians of CPU time
parts      nanoseconds of an iteration, of its products, updates, reach and averages, least CPU time: for small games

Both sides take turns.
"""

import statistics
import time

import numpy as np
from absl import flags
from measuring import FLAGS, run, timed

import mccfr_plus
from mccfr_plus.averages.average import accumulate_exact
from mccfr_plus.kernels.compile import kernel
from mccfr_plus.kernels.slots import bind
from mccfr_plus.minimizers.minimizer import minimize_with
from mccfr_plus.solver.loop import MINIMIZE
from mccfr_plus.trees.arrays import BLOCK
from mccfr_plus.trees.flattening import exact_gradient
from mccfr_plus.trees.scratch import at, gradient_size, refresh_reach

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


@kernel
def repeat_products(tree, state, scratch, parameters, count):
    for _ in range(count):
        for player in range(2):
            exact_gradient(tree, scratch.reach, scratch.gradient, player)


@kernel
def repeat_updates(tree, state, scratch, parameters, count):
    for _ in range(count):
        for player in range(2):
            MINIMIZE(tree, state.strategy, state.tables, scratch, player, 1, parameters)


@kernel
def repeat_reach(tree, state, scratch, parameters, count):
    for _ in range(count):
        for player in range(2):
            scratch.reach_valid[player] = 0
            refresh_reach(tree, state.strategy, scratch, player)


@kernel
def repeat_averages(tree, state, scratch, parameters, count):
    for _ in range(count):
        for player in range(2):
            accumulate_exact(tree, state.strategy, state.average, scratch, player, 1.0)


def parts():
    solver = mccfr_plus.Solver(FLAGS.game, "full", "rm+").run(100)
    (tree, state, scratch, settings, _), count = solver._engine._arguments[0], 20_000_000 // solver.tree.num_nodes
    update = bind(repeat_updates, {MINIMIZE: minimize_with(solver.config.minimizer)})
    sides = {"products": repeat_products, "updates": update, "reach": repeat_reach, "averages": repeat_averages}
    works = {name: lambda f=f: f(tree, state, scratch, settings.minimizer, count) for name, f in sides.items()}
    works = {"iteration": lambda: solver.run(count), **works}
    for work in works.values():
        work()
    rows = [[timed(work, time.process_time) for work in works.values()] for _ in range(FLAGS.rounds)]
    found = {name: min(column) / count * 1e9 for name, column in zip(works, zip(*rows, strict=True), strict=True)}
    print(f"{FLAGS.game}: " + ", ".join(f"{name} {value:,.1f}" for name, value in found.items()) + " ns")


if __name__ == "__main__":
    run(__doc__, {"iteration": iteration, "parts": parts})
