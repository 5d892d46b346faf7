"""The algorithms that the paper compares, and where they ended."""

from collections.abc import Sequence

from mccfr_plus.experiments.curves import Curve
from mccfr_plus.experiments.papers.item import Row
from mccfr_plus.experiments.papers.judging import mean_of, order

AVERAGE_STRATEGY = "average_strategy(epsilon=0.05,tau=1000.0,beta=1e6)"
# beta makes every action likely to be visited until sums of the average strategy are of its size. The paper's runs are
# of 1e12 histories; those here are thousands of times shorter, and so are their sums.
SHORT_RUNS = "average_strategy(epsilon=0.05,tau=100.0,beta=1e3)"
PAPERS_SUMS = f"{AVERAGE_STRATEGY}/rm/stochastic"  # line 9 of algorithm 1
OUTCOME = "outcome(epsilon=0.5)"  # the paper's exploration
ALGORITHMS = ("chance", "external", OUTCOME, AVERAGE_STRATEGY, PAPERS_SUMS, SHORT_RUNS)
OURS = (AVERAGE_STRATEGY, PAPERS_SUMS, SHORT_RUNS)
WITHOUT_OUTCOME = tuple(name for name in ALGORITHMS if name != OUTCOME)  # as in figure 2b
LABELS = {
    "chance": "chance sampling",
    "external": "external sampling",
    OUTCOME: "outcome sampling",
    AVERAGE_STRATEGY: "average strategy sampling (tau 1000, beta 1e6)",
    PAPERS_SUMS: "average strategy sampling (tau 1000, beta 1e6; sums of line 9)",
    SHORT_RUNS: "average strategy sampling (tau 100, beta 1e3)",
}


def ending_rows(what: str, curves: Sequence[Curve], scale: float) -> list[Row]:
    """Returns where each algorithm ended, and whether average strategy sampling is ahead of the best of the others.

    Args:
        what: Begins each row.
        curves: Of one game.
        scale: What exploitability is multiplied by.
    """
    ends = {curve.algorithm: mean_of(scale * curve.y("exploitability")[:, -1]) for curve in curves}
    found = [Row(f"{what}: {LABELS[name]}", "-", str(end), "-") for name, end in ends.items()]
    best = min(end for name, end in ends.items() if name not in OURS)
    for name in OURS:
        ratio = f"{best.mean / ends[name].mean:.2f}"
        found.append(Row(f"{what}: best of the others / {LABELS[name]}", "above 1", ratio, order(ends[name], best)))
    return found
