"""Policies of networks, for all states of games that cannot be enumerated, and their training."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy

from mccfr_plus.checkpoints import file as checkpoint_file
from mccfr_plus.errors import CheckpointError
from mccfr_plus.neural.adam import Adam
from mccfr_plus.neural.backend import torch, torch_threads
from mccfr_plus.neural.batched.observer import Observer
from mccfr_plus.neural.config import TrainingConfig
from mccfr_plus.neural.memory import Batch, TensorReservoir
from mccfr_plus.neural.network import MLP, Loss
from mccfr_plus.neural.training import check_finite
from mccfr_plus.tree.game import load_game

SOFTMAX, MATCHING, GREEDY = "softmax", "matching", "greedy"


class NetworkPolicy(openspiel_policy.Policy):
    """A network per player whose outputs become a distribution over legal actions.

    Args:
        game: The game, players in turn.
        networks: One per player.
        kind: ``"softmax"`` of the outputs; regret ``"matching"`` on them, with the action of the largest one if none is
            positive; or the ``"greedy"`` action of the largest one. Illegal actions are excluded.
    """

    def __init__(self, game: pyspiel.Game, networks: list[MLP], kind: str):
        super().__init__(game, list(range(game.num_players())))
        self._networks, self.kind = networks, kind
        self._observer = Observer(game, "a NetworkPolicy")

    def action_probabilities(self, state: pyspiel.State, player_id: int | None = None) -> dict[int, float]:
        """Returns the probability of each legal action at a state.

        Args:
            state: Where a player is to move.
            player_id: That player; None: the current player.
        """
        player = state.current_player() if player_id is None else player_id
        with torch_threads(1):  # more are slower for one row
            return self._of_player([state], player)[0]

    def action_probabilities_of(self, states: Sequence[pyspiel.State]) -> list[dict[int, float]]:
        """Returns the probability of each legal action at states where a player is to move, by one pass per player."""
        result: list[dict[int, float]] = [{}] * len(states)
        players = np.array([state.current_player() for state in states])
        for player in np.unique(players).tolist():
            rows = np.flatnonzero(players == player).tolist()
            for row, found in zip(rows, self._of_player([states[row] for row in rows], player), strict=True):
                result[row] = found
        return result

    def _of_player(self, states: Sequence[pyspiel.State], player: int) -> list[dict[int, float]]:
        tensors = np.zeros((len(states), self._observer.size), np.float32)
        masks = np.zeros((len(states), self._observer.num_actions), bool)
        legal = [state.legal_actions(player) for state in states]
        for state, actions, tensor, mask in zip(states, legal, tensors, masks, strict=True):
            self._observer.write(state, player, tensor)
            mask[actions] = True
        table = self.probabilities(player, tensors, masks)
        return [
            dict(zip(actions, row[actions].tolist(), strict=True)) for actions, row in zip(legal, table, strict=True)
        ]

    def probabilities(self, player: int, tensors: np.ndarray, masks: np.ndarray) -> np.ndarray:
        """Returns a player's strategies at information sets, ``[n, num_actions]`` float64.

        Args:
            tensors: ``[n, size]`` float32.
            masks: ``[n, num_actions]`` bool, legal actions, at least one in each row.
        """
        outputs = outputs_of(self._networks[player], tensors)
        if self.kind == GREEDY:
            return greedy(outputs, masks)
        return masked_softmax(outputs, masks) if self.kind == SOFTMAX else matched(outputs, masks, is_argmax=True)

    def save(self, path: str | os.PathLike) -> None:
        """Writes the policy to a file by an atomic write, without pickle; an older policy is replaced.

        Raises:
            CheckpointError: If the file cannot be written, or is neither a policy nor a checkpoint.
        """
        header = {
            "network_policy": 1,
            "game": str(self.game),
            "kind": self.kind,
            "networks": [network.shape() for network in self._networks],
        }
        arrays = {f"player{i}": network.parameters.numpy() for i, network in enumerate(self._networks)}
        checkpoint_file.write(path, header, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike, game: pyspiel.Game | str | None = None) -> Self:
        """Returns the policy of a file.

        Args:
            game: Its game; None: the game that the file names.

        Raises:
            CheckpointError: If the file is no policy or damaged.
            GameError: If the game cannot be loaded.
        """
        header = checkpoint_file.read_header(path)
        if header.get("network_policy") != 1:
            raise CheckpointError(f"{path} holds no network policy: give a file that NetworkPolicy.save wrote.")
        networks = [MLP.of_shape(shape) for shape in header["networks"]]
        arrays: dict[str, Any] = {f"player{i}": network.parameters.numpy() for i, network in enumerate(networks)}
        checkpoint_file.check(path, arrays)
        checkpoint_file.read_into(path, arrays)
        return cls(load_game(header["game"] if game is None else game), networks, header["kind"])


def outputs_of(network: MLP, tensors: np.ndarray) -> np.ndarray:
    """Returns a network's outputs for tensors ``[n, size]`` float32, ``[n, num_outputs]`` float64."""
    return network.predict(torch.from_numpy(tensors)).numpy().astype(np.float64)


