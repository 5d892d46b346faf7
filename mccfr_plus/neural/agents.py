"""A player of NFSP: its two networks, and the memories that they learn from."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

from mccfr_plus.neural.backend import torch
from mccfr_plus.neural.config import TrainingConfig
from mccfr_plus.neural.learner import Learner
from mccfr_plus.neural.memory import infoset_columns
from mccfr_plus.neural.network import Modules, Network
from mccfr_plus.neural.nfsp_config import NFSPConfig
from mccfr_plus.neural.sampling.paths import Paths
from mccfr_plus.neural.store import Store


class Transitions(Store):
    """A player's latest transitions, from a decision to its next one, with the target network.

    The target is r + max_a' Q'(s', a') with the target network's Q', or r at the end of the game, where no action is
    legal in s'.

    Reference: Heinrich, Silver 2016, algorithm 1.
    """

    def __init__(self, columns: dict[str, np.ndarray], target: Network):
        capacity = len(columns["infosets"])
        following = {"next_infosets": columns["infosets"], "next_masks": columns["masks"]}
        taken = {"infosets": np.zeros_like(columns["infosets"]), "actions": np.zeros(capacity, np.int64)}
        super().__init__(following | taken | {"rewards": np.zeros(capacity, np.float32)})
        self._target = target

    def batches(self, size: int, iteration: int, rng: np.ndarray) -> Iterator[tuple[np.ndarray, ...]]:
        """Yields information sets, actions and targets."""
        for rows in self.drawn(size, rng):
            after, masks = self._target.outputs(rows["next_infosets"]), rows["next_masks"]
            best = np.where(masks.any(1), np.where(masks, after, -np.inf).max(1), 0.0)
            yield rows["infosets"], rows["actions"], (rows["rewards"] + best).astype(np.float32)


class Decisions(Store):
    """A uniform sample of all actions of a player's best responses."""

    def __init__(self, columns: dict[str, np.ndarray], rng: np.ndarray):
        super().__init__(columns | {"actions": np.zeros(len(columns["infosets"]), np.int64)}, rng)

    def batches(self, size: int, iteration: int, rng: np.ndarray) -> Iterator[tuple[np.ndarray, ...]]:
        """Yields information sets, actions and which actions are illegal."""
        for rows in self.drawn(size, rng):
            yield rows["infosets"], rows["actions"], ~rows["masks"]


def error_of_actions(outputs: torch.Tensor, actions: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Returns the mean squared error of the outputs of actions."""
    return (outputs.gather(1, actions[:, None]) - targets[:, None]).square().mean()


def imitation_error(outputs: torch.Tensor, actions: torch.Tensor, is_illegal: torch.Tensor) -> torch.Tensor:
    """Returns the mean of -log Pi(s, a) over decisions."""
    return torch.nn.functional.cross_entropy(outputs.masked_fill(is_illegal, -torch.inf), actions)


class Agent:
    """A player whose best response learns action values, and whose average policy imitates it.

    Args:
        env: The environment.
        config: The settings.
        player: The player.
        rngs: ``[5]`` uint64, states of generators: of the reservoir; of initial parameters and batches of each network.
        modules: Factories of the networks and of their optimizers, and the device.

    Attributes:
        values: Action values, by Q-learning with a target network (Mnih et al. 2015, algorithm 1).
        policy: The average policy.
        target: A copy of `values`, renewed now and then.
        transitions, decisions: What they learn from.
        updates: ``[1]`` int64, how many were made.
    """

    def __init__(self, env: Any, config: NFSPConfig, player: int, rngs: np.ndarray, modules: Modules):
        self._config = config
        self.unit = env.unit_of(player, config.scale_targets)  # divisor of the values
        inputs, num_actions = env.inputs[player], env.num_actions
        training = TrainingConfig(
            hidden_layers=config.hidden_layers, gradient_clip=config.gradient_clip, batch_size=config.batch_size
        )

        def learner(name: str, rate: float, own_rngs: np.ndarray) -> Learner:
            own, title = dataclasses.replace(training, learning_rate=rate), f"{name} loss of player {player}"
            return Learner(inputs, num_actions, own, own_rngs, title, modules)

        self.values = learner("value", config.value_learning_rate, rngs[1:3])
        self.policy = learner("policy", config.policy_learning_rate, rngs[3:])
        self.target = Network(inputs, num_actions, training, 0, modules)
        self.target.assign(self.values)
        self.updates = np.zeros(1, np.int64)

        capacity, decisions = config.transition_capacity, config.decision_capacity
        self.transitions = Transitions(infoset_columns(capacity, inputs, num_actions), self.target)
        self.decisions = Decisions(infoset_columns(decisions, inputs, num_actions), rngs[:1])
        self.losses, self.value_losses = list[float](), list[float]()  # of the average policy and the action values

    def store(self, paths: Paths, player: int, is_best_response: bool) -> None:
        """Stores the player's transitions of some episodes, and its decisions if it followed its best response."""
        own = np.flatnonzero(paths.players == player)
        following = next_decisions(paths, own)
        is_last = following < 0
        next_infosets, next_masks = paths.infosets[following], paths.masks[following]
        next_infosets[is_last], next_masks[is_last] = 0, False
        rewards = np.where(is_last, paths.returns[paths.traversals[own], player] / self.unit, 0.0)
        taken = {"infosets": paths.infosets[own], "actions": paths.actions[own]}
        self.transitions.add_rows(**taken, rewards=rewards, next_infosets=next_infosets, next_masks=next_masks)
        if is_best_response:
            self.decisions.add_rows(**taken, masks=paths.masks[own])

    def learn(self, updates: int, iteration: int) -> None:
        """Makes a number of updates, each of which is a step of both networks.

        Raises:
            TrainingError: If a loss is not finite.
        """
        every, least = self._config.target_every, self._config.min_samples
        while updates > 0:
            steps = min(updates, every - int(self.updates[0]) % every)
            if len(self.transitions) >= least:
                self.value_losses += self.values.fit(self.transitions, iteration, error_of_actions, steps)
            if len(self.decisions) >= least:
                self.losses += self.policy.fit(self.decisions, iteration, imitation_error, steps)
            self.updates += steps
            updates -= steps
            if self.updates[0] % every == 0:
                self.target.assign(self.values)

    def state(self) -> dict[str, Any]:
        """Returns what changes in an iteration, by name; see `named`."""
        networks = {"values": self.values, "policy": self.policy, "target": self.target}
        memories = {"transitions": self.transitions, "decisions": self.decisions}
        return networks | memories | {"updates": self.updates}


def next_decisions(paths: Paths, own: np.ndarray) -> np.ndarray:
    """Returns a player's next decision in the same trajectory for each of its decisions, ``[n]`` int64; -1: none.

    Args:
        paths: Trajectories.
        own: ``[n]``, all decisions of the player in ascending order.
    """
    traversals, following = paths.traversals[own], np.full(len(own), -1)
    order = np.argsort(traversals, kind="stable")
    has_next = traversals[order[:-1]] == traversals[order[1:]]
    following[order[:-1][has_next]] = own[order[1:][has_next]]
    return following
