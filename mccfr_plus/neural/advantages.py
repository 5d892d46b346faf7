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

from mccfr_plus.errors import ConfigError
from mccfr_plus.neural.config import AdvantageConfig
from mccfr_plus.neural.learner import Learner
from mccfr_plus.neural.memory import Aggregated, Samples
from mccfr_plus.neural.sampling.branches import ExternalSampling
from mccfr_plus.neural.sampling.paths import Paths, Trajectories
from mccfr_plus.neural.solver import NeuralSolver, Seed
from mccfr_plus.neural.store import Store


class _Player(NamedTuple):
    learner: Learner
    memory: Any
    memory_rngs: np.ndarray

    @property
    def losses(self) -> list[float]:
        return self.learner.losses

    def state(self) -> dict[str, np.ndarray]:
        arrays = {"memory_rngs": self.memory_rngs}
        if isinstance(self.memory, Aggregated):
            arrays |= {f"memory/{name}": array for name, array in self.memory.state().items()}
        return arrays | {f"network/{name}": array for name, array in self.learner.state().items()}

    def memories(self) -> dict[str, Store]:
        return {"memory": self.memory} if isinstance(self.memory, Store) else {}


class AdvantageSolver(NeuralSolver):
    """A solver with a network of advantages per player. See `DeepCFR` for the arguments.

    A subclass defines `regrets`, and may define `weights`, `exploration` and ``config_class``.

    Attributes:
        values: Of histories, where the algorithm has them; see `history_values`.
    """

    config_class: ClassVar[type[AdvantageConfig]]
    config: AdvantageConfig
    values: Any = None

    @property
    def exploration(self) -> float:
        """Probability with which a trajectory's player draws from the exploration strategy."""
        return 1.0

    def regrets(self, paths: Paths, player: int) -> np.ndarray:
        """Returns sampled regrets at a player's decisions, ``[num_decisions, num_actions]``; others are not read.

        Their mean over the samples of an information set, with `weights`, is what the network learns.
        """
        raise ConfigError(f"{type(self).__name__} lacks regrets(paths, player), which makes it an algorithm.")

    def weights(self, paths: Paths, player: int) -> np.ndarray | None:
        """Returns the weights of a player's samples, ``[num_decisions]``; None: all are 1."""
        return None

    def _histories(self, player: int) -> Trajectories | ExternalSampling:
        """Returns what is sampled in a player's turn."""
        return Trajectories(self._env.strategies(), (player,), self.exploration)

    def _new_values(self, rngs: np.ndarray) -> Any:
        """Returns the values of histories that the algorithm learns, if any."""

    def _learned(self, kind: Any, config: Any, rngs: np.ndarray) -> Any:
        modules = self._modules._replace(features=None)
        return self._env.new_values(kind, config, rngs, type(self).__name__, modules)

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
        for found in self._env.turn(self._histories(player), player, self.exploration, iteration):
            regrets, weights = self.regrets(found, player), self.weights(found, player)
            own = np.flatnonzero(found.players == player)
            own_weights = np.ones(len(own)) if weights is None else weights[own]
            samples = Samples(found.infosets[own], found.masks[own], regrets[own], own_weights)
            self._players[player].memory.add(samples, iteration)

    def _learn(self, player: int, iteration: int) -> None:
        """Fits a player's network, which gives the player's next strategy."""
        self._begin_phase(f"training {player}")
        learner, memory, _ = self._players[player]
        learner.fit(memory, iteration)
        self._env.use(player, learner, iteration)

    def _prepare(self) -> None:
        super()._prepare()
        if self.values is not None:
            self.values.prepare()
