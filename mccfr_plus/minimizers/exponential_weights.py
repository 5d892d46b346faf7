"""Exponential weights: Hedge at every infoset, and FTRL, OMD and MMD on sequences, with dilated entropy.

docs/background/minimizers.md has the formulas of A and V. A sampled gradient is 0 outside of the touched infosets, so
only their A and V change: each passes the change of its V up, O(touched), and the result is exactly FTRL.

OMD: as psi is steep at the border of the polytope, the step adds eta_t g_t to its gradient and projects on nothing but
the equalities, so that the sum of eta_s g_s takes the place of eta G. FTRL with a changing eta would change every A in
every iteration. So does MMD, which has no log n_I in psi, and theta = (theta + eta_t g_t) / (1 + eta_t alpha_t) in the
place of eta G. The optimistic forms count the last gradient that an infoset saw twice, as the guess of the next one.

References: Hoda et al. 2010, section 4 (dilated regularizers); Kroer et al. 2020 (weights); Farina, Kroer and Sandholm
2020, equations 2 and 3 (OMD, FTRL) and section 5 (on sampled gradients); Sokota et al. 2023, section 3 (MMD).
"""

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from mccfr_plus.errors import ConfigError
from mccfr_plus.kernels.compile import inline_kernel, kernel
from mccfr_plus.kernels.slots import Constant, bind
from mccfr_plus.minimizers.minimizer import REGRET, Minimizer, expected_value
from mccfr_plus.parameters import check_choice, choice, number, switch
from mccfr_plus.trees.needs import EXACT_GRADIENTS, GRADIENTS, INFOSETS, PERFECT_RECALL, REGRETS
from mccfr_plus.trees.scratch import at
from mccfr_plus.trees.tree import Tree

# Entries of the parameters.
ETA, DECAY, OPTIMISTIC, ETA_NOW, KEEP, MAGNET = range(6)  # KEEP: a factor of earlier gradients; MAGNET: alpha

OPTIMISM = ("rakhlin2013online", "syrgkanis2015fast")  # keys of `mccfr_plus.citations`


@kernel
def step_size(parameters, iteration):
    return parameters[ETA] * float(iteration) ** -parameters[DECAY]


@inline_kernel
def exponential(x):
    """Returns exp(x), and 0 where it would be denormal or less: that takes several times as long."""
    return math.exp(x) if x > -708.0 else 0.0


class ExponentialWeights(Minimizer):
    """A minimizer with the step size eta / t^decay, which may count the last gradient or regrets twice."""

    eta: float
    optimistic: bool
    decay: float = 0.0

    def parameters(self) -> np.ndarray:
        return np.array([self.eta, self.decay, float(self.optimistic), 0.0, 1.0])


@inline_kernel
def hedge(values, strategy, tables, first, last, iteration, parameters):
    """Hedge at one infoset. See `Minimizer` for the arguments and what is modified in place."""
    eta, twice = parameters[ETA_NOW], parameters[OPTIMISTIC]
    value, best = expected_value(values, strategy, first, last), -math.inf
    for slot in range(first, last):
        instant = values[at(slot)] - value
        tables[REGRET, at(slot)] += instant
        values[at(slot)] = tables[REGRET, at(slot)] + twice * instant
        best = max(best, values[at(slot)])
    if last - first == 2:  # one exponential, without branches
        other = first + 1
        ahead = values[at(first)] - values[at(other)]
        low = exponential(-eta * abs(ahead))
        high = 1.0 / (1.0 + low)
        low *= high
        strategy[at(first)] = high if ahead >= 0.0 else low
        strategy[at(other)] = low if ahead >= 0.0 else high
        return value
    total = 0.0
    for slot in range(first, last):
        values[at(slot)] = exponential(eta * (values[at(slot)] - best))  # minus the best: no overflow
        total += values[at(slot)]
    scale = 1.0 / total
    for slot in range(first, last):
        strategy[at(slot)] = values[at(slot)] * scale
    return value


@inline_kernel
def prepare_hedge(tree, strategy, tables, scratch, player, iteration, parameters):
    """Computes the step size of the next iteration's strategy. `parameters` is modified in place."""
    parameters[ETA_NOW] = step_size(parameters, iteration + 1)


