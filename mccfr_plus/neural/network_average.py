"""The average policy where the game is not enumerated: a network that learns from sampled strategies."""

from __future__ import annotations

from typing import Any

import numpy as np

from mccfr_plus.kernels.random_numbers import new_states
from mccfr_plus.neural.backend import torch_threads
from mccfr_plus.neural.config import BatchedConfig
from mccfr_plus.neural.learner import Learner, cross_entropy
from mccfr_plus.neural.matching import SOFTMAX
from mccfr_plus.neural.memory import Reservoir, Samples, infoset_columns
from mccfr_plus.neural.network import Modules
from mccfr_plus.neural.network_policy import NetworkPolicy
from mccfr_plus.neural.sampling.branches import Branches
from mccfr_plus.neural.sampling.paths import Paths


class NetworkAverage:
    """The mean of each player's strategies with weights t x own reach, or t^gamma x own reach.

    They are sampled on histories in which the player draws by its strategy and all others explore, with weight t x (the
    others' reach under uniform play) / (the probability of their draws): without the latter factor, iterations whose
    others come often to an information set would count more there. With two players the traversals of the other one are
    such histories. With more, histories of their own are sampled.

    Args:
        env: The environment.
        config: The solver's config.
        modules: Factories of networks and optimizers, and the device.
        rngs: ``[num_players, 1]`` uint64, of the memories of strategies. Modified in place.
    """

    def __init__(self, env: Any, config: BatchedConfig, modules: Modules, rngs: np.ndarray):
        self._env, self._config, self._modules = env, config, modules
        self._memories = [
            Reservoir(
                infoset_columns(config.policy_capacity, env.inputs[player], env.num_actions),
                own,
                power=config.exponents[1],
            )
            for player, own in enumerate(rngs)
        ]
        self._latest: tuple[tuple[int, ...], NetworkPolicy] | None = None

    def state(self) -> dict[str, Any]:
        """Returns the memories of strategies, one per player."""
        return {f"player{player}": memory for player, memory in enumerate(self._memories)}

    def add(self, player: int, found: Branches | Paths, iteration: int) -> None:
        """Stores a player's strategies on histories in which all others explore."""
        weights = None
        if isinstance(found, Paths):  # external sampling follows all actions of the other player
            weights = found.importance([other for other in range(self._env.num_players) if other != player])
        self._memories[player].add(Samples.of(found, player, found.strategies, weights), iteration)

    def policy(self, iterations: int) -> NetworkPolicy:
        """Returns the average policy after so many iterations; its networks are trained once.

        Raises:
            TrainingError: If their training diverges.
        """
        of_run = (iterations, *(int(memory.rng[0]) for memory in self._memories))  # those of other seeds differ
        if self._latest is None or self._latest[0] != of_run:
            with torch_threads(self._config.threads):
                learners = [self._trained(player, iterations) for player in range(self._env.num_players)]
            self._latest = of_run, self._env.policy_of(learners, SOFTMAX)
        return self._latest[1]

    def _trained(self, player: int, iterations: int) -> Learner:
        """Returns a network whose masked softmax approximates the weighted mean of a player's strategies.

        If there are none, it has its initial parameters.
        """
        memory = self._memories[player]
        name = f"policy_training's loss of the average policy of player {player}"
        inputs, rngs = self._env.inputs[player], new_states(int(memory.rng[0]) ^ iterations, 2)
        learner = Learner(inputs, self._env.num_actions, self._config.policy_training, rngs, name, self._modules)
        learner.fit(memory, max(iterations, 1), cross_entropy)
        return learner
