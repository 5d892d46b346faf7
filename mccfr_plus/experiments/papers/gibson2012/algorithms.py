"""The algorithms that the paper compares, and what it says of them."""

from __future__ import annotations

import math

from mccfr_plus.experiments.curves import Curve
from mccfr_plus.experiments.papers.item import Row

AVERAGE_STRATEGY = "average_strategy(epsilon=0.05,tau=1000.0,beta=1e6)"
# beta makes every action likely to be visited until sums of the average strategy are of its size. The paper's runs are
# of 1e12 histories; those here are thousands of times shorter, and so are their sums.
SHORT_RUNS = "average_strategy(epsilon=0.05,tau=100.0,beta=1e3)"
ALGORITHMS = ("chance", "external", "outcome", AVERAGE_STRATEGY, SHORT_RUNS)
LABELS = {
    "chance": "chance sampling",
    "external": "external sampling",
    "outcome": "outcome sampling",
    AVERAGE_STRATEGY: "average strategy sampling (tau 1000, beta 1e6)",
    SHORT_RUNS: "average strategy sampling (tau 100, beta 1e3)",
}
EXPLOITABILITY = "exploitability ((b1 + b2) / 2, game's payoffs)"

NO_VALUES = (
    "The paper's curves are pictures without values. Judged is what its abstract says: average strategy sampling "
    "converges faster than the other Monte Carlo variants, in no-limit poker and in Bluff. Faster is here: a lower "
    "mean after as many histories; clearly, if the bands over seeds do not overlap."
)
OTHER_BETA = (
    "The paper's tau and beta are for runs of about 1e12 histories. After the far fewer here, beta = 1e6 is larger "
    "than the sums that it is added to, so that nearly all actions are visited as with external sampling: therefore "
    "a second line has a smaller beta and tau."
)


def verdict_rows(what: str, curves: dict[str, Curve]) -> list[Row]:
    """Returns where each algorithm ended, and whether average strategy sampling ended below all others.

    Args:
        what: Begins each row.
        curves: By algorithm.
    """
    ends = {name: _end(curve) for name, curve in curves.items()}
    rows = [
        Row(f"{what}: {LABELS[name]}", "-", f"{mean:.4g} ({low:.4g} .. {high:.4g})", "-")
        for name, (mean, low, high) in ends.items()
    ]
    others = [end for name, end in ends.items() if not name.startswith("average_strategy")]
    best = min(others)
    for name in (AVERAGE_STRATEGY, SHORT_RUNS):
        if name in ends and others:
            mean, low, high = ends[name]
            ratio = best[0] / mean if mean > 0 else math.inf
            if high < best[1]:
                verdict = "agrees, clearly"
            elif low > best[2]:
                verdict = "differs, clearly"
            else:
                verdict = f"{'agrees' if ratio > 1 else 'differs'}, bands overlap"
            rows.append(Row(f"{what}: best of the others / {LABELS[name]}", "above 1", f"{ratio:.2f}", verdict))
    return rows


def _end(curve: Curve) -> tuple[float, float, float]:
    """Returns mean and band of the exploitability at the last point."""
    low, high = curve.band()
    return float(curve.mean()[-1]), float(low[-1]), float(high[-1])
