"""Policies that are networks: what can be asked for any state of a game that cannot be enumerated."""

from __future__ import annotations

import os
from typing import Any, Self

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy

from mccfr_plus.checkpoints import file as checkpoint_file
from mccfr_plus.errors import CheckpointError
from mccfr_plus.neural.backend import torch, torch_threads
from mccfr_plus.neural.batched.observer import Observer
from mccfr_plus.neural.network import MLP
from mccfr_plus.tree.game import load_game

SOFTMAX, MATCHING, GREEDY = "softmax", "matching", "greedy"


class NetworkPolicy(openspiel_policy.Policy):
    """A network per player whose outputs become a distribution over legal actions.

    Args:
        game: The game, players in turn.
        networks: One per player.
        kind: ``"softmax"`` of the outputs, or regret ``"matching"`` on them: the positive ones in proportion, or the
            largest one's action if none is; or the ``"greedy"`` action of the largest one. Illegal actions are left out
            before that, so that what is left sums to 1.
    """

    def __init__(self, game: pyspiel.Game, networks: list[MLP], kind: str):
        super().__init__(game, list(range(game.num_players())))
        self._networks, self.kind = networks, kind
        self._observer = Observer(game, "a NetworkPolicy")

    def action_probabilities(self, state: pyspiel.State, player_id: int | None = None) -> dict[int, float]:
        """Returns the probability of each legal action at a state.

        Args:
            state: Where a player is to move.
            player_id: That player; None: whose turn it is.
        """
        player = state.current_player() if player_id is None else player_id
        tensors = np.zeros((1, self._observer.size), np.float16)
        self._observer.write(state, player, tensors[0])
        masks = np.zeros((1, self._observer.num_actions), bool)
        legal = state.legal_actions(player)
        masks[0, legal] = True
        with torch_threads(1):  # for one row others only wait for each other
            row = self.probabilities(player, tensors, masks)[0]
        return dict(zip(legal, row[legal].tolist(), strict=True))

    def probabilities(self, player: int, tensors: np.ndarray, masks: np.ndarray) -> np.ndarray:
        """Returns what a player plays at many information sets, ``[n, num_actions]`` float64.

        Args:
            player: The player.
            tensors: ``[n, size]`` float16.
            masks: ``[n, num_actions]`` bool, legal actions, at least one in each row.
        """
        outputs = outputs_of(self._networks[player], tensors)
        if self.kind == GREEDY:
            return greedy(outputs, masks)
        return masked_softmax(outputs, masks) if self.kind == SOFTMAX else matched(outputs, masks, is_argmax=True)

    def save(self, path: str | os.PathLike) -> None:
        """Writes the policy to a file, without pickle, in one piece or not at all; a policy there is replaced.

        Raises:
            CheckpointError: If the file cannot be written, or something else stands there.
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
            path: The file.
            game: Its game; None: the one that the file names.

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
    """Returns a network's outputs for tensors in half precision, ``[n, num_outputs]`` float64."""
    return network.predict(torch.from_numpy(tensors.astype(np.float32))).numpy().astype(np.float64)


def masked_softmax(outputs: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """Returns the softmax over legal actions, ``[n, num_actions]``; 0 at the others."""
    shifted = np.where(masks, outputs, -np.inf)
    weights = np.exp(shifted - shifted.max(1, keepdims=True))
    return weights / weights.sum(1, keepdims=True)


def greedy(outputs: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """Returns 1 at the legal action of the largest output, the first of equal ones, ``[n, num_actions]``."""
    result = np.zeros(masks.shape)
    result[np.arange(len(masks)), np.where(masks, outputs, -np.inf).argmax(1)] = 1.0
    return result


def matched(outputs: np.ndarray, masks: np.ndarray, is_argmax: bool) -> np.ndarray:
    """Returns regret matching over legal actions, ``[n, num_actions]``.

    Args:
        outputs: ``[n, num_actions]``, advantages.
        masks: Legal actions.
        is_argmax: Whether the largest advantage is played where none is positive, or all actions alike.
    """
    positive = np.where(masks, np.maximum(outputs, 0.0), 0.0)
    total = positive.sum(1, keepdims=True)
    fallback = greedy(outputs, masks) if is_argmax else masks / masks.sum(1, keepdims=True)
    return np.where(total > 1e-300, positive / np.where(total > 1e-300, total, 1.0), fallback)
