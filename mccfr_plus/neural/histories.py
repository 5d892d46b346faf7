"""What a network of history values sees: all players' information-state tensors at once, and whose turn it is."""

from __future__ import annotations

import logging
from typing import NamedTuple

import numpy as np

from mccfr_plus.errors import BudgetError
from mccfr_plus.neural.features import check_has_tensors
from mccfr_plus.tree.arrays import CHANCE, TERMINAL
from mccfr_plus.tree.game_tree import GameTree

logger = logging.getLogger("mccfr_plus")

_MOST_BYTES = 2 << 30  # of tensors


class Histories(NamedTuple):
    """The histories that are no leaves, in the order of the tree's nodes."""

    tensors: np.ndarray  # [num_rows, width] float32; see `histories_of`
    nodes: np.ndarray  # [num_rows] int32, the tree's nodes
    row_of_node: np.ndarray  # [num_nodes] int32; -1 at leaves


def histories_of(tree: GameTree, what: str) -> Histories:
    """Returns the tensors of all histories that are no leaves.

    A row is the information-state tensor of every player and, as a unit vector, who is to move, chance last. Where
    histories cannot be told apart by that, as players act at once and no tensor shows an action before all have acted,
    the last actions of players are added, as unit vectors, one fewer than there are players.

    Args:
        tree: The game.
        what: What reads them, for error messages.

    Raises:
        GameError: If the game has no information-state tensors.
        BudgetError: If they would take more than 2 GiB.
    """
    check_has_tensors(tree.game, what)
    kinds = tree.arrays.nodes["kind"]
    nodes = np.flatnonzero(kinds != TERMINAL).astype(np.int32)
    row_of_node = np.full(len(kinds), -1, np.int32)
    row_of_node[nodes] = np.arange(len(nodes))
    tensors, last_actions = _tensors_of(tree, row_of_node, len(nodes), what)
    twins = _count_twins(tensors)
    if twins:
        width = tree.game.num_distinct_actions()
        _check_bytes(tree, len(nodes), tensors.shape[1] + width * last_actions.shape[1], what)
        units = np.eye(width + 1, width, dtype=np.float32)[last_actions].reshape(len(nodes), -1)
        tensors = np.concatenate([tensors, units], axis=1)
        twins = _count_twins(tensors)
    if twins:
        logger.warning(
            "%s: %d of %d histories have the tensors of another one, and are one to a network.",
            tree.game.get_type().short_name,
            twins,
            len(nodes),
        )
    return Histories(tensors, nodes, row_of_node)


def _tensors_of(tree: GameTree, row_of_node: np.ndarray, num_rows: int, what: str) -> tuple[np.ndarray, np.ndarray]:
    """Returns the rows without actions, and the last actions of players, ``[num_rows, num_players - 1]``."""
    num_players, nodes = tree.num_players, tree.arrays.nodes
    size = int(np.prod(tree.game.information_state_tensor_shape()))
    none = tree.game.num_distinct_actions()  # where there is no action yet
    _check_bytes(tree, num_rows, num_players * (size + 1) + 1, what)
    tensors = np.zeros((num_rows, num_players * (size + 1) + 1), np.float32)
    last_actions = np.zeros((num_rows, num_players - 1), np.int64)
    pending = [(0, tree.game.new_initial_state(), (none,) * (num_players - 1))]
    while pending:
        node, state, last = pending.pop()
        record, row = nodes[node], row_of_node[node]
        kind, payload = int(record["kind"]), int(record["payload"])
        for player in range(num_players):
            tensors[row, player * size : (player + 1) * size] = state.information_state_tensor(player)
        tensors[row, num_players * size + (num_players if kind == CHANCE else kind)] = 1.0
        last_actions[row] = last
        actions = tree.outcome_action if kind == CHANCE else tree.slot_action
        for index in range(int(record["num_children"])):
            child, action = int(record["first_child"]) + index, int(actions[payload + index])
            if row_of_node[child] >= 0:
                following = last if kind == CHANCE else (*last, action)[1:]
                pending.append((child, state.child(action), following))
    return tensors, last_actions


def _count_twins(tensors: np.ndarray) -> int:
    return len(tensors) - len({row.tobytes() for row in tensors})


def _check_bytes(tree: GameTree, rows: int, width: int, what: str) -> None:
    """Raises BudgetError if tensors would be too large."""
    if rows * width * 4 > _MOST_BYTES:
        raise BudgetError(
            f"{what} keeps a tensor for each of the {rows:,} histories of {tree.game} that are no leaves, "
            f"{rows * width * 4 / 2**30:.1f} GiB, and takes 2 GiB at the most: give a smaller game, or use the "
            "tabular mccfr_plus.Solver."
        )
