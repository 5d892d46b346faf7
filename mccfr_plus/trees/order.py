"""OpenSpiel's order of information states, and a state for each: what its tabular policies are indexed by.

`open_spiel.python.policy.TabularPolicy` sorts the states of a player by their history strings, "3, 10, 0". As every
history string begins with its prefixes and a comma sorts before digits, that is a depth-first traversal which takes the
actions in the order of their texts.
"""

import numpy as np
import pyspiel

from mccfr_plus.games.rules import CHANCE, TERMINAL
from mccfr_plus.kernels.compile import allocating_kernel
from mccfr_plus.trees.game import action_name
from mccfr_plus.trees.game_tree import GameTree

_MOST_NAMED = 50_000  # infosets, of some 0.1 ms each


def openspiel_order(tree: GameTree) -> np.ndarray:
    """Returns the infosets in the order of OpenSpiel's tabular policies, ``[num_infosets]`` int64."""
    return _order_and_nodes(tree)[0]


def representative_states(tree: GameTree, order: np.ndarray | None = None) -> list[pyspiel.State]:
    """Returns one state of every infoset: the one that OpenSpiel's tabular policies take, in the order given."""
    _, first_node, parent = _order_and_nodes(tree)
    nodes = tree.arrays.nodes
    states = []
    for infoset in range(tree.num_infosets) if order is None else order:
        node = int(first_node[infoset])
        actions: list[int] = []
        while node:
            above = int(parent[node])
            label = int(nodes[above]["payload"]) + node - int(nodes[above]["first_child"])
            actions.append(int((tree.outcome_action if nodes[above]["kind"] == CHANCE else tree.slot_action)[label]))
            node = above
        state = tree.game.new_initial_state()
        for action in reversed(actions):
            state.apply_action(action)
        states.append(state)
    return states


def action_names(tree: GameTree, infosets: np.ndarray) -> list[list[str]]:
    """Returns what OpenSpiel calls the legal actions of some infosets, as the state of the first history writes them.

    Of very many infosets the names are those that do not depend on the state; see `action_name`.
    """
    players, numbers = tree.arrays.infosets["player"], infosets.tolist()
    if len(numbers) > _MOST_NAMED:
        return [[action_name(tree.game, players[i], action) for action in tree.legal_actions(i)] for i in numbers]
    return [
        [state.action_to_string(players[i], action) for action in tree.legal_actions(i)]
        for i, state in zip(numbers, representative_states(tree, infosets), strict=True)
    ]


def _order_and_nodes(tree: GameTree) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    arrays = tree.arrays
    slot_rank = _ranks(tree.slot_action, arrays.infosets["first_slot"], arrays.infosets["num_actions"])
    is_chance = arrays.nodes["kind"] == CHANCE
    firsts, index = np.unique(arrays.nodes["payload"][is_chance], return_index=True)
    counts = arrays.nodes["num_children"][is_chance][index]
    outcome_rank = _ranks(tree.outcome_action, firsts, counts)
    visited, first_node, parent = _traverse_in_text_order(
        arrays, tree.infoset_of_slot, slot_rank, outcome_rank, tree.shape.max_stack
    )
    player = arrays.infosets["player"][visited]
    return visited[np.argsort(player, kind="stable")], first_node, parent


def _ranks(actions: np.ndarray, firsts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Returns for every position within a group which member comes there when sorted by text, as an offset."""
    ranks = np.zeros(len(actions), np.int32)
    for first, count in zip(firsts.tolist(), counts.tolist(), strict=True):
        texts = [str(a) for a in actions[first : first + count].tolist()]
        ranks[first : first + count] = sorted(range(count), key=texts.__getitem__)
    return ranks


@allocating_kernel
def _traverse_in_text_order(tree, infoset_of_slot, slot_rank, outcome_rank, max_stack):
    """Returns the infosets in the order of first visit, the first node of each, and each node's parent."""
    nodes = tree.nodes
    parent = np.zeros(len(nodes), np.int32)
    first_node = np.full(len(tree.infosets), -1, np.int32)
    visited = np.empty(len(tree.infosets), np.int64)
    num_visited = 0
    stack = np.empty(max_stack, np.int64)
    stack[0] = 0
    pending = 1
    while pending > 0:
        pending -= 1
        node = stack[pending]
        kind, child, payload = nodes[node]["kind"], nodes[node]["first_child"], nodes[node]["payload"]
        if kind == TERMINAL:
            continue
        if kind != CHANCE:
            infoset = infoset_of_slot[payload]
            if first_node[infoset] < 0:
                first_node[infoset] = node
                visited[num_visited] = infoset
                num_visited += 1
        count = nodes[node]["num_children"]
        for position in range(count - 1, -1, -1):
            rank = outcome_rank[payload + position] if kind == CHANCE else slot_rank[payload + position]
            parent[child + rank] = node
            stack[pending] = child + rank
            pending += 1
    return visited, first_node, parent
