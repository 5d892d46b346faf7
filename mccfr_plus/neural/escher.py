"""ESCHER on compiled trees: regrets from values of histories, without importance weights, see `advantage_solver`.

Before a player's traversals, the values of all histories under the current strategies are computed or learned. Own
actions are drawn from a fixed strategy. At an own information set the regret of an action is the value of the history
after it less their mean over the strategy. `mccfr_plus.estimators.escher` says why that is right up to a factor, and is
the same with a table of regrets.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from mccfr_plus.estimators.balanced import balanced_strategy
from mccfr_plus.neural import config as configs
from mccfr_plus.neural.advantage_solver import AdvantageSolver
from mccfr_plus.neural.config import ESCHERConfig
from mccfr_plus.neural.history_values import NUM_RNGS, ExactValues, StateValues
from mccfr_plus.neural.path_sampling import PathSampler
from mccfr_plus.neural.sampling import Samples


class ESCHER(AdvantageSolver):
    """ESCHER: a network of regrets per player, from values of histories that another network learns.

    Args:
        game: See `DeepCFR`.
        config: An `ESCHERConfig`; None: its defaults.
        seed: See `DeepCFR`.

    Raises:
        GameError: If the game cannot be loaded or compiled, has no information-state tensors or imperfect recall.
        BudgetError: If it is too large to be compiled, or its histories' tensors are.
        ConfigError: If the config is of another class, or the seed is not allowed.

    Reference: McAleer, Farina, Lanctot, Sandholm 2023, "ESCHER: Eschewing importance sampling in games by computing a
    history value function to estimate regret", section 4. Differs from it in the average strategy, which is exact; in
    values, which are learned before each player's traversals with targets backed up from the leaf; and by default in
    ``warm_start`` and ``memory="aggregated"``.

    Example:
        >>> from mccfr_plus.neural import ESCHER, ESCHERConfig
        >>> solver = ESCHER("kuhn_poker", ESCHERConfig(traversals=100, values="exact"), seed=1).run(3)
        >>> solver.iterations, len(solver.average_policy())
        (3, 12)
    """

    config_class: ClassVar[type[ESCHERConfig]] = ESCHERConfig
    num_extra_rngs: ClassVar[int] = NUM_RNGS
    config: ESCHERConfig
    _sampler: PathSampler
    values: ExactValues | StateValues

    def __init__(self, game: Any, config: ESCHERConfig | None = None, seed: int | np.random.Generator | None = None):
        super().__init__(game, config, seed)
        if self.config.values == configs.EXACT:
            self.values = ExactValues(self.tree)
        else:
            self.values = StateValues(self.tree, self.config.value_training, self._extra_rngs, type(self).__name__)

    def _new_sampler(self, rng: np.ndarray) -> PathSampler:
        is_balanced = self.config.sampling == configs.BALANCED
        return PathSampler(self.tree, rng, balanced_strategy(self.tree) if is_balanced else np.zeros(0), 1.0)

    def _before_traversals(self, player: int, iteration: int) -> None:
        self._begin_phase(f"values {player}")
        if isinstance(self.values, ExactValues):
            self.values.refresh(self._strategy, player)
            return
        self._sampler.evict()
        self._visit(player, iteration)
        self.values.learn(self._strategy, self._sampler.visited, iteration)

    def _visit(self, player: int, iteration: int) -> None:
        """Samples the histories that the network of values learns from."""
        for other in range(self.tree.num_players):  # so that all histories have a positive probability
            left = self.config.value_traversals
            while left > 0:
                done, _ = self._sampler.sample_paths(self._strategy, self.values.table, other, left, corrected=False)
                left -= done

    def _traverse(self, player: int, traversals: int) -> tuple[int, Samples]:
        return self._sampler.sample_paths(self._strategy, self.values.table, player, traversals, corrected=False)

    def _prepare(self) -> None:
        super()._prepare()
        self.values.prepare()

    def _arrays(self) -> dict[str, np.ndarray]:
        own = {} if isinstance(self.values, ExactValues) else self.values.state()
        return super()._arrays() | {f"values/{name}": array for name, array in own.items()}