def masked_softmax(outputs: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """Returns the softmax over legal actions, ``[n, num_actions]``; 0 at the others."""
    shifted = np.where(masks, outputs, -np.inf)
    weights = np.exp(shifted - shifted.max(1, keepdims=True))
    return weights / weights.sum(1, keepdims=True)


def greedy(outputs: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """Returns the distributions on the legal action of the largest output, the first of equal ones."""
    result = np.zeros(masks.shape)
    result[np.arange(len(masks)), np.where(masks, outputs, -np.inf).argmax(1)] = 1.0
    return result


def matched(outputs: np.ndarray, masks: np.ndarray, is_argmax: bool) -> np.ndarray:
    """Returns regret matching over legal actions, ``[n, num_actions]``.

    Args:
        outputs: ``[n, num_actions]``, advantages.
        masks: Legal actions.
        is_argmax: Whether the action of the largest advantage is played where none is positive, or a uniform one.
    """
    positive = np.where(masks, np.maximum(outputs, 0.0), 0.0)
    total = positive.sum(1, keepdims=True)
    fallback = greedy(outputs, masks) if is_argmax else masks / masks.sum(1, keepdims=True)
    return np.where(total > 1e-300, positive / np.where(total > 1e-300, total, 1.0), fallback)


def trained_policy_network(
    memory: TensorReservoir, config: TrainingConfig, seed: int, iteration: int, player: int
) -> MLP:
    """Returns a network whose masked softmax approximates the weighted mean of a player's strategies in a memory.

    If the memory is empty, the network has its initial parameters.

    Raises:
        TrainingError: If the loss is not finite.
    """
    sizes = (memory.tensors.shape[1], *config.hidden_layers, memory.num_actions)
    rng = np.random.default_rng(seed)
    network = MLP(sizes, layer_norm=config.layer_norm, skip=config.skip, rng=rng)
    optimizer = Adam(network, config.learning_rate, config.gradient_clip)
    batches = memory.batches(config.batch_size, iteration, rng.integers(1, 2**63, 1, np.uint64))
    advice = f"Lower policy_training's learning_rate (it is {config.learning_rate:g})."
    for step, batch in zip(range(config.train_steps), batches, strict=False):
        loss = imitation_gradient(network, memory, batch)
        name = f"loss of the average policy of player {player}"
        check_finite(loss, f"{name} is {loss} at training step {step + 1} of {config.train_steps}", iteration, advice)
        optimizer.step()
    return network


def imitation_gradient(network: MLP, memory: TensorReservoir, batch: Batch) -> float:
    """Returns the `cross_entropy` loss of a batch of a memory, and writes its gradient to the network."""
    rows, targets, weights = (torch.from_numpy(array) for array in batch)
    inputs = torch.from_numpy(memory.tensors).index_select(0, rows)
    return network.differentiate(inputs, cross_entropy(targets, weights))


def cross_entropy(targets: torch.Tensor, weights: torch.Tensor) -> Loss:
    """Returns the loss -sum_k w_k sum_a y_ka log softmax_a(f(x_k)) / n and its derivative, for `MLP.differentiate`.

    Args:
        targets: ``[n, num_actions]``, distributions over legal actions.
        weights: ``[n, num_actions]``, the row's weight at legal actions and 0 at others.
    """
    legal = weights > 0
    row_weights = weights.max(1, keepdim=True).values / len(targets)

    def loss(outputs: torch.Tensor) -> tuple[float, torch.Tensor]:
        logs = torch.log_softmax(outputs.masked_fill(~legal, -torch.inf), 1)
        value = -float((row_weights * targets * logs.masked_fill(~legal, 0.0)).sum())
        return value, row_weights * (logs.exp() - targets)

    return loss
