"""Speed per node touched of every scheme beside external sampling's, and of every minimizer beside regret matching's.

Both sides run in turns in one process; a row's figure is the median of the paired ratios of nodes per second.
`full(traversal=True)` is the traversal, as `full` by the sequence form touches no nodes.

    python benchmarks/all_parts.py
"""

import statistics
import time

from absl import app, flags

import mccfr_plus

FLAGS = flags.FLAGS

flags.DEFINE_list("games", ["kuhn_poker", "leduc_poker", "liars_dice"], "Games")
flags.DEFINE_integer("rounds", 7, "Turns of each")
flags.DEFINE_float("seconds", 0.15, "Seconds per turn")

SCHEMES = {
    "external": {},
    "full(traversal=True)": {},
    "full(pruning=True)": {},
    "chance": {},
    "opponent": {},
    "external(sample_per_infoset=True)": {},
    "external(prune_below=-100.0)": {},
    "average_strategy": {},
    "outcome": {},
    "outcome(update_all_players=True)": {},
    "balanced": {},
    "balanced, no average": {"estimator": "balanced", "averaging": "last"},
    "external, batch=100": {"estimator": "external", "batch": 100},
    "external, baseline": {"estimator": "external", "baseline": True},
    "outcome, baseline": {"estimator": "outcome", "baseline": True},
    "external, stochastic average": {"estimator": "external", "averaging": "stochastic"},
}
MINIMIZERS = ("rm+", "linear", "dcfr", "prm", "prm+", "hedge", "ftrl", "omd", "ftrl(optimistic=True)")


def solver_of(tree, estimator, minimizer="rm", averaging="uniform", **options):
    return mccfr_plus.Solver(tree, estimator, minimizer, averaging, seed=1, **options).run(seconds=0.1)


def ratio(solver, reference, unit="nodes_touched"):
    """Returns the median ratio of nodes, or iterations, per second."""
    ratios = []
    for _ in range(FLAGS.rounds):
        rates = []
        for each in (solver, reference):
            begin, done = time.perf_counter(), getattr(each, unit)
            each.run(seconds=FLAGS.seconds)
            rates.append((getattr(each, unit) - done) / (time.perf_counter() - begin))
        ratios.append(rates[0] / rates[1])
    return statistics.median(ratios)


def main(_):
    trees = {name: mccfr_plus.compile_game(name) for name in FLAGS.games}
    header = " ".join(f"{name:>12}" for name in trees)
    print(f"{'nodes/s over external + rm':<34} {header}")
    for name, options in SCHEMES.items():
        row = []
        for tree in trees.values():
            reference = solver_of(tree, "external")
            row.append(ratio(solver_of(tree, **{"estimator": name, **options}), reference))
        print(f"{name:<34} " + " ".join(f"{value:>12.2f}" for value in row), flush=True)
    for estimator in ("external", "full"):
        print(f"\n{f'iterations/s over {estimator} + rm':<34} {header}")
        for name in MINIMIZERS:
            row = [ratio(solver_of(tree, estimator, name), solver_of(tree, estimator)) for tree in trees.values()]
            print(f"{name:<34} " + " ".join(f"{value:>12.2f}" for value in row), flush=True)
    print(f"\n{'nodes per updated infoset':<34} {header}")
    for name in ("external", "outcome", "balanced", "outcome(update_all_players=True)"):
        row = [nodes_per_update(solver_of(tree, name)) for tree in trees.values()]
        print(f"{name:<34} " + " ".join(f"{value:>12.2f}" for value in row), flush=True)
    print(f"\n{'iterations/s of full over':<34} {header}")
    for name in ("full(traversal=True)", "full(pruning=True)"):
        row = [1 / ratio(solver_of(tree, name), solver_of(tree, "full"), "iterations") for tree in trees.values()]
        print(f"{name:<34} " + " ".join(f"{value:>12.2f}" for value in row), flush=True)


def nodes_per_update(solver):
    """Returns how many nodes an iteration visits for each infoset that it updates."""
    nodes, updated = solver.nodes_touched, 0
    for _ in range(3000):
        solver.iteration()
        updated += int(solver._engine.scratches[0].num_touched.sum())
    return (solver.nodes_touched - nodes) / updated


if __name__ == "__main__":
    app.run(main)
