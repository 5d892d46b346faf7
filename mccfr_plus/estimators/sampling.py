"""Base classes of the estimators that visit all own actions, or a subset of them, by `traversal`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from mccfr_plus.estimators.base import Estimator, check_switch
from mccfr_plus.estimators.control_variates import controlled_traversal
from mccfr_plus.estimators.traversal import traversal
from mccfr_plus.kernels.compile import compose


@dataclass(frozen=True)
class TraversalSampling(Estimator):
    """An estimator whose kernel is `traversal`, with switches that subclasses choose."""

    switches: ClassVar[dict[str, Any]] = {}

    @property
    def kernel(self) -> Callable:  # type: ignore[override]
        """The kernel for these parameters."""
        return compose(traversal, **self.switches)

    def kernel_with_baseline(self, expected: bool) -> Callable:
        return compose(controlled_traversal, **self.switches, EXPECTED=expected)


@dataclass(frozen=True)
class OpponentsSampled(TraversalSampling):
    """An estimator that draws opponents' actions on-policy.

    Args:
        sample_per_infoset: Draw one action per opponents' infoset and traversal, as Lanctot et al. 2009 define it, and
            not one per node. On a matrix game an iteration then takes one opponent's action for all own actions: the
            sublinear method of Grigoriadis and Khachiyan 1995.
    """

    sample_per_infoset: bool = False

    def __post_init__(self) -> None:
        check_switch("sample_per_infoset", self.sample_per_infoset)

    def stochastic_average(self, num_players: int) -> str:
        return "visits" if num_players == 2 else "own_traversal"

    @property
    def samples_per_infoset(self) -> bool:
        return self.sample_per_infoset
