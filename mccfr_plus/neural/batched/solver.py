"""Base classes of the batched solvers.

`BatchedSolver`, for t = 1, 2, ... and each player p in turn: traversals are sampled in which p explores. p's regrets go
to p's memory with weight t, and p's network is fitted.

The average policy of a player is the mean of its strategies with weights t x own reach. They are sampled on histories
in which it draws by its strategy and all others explore, with weight t x (the others' reach under uniform play) / (the
probability of their draws): without the latter factor, iterations whose others come often to an information set would
count more there. With two players the traversals of the other one are such histories. With more, histories of their
own are sampled, as players who do not explore leave out some information sets in some iterations.

With the minimizers dcfr+ and pdcfr+ there is no memory of regrets. The targets of iteration t are

    max(R, 0) (t-1)^alpha / ((t-1)^alpha + 1) + r,

where R is the output of the network before and r are the sampled regrets of this iteration; the average's weights are
t^gamma. With prediction the network has a second output per action, which learns r, and strategies match
max(R, 0) t^alpha / (t^alpha + 1) + r. With DREAM's baselines this is VR-DeepDCFR+ and VR-DeepPDCFR+ (Xu et al. 2026,
"Deep (predictive) discounted counterfactual regret minimization", where r has a network of its own).
"""

from __future__ import annotations

import abc
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
import pyspiel

from mccfr_plus.errors import ConfigError
from mccfr_plus.kernels.random_numbers import new_states, next_word
from mccfr_plus.neural import config as configs
from mccfr_plus.neural.backend import torch_threads
from mccfr_plus.neural.batched.config import BatchedConfig
from mccfr_plus.neural.batched.network_policy import (
    MATCHING,
    SOFTMAX,
    NetworkPolicy,
    matched,
    predicted_regrets,
    trained_policy_network,
)
from mccfr_plus.neural.batched.observer import Decisions, Observer
from mccfr_plus.neural.batched.paths import Paths, sample_paths, value_targets
from mccfr_plus.neural.buffer import Buffer, draw_positions, reservoir_places
from mccfr_plus.neural.config import TrainingConfig
from mccfr_plus.neural.learner import Learner
from mccfr_plus.neural.memory import Batch, TensorReservoir
from mccfr_plus.neural.solver import NeuralSolver, Seed
from mccfr_plus.tree.game import load_game

_PER_PLAYER = 4  # generators: of both memories, of initial parameters, of batches
_SHARED = 3  # generators: of histories, and two of the network of values


class TreelessSolver(NeuralSolver):
    """A solver on pyspiel's states: its policies are networks, and it cannot compute exploitability.

    See `BatchedDeepCFR` for the arguments.
    """

    _rng: np.ndarray  # [1] uint64, of histories, set by the subclass

    def _load_game(self, game: Any) -> None:
        self._name = type(self).__name__
        self.tree = None  # type: ignore[assignment]
        self.game = load_game(game)
        self._observer = Observer(self.game, self._name)
        half_range = (self.game.max_utility() - self.game.min_utility()) / 2.0
        self._unit = half_range if self.config.scale_targets and half_range > 0.0 else 1.0
        self._nodes = np.zeros(1, np.int64)

    def _new_rng(self) -> np.random.Generator:
        """Returns a new generator for some histories."""
        return np.random.default_rng(int(next_word(self._rng)))

    def _prepare(self) -> None:
        reservoir_places(0, 1, np.zeros(1, np.uint64), np.zeros(0, np.int64))
        draw_positions(1, np.zeros(1, np.uint64), np.zeros(1, np.int64))

    def run(self, *arguments: Any, **options: Any) -> Any:
        if options.get("target_exploitability") is not None or options.get("evaluate_every") is not None:
            raise ConfigError(
                f"{self._name} cannot compute an exploitability: leave target_exploitability and evaluate_every out, "
                "give iterations or seconds, and compare policies by mccfr_plus.evaluation."
            )
        return super().run(*arguments, **options)

    run.__doc__ = NeuralSolver.run.__doc__

    @property
    def nodes_touched(self) -> int:
        """Histories visited so far."""
        return int(self._nodes[0])


