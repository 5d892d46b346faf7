"""The tightest known regret bound (docs/background/bounds.md derives the formulas) and the exact regret of a run."""

import math
from dataclasses import dataclass

import numpy as np

from mccfr_plus import estimators, minimizers
from mccfr_plus.averages import PowerAverage
from mccfr_plus.bounds import treeplex
from mccfr_plus.errors import ConfigError
from mccfr_plus.evaluation.exact import own_reach
from mccfr_plus.evaluation.strategies import require_player
from mccfr_plus.minimizers.exponential_weights import dilated_weights
from mccfr_plus.parameters import check_whole
from mccfr_plus.solver.config import average_of, estimator_of, minimizer_of
from mccfr_plus.solver.solver import Solver
from mccfr_plus.trees.game_tree import GameTree, action_sequences
from mccfr_plus.trees.needs import GRADIENTS
from mccfr_plus.trees.scratch import gradient_size

_CUT_AT_ZERO = (minimizers.RegretMatchingPlus, minimizers.PredictiveRegretMatchingPlus)
_PREDICTIVE = (minimizers.PredictiveRegretMatching, minimizers.PredictiveRegretMatchingPlus)

_IN_TREE = "Lanctot et al. 2009, Theorem 3"
_PREDICTED = f"{_IN_TREE}, with the last regrets as predictions (derived)"
_DILATED = "FTRL and OMD (Farina, Kroer and Sandholm 2020, section 2.2) with a given step size (derived)"
_LOCAL_THEOREM = {
    minimizers.RegretMatching: _IN_TREE,
    minimizers.RegretMatchingPlus: f"{_IN_TREE}, with RM+ of Tammelin et al. 2015",
    minimizers.Discounted: f"{_IN_TREE}, with the weights of linear CFR (derived)",
    minimizers.PredictiveRegretMatching: _PREDICTED,
    minimizers.PredictiveRegretMatchingPlus: _PREDICTED,
    minimizers.Hedge: "Freund and Schapire 1997 at every infoset (derived)",
    minimizers.FTRL: _DILATED,
    minimizers.OMD: _DILATED,
}
_TRIVIAL = "the payoff range, which is smaller than the theorems' bounds"
_IN_HINDSIGHT = "M_i(sigma) of Gibson et al. 2012, Theorem 5, with blocks by sequences (derived)"
_CONCENTRATION = "Farina, Kroer and Sandholm 2020, Proposition 1, for all pure strategies"
_SMALL_VARIANCE = "Freedman 1975, with a bound on the variance (derived)"
_SECOND_MOMENT = "Gibson et al. 2012, Theorem 6"


@dataclass(frozen=True)
class RegretBound:
    """A bound on a player's average regret, and its source.

    Attributes:
        value: The bound, in units of payoff; for weighted iterations, it is a bound on the weighted average regret.
        theorem: Author, year and number of the theorem.
        assumptions: Conditions of the theorem.
        probability: Minimum probability with which the bound holds; 1.0 if nothing is sampled.

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


def weight_sums(gamma: float, iterations: int) -> tuple[float, float]:
    """Returns the sums of weights t^gamma and of their squares, in units of the last; bounds unless gamma is 0 or 1."""
    if gamma == 1:
        return (iterations + 1) / 2, (iterations + 1) * (2 * iterations + 1) / (6 * iterations)
    # t^gamma increases: its sum is above the integral from 0 to T, the squares' sum below theirs plus the last.
    return iterations / (gamma + 1), min(iterations / (2 * gamma + 1) + 1, iterations)


def regret_bound(
    tree: GameTree,
    player: int,
    iterations: int,
    estimator: estimators.Estimator | str,
    minimizer: minimizers.Minimizer | str,
    averaging: PowerAverage | str | None = "uniform",
    *,
    p: float = 0.05,
) -> RegretBound | None:
    """Returns the tightest bound on a player's average regret that this package knows, or None if it knows none.

    The bound holds for simultaneous and alternating updates and any number of players, but not with baselines or fast
    threads. docs/background/bounds.md gives the formulas and their sources; `bounds.why_no_bound` explains why a bound
    is missing.

    Args:
        tree: The game.
        player: The player whose regret is bounded.
        iterations: The number of iterations T, at least 1, fixed before the run or by a rule that is independent of the
            draws.
        estimator: An `Estimator` or its short name.
        minimizer: A `Minimizer` or its short name.
        averaging: The average, with weights t^gamma, or its short name. None: the minimizer's default.
        p: Maximum probability that the bound fails, in (0, 1); unused for exact gradients.

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
    require_player(tree.game, player)
    check_whole("iterations", iterations)
    if not 0 < p < 1:
        raise ConfigError(f"p={p!r}: the failure probability must be above 0 and below 1.")
    if why_no_bound(tree, estimator, minimizer, averaging) is not None:
        return None
    sum_of_weights, squares = weight_sums(float(averaging.gamma), int(iterations))
    scale, assumption = _scale(tree, player, estimator)
    theorems = [_LOCAL_THEOREM[type(minimizer)]]
    if isinstance(minimizer, minimizers.Hedge):
        total = iterations * hedge_bound(tree, player, iterations, minimizer.eta, scale)
    elif isinstance(minimizer, minimizers.FTRL | minimizers.OMD):
        dilated, delta = dilated_weights(tree, minimizer.weights), _delta(tree, player, estimator)
        largest = None if delta is None else _largest_payoff(tree, player) / delta
        eta, optimistic = minimizer.eta, minimizer.optimistic
        total = iterations * dilated_bound(tree, player, iterations, eta, dilated, largest, optimistic)
    else:
        size, in_hindsight = tree.statistics().m_values[player], treeplex.largest_m_value(tree, player)
        if in_hindsight < size:
            size = in_hindsight
            theorems.append(_IN_HINDSIGHT)
        growth = math.sqrt(iterations if type(minimizer) in _CUT_AT_ZERO else squares)
        factor = 2.0 if type(minimizer) in _PREDICTIVE else 1.0
        total = factor * scale * size * math.sqrt(tree.statistics().max_actions[player]) * growth
    assumptions, probability = ["perfect recall"], 1.0
    if not isinstance(estimator, estimators.Full):
        deviation, name = _deviation(tree, player, scale, squares, p)
        total, probability = total + deviation, 1.0 - p
        theorems.append(name)
        assumptions += [assumption, "the number of iterations does not depend on the draws"]
    limit = float(tree.payoff_range[player])
    if total / sum_of_weights > limit:
        return RegretBound(limit, _TRIVIAL, (), 1.0)
    return RegretBound(total / sum_of_weights, "; ".join(theorems), tuple(assumptions), probability)


