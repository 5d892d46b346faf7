"""Neural fictitious self-play.

Each player has two networks. Action values give its best response, which is epsilon-greedy. An average policy imitates
what its best responses played. Until the iteration's episodes are played:

1. Episodes are played in parallel. In an episode a player follows its best response with probability eta and its
   average policy otherwise. Its transitions go to a ring buffer, and the decisions of its best response to a reservoir.
2. For every `learn_every` steps a player has an update: one step of Q-learning on transitions and one of cross-entropy
   on decisions. After `target_every` updates the target network is renewed.

On a compiled tree one forward pass over all information sets replaces those at the decisions of parallel episodes.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, ClassVar

import numpy as np

from mccfr_plus.kernels.random_numbers import new_states
from mccfr_plus.neural.agents import Agent
from mccfr_plus.neural.batched_env import BatchedEnv
from mccfr_plus.neural.env import chunks
from mccfr_plus.neural.matching import GREEDY, SOFTMAX, greedy, masked_softmax
from mccfr_plus.neural.nfsp_config import BatchedNFSPConfig, NFSPConfig
from mccfr_plus.neural.sampling.paths import Trajectories
from mccfr_plus.neural.solver import NeuralSolver, Seed, mean_losses


class NFSP(NeuralSolver):
    """Neural fictitious self-play: best responses by Q-learning, and average policies by imitating them.

    An *iteration* is ``config.episodes`` episodes and the updates that are due in them. `losses` are those of the
    average policies, `value_losses` those of the action values.

    See `DeepCFR` for the arguments and errors; the config is an `NFSPConfig`.

    Reference: Heinrich, Silver 2016, "Deep reinforcement learning from self-play in imperfect-information games",
    algorithm 1. Differs from it in updates between parallel episodes, and in Adam and its rates.

    Examples:
        >>> from mccfr_plus.neural import NFSP, NFSPConfig
        >>> solver = NFSP("kuhn_poker", NFSPConfig(episodes=500), seed=1).run(3)
        >>> solver.iterations, len(solver.average_policy())
        (3, 12)
    """

    config_class: ClassVar[type[NFSPConfig]] = NFSPConfig
    references: ClassVar[tuple[str, ...]] = ("heinrich2016deep",)
    config: NFSPConfig

    _players: list[Agent]

    def _build(self, seed: Seed) -> None:
        rngs = new_states(seed, 1 + 5 * self._env.num_players)
        self._env.rng = rngs[:1].copy()
        of_players = rngs[1:].reshape(-1, 5).copy()
        self._players = [
            Agent(self._env, self.config, player, own, self._modules) for player, own in enumerate(of_players)
        ]
        self._steps = np.zeros(self._env.num_players, np.int64)  # decisions and ends of episodes
        self._kept = {"steps": self._steps}

    def _advance(self, iteration: int) -> None:
        for own in self._players:
            own.losses, own.value_losses = [], []
        for count in chunks(self.config.episodes, self.config.parallel_episodes):
            self._begin_phase("episodes")
            self._play(count, iteration)
            self._begin_phase("training")
            for steps, own in zip(self._steps.tolist(), self._players, strict=True):
                own.learn(steps // self.config.learn_every - int(own.updates[0]), iteration)

    def _play(self, count: int, iteration: int) -> None:
        """Plays episodes and stores them: in parallel those in which the same players follow their best responses."""
        players = range(self._env.num_players)
        options = [[self._responses(player, is_best, iteration) for is_best in (False, True)] for player in players]
        for is_best, episodes in self._groups(count):
            for player in players:
                self._env.use(player, options[player][is_best[player]])
            for paths in self._env.sample(Trajectories(self._env.strategies()), episodes, episodes):
                for player, own in enumerate(self._players):
                    own.store(paths, player, is_best[player])
                    decided = paths.traversals[paths.players == player]
                    # The end of an episode is a step too, as OpenSpiel's agents count.
                    self._steps[player] += len(decided) + len(np.unique(decided))

    def _responses(self, player: int, is_best: bool, iteration: int) -> Any:
        """Returns a player's best response with exploration, or its average policy; see `Env.responses`."""
        own = self._players[player]
        if not is_best:
            return self._env.responses(player, own.policy, masked_softmax, iteration)
        epsilon = self.config.epsilon(int(self._steps[player]))

        def explored(outputs: np.ndarray, masks: np.ndarray) -> np.ndarray:
            return epsilon * masks / masks.sum(1, keepdims=True) + (1.0 - epsilon) * greedy(outputs, masks)

        return self._env.responses(player, own.values, explored, iteration)

    def _groups(self, count: int) -> list[tuple[tuple[bool, ...], int]]:
        """Returns groups of episodes: which players follow best responses, and how many episodes."""
        eta = self.config.anticipatory
        combinations = list(itertools.product((False, True), repeat=self._env.num_players))
        probabilities = [math.prod(eta if best else 1.0 - eta for best in is_best) for is_best in combinations]
        counts = np.random.default_rng(self._env.new_seed()).multinomial(count, probabilities)
        return [(is_best, int(each)) for is_best, each in zip(combinations, counts, strict=True) if each]

    # --- results ---

    def average_policy(self) -> Any:
        """Returns a copy of the average networks' policy, which approximates an equilibrium."""
        return self._env.policy_of([own.policy for own in self._players], SOFTMAX)

    def current_policy(self) -> Any:
        """Returns the same: all players learn at once."""
        return self.average_policy()

    def best_response_policy(self) -> Any:
        """Returns a copy of the greedy policy of the action values."""
        return self._env.policy_of([own.values for own in self._players], GREEDY)

    @property
    def episodes(self) -> int:
        """Episodes played so far."""
        return self.iterations * self.config.episodes

    @property
    def value_losses(self) -> tuple[float | None, ...]:
        """Per player, the mean loss of the action values in the last iteration; None if they were not trained."""
        return mean_losses(own.value_losses for own in self._players)


class BatchedNFSP(NFSP):
    """`NFSP` for games that are not enumerated; see `BatchedSolver` for the arguments. Its policies are networks.

    Examples:
        >>> from mccfr_plus.neural import BatchedNFSP, BatchedNFSPConfig
        >>> solver = BatchedNFSP("phantom_ttt", BatchedNFSPConfig(episodes=20), seed=1).run(1)
        >>> solver.iterations
        1
    """

    config_class: ClassVar[type] = BatchedNFSPConfig
    environment = BatchedEnv
