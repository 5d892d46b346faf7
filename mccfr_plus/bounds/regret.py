"""The tightest known regret bound of an estimator and a minimizer.

With weights w_t of the iterations, bounds are on R / (sum of w_t), where R = max over plans x of sum over t of
w_t <g_t, x - x_t> with the exact gradients g_t: the regret against the estimates that the minimizer received, and for
sampled estimates its deviation with probability at least 1 - p. docs/background/bounds.md has the formulas, the meaning
of all symbols, derivations, and differences from the papers.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mccfr_plus.averages import PowerAverage
from mccfr_plus.bounds.dilated import dilated_bound
from mccfr_plus.bounds.treeplex import (
    action_sequences,
    check_player,
    largest_m_value,
    largest_payoff,
    log_actions,
    log_pure_strategies,
    m_value,
    num_children,
    outcome_delta,
    vertex_maximum,
)
from mccfr_plus.errors import ConfigError
from mccfr_plus.estimators import (
    AverageStrategySampling,
    BalancedOutcomeSampling,
    Estimator,
    ExternalSampling,
    Full,
    OutcomeSampling,
)
from mccfr_plus.minimizers import (
    FTRL,
    OMD,
    Discounted,
    Hedge,
    Minimizer,
    PredictiveRegretMatching,
    PredictiveRegretMatchingPlus,
    RegretMatching,
    RegretMatchingPlus,
    linear,
)
from mccfr_plus.minimizers.exponential_weights import dilated_weights
from mccfr_plus.solver.config import average_of, estimator_of, minimizer_of
from mccfr_plus.trees.game_tree import GameTree
from mccfr_plus.trees.needs import GRADIENTS

_CUT_AT_ZERO = (RegretMatchingPlus, PredictiveRegretMatchingPlus)
_UNWEIGHTED = (RegretMatching, PredictiveRegretMatching, Hedge, FTRL, OMD)
_PREDICTIVE = (PredictiveRegretMatching, PredictiveRegretMatchingPlus)

_IN_TREE = "Lanctot et al. 2009, Theorem 3"
_PREDICTED = f"{_IN_TREE}, with the last regrets as predictions (derived)"
_DILATED = "Farina, Kroer, Sandholm 2020, section 2.2, with the exact diameter"
_LOCAL_THEOREM = {
    RegretMatching: _IN_TREE,
    RegretMatchingPlus: f"{_IN_TREE}, with RM+ of Tammelin et al. 2015",
    Discounted: f"{_IN_TREE}, with the weights of linear CFR (derived)",
    PredictiveRegretMatching: _PREDICTED,
    PredictiveRegretMatchingPlus: _PREDICTED,
    Hedge: "Freund, Schapire 1997 at every infoset (derived)",
    FTRL: _DILATED,
    OMD: _DILATED,
}
_TRIVIAL = "the payoff range, which is smaller than the theorems' bounds"
_IN_HINDSIGHT = "M_i(sigma) of Gibson et al. 2012, Theorem 5, with blocks by sequences (derived)"
_CONCENTRATION = "Farina, Kroer, Sandholm 2020, Proposition 2"
_SMALL_VARIANCE = "Farina, Kroer, Sandholm 2020, Proposition 3"
_SECOND_MOMENT = "Gibson et al. 2012, Theorem 6"


@dataclass(frozen=True)
class RegretBound:
    """A bound on a player's average regret, and its source.

    Attributes:
        value: The bound, in the game's payoffs; with weights, on the weighted average.
        theorem: Its author, year and number.
        assumptions: Conditions of the theorem.
        probability: Least probability of holding; 1.0 if nothing is sampled.

    Examples:
        >>> import mccfr_plus
        >>> bound = mccfr_plus.regret_bound(mccfr_plus.compile_game("kuhn_poker"), 0, 2000, "full", "rm")
        >>> round(bound.value, 3), bound.probability
        (0.438, 1.0)
    """

    value: float
    theorem: str
    assumptions: tuple[str, ...]
    probability: float


@dataclass(frozen=True)
class Weights:
    """Sums of the weights t^gamma of T iterations, divided by the last weight: exact, or bounds on the safe side."""

    total: float
    squares: float
    iterations: int

    @classmethod
    def of(cls, gamma: float, iterations: int) -> "Weights":
        if gamma == 1:
            squares = (iterations + 1) * (2 * iterations + 1) / (6 * iterations)
            return cls((iterations + 1) / 2, squares, iterations)
        # t^gamma increases: its sum is above the integral from 0 to T, the squares' sum below theirs plus the last.
        return cls(iterations / (gamma + 1), min(iterations / (2 * gamma + 1) + 1, iterations), iterations)


def regret_bound(
    tree: GameTree,
    player: int,
    iterations: int,
    estimator: Estimator | str,
    minimizer: Minimizer | str,
    averaging: PowerAverage | str | None = "uniform",
    *,
    p: float = 0.05,
) -> RegretBound | None:
    """Returns the tightest known bound on a player's average regret; None if no bound is known.

    The regret is external, against the other players' strategies of each iteration: so the bound holds for simultaneous
    and alternating updates and for any number of players, but not with baselines or fast threads.
    docs/background/bounds.md has formulas and sources; `mccfr_plus.bounds.why_no_bound` says why there is none.

    Args:
        tree: The game.
        player: Whose regret.
        iterations: T, at least 1, fixed before the run or by a rule that is independent of the draws.
        estimator: An `Estimator` or its short name.
        minimizer: A `Minimizer` or its short name.
        averaging: The weights t^gamma of the iterations, or their short name; None: the minimizer's default.
        p: Probability that the bound fails, in (0, 1); unused for exact gradients.

    Raises:
        ConfigError: If an argument is unknown or out of range.

    Examples:
        >>> import mccfr_plus
        >>> tree = mccfr_plus.compile_game("kuhn_poker")
        >>> bound = mccfr_plus.regret_bound(tree, 0, 10_000, "full", "rm")
        >>> round(bound.value, 4), bound.probability
        (0.196, 1.0)
    """
    estimator, minimizer = estimator_of(estimator), minimizer_of(minimizer)
    averaging = average_of(averaging, minimizer)
    check_player(tree, player)
    if iterations < 1:
        raise ConfigError(f"iterations={iterations!r}: must be at least 1.")
    if not 0 < p < 1:
        raise ConfigError(f"p={p!r}: the probability to fail must be above 0 and below 1.")
    if why_no_bound(tree, estimator, minimizer, averaging) is not None:
        return None
    weights, most_actions = Weights.of(float(averaging.gamma), int(iterations)), tree.statistics().max_actions[player]
    scale, assumption = _scale(tree, player, estimator)
    theorems = [_LOCAL_THEOREM[type(minimizer)]]
    if isinstance(minimizer, Hedge):
        total = iterations * hedge_bound(tree, player, iterations, minimizer.eta, scale)
    elif isinstance(minimizer, FTRL | OMD):
        dilated, delta = dilated_weights(tree, minimizer.weights), _delta(tree, player, estimator)
        largest = None if delta is None else largest_payoff(tree, player) / delta
        options: dict[str, Any] = {"gradient_bound": largest, "optimistic": minimizer.optimistic}
        total = iterations * dilated_bound(tree, player, iterations, minimizer.eta, dilated, **options)
    else:
        size, in_hindsight = m_value(tree, player), largest_m_value(tree, player)
        if in_hindsight < size:
            size = in_hindsight
            theorems.append(_IN_HINDSIGHT)
        growth = math.sqrt(weights.iterations if type(minimizer) in _CUT_AT_ZERO else weights.squares)
        factor = 2.0 if type(minimizer) in _PREDICTIVE else 1.0
        total = factor * scale * size * math.sqrt(most_actions) * growth
    assumptions, probability = ["perfect recall"], 1.0
    if not isinstance(estimator, Full):
        deviation, name = _deviation(tree, player, scale, weights, p)
        total, probability = total + deviation, 1.0 - p
        theorems.append(name)
        assumptions += [assumption, "the number of iterations does not depend on the draws"]
    limit = float(tree.payoff_range[player])
    if total / weights.total > limit:
        return RegretBound(limit, _TRIVIAL, (), 1.0)
    return RegretBound(total / weights.total, "; ".join(theorems), tuple(assumptions), probability)


def why_no_bound(
    tree: GameTree,
    estimator: Estimator | str,
    minimizer: Minimizer | str,
    averaging: PowerAverage | str | None = "uniform",
) -> str | None:
    """Returns why no bound is known for these components, in words; None if `regret_bound` has one."""
    estimator, minimizer = estimator_of(estimator), minimizer_of(minimizer)
    average = average_of(averaging, minimizer)
    is_own = type(estimator).__module__.startswith("mccfr_plus.")
    has_own_scheme = estimator.update_all_players or getattr(estimator, "sampling", None) is not None
    is_linear = minimizer == linear() and average.gamma == 1
    name, is_discounted = minimizer.short_name, isinstance(minimizer, Discounted)
    is_weighted = type(minimizer) in _UNWEIGHTED and average.gamma != 0
    reasons = (
        (len(average.scheduled), "no theorem is known here for averages on a schedule"),
        (not tree.perfect_recall, "the game has imperfect recall"),
        (GRADIENTS not in estimator.provides, f"{estimator!r} estimates regrets up to a factor, not gradients"),
        (not is_own or has_own_scheme, f"nothing is known here about the range of {estimator!r}'s estimates"),
        (type(minimizer) not in _LOCAL_THEOREM, f"no theorem is known here for {minimizer!r}"),
        (
            is_discounted and not is_linear,
            f"of the discounted rules only linear with its linear average has a bound here, not {minimizer!r}",
        ),
        (getattr(minimizer, "decay", 0.0) > 0, f"{name} has a bound for constant step sizes only (decay=0)"),
        (
            isinstance(minimizer, Hedge) and minimizer.optimistic,
            "no theorem is known here for optimistic hedge under CFR",
        ),
        (is_weighted, f"{name} has a bound for the uniform average only"),
    )
    return next((reason for is_unknown, reason in reasons if is_unknown), None)


def _delta(tree: GameTree, player: int, estimator: Estimator) -> float | None:
    """Returns the smallest probability of own actions above a leaf, None if all are visited."""
    ones = np.ones(tree.num_slots)
    match estimator:
        case OutcomeSampling():
            return outcome_delta(tree, player, estimator.epsilon)
        case BalancedOutcomeSampling():
            return outcome_delta(tree, player, estimator.epsilon, estimator.sampling_strategy(tree))
        case AverageStrategySampling():
            return outcome_delta(tree, player, estimator.epsilon, ones)
        case ExternalSampling() if estimator.prune_below is not None:
            return outcome_delta(tree, player, estimator.prune_probability, ones)
    return None


def _scale(tree: GameTree, player: int, estimator: Estimator) -> tuple[float, str]:
    """Returns the range of a player's estimated values within a block, and the assumption behind it."""
    delta = _delta(tree, player, estimator)
    if delta is None:
        return float(tree.payoff_range[player]), "others and chance drawn on-policy or all visited"
    assumption = f"others and chance drawn on-policy, delta = {delta:.3g}"
    if not estimator.visits_all_own:  # one action has an estimate, the others have 0
        return largest_payoff(tree, player) / delta, assumption
    payoffs = tree.arrays.payoffs[:, player]
    return float(payoffs.max(initial=0.0) - payoffs.min(initial=0.0)) / delta, assumption


