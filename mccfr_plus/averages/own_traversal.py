"""Stochastic averages by a traversal of their own, in which the other players act uniformly at random.

So they are right for any number of players, at the price of one more sampled traversal.
"""

from mccfr_plus.averages.methods import AverageMethod, add_visits, add_weight
from mccfr_plus.estimators.draws import DRAW_AT_CHANCE, draw_action, draw_uniform
from mccfr_plus.games.rules import CHANCE, TERMINAL
from mccfr_plus.kernels.compile import inline_kernel, kernel
from mccfr_plus.kernels.slots import Constant, bind
from mccfr_plus.trees.access import ADVANCE, CHILD_OF, FIRST_NODE, HEAD, IS_LAZY, KEEP, PAYLOAD_OF, REOPEN, RESUME
from mccfr_plus.trees.expansion import EXPAND
from mccfr_plus.trees.scratch import NODES_TOUCHED, NUM_VISITS, THREAD, note_visit, push

FOLLOWS_ALL_OWN = Constant("FOLLOWS_ALL_OWN", True, "Whether all own actions are visited, or one is drawn.")


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
    stack, rng = scratch.stack, scratch.rng
    pending, num_visits, nodes_touched = 0, 0, 0
    node, reach, thread = FIRST_NODE(tree, scratch, player), 1.0, scratch.counts[THREAD]
    while True:
        kind, count = HEAD(tree, scratch, node)
        if IS_LAZY() and count == 0 and kind != TERMINAL:  # not visited yet
            if EXPAND(tree.expansion, node, thread):
                continue
            return False
        nodes_touched += 1
        payload = PAYLOAD_OF(tree, scratch, node)
        if kind == player:
            note_visit(scratch, num_visits, payload, count, reach)
            num_visits += 1
            if FOLLOWS_ALL_OWN():
                _, _, _, opened = REOPEN(tree, scratch, KEEP(tree, scratch, node))
                for action in range(count):
                    probability = strategy[payload + action]
                    if probability > 0.0:
                        child = CHILD_OF(tree, scratch, opened, payload, action)
                        kept = KEEP(tree, scratch, child)
                        push(stack, pending, kept, payload + action, reach * probability)
                        pending += 1
                if pending == 0:  # another thread writes this strategy, of which all was 0 just now
                    break
                pending -= 1
                node, reach = RESUME(tree, scratch, stack[pending]["node"]), stack[pending]["weight"]
            else:
                node = ADVANCE(tree, scratch, node, payload, draw_action(strategy, payload, count, rng))
        elif kind == CHANCE:
            node = ADVANCE(tree, scratch, node, payload, DRAW_AT_CHANCE(tree, scratch, payload, count))
        elif kind != TERMINAL:
            node = ADVANCE(tree, scratch, node, payload, draw_uniform(count, rng))
        elif pending > 0:
            pending -= 1
            node, reach = RESUME(tree, scratch, stack[pending]["node"]), stack[pending]["weight"]
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
    return AverageMethod("own traversal", bind(accumulate, {FOLLOWS_ALL_OWN: all_own}, partial=True))