@dataclass(frozen=True)
class Hedge(ExponentialWeights):
    """Hedge (multiplicative weights) on each infoset's counterfactual regrets (Freund and Schapire 1997, figure 2).

    The strategy of iteration t + 1 is proportional to exp(eta R / (t + 1)^decay), where R is the vector of
    cumulative regrets of iterations 1 to t. The strategy stays the same until the information set is touched again.
    See Brown, Kroer and Sandholm 2017, "Dynamic thresholding and pruning for regret minimization", for the use
    of Hedge in CFR.

    Args:
        eta: Step size, in units of 1 / payoff, above 0.
        decay: Exponent in the step size eta / (t + 1)^decay, from 0 to 1; 0 keeps the step size constant.
        optimistic: Whether to count the last regrets twice (Rakhlin and Sridharan 2013).

    Examples:
        >>> mccfr_plus.Solver("kuhn_poker", "full", mccfr_plus.Hedge(eta=10.0)).run(100).exploitability() < 0.05
        True
    """

    eta: float = number(10.0, above=0)
    decay: float = number(0.0, least=0, most=1)
    optimistic: bool = switch(False)
    short_name: ClassVar[str] = "hedge"
    provides: ClassVar[frozenset[str]] = frozenset({REGRETS})
    kernel: ClassVar[Any] = staticmethod(hedge)
    prepare: ClassVar[Any] = staticmethod(prepare_hedge)

    @property
    def references(self) -> tuple[str, ...]:  # type: ignore[override]
        """Keys of `mccfr_plus.citations`."""
        return ("freund1997decision", *(OPTIMISM if self.optimistic else ()))


# --- on sequences ---

# Rows of the tables of `dilated`; VALUE and WEIGHT are used at first slots only.
SCORE = 0  # A, the prediction included
VALUE = 1  # V
WEIGHT = 2  # beta; not used where all are 1
PREDICTION = 3  # what the score contains as a guess; only in the optimistic forms

CONSTANT = "constant"
SCHEMES = ("kroer", "least", CONSTANT)

_KROER_FACTOR = 2.0  # beta / alpha; alpha beta / (beta - alpha) is then 2 alpha as well

RELATIVE = Constant("RELATIVE", True, "Whether uniform play has entropy 0, by log n_I in the regularizer.")
EQUAL = Constant("EQUAL", False, "Whether all weights are 1, as on trees that grow.")


@inline_kernel
def dilated(values, strategy, tables, first, last, iteration, parameters):
    """FTRL, OMD and MMD at one infoset. See `Minimizer`. Returns the change of its smoothed value V, in payoffs."""
    eta, keep, best = parameters[ETA_NOW], parameters[KEEP], -math.inf
    weight = 1.0 if EQUAL() else tables[WEIGHT, at(first)]
    for slot in range(first, last):
        score = keep * tables[SCORE, at(slot)] + eta * values[at(slot)]
        tables[SCORE, at(slot)] = score
        best = max(best, score)
    total, inverse = 0.0, 1.0 / weight
    for slot in range(first, last):
        below = (tables[SCORE, at(slot)] - best) * inverse  # minus the best: no overflow
        values[at(slot)] = exponential(below) if below != 0.0 else 1.0
        total += values[at(slot)]
    scale = 1.0 / total
    for slot in range(first, last):
        strategy[at(slot)] = values[at(slot)] * scale
    value = best + weight * math.log(total / (last - first) if RELATIVE() else total)
    change = value - keep * tables[VALUE, at(first)]
    tables[VALUE, at(first)] = value
    return change / eta


_dilated_equally = bind(dilated, {EQUAL: True})


@kernel
def prepare_dilated(tree, strategy, tables, scratch, player, iteration, parameters):
    """Computes the step size, and in the optimistic forms replaces the old guess in the gradient by the new one."""
    parameters[ETA_NOW] = step_size(parameters, iteration)
    if parameters[OPTIMISTIC] == 0.0:
        return
    next_to_now = step_size(parameters, iteration + 1)
    begin = tree.infoset_range[player]
    for position in range(begin, begin + scratch.num_touched[player]):
        infoset = scratch.touched[position]
        first = infoset["first_slot"]
        for slot in range(first, first + infoset["num_actions"]):
            guess = next_to_now * scratch.gradient[slot]
            scratch.gradient[slot] += (guess - tables[PREDICTION, slot]) / parameters[ETA_NOW]
            tables[PREDICTION, slot] = guess


@inline_kernel
def prepare_magnetic(tree, strategy, tables, scratch, player, iteration, parameters):
    """Computes the factors of the gradient and of earlier gradients. `parameters` is modified in place."""
    eta = step_size(parameters, iteration)
    alpha = parameters[MAGNET] * eta / parameters[ETA]  # which decreases as eta does
    parameters[KEEP] = 1.0 / (1.0 + eta * alpha)
    parameters[ETA_NOW] = eta * parameters[KEEP]


