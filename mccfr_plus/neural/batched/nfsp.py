"""NFSP without a tree: episodes in parallel."""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import ClassVar

import numpy as np

from mccfr_plus.kernels.random_numbers import new_states
from mccfr_plus.neural.batched.config import BatchedNFSPConfig
from mccfr_plus.neural.batched.network_policy import (
    GREEDY,
    SOFTMAX,
    NetworkPolicy,
    greedy,
    masked_softmax,
)
from mccfr_plus.neural.batched.paths import Paths, sample_paths
from mccfr_plus.neural.batched.solver import TreelessSolver
from mccfr_plus.neural.buffer import Buffer, RowBuffer
from mccfr_plus.neural.config import TrainingConfig
from mccfr_plus.neural.learner import Learner, cross_entropy
from mccfr_plus.neural.memory import TensorReservoir
from mccfr_plus.neural.network import Network
from mccfr_plus.neural.solver import Seed, mean_losses

_PER_PLAYER = 5  # generators: of the reservoir; of initial parameters and batches of each network


class BatchedNFSP(TreelessSolver):
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

    def _build(self, seed: Seed) -> None:
        players = self.game.num_players()
        rngs = new_states(seed, 1 + _PER_PLAYER * players)
        self._rng = rngs[:1].copy()
        player_rngs = rngs[1:].reshape(players, _PER_PLAYER)
        self._agents = [_Agent(self, player, player_rngs[player].copy()) for player in range(players)]

    # --- implementation of `NeuralSolver` ---

    def _advance(self, iteration: int) -> None:
        for agent in self._agents:
            agent.values.losses, agent.policy.losses = [], []
        for is_best, episodes in self._groups():
            self._begin_phase("episodes")

            def strategies(
                player: int, tensors: np.ndarray, masks: np.ndarray, is_best: tuple[bool, ...] = is_best
            ) -> np.ndarray:
                return self._agents[player].strategies(tensors, masks, is_best[player])

            paths = sample_paths(self.game, self._observer, strategies, (), 0.0, episodes, self._new_rng())
            self._nodes[0] += paths.nodes
            for player, agent in enumerate(self._agents):
                agent.store(paths, player, is_best[player], iteration)
            self._begin_phase("training")
            for agent in self._agents:
                agent.learn(iteration)

    def _groups(self) -> list[tuple[tuple[bool, ...], int]]:
        """Returns groups of the iteration's episodes: which players follow best responses, and how many episodes."""
        eta, players = self.config.anticipatory, self.game.num_players()
        combinations = list(itertools.product((False, True), repeat=players))
        probabilities = [math.prod(eta if best else 1.0 - eta for best in is_best) for is_best in combinations]
        groups, rng = [], self._new_rng()
        left = self.config.episodes
        while left > 0:
            now = min(left, self.config.parallel_episodes)
            counts = rng.multinomial(now, probabilities)
            groups += [(is_best, int(count)) for is_best, count in zip(combinations, counts, strict=True) if count]
            left -= now
        return groups

    def _arrays(self) -> dict[str, np.ndarray]:
        arrays = {"rng": self._rng, "nodes": self._nodes}
        for player, agent in enumerate(self._agents):
            arrays |= {f"player{player}/{name}": array for name, array in agent.state().items()}
        return arrays

    def _memories(self) -> dict[str, Buffer]:
        memories: dict[str, Buffer] = {}
        for player, agent in enumerate(self._agents):
            memories |= {f"player{player}/transitions": agent.transitions, f"player{player}/decisions": agent.decisions}
        return memories

    def _step_losses(self) -> list[list[float]]:
        return [agent.policy.losses for agent in self._agents]

    # --- results ---

    @property
    def value_losses(self) -> tuple[float | None, ...]:
        """Per player, the mean loss of the action values in the last iteration; None if they were not trained."""
        return mean_losses(agent.values.losses for agent in self._agents)

    def average_policy(self) -> NetworkPolicy:  # type: ignore[override]
        """Returns a copy of the average networks' policy, which approximates an equilibrium."""
        return NetworkPolicy(self.game, [agent.policy.copy() for agent in self._agents], SOFTMAX)

    def current_policy(self) -> NetworkPolicy:  # type: ignore[override]
        """Returns the same as `average_policy`."""
        return self.average_policy()

    def best_response_policy(self) -> NetworkPolicy:
        """Returns a copy of the greedy policy of the action values."""
        return NetworkPolicy(self.game, [agent.values.copy() for agent in self._agents], GREEDY)


