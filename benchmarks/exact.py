"""Exact exploitability on games by compiled rules, neural and tabular: ``python benchmarks/exact.py SUBJECT``.

records  exact exploitability after histories, as lines of JSON; --out keeps them. Neural solvers are the batched ones,
         and those of one call share the numbers of information sets
picture  the records in --out as pictures in their folder: neural.png and tabular.png against histories, and the same
         with -seconds against CPU seconds

The budget of Rudolph et al. 2025 is ten million steps; a step is a history that a traversal visits. One thread, but for
exact evaluations, which are not counted.
"""

import itertools
import json
import os
import time
from pathlib import Path

import numpy as np
import torch
from absl import flags
from measuring import FLAGS, run, settings, timed

import mccfr_plus
from mccfr_plus import neural
from mccfr_plus.evaluation.by_rules import RulesEvaluator
from mccfr_plus.evaluation.policy_by_rules import memory_plan
from mccfr_plus.evaluation.tabulation import tabulate
from mccfr_plus.experiments.algorithm import NAMED
from mccfr_plus.experiments.curves import Curve
from mccfr_plus.experiments.evaluation_points import Limit
from mccfr_plus.experiments.papers.rudolph2025 import GAMES
from mccfr_plus.experiments.plot import plot_curves
from mccfr_plus.experiments.record import Point
from mccfr_plus.trees.by_rules.implicit_tree import ImplicitTree
from mccfr_plus.trees.by_rules.requirements import rules_to_traverse

flags.DEFINE_string("game", "phantom_ttt", "Game")
flags.DEFINE_multi_string(
    "algorithm",
    ["DREAM"],
    "DREAM, ESCHER, NFSP, external, outcome, average_strategy, CFR, CFR+, PCFR+; may be given several times, each with "
    "settings in brackets: 'DREAM[minimizer=\"pdcfr+\"]', 'external[symmetry=True]'",
)
flags.DEFINE_integer("seeds", 3, "How many runs of each")
flags.DEFINE_integer("first_seed", 1, "The seed of the first run; the others follow")
flags.DEFINE_list("marks", ["1e7"], "Evaluate after so many histories")
flags.DEFINE_string("out", None, "The file of the records, .json")

CPU = time.process_time

TABULAR = {  # estimator, minimizer, average
    "external": ("external", "rm", "linear"),
    "outcome": ("outcome", "rm", "linear"),
    "average_strategy": ("average_strategy(tau=100.0,beta=1e3)", "rm", "linear"),
    **{label: NAMED[label.lower()] for label in ("CFR", "CFR+", "PCFR+")},
}


def evaluation_of(game):
    """Returns a function from policies to their evaluations, as `evaluate_by_rules`; histories are found once."""
    rules = rules_to_traverse(game)
    tree = ImplicitTree(game, rules, memory_plan(rules, None, with_histories=True), os.cpu_count())
    strategy, evaluator = np.zeros(tree.slot_capacity), RulesEvaluator(tree)
    tree.bind(strategy)
    histories = evaluator.find_histories()

    def evaluate(policy):
        tabulate(tree, policy, histories, strategy)
        return evaluator.evaluate(strategy)

    return evaluate


def run_to_histories(solver, histories):
    limit = Limit("nodes", histories)
    while limit.done(solver) < histories:
        solver.run(limit.iterations_to(solver, histories))


def records():
    torch.set_num_threads(1)
    game, found, evaluate = mccfr_plus.load_game(FLAGS.game), [], None
    seeds = range(FLAGS.first_seed, FLAGS.first_seed + FLAGS.seeds)
    for seed, algorithm in itertools.product(seeds, FLAGS.algorithm):
        name, _, options = algorithm.removesuffix("]").partition("[")
        texts = options.split(",") if options else []
        if name in TABULAR:
            solver = mccfr_plus.Solver(game, *TABULAR[name], tree="rules", seed=seed, **settings(texts))
        else:
            evaluate = evaluate or evaluation_of(game)
            config = getattr(neural, f"{name}Config")(**settings(texts))
            solver = getattr(neural, name)(game, config, representation="batched", seed=seed)
        solver._prepare()
        spent = 0.0
        for mark in map(float, FLAGS.marks):
            spent += timed(lambda solver=solver, mark=mark: run_to_histories(solver, mark), CPU)
            begin = CPU()
            evaluated = solver.evaluate() if name in TABULAR else evaluate(solver.average_policy())
            record = {
                "game": str(game),
                "algorithm": name,
                "seed": seed,
                "settings": texts,
                "histories": solver.nodes_touched,
                "iterations": solver.iterations,
                "cpu_seconds": round(spent, 2),
                "exploitability": evaluated.nash_conv / len(evaluated.values),
                "values": evaluated.values.tolist(),
                "best_response_values": evaluated.best_response_values.tolist(),
                "evaluation_cpu_seconds": round(CPU() - begin, 1),
            }
            print(json.dumps(record), flush=True)
            found.append(record)
            if FLAGS.out:
                Path(FLAGS.out).write_text(json.dumps(found, indent=1) + "\n")


def picture():
    """Draws records: neural solvers beside external sampling, and tabular ones."""
    titles = {str(mccfr_plus.load_game(game)): benchmark.name for game, benchmark in GAMES.items()}
    runs, every_record = {}, json.loads(Path(FLAGS.out).read_text())
    settings_of = {}
    for each in every_record:
        settings_of.setdefault(each["algorithm"], set()).add(str(each["settings"]))
    for each in every_record:
        point = Point(
            *(each["histories"], each["iterations"], each["histories"], 0.0, 2 * each["exploitability"]),
            *((), (), each["cpu_seconds"]),
        )
        is_one = each["algorithm"] in TABULAR or len(settings_of[each["algorithm"]]) == 1
        told = [] if is_one else each["settings"]  # what tells one from another
        key = each["game"], ", ".join([each["algorithm"], *told])
        runs.setdefault(key, {}).setdefault(each["seed"], []).append(point)
    every = []
    for key, seeds in runs.items():
        fewest = min(map(len, seeds.values()))  # some seeds have the last points only
        every.append(Curve(*key, tuple(tuple(points[-fewest:]) for points in seeds.values()), 2))
    are_neural = {curve.algorithm for curve in every} - {*TABULAR}
    for name, left_out in (("neural", {*TABULAR} - {"external"}), ("tabular", are_neural)):
        curves = [curve for curve in every if curve.algorithm not in left_out]
        algorithms = tuple(dict.fromkeys(curve.algorithm for curve in curves))
        for unit, ending in (("nodes", ""), ("cpu_seconds", "-seconds")):
            path = str(Path(FLAGS.out).with_name(f"{name}{ending}.png"))
            plot_curves(curves, [path], unit=unit, algorithms=algorithms, titles=titles, labels={})


if __name__ == "__main__":
    run(__doc__, {function.__name__: function for function in (records, picture)})
