"""The exact gradient, by the sequence form: no tree is walked.

Reference: von Stengel 1996, "Efficient computation of behavior strategies", section 3; Farina et al. 2020, section 2.
"""

from mccfr_plus._jit import inline_kernel, kernel
from mccfr_plus.workspace import NODES_TOUCHED, refresh_reach


@inline_kernel
def full_gradient(tree, strategy, workspace, player):
    """Writes the exact gradient of the player into `workspace` and lists all his infosets. Modified in place.

    `NODES_TOUCHED` grows by the number of histories, which is what a traversal of the tree would visit.
    """
    num_players = len(tree.slot_range) - 1
    for other in range(num_players):
        if other != player:
            refresh_reach(tree, strategy, workspace, other)
    exact_gradient(tree, workspace.reach, workspace.gradient, player)
    first, last = tree.infoset_range[player], tree.infoset_range[player + 1]
    if workspace.num_touched[player] != last - first:  # the list is the same in every iteration
        for infoset in range(first, last):
            workspace.touched[infoset] = infoset
        workspace.num_touched[player] = last - first
    workspace.counts[NODES_TOUCHED] += len(tree.nodes)


@inline_kernel
def exact_gradient(tree, reach, gradient, player):
    """Writes the player's rows of the gradient, given everybody's reach. `gradient` is modified in place."""
    num_players = len(tree.slot_range) - 1
    empty = tree.slot_range[num_players] + player
    if num_players == 2:
        _rows_of_two(tree, reach, gradient, tree.slot_range[player], tree.slot_range[player + 1])
        _rows_of_two(tree, reach, gradient, empty, empty + 1)
    else:
        _rows_of_many(tree, reach, gradient, tree.slot_range[player], tree.slot_range[player + 1])
        _rows_of_many(tree, reach, gradient, empty, empty + 1)


@inline_kernel
def _rows_of_two(tree, reach, gradient, first, last):
    """Writes rows of (sparse matrix) x (the other player's reach) into `gradient`, modified in place."""
    start, others, value = tree.leaf_start, tree.leaf_others, tree.leaf_value
    for row in range(first, last):
        total = 0.0
        for leaf in range(start[row], start[row + 1]):
            total += value[leaf] * reach[others[leaf, 0]]
        gradient[row] = total


@kernel
def _rows_of_many(tree, reach, gradient, first, last):
    """The same for any number of other players, whose reaches are multiplied."""
    start, others, value = tree.leaf_start, tree.leaf_others, tree.leaf_value
    for row in range(first, last):
        total = 0.0
        for leaf in range(start[row], start[row + 1]):
            product = value[leaf]
            for other in range(others.shape[1]):
                product *= reach[others[leaf, other]]
            total += product
        gradient[row] = total
