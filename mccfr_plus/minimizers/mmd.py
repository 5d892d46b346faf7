"""Magnetic mirror descent on whole sequences: its last strategy approaches a quantal response equilibrium.

With the dilated entropy psi(x) = sum_I beta_I x(parent of I) sum_a b(a) log b(a) and its gradient theta, the step is
theta = (theta + eta_t g_t) / (1 + eta_t alpha_t). From there on it is `dilated`, without log n_I, with theta in the
place of eta G. All infosets change in every iteration, so that it needs exact gradients.

Reference: Sokota, D'Orazio, Kolter, Loizou, Lanctot, Mitliagkas, Brown, Kroer 2023, "A unified approach to
reinforcement learning, quantal response equilibria, and two-player zero-sum games", section 3; OpenSpiel's
`mmd_dilated` is the same with weights 1. The temperature alpha is constant for a quantal response equilibrium, and
decreases for a Nash equilibrium.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from mccfr_plus.kernels.compile import inline_kernel
from mccfr_plus.kernels.slots import bind
from mccfr_plus.minimizers.dilated import RELATIVE, VALUE, WEIGHT, Dilated, dilated
from mccfr_plus.minimizers.step_size import ETA, ETA_NOW, KEEP, step_size
from mccfr_plus.parameters import LARGEST, check_number
from mccfr_plus.trees.needs import EXACT_GRADIENTS, INFOSETS
from mccfr_plus.trees.tree import Tree

MAGNET = 5  # entry of the parameters beside those of `step_size`: alpha


@inline_kernel
def prepare_magnetic(tree, strategy, tables, scratch, player, iteration, parameters):
    """Finds what the gradient, and what came before it, are multiplied by. `parameters` is modified in place."""
    eta = step_size(parameters, iteration)
    alpha = parameters[MAGNET] * eta / parameters[ETA]  # which decreases as eta does
    parameters[KEEP] = 1.0 / (1.0 + eta * alpha)
    parameters[ETA_NOW] = eta * parameters[KEEP]


@dataclass(frozen=True)
class MagneticMirrorDescent(Dilated):
    """Magnetic mirror descent with dilated entropy, on whole sequences (Sokota et al. 2023).

    The next plan maximizes eta <g, x> - eta alpha psi(x) - D(x, x_t). With constant settings (``decay=0``) the last
    strategy approaches a quantal response equilibrium of temperature alpha. With decreasing ones it approaches a Nash
    equilibrium. There is no average by default.

    Needs exact gradients: estimator ``full``.

    Args:
        eta: Step size in the first iteration, in 1 / payoff, above 0.
        alpha: Temperature in the first iteration, in payoffs, at least 0; 0 is mirror descent.
        decay: Exponent d of eta / t^d and alpha / t^d, in 0 .. 1.
        weights: Of the entropy at each infoset, as for `FTRL`. OpenSpiel has 1 everywhere.

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
    def needs(self) -> frozenset[str]:
        return super().needs | {EXACT_GRADIENTS, INFOSETS}

    def parameters(self) -> np.ndarray:
        return np.append(super().parameters(), self.alpha)

    def begin(self, tree: Tree, tables: np.ndarray) -> None:
        super().begin(tree, tables)
        infosets = tree.found_infosets  # the uniform strategy has A = 0
        tables[VALUE, infosets["first_slot"]] = tables[WEIGHT, infosets["first_slot"]] * np.log(infosets["num_actions"])
