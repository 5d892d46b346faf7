"""A player of NFSP: its two networks, and the memories that they learn from."""

from __future__ import annotations

import abc
import dataclasses
from typing import Any

import numpy as np

from mccfr_plus.neural.backend import torch
from mccfr_plus.neural.batched.paths import Paths
from mccfr_plus.neural.config import TrainingConfig
from mccfr_plus.neural.episodes import DECISION, TRANSITION
from mccfr_plus.neural.learner import Learner
from mccfr_plus.neural.memory import tensor_columns
from mccfr_plus.neural.network import Modules, Network
from mccfr_plus.neural.nfsp_config import NFSPConfig
from mccfr_plus.neural.store import Store


class Agent(abc.ABC):
    """A player whose best response learns action values, and whose average policy imitates it.

    Args:
        env: A `TreeEnv` or `BatchedEnv`.
        config: The settings.
        player: The player.
        rngs: ``[5]`` uint64, states of generators: of the reservoir; of initial parameters and batches of each network.
        modules: Factories of the networks and of their optimizers, and the device.

    Attributes:
        values: Action values, by Q-learning with a target network (Mnih et al. 2015, algorithm 1).
        policy: The average policy.
        transitions: The latest ones.
        decisions: A uniform sample of all actions of best responses.
        updates: ``[1]`` int64, how many were made.
    """

    transitions: Store
    decisions: Store

    def __init__(self, env: Any, config: NFSPConfig, player: int, rngs: np.ndarray, modules: Modules):
        self._config, self._rngs = config, rngs
        self.unit = env.unit_of(player, config.scale_targets)  # divisor of the values
        self._training = TrainingConfig(hidden_layers=config.hidden_layers, gradient_clip=config.gradient_clip)
        self.values = self._learner(env, "value", player, config.value_learning_rate, rngs[1:3], modules)
        self.policy = self._learner(env, "policy", player, config.policy_learning_rate, rngs[3:], modules)
        self.updates = np.zeros(1, np.int64)

    def _learner(self, env: Any, name: str, player: int, rate: float, rngs: np.ndarray, modules: Modules) -> Learner:
        training = dataclasses.replace(self._training, learning_rate=rate)
        return Learner(
            env.inputs_of(player), env.num_actions, training, rngs, f"{name} loss of player {player}", modules
        )

    @abc.abstractmethod
    def value_batch(self, drawn: dict[str, np.ndarray]) -> tuple[torch.Tensor, np.ndarray, np.ndarray]:
        """Returns the inputs of transitions, the actions taken, and r + max_a' Q'(s', a') with the target network's Q'
        (r at the end of the game).
        """

    @abc.abstractmethod
    def policy_batch(self, drawn: dict[str, np.ndarray]) -> tuple[torch.Tensor, np.ndarray, np.ndarray]:
        """Returns the inputs of decisions, the actions taken, and the legal actions."""

    @abc.abstractmethod
    def renew_target(self) -> None:
        """Copies the network of values to the target network."""

    def learn(self, updates: int, iteration: int) -> None:
        """Makes a number of updates, each of which is a step of both networks.

        Raises:
            TrainingError: If a loss is not finite.
        """
        config = self._config
        for _ in range(updates):
            if len(self.transitions) >= config.min_samples:
                self.learn_values(self.values.draw_from(self.transitions, config.batch_size), iteration)
            if len(self.decisions) >= config.min_samples:
                self.learn_policy(self.policy.draw_from(self.decisions, config.batch_size), iteration)
            self.updates[0] += 1
            if self.updates[0] % config.target_every == 0:
                self.renew_target()

    def learn_values(self, drawn: dict[str, np.ndarray], iteration: int) -> None:
        """Makes a step on the mean squared error of the actions taken in transitions.

        Reference: Heinrich, Silver 2016, algorithm 1.
        """
        inputs, taken, wanted = self.value_batch(drawn)
        actions, targets = (self.values.tensor(array)[:, None] for array in (taken, wanted))
        self.values.step(inputs, lambda outputs: (outputs.gather(1, actions) - targets).square().mean(), iteration)

    def learn_policy(self, drawn: dict[str, np.ndarray], iteration: int) -> None:
        """Makes a step on the mean of -log Pi(s, a) over decisions.

        Reference: Heinrich, Silver 2016, algorithm 1.
        """
        inputs, taken, masks = self.policy_batch(drawn)
        actions, is_illegal = self.policy.tensor(taken), self.policy.tensor(~masks)

        def loss(outputs: torch.Tensor) -> torch.Tensor:
            return torch.nn.functional.cross_entropy(outputs.masked_fill(is_illegal, -torch.inf), actions)

        self.policy.step(inputs, loss, iteration)

    @property
    def losses(self) -> list[float]:
        """Those of the average policy in the last iteration."""
        return self.policy.losses

    def memories(self) -> dict[str, Store]:
        """Returns the memories by name."""
        return {"transitions": self.transitions, "decisions": self.decisions}

    def state(self) -> dict[str, np.ndarray]:
        """Returns the state between iterations, without memories: views, by name."""
        networks = {"values": self.values.state(), "policy": self.policy.state()}
        arrays = {f"{name}/{key}": array for name, state in networks.items() for key, array in state.items()}
        return arrays | {"reservoir_rng": self._rngs[:1], "updates": self.updates}


