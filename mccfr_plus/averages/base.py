"""How the current strategy is added to the sums of the average strategy.

In iteration t every sequence's sum grows, in expectation, by w_t * c(I) * reach_i(I) * x(I, a): own reach times
strategy times the iteration's weight, and a factor c(I) that does not change over time and so drops out when an
infoset's sums are normalized. That is the average in sequence form, which is what regret bounds speak of, also for
minimizers that work on whole sequences (FTRL, OMD). How it comes about:

| method | what is added | when | right for |
|---|---|---|---|
| `exact_sums` | own reach times strategy, at all sequences | every iteration | any game of perfect recall |
| `lazy_sums` | the same sums, pending until an infoset is touched | O(touched) | the same |
| `touched` | own reach times strategy, at touched infosets | O(touched) | visits by chance alone |
| `visits` | the strategy, or the action drawn, at on-policy visits | O(visits) | two players; one for all |
| `own_traversal` | the strategy, at the visits of a second traversal | one more traversal | any number of players |

A strategy changes only where it is touched. So the lazy method needs no table of pending updates: the sum of a sequence
is also the mass that has reached the infosets behind it, and an infoset takes what its parent's sum has gained since it
was last settled. Visits at opponents also depend on third players' changing strategies, which is the bias of
OpenSpiel's SIMPLE; in a second traversal the other players act uniformly at random, so that it has none. OpenSpiel's
FULL has the same expectation and traverses the whole tree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mccfr_plus.estimators.visits import list_nothing
from mccfr_plus.kernels.compile import compose, inline_kernel, kernel
from mccfr_plus.kernels.scratch import at


@inline_kernel
def settle_nothing(tree, strategy, average, scratch, player):
    """No-op, for methods that do nothing at the infosets that a thread updates."""


@dataclass(frozen=True)
class AverageMethod:
    """How the sums of the average strategy are formed.

    Attributes:
        name: As `Solver.average_method` shows it.
        accumulate: ``kernel(tree, strategy, average, scratch, player, weight) -> bool``, called once per gradient,
            before the player's strategy changes. `average` is ``[num_slots + num_players]`` float64, the sums; at the
            end, those of the empty sequences: the weight of all iterations so far. `weight` is that of the iteration; 0
            where this was added before, which then changes nothing. Returns False, having added nothing, where a lazy
            tree could not expand.
        settle: ``kernel(tree, strategy, average, scratch, player)``, called by each thread of a team at the infosets
            that it updates, after `accumulate` at those that no thread owns.
        list_visit: What traversals list; see `mccfr_plus.estimators.visits`.
        is_shared: Whether threads of a team may each average infosets of their own.
        has_sums: Whether there are sums.
    """

    name: str
    accumulate: Callable
    settle: Callable = settle_nothing
    list_visit: Callable = list_nothing
    is_shared: bool = True
    has_sums: bool = True

    @property
    def lists_visits(self) -> bool:
        """Whether the visits that traversals list are added up, after each traversal."""
        return self.list_visit is not list_nothing


@inline_kernel
def average_kernel(tree, strategy, average, scratch, player, weight):
    """The place of a user-defined average's kernel."""


@kernel
def accumulate_user_defined(tree, strategy, average, scratch, player, weight):
    """Calls a user-defined average's kernel. Returns True."""
    average_kernel(tree, strategy, average, scratch, player, weight)
    return True


def user_defined(own: Callable) -> AverageMethod:
    """Returns the method of a user-defined average.

    Args:
        own: Its kernel; see `PowerAverage`.
    """
    return AverageMethod("user-defined", compose(accumulate_user_defined, average_kernel=own), is_shared=False)


@inline_kernel
def add_weight(tree, average, player, weight):
    """Adds an iteration's weight to the sum of the player's empty sequence. `average` is modified in place."""
    average[at(tree.slot_range[-1] + player)] += weight
