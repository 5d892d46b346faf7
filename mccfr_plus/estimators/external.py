"""External sampling: one outcome at chance and at opponents' nodes, all own actions."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mccfr_plus.estimators.base import OpponentsSampled, SamplingWeights, check_number
from mccfr_plus.estimators.traversal import ALL_OWN, INCLUSION
from mccfr_plus.kernels.compile import inline_kernel
from mccfr_plus.trees.needs import REGRETS
from mccfr_plus.trees.scratch import at


@inline_kernel
def inclusion_by_regret(parameters, regrets, slot, total):
    """Returns the first parameter where the cumulative regret is below the second one, else 1."""
    return parameters[0] if regrets[at(slot)] < parameters[1] else 1.0


@dataclass(frozen=True)
class ExternalSampling(OpponentsSampled):
    """External sampling: one outcome at chance and opponents' nodes, all own actions.

    Reference: Lanctot et al. 2009, section 3.2.

    Args:
        sample_per_infoset: One draw per opponents' infoset and traversal, as the paper defines it, not per node, as
            OpenSpiel does it.
        prune_below: Own actions whose cumulative regret is below this number, in the game's payoffs, are visited with
            probability `prune_probability` only, and are then weighted by its inverse; None: all are always visited.
            Needs a minimizer that keeps negative regrets.
        prune_probability: Probability of visiting a pruned action, in (0, 1].

    Examples:
        >>> import mccfr_plus
        >>> solver = mccfr_plus.Solver("kuhn_poker", mccfr_plus.ExternalSampling(sample_per_infoset=True), seed=1)
        >>> solver.run(200).exploitability() < 0.4
        True
    """

    prune_below: float | None = None
    prune_probability: float = 0.05
    short_name: ClassVar[str] = "external"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.prune_below is not None:
            allowed = "must be a negative number, or actions that are played would be left out, or None"
            check_number("prune_below", self.prune_below, -math.inf, 0, allowed, inclusive=True)
        allowed = "must be a number above 0 (or a pruned action would never come back) and at most 1"
        check_number("prune_probability", self.prune_probability, 0, 1, allowed)

    @property
    def switches(self) -> dict[Any, Any]:  # type: ignore[override]
        """What fills slots of `traversal`."""
        return {} if self.prune_below is None else {ALL_OWN: False, INCLUSION: inclusion_by_regret}

    @property
    def needs(self) -> frozenset[str]:
        return super().needs | (set() if self.prune_below is None else {REGRETS})

    def parameters(self) -> np.ndarray:
        if self.prune_below is None:
            return np.zeros(0)
        return np.array([float(self.prune_probability), float(self.prune_below)])

    @property
    def sampling_weights(self) -> SamplingWeights:
        return SamplingWeights.NONE if self.prune_below is None else SamplingWeights.REGRETS

    @property
    def references(self) -> tuple[str, ...]:  # type: ignore[override]
        """Keys of `mccfr_plus.citations`."""
        return ("zinkevich2007regret", "lanctot2009monte", *(() if self.prune_below is None else ("brown2015regret",)))