def why_no_bound(
    tree: GameTree,
    estimator: estimators.Estimator | str,
    minimizer: minimizers.Minimizer | str,
    averaging: PowerAverage | str | None = "uniform",
) -> str | None:
    """Returns a text that says why no bound is known for these components; None if `regret_bound` has a bound."""
    estimator, minimizer = estimator_of(estimator), minimizer_of(minimizer)
    average = average_of(averaging, minimizer)
    name = minimizer.short_name
    is_own = type(estimator).__module__.startswith("mccfr_plus.")
    has_own_scheme = estimator.update_all_players or getattr(estimator, "sampling", None) is not None
    is_linear = minimizer == minimizers.linear() and average.gamma == 1
    is_discounted = isinstance(minimizer, minimizers.Discounted) and not is_linear
    is_optimistic = isinstance(minimizer, minimizers.Hedge) and minimizer.optimistic
    takes_weights = type(minimizer) in (*_CUT_AT_ZERO, minimizers.Discounted)
    reasons = (
        (len(average.weights()[1]), "no theorem is known here for averages on a schedule"),
        (not tree.perfect_recall, "the game has imperfect recall"),
        (GRADIENTS not in estimator.provides, f"{estimator!r} estimates regrets up to a factor, not gradients"),
        (not is_own or has_own_scheme, f"nothing is known here about the range of {estimator!r}'s estimates"),
        (type(minimizer) not in _LOCAL_THEOREM, f"no theorem is known here for {minimizer!r}"),
        (is_discounted, f"of the discounted rules only linear with its linear average has a bound, not {minimizer!r}"),
        (getattr(minimizer, "decay", 0.0) > 0, f"{name} has a bound for constant step sizes only (decay=0)"),
        (is_optimistic, "no theorem is known here for optimistic hedge under CFR"),
        (average.gamma != 0 and not takes_weights, f"{name} has a bound for the uniform average only"),
    )
    return next((reason for is_unknown, reason in reasons if is_unknown), None)


def _delta(tree: GameTree, player: int, estimator: estimators.Estimator) -> float | None:
    """Returns the smallest probability of own actions above a leaf, None if all are visited."""
    ones = np.ones(tree.num_slots)
    match estimator:
        case estimators.OutcomeSampling():
            return treeplex.outcome_delta(tree, player, estimator.epsilon)
        case estimators.BalancedOutcomeSampling():
            return treeplex.outcome_delta(tree, player, estimator.epsilon, estimator.sampling_strategy(tree))
        case estimators.AverageStrategySampling():
            return treeplex.outcome_delta(tree, player, estimator.epsilon, ones)
        case estimators.ExternalSampling() if estimator.prune_below is not None:
            return treeplex.outcome_delta(tree, player, estimator.prune_probability, ones)
    return None


def _scale(tree: GameTree, player: int, estimator: estimators.Estimator) -> tuple[float, str]:
    """Returns the range of a player's estimated values within a block, and the assumption behind it."""
    delta = _delta(tree, player, estimator)
    if delta is None:
        return float(tree.payoff_range[player]), "others and chance drawn on-policy or all visited"
    assumption = f"others and chance drawn on-policy, delta = {delta:.3g}"
    if not estimator.visits_all_own:  # one action has an estimate, the others have 0
        return _largest_payoff(tree, player) / delta, assumption
    payoffs = tree.arrays.payoffs[:, player]
    return float(payoffs.max(initial=0.0) - payoffs.min(initial=0.0)) / delta, assumption


