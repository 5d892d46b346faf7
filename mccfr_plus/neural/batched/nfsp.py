"""NFSP without a tree: episodes side by side."""

from __future__ import annotations

import itertools
import math
from typing import Any, ClassVar

import numpy as np
import pyspiel

from mccfr_plus.errors import TrainingError
from mccfr_plus.kernels.random_numbers import new_states
from mccfr_plus.neural.adam import Adam
from mccfr_plus.neural.backend import torch
from mccfr_plus.neural.batched.average_policy import cross_entropy
from mccfr_plus.neural.batched.config import BatchedNFSPConfig
from mccfr_plus.neural.batched.network_policy import (
    GREEDY,
    SOFTMAX,
    NetworkPolicy,
    greedy,
    masked_softmax,
    outputs_of,
)
from mccfr_plus.neural.batched.paths import Paths, sample_paths
from mccfr_plus.neural.batched.reservoir import TensorReservoir
from mccfr_plus.neural.batched.treeless import TreelessSolver
from mccfr_plus.neural.buffer import RowBuffer
from mccfr_plus.neural.network import MLP

_PER_PLAYER = 4  # generators: of the reservoir, of initial parameters, of both kinds of batches


class BatchedNFSP(TreelessSolver):
    """`NFSP` for games that are not enumerated. An iteration is so many episodes, and the updates that are due then.

    Whether a player follows its best response in an episode is drawn for each player and episode; episodes in which the
    same players do are played side by side. Where the sources train after every so many steps, here that is made up for
    after each group of episodes.

    Args:
        game: A `pyspiel.Game` or a game string: players in turn, with information-state tensors.
        config: A `BatchedNFSPConfig`; None: its defaults.
        seed: An integer for a repeatable run (the same bits on one machine), a numpy generator, or None.

    Raises:
        GameError: If the game cannot be loaded or has no information-state tensors.
        ConfigError: If the config is none, or the seed is not allowed.

    Reference: Heinrich, Silver 2016, "Deep reinforcement learning from self-play in imperfect-information games",
    algorithm 1.

    Example:
        >>> from mccfr_plus.neural import BatchedNFSP, BatchedNFSPConfig
        >>> solver = BatchedNFSP("phantom_ttt", BatchedNFSPConfig(episodes=20), seed=1).run(1)
        >>> solver.iterations
        1
    """

    config_class: ClassVar[type] = BatchedNFSPConfig
    config: BatchedNFSPConfig

    def __init__(
        self,
        game: pyspiel.Game | str,
        config: BatchedNFSPConfig | None = None,
        seed: int | np.random.Generator | None = None,
    ):
        super().__init__(game, config, seed)
        players = self.game.num_players()
        rngs = new_states(seed, 1 + _PER_PLAYER * players)
        self._rng = rngs[:1].copy()
        self._agents = [
            _Agent(self, player, rngs[1 + _PER_PLAYER * player :][:_PER_PLAYER].copy()) for player in range(players)
        ]

    # --- what `NeuralSolver` asks for ---

    def _advance(self, iteration: int) -> None:
        for agent in self._agents:
            agent.losses, agent.value_losses = [], []
        for modes, episodes in self._groups():
            self._begin_phase("episodes")
            paths = sample_paths(self.game, self._observer, _Mode(self, modes), None, 0.0, episodes, self._new_rng())
            self._nodes[0] += paths.nodes
            for player, agent in enumerate(self._agents):
                agent.remember(paths, player, modes[player], iteration)
            self._begin_phase("training")
            for agent in self._agents:
                agent.learn(iteration)

    def _groups(self) -> list[tuple[tuple[bool, ...], int]]:
        """Returns who follows a best response in how many of the iteration's episodes, some at a time."""
        eta, players = self.config.anticipatory, self.game.num_players()
        every = list(itertools.product((False, True), repeat=players))
        chances = [math.prod(eta if best else 1.0 - eta for best in modes) for modes in every]
        groups, rng = [], self._new_rng()
        left = self.config.episodes
        while left > 0:
            now = min(left, self.config.parallel_episodes)
            counts = rng.multinomial(now, chances)
            groups += [(modes, int(count)) for modes, count in zip(every, counts, strict=True) if count]
            left -= now
        return groups

    def _arrays(self) -> dict[str, np.ndarray]:
        arrays = {"rng": self._rng, "nodes": self._nodes}
        for player, agent in enumerate(self._agents):
            arrays |= {f"player{player}/{name}": array for name, array in agent.state().items()}
        return arrays

    def _memories(self) -> dict[str, Any]:
        rings = {f"player{player}/transitions": agent.transitions for player, agent in enumerate(self._agents)}
        return rings | {f"player{player}/decisions": agent.decisions for player, agent in enumerate(self._agents)}

    # --- asking ---

    @property
    def losses(self) -> tuple[float | None, ...]:
        """Per player, the mean loss of the average policy in the last iteration; None if it was not trained."""
        return tuple(_mean(agent.losses) for agent in self._agents)

    @property
    def value_losses(self) -> tuple[float | None, ...]:
        """Per player, the mean loss of the action values in the last iteration; None if they were not trained."""
        return tuple(_mean(agent.value_losses) for agent in self._agents)

    def average_policy(self) -> NetworkPolicy:  # type: ignore[override]
        """Returns the average networks' policy, which is what comes near an equilibrium. It owns its numbers."""
        return NetworkPolicy(self.game, [agent.policy.copy() for agent in self._agents], SOFTMAX)

    def current_policy(self) -> NetworkPolicy:  # type: ignore[override]
        """Returns the same as `average_policy`: most of what the next iteration plays. It owns its numbers."""
        return self.average_policy()

    def best_response_policy(self) -> NetworkPolicy:
        """Returns the policy that plays the best action by the values learned everywhere. It owns its numbers."""
        return NetworkPolicy(self.game, [agent.values.copy() for agent in self._agents], GREEDY)


