"""The traversal of estimators that visit all own actions, a subset or one, and at chance and opponents one or all.

The traversal goes depth first with an explicit stack. Where one child of a node is drawn on-policy, the reach of the
others cancels against the probability of the draw, so a leaf z adds to the gradient at the player's last slot

    u_i(z) * (product of the probabilities of chance and opponents at nodes where all children were visited)
           / (product of the probabilities with which own actions were visited).

A single own action is drawn from xi = epsilon e + (1 - epsilon) strategy, with an exploration strategy e.

Nodes of which one child is drawn never wait on the stack: when a node is expanded, the traversal slides from each of
its children through such nodes, down to a leaf or to the next node to expand. The processor overlaps the cache misses
of these slides: 1.3 times as fast on trees larger than the cache.

References: Lanctot et al. 2009, sections 3 (chance, outcome: equation 10, external: equation 11), 5 (pruning); Farina
et al. 2020, sections 4.1 (opponent) and 4.2 (exploration strategies); Gibson et al. 2012, algorithm 1 (average
strategy); Brown and Sandholm 2019, "Superhuman AI for multiplayer poker", supplement, algorithm 1 (regret-based
pruning).

Traversals draw through the functions below and through nothing else, so that `check_estimator` can put others in their
place which go through all outcomes one by one. A user-defined estimator that does the same is checked exactly. Others
list opponents' infosets for averages that need it.
"""

import numpy as np

from mccfr_plus.games.rules import CHANCE, TERMINAL
from mccfr_plus.kernels.compile import expression_kernel, inline_kernel
from mccfr_plus.kernels.intrinsics import next_double, unlikely
from mccfr_plus.kernels.slots import Constant, optional_slot
from mccfr_plus.trees.by_rules.rows import MOVED, outcomes_of
from mccfr_plus.trees.expansion import EXPAND
from mccfr_plus.trees.scratch import (
    ADVANCE,
    ALL_PLAYERS,
    CHILD_OF,
    DRAWN_ACTION,
    FIRST_NODE,
    HEAD,
    IS_LAZY,
    KEEP,
    OUTCOME_PROBABILITY,
    PAYLOAD_OF,
    PAYOFF,
    REOPEN,
    TIED,
    at,
    enter,
    note_visit,
    push,
    touch,
)


@inline_kernel
def draw_outcome(chance, first, count, rng):
    """Returns the index, 0 .. count - 1, of a chance outcome drawn by the alias table that begins at row `first`."""
    scaled = next_double(rng) * count
    column = np.int64(scaled)
    outcome = chance[at(first + column)]
    if scaled - column >= outcome["accept"]:
        return outcome["alias"]
    return column


@optional_slot
@expression_kernel
def DRAW_AT_CHANCE(tree, scratch, payload, count):
    """Returns the index of a chance outcome, at the node that a traversal moves on."""
    return draw_outcome(tree.chance, payload, count, scratch.rng)


@inline_kernel
def draw_listed_outcome(tree, scratch, payload, count):
    """Does what `DRAW_AT_CHANCE` does, where the game is not stored."""
    return draw_action(outcomes_of(tree, scratch, MOVED)[1], 0, count, scratch.rng)


@expression_kernel
def draw_action(strategy, first, count, rng):
    """Returns the index, 0 .. count - 1, of an action drawn from `strategy[first : first + count]`, never one of 0."""
    return _pick(strategy, first, count, next_double(rng))


@expression_kernel
def draw_at_node(strategy, scratch, first, count):
    """Returns the index of an opponent's action, drawn on-policy, again at every node."""
    return draw_action(strategy, first, count, scratch.rng)


DRAW_FOR_OPPONENT = optional_slot(draw_at_node)  # or draw_per_infoset


@inline_kernel
def draw_per_infoset(strategy, scratch, first, count):
    """Returns the index of an opponent's action, drawn on-policy once per infoset and traversal, in `scratch.drawn`."""
    drawn, traversal = scratch.drawn, scratch.counts[0]["traversal"]
    if drawn[at(first)]["traversal"] != traversal:
        drawn[at(first)]["traversal"] = traversal
        drawn[at(first)]["action"] = draw_action(strategy, first, count, scratch.rng)
    return drawn[at(first)]["action"]