def _largest_payoff(tree: GameTree, player: int) -> float:
    return float(np.abs(tree.arrays.payoffs[:, player]).max(initial=0.0))


def _deviation(tree: GameTree, player: int, scale: float, squares: float, p: float) -> tuple[float, str]:
    """Returns the smallest bound on exact minus estimated regret, in units of the last weight, and its name."""
    spread = math.sqrt(squares)
    log_failures = treeplex.log_pure_strategies(tree, player) - math.log(p)
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
    return min(scale**2, 2 * _largest_payoff(tree, player) * scale)


def hedge_bound(tree: GameTree, player: int, iterations: int, eta: float, scale: float) -> float:
    """Returns the bound on the average regret of CFR with Hedge of step size eta at every infoset.

        (max over plans x of sum over I of x[parent(I)] log(n_I) / eta + sum over s of x[s] * eta * T * scale^2 / 8) / T

    s are sequences with infosets below. The local regret is that of Cesa-Bianchi and Lugosi 2006, Theorem 2.2.
    """
    blocks = eta * iterations * scale**2 / 8 * (treeplex.num_children(tree) > 0)
    return treeplex.vertex_maximum(tree, player, np.log(tree.arrays.infosets["num_actions"]) / eta, blocks) / iterations


def dilated_bound(
    tree: GameTree,
    player: int,
    iterations: int,
    eta: float,
    weights: np.ndarray,
    gradient_bound: float | None = None,
    optimistic: bool = False,
) -> float:
    """Returns the bound on the average regret of FTRL and online mirror descent with a dilated entropy psi.

        Omega / (eta T) + eta / (2 mu) * G^2,    Omega = max psi, mu its modulus in the 1-norm

    G is `gradient_bound`, or twice that if the last gradient is the prediction of the next (`optimistic`). None: half
    the player's payoff range, if only chance and opponents are sampled: a constant added to all payoffs changes a
    gradient by a vector that is constant on plans (Rakhlin and Sridharan 2013; Syrgkanis et al. 2015).
    """
    largest = (1 + optimistic) * (float(tree.payoff_range[player]) / 2 if gradient_bound is None else gradient_bound)
    deviation = eta * largest**2 / (2 * treeplex.strong_convexity(tree, player, weights))
    return treeplex.dilated_diameter(tree, player, weights) / (eta * iterations) + deviation


def measured_regret(solver: Solver, iterations: int, gamma: float = 0.0) -> np.ndarray:
    """Runs a new solver and returns each player's exact average regret, as a float64 array of shape ``[num_players]``.

        R_i / W = (max over plans x of <sum of w_t g_t, x> - sum of w_t <g_t, x_t>) / W,   w_t = t^gamma, W = sum of w_t

    Here, x_t is player i's strategy, and g_t is player i's exact gradient against the strategies that the other
    players have when i's gradient is estimated; with alternating updates, the players before i have already been
    updated by then. The game must be small, since each iteration requires full traversals.

    Args:
        solver: A new solver for a game with perfect recall. Modified in place.
        iterations: Number of iterations to run, at least 1.
        gamma: Exponent of the weights, at least 0, usually ``solver.averaging.gamma``.

    Raises:
        ConfigError: If the solver has already run or an argument is out of range.

    Examples:
        >>> import mccfr_plus
        >>> solver = mccfr_plus.Solver("kuhn_poker", "full", "rm", "uniform", alternating=False)
        >>> regrets = mccfr_plus.measured_regret(solver, 100)
        >>> bool(abs(regrets.sum() - solver.nash_conv()) < 1e-12)
        True
    """
    if solver.iterations or iterations < 1 or not gamma >= 0:
        given = f"solver.iterations={solver.iterations}, iterations={iterations!r}, gamma={gamma!r}"
        raise ConfigError(f"{given}: give a new solver, at least one iteration and an exponent of at least 0.")
    tree = solver.tree.require_whole("measuring regrets")
    arrays, num_players, size = tree.arrays_with_leaves, tree.num_players, tree.num_slots + tree.num_players
    sums, earned = np.zeros((num_players, size)), np.zeros(num_players)
    reach, gradient, weights = np.empty(size), np.empty(gradient_size(arrays)), np.arange(1.0, iterations + 1) ** gamma
    before = solver.current_strategy()
    for weight in weights:
        solver.iteration()
        after = solver.current_strategy()
        for player in range(num_players):
            updated = arrays.slot_range[player] if solver.config.alternating else 0
            own_reach(arrays, np.concatenate([after[:updated], before[updated:]]), reach)
            earned[player] += weight * treeplex.add_gradient(arrays, reach, gradient, player, weight, sums[player])
        before = after
    best = [treeplex.vertex_maximum(tree, player, 0.0, sums[player]) for player in range(num_players)]
    return (np.array(best) - earned) / weights.sum()
