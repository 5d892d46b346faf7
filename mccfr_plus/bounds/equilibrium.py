"""What regret has to do with the average strategy's NashConv, which is what a run measures.

In two-player constant-sum games, with the weighted averages X of x_t and Y of y_t over T iterations, W the sum of the
weights:

* simultaneous updates: both players' regrets are against the same pairs (x_t, y_t), and exactly

      NashConv(X, Y) = (R_1 + R_2) / W;

* alternating updates: player 2 faces x_{t+1}, so that with X' the weighted average of x_2 .. x_{T+1}

      NashConv(X', Y) = (R_1 + R_2) / W - sum of w_t (u_1(x_{t+1}, y_t) - u_1(x_t, y_t)) / W

  (Burch, Moravcik, Schmid 2019, who have it as a bound). Regrets alone therefore say nothing, and low regrets can go
  with a high NashConv (Farina, Kroer, Sandholm 2019), unless every update is an improvement against the current
  opponent. With exact gradients that holds for RM, RM+ and discounted regrets, whose next strategy is [c R + r]+ with
  R >= 0 where the last one was positive (shown there for RM and RM+); with sampled gradients, or with predictions, it
  does not. What is averaged here is x_1 .. x_T; W (X - X') is w_T times a difference of two strategies for weights
  that do not fall, and NashConv(X, Y) <= (R_1 + R_2) / W + w_T Delta / W. The last step is derived here.

Both need the averages themselves. Sampled averages are right in expectation only, and NashConv is not linear: then
nothing exact can be said. With more players, or other payoffs, small regrets mean a coarse correlated equilibrium, and
NashConv may stay large.
"""

from __future__ import annotations

from dataclasses import dataclass

from mccfr_plus.averages.exact_sums import EXACT
from mccfr_plus.averages.lazy_sums import LAZY
from mccfr_plus.bounds.regret import Weights
from mccfr_plus.estimators import Full
from mccfr_plus.minimizers import Discounted, RegretMatching, RegretMatchingPlus
from mccfr_plus.solver.solver import Solver

_IMPROVING = (RegretMatching, RegretMatchingPlus, Discounted)


@dataclass(frozen=True)
class NashConvClaim:
    """What the NashConv of a solver's average strategy is, given the average regrets."""

    is_exact: bool  # NashConv is the sum of average regrets
    is_bounded: bool  # NashConv is at most that sum plus `slack`
    slack: float
    reason: str  # in words, why


def nash_conv_claim(solver: Solver) -> NashConvClaim:
    """Returns whether the NashConv of a solver's average strategy measures its regrets, and why.

    Args:
        solver: After its run: `slack` depends on the number of iterations.
    """
    estimator, minimizer = solver.estimator, solver.minimizer
    tree = solver.tree.require_whole("a bound")
    if not tree.perfect_recall:
        return _nothing("the game has imperfect recall")
    if tree.num_players != 2 or not tree.is_constant_sum:
        return _nothing("regrets bound NashConv in two-player constant-sum games only")
    if solver.average_method not in (EXACT, LAZY):
        return _nothing("the average strategy is sampled or biased, and NashConv is not linear")
    if not solver.config.alternating:
        return NashConvClaim(True, True, 0.0, "nash_conv is the sum of the average regrets")
    if not isinstance(estimator, Full) or type(minimizer) not in _IMPROVING:
        return _nothing(
            "with alternating updates the parts must improve in every update, which these need not; with simultaneous "
            "ones (--noalternating) nash_conv would be the sum of the average regrets"
        )
    if not solver.iterations:
        return _nothing("there was no iteration")
    slack = float(tree.payoff_range[1]) / Weights.of(float(solver.averaging.gamma), solver.iterations).total
    return NashConvClaim(False, True, slack, "nash_conv is at most the sum of the average regrets plus the slack")


def _nothing(reason: str) -> NashConvClaim:
    return NashConvClaim(False, False, 0.0, reason)