class _Agent:
    """A player's two networks, a target network, and memories."""

    def __init__(self, solver: BatchedNFSP, player: int, rngs: np.ndarray):
        self._config, self._unit, self._reservoir_rng = solver.config, solver._unit, rngs[:1]
        size, actions, config = solver._observer.size, solver.game.num_distinct_actions(), solver.config
        training = TrainingConfig(hidden_layers=config.hidden_layers, gradient_clip=config.gradient_clip)
        no_inputs, modules = np.zeros((0, size), np.float32), solver._modules
        rates = {"value": config.value_learning_rate, "policy": config.policy_learning_rate}
        self.values, self.policy = (
            Learner(
                no_inputs,
                actions,
                dataclasses.replace(training, learning_rate=rate),
                rngs[begin : begin + 2],
                f"{name} loss of player {player}",
                modules,
            )
            for (name, rate), begin in zip(rates.items(), (1, 3), strict=True)
        )
        self._target = Network(size, actions, training, 0, modules)
        self._target.assign(self.values)
        capacity = config.transition_capacity
        self.transitions = RowBuffer(
            {
                "tensors": np.zeros((capacity, size), np.float32),
                "actions": np.zeros(capacity, np.int64),
                "rewards": np.zeros(capacity, np.float32),
                "next_tensors": np.zeros((capacity, size), np.float32),
                "next_masks": np.zeros((capacity, actions), bool),  # no legal action: the game was over
            }
        )
        self.decisions = TensorReservoir(size, actions, config.decision_capacity, rngs[:1], power=0.0)
        self._counts = np.zeros(2, np.int64)  # steps, updates

    def strategies(self, tensors: np.ndarray, masks: np.ndarray, is_best: bool) -> np.ndarray:
        """Returns the strategies of the best response, with exploration, or of the average policy."""
        if not is_best:
            return masked_softmax(self.policy.outputs(tensors), masks)
        epsilon = self._config.epsilon(int(self._counts[0]))
        best = greedy(self.values.outputs(tensors), masks)
        return epsilon * masks / masks.sum(1, keepdims=True) + (1.0 - epsilon) * best

    def state(self) -> dict[str, np.ndarray]:
        """Returns the state between iterations: views, by name."""
        networks = {"values": self.values, "policy": self.policy, "target": self._target}
        arrays = {f"{name}/{key}": array for name, each in networks.items() for key, array in each.state().items()}
        return arrays | {"reservoir_rng": self._reservoir_rng, "counts": self._counts}

    def store(self, paths: Paths, player: int, is_best_response: bool, iteration: int) -> None:
        """Stores the player's transitions of some episodes, and its decisions if it followed its best response."""
        own = np.flatnonzero(paths.players == player)
        following = next_decisions(paths, own)
        is_last = following < 0
        next_tensors, next_masks = paths.tensors[following], paths.masks[following]
        next_tensors[is_last], next_masks[is_last] = 0, False
        rewards = np.where(is_last, paths.returns[paths.traversals[own], player] / self._unit, 0.0)
        self.transitions.add_rows(
            tensors=paths.tensors[own],
            actions=paths.actions[own],
            rewards=rewards,
            next_tensors=next_tensors,
            next_masks=next_masks,
        )
        if is_best_response:
            chosen = np.zeros(paths.masks[own].shape)
            chosen[np.arange(len(own)), paths.actions[own]] = 1.0
            self.decisions.add(paths.tensors[own], paths.masks[own], chosen, None, iteration)
        # The end of an episode is a step too, as OpenSpiel's agents count.
        self._counts[0] += len(own) + len(np.unique(paths.traversals[own]))

    def learn(self, iteration: int) -> None:
        """Makes the updates that are due."""
        config = self._config
        while (self._counts[1] + 1) * config.learn_every <= self._counts[0]:
            if len(self.transitions) >= config.min_samples:
                self._learn_values(iteration)
            if len(self.decisions) >= config.min_samples:
                self._learn_policy(iteration)
            self._counts[1] += 1
            if self._counts[1] % config.target_every == 0:
                self._target.assign(self.values)

    def _learn_values(self, iteration: int) -> None:
        drawn = self.values.draw_from(self.transitions, self._config.batch_size)
        after, masks = self._target.outputs(drawn["next_tensors"]), drawn["next_masks"]
        best = np.where(masks.any(1), np.where(masks, after, -np.inf).max(1), 0.0)
        targets = self.values.tensor((drawn["rewards"] + best).astype(np.float32))[:, None]
        actions = self.values.tensor(drawn["actions"])[:, None]
        inputs = self.values.tensor(drawn["tensors"])
        self.values.step(inputs, lambda outputs: (outputs.gather(1, actions) - targets).square().mean(), iteration)

    def _learn_policy(self, iteration: int) -> None:
        drawn = self.policy.draw_from(self.decisions, self._config.batch_size)
        inputs, targets, masks = (self.policy.tensor(drawn[name]) for name in ("tensors", "values", "masks"))
        self.policy.step(inputs, lambda outputs: cross_entropy(outputs, targets, masks.float()), iteration)


def next_decisions(paths: Paths, own: np.ndarray) -> np.ndarray:
    """Returns a player's next decision in the same trajectory for each of its decisions, ``[n]`` int64; -1: none.

    Args:
        paths: Trajectories.
        own: ``[n]``, all decisions of the player in ascending order.
    """
    following, later = np.full(len(own), -1), np.full(len(paths.returns), -1)
    for position in range(len(own) - 1, -1, -1):
        traversal = paths.traversals[own[position]]
        following[position], later[traversal] = later[traversal], own[position]
    return following