@dataclass(frozen=True)
class Dilated(ExponentialWeights):
    """Base of FTRL, OMD and MMD."""

    eta: float = number(10.0, above=0)
    weights: str = choice("kroer", SCHEMES)
    optimistic: bool = switch(False)
    prepare: ClassVar[Any] = staticmethod(prepare_dilated)

    @property
    def kernel(self) -> Any:  # type: ignore[override]
        """The kernel for these weights."""
        return _dilated_equally if self.weights == CONSTANT else dilated

    @property
    def num_tables(self) -> int:  # type: ignore[override]
        """Rows of the tables."""
        return PREDICTION + 1 if self.optimistic else PREDICTION

    @property
    def references(self) -> tuple[str, ...]:  # type: ignore[override]
        """Keys of `mccfr_plus.citations`."""
        of_weights = ("kroer2020faster",) if self.weights == "kroer" else ()
        return ("farina2020stochastic", "hoda2010smoothing", *of_weights, *(OPTIMISM if self.optimistic else ()))

    @property
    def needs(self) -> frozenset[str]:  # type: ignore[override]
        """What it needs of the tree and of other components."""
        return frozenset({GRADIENTS, PERFECT_RECALL} | ({INFOSETS} if self.weights != CONSTANT else set()))

    def tables(self, tree: Tree) -> np.ndarray:
        tables = super().tables(tree)
        if INFOSETS in tree.provides:
            self.begin(tree, tables)
        return tables

    def begin(self, tree: Tree, tables: np.ndarray) -> None:
        if self.kernel is not _dilated_equally:
            tables[WEIGHT, tree.found_infosets["first_slot"]] = dilated_weights(tree, self.weights)

    def cumulative_regrets(self, tables: np.ndarray, parameters: np.ndarray, slots: slice) -> np.ndarray:
        raise ConfigError(f"{self.short_name} keeps no regrets per information set: use rm, dcfr, prm or hedge.")


@dataclass(frozen=True)
class FTRL(Dilated):
    """Follow the regularized leader with dilated entropy (Farina, Kroer and Sandholm 2020, equation 3).

    The next strategy maximizes eta <G, x> - psi(x) over sequence-form strategies x, where G is the sum of all gradients
    and psi is the dilated entropy.

    Args:
        eta: Constant step size, in units of 1 / payoff, above 0. The weights of the ``"kroer"`` scheme grow with the
            depth of the game, and so do good step sizes: 10 on Kuhn and Leduc poker, 100 on liar's dice.
        weights: Weights of the regularizer at each infoset: ``"kroer"``, the recursive scheme of Kroer et al. 2020, or
            ``"constant"``, which is 1 everywhere.
        optimistic: Whether to count the last gradient twice.

    Examples:
        >>> mccfr_plus.Solver("kuhn_poker", "full", mccfr_plus.FTRL(eta=10.0)).run(100).exploitability() < 0.05
        True
    """

    short_name: ClassVar[str] = "ftrl"


@dataclass(frozen=True)
class OMD(Dilated):
    """Online mirror descent with dilated entropy (Farina, Kroer and Sandholm 2020, equation 2).

    With a constant step size, the iterates of `OMD` equal those of `FTRL`; see
    `mccfr_plus.minimizers.exponential_weights`.

    Args:
        eta: Step size, in units of 1 / payoff, above 0.
        weights: See `FTRL`.
        optimistic: Whether to count the last gradient twice.
        decay: Exponent d in eta / t^d, from 0 to 1; 0 keeps the step size constant.

    Examples:
        >>> mccfr_plus.Solver("kuhn_poker", "full", mccfr_plus.OMD(eta=10.0)).run(100).exploitability() < 0.05
        True
    """

    decay: float = number(0.0, least=0, most=1)
    short_name: ClassVar[str] = "omd"


