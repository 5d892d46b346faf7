"""The base class of Deep CFR, DREAM and ESCHER: one network of advantages per player.

For t = 1, 2, ... and each player p in turn:

1. Traversals for p sample regrets, which p's memory stores with weight t. They are made by an environment: a compiled
   tree (`TreeEnv`), or many histories at once (`BatchedEnv`).
2. p's network is fitted to the memory by weighted least squares. Regret matching on its outputs is p's strategy.
3. p's strategy enters the average policy with weight t: exactly on a tree, else as samples.

An algorithm says how traversals explore, and what the sampled regrets are.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np

from mccfr_plus.neural.config import AdvantageConfig
from mccfr_plus.neural.learner import Learner
from mccfr_plus.neural.memory import Samples
from mccfr_plus.neural.solver import NeuralSolver, Seed


class _Player(NamedTuple):
    learner: Learner
    memory: Any
    memory_rngs: np.ndarray

    @property
    def losses(self) -> list[float]:
        return self.learner.losses

    def state(self) -> dict[str, np.ndarray]:
        network = {f"network/{name}": array for name, array in self.learner.state().items()}
        return {"memory_rngs": self.memory_rngs} | network

    def memories(self) -> dict[str, Any]:
        return {"memory": self.memory}


class AdvantageSolver(NeuralSolver):
    """A solver with a network of advantages per player. See `DeepCFR` for the arguments.

    Attributes:
        values: Of histories, where the algorithm has them; see `history_values`.
    """

    config_class: ClassVar[type[AdvantageConfig]]
    config: AdvantageConfig
    is_external: ClassVar[bool] = False  # whether traversals follow all own actions
    is_corrected: ClassVar[bool] = False  # whether values are baselines of sampled ones, or replace them
    values: Any = None

    @property
    def exploration(self) -> float:
        """Probability with which a trajectory's player draws from the exploration strategy."""
        return 1.0

    def _new_values(self, rngs: np.ndarray) -> Any:
        """Returns the values of histories that the algorithm learns, if any."""

    def _clipped(self, samples: Samples) -> Samples:
        """Returns samples as the memory takes them."""
        return samples

    def _before_traversals(self, player: int, iteration: int) -> None:
        """Called before a player's traversals."""

    # --- implementation of `NeuralSolver` ---

    def _build(self, seed: Seed) -> None:
        value_rngs, player_rngs = self._env.start(self, seed)
        self._players = [self._new_player(player, rngs.copy()) for player, rngs in enumerate(player_rngs)]
        self.values = self._new_values(value_rngs.copy())
        values = {} if self.values is None else self.values.state()
        self._kept = {f"values/{name}": array for name, array in values.items()}

    def _new_player(self, player: int, rngs: np.ndarray) -> _Player:
        learner, memory = self._env.new_player(player, rngs, f"advantage loss of player {player}", self._modules)
        return _Player(learner, memory, rngs[:-2])

    def _advance(self, iteration: int) -> None:
        for player in range(self._env.num_players):
            self._env.begin_turn(player, float(iteration) ** self.config.exponents[1])
            self._before_traversals(player, iteration)
            self._sample(player, iteration)
            self._learn(player, iteration)

    def _sample(self, player: int, iteration: int) -> None:
        self._begin_phase(f"traversals {player}")
        for samples in self._env.sample(self, player, iteration):
            self._players[player].memory.add(self._clipped(samples), iteration)

    def _learn(self, player: int, iteration: int) -> None:
        """Fits a player's network, which gives the player's next strategy."""
        self._begin_phase(f"training {player}")
        learner, memory, _ = self._players[player]
        learner.fit(memory, iteration, memory.tensors)
        self._env.use(player, learner, iteration)

    def _prepare(self) -> None:
        super()._prepare()
        if self.values is not None:
            self.values.prepare()
