"""The frame of batched solvers: networks of regrets per player, one of what actions are worth, reservoirs.

For t = 1, 2, ... and each player p in turn: histories are sampled in which p explores; p's regrets at p's points go to
p's memory, and the strategies of the others at theirs to the memories of the average policy, both with weight t; p's
network is fitted. After all turns the network of action values is trained on what was sampled.
"""

from __future__ import annotations

import abc
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import pyspiel

from mccfr_plus.kernels.random_numbers import new_states
from mccfr_plus.neural import config as configs
from mccfr_plus.neural.backend import torch_threads
from mccfr_plus.neural.batched.average_policy import trained_policy
from mccfr_plus.neural.batched.estimates import backed_up
from mccfr_plus.neural.batched.network_policy import MATCHING, SOFTMAX, NetworkPolicy, matched, outputs_of
from mccfr_plus.neural.batched.paths import Paths, sample_paths
from mccfr_plus.neural.batched.reservoir import TensorReservoir
from mccfr_plus.neural.batched.treeless import TreelessSolver
from mccfr_plus.neural.config import TrainingConfig
from mccfr_plus.neural.history_values import Targets
from mccfr_plus.neural.training import Learner

_PER_PLAYER = 4  # generators: of both memories, of initial parameters, of batches
_SHARED = 3  # of histories, and two of the network of values