@dataclass(frozen=True)
class MagneticMirrorDescent(Dilated):
    """Magnetic mirror descent with dilated entropy, applied to whole sequence-form strategies (Sokota et al. 2023).

    The next sequence-form strategy x maximizes eta <g, x> - eta alpha psi(x) - D(x, x_t), where g is the gradient, x_t
    is the current strategy, psi is the dilated entropy and D is the Bregman divergence of psi. In two-player zero-sum
    games with constant settings (``decay=0``), the last iterate approaches a quantal response equilibrium of
    temperature alpha; with decreasing settings, it approaches a Nash equilibrium. By default, no average is formed.

    Needs exact gradients: estimator ``full``.

    Args:
        eta: Step size in the first iteration, in units of 1 / payoff, above 0.
        alpha: Temperature in the first iteration, in units of payoff, at least 0; 0 gives mirror descent.
        decay: Exponent d in eta / t^d and alpha / t^d, from 0 to 1.
        weights: Weights of the entropy at each infoset, as for `FTRL`. OpenSpiel's `mmd_dilated` uses 1 everywhere.

    Examples:
        >>> solver = mccfr_plus.Solver("kuhn_poker", "full", mccfr_plus.MagneticMirrorDescent())
        >>> solver.run(1000).exploitability() < 0.05
        True
    """

    weights: str = choice(CONSTANT, SCHEMES)
    optimistic: bool = field(default=False, init=False, repr=False)
    alpha: float = number(0.1, least=0)
    decay: float = number(0.5, least=0, most=1)
    short_name: ClassVar[str] = "mmd"
    default_average: ClassVar[str] = "last"
    kernel: ClassVar[Any] = staticmethod(bind(dilated, {RELATIVE: False}))
    prepare: ClassVar[Any] = staticmethod(prepare_magnetic)

    @property
    def references(self) -> tuple[str, ...]:  # type: ignore[override]
        """Keys of `mccfr_plus.citations`."""
        return ("sokota2023unified", *(("kroer2020faster",) if self.weights == "kroer" else ()))

    @property
    def needs(self) -> frozenset[str]:  # type: ignore[override]
        """What it needs of the tree and of other components."""
        return super().needs | {EXACT_GRADIENTS, INFOSETS}

    def parameters(self) -> np.ndarray:
        return np.append(super().parameters(), self.alpha)

    def begin(self, tree: Tree, tables: np.ndarray) -> None:
        super().begin(tree, tables)
        infosets = tree.found_infosets  # the uniform strategy has A = 0
        tables[VALUE, infosets["first_slot"]] = tables[WEIGHT, infosets["first_slot"]] * np.log(infosets["num_actions"])


def dilated_weights(tree: Tree, scheme: str = "kroer") -> np.ndarray:
    """Returns the weight of every infoset, w_I in psi, ``[num_infosets]`` float64, of all players.

        psi(x) = sum over I of w_I * x[parent(I)] * (log n_I + sum over a of b(a) log b(a)),

    with b(a) = x[I, a] / x[parent(I)]. Its second derivative along a direction h within the plans is the sum over slots
    s = (I, a) of (w_I - sum over J right below s of w_J) * h[s]^2 / x[s]. With brackets of at least 1, psi is strongly
    convex with modulus 1 in the 2-norm and, by Cauchy-Schwarz, 1 / M_Q in the 1-norm, where M_Q is the largest 1-norm
    of a plan.

    - kroer: 2 alpha_I, without a parent alpha_I, where alpha_I = 1 + max_a sum_J 2 alpha_J (Kroer et al. 2020).
    - least: brackets of 1, so a smaller psi and better regret bounds with the same modulus (Farina, Kroer and Sandholm
      2021, "Better regularization for sequential decision spaces").
    - constant: 1, which is at least s times the least weights: modulus s / M_Q, as all brackets are >= 0.

    All infosets of the tree must be known. GameError for imperfect recall: infosets have no single parent.
    """
    check_choice("weights", scheme, SCHEMES)
    tree.require_perfect_recall("a dilated entropy")
    infosets = tree.found_infosets
    weights = np.ones(tree.num_infosets)
    if scheme == CONSTANT:
        return weights
    factor = _KROER_FACTOR if scheme == "kroer" else 1.0
    _recur(infosets, np.zeros(tree.slot_capacity + tree.num_players), factor, weights)
    weights[infosets["parent_slot"] < tree.slot_capacity] *= factor
    return weights


@kernel
def _recur(infosets, below, factor, alpha):
    """Writes alpha_I = 1 + max_a sum_J factor * alpha_J to `alpha`. `below`, zeros, has one entry per sequence."""
    for infoset in range(len(infosets) - 1, -1, -1):
        first = infosets[infoset]["first_slot"]
        largest = 0.0
        for slot in range(first, first + infosets[infoset]["num_actions"]):
            largest = max(largest, below[slot])
        alpha[infoset] = 1.0 + largest
        below[infosets[infoset]["parent_slot"]] += factor * alpha[infoset]
