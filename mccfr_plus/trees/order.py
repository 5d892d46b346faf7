"""OpenSpiel's order of information states, a state for each, and names of actions.

`open_spiel.python.policy.TabularPolicy` sorts a player's states by their history strings, "3, 10, 0". As a comma sorts
before digits, that is a depth-first traversal which takes the actions in the order of their texts.
"""

from typing import Any

import numpy as np
import pyspiel

from mccfr_plus.games.rules import CHANCE
from mccfr_plus.kernels.compile import kernel
from mccfr_plus.trees.game_tree import GameTree
from mccfr_plus.trees.loading import action_name
from mccfr_plus.trees.needs import HISTORIES

_MOST_NAMED = 50_000  # infosets, of some 0.1 ms each


@kernel
def _visit(tree, slots, outcomes, stack, visited):
    """Writes the nodes in depth-first order; `stack` is scratch memory, zeros at first.

    `slots` are those of each infoset in the order in which they are visited, and `outcomes` rows of ``tree.chance``.
    """
    nodes, pending = tree.nodes, 1
    for position in range(len(nodes)):
        pending -= 1
        node = stack[pending]
        visited[position] = node
        kind, child, payload = nodes[node]["kind"], nodes[node]["first_child"], nodes[node]["payload"]
        for row in range(payload + nodes[node]["num_children"] - 1, payload - 1, -1):
            stack[pending] = child - payload + (outcomes[row] if kind == CHANCE else slots[row])
            pending += 1


def openspiel_order(tree: GameTree) -> np.ndarray:
    """Returns the infosets in the order of OpenSpiel's tabular policies, ``[num_infosets]`` int64."""
    return np.lexsort((_first_visits(tree)[1], tree.arrays.infosets["player"]))


def representative_states(tree: GameTree, order: np.ndarray | None = None) -> list[pyspiel.State]:
    """Returns one state of every infoset: the one that OpenSpiel's tabular policies take, in the order given."""
    first_nodes, states = _first_visits(tree)[0], []
    for infoset in range(tree.num_infosets) if order is None else order:
        state = tree.game.new_initial_state()
        for action in tree.history_of(int(first_nodes[infoset])):
            state.apply_action(action)
        states.append(state)
    return states


def action_names(tree: Any, infosets: np.ndarray) -> list[list[str]]:
    """Returns what OpenSpiel calls the legal actions of infosets in their first states; of very many, `action_name`.

    A public tree stores no states, and so has the names by `action_name`, too.
    """
    players, numbers = tree.arrays.infosets["player"].tolist(), infosets.tolist()
    if len(numbers) > _MOST_NAMED or HISTORIES not in tree.provides:
        return [[action_name(tree.game, players[i], action) for action in tree.legal_actions(i)] for i in numbers]
    return [
        [state.action_to_string(players[i], action) for action in tree.legal_actions(i)]
        for i, state in zip(numbers, representative_states(tree, infosets), strict=True)
    ]


def _first_visits(tree: GameTree) -> tuple[np.ndarray, np.ndarray]:
    """Returns the first node of each infoset in the order of texts, and its place in that order."""
    chance_nodes = tree.arrays.nodes[tree.arrays.nodes["kind"] == CHANCE]
    _, index = np.unique(chance_nodes["payload"], return_index=True)  # a node of each distribution
    slots = _sorted_by_text(tree.slot_action, tree.arrays.infosets["num_actions"])
    outcomes = _sorted_by_text(tree.outcome_action, chance_nodes["num_children"][index])
    visited = np.empty(tree.num_nodes, np.int32)
    _visit(tree.arrays, slots, outcomes, np.zeros(tree.shape.max_stack, np.int32), visited)
    visited = visited[tree.arrays.nodes["kind"][visited] >= 0][::-1]
    numbers = tree.infoset_of_slot[tree.arrays.nodes["payload"][visited]]
    first_nodes, places = np.empty((2, tree.num_infosets), np.int64)
    first_nodes[numbers], places[numbers] = visited, -np.arange(len(visited))  # of equal numbers the last one counts
    return first_nodes, places


def _sorted_by_text(actions: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Returns the rows of groups of actions, one after the other, each in the order of the actions' texts."""
    kinds, numbers = np.unique(actions, return_inverse=True)
    ranks = np.argsort(np.argsort(kinds.astype(str)))
    return np.lexsort((ranks[numbers], np.repeat(np.arange(len(counts)), counts)))
