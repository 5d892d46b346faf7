"""One walk for every scheme that samples nodes or visits all their children: `external`, `chance`, `opponent`.

The walk goes depth first with an explicit stack. Chance and opponents are either drawn on-policy, one child each, or
all visited; the player's own nodes are all visited. Where they are drawn, the reach of the others cancels against
the probability of the draw, so a leaf z adds to the gradient at the player's last slot

    u_i(z) * (product of the probabilities of chance and opponents at nodes where all children were visited).

An opponent's action is drawn anew at every node, as in OpenSpiel, not once per infoset as in the paper's definition:
both are unbiased.

Reference: Lanctot et al. 2009, section 3.2 (external), 3 (chance); Farina et al. 2020, section 4.1 (opponent).
"""

from mccfr_plus._jit import inline_kernel
from mccfr_plus.rng import next_double
from mccfr_plus.tree.arrays import (
    ACCEPT,
    ALIAS,
    CHANCE,
    FIRST_CHILD,
    KIND,
    NUM_CHILDREN,
    PAYLOAD,
    PROBABILITY,
    TERMINAL,
)
from mccfr_plus.workspace import NODES_TOUCHED, NUM_VISITS, begin_walk


@inline_kernel
def draw_outcome(chance, first, count, rng):
    """Returns the index, 0 .. count - 1, of a chance outcome drawn by the alias table that begins at row `first`."""
    scaled = next_double(rng) * count
    column = int(scaled)
    if scaled - column >= chance[first + column, ACCEPT]:
        return int(chance[first + column, ALIAS])
    return column


@inline_kernel
def draw_action(strategy, first, count, rng):
    """Returns the index, 0 .. count - 1, of an action drawn from `strategy[first : first + count]`.

    Never an action of probability 0, whatever rounding does to the sum.
    """
    if count == 1:
        return 0
    rest = next_double(rng)
    chosen = 0
    for action in range(count):
        probability = strategy[first + action]
        if probability > 0.0:
            chosen = action
            rest -= probability
            if rest < 0.0:
                break
    return chosen


@inline_kernel
def touch(tree, workspace, player, first, stamp):
    """Notes that the walk entered the infoset whose first slot is `first`. `workspace` is modified in place."""
    if workspace.mark[first] != stamp:
        workspace.mark[first] = stamp
        workspace.touched[tree.infoset_range[player] + workspace.num_touched[player]] = tree.infoset_of_slot[first]
        workspace.num_touched[player] += 1


@inline_kernel
def walk(tree, strategy, workspace, player, all_chance, all_opponents, note_visits):
    """Adds one sampled traversal to `workspace.gradient` and lists what it touched. Modified in place.

    Args:
        tree: `TreeArrays`.
        strategy: ``[num_slots]``, everybody's current strategy.
        workspace: `Workspace`.
        player: For whom the gradient is estimated.
        all_chance: Whether to visit all chance outcomes instead of drawing one.
        all_opponents: Whether to visit all actions of opponents instead of drawing one.
        note_visits: Whether to list the opponents' infosets in `workspace.visits`, for the averages; not together
            with `all_opponents`.
    """
    nodes, payoffs, chance = tree.nodes, tree.payoffs, tree.chance
    gradient, stack, stack_weight, rng = workspace.gradient, workspace.stack, workspace.stack_weight, workspace.rng
    visits, visit_weight = workspace.visits, workspace.visit_weight
    stamp = begin_walk(workspace, player)
    pending, num_visits, nodes_touched = 0, 0, 0
    node, slot, weight = 0, tree.slot_range[-1] + player, 1.0
    while True:
        nodes_touched += 1
        kind, count = nodes[node, KIND], nodes[node, NUM_CHILDREN]
        child, payload = nodes[node, FIRST_CHILD], nodes[node, PAYLOAD]
        if kind == TERMINAL:
            gradient[slot] += weight * payoffs[payload, player]
            if pending == 0:
                break
            pending -= 1
            node, slot, weight = stack[pending, 0], stack[pending, 1], stack_weight[pending]
        elif kind == player:
            touch(tree, workspace, player, payload, stamp)
            for action in range(count - 1, 0, -1):
                stack[pending, 0] = child + action
                stack[pending, 1] = payload + action
                stack_weight[pending] = weight
                pending += 1
            node, slot = child, payload
        elif kind == CHANCE:
            if all_chance:
                for outcome in range(count - 1, 0, -1):
                    stack[pending, 0] = child + outcome
                    stack[pending, 1] = slot
                    stack_weight[pending] = weight * chance[payload + outcome, PROBABILITY]
                    pending += 1
                node = child
                weight *= chance[payload, PROBABILITY]
            else:
                node = child + draw_outcome(chance, payload, count, rng)
        elif all_opponents:
            for action in range(count - 1, 0, -1):
                stack[pending, 0] = child + action
                stack[pending, 1] = slot
                stack_weight[pending] = weight * strategy[payload + action]
                pending += 1
            node = child
            weight *= strategy[payload]
        else:
            if note_visits:
                visits[num_visits, 0] = payload
                visits[num_visits, 1] = count
                visit_weight[num_visits] = weight
                num_visits += 1
            node = child + draw_action(strategy, payload, count, rng)
    workspace.counts[NUM_VISITS] = num_visits
    workspace.counts[NODES_TOUCHED] += nodes_touched
