"""Neural fictitious self-play on compiled trees.

Each player has two networks. Action values give its best response, which is epsilon-greedy. An average policy imitates
what its best responses played. Until the iteration's episodes are played:

1. A kernel plays episodes by tables of the networks' outputs. In an episode a player follows its best response with
   probability eta and its average policy otherwise. Its transitions go to a ring buffer, and the decisions of its best
   response to a reservoir too.
2. After `learn_every` steps a player has an update: one step of Q-learning on transitions and one of cross-entropy on
   decisions. After `target_every` updates the target network is renewed.
3. A forward pass of both networks over all of the player's information sets fills its tables.

Without tables, a forward pass per decision would take nearly all of the time.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from mccfr_plus.kernels.random_numbers import new_states
from mccfr_plus.neural.agents import Agent, RowAgent, TensorAgent
from mccfr_plus.neural.batched.config import BatchedNFSPConfig
from mccfr_plus.neural.batched.env import BatchedEnv, chunks
from mccfr_plus.neural.batched.network_policy import GREEDY, SOFTMAX, NetworkPolicy
from mccfr_plus.neural.episodes import Episodes, Tables
from mccfr_plus.neural.matching import greedy, masked_softmax
from mccfr_plus.neural.nfsp_config import NFSPConfig
from mccfr_plus.neural.solver import NeuralSolver, Seed, mean_losses
from mccfr_plus.neural.tree_env import TreeEnv
from mccfr_plus.policies.tree_policy import TreePolicy

_RNGS_PER_PLAYER = 5  # see `Agent`


class NFSP(NeuralSolver):
    """Neural fictitious self-play: best responses by Q-learning, and average policies by imitating them.

    An *iteration* is ``config.episodes`` episodes and the updates that are due in them. `losses` are those of the
    average policies, `value_losses` those of the action values.

    Args:
        game: A `pyspiel.Game`, a game string, or a `GameTree`. Any number of players, perfect recall, with
            information-state tensors, and of a size that can be compiled.
        config: An `NFSPConfig`; None: its defaults.
        seed: An integer for a repeatable run (bitwise identical on one machine), a numpy generator, or None. See
            `DeepCFR` for ``network``, ``optimizer``, ``device`` and ``features``.

    Raises:
        GameError: If the game cannot be loaded or compiled, has no information-state tensors or imperfect recall.
        BudgetError: If it is too large to be compiled.
        ConfigError: If the config is of another class, or the seed is not allowed.

    Reference: Heinrich, Silver 2016, "Deep reinforcement learning from self-play in imperfect-information games",
    algorithm 1. Differs from it in tables of the networks' outputs, which are refreshed after `refresh_every`
    updates; in updates between episodes, as soon as they are due; and in Adam and its rates.

    Examples:
        >>> from mccfr_plus.neural import NFSP, NFSPConfig
        >>> solver = NFSP("kuhn_poker", NFSPConfig(episodes=500), seed=1).run(3)
        >>> solver.iterations, len(solver.average_policy())
        (3, 12)
    """

    config_class: ClassVar[type[NFSPConfig]] = NFSPConfig
    config: NFSPConfig

    agent: ClassVar[type[Agent]] = RowAgent
    _env: TreeEnv
    _players: list[Any]

    def _build(self, seed: Seed) -> None:
        rngs = new_states(seed, 1 + _RNGS_PER_PLAYER * self._env.num_players)
        self._begin(rngs[:1].copy())
        player_rngs = rngs[1:].reshape(-1, _RNGS_PER_PLAYER)
        self._players = [
            self.agent(self._env, self.config, player, own.copy(), self._modules)
            for player, own in enumerate(player_rngs)
        ]

    # --- what depends on the environment ---

    def _begin(self, rng: np.ndarray) -> None:
        """Makes what plays episodes, with the state of its generator."""
        env = self._env
        env.sampler = self._episodes = Episodes(env.tree, self.config.anticipatory, rng)
        self._tables = Tables(env.strategy, np.zeros(env.tree.num_infosets, np.int32))
        self._kept, self._refresh_every = {"best": self._tables.best}, self.config.refresh_every

    def _play(self, iteration: int) -> Iterator[None]:
        """Plays the iteration's episodes and stores their records; stops wherever a player's updates may be due."""
        left = self.config.episodes
        while left > 0:
            updates = np.array([own.updates[0] for own in self._players])
            due = (updates + self._refresh_every) * self.config.learn_every
            left -= self._episodes.play(self._tables, self._epsilon(), due, left)
            for player, own in enumerate(self._players):
                own.transitions.add_rows(records=self._episodes.transitions(player))
                own.decisions.add_rows(records=self._episodes.decisions(player))
            yield

    def _epsilon(self) -> np.ndarray:
        """Returns the players' exploration, ``[num_players]``."""
        return np.array([self.config.epsilon(count) for count in self._steps.tolist()])

    @property
    def _steps(self) -> np.ndarray:
        """Number of decisions and ends of episodes of each player."""
        return self._episodes.steps

    def _use(self, player: int, iteration: int) -> None:
        """Fills a player's entries of the tables with the outputs of its networks."""
        own, masks = self._players[player], self._env.features[player].masks
        logits, values = own.policy.predict(iteration).astype(np.float64), own.values.predict(iteration)
        self._env.fill(player, masked_softmax(logits, masks))
        (begin, end), infosets = self.tree.arrays.infoset_range[player : player + 2], self.tree.arrays.infosets
        slots, rows, actions = self._env.places_of(player)
        is_best = greedy(values, masks)[rows, actions] > 0.0
        self._tables.best[begin:end] = slots[is_best] - infosets["first_slot"][begin:end]

    # --- implementation of `NeuralSolver` ---

    def _advance(self, iteration: int) -> None:
        for player, own in enumerate(self._players):
            own.values.losses, own.policy.losses = [], []
            if iteration == 1:
                self._use(player, iteration)
                own.renew_target()
        for _ in self._play(iteration):
            self._learn_if_due(iteration)

    def _learn_if_due(self, iteration: int) -> None:
        for player, own in enumerate(self._players):
            due = int(self._steps[player]) // self.config.learn_every - int(own.updates[0])
            if due >= self._refresh_every:
                own.learn(due, iteration)
                self._use(player, iteration)

    # --- results ---

    def average_strategy(self) -> np.ndarray:
        """Returns the average networks' strategy, ``[num_slots]`` float64; uniform before the first iteration."""
        return self._env.strategy.copy()

    def best_response_strategy(self) -> np.ndarray:
        """Returns the greedy strategy of the action values, ``[num_slots]`` float64."""
        strategy = np.zeros(self.tree.num_slots)
        strategy[self.tree.arrays.infosets["first_slot"] + self._tables.best] = 1.0
        return strategy

    def best_response_policy(self) -> Any:
        """Returns a copy of the greedy policy of the action values."""
        return TreePolicy(self.tree, self.best_response_strategy())

    @property
    def episodes(self) -> int:
        """Episodes played so far."""
        return self.iterations * self.config.episodes

    @property
    def value_losses(self) -> tuple[float | None, ...]:
        """Per player, the mean loss of the action values in the last iteration; None if they were not trained."""
        return mean_losses(own.values.losses for own in self._players)


