"""Strategies from the outputs of networks, and policies of networks."""

import functools
import os
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy

from mccfr_plus.errors import CheckpointError
from mccfr_plus.files import checkpoint as checkpoint_file
from mccfr_plus.files.json_files import check, number, positive
from mccfr_plus.neural.network import MLP, NetworkFactory, array_of, forward, new_module, torch, torch_threads
from mccfr_plus.neural.paths import strategies_at, uniform
from mccfr_plus.trees.batches import Observer, PyspielPositions
from mccfr_plus.trees.loading import file_name_of, load_game

_SMALLEST_TOTAL = 1e-300  # keeps 1 / total finite


def masked_softmax(outputs: np.ndarray, masks: np.ndarray) -> np.ndarray:
    shifted = np.where(masks, outputs, -np.inf)
    weights = np.exp(shifted - shifted.max(1, keepdims=True))
    return weights / weights.sum(1, keepdims=True)


def greedy(outputs: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """Returns distributions on the legal action of the largest output, the first of equal ones."""
    result = np.zeros(masks.shape)
    result[np.arange(len(masks)), np.where(masks, outputs, -np.inf).argmax(1)] = 1.0
    return result


def matched(outputs: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """Returns regret matching; where no advantage is positive, `greedy` (Brown et al. 2019, section 5.2)."""
    positive = np.where(masks, np.maximum(outputs, 0.0), 0.0)
    total = positive.sum(1, keepdims=True)
    none = np.flatnonzero(~(total > _SMALLEST_TOTAL))
    total[none] = 1.0
    result = positive * (1.0 / total)
    result[none] = greedy(outputs[none], masks[none])
    return result


# How outputs, which have a row per information set and a column per OpenSpiel action, become strategies.
SOFTMAX, MATCHING, UNIFORM = "softmax", "matching", "uniform"
RULES: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    SOFTMAX: masked_softmax,
    MATCHING: matched,
    UNIFORM: functools.partial(uniform, 0),  # of networks before their training
}


def strategy_of(outputs: np.ndarray, masks: np.ndarray, kind: str, discount: float | None = None) -> np.ndarray:
    """Returns strategies. With a discount, outputs are cumulative regrets, of which it counts, and predicted ones."""
    if discount is not None:
        cumulative, latest = np.split(outputs, 2, axis=1)
        outputs = discount * np.maximum(cumulative, 0.0) + latest
    return RULES[kind](outputs, masks)


# The hidden layers of an `MLP`; None: other networks.
_SCHEMA = {"game": str, "kind": tuple(RULES), "discount": (number, None), "hidden_layers": ([positive], None)}


class NetworkPolicy(openspiel_policy.Policy):
    """A policy with one network per player, whose outputs become a distribution over legal actions.

    Args:
        game: The turn-based game.
        networks: One module per player.
        kind: ``"softmax"`` of the outputs, regret ``"matching"`` on them, or ``"uniform"``, which ignores them.
        discount: Factor of the positive cumulative regrets, to which a second set of outputs, the latest regrets, is
            added. Default: there is only one set of outputs.
    """

    def __init__(self, game: pyspiel.Game, networks: list[torch.nn.Module], kind: str, discount: float | None = None):
        super().__init__(game, list(range(game.num_players())))
        self._networks, self.kind, self._discount = networks, kind, discount
        self._observer = Observer(game, "a NetworkPolicy")

    def action_probabilities(self, state: pyspiel.State, player_id: int | None = None) -> dict[int, float]:
        """Returns the probability of each legal action of the player to move."""
        with torch_threads(1):  # more are slower for one row
            masks, (row,) = self._at(PyspielPositions([state], self._observer))
        actions = np.flatnonzero(masks[0])
        return dict(zip(actions.tolist(), row[actions].tolist(), strict=True))

    def probabilities_after(self, actions: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns legal actions and probabilities, ``[n, num_actions]``, after histories; see `Observer.after`."""
        return self._at(self._observer.after(actions, lengths))

    def _at(self, positions: Any) -> tuple[np.ndarray, np.ndarray]:
        tensors, _, masks = self._observer.observe(positions)
        return masks, strategies_at(positions.movers, tensors, masks, self.probabilities)

    def probabilities(self, player: int, tensors: np.ndarray, masks: np.ndarray) -> np.ndarray:
        """Returns a player's strategies; see `paths.Strategies`."""
        outputs = forward(self._networks[player], torch.from_numpy(tensors)).numpy().astype(np.float64)
        return strategy_of(outputs, masks, self.kind, self._discount)

    def save(self, path: str | os.PathLike) -> None:
        """Writes the policy to a file, replacing an older policy."""
        header = {"network_policy": 1, "game": file_name_of(str(self.game)), "kind": self.kind}
        header["discount"], header["hidden_layers"] = self._discount, getattr(self._networks[0], "hidden_layers", None)
        checkpoint_file.write(path, header, _arrays_of(self._networks))

    @classmethod
    def load(
        cls, path: str | os.PathLike, game: pyspiel.Game | str | None = None, network: NetworkFactory | None = None
    ) -> Self:
        """Returns the policy in a file. Raises CheckpointError for other files and other networks.

        ``game`` is by default the game named in the file; ``network`` is the argument that was passed to the solver.
        """
        header = checkpoint_file.read_header(path)
        if header.get("network_policy") != 1:
            raise CheckpointError(f"{path} is not a network policy: give a file written by NetworkPolicy.save.")
        check(header, _SCHEMA, path, CheckpointError)
        loaded, layers = load_game(header["game"] if game is None else game), header["hidden_layers"]
        if network is None and layers is None:
            raise CheckpointError(f"{path} holds user-defined networks: give network=, as passed to the solver.")
        observer = Observer(loaded, "a NetworkPolicy")
        shape = observer.size, observer.num_actions * (1 if header["discount"] is None else 2)
        factory = network or functools.partial(MLP, hidden_layers=layers)
        networks = [new_module(factory, *shape) for _ in range(loaded.num_players())]
        arrays = _arrays_of(networks)
        checkpoint_file.check(path, arrays)
        checkpoint_file.read_into(path, arrays)
        return cls(loaded, networks, header["kind"], header["discount"])


def _arrays_of(networks: Sequence[torch.nn.Module]) -> dict[str, Any]:
    pairs = enumerate(network.state_dict().items() for network in networks)
    return {f"player{player}/{name}": array_of(tensor) for player, items in pairs for name, tensor in items}
