"""Inputs of networks: tensors and legal actions of all information sets, and tensors of histories."""

from __future__ import annotations

import logging
from typing import NamedTuple

import numpy as np
import pyspiel

from mccfr_plus.errors import BudgetError, GameError
from mccfr_plus.tree.arrays import CHANCE, TERMINAL
from mccfr_plus.tree.game import load_game
from mccfr_plus.tree.game_tree import GameTree, compile_game
from mccfr_plus.tree.order import representative_states

logger = logging.getLogger("mccfr_plus")

_MAX_BYTES = 2 << 30  # of the tensors of histories


class Features(NamedTuple):
    """One player's information sets; row r is number ``infoset_range[player] + r`` of the tree."""

    tensors: np.ndarray  # [num_rows, tensor_size] float32
    masks: np.ndarray  # [num_rows, num_actions] bool: OpenSpiel's legal actions


class Histories(NamedTuple):
    """The non-terminal histories, in the order of the tree's nodes."""

    tensors: np.ndarray  # [num_rows, width] float32; see `histories_of`
    nodes: np.ndarray  # [num_rows] int32, the tree's nodes
    row_of_node: np.ndarray  # [num_nodes] int32; -1 at leaves


def check_has_tensors(game: pyspiel.Game, what: str) -> None:
    """Raises GameError if a game has no information-state tensors; `what` names their reader in the message."""
    if not game.get_type().provides_information_state_tensor:
        raise GameError(
            f"{game.get_type().short_name} provides no information_state_tensor, which is what {what} sees of a state. "
            "Use the tabular mccfr_plus.Solver, which distinguishes information sets by their strings, or a game that "
            "has one."
        )


def compile_with_tensors(game: pyspiel.Game | str | GameTree, what: str) -> GameTree:
    """Returns the tree of a game with information-state tensors and perfect recall; see `check_has_tensors` for `what`.

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


def features_of(tree: GameTree) -> list[Features]:
    """Returns the features of each player's information sets.

    Information sets with the same tensor are logged: a network cannot distinguish them.

    Args:
        tree: A game with information-state tensors.

    Examples:
        >>> import mccfr_plus
        >>> from mccfr_plus.neural.features import features_of
        >>> [features.tensors.shape for features in features_of(mccfr_plus.compile_game("kuhn_poker"))]
        [(6, 11), (6, 11)]
    """
    check_has_tensors(tree.game, "a network")
    size = int(np.prod(tree.game.information_state_tensor_shape()))
    arrays, states = tree.arrays, representative_states(tree)
    result = []
    for player in range(tree.num_players):
        rows = range(int(arrays.infoset_range[player]), int(arrays.infoset_range[player + 1]))
        tensors = np.zeros((len(rows), size), np.float32)
        for row, infoset in enumerate(rows):
            tensors[row] = states[infoset].information_state_tensor(player)
        masks = np.zeros((len(rows), tree.game.num_distinct_actions()), bool)
        slots = slice(int(arrays.slot_range[player]), int(arrays.slot_range[player + 1]))
        masks[tree.infoset_of_slot[slots] - rows.start, tree.slot_action[slots]] = True
        _warn_of_duplicates(tree, tensors, f"information sets of player {player}")
        result.append(Features(tensors, masks))
    return result


def histories_of(tree: GameTree, what: str) -> Histories:
    """Returns the tensors of all non-terminal histories.

    A row is the information-state tensor of every player and, as a unit vector, the player to move, chance last. If
    that does not distinguish histories, as in games with simultaneous moves, the last actions of players are added as
    unit vectors, one fewer than there are players.

    Args:
        tree: The game.
        what: The reader of the tensors, for error messages.

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
    if _count_duplicates(tensors):
        width = tree.game.num_distinct_actions()
        _check_bytes(tree, len(nodes), tensors.shape[1] + width * last_actions.shape[1], what)
        units = np.eye(width + 1, width, dtype=np.float32)[last_actions].reshape(len(nodes), -1)
        tensors = np.concatenate([tensors, units], axis=1)
        _warn_of_duplicates(tree, tensors, "histories")
    return Histories(tensors, nodes, row_of_node)


def _tensors_of(tree: GameTree, row_of_node: np.ndarray, num_rows: int, what: str) -> tuple[np.ndarray, np.ndarray]:
    """Returns the rows without actions, and the last actions of players, ``[num_rows, num_players - 1]``."""
    num_players, nodes = tree.num_players, tree.arrays.nodes
    size = int(np.prod(tree.game.information_state_tensor_shape()))
    none = tree.game.num_distinct_actions()  # no action yet
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


def _count_duplicates(tensors: np.ndarray) -> int:
    return len(tensors) - len({row.tobytes() for row in tensors})


def _warn_of_duplicates(tree: GameTree, tensors: np.ndarray, what: str) -> None:
    if duplicates := _count_duplicates(tensors):
        text = "%s: %d of %d %s have the tensor of another one: a network cannot distinguish all."
        logger.warning(text, tree.game.get_type().short_name, duplicates, len(tensors), what)


def _check_bytes(tree: GameTree, rows: int, width: int, what: str) -> None:
    """Raises BudgetError if tensors would be too large."""
    if rows * width * 4 > _MAX_BYTES:
        raise BudgetError(
            f"{what} keeps a tensor for each of the {rows:,} histories of {tree.game} that are no leaves, "
            f"{rows * width * 4 / 2**30:.1f} GiB, and takes 2 GiB at the most: give a smaller game, or use the "
            "tabular mccfr_plus.Solver."
        )
