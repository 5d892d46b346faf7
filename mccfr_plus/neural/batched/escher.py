"""ESCHER without a tree: regrets from what a network holds actions to be worth, without importance weights."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from mccfr_plus.neural.batched.config import BatchedESCHERConfig
from mccfr_plus.neural.batched.estimates import plain_regrets
from mccfr_plus.neural.batched.paths import Paths
from mccfr_plus.neural.batched.solver import BatchedSolver, what_values_learn
from mccfr_plus.neural.config import TrainingConfig


class BatchedESCHER(BatchedSolver):
    """`ESCHER` for games that cannot be enumerated; its average policy is a network.

    The network of values has an output per action, so that one forward pass at a history takes the place of one at
    each history after it.

    Args:
        game: A `pyspiel.Game` or a game string: players in turn, with information-state tensors.
        config: A `BatchedESCHERConfig`; None: its defaults.
        seed: An integer for a repeatable run (the same bits on one machine), a numpy generator, or None.

    Raises:
        GameError: If the game cannot be loaded or has no information-state tensors.
        ConfigError: If the config is none, or the seed is not allowed.

    Reference: McAleer, Farina, Lanctot, Sandholm 2023, "ESCHER: Eschewing importance sampling in games by computing a
    history value function to estimate regret", section 4.

    Example:
        >>> from mccfr_plus.neural import BatchedESCHER, BatchedESCHERConfig
        >>> solver = BatchedESCHER("phantom_ttt", BatchedESCHERConfig(traversals=20, train_steps=2), seed=1).run(1)
        >>> solver.iterations
        1
    """

    config_class: ClassVar[type] = BatchedESCHERConfig
    config: BatchedESCHERConfig

    @property
    def _value_training(self) -> TrainingConfig:
        return self.config.value_training

    @property
    def _learns_from_walks(self) -> bool:
        return False

    @property
    def _epsilon(self) -> float:
        return 1.0

    def _advance(self, iteration: int) -> None:
        # Values of the strategies that regrets are then sampled under.
        found = [
            what_values_learn(paths, self._values_at(paths))
            for player in range(self.game.num_players())
            for paths in self._sampled(player, self.config.value_traversals)
        ]
        self._learn_values(found, iteration)
        super()._advance(iteration)

    def _regrets_of(self, paths: Paths, values: np.ndarray, player: int) -> tuple[np.ndarray, np.ndarray | None]:
        return plain_regrets(paths, values[np.arange(len(values)), paths.players]), None
