"""FTRL, OMD and MMD on the whole sequence polytope, with dilated entropy, one infoset at a time.

docs/background/minimizers.md has the formulas of A and V. A sampled gradient is 0 outside of the touched infosets, so
that only their A and V change: each passes the change of its V up, O(touched), and the result is FTRL on the sampled
gradients, exactly.

OMD: as the regularizer d is steep at the border of the polytope, the step adds eta_t g_t to the gradient of d and
projects on nothing but the equalities, so that the sum of eta_s g_s takes the place of eta G. FTRL with a changing eta
would change every A in every iteration, which is not O(touched). MMD has no log n_I in d, and theta = (theta + eta_t
g_t) / (1 + eta_t alpha_t) in the place of eta G: all infosets change in every iteration.

The optimistic forms count the last gradient that an infoset saw once more, as the guess of the next one. Under full
gradients this is the textbook's; under sampled ones the guess stays where it was last seen.

References: Hoda et al. 2010, section 4 (dilated regularizers); Kroer et al. 2020 (weights); Farina, Kroer, Sandholm
2020, sections 2.2 and 5 (FTRL, OMD on sampled gradients); Sokota et al. 2023, section 3 (MMD).
"""

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from mccfr_plus.errors import ConfigError
from mccfr_plus.kernels.compile import inline_kernel, kernel
from mccfr_plus.kernels.slots import Constant, bind
from mccfr_plus.minimizers.dilated_weights import CONSTANT, SCHEMES, dilated_weights
from mccfr_plus.minimizers.hedge import (
    ETA,
    ETA_NOW,
    KEEP,
    OPTIMISM,
    OPTIMISTIC,
    ExponentialWeights,
    exponential,
    step_size,
)
from mccfr_plus.parameters import LARGEST, check_choice, check_number
from mccfr_plus.trees.needs import EXACT_GRADIENTS, GRADIENTS, INFOSETS, PERFECT_RECALL
from mccfr_plus.trees.scratch import at
from mccfr_plus.trees.tree import Tree

# Rows of the tables; VALUE and WEIGHT are used at first slots only.
SCORE = 0  # A, the prediction included
VALUE = 1  # V
WEIGHT = 2  # beta
PREDICTION = 3  # what the score contains as a guess; only in the optimistic forms

MAGNET = 5  # entry of the parameters beside those of `hedge`: alpha

RELATIVE = Constant("RELATIVE", True, "Whether uniform play has entropy 0, by log n_I in the regularizer.")


@inline_kernel
def dilated(values, strategy, tables, first, last, iteration, parameters):
    """FTRL, OMD and MMD at one infoset. See `Minimizer` for the arguments and what is modified in place.

    Returns the change of the infoset's smoothed value V, in the game's payoffs.
    """
    eta, keep, weight = parameters[ETA_NOW], parameters[KEEP], tables[WEIGHT, at(first)]
    best = -math.inf
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


@kernel
def prepare_dilated(tree, strategy, tables, scratch, player, iteration, parameters):
    """Finds the step size, and in the optimistic forms puts the new guess into the gradient in place of the old one.

    `tables`, `scratch` and `parameters` are modified in place.
    """
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
    """Finds what the gradient, and what came before it, are multiplied by. `parameters` is modified in place."""
    eta = step_size(parameters, iteration)
    alpha = parameters[MAGNET] * eta / parameters[ETA]  # which decreases as eta does
    parameters[KEEP] = 1.0 / (1.0 + eta * alpha)
    parameters[ETA_NOW] = eta * parameters[KEEP]


@dataclass(frozen=True)
class Dilated(ExponentialWeights):
    """Common base of FTRL, OMD and MMD."""

    eta: float = 10.0
    weights: str = "kroer"
    optimistic: bool = False
    row_of_ones: ClassVar[int | None] = WEIGHT
    kernel: ClassVar[Any] = staticmethod(dilated)
    prepare: ClassVar[Any] = staticmethod(prepare_dilated)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("weights", self.weights, SCHEMES)

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
        tables[WEIGHT, tree.found_infosets["first_slot"]] = dilated_weights(tree, self.weights)

    def cumulative_regrets(self, tables: np.ndarray, parameters: np.ndarray, slots: slice) -> np.ndarray:
        raise ConfigError(f"{self.short_name} keeps no regrets per information set: use rm, dcfr, prm or hedge.")


