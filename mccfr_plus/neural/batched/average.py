"""The average policy where the game is not enumerated: a network that learns from sampled strategies."""

from __future__ import annotations

import numpy as np
import pyspiel

from mccfr_plus.kernels.random_numbers import new_states
from mccfr_plus.neural.backend import torch, torch_threads
from mccfr_plus.neural.batched.config import BatchedConfig
from mccfr_plus.neural.batched.network_policy import NetworkPolicy
from mccfr_plus.neural.learner import Learner, cross_entropy
from mccfr_plus.neural.matching import SOFTMAX
from mccfr_plus.neural.memory import Reservoir, Samples, infoset_columns
from mccfr_plus.neural.network import Modules
from mccfr_plus.neural.sampling.branches import Branches
from mccfr_plus.neural.sampling.paths import Paths


class NetworkAverage:
    """The mean of each player's strategies with weights t x own reach, or t^gamma x own reach.

    They are sampled on histories in which the player draws by its strategy and all others explore, with weight t x (the
    others' reach under uniform play) / (the probability of their draws): without the latter factor, iterations whose
    others come often to an information set would count more there. With two players the traversals of the other one are
    such histories. With more, histories of their own are sampled.

    Args:
        game: The game.
        inputs: ``[0, size]``, where information-state tensors have that size.
        config: The solver's config.
        modules: Factories of networks and optimizers, and the device.

    Attributes:
        memories: One of strategies per player.
    """

    def __init__(self, game: pyspiel.Game, inputs: np.ndarray, config: BatchedConfig, modules: Modules):
        self._game, self._inputs, self._config, self._modules = game, inputs, config, modules
        self.memories: list[Reservoir] = []
        self._rngs: list[np.ndarray] = []
        self._latest: tuple[int, NetworkPolicy] | None = None  # iteration and policy

    def add_player(self, rngs: np.ndarray) -> None:
        """Adds the next player; `rngs`, ``[2]`` uint64, are of its memories of regrets and of strategies."""
        actions = self._game.num_distinct_actions()
        columns = infoset_columns(self._config.policy_capacity, self._inputs, actions)
        self.memories.append(Reservoir(columns, rngs[1:], power=self._config.exponents[1]))
        self._rngs.append(rngs)

    def add(self, player: int, found: Branches | Paths, iteration: int) -> None:
        """Stores a player's strategies on histories in which all others explore."""
        rows = np.flatnonzero(found.players == player)
        weights = np.ones(len(rows))
        if isinstance(found, Paths):  # external sampling follows all actions of the other player
            others = [other for other in range(self._game.num_players()) if other != player]
            weights = found.importance(others)[rows]
        samples = Samples(found.infosets[rows], found.masks[rows], found.strategies[rows], weights)
        self.memories[player].add(samples, iteration)

    def policy(self, iterations: int) -> NetworkPolicy:
        """Returns the average policy after so many iterations; its networks are trained once.

        Raises:
            TrainingError: If their training diverges.
        """
        if self._latest is None or self._latest[0] != iterations:
            with torch_threads(self._config.threads):
                networks = [self._trained(player, iterations) for player in range(len(self.memories))]
            self._latest = iterations, NetworkPolicy(self._game, networks, SOFTMAX)
        return self._latest[1]

    def _trained(self, player: int, iterations: int) -> torch.nn.Module:
        """Returns a network whose masked softmax approximates the weighted mean of a player's strategies.

        If there are none, it has its initial parameters.
        """
        memory, config = self.memories[player], self._config.policy_training
        name = f"policy_training's loss of the average policy of player {player}"
        rngs = new_states(int(self._rngs[player][0]) ^ iterations, 2)
        learner = Learner(self._inputs, self._game.num_distinct_actions(), config, rngs, name, self._modules)
        learner.fit(memory, max(iterations, 1), cross_entropy)
        return learner.copy()
