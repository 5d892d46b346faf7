"""Deep CFR on compiled trees: external sampling (Brown et al. 2019, algorithms 1 and 2), see `advantage_solver`.

With aggregated memory and a linear model of one-hot inputs, fitted exactly, this is linear MCCFR with batches:
``Solver(game, "external", "linear", batch=traversals)`` with the same traversals.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from mccfr_plus.neural import config as configs
from mccfr_plus.neural.advantage_solver import AdvantageSolver
from mccfr_plus.neural.config import DeepCFRConfig
from mccfr_plus.neural.discounted import Discounted
from mccfr_plus.neural.features import Features
from mccfr_plus.neural.memory import Memory
from mccfr_plus.neural.sampling import Samples


class DeepCFR(AdvantageSolver):
    """Deep CFR: a network per player learns the regrets of external sampling.

    Args:
        game: A `pyspiel.Game`, a game string, or a `GameTree`. Any number of players, perfect recall, with
            information-state tensors, and of a size that can be compiled.
        config: A `DeepCFRConfig`; None: its defaults.
        seed: An integer for a repeatable run (bitwise identical on one machine), a numpy generator, or None.

    Raises:
        GameError: If the game cannot be loaded or compiled, has no information-state tensors or imperfect recall.
        BudgetError: If it is too large to be compiled.
        ConfigError: If the config is of another class, or the seed is not allowed.

    Reference: Brown, Lerer, Gross, Sandholm 2019, "Deep counterfactual regret minimization", algorithms 1 and 2.
    Differs from it in the average strategy, which is exact, and by default in ``warm_start`` and
    ``memory="aggregated"``.

    Example:
        >>> from mccfr_plus.neural import DeepCFR, DeepCFRConfig
        >>> solver = DeepCFR("kuhn_poker", DeepCFRConfig(traversals=100), seed=1).run(3)
        >>> solver.iterations, len(solver.average_policy())
        (3, 12)
    """

    config_class: ClassVar[type[DeepCFRConfig]] = DeepCFRConfig
    config: DeepCFRConfig

    def __init__(self, game: Any, config: DeepCFRConfig | None = None, seed: int | np.random.Generator | None = None):
        super().__init__(game, config, seed)
        self._average_power = self.config.exponents[1]

    def _new_memory(self, player: int, features: Features, num_actions: int, rng: np.ndarray) -> Memory:
        if self.config.minimizer == configs.CFR:
            return super()._new_memory(player, features, num_actions, rng)
        predictive = self.config.minimizer == configs.PDCFR_PLUS
        alpha, unit = self.config.exponents[0], self._unit_of(player)
        return Discounted(features, num_actions, alpha=alpha, predictive=predictive, unit=unit)

    def _traverse(self, player: int, traversals: int) -> tuple[int, Samples]:
        return self._sampler.sample(self._strategy, player, traversals)
