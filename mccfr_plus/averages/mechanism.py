"""`Mechanism`: how the sums of the average strategy are formed, which one is right, and its kernels."""

from collections.abc import Callable
from enum import Enum, auto
from typing import NamedTuple

from mccfr_plus.averages import methods
from mccfr_plus.averages.power import PowerAverage
from mccfr_plus.estimators import Estimator
from mccfr_plus.estimators.visits import list_drawn_action, list_infoset, list_nothing
from mccfr_plus.kernels.slots import bind
from mccfr_plus.trees.needs import DRAWS, ONE_PLAYER, OPPONENTS_DRAWN, OWN_BY_CHANCE


class Mechanism(Enum):
    """How the sums of the average strategy are formed.

    In iteration t every sequence's sum grows, in expectation, by w_t * c(I) * reach_i(I) * x(I, a): own reach times
    strategy times the iteration's weight, and a factor c(I) that does not change over time and so drops out when an
    infoset's sums are normalized. That is the average in sequence form, which is what regret bounds speak of, also for
    minimizers that work on whole sequences (FTRL, OMD).
    """

    EXACT = auto()  # own reach times strategy, at all sequences in every iteration
    LAZY = auto()  # the same sums, pending until an infoset is touched
    TOUCHED = auto()  # own reach times strategy at touched infosets: right where chance alone decides about visits
    OPTIMISTIC = auto()  # the same for all iterations since the last visit, with a bias
    VISITS = auto()  # the opponent's strategy at on-policy visits: right for two players, or if a history serves all
    DRAWN_ACTIONS = auto()  # the opponent's action that was drawn there
    OWN_TRAVERSAL = auto()  # the strategy at the visits of a second traversal: right for any number of players
    OWN_HISTORY = auto()  # the same with a traversal that draws one own action
    LAST = auto()  # no sums: the last strategy
    USER_DEFINED = auto()


def mechanism_for(
    averaging: PowerAverage, estimator: Estimator, num_players: int, perfect_recall: bool, *, by_rules: bool = False
) -> Mechanism:
    """Returns the mechanism of an average with an estimator in a game.

    By rules, slots are not in order, and what does not sample touches all infosets. With more than two players, visits
    at opponents also depend on third players' changing strategies, which is the bias of OpenSpiel's SIMPLE. In a second
    traversal the other players act uniformly at random, so that it has none.
    """
    method, provided = averaging.method, estimator.provides
    if averaging.kernel is not None:
        return Mechanism.USER_DEFINED
    if method == "auto" and perfect_recall and DRAWS in provided:
        method = "lazy"
    if method in ("lazy", "optimistic", "last"):
        return Mechanism[method.upper()]
    if method == "exact" or DRAWS not in provided:
        return Mechanism.TOUCHED if by_rules else Mechanism.EXACT
    if OWN_BY_CHANCE in provided:
        return Mechanism.TOUCHED
    if OPPONENTS_DRAWN in provided and (num_players == 2 or ONE_PLAYER not in provided):
        return Mechanism.DRAWN_ACTIONS if method == "sampled" else Mechanism.VISITS
    return Mechanism.OWN_TRAVERSAL if estimator.visits_all_own else Mechanism.OWN_HISTORY


class AverageMethod(NamedTuple):
    """A mechanism with its kernels.

    Attributes:
        mechanism: The mechanism.
        accumulate: ``kernel(tree, strategy, average, scratch, player, weight) -> bool``, called once per gradient,
            before the player's strategy changes. `average` is ``[num_slots + num_players]`` float64, the sums; at the
            end, those of the empty sequences: the weight of all iterations so far. `weight` is that of the iteration; 0
            where this was added before, which then changes nothing. Returns False, having added nothing, where a lazy
            tree could not expand.
        list_visit: What traversals list, which is added up after each of them; see `mccfr_plus.estimators.visits`.
    """

    mechanism: Mechanism
    accumulate: Callable
    list_visit: Callable = list_nothing

    @property
    def has_sums(self) -> bool:
        """Whether there are sums."""
        return self.mechanism is not Mechanism.LAST


def method_of(mechanism: Mechanism, user_kernel: Callable | None = None) -> AverageMethod:
    """Returns the kernels of a mechanism, with the kernel of a user-defined average."""
    if mechanism is Mechanism.USER_DEFINED:
        return AverageMethod(
            mechanism, bind(methods.accumulate_user_defined, {methods.USER_AVERAGE: user_kernel}, partial=True)
        )
    return AverageMethod(mechanism, *_KERNELS[mechanism])


_KERNELS: dict[Mechanism, tuple[Callable, ...]] = {
    Mechanism.EXACT: (methods.accumulate_exact,),
    Mechanism.LAZY: (methods.accumulate_lazy,),
    Mechanism.TOUCHED: (methods.accumulate_touched,),
    Mechanism.OPTIMISTIC: (bind(methods.accumulate_touched, {methods.SINCE_LAST_VISIT: True}),),
    Mechanism.VISITS: (methods.accumulate_visits, list_infoset),
    Mechanism.DRAWN_ACTIONS: (methods.accumulate_visits, list_drawn_action),
    Mechanism.OWN_TRAVERSAL: (methods.accumulate_own_traversal,),
    Mechanism.OWN_HISTORY: (bind(methods.accumulate_own_traversal, {methods.FOLLOWS_ALL_OWN: False}, partial=True),),
    Mechanism.LAST: (methods.accumulate_visits,),
}
