"""DREAM without a tree: sampled regrets with learned baselines, on histories that are followed side by side."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from mccfr_plus.neural.batched.config import BatchedDREAMConfig
from mccfr_plus.neural.batched.estimates import corrected_regrets
from mccfr_plus.neural.batched.paths import Paths
from mccfr_plus.neural.batched.solver import BatchedSolver
from mccfr_plus.neural.config import TrainingConfig


class BatchedDREAM(BatchedSolver):
    """`DREAM` for games that cannot be enumerated; its average policy is a network.

    A sample's weight is the probability of the own draws before it if they were uniform, over what it was: per
    information set that is the inverse of the latter up to a factor that never changes, which regret matching does not
    see. Without the factor a few samples of deep information sets would outweigh all others in the loss.

    Args:
        game: A `pyspiel.Game` or a game string: players in turn, with information-state tensors.
        config: A `BatchedDREAMConfig`; None: its defaults.
        seed: An integer for a repeatable run (the same bits on one machine), a numpy generator, or None.

    Raises:
        GameError: If the game cannot be loaded or has no information-state tensors.
        ConfigError: If the config is none, or the seed is not allowed.

    Reference: Steinberger, Lerer, Brown 2020, "DREAM: Deep regret minimization with advantage baselines and model-free
    learning", section 4.

    Example:
        >>> from mccfr_plus.neural import BatchedDREAM, BatchedDREAMConfig
        >>> solver = BatchedDREAM("phantom_ttt", BatchedDREAMConfig(traversals=20, train_steps=2), seed=1).run(1)
        >>> solver.iterations
        1
    """

    config_class: ClassVar[type] = BatchedDREAMConfig
    config: BatchedDREAMConfig

    @property
    def _value_training(self) -> TrainingConfig:
        return self.config.baseline_training

    @property
    def _learns_from_walks(self) -> bool:
        return self.config.baseline

    @property
    def _epsilon(self) -> float:
        return self.config.epsilon

    def _regrets_of(self, paths: Paths, values: np.ndarray, player: int) -> tuple[np.ndarray, np.ndarray | None]:
        weights = paths.uniform_reach(player) / paths.reach(player)
        if self.config.weight_clip is not None:
            np.minimum(weights, self.config.weight_clip, out=weights)
        return corrected_regrets(paths, values[:, player], player), weights