def _deviation(tree: GameTree, player: int, scale: float, weights: Weights, p: float) -> tuple[float, str]:
    """Returns the smallest bound on exact minus estimated regret, in units of the last weight, and its name."""
    spread = math.sqrt(weights.squares)
    log_failures = log_pure_strategies(tree, player) - math.log(p)
    largest_step = float(tree.payoff_range[player]) + scale
    concentration = largest_step * spread * math.sqrt(2 * log_failures)
    deviation = math.sqrt(_variance(tree, player, scale)) * spread
    freedman = deviation * math.sqrt(2 * log_failures) + 2 / 3 * largest_step * log_failures
    blocks = action_sequences(tree, player)
    size = len(blocks) * (blocks.max(initial=-1) + 1) * tree.statistics().max_actions[player]
    second_moment = math.sqrt(2 * size / p) * scale * spread
    return min((concentration, _CONCENTRATION), (freedman, _SMALL_VARIANCE), (second_moment, _SECOND_MOMENT))


def _variance(tree: GameTree, player: int, scale: float) -> float:
    """Returns a bound on the variance of an estimate <g, u - x>, whose absolute value is at most `scale`."""
    return min(scale**2, 2 * largest_payoff(tree, player) * scale)


def hedge_bound(tree: GameTree, player: int, iterations: int, eta: float, scale: float | None = None) -> float:
    """Returns the bound on the average regret of CFR with Hedge of step size eta at every infoset.

        (max over plans x of  sum over I of x[parent(I)] log(n_I) / eta
                              + sum over s with infosets below of x[s] * eta * T * scale^2 / 8) / T

    The infosets right below one own sequence s share a range of at most `scale` in each iteration, by default the
    player's payoff range: their ranges are scale times probabilities that sum to at most 1.

    Reference: Cesa-Bianchi, Lugosi 2006, Theorem 2.2, for the local regret. Derived for the tree.
    """
    width = float(tree.payoff_range[check_player(tree, player)]) if scale is None else float(scale)
    blocks = eta * iterations * width**2 / 8 * (num_children(tree) > 0)
    return vertex_maximum(tree, player, log_actions(tree) / eta, blocks) / iterations
