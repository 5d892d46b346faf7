"""How the current strategy is added to the sums of the average strategy.

In iteration t every sequence's sum grows, in expectation, by w_t * c(I) * reach_i(I) * x(I, a): own reach times
strategy times the iteration's weight, and a factor c(I) that does not change over time and so drops out when an
infoset's sums are normalized. That is the average in sequence form, which is what regret bounds speak of, also for
minimizers that work on whole sequences (FTRL, OMD). How it comes about:

| method | what is added | when | right for |
|---|---|---|---|
| `EXACT` | own reach times strategy, at all sequences | every iteration | any game of perfect recall |
| `LAZY` | the same sums, pending until an infoset is touched | O(touched) | the same |
| `TOUCHED` | own reach times strategy, at touched infosets | O(touched) | visits by chance alone |
| `VISITS` | the strategy, or the action drawn, at on-policy visits | O(visits) | two players; one for all |
| `own_traversal` | the strategy, at the visits of a second traversal | one more traversal | any number of players |

A strategy changes only where it is touched. So the lazy method needs no table of pending updates: the sum of a sequence
is also the mass that has reached the infosets behind it, and an infoset takes what its parent's sum has gained since it
was last settled. Visits at opponents also depend on third players' changing strategies, which is the bias of
OpenSpiel's SIMPLE; in a second traversal the other players act uniformly at random, so that it has none. OpenSpiel's
FULL has the same expectation and traverses the whole tree.
"""

from collections.abc import Callable
from dataclasses import dataclass

from mccfr_plus.estimators.visits import list_drawn_action, list_infoset, list_nothing
from mccfr_plus.kernels.compile import expression_kernel, inline_kernel, kernel
from mccfr_plus.kernels.slots import Constant, bind, required_slot
from mccfr_plus.trees.access import FETCH_AHEAD
from mccfr_plus.trees.scratch import LOOK_AHEAD, at, refresh_reach


@dataclass(frozen=True)
class AverageMethod:
    """How the sums of the average strategy are formed.

    Attributes:
        name: What it is called.
        accumulate: ``kernel(tree, strategy, average, scratch, player, weight) -> bool``, called once per gradient,
            before the player's strategy changes. `average` is ``[num_slots + num_players]`` float64, the sums; at the
            end, those of the empty sequences: the weight of all iterations so far. `weight` is that of the iteration; 0
            where this was added before, which then changes nothing. Returns False, having added nothing, where a lazy
            tree could not expand.
        list_visit: What traversals list, which is added up after each of them; see `mccfr_plus.estimators.visits`.
        has_sums: Whether there are sums.
    """

    name: str
    accumulate: Callable
    list_visit: Callable = list_nothing
    has_sums: bool = True


@required_slot
def USER_AVERAGE(tree, strategy, average, scratch, player, weight):
    """The kernel of a user-defined average; see `AverageMethod`."""


@kernel
def accumulate_user_defined(tree, strategy, average, scratch, player, weight):
    """Calls a user-defined average's kernel. Returns True."""
    USER_AVERAGE(tree, strategy, average, scratch, player, weight)
    return True


def user_defined(own: Callable) -> AverageMethod:
    """Returns the method of a user-defined average."""
    return AverageMethod("user-defined", bind(accumulate_user_defined, {USER_AVERAGE: own}, partial=True))


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


EXACT = AverageMethod("exact", accumulate_exact)


@expression_kernel
def accumulate_lazy(tree, strategy, average, scratch, player, weight):
    """Applies the pending average updates at the player's touched infosets. See `AverageMethod`."""
    add_weight(tree, average, player, weight)
    settle_touched(tree, strategy, average, scratch, player)
    return True


@inline_kernel
def settle_touched(tree, strategy, average, scratch, player):
    """Applies the pending average updates at touched infosets. `average` and `scratch` are modified in place."""
    begin = tree.infoset_range[player]
    end = begin + scratch.num_touched[player]
    for position in range(begin, end):
        ahead = scratch.touched[at(min(position + LOOK_AHEAD, end - 1))]
        FETCH_AHEAD(average, ahead["parent_slot"])
        FETCH_AHEAD(scratch.seen, ahead["first_slot"])
        infoset = scratch.touched[at(position)]
        first, count = infoset["first_slot"], infoset["num_actions"]
        settle_infoset(first, count, infoset["parent_slot"], strategy, average, scratch.seen)


@inline_kernel
def settle_infoset(first, count, parent, strategy, average, seen):
    """Applies the pending average update of an infoset. `average` and `seen` are modified in place.

    Args:
        first: The infoset's first slot.
        count: Its number of actions.
        parent: The player's last slot before it.
        strategy: ``[num_slots]``, unchanged at this infoset since it was last settled.
        average: See `AverageMethod`; the parent's sum is up to date.
        seen: `Scratch.seen`.
    """
    above = average[at(parent)]
    gain = above - seen[at(first)]
    if gain > 0.0:  # below 0 where another thread of the fast mode has lost what was added above
        seen[at(first)] = above
        for slot in range(first, first + count):
            average[at(slot)] += gain * strategy[at(slot)]


@kernel
def settled(infosets, strategy, average, seen, sums):
    """Writes what `average` would be if all infosets were settled; nothing else changes, not even by rounding.

    Args:
        infosets: ``[num_infosets]`` INFOSET, parents first.
        strategy: ``[num_slots]``.
        average: The sums; see `AverageMethod`.
        seen: See `settle_infoset`.
        sums: ``[num_slots + num_players]``, an output.
    """
    for slot in range(len(strategy), len(average)):
        sums[slot] = average[slot]
    for infoset in infosets:
        first = infoset["first_slot"]
        gain = max(sums[infoset["parent_slot"]] - seen[first], 0.0)
        for slot in range(first, first + infoset["num_actions"]):
            sums[slot] = average[slot] + gain * strategy[slot]


LAZY = AverageMethod("lazy", accumulate_lazy)


SINCE_LAST_VISIT = Constant("SINCE_LAST_VISIT", False, "Whether to add all iterations since the last visit.")


@kernel
def accumulate_touched(tree, strategy, average, scratch, player, weight):
    """Adds reach x strategy at the player's touched infosets, for this iteration or all since the last visit.

    The first is right where the visits depend on chance alone. The second, "optimistic averaging", is biased, as reach
    has changed meanwhile (Lanctot et al. 2009, appendix A.1). See `AverageMethod`.
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


TOUCHED = AverageMethod("touched", accumulate_touched)
OPTIMISTIC = AverageMethod("optimistic", bind(accumulate_touched, {SINCE_LAST_VISIT: True}))


@inline_kernel
def accumulate_visits(tree, strategy, average, scratch, player, weight):
    """Adds the weight alone: the visits are added after each traversal, by `add_visits`. See `AverageMethod`.

    Reference: Lanctot et al. 2009, appendix A.1, "stochastically-weighted averaging".
    """
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


VISITS = AverageMethod("visits", accumulate_visits, list_visit=list_infoset)
DRAWN_ACTIONS = AverageMethod("drawn actions", accumulate_visits, list_visit=list_drawn_action)
LAST = AverageMethod("last", accumulate_visits, has_sums=False)  # no average: the last strategy
