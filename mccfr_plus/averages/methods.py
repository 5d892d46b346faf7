"""Kernels that add the current strategy to the sums of the average strategy; `Mechanism` says which one is right when.

The lazy average needs no table of pending updates: the sum of a sequence is also the mass that has reached the infosets
behind it, and an infoset takes what its parent's sum has gained since it was last touched.
"""

from mccfr_plus.estimators.draws import DRAW_AT_CHANCE, draw_action, draw_uniform
from mccfr_plus.games.rules import CHANCE, TERMINAL
from mccfr_plus.kernels.compile import inline_kernel, kernel
from mccfr_plus.kernels.slots import Constant, required_slot
from mccfr_plus.trees.access import (
    ADVANCE,
    CHILD_OF,
    FETCH_AHEAD,
    FIRST_NODE,
    HEAD,
    IS_LAZY,
    KEEP,
    PAYLOAD_OF,
    REOPEN,
    RESUME,
)
from mccfr_plus.trees.expansion import EXPAND
from mccfr_plus.trees.scratch import LOOK_AHEAD, at, note_visit, push, refresh_reach

SINCE_LAST_VISIT = Constant("SINCE_LAST_VISIT", False, "Whether to add all iterations since the last visit.")
FOLLOWS_ALL_OWN = Constant("FOLLOWS_ALL_OWN", True, "Whether all own actions are visited, or one is drawn.")


@required_slot
def USER_AVERAGE(tree, strategy, average, scratch, player, weight):
    """The kernel of a user-defined average; see `AverageMethod`."""


@kernel
def accumulate_user_defined(tree, strategy, average, scratch, player, weight):
    USER_AVERAGE(tree, strategy, average, scratch, player, weight)
    return True


@inline_kernel
def add_weight(tree, average, player, weight):
    """Adds an iteration's weight to the sum of the player's empty sequence. `average` is modified in place."""
    average[at(tree.slot_range[-1] + player)] += weight


@inline_kernel
def accumulate_exact(tree, strategy, average, scratch, player, weight):
    """Adds weight x own reach x strategy at all of the player's slots. See `AverageMethod`."""
    add_weight(tree, average, player, weight)
    refresh_reach(tree, strategy, scratch, player)
    for slot in range(tree.slot_range[player], tree.slot_range[player + 1]):
        average[at(slot)] += weight * scratch.reach[at(slot)]
    return True


@inline_kernel
def accumulate_lazy(tree, strategy, average, scratch, player, weight):
    """Applies the pending updates at the player's touched infosets, whose strategy has not changed since then."""
    add_weight(tree, average, player, weight)
    touched, seen, begin = scratch.touched, scratch.seen, tree.infoset_range[player]
    end = begin + scratch.num_touched[player]
    for position in range(begin, end):
        ahead = touched[at(min(position + LOOK_AHEAD, end - 1))]
        FETCH_AHEAD(average, ahead["parent_slot"])
        FETCH_AHEAD(seen, ahead["first_slot"])
        infoset = touched[at(position)]
        first, above = infoset["first_slot"], average[at(infoset["parent_slot"])]
        gain = above - seen[at(first)]
        if gain > 0.0:  # below 0 where another thread of the fast mode has lost what was added above
            seen[at(first)] = above
            for slot in range(first, first + infoset["num_actions"]):
                average[at(slot)] += gain * strategy[at(slot)]
    return True


@kernel
def settled(infosets, strategy, average, seen, sums):
    """Writes what `average` would be without pending updates to `sums`, ``[num_slots + num_players]``."""
    for slot in range(len(strategy), len(average)):
        sums[slot] = average[slot]
    for infoset in infosets:
        first = infoset["first_slot"]
        gain = max(sums[infoset["parent_slot"]] - seen[first], 0.0)
        for slot in range(first, first + infoset["num_actions"]):
            sums[slot] = average[slot] + gain * strategy[slot]


@kernel
def accumulate_touched(tree, strategy, average, scratch, player, weight):
    """Adds reach x strategy at the player's touched infosets, for this iteration or all since the last visit.

    The latter, "optimistic averaging", is biased, as reach has changed meanwhile (Lanctot et al. 2009, appendix A.1).
    """
    add_weight(tree, average, player, weight)
    reach, total = scratch.reach, average[tree.slot_range[-1] + player]
    begin = tree.infoset_range[player]
    for position in range(begin, begin + scratch.num_touched[player]):
        infoset = scratch.touched[position]
        first = infoset["first_slot"]
        above = reach[infoset["parent_slot"]]
        scale = weight
        if SINCE_LAST_VISIT():
            scale = total - scratch.seen[first]
            scratch.seen[first] = total
        for slot in range(first, first + infoset["num_actions"]):
            reach[slot] = above * strategy[slot]
            average[slot] += scale * reach[slot]
    return True


@inline_kernel
def accumulate_visits(tree, strategy, average, scratch, player, weight):
    """Adds the weight alone: `add_visits` follows each traversal (Lanctot et al. 2009, appendix A.1)."""
    add_weight(tree, average, player, weight)
    return True


@inline_kernel
def add_visits(strategy, average, scratch, weight):
    """Adds strategies, or the actions drawn, at listed infosets. `average` is modified in place."""
    add_listed(strategy, average, scratch.visits, scratch.counts[0]["num_visits"], weight)


@inline_kernel
def add_listed(strategy, average, visits, num_visits, weight):
    """Does what `add_visits` does for a list of visits."""
    for visit in range(num_visits):
        entry = visits[at(visit)]
        first, count, scale = entry["first_slot"], entry["num_actions"], weight * entry["weight"]
        if count < 0:  # DRAWN_ACTION
            average[at(first)] += scale
        for slot in range(first, first + count):
            average[at(slot)] += scale * strategy[at(slot)]


@inline_kernel
def accumulate_own_traversal(tree, strategy, average, scratch, player, weight):
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
    node, reach, thread = FIRST_NODE(tree, scratch, player), 1.0, scratch.counts[0]["thread"]
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
    scratch.counts[0]["num_visits"] = num_visits
    scratch.counts[0]["nodes_touched"] += nodes_touched
    return True
