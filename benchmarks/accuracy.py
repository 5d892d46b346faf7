"""Exploitability of algorithms along their runs, as Markdown tables: ``python benchmarks/accuracy.py SUBJECT``.

algorithms  twenty algorithms after CPU seconds on six games (docs/benchmarks/which-algorithm.md)
escher      tabular ESCHER beside outcome and external sampling, after CPU seconds
nodes       estimators that sample, at numbers of nodes touched (Gibson et al. 2012, figure 3a)
iterations  external and outcome sampling beside OpenSpiel's C++, at numbers of iterations
public      public chance sampling beside chance and external sampling, after CPU seconds
"""

from typing import NamedTuple

import numpy as np
from absl import flags
from measuring import FLAGS, run

from mccfr_plus.experiments import Result, compare

flags.DEFINE_string("games", None, "Games, with ; between them. Default: those of the subject")
flags.DEFINE_list("marks", None, "CPU seconds, nodes or iterations of the columns. Default: those of the subject")
flags.DEFINE_integer("seeds", None, "Number of runs of each random algorithm. Default: that of the subject")
flags.DEFINE_string("picture", None, "File for the curves of all games, against the subject's unit")
flags.DEFINE_bool("large", False, "algorithms: the shorter list, for large trees")

AVERAGE_STRATEGY = "average_strategy(tau=100.0, beta=1e3"  # without the last parenthesis
ALGORITHMS = (
    *("cfr", "cfr+", "dcfr", "pcfr+", "full(pruning=True)", "chance"),
    *("external", "external(minimizer=rm+)", "external(minimizer=linear)", "external(minimizer=dcfr)"),
    *("external(minimizer=ftrl(eta=10.0))", "external(minimizer=ftrl(eta=100.0))"),
    *("average_strategy", f"{AVERAGE_STRATEGY})", f"{AVERAGE_STRATEGY}, minimizer=linear)"),
    *("outcome", "outcome(baseline=True)", "balanced", "escher", "escher(values='learned')"),
)
# For trees of tens of millions of histories: algorithms without arrays of a number per history.
LARGE = ("cfr", "cfr+", "pcfr+", "external", "external(minimizer=linear)", f"{AVERAGE_STRATEGY})", "outcome")
_CLOSE = 1.1  # times the lowest value of a column: printed bold


class Subject(NamedTuple):
    """A comparison, and the columns of its table."""

    games: str
    algorithms: tuple[str, ...]
    unit: str
    marks: tuple[float, ...]
    seeds: int


SUBJECTS = {
    "algorithms": Subject(
        "kuhn_poker;leduc_poker;liars_dice;bid_goofspiel(num_cards=5);princess_and_monster(horizon=9);"
        "nl_holdem_buckets(stack=12)",
        *(ALGORITHMS, "cpu_seconds", (1, 3), 3),
    ),
    "escher": Subject(
        "leduc_poker",
        (
            *("escher", "escher(sampling='balanced')", "escher(values='learned')"),
            *("escher(values='learned', sampling='balanced')", "outcome", "external"),
        ),
        *("cpu_seconds", (1, 3, 8, 12), 3),
    ),
    "nodes": Subject(
        "liars_dice",
        (
            *("external", "outcome", "outcome(baseline=True)", "average_strategy", "average_strategy(beta=1e4)"),
            *(f"{AVERAGE_STRATEGY})", "average_strategy(tau=10.0, beta=1e3)"),
        ),
        *("nodes", (1e6, 1e7, 3e7, 1e8, 3e8), 3),
    ),
    "iterations": Subject(
        "kuhn_poker;leduc_poker",
        ("external", "openspiel:external", "outcome", "openspiel:outcome"),
        *("iterations", (1e3, 1e4, 1e5), 8),
    ),
    "public": Subject(
        "leduc_poker;leduc_ranks(ranks=13);universal_poker(betting=limit,numPlayers=2,numRounds=2,blind=1 1,"
        "raiseSize=2 4,firstPlayer=1 1,maxRaises=2 2,numSuits=2,numRanks=4,numHoleCards=2,numBoardCards=0 1)",
        ("public_chance", "chance", "external", "full(minimizer=rm)"),
        *("cpu_seconds", (0.1, 1, 5), 5),
    ),
}


def print_tables(subject):
    """Prints a table per game: medians over seeds, with the lowest of a column in bold."""
    marks = [float(mark) for mark in FLAGS.marks or subject.marks]
    length = {"seconds" if subject.unit == "cpu_seconds" else subject.unit: marks[-1]}
    algorithms, seeds = LARGE if FLAGS.large else subject.algorithms, FLAGS.seeds or subject.seeds
    drawn = []
    for game in (FLAGS.games or subject.games).split(";"):
        curves = compare(game, algorithms, seeds=seeds, processes=1, **length).curves
        values = np.array([[np.median(curve.value_at(mark, subject.unit)) for mark in marks] for curve in curves])
        print(f"\n{game}, exploitability, medians of {seeds} seeds\n")
        print(f"| {subject.unit} | " + " | ".join(f"{mark:g}" for mark in marks) + " |")
        print("|---" * (1 + len(marks)) + "|")
        for curve, row in zip(curves, values, strict=True):
            is_close = row <= _CLOSE * values.min(axis=0)
            cells = (f"**{v:.2g}**" if close else f"{v:.2g}" for v, close in zip(row, is_close, strict=True))
            print(f"| `{curve.algorithm}` | " + " | ".join(cells) + " |", flush=True)
        drawn += curves
    if FLAGS.picture:
        Result(drawn).plot(subject.unit).savefig(FLAGS.picture, dpi=80)


if __name__ == "__main__":
    run(__doc__, {name: lambda subject=subject: print_tables(subject) for name, subject in SUBJECTS.items()})
