"""The built-in minimizers that play exponential weights: Hedge per infoset, FTRL and OMD on whole sequences."""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mccfr_plus.errors import ConfigError
from mccfr_plus.minimizers import dilated as kernels
from mccfr_plus.minimizers.base import Minimizer, Rule
from mccfr_plus.minimizers.dilated_weights import CONSTANT, SCHEMES, dilated_weights
from mccfr_plus.tree.game_tree import GameTree
from mccfr_plus.tree.lazy_tree import LazyTree


def _check(eta: Any, decay: Any, optimistic: Any) -> None:
    def is_finite(value: Any) -> bool:
        return not isinstance(value, bool) and isinstance(value, int | float) and math.isfinite(value)

    if not is_finite(eta) or eta <= 0:
        raise ConfigError(f"eta={eta!r}: the step size must be a finite number above 0.")
    if not is_finite(decay) or not 0 <= decay <= 1:
        raise ConfigError(f"decay={decay!r}: must be a number from 0 (constant step size) to 1; 0.5 is eta / sqrt(t).")
    if not isinstance(optimistic, bool):
        raise ConfigError(f"optimistic={optimistic!r}: must be True or False.")


def _parameters(rule: Rule, eta: float, decay: float, optimistic: bool) -> np.ndarray:
    parameters = np.zeros(kernels.NUM_DILATED)
    parameters[0] = float(rule)
    parameters[kernels.ETA] = eta
    parameters[kernels.DECAY] = decay
    parameters[kernels.OPTIMISTIC] = float(optimistic)
    return parameters


@dataclass(frozen=True)
class Hedge(Minimizer):
    """Hedge, or multiplicative weights, on each infoset's counterfactual regrets (Freund, Schapire 1997).

    Args:
        eta: Step size, in 1 / payoff, above 0.
        decay: Exponent d of eta / t^d, in 0 .. 1.
        optimistic: Count the last regrets twice.
    """

    eta: float = 10.0
    decay: float = 0.0
    optimistic: bool = False
    rule: ClassVar[Rule] = Rule.HEDGE
    short_name: ClassVar[str] = "hedge"

    def __post_init__(self) -> None:
        _check(self.eta, self.decay, self.optimistic)

    @property
    def references(self) -> tuple[str, ...]:  # type: ignore[override]
        """Keys of `mccfr_plus.citations`."""
        return ("freund1997decision", *(("rakhlin2013online", "syrgkanis2015fast") if self.optimistic else ()))

    def parameters(self) -> np.ndarray:
        return _parameters(self.rule, self.eta, self.decay, self.optimistic)

    @property
    def keeps_regrets(self) -> bool:
        return True


@dataclass(frozen=True)
class _Dilated(Minimizer):
    """What FTRL and OMD share."""

    rule: ClassVar[Rule] = Rule.DILATED

    @abc.abstractmethod
    def _parts(self) -> tuple[float, float, bool, str]:
        """Returns eta, decay, optimistic and weights."""

    def __post_init__(self) -> None:
        eta, decay, optimistic, weights = self._parts()
        _check(eta, decay, optimistic)
        if weights not in SCHEMES:
            raise ConfigError(f"weights={weights!r}: give one of {', '.join(SCHEMES)}.")

    @property
    def num_tables(self) -> int:  # type: ignore[override]
        """Rows of the tables."""
        return kernels.PREDICTION + 1 if self._parts()[2] else kernels.PREDICTION

    @property
    def references(self) -> tuple[str, ...]:  # type: ignore[override]
        """Keys of `mccfr_plus.citations`."""
        _, _, optimistic, weights = self._parts()
        of_weights = ("kroer2020faster",) if weights == "kroer" else ()
        return (
            "farina2020stochastic",
            "hoda2010smoothing",
            *of_weights,
            *(("rakhlin2013online", "syrgkanis2015fast") if optimistic else ()),
        )

    @property
    def needs_perfect_recall(self) -> bool:
        return True

    def parameters(self) -> np.ndarray:
        return _parameters(self.rule, *self._parts()[:3])

    @property
    def needs_whole_tree(self) -> bool:
        return self._parts()[3] != CONSTANT

    @property
    def row_of_ones(self) -> int:
        return kernels.WEIGHT

    def tables(self, tree: GameTree | LazyTree) -> np.ndarray:
        tables = super().tables(tree)
        if isinstance(tree, GameTree):
            tables[kernels.WEIGHT, tree.arrays.infosets["first_slot"]] = dilated_weights(tree, self._parts()[3])
        return tables

    def cumulative_regrets(self, tables: np.ndarray, parameters: np.ndarray, slots: slice) -> np.ndarray:
        raise ConfigError(f"{self.short_name} keeps no regrets per information set: use rm, dcfr, prm or hedge.")


@dataclass(frozen=True)
class FTRL(_Dilated):
    """Follow the regularized leader with dilated entropy, on whole sequences (Farina, Kroer, Sandholm 2020).

    Its average is that of the sequence-form strategies, as of every minimizer here; see `mccfr_plus.averages.averaging`.

    Args:
        eta: Step size, in 1 / payoff, above 0; constant. Under the recursive weights, which expand with the depth of the
            game, it takes larger ones than one would think: 10 does well on Kuhn and Leduc poker, 100 on Liar's dice.
        weights: Of the regularizer at each infoset: ``"kroer"``, the recursive scheme of Kroer et al. 2020, or
            ``"constant"``, 1 everywhere.
        optimistic: Count the last gradient twice.
    """

    eta: float = 10.0
    weights: str = "kroer"
    optimistic: bool = False
    short_name: ClassVar[str] = "ftrl"

    def _parts(self) -> tuple[float, float, bool, str]:
        return self.eta, 0.0, self.optimistic, self.weights


@dataclass(frozen=True)
class OMD(_Dilated):
    """Online mirror descent with dilated entropy, on whole sequences (Farina, Kroer, Sandholm 2020).

    With a constant step size its iterates are those of `FTRL`; see `mccfr_plus.minimizers.dilated`.

    Args:
        eta: Step size, in 1 / payoff, above 0.
        weights: See `FTRL`.
        optimistic: Count the last gradient twice.
        decay: Exponent d of eta / t^d, in 0 .. 1; 0: constant.
    """

    eta: float = 10.0
    weights: str = "kroer"
    optimistic: bool = False
    decay: float = 0.0
    short_name: ClassVar[str] = "omd"

    def _parts(self) -> tuple[float, float, bool, str]:
        return self.eta, self.decay, self.optimistic, self.weights
