"""The NashConv of the average strategy, from regrets, in two-player constant-sum games.

With the weighted averages X of x_t and Y of y_t over T iterations, W the sum of the weights:

* simultaneous updates: NashConv(X, Y) = (R_1 + R_2) / W;
* alternating updates that improve against the current opponent: NashConv(X, Y) <= (R_1 + R_2) / W + w_T Delta / W.
  Exact gradients with RM, RM+ and discounted regrets do.

References: Burch, Moravcik, Schmid 2019; docs/background/bounds.md has the derivation.
"""

from dataclasses import dataclass

from mccfr_plus.averages.methods import EXACT, LAZY
from mccfr_plus.bounds.regret import Weights
from mccfr_plus.estimators import Full
from mccfr_plus.minimizers import Discounted, RegretMatching, RegretMatchingPlus
from mccfr_plus.solver.solver import Solver

_IMPROVING = (RegretMatching, RegretMatchingPlus, Discounted)


@dataclass(frozen=True)
class NashConvBound:
    """The relation of NashConv to the sum of average regrets."""

    is_exact: bool  # NashConv is the sum of average regrets
    is_bounded: bool  # NashConv is at most that sum plus `slack`
    slack: float
    reason: str


def nash_conv_bound(solver: Solver) -> NashConvBound:
    """Returns how the average regrets bound the NashConv of a solver's average strategy, and why.

    Args:
        solver: After its run: `slack` depends on the number of iterations.
    """
    tree = solver.tree.require_whole("a bound")
    if not tree.perfect_recall:
        return _nothing("the game has imperfect recall")
    if tree.num_players != 2 or not tree.is_constant_sum:
        return _nothing("regrets bound NashConv in two-player constant-sum games only")
    if solver.average_method not in (EXACT, LAZY):
        return _nothing("the average strategy is sampled or biased, and NashConv is not linear")
    if solver.config.threads > 1 and not solver.config.is_team:
        return _nothing(FAST_THREADS)
    if not solver.config.alternating:
        return NashConvBound(True, True, 0.0, "nash_conv is the sum of the average regrets")
    if not isinstance(solver.estimator, Full) or type(solver.minimizer) not in _IMPROVING:
        return _nothing(
            "with alternating updates every update must improve on the current opponent, which these components do not "
            "ensure; with simultaneous ones (--noalternating) nash_conv would be the sum of the average regrets"
        )
    if not solver.iterations:
        return _nothing("there was no iteration")
    if len(solver.averaging.scheduled):
        return _nothing("the average is on a schedule, for which no slack is known")
    slack = float(tree.payoff_range[1]) / Weights.of(float(solver.averaging.gamma), solver.iterations).total
    return NashConvBound(False, True, slack, "nash_conv is at most the sum of the average regrets plus the slack")


FAST_THREADS = "fast threads lose a part of what they add up"


def _nothing(reason: str) -> NashConvBound:
    return NashConvBound(False, False, 0.0, reason)
