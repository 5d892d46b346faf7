"""Stochastic averages: the strategy, or the action drawn, at infosets that traversals visit on-policy.

Reference: Lanctot et al. 2009, appendix A.1, "stochastically-weighted averaging".
"""

from mccfr_plus.averages.base import AverageMethod, add_weight
from mccfr_plus.estimators.visits import list_drawn_action, list_infoset
from mccfr_plus.kernels.compile import inline_kernel
from mccfr_plus.kernels.scratch import NUM_VISITS, at


@inline_kernel
def accumulate(tree, strategy, average, scratch, player, weight):
    """Adds the weight alone: the visits are added after each traversal, by `add_visits`. See `AverageMethod`."""
    add_weight(tree, average, player, weight)
    return True


@inline_kernel
def add_visits(strategy, average, scratch, weight):
    """Adds strategies, or the actions drawn, at listed infosets. `average` is modified in place."""
    add_listed(strategy, average, scratch.visits, scratch.counts[NUM_VISITS], weight)


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


VISITS = AverageMethod("visits", accumulate, list_visit=list_infoset)
DRAWN_ACTIONS = AverageMethod("drawn actions", accumulate, list_visit=list_drawn_action)
LAST = AverageMethod("last", accumulate, has_sums=False)  # no average: the last strategy