@dataclass(frozen=True)
class FTRL(Dilated):
    """Follow the regularized leader with dilated entropy, on whole sequences (Farina, Kroer, Sandholm 2020).

    The next strategy maximizes eta <G, x> - d(x) over sequence-form strategies x, with the sum G of all gradients and
    the dilated entropy d.

    The average is that of the sequence-form strategies, as with every minimizer; see `mccfr_plus.averages`.

    Args:
        eta: Step size, in 1 / payoff, above 0; constant. The recursive weights grow with the depth of the game, and so
            do good step sizes: 10 on Kuhn and Leduc poker, 100 on liar's dice.
        weights: Of the regularizer at each infoset: ``"kroer"``, the recursive scheme of Kroer et al. 2020, or
            ``"constant"``, 1 everywhere.
        optimistic: Count the last gradient twice.

    Examples:
        >>> import mccfr_plus
        >>> solver = mccfr_plus.Solver("kuhn_poker", "full", mccfr_plus.FTRL(eta=10.0))
        >>> solver.run(100).exploitability() < 0.05
        True
    """

    short_name: ClassVar[str] = "ftrl"


@dataclass(frozen=True)
class OMD(Dilated):
    """Online mirror descent with dilated entropy, on whole sequences (Farina, Kroer, Sandholm 2020).

    With a constant step size its iterates are those of `FTRL`; see `mccfr_plus.minimizers.dilated`.

    Args:
        eta: Step size, in 1 / payoff, above 0.
        weights: See `FTRL`.
        optimistic: Count the last gradient twice.
        decay: Exponent d of eta / t^d, in 0 .. 1; 0: constant.

    Examples:
        >>> import mccfr_plus
        >>> solver = mccfr_plus.Solver("kuhn_poker", "full", mccfr_plus.OMD(eta=10.0))
        >>> solver.run(100).exploitability() < 0.05
        True
    """

    decay: float = 0.0
    short_name: ClassVar[str] = "omd"


@dataclass(frozen=True)
class MagneticMirrorDescent(Dilated):
    """Magnetic mirror descent with dilated entropy, on whole sequences (Sokota et al. 2023).

    The next plan maximizes eta <g, x> - eta alpha psi(x) - D(x, x_t), psi being the dilated entropy. With constant
    settings (``decay=0``) the last strategy approaches a quantal response equilibrium of temperature alpha. With
    decreasing ones it approaches a Nash equilibrium. No average is formed by default.

    Needs exact gradients: estimator ``full``.

    Args:
        eta: Step size in the first iteration, in 1 / payoff, above 0.
        alpha: Temperature in the first iteration, in payoffs, at least 0; 0 is mirror descent.
        decay: Exponent d of eta / t^d and alpha / t^d, in 0 .. 1.
        weights: Of the entropy at each infoset, as for `FTRL`. OpenSpiel's `mmd_dilated` has 1 everywhere.

    Examples:
        >>> import mccfr_plus
        >>> solver = mccfr_plus.Solver("kuhn_poker", "full", mccfr_plus.MagneticMirrorDescent())
        >>> solver.run(1000).exploitability() < 0.05
        True
    """

    weights: str = "constant"
    optimistic: bool = field(default=False, init=False, repr=False)
    alpha: float = 0.1
    decay: float = 0.5
    short_name: ClassVar[str] = "mmd"
    default_average: ClassVar[str] = "last"
    kernel: ClassVar[Any] = staticmethod(bind(dilated, {RELATIVE: False}))
    prepare: ClassVar[Any] = staticmethod(prepare_magnetic)

    def __post_init__(self) -> None:
        super().__post_init__()
        allowed = "the temperature must be a finite number, at least 0"
        check_number("alpha", self.alpha, 0, LARGEST, allowed, inclusive=True)

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
