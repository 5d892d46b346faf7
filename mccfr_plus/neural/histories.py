"""What a network of history values sees: all players' information-state tensors at once, and whose turn it is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mccfr_plus.errors import BudgetError
from mccfr_plus.neural.features import check_has_tensors
from mccfr_plus.tree.arrays import CHANCE, TERMINAL
from mccfr_plus.tree.game_tree import GameTree

_MOST_BYTES = 2 << 30  # of tensors


class Histories(NamedTuple):
    """The histories that are no leaves, in the order of the tree's nodes."""

    tensors: np.ndarray  # [num_rows, num_players * tensor_size + num_players + 1] float32
    nodes: np.ndarray  # [num_rows] int32, the tree's nodes
    row_of_node: np.ndarray  # [num_nodes] int32; -1 at leaves


def histories_of(tree: GameTree, what: str) -> Histories:
    """Returns the tensors of all histories that are no leaves.

    A row is the information-state tensor of every player and, as a unit vector, who is to move, chance last.

    Args:
        tree: The game.
        what: What reads them, for error messages.

    Raises:
        GameError: If the game has no information-state tensors.
        BudgetError: If they would take more than 2 GiB.
    """
    check_has_tensors(tree.game, what)
    arrays, num_players = tree.arrays, tree.num_players
    size = int(np.prod(tree.game.information_state_tensor_shape()))
    kinds = arrays.nodes["kind"]
    nodes = np.flatnonzero(kinds != TERMINAL).astype(np.int32)
    width = num_players * (size + 1) + 1
    if len(nodes) * width * 4 > _MOST_BYTES:
        raise BudgetError(
            f"{what} keeps a tensor for each of the {len(nodes):,} histories of {tree.game}, "
            f"{len(nodes) * width * 4 / 2**30:.1f} GiB, and takes 2 GiB at the most: give a smaller game, or use the "
            "tabular mccfr_plus.Solver."
        )
    row_of_node = np.full(len(kinds), -1, np.int32)
    row_of_node[nodes] = np.arange(len(nodes))
    tensors = np.zeros((len(nodes), width), np.float32)
    pending = [(0, tree.game.new_initial_state())]
    while pending:
        node, state = pending.pop()
        record = arrays.nodes[node]
        kind, payload = int(record["kind"]), int(record["payload"])
        row = tensors[row_of_node[node]]
        for player in range(num_players):
            row[player * size : (player + 1) * size] = state.information_state_tensor(player)
        row[num_players * size + (num_players if kind == CHANCE else kind)] = 1.0
        actions = tree.outcome_action if kind == CHANCE else tree.slot_action
        for index in range(int(record["num_children"])):
            child = int(record["first_child"]) + index
            if kinds[child] != TERMINAL:
                pending.append((child, state.child(int(actions[payload + index]))))
    return Histories(tensors, nodes, row_of_node)
