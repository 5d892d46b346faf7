"""How the current strategy is added to the sums of the average strategy.

In iteration t every sequence's sum grows, in expectation, by w_t * c(I) * reach_i(I) * x(I, a): own reach times
strategy times the iteration's weight, and a factor c(I) that does not change over time and so drops out when an
infoset's sums are normalized. That is the average in sequence form, which is what regret bounds speak of, also for
minimizers that work on whole sequences (FTRL, OMD). How it comes about:

* exactly, for all of the player's sequences in every iteration (`AverageMethod.EXACT`), O(all sequences);
* exactly, on demand (`AverageMethod.LAZY`), O(touched). A strategy changes only where it is touched, so that all that reached an
  infoset since it was last touched was played there in the same way. The sum of a sequence is also what has reached
  the infosets behind it; an infoset takes what its parent's sum has gained since last time and distributes it by its
  strategy, before that changes. What is still above is pushed down when the average is asked for;
* at the own infosets that a traversal touched, where that depends on chance alone (`TOUCHED`);
* at infosets that a traversal visited on-policy: their own reach is the probability of the visit (`VISITS`; Lanctot et al.
  2009, appendix A.1, "stochastically-weighted averaging"). At opponents this is right for two players only: with
  more, the visits also depend on the third player's changing strategy, which is the bias of OpenSpiel's SIMPLE;
* by a traversal of its own (`OWN_TRAVERSAL`): the other players act uniformly at random whatever their strategies, so that the
  average is right for any number of players, at the price of one more sampled traversal. OpenSpiel's FULL has the same
  expectation and traversals the whole tree;
* at touched own infosets, by their current reach for all iterations since they were last touched (`OPTIMISTIC`; Lanctot
  et al. 2009, appendix A.1, "optimistic averaging"): biased, as reach has changed meanwhile.
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
