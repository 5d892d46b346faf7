"""Outcome sampling: one history, in two forms.

**One per player.** At own nodes the action is drawn from xi = epsilon e + (1 - epsilon) strategy, with an exploration
strategy e (uniform, exploration-balanced, or somebody's own); chance and opponents are drawn on-policy, so that at the
leaf z their reach cancels and the gradient's only entry is

    u_i(z) / (product of xi over the player's own actions on the way to z).

**One for all players.** Everybody's actions are drawn from xi, and every player i gets an entry,

    u_i(z) * (product of the other players' strategies) / (product of everybody's xi).

References: Lanctot et al. 2009, section 3.1, equation 10, with the paper's epsilon = 0.6, and algorithm 1 of its
appendix (one history for all); Farina et al. 2020, section 4.2 (sampling strategies).
"""

from mccfr_plus.estimators.draws import draw_exploring, draw_outcome
from mccfr_plus.estimators.traversal import draw_for_infoset, list_visit
from mccfr_plus.kernels.compile import inline_kernel
from mccfr_plus.kernels.intrinsics import head_of, unlikely
from mccfr_plus.kernels.scratch import NO_VISITS, NODES_TOUCHED, NUM_VISITS, THREAD, at, note_visit, touch
from mccfr_plus.tree.arrays import CHANCE, TERMINAL
from mccfr_plus.tree.expansion import expand


@inline_kernel
def exploring_probability(strategy, exploration, slot, count, epsilon):
    """Returns xi, the probability with which `draw_exploring` draws an action."""
    other = 1.0 / count if len(exploration) == 0 else exploration[at(slot)]
    return epsilon * other + (1.0 - epsilon) * strategy[at(slot)]


@inline_kernel
def outcome_traversal(tree, strategy, exploration, scratch, player, epsilon, visit_mode):
    """Adds the gradient of one sampled history and lists what it touched. `scratch` is modified in place.

    Args:
        tree: `TreeArrays`.
        strategy: ``[num_slots]``, everybody's current strategy.
        exploration: ``[num_slots]``, or empty for uniform exploration.
        scratch: `Scratch`.
        player: For whom the gradient is estimated.
        epsilon: Exploration at the player's own nodes, in (0, 1].
        visit_mode: How to list the opponents' infosets in `scratch.visits`, with weight 1 / (product of xi), which
            makes up for the player's own exploration.
    """
    nodes, rng = tree.nodes, scratch.rng
    slot, weight = tree.slot_range[-1] + player, 1.0
    num_visits, nodes_touched = scratch.counts[NUM_VISITS], 1
    node, thread = 0, scratch.counts[THREAD]
    while True:
        kind, count = head_of(nodes, at(node))
        if count == 0:
            if unlikely(kind != TERMINAL):  # nobody was here before
                if expand(tree.expansion, node, thread):
                    continue
                return
            break
        record = nodes[at(node)]
        payload = record["payload"]
        if kind == player:
            touch(tree, scratch, player, payload, count, slot)
            index = draw_exploring(strategy, exploration, payload, count, epsilon, rng)
            slot = payload + index
            weight /= exploring_probability(strategy, exploration, slot, count, epsilon)
        elif kind == CHANCE:
            index = draw_outcome(tree.chance, payload, count, rng)
        else:
            index = draw_for_infoset(strategy, scratch, payload, count)
            num_visits = list_visit(scratch, num_visits, visit_mode, payload, count, index, weight)
        node = record["first_child"] + index
        nodes_touched += 1
    scratch.gradient[at(slot)] += weight * tree.payoffs[at(nodes[at(node)]["payload"]), at(player)]
    scratch.counts[NUM_VISITS] = num_visits
    scratch.counts[NODES_TOUCHED] += nodes_touched


@inline_kernel
def shared_outcome_traversal(tree, strategy, exploration, scratch, epsilon, visit_mode):
    """Adds to all players' gradients what one sampled history says, and lists what it touched. Modified in place.

    Everybody's infosets are visits, with weight (owner's reach) / (product of everybody's xi): the probability of the
    visit cancels, so that own reach is left, whatever the number of players.

    Args:
        tree: `TreeArrays`.
        strategy: ``[num_slots]``, everybody's current strategy.
        exploration: ``[num_slots]``, or empty for uniform exploration.
        scratch: `Scratch`.
        epsilon: Exploration of all players, in (0, 1].
        visit_mode: `VISITED` or `NO_VISITS`.
    """
    nodes, rng, last = tree.nodes, scratch.rng, scratch.stack  # per player: the last own slot and the own reach
    num_players = len(tree.slot_range) - 1
    for player in range(num_players):
        last[at(player)]["slot"] = tree.slot_range[-1] + player
        last[at(player)]["weight"] = 1.0
    weight = 1.0
    num_visits, nodes_touched = scratch.counts[NUM_VISITS], 1
    node, thread = 0, scratch.counts[THREAD]
    while True:
        kind, count = head_of(nodes, at(node))
        if count == 0:
            if unlikely(kind != TERMINAL):  # nobody was here before
                if expand(tree.expansion, node, thread):
                    continue
                return
            break
        record = nodes[at(node)]
        payload = record["payload"]
        if kind == CHANCE:
            index = draw_outcome(tree.chance, payload, count, rng)
        else:
            touch(tree, scratch, kind, payload, count, last[at(kind)]["slot"])
            if visit_mode != NO_VISITS:
                note_visit(scratch, num_visits, payload, count, weight * last[at(kind)]["weight"])
                num_visits += 1
            index = draw_exploring(strategy, exploration, payload, count, epsilon, rng)
            slot = payload + index
            last[at(kind)]["slot"] = slot
            last[at(kind)]["weight"] *= strategy[at(slot)]
            weight /= exploring_probability(strategy, exploration, slot, count, epsilon)
        node = record["first_child"] + index
        nodes_touched += 1
    payoffs = nodes[at(node)]["payload"]
    for player in range(num_players):
        others = weight
        for other in range(num_players):
            if other != player:
                others *= last[at(other)]["weight"]
        scratch.gradient[at(last[at(player)]["slot"])] += others * tree.payoffs[at(payoffs), at(player)]
    scratch.counts[NUM_VISITS] = num_visits
    scratch.counts[NODES_TOUCHED] += nodes_touched
