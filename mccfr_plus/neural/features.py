"""What a network sees of a game: the information-state tensors and legal actions of all information sets, once."""

from __future__ import annotations

import logging
from typing import NamedTuple

import numpy as np
import pyspiel

from mccfr_plus.errors import GameError
from mccfr_plus.tree.game import load_game
from mccfr_plus.tree.game_tree import GameTree, compile_game
from mccfr_plus.tree.order import representative_states

logger = logging.getLogger("mccfr_plus")


class Features(NamedTuple):
    """One player's information sets; row r is number ``infoset_range[player] + r`` of the tree."""

    tensors: np.ndarray  # [num_rows, tensor_size] float32
    actions: np.ndarray  # [num_rows, max_actions] int32: OpenSpiel's legal actions in the order of slots; 0 beyond
    counts: np.ndarray  # [num_rows] int32: how many legal actions

    def mask(self, num_actions: int) -> np.ndarray:
        """Returns which of the game's actions are legal, ``[num_rows, num_actions]`` bool."""
        mask = np.zeros((len(self.counts), num_actions), bool)
        rows = np.repeat(np.arange(len(self.counts)), self.counts)
        mask[rows, self.actions[legal(self)]] = True
        return mask


def legal(features: Features) -> np.ndarray:
    """Returns where `Features.actions` holds an action, ``[num_rows, max_actions]`` bool."""
    return np.arange(features.actions.shape[1]) < features.counts[:, None]


def check_has_tensors(game: pyspiel.Game, what: str) -> None:
    """Raises GameError if a game has no information-state tensors; `what` names in the message what reads them."""
    if not game.get_type().provides_information_state_tensor:
        raise GameError(
            f"{game.get_type().short_name} provides no information_state_tensor, which is what {what} sees of a state. "
            "Use the tabular mccfr_plus.Solver, which tells information sets apart by their strings, or a game that "
            "has one."
        )


def compile_with_tensors(game: pyspiel.Game | str | GameTree, what: str) -> GameTree:
    """Returns the tree of a game that networks can see, of perfect recall; what it lacks is said before it is compiled.

    Args:
        game: A game, a game string, or its tree.
        what: What reads it, for error messages.

    Raises:
        GameError: If the game cannot be loaded or compiled, has no information-state tensors or imperfect recall.
        BudgetError: If it is too large to be compiled.
    """
    if not isinstance(game, GameTree):
        game = load_game(game)
    check_has_tensors(game.game if isinstance(game, GameTree) else game, what)
    tree = compile_game(game)
    tree.require_perfect_recall(what)
    return tree


def features_of(tree: GameTree, what: str = "a network") -> list[Features]:
    """Returns the features of each player's information sets.

    Information sets that share a tensor are the same to a network; how many there are is logged.

    Args:
        tree: The game.
        what: What reads them, for error messages.

    Raises:
        GameError: If the game has no information-state tensors.

    Example:
        >>> import mccfr_plus
        >>> from mccfr_plus.neural.features import features_of
        >>> [features.tensors.shape for features in features_of(mccfr_plus.compile_game("kuhn_poker"))]
        [(6, 11), (6, 11)]
    """
    check_has_tensors(tree.game, what)
    size = int(np.prod(tree.game.information_state_tensor_shape()))
    infosets, ranges = tree.arrays.infosets, tree.arrays.infoset_range
    states = representative_states(tree)
    result = []
    for player in range(tree.num_players):
        rows = range(int(ranges[player]), int(ranges[player + 1]))
        tensors = np.zeros((len(rows), size), np.float32)
        for row, infoset in enumerate(rows):
            tensors[row] = states[infoset].information_state_tensor(player)
        counts = infosets["num_actions"][rows.start : rows.stop].astype(np.int32)
        features = Features(tensors, np.zeros((len(rows), int(counts.max(initial=1))), np.int32), counts)
        features.actions[legal(features)] = tree.slot_action[_slots_of(tree, player)]
        _warn_of_twins(tree, player, tensors)
        result.append(features)
    return result


def _slots_of(tree: GameTree, player: int) -> slice:
    return slice(int(tree.arrays.slot_range[player]), int(tree.arrays.slot_range[player + 1]))


def _warn_of_twins(tree: GameTree, player: int, tensors: np.ndarray) -> None:
    distinct = len({row.tobytes() for row in tensors})
    if distinct < len(tensors):
        logger.warning(
            "%s: the %d information sets of player %d have %d different tensors; some are one to a network.",
            tree.game.get_type().short_name,
            len(tensors),
            player,
            distinct,
        )