class _Mode:
    """What players play in a group of episodes: best responses that explore, or average policies."""

    def __init__(self, solver: BatchedNFSP, modes: tuple[bool, ...]):
        self._agents, self._modes = solver._agents, modes

    def __call__(self, player: int, tensors: np.ndarray, masks: np.ndarray) -> np.ndarray:
        agent = self._agents[player]
        if not self._modes[player]:
            return masked_softmax(outputs_of(agent.policy, tensors), masks)
        epsilon = agent.epsilon
        best = greedy(outputs_of(agent.values, tensors), masks)
        return epsilon * masks / masks.sum(1, keepdims=True) + (1.0 - epsilon) * best


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
                "tensors": np.zeros((capacity, size), np.float16),
                "actions": np.zeros(capacity, np.int64),
                "rewards": np.zeros(capacity, np.float32),
                "next_tensors": np.zeros((capacity, size), np.float16),
                "next_masks": np.zeros((capacity, actions), bool),  # no legal action: the game was over
            }
        )
        self.decisions = TensorReservoir(size, actions, config.decision_capacity, rngs[:1], power=0.0)
        self._counts = np.zeros(2, np.int64)  # steps, updates
        self.losses: list[float] = []
        self.value_losses: list[float] = []

    @property
    def epsilon(self) -> float:
        """How likely the best response is to explore."""
        return self._config.epsilon(int(self._counts[0]))

    def state(self) -> dict[str, np.ndarray]:
        """Returns the arrays that carry from one iteration to the next, by name: views."""
        networks = {"values": self.values, "policy": self.policy, "target": self._target}
        arrays = {f"{name}/parameters": network.parameters.numpy() for name, network in networks.items()}
        for name, adam in (("values", self._value_adam), ("policy", self._policy_adam)):
            arrays |= {f"{name}/{part}": array for part, array in adam.state().items()}
        return arrays | {"rngs": self._rngs, "counts": self._counts}

    def remember(self, paths: Paths, player: int, is_best_response: bool, iteration: int) -> None:
        """Takes the player's transitions of some episodes, and its decisions if it followed its best response."""
        own = np.flatnonzero(paths.players == player)
        following = next_points(paths, own)
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
        # An episode's end is a step, too, as OpenSpiel's agents count.
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
                rows, targets, weights = (torch.from_numpy(array) for array in next(batches))
                inputs = torch.from_numpy(self.decisions.tensors).index_select(0, rows).float()
                loss = self.policy.differentiate(inputs, cross_entropy(targets, weights))
                self.losses.append(self._checked(loss, "policy loss", iteration))
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
        inputs = torch.from_numpy(drawn["tensors"].astype(np.float32))
        loss = self.values.loss_gradient(inputs, torch.from_numpy(wanted), torch.from_numpy(weights))
        self._checked(loss, "value loss", iteration)
        self._value_adam.step()
        return loss

    def _checked(self, loss: float, what: str, iteration: int) -> float:
        if not math.isfinite(loss):
            raise TrainingError(
                f"training diverged in iteration {iteration}: the {what} of player {self._player} is {loss}. The "
                f"solver is as it was after iteration {iteration - 1}. Lower value_learning_rate or "
                "policy_learning_rate, or set gradient_clip."
            )
        return loss


def next_points(paths: Paths, own: np.ndarray) -> np.ndarray:
    """Returns for some points of a player the next of them in the same history, ``[n]`` int64; -1 if there is none.

    Args:
        paths: Histories.
        own: ``[n]``, all points of a player in ascending order.
    """
    following, later = np.full(len(own), -1), np.full(len(paths.returns), -1)
    for position in range(len(own) - 1, -1, -1):
        traversal = paths.traversals[own[position]]
        following[position], later[traversal] = later[traversal], own[position]
    return following


def _mean(losses: list[float]) -> float | None:
    return sum(losses) / len(losses) if losses else None
