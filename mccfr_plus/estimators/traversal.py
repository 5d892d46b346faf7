"""The traversal of estimators that visit all own actions, a subset or one, and at chance and opponents one or all.

The traversal goes depth first with an explicit stack. Where one child of a node is drawn on-policy, the reach of the
others cancels against the probability of the draw, so a leaf z adds to the gradient at the player's last slot

    u_i(z) * (product of the probabilities of chance and opponents at nodes where all children were visited)
           / (product of the probabilities with which own actions were visited).

A single own action is drawn from xi = epsilon e + (1 - epsilon) strategy, with an exploration strategy e.

Nodes of which one child is drawn never wait on the stack: when a node is expanded, the traversal slides from each of
its children through such nodes, down to a leaf or to the next node to expand. The processor overlaps the cache misses
of these slides: 1.3 times as fast on trees larger than the cache.

References: Lanctot et al. 2009, sections 3 (chance), 3.1 (outcome, equation 10), 3.2 (external) and 5 (pruning); Farina
et al. 2020, sections 4.1 (opponent) and 4.2 (exploration strategies); Gibson et al. 2012, algorithm 1 (average
strategy); Brown, Sandholm 2019, "Superhuman AI for multiplayer poker", supplement, algorithm 1 (regret-based pruning).
"""

from mccfr_plus.estimators.draws import (
    DRAW_AT_CHANCE,
    DRAW_FOR_OPPONENT,
    LIST_VISIT,
    draw_coin,
    draw_exploring,
    exploring_probability,
)
from mccfr_plus.games.rules import CHANCE, TERMINAL
from mccfr_plus.kernels.compile import inline_kernel
from mccfr_plus.kernels.intrinsics import unlikely
from mccfr_plus.kernels.slots import Constant, optional_slot
from mccfr_plus.trees.access import (
    ADVANCE,
    ALL_PLAYERS,
    CHILD_OF,
    FIRST_NODE,
    HEAD,
    IS_LAZY,
    KEEP,
    OUTCOME_PROBABILITY,
    PAYLOAD_OF,
    PAYOFF,
    REOPEN,
)
from mccfr_plus.trees.expansion import EXPAND
from mccfr_plus.trees.scratch import at, enter, push, touch

ALL_CHANCE = Constant("ALL_CHANCE", False, "Whether all chance outcomes are visited, or one is drawn.")
ALL_OPPONENTS = Constant("ALL_OPPONENTS", False, "Whether all opponents' actions are visited, or one is drawn.")
PRUNE = Constant("PRUNE", False, "Whether to leave out what opponents do not play, where all of it is visited.")
ALL_OWN = Constant("ALL_OWN", True, "Whether all own actions are visited, or a subset by `INCLUSION`.")
ONE_OWN = Constant("ONE_OWN", False, "Whether a single own action is visited, drawn by `draw_exploring`.")
ENTERS_OPPONENTS = Constant(
    "ENTERS_OPPONENTS", True, "Whether opponents' infosets are listed, or drawn once per traversal."
)


@optional_slot
def WEIGH_ACTIONS(sampling_weights, first, count):
    """Returns what `INCLUSION` needs to know of an infoset: nothing, by default."""
    return 0.0


@optional_slot
def INCLUSION(parameters, sampling_weights, slot, total):
    """Returns the probability, at most 1, with which an own action is visited."""
    return 1.0


@inline_kernel
def traversal(parameters, sampling_weights, tree, strategy, scratch, player):
    """Adds one sampled traversal to `scratch.gradient` and lists what it touched. Modified in place.

    The arguments are those of every estimator's kernel, see `Estimator`; the constants above say what is visited. With
    `ONE_OWN` the first parameter is epsilon, in (0, 1], and the sampling weights are e, or empty for uniform play.
    """
    gradient, stack, rng = scratch.gradient, scratch.stack, scratch.rng
    stamp, thread = scratch.counts[0]["stamp"], scratch.counts[0]["thread"]
    pending, num_visits, nodes_touched = 0, scratch.counts[0]["num_visits"], 0
    epsilon = parameters[0] if ONE_OWN() else 0.0
    # The first node to expand is a parent of the root, at which no player moves.
    expanded, count, payload = TERMINAL, 1, 0
    opened = FIRST_NODE(tree, scratch, ALL_PLAYERS if ENTERS_OPPONENTS() else player)
    slot, weight, is_new, total = tree.slot_range[-1] + player, 1.0, False, 0.0
    while True:
        for index in range(count - 1, -1, -1):
            child_slot, child_weight = slot, weight
            if expanded == player:
                child_slot = payload + index
                if is_new:  # here and not by `touch`, which would need a loop of its own
                    gradient[at(child_slot)] = 0.0
                if not ALL_OWN():
                    probability = INCLUSION(parameters, sampling_weights, child_slot, total)
                    if probability < 1.0:
                        if not draw_coin(probability, rng):
                            continue
                        child_weight = weight / probability
            elif expanded == CHANCE:
                child_weight = weight * OUTCOME_PROBABILITY(tree, scratch, payload, index)
            elif expanded != TERMINAL:
                child_weight = weight * strategy[at(payload + index)]
                if PRUNE() and child_weight == 0.0:
                    continue
            node = opened if expanded == TERMINAL else CHILD_OF(tree, scratch, opened, payload, index)
            while True:
                kind, width = HEAD(tree, scratch, node)
                if width == 0:
                    if IS_LAZY() and unlikely(kind != TERMINAL):  # not visited yet
                        if EXPAND(tree.expansion, node, thread):
                            continue
                        break
                    nodes_touched += 1
                    gradient[at(child_slot)] += child_weight * PAYOFF(tree, scratch, node, player)
                    break
                nodes_touched += 1
                if not ONE_OWN() if kind == player else ALL_CHANCE() if kind == CHANCE else ALL_OPPONENTS():
                    push(stack, pending, KEEP(tree, scratch, node), child_slot, child_weight)
                    pending += 1
                    break
                first = PAYLOAD_OF(tree, scratch, node)
                if kind == CHANCE:
                    drawn = DRAW_AT_CHANCE(tree, scratch, first, width)
                elif ONE_OWN() and kind == player:
                    touch(tree, scratch, player, first, width, child_slot)
                    drawn = draw_exploring(strategy, sampling_weights, first, width, epsilon, rng)
                    child_slot = first + drawn
                    child_weight /= exploring_probability(strategy, sampling_weights, child_slot, width, epsilon)
                else:
                    drawn = DRAW_FOR_OPPONENT(strategy, scratch, first, width)
                    num_visits = LIST_VISIT(scratch, num_visits, first, width, drawn, child_weight)
                node = ADVANCE(tree, scratch, node, first, drawn)
        if pending == 0:
            break
        pending -= 1
        top = stack[at(pending)]
        slot, weight = top["slot"], top["weight"]
        expanded, count, payload, opened = REOPEN(tree, scratch, top["node"])
        if expanded == player:
            is_new = enter(tree, scratch, player, payload, count, slot, stamp)
            if not ALL_OWN():
                total = WEIGH_ACTIONS(sampling_weights, payload, count)
    scratch.counts[0]["num_visits"] = num_visits
    scratch.counts[0]["nodes_touched"] += nodes_touched
