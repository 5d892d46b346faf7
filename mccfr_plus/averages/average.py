"""Averages: weights of iterations, and `Mechanism`: how the sums are formed, which way is right, and its kernels.

The lazy average needs no table of pending updates: the sum of a sequence is also the mass that has reached the infosets
behind it, and an infoset takes what its parent's sum has gained since it was last touched.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, ClassVar, NamedTuple

import numpy as np

from mccfr_plus.errors import ConfigError
from mccfr_plus.estimators import Estimator
from mccfr_plus.estimators.traversal import (
    DRAW_AT_CHANCE,
    draw_action,
    draw_uniform,
    list_drawn_action,
    list_infoset,
    list_nothing,
)
from mccfr_plus.games.rules import CHANCE, TERMINAL
from mccfr_plus.kernels.compile import inline_kernel, kernel
from mccfr_plus.kernels.slots import Constant, bind, required_slot
from mccfr_plus.parameters import Component, choice, number, whole
from mccfr_plus.trees import needs
from mccfr_plus.trees.expansion import EXPAND
from mccfr_plus.trees.scratch import (
    ADVANCE,
    CHILD_OF,
    FETCH_AHEAD,
    FIRST_NODE,
    HEAD,
    IS_LAZY,
    KEEP,
    LOOK_AHEAD,
    PAYLOAD_OF,
    REOPEN,
    RESUME,
    at,
    base_of,
    list_begin,
    note_visit,
    push,
    refresh_reach,
)

SINCE_LAST_VISIT = Constant("SINCE_LAST_VISIT", False, "Whether to add all iterations since the last visit.")
PER_HISTORY = Constant("PER_HISTORY", False, "Whether each history that comes to an infoset counts, as in OpenSpiel.")
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
    begin = list_begin(tree, scratch, player)
    for position in range(begin, begin + scratch.num_touched[player]):
        infoset, scale = scratch.touched[at(position)], weight
        first, base, above = infoset["first_slot"], base_of(infoset), reach[at(infoset["parent_slot"])]
        if SINCE_LAST_VISIT():
            scale = total - scratch.seen[at(first)]
            scratch.seen[at(first)] = total
        if PER_HISTORY():
            scale *= infoset["histories"]
        for action in range(infoset["num_actions"]):
            reach[at(base + action)] = above * strategy[at(first + action)]
            average[at(first + action)] += scale * reach[at(base + action)]
    return True


@inline_kernel
def accumulate_visits(tree, strategy, average, scratch, player, weight):
    """Adds the weight alone: `add_visits` follows each traversal (Lanctot et al. 2009, appendix A.1)."""
    add_weight(tree, average, player, weight)
    return True


@inline_kernel
def add_visits(strategy, average, visits, num_visits, weight):
    """Adds strategies, or the actions drawn, at listed infosets. `average` is modified in place."""
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
    add_visits(strategy, average, scratch.visits, scratch.counts[0]["num_visits"], weight)
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


_LARGEST_GAMMA = 30.0  # sums are numbers for 1e10 iterations
_MOST_SCHEDULED = 10_000_000  # of which each has an entry in a table

# What a user may choose: mechanisms by name, except for auto and stochastic, which leave them to `average_method`.
METHODS = ("auto", "exact", "per_history", "lazy", "stochastic", "sampled", "optimistic", "last")


@dataclass(frozen=True)
class PowerAverage(Component):
    """The average in which iteration t has weight t^gamma (Brown and Sandholm 2019: gamma = 2 for DCFR).

    Methods:

    * ``"auto"``: exact for `full`; for other estimators, lazy with perfect recall and stochastic with imperfect recall.
    * ``"exact"``: adds the whole strategy in every iteration, in O(sequences) time; OpenSpiel calls this FULL.
    * ``"per_history"``: like ``"exact"``, but at information sets that their player can reach through several
      pasts (imperfect recall), each past is weighted by its number of histories, as in OpenSpiel's CFR.
    * ``"lazy"``: equal to ``"exact"`` up to rounding, in O(touched infosets) time. The game must have perfect recall.
    * ``"stochastic"``: adds the strategy at visited infosets, weighted by 1 / (probability of the visit). The result
      is unbiased but noisy.
    * ``"sampled"``: like ``"stochastic"``, but counts the action drawn for the opponent; the result is the
      empirical distribution of play. In a matrix game, the average over k iterations of
      `external(sample_per_infoset=True)` mixes at most k actions per player (Grigoriadis and Khachiyan 1995). Two
      players only.
    * ``"optimistic"``: a biased average, for comparison with Lanctot et al. 2009, appendix A.1.
    * ``"last"``: the last strategy instead of an average. The last strategy need not converge.

    A subclass may define a ``kernel(tree, strategy, average, scratch, player, weight)``, which adds to
    ``average[slot]``; see `AverageMethod.accumulate`.

    Args:
        gamma: The exponent, from 0 to 30; ignored if `method` is ``"last"``.
        method: How the sums are computed; see above.

    Examples:
        >>> solver = mccfr_plus.Solver("kuhn_poker", "full", "dcfr", mccfr_plus.PowerAverage(method="exact"))
        >>> solver.run(100).exploitability() < 0.01
        True
    """

    gamma: float = number(2.0, least=0, most=_LARGEST_GAMMA, note="sums of larger powers overflow")
    method: str = choice("auto", METHODS)
    short_name: ClassVar[str] = "power"
    kernel: ClassVar[Any] = None  # of an average that is not built in

    @property
    def references(self) -> tuple[str, ...]:
        """Keys of `mccfr_plus.citations`."""
        if self.method == "last":
            return ()
        of_gamma = {0.0: "zinkevich2007regret", 1.0: "tammelin2014solving"}.get(self.gamma, "brown2019solving")
        if self.method in ("auto", "exact", "per_history"):
            return (of_gamma,)
        return (of_gamma, "grigoriadis1995sublinear" if self.method == "sampled" else "lanctot2009monte")

    @property
    def needs(self) -> frozenset[str]:
        """What the average needs from the tree and the estimator, in terms of `mccfr_plus.trees.needs`."""
        of_method = {
            "exact": {needs.INFOSETS},
            "per_history": {needs.INFOSETS},
            "lazy": {needs.PERFECT_RECALL},
            "optimistic": {needs.PERFECT_RECALL},
            "sampled": {needs.ONE_PLAYER, needs.OPPONENTS_DRAWN, needs.TWO_PLAYERS},
        }
        of_kernel = set() if self.kernel is None else {needs.HISTORIES, needs.PERFECT_RECALL}
        return frozenset(of_method.get(self.method, set()) | of_kernel)

    @property
    def provides(self) -> frozenset[str]:
        """What the average provides to other components."""
        return frozenset() if self.method == "last" else frozenset({needs.AVERAGE})

    def weights(self) -> tuple[float, np.ndarray]:
        """Returns gamma, and the weights of iterations 0, 1, ... if they differ from t^gamma: ``[any]`` float64."""
        return float(self.gamma), np.zeros(0)


@dataclass(frozen=True)
class ScheduledAverage(PowerAverage):
    """The average whose exponent falls from gamma to gamma - drop during the run (Zhang, McAleer and Sandholm 2026).

    Before iteration t + 1, the sums are multiplied by (t / (t + 1))^gamma_t with gamma_t = gamma - drop * min(t, n) /
    n. The paper's HS-PCFR+(30) is predictive regret matching+ with this average and gamma = 30; HS-PCFR+(15) has
    gamma = 15.

    Args:
        gamma: The exponent at the beginning, at least `drop`.
        method: See `PowerAverage`.
        drop: The decrease of the exponent during the run, above 0.
        iterations: The planned number of iterations n, at most 10 million.

    Examples:
        >>> solver = mccfr_plus.Solver("kuhn_poker", "full", "prm+", mccfr_plus.ScheduledAverage(iterations=100))
        >>> solver.run(100).exploitability() < 0.01
        True
    """

    gamma: float = number(_LARGEST_GAMMA, least=0, most=_LARGEST_GAMMA)
    drop: float = number(5.0, above=0)
    iterations: int = whole(1000, most=_MOST_SCHEDULED)
    short_name: ClassVar[str] = "schedule"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.drop > self.gamma:
            raise ConfigError(f"drop={self.drop!r}: must be at most gamma={self.gamma!r}.")

    @property
    def references(self) -> tuple[str, ...]:
        """Keys of `mccfr_plus.citations`."""
        return ("zhang2026faster",)

    def weights(self) -> tuple[float, np.ndarray]:
        # Up to a common factor: that of iteration n is n^last, and those before follow from the ratios.
        numbers, last = np.arange(1.0, self.iterations), float(self.gamma - self.drop)
        logs = (self.gamma - self.drop * numbers / self.iterations) * np.log1p(1.0 / numbers)
        before = last * np.log(self.iterations) - np.cumsum(logs[::-1])[::-1]
        return last, np.concatenate([[0.0], np.exp(before)])


def uniform(method: str = "auto") -> PowerAverage:
    """Returns the average in which all iterations have the same weight."""
    return PowerAverage(0.0, method)


def linear(method: str = "auto") -> PowerAverage:
    """Returns the average in which iteration t has weight t, as in CFR+."""
    return PowerAverage(1.0, method)


class Mechanism(Enum):
    """How the sums of the average strategy are formed.

    In iteration t every sequence's sum grows, in expectation, by w_t * c(I) * reach_i(I) * x(I, a): the iteration's
    weight times a constant c(I), the player's reach and the strategy. c(I) drops out when an infoset's sums are
    normalized. This is the average in sequence form to which regret bounds apply, including those of FTRL and OMD.
    """

    EXACT = auto()  # own reach times strategy, at all sequences in every iteration
    LAZY = auto()  # the same sums, pending until an infoset is touched
    TOUCHED = auto()  # own reach times strategy at touched infosets: right where chance alone decides about visits
    HISTORIES = auto()  # the same where infosets are tied, once per history and not once per own past
    OPTIMISTIC = auto()  # the same for all iterations since the last visit, with a bias
    VISITS = auto()  # the opponent's strategy at on-policy visits: right for two players, or if a history serves all
    DRAWN_ACTIONS = auto()  # the opponent's action that was drawn there
    OWN_TRAVERSAL = auto()  # the strategy at the visits of a second traversal: right for any number of players
    OWN_HISTORY = auto()  # the same with a traversal that draws one own action
    LAST = auto()  # no sums: the last strategy
    USER_DEFINED = auto()


class AverageMethod(NamedTuple):
    """A mechanism with its kernels.

    Attributes:
        accumulate: ``kernel(tree, strategy, average, scratch, player, weight) -> bool``, called once per gradient,
            before the player's strategy changes. `average`, ``[num_slots + num_players]`` float64, has the sums, those
            of empty sequences last: the weight of all iterations so far. `weight` is the iteration's weight, or 0 if it
            was added before. The kernel returns False, having added nothing, if a lazy tree could not expand.
        list_visit: What traversals list, to be added up after each traversal; see `mccfr_plus.estimators.traversal`.
    """

    mechanism: Mechanism
    accumulate: Callable
    list_visit: Callable = list_nothing

    @property
    def has_sums(self) -> bool:
        """Whether there are sums."""
        return self.mechanism is not Mechanism.LAST


_KERNELS: dict[Mechanism, tuple[Callable, ...]] = {
    Mechanism.EXACT: (accumulate_exact,),
    Mechanism.LAZY: (accumulate_lazy,),
    Mechanism.TOUCHED: (accumulate_touched,),
    Mechanism.HISTORIES: (bind(accumulate_touched, {PER_HISTORY: True}, partial=True),),
    Mechanism.OPTIMISTIC: (bind(accumulate_touched, {SINCE_LAST_VISIT: True}),),
    Mechanism.VISITS: (accumulate_visits, list_infoset),
    Mechanism.DRAWN_ACTIONS: (accumulate_visits, list_drawn_action),
    Mechanism.OWN_TRAVERSAL: (accumulate_own_traversal,),
    Mechanism.OWN_HISTORY: (bind(accumulate_own_traversal, {FOLLOWS_ALL_OWN: False}, partial=True),),
    Mechanism.LAST: (accumulate_visits,),
}


def average_method(
    averaging: PowerAverage, estimator: Estimator, num_players: int, perfect_recall: bool, *, by_rules: bool
) -> AverageMethod:
    """Returns how an average is formed with an estimator in a game, which may be traversed with compiled rules."""
    if averaging.kernel is not None:
        accumulate = bind(accumulate_user_defined, {USER_AVERAGE: averaging.kernel}, partial=True)
        return AverageMethod(Mechanism.USER_DEFINED, accumulate)
    mechanism = _mechanism(averaging.method, estimator, num_players, perfect_recall, by_rules)
    return AverageMethod(mechanism, *_KERNELS[mechanism])


def _mechanism(method: str, estimator: Estimator, num_players: int, perfect_recall: bool, by_rules: bool) -> Mechanism:
    """Returns the mechanism of a built-in average.

    With more than two players, visits at opponents also depend on third players' changing strategies, which is the bias
    of OpenSpiel's SIMPLE. In a second traversal the other players act uniformly at random, so that it has none.
    """
    provided = estimator.provides
    if method == "auto" and perfect_recall and needs.DRAWS in provided:
        method = "lazy"
    if method in ("lazy", "optimistic", "last"):
        return Mechanism[method.upper()]
    if not perfect_recall and (needs.DRAWS not in provided or needs.OWN_BY_CHANCE in provided):
        return Mechanism.HISTORIES if method == "per_history" else Mechanism.TOUCHED
    if method in ("exact", "per_history") or needs.DRAWS not in provided:
        # By rules, slots are not in order, and what does not sample touches all infosets.
        return Mechanism.TOUCHED if by_rules else Mechanism.EXACT
    if needs.OWN_BY_CHANCE in provided:
        return Mechanism.TOUCHED
    if needs.OPPONENTS_DRAWN in provided and (num_players == 2 or needs.ONE_PLAYER not in provided):
        return Mechanism.DRAWN_ACTIONS if method == "sampled" else Mechanism.VISITS
    return Mechanism.OWN_TRAVERSAL if estimator.visits_all_own else Mechanism.OWN_HISTORY