class BatchedNFSP(NFSP):
    """`NFSP` for games that are not enumerated. An iteration is `episodes` episodes and the updates that are due then.

    For each player and episode it is drawn whether the player follows its best response. Episodes with the same draws
    are played in parallel. Updates are made after each such group, as many as the sources make during it.

    Args:
        game: A `pyspiel.Game` or a game string: sequential moves, with information-state tensors.
        config: A `BatchedNFSPConfig`; None: its defaults.
        seed: An integer for a repeatable run (bitwise identical on one machine), a numpy generator, or None.

    Raises:
        GameError: If the game cannot be loaded or has no information-state tensors.
        ConfigError: If the config is of another class, or the seed is not allowed.

    Reference: Heinrich, Silver 2016, "Deep reinforcement learning from self-play in imperfect-information games",
    algorithm 1.

    Examples:
        >>> from mccfr_plus.neural import BatchedNFSP, BatchedNFSPConfig
        >>> solver = BatchedNFSP("phantom_ttt", BatchedNFSPConfig(episodes=20), seed=1).run(1)
        >>> solver.iterations
        1
    """

    config_class: ClassVar[type] = BatchedNFSPConfig
    config: BatchedNFSPConfig
    environment: ClassVar[Any] = BatchedEnv
    agent: ClassVar[type[Agent]] = TensorAgent
    _env: BatchedEnv  # type: ignore[assignment]

    def _begin(self, rng: np.ndarray) -> None:
        self._env.rng = rng
        self._counts = np.zeros(self._env.num_players, np.int64)
        self._kept = {"steps": self._counts}
        self._refresh_every = 1  # there are no tables

    @property
    def _steps(self) -> np.ndarray:
        return self._counts

    def _play(self, iteration: int) -> Iterator[None]:
        for is_best, episodes in self._groups():
            self._begin_phase("episodes")
            epsilon = self._epsilon()

            def strategies(
                player: int, tensors: np.ndarray, masks: np.ndarray, is_best: Any = is_best, epsilon: Any = epsilon
            ) -> np.ndarray:
                return self._strategies(player, tensors, masks, epsilon[player] if is_best[player] else None)

            for paths in self._env.paths(strategies, (), 0.0, episodes, episodes):
                for player, own in enumerate(self._players):
                    own.store(paths, player, is_best[player])
                    decided = paths.traversals[paths.players == player]
                    # The end of an episode is a step too, as OpenSpiel's agents count.
                    self._counts[player] += len(decided) + len(np.unique(decided))
            self._begin_phase("training")
            yield

    def _strategies(self, player: int, tensors: np.ndarray, masks: np.ndarray, epsilon: float | None) -> np.ndarray:
        """Returns the strategies of the best response with exploration, or of the average policy if that is None."""
        own = self._players[player]
        if epsilon is None:
            return masked_softmax(own.policy.outputs(tensors), masks)
        best = greedy(own.values.outputs(tensors), masks)
        return epsilon * masks / masks.sum(1, keepdims=True) + (1.0 - epsilon) * best

    def _groups(self) -> list[tuple[tuple[bool, ...], int]]:
        """Returns groups of the iteration's episodes: which players follow best responses, and how many episodes."""
        eta, players = self.config.anticipatory, self._env.num_players
        combinations = list(itertools.product((False, True), repeat=players))
        probabilities = [math.prod(eta if best else 1.0 - eta for best in is_best) for is_best in combinations]
        groups, rng = [], self._env.new_rng()
        for now in chunks(self.config.episodes, self.config.parallel_episodes):
            counts = rng.multinomial(now, probabilities)
            groups += [(is_best, int(count)) for is_best, count in zip(combinations, counts, strict=True) if count]
        return groups

    def _use(self, player: int, iteration: int) -> None:
        pass  # networks are asked at every state

    # --- results ---

    def average_policy(self) -> NetworkPolicy:  # type: ignore[override]
        """Returns a copy of the average networks' policy, which approximates an equilibrium."""
        return NetworkPolicy(self.game, [own.policy.copy() for own in self._players], SOFTMAX)

    current_policy = average_policy  # type: ignore[assignment]

    def best_response_policy(self) -> NetworkPolicy:
        """Returns a copy of the greedy policy of the action values."""
        return NetworkPolicy(self.game, [own.values.copy() for own in self._players], GREEDY)
