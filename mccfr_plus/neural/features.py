"""Inputs of networks: tensors of all information sets and of all histories of a tree."""

from __future__ import annotations

import logging

import numpy as np
import pyspiel

from mccfr_plus.errors import BudgetError, GameError
from mccfr_plus.tree.arrays import CHANCE, TERMINAL
from mccfr_plus.tree.game_tree import GameTree
from mccfr_plus.tree.order import representative_states

logger = logging.getLogger("mccfr_plus")

_MAX_BYTES = 2 << 30  # of the tensors of histories


def check_has_tensors(game: pyspiel.Game, what: str) -> None:
    """Raises GameError if a game has no information-state tensors; `what` names their reader in the message."""
    if not game.get_type().provides_information_state_tensor:
        raise GameError(
            f"{game.get_type().short_name} provides no information_state_tensor, which is what {what} sees of a state. "
            "Use the tabular mccfr_plus.Solver, which distinguishes information sets by their strings, or a game that "
            "has one."
        )


def tensors_of(tree: GameTree) -> list[np.ndarray]:
    """Returns the tensors of each player's information sets, ``[num_rows, size]`` float32.

    Information sets with the same tensor are logged: a network cannot distinguish them.

    Args:
        tree: A game with information-state tensors.

    Examples:
        >>> import mccfr_plus
        >>> from mccfr_plus.neural.features import tensors_of
        >>> [tensors.shape for tensors in tensors_of(mccfr_plus.compile_game("kuhn_poker"))]
        [(6, 11), (6, 11)]
    """
    pairs = zip(representative_states(tree), tree.arrays.infosets["player"].tolist(), strict=True)
    tensors = np.array([state.information_state_tensor(player) for state, player in pairs], np.float32)
    result = np.split(tensors, tree.arrays.infoset_range[1:-1])
    for player, own in enumerate(result):
        _warn_of_duplicates(tree, own, f"information sets of player {player}")
    return result


def histories_of(tree: GameTree, what: str) -> np.ndarray:
    """Returns the tensors of all non-terminal histories, in the order of the nodes, ``[num_rows, width]`` float32.

    A row is the information-state tensor of every player and, as unit vectors, the player to move, chance last, and the
    last actions of players, one fewer than there are, which games with hidden simultaneous moves need.

    Args:
        tree: A game with information-state tensors.
        what: The reader of the tensors, for error messages.

    Raises:
        BudgetError: If they would take more than 2 GiB.
    """
    kinds, players, num_actions = tree.arrays.nodes["kind"], tree.num_players, tree.game.num_distinct_actions()
    is_kept = kinds != TERMINAL
    rows, num_rows = np.cumsum(is_kept) - 1, int(is_kept.sum())
    size = int(np.prod(tree.game.information_state_tensor_shape()))
    movers, last = players * size, players * size + players + 1  # columns
    width = last + (players - 1) * num_actions
    if (num_bytes := 4 * num_rows * width) > _MAX_BYTES:
        raise BudgetError(
            f"{what} keeps a tensor for each of the {num_rows:,} histories of {tree.game} that are no leaves, "
            f"{num_bytes / 2**30:.1f} GiB, and takes 2 GiB at the most: give a smaller game, or use the "
            "tabular mccfr_plus.Solver."
        )
    tensors = np.zeros((num_rows, width), np.float32)
    pending: list[tuple[int, pyspiel.State, tuple]] = [(0, tree.game.new_initial_state(), (None,) * (players - 1))]
    while pending:
        node, state, past = pending.pop()
        kind, count, first, payload = tree.arrays.nodes[node].tolist()
        row = tensors[rows[node]]
        for player in range(players):
            row[player * size : (player + 1) * size] = state.information_state_tensor(player)
        row[movers + (players if kind == CHANCE else kind)] = 1.0
        for place, action in enumerate(past):
            if action is not None:
                row[last + place * num_actions + action] = 1.0
        actions = tree.outcome_action if kind == CHANCE else tree.slot_action
        for index in range(count):
            action = int(actions[payload + index])
            if is_kept[first + index]:
                following = past if kind == CHANCE else (*past, action)[1:]
                pending.append((first + index, state.child(action), following))
    _warn_of_duplicates(tree, tensors, "histories")
    return tensors


def _warn_of_duplicates(tree: GameTree, tensors: np.ndarray, what: str) -> None:
    if duplicates := len(tensors) - len({row.tobytes() for row in tensors}):
        text = "%s: %d of %d %s have the tensor of another one: a network cannot distinguish all."
        logger.warning(text, tree.game.get_type().short_name, duplicates, len(tensors), what)
