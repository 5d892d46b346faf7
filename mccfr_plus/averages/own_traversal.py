"""Stochastic averages by a traversal of their own, in which the other players act uniformly at random.

So they are right for any number of players, at the price of one more sampled traversal.
"""

from mccfr_plus.averages.base import AverageMethod, add_weight
from mccfr_plus.averages.visits import add_visits
from mccfr_plus.estimators.draws import draw_action, draw_outcome, draw_uniform
from mccfr_plus.kernels.compile import compose, inline_kernel, kernel
from mccfr_plus.kernels.intrinsics import head_of
from mccfr_plus.kernels.scratch import NODES_TOUCHED, NUM_VISITS, THREAD, note_visit, push
from mccfr_plus.tree.arrays import CHANCE, TERMINAL
from mccfr_plus.tree.expansion import expand

ALL_OWN, IS_LAZY = True, False  # composed in: whether all own actions are visited; whether the tree may end early


@inline_kernel
def accumulate(tree, strategy, average, scratch, player, weight):
    """Makes the traversal, if the tree can expand, and adds up what it visits. See `AverageMethod`."""
    if not own_traversal(tree, strategy, scratch, player):
        return False
    add_visits(strategy, average, scratch, weight)
    add_weight(tree, average, player, weight)
    return True


@kernel
def own_traversal(tree, strategy, scratch, player):
    """Lists the player's infosets in `scratch.visits`, in expectation by own reach alone. Modified in place.

    Chance is drawn on-policy and other players uniformly, neither of which changes over time. Own actions are drawn
    on-policy, or all visited that have positive reach, with that reach as weight. Returns whether it was finished; if
    not, the tree could not expand.
    """
    nodes, stack, rng = tree.nodes, scratch.stack, scratch.rng
    pending, num_visits, nodes_touched = 0, 0, 0
    node, reach, thread = 0, 1.0, scratch.counts[THREAD]
    while True:
        kind, count = head_of(nodes, node)
        if IS_LAZY and count == 0 and kind != TERMINAL:  # not visited yet
            if expand(tree.expansion, node, thread):
                continue
            return False
        nodes_touched += 1
        record = nodes[node]
        child, payload = record["first_child"], record["payload"]
        if kind == player:
            note_visit(scratch, num_visits, payload, count, reach)
            num_visits += 1
            if ALL_OWN:
                for action in range(count):
                    if strategy[payload + action] > 0.0:
                        push(stack, pending, child + action, payload + action, reach * strategy[payload + action])
                        pending += 1
                if pending == 0:  # another thread writes this strategy, of which all was 0 just now
                    break
                pending -= 1
                node, reach = stack[pending]["node"], stack[pending]["weight"]
            else:
                node = child + draw_action(strategy, payload, count, rng)
        elif kind == CHANCE:
            node = child + draw_outcome(tree.chance, payload, count, rng)
        elif kind != TERMINAL:
            node = child + draw_uniform(count, rng)
        elif pending > 0:
            pending -= 1
            node, reach = stack[pending]["node"], stack[pending]["weight"]
        else:
            break
    scratch.counts[NUM_VISITS] = num_visits
    scratch.counts[NODES_TOUCHED] += nodes_touched
    return True


def own_traversal_method(all_own: bool) -> AverageMethod:
    """Returns the method.

    Args:
        all_own: Whether to visit all own actions, by their reach, instead of drawing one.
    """
    return AverageMethod("own traversal", compose(accumulate, ALL_OWN=all_own))
