"""Deep CFR whose traversals are made on a cluster."""

from __future__ import annotations

from typing import Any

import numpy as np

from mccfr_plus.cluster.neural.advantages import DistributedAdvantages
from mccfr_plus.cluster.neural.traversals import ExternalWalks
from mccfr_plus.neural.deep_cfr import DeepCFR


class DistributedDeepCFR(DistributedAdvantages, DeepCFR):
    """`DeepCFR` with external sampling by workers on a Ray cluster, and networks in the driver.

    Args:
        game: See `DeepCFR`.
        config: A `DeepCFRConfig`; None: its defaults.
        seed: An integer for a repeatable run; a numpy generator, or None: an integer is drawn, and kept as `seed`.
        **others: ``workers``, ``chunks``, ``cluster`` and ``device``; see `Distributed`.

    Raises:
        ConfigError: If an argument is out of range, or Ray is needed and not installed.
        GameError: If the game cannot be loaded or compiled, has no information-state tensors or imperfect recall.
        BudgetError: If it is too large to be compiled.

    Reference: Brown, Lerer, Gross, Sandholm 2019, "Deep counterfactual regret minimization", algorithms 1 and 2.
    Differs from `DeepCFR` in the random numbers alone: with ``chunks=1`` traversals are its traversals, given the same ones.

    Example:
        >>> from mccfr_plus.cluster.neural import DistributedDeepCFR
        >>> from mccfr_plus.neural import DeepCFRConfig
        >>> solver = DistributedDeepCFR("kuhn_poker", DeepCFRConfig(traversals=100), seed=1, cluster="local").run(3)
        >>> solver.iterations, len(solver.average_policy())
        (3, 12)
    """

    worker = ExternalWalks

    def _workers_arguments(self) -> tuple[Any, ...]:
        return ()

    def _shared(self, player: int) -> np.ndarray:
        return self._strategy
