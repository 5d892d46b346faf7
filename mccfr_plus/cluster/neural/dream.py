"""DREAM whose traversals are made on a cluster."""

from __future__ import annotations

from typing import Any

import numpy as np

from mccfr_plus.cluster.neural.advantages import DistributedAdvantages
from mccfr_plus.cluster.neural.traversals import PathWalks
from mccfr_plus.neural.dream import DREAM
from mccfr_plus.neural.sampling import Samples
from mccfr_plus.neural.training import Learner


class DistributedDREAM(DistributedAdvantages, DREAM):
    """`DREAM` with traversals by workers on a Ray cluster, and networks in the driver.

    A worker gets the strategy and the player's baselines, and gives weighted regrets and how often each history was
    visited, from which the driver learns what actions are worth.

    Args:
        game: See `DREAM`.
        config: A `DREAMConfig`; None: its defaults.
        seed: An integer for a repeatable run; a numpy generator, or None: an integer is drawn, and kept as `seed`.
        **others: ``workers``, ``chunks``, ``cluster`` and ``device``; see `Distributed`.

    Raises:
        ConfigError: If an argument is out of range, or Ray is needed and not installed.
        GameError: If the game cannot be loaded or compiled, has no information-state tensors or imperfect recall.
        BudgetError: If it is too large to be compiled, or its histories' tensors are.

    Reference: Steinberger, Lerer, Brown 2020, "DREAM: Deep regret minimization with advantage baselines and model-free
    learning", section 4. Differs from `DREAM` in the random numbers alone: with ``chunks=1`` traversals are its traversals, given
    the same ones.

    Example:
        >>> from mccfr_plus.cluster.neural import DistributedDREAM
        >>> from mccfr_plus.neural import DREAMConfig
        >>> solver = DistributedDREAM("kuhn_poker", DREAMConfig(traversals=100), seed=1, cluster="local").run(3)
        >>> solver.iterations, len(solver.average_policy())
        (3, 12)
    """

    worker = PathWalks

    def _workers_arguments(self) -> tuple[Any, ...]:
        return np.zeros(0), self.config.epsilon, True

    def _learners(self) -> list[Learner]:
        return [*super()._learners(), self.values.learner]

    @property
    def wants_visits(self) -> bool:  # type: ignore[override]
        """Whether workers tell how often histories were visited: for the learning of baselines."""
        return self.config.baseline

    def _shared(self, player: int) -> tuple[np.ndarray, np.ndarray]:
        return self._strategy, self.values.table[player]

    def _taken(self, samples: Samples) -> Samples:
        return self._clipped(samples)
