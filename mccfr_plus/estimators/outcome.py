"""Outcome sampling: one history per player and iteration.

At own nodes the action is drawn epsilon-on-policy, xi = epsilon / num_actions + (1 - epsilon) strategy; chance and
opponents are drawn on-policy, so that at the leaf z their reach cancels and the gradient's only entry is

    u_i(z) / (product of xi over the player's own actions on the way to z).

Reference: Lanctot et al. 2009, section 3.1, equation 10, with the paper's epsilon = 0.6.
"""

from mccfr_plus._jit import inline_kernel
from mccfr_plus.estimators.walk import draw_action, draw_outcome
from mccfr_plus.rng import next_double
from mccfr_plus.tree.arrays import CHANCE, TERMINAL
from mccfr_plus.workspace import NODES_TOUCHED, NUM_VISITS, at, begin_walk, note_visit, touch


@inline_kernel
def draw_exploring(strategy, first, count, epsilon, rng):
    """Returns the index, 0 .. count - 1, of an action drawn epsilon-on-policy."""
    draw = next_double(rng)
    if draw < epsilon:
        return int(draw / epsilon * count)  # given draw < epsilon, draw / epsilon is uniform: no second number needed
    return draw_action(strategy, first, count, rng)


@inline_kernel
def outcome_walk(tree, strategy, workspace, player, epsilon, list_visits):
    """Writes the gradient of one sampled history and lists what it touched. `workspace` is modified in place.

    Args:
        tree: `TreeArrays`.
        strategy: ``[num_slots]``, everybody's current strategy.
        workspace: `Workspace`.
        player: For whom the gradient is estimated.
        epsilon: Exploration at the player's own nodes, in (0, 1].
        list_visits: Whether to list the opponents' infosets in `workspace.visits`, with weight 1 / (product of xi),
            which makes up for the player's own exploration.
    """
    nodes, rng = tree.nodes, workspace.rng
    stamp = begin_walk(tree, workspace, player)
    slot, weight = tree.slot_range[-1] + player, 1.0
    num_visits, nodes_touched = 0, 1
    record = nodes[0]
    while record["kind"] != TERMINAL:
        kind, count, payload = record["kind"], record["num_children"], record["payload"]
        if kind == player:
            touch(tree, workspace, player, payload, count, slot, stamp)
            index = draw_exploring(strategy, payload, count, epsilon, rng)
            slot = payload + index
            weight /= epsilon / count + (1.0 - epsilon) * strategy[at(slot)]
        elif kind == CHANCE:
            index = draw_outcome(tree.chance, payload, count, rng)
        else:
            if list_visits:
                note_visit(workspace, num_visits, payload, count, weight)
                num_visits += 1
            index = draw_action(strategy, payload, count, rng)
        record = nodes[at(record["first_child"] + index)]
        nodes_touched += 1
    workspace.gradient[at(slot)] += weight * tree.payoffs[at(record["payload"]), at(player)]
    workspace.counts[NUM_VISITS] = num_visits
    workspace.counts[NODES_TOUCHED] += nodes_touched
