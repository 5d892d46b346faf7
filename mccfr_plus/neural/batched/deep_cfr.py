"""Deep CFR without a tree: traversals of external sampling side by side."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from mccfr_plus.neural.batched.branches import sample_branches
from mccfr_plus.neural.batched.config import BatchedDeepCFRConfig
from mccfr_plus.neural.batched.solver import BatchedSolver
from mccfr_plus.neural.config import TrainingConfig


class BatchedDeepCFR(BatchedSolver):
    """`DeepCFR` for games that are not enumerated; its average policy is a network.

    A traversal visits all own actions everywhere, so that it is_lazy with their number to the power of the own moves: 285,000
    histories in phantom tic-tac-toe. For such games take `BatchedDREAM` or `BatchedESCHER`.

    Args:
        game: A `pyspiel.Game` or a game string: players in turn, with information-state tensors.
        config: A `BatchedDeepCFRConfig`; None: its defaults.
        seed: An integer for a repeatable run (the same bits on one machine), a numpy generator, or None.

    Raises:
        GameError: If the game cannot be loaded or has no information-state tensors.
        ConfigError: If the config is none, or the seed is not allowed.

    Reference: Brown, Lerer, Gross, Sandholm 2019, "Deep counterfactual regret minimization", algorithms 1 and 2.

    Example:
        >>> from mccfr_plus.neural import BatchedDeepCFR, BatchedDeepCFRConfig
        >>> solver = BatchedDeepCFR("liars_dice", BatchedDeepCFRConfig(traversals=3, train_steps=2), seed=1).run(1)
        >>> solver.iterations
        1
    """

    config_class: ClassVar[type] = BatchedDeepCFRConfig
    config: BatchedDeepCFRConfig

    @property
    def _value_training(self) -> TrainingConfig | None:
        return None

    def _advance(self, iteration: int) -> None:
        for player in range(self.game.num_players()):
            self._begin_phase(f"traversals {player}")
            left = self.config.traversals
            while left > 0:
                traversals = min(left, self.config.parallel_traversals)
                self._walk(player, traversals, iteration)
                left -= traversals
            self._learn(player, iteration)

    def _walk(self, player: int, traversals: int, iteration: int) -> None:
        found = sample_branches(
            self.game,
            self._observer,
            self._strategy_of,
            player,
            traversals,
            self._new_rng(),
            self.config.max_parallel_histories,
        )
        self._nodes[0] += found.nodes
        for other in range(self.game.num_players()):
            rows = np.flatnonzero(found.players == other)
            memory = self._regrets[other] if other == player else self._strategies[other]
            values = found.regrets if other == player else found.strategies
            memory.add(found.tensors[rows], found.masks[rows], values[rows], None, iteration)
