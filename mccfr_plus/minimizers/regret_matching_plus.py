"""Regret matching+: Tammelin, Burch, Johanson, Bowling 2015, "Solving heads-up limit Texas hold'em"."""

from dataclasses import dataclass
from typing import Any, ClassVar

from mccfr_plus.kernels.compile import inline_kernel
from mccfr_plus.minimizers.base import Minimizer
from mccfr_plus.minimizers.infoset import REGRET, expected_value, play_in_proportion
from mccfr_plus.trees.scratch import at


@inline_kernel
def regret_matching_plus(values, strategy, tables, first, last, iteration, parameters):
    """RM+. See `Minimizer`."""
    value, total = expected_value(values, strategy, first, last), 0.0
    for slot in range(first, last):
        regret = max(tables[REGRET, at(slot)] + values[at(slot)] - value, 0.0)
        tables[REGRET, at(slot)] = regret
        values[at(slot)] = regret
        total += regret
    play_in_proportion(values, strategy, first, last, total)
    return value


@dataclass(frozen=True)
class RegretMatchingPlus(Minimizer):
    """Regret matching with regrets cut at 0 (Tammelin et al. 2015), the rule of CFR+.

    With r the regrets of this iteration and R the cumulative ones: R = [R + r]+, and the next strategy is proportional
    to R, or uniform where R is 0.

    Examples:
        >>> import mccfr_plus
        >>> solver = mccfr_plus.Solver("kuhn_poker", "full", mccfr_plus.RegretMatchingPlus())
        >>> solver.run(100).exploitability() < 0.05
        True
    """

    short_name: ClassVar[str] = "rm+"
    references: ClassVar[tuple[str, ...]] = ("tammelin2014solving", "tammelin2015solving")
    default_average: ClassVar[str] = "linear"
    kernel: ClassVar[Any] = staticmethod(regret_matching_plus)
