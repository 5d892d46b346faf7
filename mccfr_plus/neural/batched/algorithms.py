"""Deep CFR, DREAM and ESCHER without a tree; see `BatchedSolver`."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from mccfr_plus.neural.batched.branches import sample_branches
from mccfr_plus.neural.batched.config import BatchedDeepCFRConfig, BatchedDREAMConfig, BatchedESCHERConfig
from mccfr_plus.neural.batched.paths import Paths, corrected_regrets, plain_regrets
from mccfr_plus.neural.batched.solver import BatchedSolver, value_samples
from mccfr_plus.neural.config import TrainingConfig


class BatchedDeepCFR(BatchedSolver):
    """`DeepCFR` for games that are not enumerated; its average policy is a network.

    A traversal visits all own actions, so its size is exponential in the number of own moves: 285,000 histories in
    phantom tic-tac-toe. Use `BatchedDREAM` or `BatchedESCHER` for such games.

    Args:
        game: A `pyspiel.Game` or a game string: sequential moves, with information-state tensors.
        config: A `BatchedDeepCFRConfig`; None: its defaults.
        seed: An integer for a repeatable run (bitwise identical on one machine), a numpy generator, or None. See
            `DeepCFR` for ``network``, ``optimizer`` and ``device``.

    Raises:
        GameError: If the game cannot be loaded or has no information-state tensors.
        ConfigError: If the config is of another class, or the seed is not allowed.

    Reference: Brown, Lerer, Gross, Sandholm 2019, "Deep counterfactual regret minimization", algorithms 1 and 2.

    Examples:
        >>> from mccfr_plus.neural import BatchedDeepCFR, BatchedDeepCFRConfig
        >>> solver = BatchedDeepCFR("liars_dice", BatchedDeepCFRConfig(traversals=3, train_steps=2), seed=1).run(1)
        >>> solver.iterations
        1
    """

    config_class: ClassVar[type] = BatchedDeepCFRConfig
    config: BatchedDeepCFRConfig

    def _sample_regrets(self, player: int, iteration: int) -> None:
        limit = self.config.max_parallel_histories
        for count in self._chunks(self.config.traversals):
            found = sample_branches(self.game, self._observer, self._strategy_of, player, count, self._new_rng(), limit)
            self._nodes[0] += found.nodes
            self._store(player, found.decisions, found.regrets, None, iteration)

    def regrets(self, paths: Paths, player: int) -> np.ndarray:
        """Not defined: all own actions are followed."""
        raise TypeError("external sampling follows all own actions: there are no paths.")


class BatchedDREAM(BatchedSolver):
    """`DREAM` for games that cannot be enumerated; its average policy is a network.

    A sample's weight is the probability of the own draws before it under uniform play, divided by their probability. At
    each information set this is the inverse of the latter up to a constant factor, which regret matching ignores.
    Without the factor, a few samples of deep information sets would dominate the loss.

    Args:
        game: See `BatchedDeepCFR`.
        config: A `BatchedDREAMConfig`; None: its defaults.
        seed: See `BatchedDeepCFR`.

    Raises:
        GameError, ConfigError: See `BatchedDeepCFR`.

    Reference: Steinberger, Lerer, Brown 2020, "DREAM: Deep regret minimization with advantage baselines and model-free
    learning", section 4.

    Examples:
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
    def exploration(self) -> float:
        return self.config.epsilon

    def _advance(self, iteration: int) -> None:
        self._samples: list[tuple[np.ndarray, ...]] = []
        super()._advance(iteration)
        if self.config.baseline:
            self._learn_values(self._samples, iteration)

    def regrets(self, paths: Paths, player: int) -> np.ndarray:
        values = self._values_at(paths)
        if self.config.baseline:
            self._samples.append(value_samples(paths, values))
        return corrected_regrets(paths, values[:, player], player)

    def weights(self, paths: Paths, player: int) -> np.ndarray:
        weights = paths.importance((player,))
        return weights if self.config.weight_clip is None else np.minimum(weights, self.config.weight_clip)


class BatchedESCHER(BatchedSolver):
    """`ESCHER` for games that cannot be enumerated; its average policy is a network.

    Before a player's traversals the network of values is trained on new ones, in which players explore in turn. It has
    an output per action, so that one forward pass at a history replaces one at each history after it.

    Args:
        game: See `BatchedDeepCFR`.
        config: A `BatchedESCHERConfig`; None: its defaults.
        seed: See `BatchedDeepCFR`.

    Raises:
        GameError, ConfigError: See `BatchedDeepCFR`.

    Reference: McAleer, Farina, Lanctot, Sandholm 2023, "ESCHER: Eschewing importance sampling in games by computing a
    history value function to estimate regret", section 4.

    Examples:
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

    def _sample_regrets(self, player: int, iteration: int) -> None:
        samples = [
            value_samples(paths, self._values_at(paths))
            for explorer in range(self.game.num_players())
            for paths in self._paths((explorer,), self.config.value_exploration, self.config.value_traversals)
        ]
        self._learn_values(samples, iteration)
        self._begin_phase(f"traversals {player}")
        super()._sample_regrets(player, iteration)

    def regrets(self, paths: Paths, player: int) -> np.ndarray:
        values = self._values_at(paths)
        return plain_regrets(paths, values[np.arange(len(values)), paths.players])