class BatchedSolver(TreelessSolver):
    """A solver for games that are not enumerated. A subclass says how regrets are sampled.

    Args:
        game: A `pyspiel.Game` or a game string: players in turn, with information-state tensors.
        config: A config of the subclass's `config_class`; None: its defaults.
        seed: An integer for a repeatable run (the same bits on one machine), a numpy generator, or None.

    Raises:
        GameError: If the game cannot be loaded or has no information-state tensors.
        ConfigError: If the config is none, or the seed is not allowed.
    """

    config_class: ClassVar[type]

    def __init__(self, game: pyspiel.Game | str, config: Any = None, seed: int | np.random.Generator | None = None):
        super().__init__(game, config, seed)
        config = self.config
        players, actions = self.game.num_players(), self.game.num_distinct_actions()
        rngs = new_states(seed, _SHARED + _PER_PLAYER * players)
        self._rng = rngs[:1].copy()
        self._power = 1.0 if config.weighting == configs.LINEAR else 0.0
        self._trained = np.zeros(players + 1, np.int64)
        self._regrets, self._strategies, self._learners = [], [], []
        self._player_rngs = []
        self._averaged: tuple[int, NetworkPolicy] | None = None  # the iterations that it is of
        size = self._observer.size
        for player in range(players):
            own = rngs[_SHARED + _PER_PLAYER * player :][:_PER_PLAYER].copy()
            self._player_rngs.append(own)
            self._regrets.append(
                TensorReservoir(size, actions, config.memory_capacity, own[:1], power=self._power, unit=self._unit)
            )
            self._strategies.append(TensorReservoir(size, actions, config.policy_capacity, own[1:2], power=self._power))
            empty = np.zeros((0, size), np.float32)
            self._learners.append(Learner(empty, actions, config, own[2:], f"advantage loss of player {player}"))
        kind = self.game.get_type().utility
        self._is_zero_sum = players == 2 and kind == pyspiel.GameType.Utility.ZERO_SUM
        self._values: Learner | None = None
        if self._value_training is not None:
            self._values = Learner(
                np.zeros((0, self._observer.history_size), np.float32),
                (1 if self._is_zero_sum else players) * actions,
                self._value_training,
                rngs[1:3].copy(),
                f"loss of the values of {self._name}",
            )

    # --- what a subclass gives ---

    @property
    @abc.abstractmethod
    def _value_training(self) -> TrainingConfig | None:
        """How the network of action values is trained; None: there is none."""

    @property
    def _learns_from_walks(self) -> bool:
        """Whether that network learns from the histories that regrets are sampled from."""
        return True

    @property
    def _epsilon(self) -> float:
        """How often the exploring player plays uniformly."""
        return 0.0

    def _regrets_of(self, paths: Paths, values: np.ndarray, player: int) -> tuple[np.ndarray, np.ndarray | None]:
        """Returns regrets at all points, ``[num_points, num_actions]``, and weights, ``[num_points]`` or None.

        Args:
            paths: Histories in which the player explores.
            values: ``[num_points, num_players, num_actions]``, what the network holds actions to be worth.
            player: For whom.
        """
        raise NotImplementedError

    # --- what `NeuralSolver` asks for ---

    def _advance(self, iteration: int) -> None:
        found: list[tuple[np.ndarray, ...]] = []
        for player in range(self.game.num_players()):
            self._begin_phase(f"traversals {player}")
            for paths in self._sampled(player, self.config.traversals):
                values = self._values_at(paths)
                self._remember(player, paths, values, iteration)
                if self._learns_from_walks:
                    found.append(what_values_learn(paths, values))
            self._learn(player, iteration)
        if found:
            self._learn_values(found, iteration)

    def _learn(self, player: int, iteration: int) -> None:
        self._begin_phase(f"training {player}")
        memory = self._regrets[player]
        self._learners[player].fit(memory, iteration, memory.tensors)
        self._trained[player] = 1

    def _sampled(self, player: int, traversals: int) -> Iterator[Paths]:
        """Yields histories in which a player explores, some at a time."""
        while traversals > 0:
            now = min(traversals, self.config.parallel_traversals)
            paths = sample_paths(
                self.game, self._observer, self._strategy_of, player, self._epsilon, now, self._new_rng()
            )
            self._nodes[0] += paths.nodes
            yield paths
            traversals -= now

    def _remember(self, player: int, paths: Paths, values: np.ndarray, iteration: int) -> None:
        """Puts the player's regrets and the others' strategies into their memories."""
        regrets, weights = self._regrets_of(paths, values, player)
        for other in range(self.game.num_players()):
            rows = np.flatnonzero(paths.players == other)
            tensors, masks = paths.tensors[rows], paths.masks[rows]
            if other == player:
                of_rows = None if weights is None else weights[rows]
                self._regrets[other].add(tensors, masks, regrets[rows], of_rows, iteration)
            else:
                self._strategies[other].add(tensors, masks, paths.strategies[rows], None, iteration)

    def _strategy_of(self, player: int, tensors: np.ndarray, masks: np.ndarray) -> np.ndarray:
        if not self._trained[player]:
            return masks / masks.sum(1, keepdims=True)
        is_argmax = self.config.fallback == configs.ARGMAX
        return matched(outputs_of(self._learners[player].network, tensors), masks, is_argmax)

    def _values_at(self, paths: Paths) -> np.ndarray:
        """Returns what actions are held to be worth, ``[num_points, num_players, num_actions]``; 0 at the beginning."""
        players, actions = self.game.num_players(), self.game.num_distinct_actions()
        if self._values is None or not self._trained[-1]:
            return np.zeros((len(paths.traversals), players, actions))
        outputs = outputs_of(self._values.network, paths.histories) * self._unit
        outputs = outputs.reshape(len(outputs), -1, actions)
        return np.concatenate([outputs, -outputs], axis=1) if self._is_zero_sum else outputs

    def _learn_values(self, sampled: list[tuple[np.ndarray, ...]], iteration: int) -> None:
        self._begin_phase("values")
        histories, drawn, found = (np.concatenate(arrays) for arrays in zip(*sampled, strict=True))
        actions = self.game.num_distinct_actions()
        heads = 1 if self._is_zero_sum else self.game.num_players()
        targets, weights = (np.zeros((len(drawn), heads, actions), np.float32) for _ in range(2))
        rows = np.arange(len(drawn))
        targets[rows, :, drawn] = found[:, :heads] / self._unit
        weights[rows, :, drawn] = 1.0
        shape = (len(drawn), heads * actions)
        assert self._values is not None
        memory = Targets(rows, targets.reshape(shape), weights.reshape(shape))
        self._values.fit(memory, iteration, histories)
        self._trained[-1] = 1

    def _arrays(self) -> dict[str, np.ndarray]:
        arrays = {"rng": self._rng, "nodes": self._nodes, "trained": self._trained}
        for player, (learner, rngs) in enumerate(zip(self._learners, self._player_rngs, strict=True)):
            arrays[f"player{player}/rngs"] = rngs
            arrays |= {f"player{player}/network/{name}": a for name, a in learner.state().items() if name != "rngs"}
        own = {} if self._values is None else self._values.state()
        return arrays | {f"values/{name}": array for name, array in own.items()}

    def _memories(self) -> dict[str, Any]:
        regrets = {f"player{player}/regrets": memory for player, memory in enumerate(self._regrets)}
        return regrets | {f"player{player}/strategies": memory for player, memory in enumerate(self._strategies)}

    # --- asking ---

    @property
    def losses(self) -> tuple[float | None, ...]:
        """Per player, the mean loss over the steps of the last training; None if nothing was trained."""
        every = [learner.losses for learner in self._learners]
        return tuple(sum(losses) / len(losses) if losses else None for losses in every)

    def average_policy(self) -> NetworkPolicy:  # type: ignore[override]
        """Returns the average policy: networks that are trained for it, the same ones until the next iteration.

        Raises:
            TrainingError: If their training diverges.
        """
        if self._averaged is not None and self._averaged[0] == self.iterations:
            return self._averaged[1]
        with torch_threads(self.config.threads):
            networks = [
                trained_policy(
                    memory,
                    self.game.num_distinct_actions(),
                    self.config.policy_training,
                    int(self._player_rngs[player][0]) ^ self.iterations,
                    max(self.iterations, 1),
                    f"loss of the average policy of player {player}",
                )
                for player, memory in enumerate(self._strategies)
            ]
        self._averaged = (self.iterations, NetworkPolicy(self.game, networks, SOFTMAX))
        return self._averaged[1]

    def current_policy(self) -> NetworkPolicy:  # type: ignore[override]
        """Returns the policy that the next iteration will play. It owns its numbers."""
        return NetworkPolicy(self.game, [learner.network.copy() for learner in self._learners], MATCHING)


def what_values_learn(paths: Paths, values: np.ndarray) -> tuple[np.ndarray, ...]:
    """Returns tensors of histories, the actions that were drawn there, and what those were worth to each player."""
    return paths.histories, paths.actions, backed_up(paths, values)
