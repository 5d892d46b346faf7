"""Exact exploitability on games by compiled rules, neural and tabular: ``python benchmarks/exact.py SUBJECT``.

records  exact exploitability after histories, as lines of JSON; --out keeps them. Neural solvers sample in batches,
         without a tree
picture  the records in --out as pictures in their folder: neural.png and tabular.png against histories, and the same
         with -seconds against CPU seconds

The budget of Rudolph et al. 2025 is ten million steps; a step is a history that a traversal visits. One thread, but for
exact evaluations, which are not counted.
"""

import itertools
import json
import time
from pathlib import Path

import torch
from absl import flags
from measuring import FLAGS, run, timed

import mccfr_plus
from mccfr_plus import neural
from mccfr_plus.experiments import Curve, Result
from mccfr_plus.experiments.comparison import Limit
from mccfr_plus.experiments.runs import Point
from mccfr_plus.specs import parse_spec

flags.DEFINE_string("game", "phantom_ttt", "Game")
flags.DEFINE_multi_string(
    "algorithm",
    ["dream"],
    "dream, escher, nfsp, external, outcome, average_strategy, cfr, cfr+, pcfr+; may be given several times, each with "
    "settings: dream(minimizer=pdcfr+), external(symmetry=True)",
)
flags.DEFINE_integer("seeds", 3, "How many runs of each")
flags.DEFINE_integer("first_seed", 1, "The seed of the first run; the others follow")
flags.DEFINE_list("marks", ["1e7"], "Evaluate after so many histories")
flags.DEFINE_string("out", None, "The file of the records, .json")

CPU = time.process_time

TABULAR = {  # name in the records; estimator, minimizer, average
    "external": ("external", "external", "rm", "linear"),
    "outcome": ("outcome", "outcome", "rm", "linear"),
    "average_strategy": ("average_strategy", "average_strategy(tau=100.0,beta=1e3)", "rm", "linear"),
    "cfr": ("CFR", "full", "rm"),
    "cfr+": ("CFR+", "full", "rm+"),
    "pcfr+": ("PCFR+", "full", "prm+"),
}
LABELS = {label for label, *_ in TABULAR.values()}
TITLES = {
    "phantom_ttt()": "PTTT",
    "perfect_recall_dark_hex(gameversion=cdh,num_cols=3,num_rows=3)": "DH3",
    "liars_dice(dice_sides=5,numdice=2)": "LD2D5F",
}


def run_to_histories(solver, histories):
    limit = Limit("nodes", histories)
    while limit.done(solver) < histories:
        solver.run(limit.iterations_to(solver, histories))


def records():
    torch.set_num_threads(1)
    game, found = mccfr_plus.load_game(FLAGS.game), []
    seeds = range(FLAGS.first_seed, FLAGS.first_seed + FLAGS.seeds)
    for seed, algorithm in itertools.product(seeds, FLAGS.algorithm):
        name, settings = parse_spec(algorithm)
        if name in TABULAR:
            label, *components = TABULAR[name]
            solver = mccfr_plus.Solver(game, *components, tree="rules", seed=seed, **settings)
        else:
            label, chosen = neural.ALGORITHMS[name], neural.settings_of(algorithm)
            solver = neural.new_solver(game, chosen._replace(representation="batched"), seed=seed)
        solver._prepare()
        spent = 0.0
        for mark in map(float, FLAGS.marks):
            spent += timed(lambda solver=solver, mark=mark: run_to_histories(solver, mark), CPU)
            begin = CPU()
            if name in TABULAR:
                evaluated = solver.evaluate()
            else:
                evaluated = mccfr_plus.evaluate_by_rules(game, solver.average_policy(), progress=False)
            record = {
                "game": str(game),
                "algorithm": label,
                "seed": seed,
                "settings": [f"{key}={value}" for key, value in settings.items()],
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
    runs, every_record, settings_of = {}, json.loads(Path(FLAGS.out).read_text()), {}
    for each in every_record:
        settings_of.setdefault(each["algorithm"], set()).add(str(each["settings"]))
    for each in every_record:
        point = Point(
            *(each["histories"], each["iterations"], each["histories"], 0.0, 2 * each["exploitability"]),
            *((), (), each["cpu_seconds"]),
        )
        is_one = each["algorithm"] in LABELS or len(settings_of[each["algorithm"]]) == 1
        shown = [] if is_one else each["settings"]
        key = each["game"], ", ".join([each["algorithm"], *shown])
        runs.setdefault(key, {}).setdefault(each["seed"], []).append(point)
    every = []
    for key, seeds in runs.items():
        fewest = min(map(len, seeds.values()))  # some seeds have the last points only
        every.append(Curve(*key, tuple(tuple(points[-fewest:]) for points in seeds.values()), 2))
    are_neural = {curve.algorithm for curve in every} - LABELS
    for name, left_out in (("neural", LABELS - {"external"}), ("tabular", are_neural)):
        result = Result([curve for curve in every if curve.algorithm not in left_out])
        for unit, ending in (("nodes", ""), ("cpu_seconds", "-seconds")):
            figure = result.plot(unit)
            for axes, game in zip(figure.axes, dict.fromkeys(curve.game for curve in result.curves), strict=True):
                axes.set_title(TITLES[game])
            figure.savefig(Path(FLAGS.out).with_name(f"{name}{ending}.png"))


if __name__ == "__main__":
    run(__doc__, {function.__name__: function for function in (records, picture)})
