"""Reference implementations in plain Python, node by node; the kernels share no code with them."""

import numpy as np

from mccfr_plus.games.rules import CHANCE, TERMINAL
from mccfr_plus.trees.game_tree import GameTree


def exact_gradient(tree: GameTree, strategy: np.ndarray, player: int) -> np.ndarray:
    """Returns the player's utility gradient, ``[num_slots + num_players]`` float64.

    Entry s is the sum of u(z) * (reach of chance and the others) over the leaves z behind the player's last slot s. Of
    the empty sequences, behind the slots, the player's own is filled.
    """
    arrays = tree.arrays
    nodes, chance, payoffs = arrays.nodes.tolist(), arrays.chance["probability"].tolist(), arrays.payoffs[:, player]
    gradient = np.zeros(tree.num_slots + tree.num_players)
    slots, weights = np.full(len(nodes), tree.num_slots + player), np.ones(len(nodes))  # player's last slot; reach
    for node, (kind, count, child, payload) in enumerate(nodes):  # parents come before children
        if kind == TERMINAL:
            gradient[slots[node]] += weights[node] * payoffs[payload]
        for index in range(count):
            share = chance[payload + index] if kind == CHANCE else strategy[payload + index]
            slots[child + index] = payload + index if kind == player else slots[node]
            weights[child + index] = weights[node] * (1.0 if kind == player else share)
    return gradient


def own_reach(tree: GameTree, strategy: np.ndarray) -> np.ndarray:
    """Returns the probability with which its player's own actions play each sequence, ``[num_slots]`` float64."""
    reach = np.append(np.zeros(tree.num_slots), np.ones(tree.num_players))
    for infoset, parent in enumerate(tree.arrays.infosets["parent_slot"]):
        slots = tree.slots(infoset)
        reach[slots] = reach[parent] * strategy[slots]
    return reach[: tree.num_slots]
