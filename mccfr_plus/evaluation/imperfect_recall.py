"""Best responses with imperfect recall, as OpenSpiel computes them."""

import numpy as np

from mccfr_plus.errors import GameError
from mccfr_plus.kernels.compile import kernel
from mccfr_plus.trees.arrays import TreeArrays
from mccfr_plus.trees.flattening import exact_gradient
from mccfr_plus.trees.scratch import gradient_size, pass_reach
from mccfr_plus.trees.tree import Tree


@kernel
def _gradient(strategy, reach, gradient, player, tree):
    """Writes everyone's reach and the player's gradient; modified in place."""
    pass_reach(tree.infosets, strategy, reach, 0, len(tree.infosets))
    exact_gradient(tree, reach, gradient, player)


@kernel
def _respond(gradient, records, infoset_of):
    """Passes up the values of the best actions; `records` are refined sets, tied ones in a row, the last ones first."""
    begin = 0
    while begin < len(records):
        end, best, most = begin, 0, -np.inf
        while end < len(records) and infoset_of[end] == infoset_of[begin]:
            end += 1
        for action in range(records[begin]["num_actions"]):
            total = 0.0
            for number in range(begin, end):
                total += gradient[records[number]["first_slot"] + action]
            if total > most:
                best, most = action, total
        for number in range(begin, end):
            gradient[records[number]["parent_slot"]] += gradient[records[number]["first_slot"] + best]
        begin = end


def imperfect_recall_value(tree: Tree, strategy: np.ndarray, player: int) -> float:
    """Returns the payoff of the player's best response that plays one action per infoset, as OpenSpiel finds it.

    From the last infosets to the first, each takes the action that is worth most, all its histories added up, weighted
    by the reach of chance and of the others, whatever the player did before. `strategy` is of the refined tree.
    """
    refined = tree.refined
    arrays, num_slots = refined.arrays, len(refined.slot_of)
    gradient, reach = np.zeros(gradient_size(arrays)), np.ones(num_slots + tree.num_players)
    _gradient(strategy, reach, gradient, player, arrays)
    own = np.arange(*arrays.infoset_range[player : player + 2])
    records, infoset_of = arrays.infosets[own], refined.infoset_of[own]
    level = _levels(tree, arrays, own, infoset_of)
    order = np.lexsort((infoset_of, -level[infoset_of]))
    _respond(gradient, records[order], infoset_of[order])
    return float(gradient[num_slots + player])


def _levels(tree: Tree, arrays: TreeArrays, own: np.ndarray, infoset_of: np.ndarray) -> np.ndarray:
    """Returns for each infoset a number larger than those of all infosets before it on any path, -1 for others'."""
    level, parents = np.full(tree.num_infosets, -1), arrays.infosets["parent_slot"][own]
    refined_of_slot = np.repeat(np.arange(len(arrays.infosets)), arrays.infosets["num_actions"])
    has_parent = parents < len(refined_of_slot)
    above = infoset_of[refined_of_slot[parents[has_parent]] - own[0]] if len(own) else parents
    level[infoset_of] = 0
    for _ in range(len(own) + 1):
        before = level.copy()
        np.maximum.at(level, infoset_of[has_parent], before[above] + 1)
        if (level == before).all():
            return level
    raise GameError(
        f"{tree.game}: two information sets of player {int(arrays.infosets['player'][own[0]])} each precede the other, "
        "on different paths, so OpenSpiel's best response, which is computed from the last sets to the first, is "
        "undefined."
    )