class RowAgent(Agent):
    """An agent on a compiled tree: its memories hold numbers of information sets.

    Only the largest output of the target network at each information set is used, so it is stored as a table of these.
    """

    def __init__(self, env: Any, config: NFSPConfig, player: int, rngs: np.ndarray, modules: Modules):
        super().__init__(env, config, player, rngs, modules)
        self._masks = env.features[player].masks
        self.transitions = Store({"records": np.zeros(config.transition_capacity, TRANSITION)})
        self.decisions = Store({"records": np.zeros(config.decision_capacity, DECISION)}, rngs[:1])
        # [num_rows + 1] float32; the last entry, with index `TERMINAL_ROW`, is the end of the game.
        self.target_values = np.zeros(len(self._masks) + 1, np.float32)

    def value_batch(self, drawn: dict[str, np.ndarray]) -> tuple[torch.Tensor, np.ndarray, np.ndarray]:
        records = drawn["records"]
        targets = records["reward"] / np.float32(self.unit) + self.target_values[records["next_row"]]
        return self._inputs(self.values, records["row"]), records["action"].astype(np.int64), targets

    def policy_batch(self, drawn: dict[str, np.ndarray]) -> tuple[torch.Tensor, np.ndarray, np.ndarray]:
        rows, actions = drawn["records"]["row"], drawn["records"]["action"].astype(np.int64)
        return self._inputs(self.policy, rows), actions, self._masks[rows]

    def _inputs(self, learner: Learner, rows: np.ndarray) -> torch.Tensor:
        return learner.inputs.index_select(0, learner.tensor(rows.astype(np.int64)))

    def renew_target(self) -> None:
        self.target_values[:-1] = np.where(self._masks, self.values.predict(), -np.inf).max(axis=1)

    def state(self) -> dict[str, np.ndarray]:
        return super().state() | {"target_values": self.target_values}


class TensorAgent(Agent):
    """An agent whose memories hold tensors."""

    def __init__(self, env: Any, config: NFSPConfig, player: int, rngs: np.ndarray, modules: Modules):
        super().__init__(env, config, player, rngs, modules)
        size, num_actions = env.observer.size, env.num_actions
        self.target = Network(size, num_actions, self._training, 0, modules)
        self.target.assign(self.values)

        capacity, decisions = config.transition_capacity, config.decision_capacity
        self.transitions = Store(
            {
                "tensors": np.zeros((capacity, size), np.float32),
                "actions": np.zeros(capacity, np.int64),
                "rewards": np.zeros(capacity, np.float32),
                # No legal action: the game was over.
                **{f"next_{name}": column for name, column in tensor_columns(capacity, size, num_actions).items()},
            }
        )
        columns = tensor_columns(decisions, size, num_actions)
        self.decisions = Store(columns | {"actions": np.zeros(decisions, np.int64)}, rngs[:1])

    def store(self, paths: Paths, player: int, is_best_response: bool) -> None:
        """Stores the player's transitions of some episodes, and its decisions if it followed its best response."""
        own = np.flatnonzero(paths.players == player)
        following = next_decisions(paths, own)
        is_last = following < 0
        next_tensors, next_masks = paths.tensors[following], paths.masks[following]
        next_tensors[is_last], next_masks[is_last] = 0, False
        rewards = np.where(is_last, paths.returns[paths.traversals[own], player] / self.unit, 0.0)
        taken = {"tensors": paths.tensors[own], "actions": paths.actions[own]}
        self.transitions.add_rows(**taken, rewards=rewards, next_tensors=next_tensors, next_masks=next_masks)
        if is_best_response:
            self.decisions.add_rows(**taken, masks=paths.masks[own])

    def value_batch(self, drawn: dict[str, np.ndarray]) -> tuple[torch.Tensor, np.ndarray, np.ndarray]:
        after, masks = self.target.outputs(drawn["next_tensors"]), drawn["next_masks"]
        best = np.where(masks.any(1), np.where(masks, after, -np.inf).max(1), 0.0)
        targets = (drawn["rewards"] + best).astype(np.float32)
        return self.values.tensor(drawn["tensors"]), drawn["actions"], targets

    def policy_batch(self, drawn: dict[str, np.ndarray]) -> tuple[torch.Tensor, np.ndarray, np.ndarray]:
        return self.policy.tensor(drawn["tensors"]), drawn["actions"], drawn["masks"]

    def renew_target(self) -> None:
        self.target.assign(self.values)

    def state(self) -> dict[str, np.ndarray]:
        return super().state() | {f"target/{name}": array for name, array in self.target.state().items()}


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
