"""Predictive regret matching, where the prediction is the last value vector.

Reference: Farina, Kroer, Sandholm 2021, "Faster game solving via predictive Blackwell approachability", algorithm 3.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from mccfr_plus.kernels.compile import inline_kernel
from mccfr_plus.minimizers.base import Minimizer
from mccfr_plus.minimizers.infoset import REGRET, expected_value, play_in_proportion
from mccfr_plus.trees.needs import REGRETS
from mccfr_plus.trees.scratch import at


@inline_kernel
def predictive(values, strategy, tables, first, last, iteration, parameters):
    """Predictive RM: the last value vector counts twice in the next strategy. See `Minimizer`."""
    value, total = expected_value(values, strategy, first, last), 0.0
    for slot in range(first, last):
        instant = values[at(slot)] - value
        tables[REGRET, at(slot)] += instant
        values[at(slot)] = max(tables[REGRET, at(slot)] + instant, 0.0)
        total += values[at(slot)]
    play_in_proportion(values, strategy, first, last, total)
    return value


@dataclass(frozen=True)
class PredictiveRegretMatching(Minimizer):
    """Predictive regret matching (Farina, Kroer, Sandholm 2021, algorithm 3).

    With r the regrets of this iteration and R the cumulative ones: R += r, and the next strategy is proportional to
    [R + r]+: the last regrets predict the next ones.

    Examples:
        >>> import mccfr_plus
        >>> solver = mccfr_plus.Solver("kuhn_poker", "full", mccfr_plus.PredictiveRegretMatching())
        >>> solver.run(100).exploitability() < 0.05
        True
    """

    short_name: ClassVar[str] = "prm"
    references: ClassVar[tuple[str, ...]] = ("farina2021faster",)
    provides: ClassVar[frozenset[str]] = frozenset({REGRETS})
    kernel: ClassVar[Any] = staticmethod(predictive)
