"""Best responses and expected values on the arrays, for any number of players and any payoffs."""

from mccfr_plus.estimators.full import exact_gradient
from mccfr_plus.kernels.compile import inline_kernel, kernel
from mccfr_plus.trees.arrays import TreeArrays


@inline_kernel
def own_reach(tree, strategy, reach):
    """Writes every player's reach of each own sequence; `reach` is ``[num_slots + num_players]``, an output."""
    infosets = tree.infosets
    num_players = len(tree.slot_range) - 1
    for empty in range(tree.slot_range[num_players], len(reach)):
        reach[empty] = 1.0
    for infoset in range(len(infosets)):
        first = infosets[infoset]["first_slot"]
        above = reach[infosets[infoset]["parent_slot"]]
        for slot in range(first, first + infosets[infoset]["num_actions"]):
            reach[slot] = above * strategy[slot]


@inline_kernel
def best_response_value(tree, reach, player, gradient, best):
    """Returns the values of a best response and of the policy itself for one player.

    Args:
        tree: `TreeArrays` with leaves.
        reach: Own reach of every sequence under the policy to respond to.
        player: The responding player.
        gradient: ``[num_slots + num_players + 1]``. Modified in place.
        best: ``[num_infosets]`` int32; the player's entries become the first best slots.
    """
    exact_gradient(tree, reach, gradient, player)
    infosets = tree.infosets
    empty = tree.slot_range[-1] + player
    on_policy = gradient[empty]
    for slot in range(tree.slot_range[player], tree.slot_range[player + 1]):
        on_policy += gradient[slot] * reach[slot]
    for infoset in range(tree.infoset_range[player + 1] - 1, tree.infoset_range[player] - 1, -1):
        first = infosets[infoset]["first_slot"]
        chosen = first
        for slot in range(first + 1, first + infosets[infoset]["num_actions"]):
            if gradient[slot] > gradient[chosen]:
                chosen = slot
        best[infoset] = chosen
        gradient[infosets[infoset]["parent_slot"]] += gradient[chosen]
    return gradient[empty], on_policy


@kernel
def evaluate(strategy, best_values, values, reach, gradient, best, *flat):
    """Writes the best-response and on-policy value of every player.

    `strategy` is ``[num_slots]``, the two outputs ``[num_players]``; see `best_response_value` for the other arrays.
    `flat` are the fields of `TreeArrays`, one by one, which Numba unpacks in half the time.
    """
    tree = TreeArrays(*flat)
    own_reach(tree, strategy, reach)
    for player in range(len(values)):
        best_values[player], values[player] = best_response_value(tree, reach, player, gradient, best)


@kernel
def normalize(sums, infosets, strategy):
    """Writes sums divided by their total at each infoset, uniform where that is 0; `strategy` is an output.

    It may be the same memory as `sums`. It is exactly uniform where all sums are equal, as at infosets without visits.
    """
    for infoset in infosets:
        first, count = infoset["first_slot"], infoset["num_actions"]
        total, is_uniform = 0.0, True
        for slot in range(first, first + count):
            total += sums[slot]
            is_uniform = is_uniform and sums[slot] == sums[first]
        for slot in range(first, first + count):
            strategy[slot] = sums[slot] / total if total > 0.0 and not is_uniform else 1.0 / count
