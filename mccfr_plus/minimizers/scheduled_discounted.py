"""Discounted regret matching whose exponents follow a schedule over the whole run, the rule of HS-DCFR.

With n the planned number of iterations: alpha_t = 1 + 3 t / n and beta_t = -1 - 2 t / n, up to iteration n and constant
afterwards. It goes with the average `ScheduledAverage`: gamma_t = 30 - 5 t / n.

Reference: Zhang, McAleer, Sandholm 2026, "Faster game solving via hyperparameter schedules", equations 2 to 4.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from mccfr_plus.estimators.base import check_whole
from mccfr_plus.kernels.compile import kernel
from mccfr_plus.minimizers.discounted import ALPHA, AT, BETA, NUM_DISCOUNTED, Discounted, next_discount

ITERATIONS = NUM_DISCOUNTED  # entry of the parameters: n


@kernel
def prepare_schedule(tree, strategy, tables, scratch, player, iteration, parameters):
    """Brings the exponents and discounts up to date with the iteration. `parameters` is modified in place."""
    while parameters[AT] < iteration:
        now = parameters[AT] + 1.0
        share = min(now / parameters[ITERATIONS], 1.0)
        parameters[ALPHA] = 1.0 + 3.0 * share
        parameters[BETA] = -1.0 - 2.0 * share
        next_discount(parameters, now)


@dataclass(frozen=True)
class ScheduledDiscounted(Discounted):
    """Discounted regret matching on a schedule, the rule of HS-DCFR (Zhang, McAleer, Sandholm 2026).

    alpha grows from 1 to 4 and beta falls from -1 to -3 until iteration n. The average is by default
    `ScheduledAverage` with the same n.

    Args:
        iterations: n, the planned number of iterations, at least 1.

    Examples:
        >>> import mccfr_plus
        >>> minimizer = mccfr_plus.ScheduledDiscounted(iterations=100)
        >>> solver = mccfr_plus.Solver("kuhn_poker", "full", minimizer)
        >>> solver.run(100).exploitability() < 0.05
        True
    """

    alpha: float = field(default=1.0, init=False, repr=False)
    beta: float = field(default=-1.0, init=False, repr=False)
    iterations: int = 1000
    short_name: ClassVar[str] = "hs_dcfr"
    prepare: ClassVar[Any] = staticmethod(prepare_schedule)

    def __post_init__(self) -> None:
        check_whole("iterations", self.iterations)

    @property
    def default_average(self) -> str:  # type: ignore[override]
        """The schedule of its paper."""
        return f"schedule(iterations={self.iterations})"

    @property
    def references(self) -> tuple[str, ...]:  # type: ignore[override]
        """Keys of `mccfr_plus.citations`."""
        return ("zhang2026faster", "brown2019solving")

    def parameters(self) -> np.ndarray:
        return np.append(super().parameters(), float(self.iterations))
