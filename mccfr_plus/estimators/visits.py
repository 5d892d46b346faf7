"""What a traversal notes at an opponent's infoset, for averages that need it. One of these fills `LIST_VISIT`."""

import numpy as np

from mccfr_plus.games.rules import CHANCE
from mccfr_plus.kernels.compile import allocating_kernel, expression_kernel, inline_kernel
from mccfr_plus.kernels.slots import optional_slot
from mccfr_plus.trees.scratch import DRAWN_ACTION, note_visit


@expression_kernel
def list_nothing(scratch, position, first, count, index, weight):
    """Lists nothing. Returns the number of visits listed so far."""
    return position


LIST_VISIT = optional_slot(list_nothing)


@inline_kernel
def list_infoset(scratch, position, first, count, index, weight):
    """Lists an infoset, whose strategy is to be added to the average with a weight.

    `scratch.visits` is modified in place at `position`, the number of visits listed so far; returns their number now.
    """
    note_visit(scratch, position, first, count, weight)
    return position + 1


@inline_kernel
def list_drawn_action(scratch, position, first, count, index, weight):
    """Lists the action drawn, which is to be counted in the average; see `list_infoset`."""
    note_visit(scratch, position, first + index, DRAWN_ACTION, weight)
    return position + 1


NO_PLAYER = -9  # a player without nodes: all players are opponents


@allocating_kernel
def max_visits(nodes, player, own, all_chance, all_own):
    """Returns the largest number of visits that a traversal for the player can list.

    Args:
        nodes: ``[num_nodes]`` NODE.
        own: Whether the player's own infosets are listed, or those of the others.
        all_chance, all_own: Whether all chance outcomes and own actions are visited, or one.
    """
    bound = np.zeros(len(nodes), np.int64)
    for node in range(len(nodes) - 1, -1, -1):
        kind, first, count = nodes[node]["kind"], nodes[node]["first_child"], nodes[node]["num_children"]
        all_children = (kind == CHANCE and all_chance) or (kind == player and all_own)
        best = 0
        for child in range(first, first + count):
            best = best + bound[child] if all_children else max(best, bound[child])
        bound[node] = best + (1 if kind >= 0 and (kind == player) == own else 0)
    return bound[0]