@inline_kernel
def draw_exploring(strategy, exploration, first, count, epsilon, rng):
    """Returns the index of an action of `strategy` or, with probability epsilon, of `exploration` (empty: uniform)."""
    draw = next_double(rng)
    if draw < epsilon:  # given this, draw / epsilon is uniform: no second number needed
        if len(exploration) == 0:
            return np.int64(draw / epsilon * count)
        return _pick(exploration, first, count, draw / epsilon)
    return draw_action(strategy, first, count, rng)


@inline_kernel
def exploring_probability(strategy, exploration, slot, count, epsilon):
    """Returns xi, the probability with which `draw_exploring` draws an action."""
    other = 1.0 / count if len(exploration) == 0 else exploration[at(slot)]
    return epsilon * other + (1.0 - epsilon) * strategy[at(slot)]


@inline_kernel
def draw_uniform(count, rng):
    """Returns the index, 0 .. count - 1, of something drawn uniformly."""
    return np.int64(next_double(rng) * count)


@inline_kernel
def draw_coin(probability, rng):
    return next_double(rng) < probability


@inline_kernel
def _pick(strategy, first, count, rest):
    """Returns the index of the action at which the sum of probabilities exceeds a number in [0, 1).

    Where all are 0 it is the first: while another thread writes a strategy (``thread_mode="fast"``), that can be seen.
    """
    last = count - 1
    for action in range(last):
        rest -= strategy[at(first + action)]
        if rest < 0.0:
            return action
    while last > 0 and strategy[at(first + last)] <= 0.0:
        last -= 1
    return last


# --- what is listed for averages: one of these fills `LIST_VISIT` ---


@expression_kernel
def list_nothing(scratch, position, first, count, index, weight):
    """Lists nothing. Returns the number of visits listed so far."""
    return position


LIST_VISIT = optional_slot(list_nothing)


@inline_kernel
def list_infoset(scratch, position, first, count, index, weight):
    """Lists an infoset, whose strategy is to be added to the average with a weight, and returns the number of visits.

    `scratch.visits` is modified in place at `position`, the number of visits so far.
    """
    note_visit(scratch, position, first, count, weight)
    return position + 1


@inline_kernel
def list_drawn_action(scratch, position, first, count, index, weight):
    """Lists the action drawn, which is to be counted in the average; see `list_infoset`."""
    note_visit(scratch, position, first + index, DRAWN_ACTION, weight)
    return position + 1


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
    expanded, count, payload, base = TERMINAL, 1, 0, 0
    opened = FIRST_NODE(tree, scratch, ALL_PLAYERS if ENTERS_OPPONENTS() else player)
    slot, weight, is_new, total = tree.slot_range[-1] + player, 1.0, False, 0.0
    while True:
        for index in range(count - 1, -1, -1):
            child_slot, child_weight = slot, weight
            if expanded == player:
                child_slot = (base if TIED() else payload) + index
                if is_new:  # here and not by `touch`, which would need a loop of its own
                    gradient[at(child_slot)] = 0.0
                if not ALL_OWN():
                    probability = INCLUSION(parameters, sampling_weights, payload + index, total)
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
                    child_slot = touch(tree, scratch, player, first, width, child_slot)
                    drawn = draw_exploring(strategy, sampling_weights, first, width, epsilon, rng)
                    child_slot += drawn
                    child_weight /= exploring_probability(strategy, sampling_weights, first + drawn, width, epsilon)
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
            is_new, base = enter(tree, scratch, player, payload, count, slot, stamp)
            if not ALL_OWN():
                total = WEIGH_ACTIONS(sampling_weights, payload, count)
    scratch.counts[0]["num_visits"] = num_visits
    scratch.counts[0]["nodes_touched"] += nodes_touched
