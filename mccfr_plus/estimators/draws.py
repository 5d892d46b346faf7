"""What a traversal draws at random, and what it lists at opponents' infosets for averages that need it.

Traversals draw through these functions and through nothing else, so that `check_estimator` can put others in their
place which go through all outcomes one by one. A user-defined estimator that does the same is checked exactly.
"""

import numpy as np

from mccfr_plus.games.rules import CHANCE
from mccfr_plus.kernels.compile import allocating_kernel, expression_kernel, inline_kernel
from mccfr_plus.kernels.random_numbers import next_double
from mccfr_plus.kernels.slots import optional_slot
from mccfr_plus.trees.by_rules.rows import MOVED, outcomes_of
from mccfr_plus.trees.scratch import DRAWN_ACTION, at, note_visit


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


NO_PLAYER = -9  # a player without nodes: all players are opponents


@allocating_kernel
def max_visits(nodes, player, own, all_chance, all_own):
    """Returns the largest number of visits that a traversal for the player can list.

    `own` says whether the player's own infosets are listed, or those of the others; `all_chance` and `all_own` whether
    all chance outcomes and own actions are visited, or one.
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