class BatchedSolver(TreelessSolver):
    """A solver with a network of regrets per player, and an average policy that is a network.

    A subclass defines `regrets`, and may define `weights`, `exploration` and ``config_class``, a `BatchedConfig`. See
    `BatchedDeepCFR` for the arguments.
    """

    config_class: ClassVar[type] = BatchedConfig

    def _build(self, seed: Seed) -> None:
        config = self.config
        players, actions = self.game.num_players(), self.game.num_distinct_actions()
        rngs = new_states(seed, _SHARED + _PER_PLAYER * players)
        self._rng = rngs[:1].copy()
        power, is_cfr = config.exponents[1], config.minimizer == configs.CFR
        self._outputs_per_action = 2 if config.minimizer == configs.PDCFR_PLUS else 1
        # Iteration of the last training of each player's network, and of that of values.
        self._trained = np.zeros(players + 1, np.int64)
        self._player_rngs = [own.copy() for own in rngs[_SHARED:].reshape(players, _PER_PLAYER)]
        self._regrets, self._strategies, self._learners = [], [], []
        self._averaged: tuple[int, NetworkPolicy] | None = None  # iteration and average policy
        size = self._observer.size
        no_inputs = np.zeros((0, size), np.float32)
        for player, own in enumerate(self._player_rngs):
            capacity = config.memory_capacity if is_cfr else 0
            regrets = TensorReservoir(size, actions, capacity, own[:1], power=power, unit=self._unit)
            self._regrets.append(regrets)
            self._strategies.append(TensorReservoir(size, actions, config.policy_capacity, own[1:2], power=power))
            name = f"advantage loss of player {player}"
            num_outputs = actions * self._outputs_per_action
            self._learners.append(Learner(no_inputs, num_outputs, config, own[2:], name, self._modules))
        is_zero_sum = self.game.get_type().utility == pyspiel.GameType.Utility.ZERO_SUM
        self._is_two_player_zero_sum = players == 2 and is_zero_sum
        self._num_heads = 1 if self._is_two_player_zero_sum else players
        self._values: Learner | None = None
        if self._value_training is not None:
            no_histories = np.zeros((0, self._observer.history_size), np.float32)
            num_outputs, name = self._num_heads * actions, f"loss of the values of {self._name}"
            self._values = Learner(
                no_histories, num_outputs, self._value_training, rngs[1:3].copy(), name, self._modules
            )

    # --- defined by subclasses ---

    @property
    def _value_training(self) -> TrainingConfig | None:
        """How the network of action values is trained; None: there is none."""
        return None

    @property
    def exploration(self) -> float:
        """Probability with which explorers draw uniformly."""
        return 1.0

    @abc.abstractmethod
    def regrets(self, paths: Paths, player: int) -> np.ndarray:
        """Returns sampled regrets at a player's decisions, ``[num_decisions, num_actions]``; others are not read.

        Their mean over the samples of an information set, with `weights`, is what the network learns.
        """

    def weights(self, paths: Paths, player: int) -> np.ndarray | None:
        """Returns the weights of a player's samples, ``[num_decisions]``; None: all are 1."""
        return None

    def _sample_regrets(self, player: int, iteration: int) -> None:
        """Samples a player's traversals, and stores regrets and strategies."""
        for paths in self._paths((player,), self.exploration, self.config.traversals):
            self._store(player, paths, self.regrets(paths, player), self.weights(paths, player), iteration)

    # --- implementation of `NeuralSolver` ---

    def _advance(self, iteration: int) -> None:
        for player in range(self.game.num_players()):
            self._begin_phase(f"traversals {player}")
            self._fresh: list[tuple[np.ndarray, ...]] = []  # samples, with dcfr+ and pdcfr+
            self._sample_regrets(player, iteration)
            if self.game.num_players() > 2:
                self._sample_strategies(player, iteration)
            self._begin_phase(f"training {player}")
            self._learn(player, iteration)
            self._trained[player] = iteration

    def _learn(self, player: int, iteration: int) -> None:
        """Fits a player's network to its memory, or to the iteration's samples and its outputs before."""
        learner, memory = self._learners[player], self._regrets[player]
        if self.config.minimizer == configs.CFR:
            learner.fit(memory, iteration, memory.tensors)
            return
        tensors, masks, regrets, weights = (np.concatenate(arrays) for arrays in zip(*self._fresh, strict=True))
        targets = self._discounted(player, tensors) + regrets / self._unit
        if self._outputs_per_action == 2:
            targets = np.concatenate([targets, regrets / self._unit], axis=1)
        relative = np.tile(masks, self._outputs_per_action) * (weights / weights.mean())[:, None]
        batch = Batch(np.arange(len(tensors)), targets.astype(np.float32), relative.astype(np.float32))
        learner.fit(batch, iteration, tensors)

    def _discounted(self, player: int, tensors: np.ndarray) -> np.ndarray:
        """Returns the discounted regrets of the iterations so far by a player's network, ``[n, num_actions]``."""
        if not self._trained[player]:
            return np.zeros((len(tensors), self.game.num_distinct_actions()))
        cumulative = self._learners[player].outputs(tensors)[:, : self.game.num_distinct_actions()]
        return self.config.discount(int(self._trained[player])) * np.maximum(cumulative, 0.0)

    def _chunks(self, traversals: int) -> Iterator[int]:
        """Yields numbers of traversals that run in parallel."""
        while traversals > 0:
            yield min(traversals, self.config.parallel_traversals)
            traversals -= self.config.parallel_traversals

    def _paths(self, explorers: Sequence[int], epsilon: float, traversals: int) -> Iterator[Paths]:
        """Yields trajectories in which some players explore."""
        for count in self._chunks(traversals):
            paths = sample_paths(
                self.game, self._observer, self._strategy_of, explorers, epsilon, count, self._new_rng()
            )
            self._nodes[0] += paths.nodes
            yield paths

    def _store(
        self, player: int, decisions: Decisions | Paths, regrets: np.ndarray, weights: np.ndarray | None, iteration: int
    ) -> None:
        """Stores a player's regrets, with weights or None, and the strategies of the other one of two."""
        rows = np.flatnonzero(decisions.players == player)
        own_weights = None if weights is None else weights[rows]
        tensors, masks = decisions.tensors[rows], decisions.masks[rows]
        if self.config.minimizer == configs.CFR:
            self._regrets[player].add(tensors, masks, regrets[rows], own_weights, iteration)
        else:
            own_weights = np.ones(len(rows)) if own_weights is None else own_weights
            self._fresh.append((tensors, masks, regrets[rows], own_weights))
        if self.game.num_players() == 2:
            self._store_strategies(1 - player, decisions, iteration)

    def _sample_strategies(self, player: int, iteration: int) -> None:
        """Stores a player's strategies on histories in which all others explore."""
        others = [other for other in range(self.game.num_players()) if other != player]
        for paths in self._paths(others, self.exploration, self.config.traversals):
            self._store_strategies(player, paths, iteration)

    def _store_strategies(self, player: int, decisions: Decisions | Paths, iteration: int) -> None:
        """Stores a player's strategies on histories in which all others explore."""
        rows, weights = np.flatnonzero(decisions.players == player), None
        if isinstance(decisions, Paths):  # external sampling follows all actions of the other player
            others = [other for other in range(self.game.num_players()) if other != player]
            weights = decisions.importance(others)[rows]
        tensors, masks, strategies = decisions.tensors[rows], decisions.masks[rows], decisions.strategies[rows]
        self._strategies[player].add(tensors, masks, strategies, weights, iteration)

    def _strategy_of(self, player: int, tensors: np.ndarray, masks: np.ndarray) -> np.ndarray:
        if not self._trained[player]:
            return masks / masks.sum(1, keepdims=True)
        is_argmax = self.config.fallback == configs.ARGMAX
        outputs = self._learners[player].outputs(tensors)
        if self._outputs_per_action == 2:
            outputs = predicted_regrets(outputs, self.config.discount(int(self._trained[player])))
        return matched(outputs, masks, is_argmax)

    def _values_at(self, paths: Paths) -> np.ndarray:
        """Returns the network's action values, ``[num_decisions, num_players, num_actions]``; 0 if untrained."""
        players, actions = self.game.num_players(), self.game.num_distinct_actions()
        if self._values is None or not self._trained[-1]:
            return np.zeros((len(paths.traversals), players, actions))
        outputs = self._values.outputs(paths.histories) * self._unit
        outputs = outputs.reshape(len(outputs), -1, actions)
        return np.concatenate([outputs, -outputs], axis=1) if self._is_two_player_zero_sum else outputs

    def _learn_values(self, samples: list[tuple[np.ndarray, ...]], iteration: int) -> None:
        """Trains the network of action values on results of `value_samples`."""
        self._begin_phase("values")
        histories, actions, found = (np.concatenate(arrays) for arrays in zip(*samples, strict=True))
        shape = (len(actions), self._num_heads, self.game.num_distinct_actions())
        targets, weights = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        rows = np.arange(len(actions))
        targets[rows, :, actions] = found[:, : self._num_heads] / self._unit
        weights[rows, :, actions] = 1.0
        assert self._values is not None
        flat = (len(rows), self._num_heads * self.game.num_distinct_actions())
        memory = Batch(rows, targets.reshape(flat), weights.reshape(flat))
        self._values.fit(memory, iteration, histories)
        self._trained[-1] = iteration

    def _arrays(self) -> dict[str, np.ndarray]:
        arrays = {"rng": self._rng, "nodes": self._nodes, "trained": self._trained}
        for player, (learner, rngs) in enumerate(zip(self._learners, self._player_rngs, strict=True)):
            arrays[f"player{player}/rngs"] = rngs
            arrays |= {f"player{player}/network/{name}": a for name, a in learner.state().items() if name != "rngs"}
        values = {} if self._values is None else self._values.state()
        return arrays | {f"values/{name}": array for name, array in values.items()}

    def _memories(self) -> dict[str, Buffer]:
        memories: dict[str, Buffer] = {f"player{p}/regrets": memory for p, memory in enumerate(self._regrets)}
        return memories | {f"player{p}/strategies": memory for p, memory in enumerate(self._strategies)}

    def _step_losses(self) -> list[list[float]]:
        return [learner.losses for learner in self._learners]

    # --- results ---

    def average_policy(self) -> NetworkPolicy:  # type: ignore[override]
        """Returns the average policy. Its networks are trained on the first call after an iteration.

        Raises:
            TrainingError: If their training diverges.
        """
        if self._averaged is None or self._averaged[0] != self.iterations:
            iteration, config = max(self.iterations, 1), self.config.policy_training
            seeds = [int(rngs[0]) ^ self.iterations for rngs in self._player_rngs]
            with torch_threads(self.config.threads):
                networks = [
                    trained_policy_network(memory, config, seeds[player], iteration, player, self._modules)
                    for player, memory in enumerate(self._strategies)
                ]
            self._averaged = (self.iterations, NetworkPolicy(self.game, networks, SOFTMAX))
        return self._averaged[1]

    def current_policy(self) -> NetworkPolicy:  # type: ignore[override]
        """Returns a copy of the policy of the next iteration."""
        discount = self.config.discount(self.iterations) if self._outputs_per_action == 2 else None
        return NetworkPolicy(self.game, [learner.copy() for learner in self._learners], MATCHING, discount)


def value_samples(paths: Paths, values: np.ndarray) -> tuple[np.ndarray, ...]:
    """Returns tensors of histories, the actions drawn there, and the players' values of these."""
    return paths.histories, paths.actions, value_targets(paths, values)
