"""NFSP without a tree: episodes in parallel."""

from __future__ import annotations

import itertools
import math
from typing import ClassVar

import numpy as np
import pyspiel

from mccfr_plus.kernels.random_numbers import new_states
from mccfr_plus.neural.adam import Adam
from mccfr_plus.neural.backend import torch
from mccfr_plus.neural.batched.config import BatchedNFSPConfig
from mccfr_plus.neural.batched.network_policy import (
    GREEDY,
    SOFTMAX,
    NetworkPolicy,
    greedy,
    imitation_gradient,
    masked_softmax,
    outputs_of,
)
from mccfr_plus.neural.batched.paths import Paths, sample_paths
from mccfr_plus.neural.batched.solver import TreelessSolver
from mccfr_plus.neural.buffer import Buffer, RowBuffer
from mccfr_plus.neural.memory import TensorReservoir
from mccfr_plus.neural.network import MLP
from mccfr_plus.neural.solver import Seed, mean_losses
from mccfr_plus.neural.training import check_finite

_PER_PLAYER = 4  # generators: of the reservoir, of initial parameters, of both kinds of batches


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

    def __init__(self, game: pyspiel.Game | str, config: BatchedNFSPConfig | None = None, seed: Seed = None):
        super().__init__(game, config, seed)
        players = self.game.num_players()
        rngs = new_states(seed, 1 + _PER_PLAYER * players)
        self._rng = rngs[:1].copy()
        player_rngs = rngs[1:].reshape(players, _PER_PLAYER)
        self._agents = [_Agent(self, player, player_rngs[player].copy()) for player in range(players)]

    # --- implementation of `NeuralSolver` ---

    def _advance(self, iteration: int) -> None:
        for agent in self._agents:
            agent.losses, agent.value_losses = [], []
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
        return [agent.losses for agent in self._agents]

    # --- results ---

    @property
    def value_losses(self) -> tuple[float | None, ...]:
        """Per player, the mean loss of the action values in the last iteration; None if they were not trained."""
        return mean_losses(agent.value_losses for agent in self._agents)

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
        self._config, self._player, self._unit = solver.config, player, solver._unit
        self._rngs = rngs
        size, actions, config = solver._observer.size, solver.game.num_distinct_actions(), solver.config
        shape = (size, *config.hidden_layers, actions)
        initial = np.random.default_rng(int(rngs[1]))
        self.values, self.policy = MLP(shape, rng=initial), MLP(shape, rng=initial)
        self._target = self.values.copy()
        self._value_adam = Adam(self.values, config.value_learning_rate, config.gradient_clip)
        self._policy_adam = Adam(self.policy, config.policy_learning_rate, config.gradient_clip)
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
        self.losses: list[float] = []
        self.value_losses: list[float] = []

    def strategies(self, tensors: np.ndarray, masks: np.ndarray, is_best: bool) -> np.ndarray:
        """Returns the strategies of the best response, with exploration, or of the average policy."""
        if not is_best:
            return masked_softmax(outputs_of(self.policy, tensors), masks)
        epsilon = self._config.epsilon(int(self._counts[0]))
        best = greedy(outputs_of(self.values, tensors), masks)
        return epsilon * masks / masks.sum(1, keepdims=True) + (1.0 - epsilon) * best

    def state(self) -> dict[str, np.ndarray]:
        """Returns the state between iterations: views, by name."""
        networks = {"values": self.values, "policy": self.policy, "target": self._target}
        arrays = {f"{name}/parameters": network.parameters.numpy() for name, network in networks.items()}
        for name, adam in (("values", self._value_adam), ("policy", self._policy_adam)):
            arrays |= {f"{name}/{key}": array for key, array in adam.state().items()}
        return arrays | {"rngs": self._rngs, "counts": self._counts}

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
        batches = None
        while (self._counts[1] + 1) * config.learn_every <= self._counts[0]:
            if len(self.transitions) >= config.min_samples:
                self.value_losses.append(self._learn_values(iteration))
            if len(self.decisions) >= config.min_samples:
                batches = batches or self.decisions.batches(config.batch_size, iteration, self._rngs[2:3])
                loss = imitation_gradient(self.policy, self.decisions, next(batches))
                self._check(loss, "policy loss", iteration)
                self.losses.append(loss)
                self._policy_adam.step()
            self._counts[1] += 1
            if self._counts[1] % config.target_every == 0:
                self._target.parameters.copy_(self.values.parameters)

    def _learn_values(self, iteration: int) -> float:
        drawn = self.transitions.draw(self._config.batch_size, self._rngs[3:4])
        after = outputs_of(self._target, drawn["next_tensors"])
        best = np.where(drawn["next_masks"], after, -np.inf).max(1)
        targets = drawn["rewards"] + np.where(drawn["next_masks"].any(1), best, 0.0)
        shape = after.shape
        wanted, weights = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        rows = np.arange(len(targets))
        wanted[rows, drawn["actions"]], weights[rows, drawn["actions"]] = targets, 1.0
        inputs = torch.from_numpy(drawn["tensors"])
        loss = self.values.loss_gradient(inputs, torch.from_numpy(wanted), torch.from_numpy(weights))
        self._check(loss, "value loss", iteration)
        self._value_adam.step()
        return loss

    def _check(self, loss: float, name: str, iteration: int) -> None:
        advice = (
            f"The solver is as it was after iteration {iteration - 1}. Lower value_learning_rate or "
            "policy_learning_rate, or set gradient_clip."
        )
        check_finite(loss, f"{name} of player {self._player} is {loss}", iteration, advice)


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
