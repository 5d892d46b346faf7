"""Regret matching: Hart, Mas-Colell 2000, "A simple adaptive procedure leading to correlated equilibrium"."""

from dataclasses import dataclass
from typing import Any, ClassVar

from mccfr_plus.kernels.compile import inline_kernel
from mccfr_plus.minimizers.base import Minimizer
from mccfr_plus.minimizers.infoset import REGRET, expected_value, play_in_proportion
from mccfr_plus.trees.needs import REGRETS
from mccfr_plus.trees.scratch import at


@inline_kernel
def regret_matching(values, strategy, tables, first, last, iteration, parameters):
    """RM. See `Minimizer` for the arguments and what is modified in place."""
    value, total = expected_value(values, strategy, first, last), 0.0
    for slot in range(first, last):
        regret = tables[REGRET, at(slot)] + values[at(slot)] - value
        tables[REGRET, at(slot)] = regret
        values[at(slot)] = max(regret, 0.0)
        total += values[at(slot)]
    play_in_proportion(values, strategy, first, last, total)
    return value


@dataclass(frozen=True)
class RegretMatching(Minimizer):
    """Regret matching (Hart, Mas-Colell 2000), the rule of CFR and of MCCFR.

    With r the regrets of this iteration and R the cumulative ones: R += r, and the next strategy is proportional to
    [R]+, or uniform where no entry is positive.

    Examples:
        >>> import mccfr_plus
        >>> solver = mccfr_plus.Solver("kuhn_poker", "full", mccfr_plus.RegretMatching())
        >>> solver.run(100).exploitability() < 0.05
        True
    """

    short_name: ClassVar[str] = "rm"
    references: ClassVar[tuple[str, ...]] = ("hart2000simple",)
    provides: ClassVar[frozenset[str]] = frozenset({REGRETS})
    kernel: ClassVar[Any] = staticmethod(regret_matching)
