"""Average strategies: weights per iteration, and the kernels that add the current strategy up.

In iteration t every sequence's sum is_lazy, in expectation, by w_t * c(I) * reach_i(I) * x(I, a): own reach times
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

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from mccfr_plus.errors import ConfigError
from mccfr_plus.estimators.base import AverageMethod
from mccfr_plus.estimators.draws import draw_action, draw_outcome, draw_uniform
from mccfr_plus.kernels.compile import inline_kernel, kernel
from mccfr_plus.kernels.intrinsics import head_of
from mccfr_plus.kernels.scratch import NODES_TOUCHED, NUM_VISITS, THREAD, at, note_visit, push, refresh_reach
from mccfr_plus.tree.arrays import CHANCE, TERMINAL
from mccfr_plus.tree.expansion import expand

_EXACT, _TOUCHED, _VISITS, _OWN_WALK, _LAZY, _OPTIMISTIC, _NONE, _CUSTOM = (int(w) for w in AverageMethod)

METHODS = ("auto", "exact", "lazy", "stochastic", "sampled", "optimistic", "last")


@dataclass(frozen=True)
class PowerAverage:
    """The average in which iteration t has weight t^gamma (Brown, Sandholm 2019: gamma = 2 for DCFR).

    Methods:

    * ``"auto"``: exact for `full`, otherwise lazy; stochastic for games of imperfect recall.
    * ``"exact"``: the whole strategy is added up in every iteration, O(all sequences); OpenSpiel calls it FULL.
    * ``"lazy"``: the same numbers up to rounding, in O(touched). Needs perfect recall.
    * ``"stochastic"``: at visited infosets, weighted by 1 / probability: unbiased, with variance.
    * ``"sampled"``: the same, but what counts is the opponent's action that was drawn: the empirical distribution of
      play. After k iterations of `external(sample_per_infoset=True)` on a matrix game, it mixes at most k actions (Grigoriadis,
      Khachiyan 1995). Two players only.
    * ``"optimistic"``: biased; for comparison with Lanctot et al. 2009, appendix A.1.
    * ``"last"``: no average: the last strategy. It need not converge.

    A subclass may bring a ``kernel(tree, strategy, average, scratch, player, weight)`` of its own. It is called once
    per gradient, before the player's strategy changes, and adds to ``average[slot]``; see `accumulate`.

    Args:
        gamma: The exponent, finite and at least 0; ``"last"`` ignores it.
        method: How the sums are formed.
    """

    gamma: float = 2.0
    method: str = "auto"
    short_name: ClassVar[str] = "power"

    def __post_init__(self) -> None:
        gamma = self.gamma
        if isinstance(gamma, bool) or not isinstance(gamma, int | float) or not math.isfinite(gamma) or gamma < 0:
            raise ConfigError(f"gamma={gamma!r}: the exponent of an average must be a finite number >= 0.")
        if self.method not in METHODS:
            raise ConfigError(f"method={self.method!r}: give one of {', '.join(METHODS)}.")

    @property
    def kernel(self) -> Callable | None:
        """The kernel of an average that is not built in; None for the built-in ones."""
        return None

    @property
    def references(self) -> tuple[str, ...]:
        """Keys of `mccfr_plus.citations.BIBLIOGRAPHY`."""
        of_method = {"lazy": "lanctot2009monte", "stochastic": "lanctot2009monte", "optimistic": "lanctot2009monte"}
        of_method["sampled"] = "grigoriadis1995sublinear"
        of_gamma = {0.0: "zinkevich2007regret", 1.0: "tammelin2014solving"}
        if self.method == "last":
            return ()
        keys = (of_gamma.get(self.gamma, "brown2019solving"), of_method.get(self.method, ""))
        return tuple(key for key in keys if key)


def uniform(method: str = "auto") -> PowerAverage:
    """Returns the average in which all iterations weigh the same."""
    return PowerAverage(0.0, method)


def linear(method: str = "auto") -> PowerAverage:
    """Returns the average in which iteration t has weight t, as in CFR+."""
    return PowerAverage(1.0, method)


def exact(gamma: float = 0.0) -> PowerAverage:
    """Returns the average that adds the whole strategy up in every iteration."""
    return PowerAverage(gamma, "exact")


def lazy(gamma: float = 0.0) -> PowerAverage:
    """Returns the exact average that is pushed down on demand."""
    return PowerAverage(gamma, "lazy")


def stochastic(gamma: float = 0.0) -> PowerAverage:
    """Returns the unbiased average over visited infosets."""
    return PowerAverage(gamma, "stochastic")


def sampled(gamma: float = 0.0) -> PowerAverage:
    """Returns the empirical distribution of the actions that were drawn for the opponent."""
    return PowerAverage(gamma, "sampled")


def optimistic(gamma: float = 0.0) -> PowerAverage:
    """Returns the biased average over touched infosets that takes their reach as constant between two visits."""
    return PowerAverage(gamma, "optimistic")


def last() -> PowerAverage:
    """Returns the "average" that is the last strategy."""
    return PowerAverage(0.0, "last")


@inline_kernel
def accumulate(way, tree, strategy, average, scratch, player, weight, all_own):
    """Adds the current strategies to the sums of the average, once per gradient, in the way `AverageMethod` names.

    Returns whether it did: a traversal of its own cannot go on where the tree cannot expand, and then nothing is added.

    Args:
        way: A value of `AverageMethod`.
        tree: `TreeArrays`.
        strategy: ``[num_slots]``.
        average: ``[num_slots + num_players]`` float64, the sums; at the end, those of the empty sequences: the weight
            of all iterations so far. Modified in place.
        scratch: `Scratch`, as the estimator left it. Modified in place.
        player: The player whose gradient was estimated.
        weight: Weight of this iteration; 0 where this was added before, which then changes nothing.
        all_own: For `OWN_TRAVERSAL`, whether to visit all own actions, by their reach, instead of drawing one.
    """
    if way == _OWN_WALK:
        if not own_traversal(tree, strategy, scratch, player, all_own):
            return False
        add_visits(strategy, average, scratch, weight)
    average[at(tree.slot_range[-1] + player)] += weight
    marks = scratch.seen
    if way == _LAZY:
        begin = tree.infoset_range[player]
        for position in range(begin, begin + scratch.num_touched[player]):
            infoset = scratch.touched[at(position)]
            settle(infoset["first_slot"], infoset["num_actions"], infoset["parent_slot"], strategy, average, marks)
    elif way == _EXACT:
        refresh_reach(tree, strategy, scratch, player)
        for slot in range(tree.slot_range[player], tree.slot_range[player + 1]):
            average[at(slot)] += weight * scratch.reach[at(slot)]
    elif way in (_TOUCHED, _OPTIMISTIC):
        _add_touched(tree, strategy, average, scratch, player, weight, way == _OPTIMISTIC)
    return True


@inline_kernel
def settle(first, count, parent, strategy, average, marks):
    """Distributes what has reached an infoset since it was last settled. `average` and `marks` are modified in place.

    Args:
        first: The infoset's first slot.
        count: Its number of actions.
        parent: The player's last slot before it.
        strategy: ``[num_slots]``, unchanged at this infoset since it was last settled.
        average: See `accumulate`; the parent's sum is up to date.
        marks: ``[num_slots]`` MARK.
    """
    above = average[at(parent)]
    gain = above - marks[at(first)]["seen"]
    if gain != 0.0:
        marks[at(first)]["seen"] = above
        for slot in range(first, first + count):
            average[at(slot)] += gain * strategy[at(slot)]


@kernel
def settled(infosets, strategy, average, marks, sums):
    """Writes what `average` would be if all infosets were settled; nothing else changes, not even by rounding.

    Args:
        infosets: ``[num_infosets]`` INFOSET, parents first.
        strategy: ``[num_slots]``.
        average: See `accumulate`.
        marks: See `settle`.
        sums: ``[num_slots + num_players]``, an output.
    """
    for slot in range(len(strategy), len(average)):
        sums[slot] = average[slot]
    for infoset in infosets:
        first = infoset["first_slot"]
        gain = sums[infoset["parent_slot"]] - marks[first]["seen"]
        for slot in range(first, first + infoset["num_actions"]):
            sums[slot] = average[slot] + gain * strategy[slot]


@inline_kernel
def add_visits(strategy, average, scratch, weight):
    """Adds strategies, or the actions drawn, at the infosets that a traversal listed. `average` is modified in place."""
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


@kernel
def _add_touched(tree, strategy, average, scratch, player, weight, since_last):
    """Adds reach times strategy at the player's touched infosets, for this iteration or for all since the last time.

    `average` and `scratch` are modified in place.
    """
    reach, total = scratch.reach, average[tree.slot_range[-1] + player]
    begin = tree.infoset_range[player]
    for position in range(begin, begin + scratch.num_touched[player]):
        infoset = scratch.touched[position]
        first = infoset["first_slot"]
        above = reach[infoset["parent_slot"]]
        scale = weight
        if since_last:
            scale = total - scratch.seen[first]["seen"]
            scratch.seen[first]["seen"] = total
        for slot in range(first, first + infoset["num_actions"]):
            reach[slot] = above * strategy[slot]
            average[slot] += scale * reach[slot]


@kernel
def own_traversal(tree, strategy, scratch, player, all_own):
    """Lists the player's infosets in `scratch.visits`, in expectation by own reach alone. Modified in place.

    Chance is drawn on-policy and other players uniformly, neither of which changes over time. Own actions are drawn
    on-policy, or all visited that have positive reach, with that reach as weight. Returns whether it was finished; if
    not, the tree could not expand.
    """
    nodes, stack, rng = tree.nodes, scratch.stack, scratch.rng
    pending, num_visits, nodes_touched = 0, 0, 0
    node, reach, thread = 0, 1.0, scratch.counts[THREAD]
    while True:
        kind, count = head_of(nodes, node)
        if count == 0 and kind != TERMINAL:  # nobody was here before
            if expand(tree.expansion, node, thread):
                continue
            return False
        nodes_touched += 1
        record = nodes[node]
        child, payload = record["first_child"], record["payload"]
        if kind == player:
            note_visit(scratch, num_visits, payload, count, reach)
            num_visits += 1
            if all_own:
                for action in range(count):
                    if strategy[payload + action] > 0.0:
                        push(stack, pending, child + action, payload + action, reach * strategy[payload + action])
                        pending += 1
                if pending == 0:  # another thread writes this strategy, of which all was 0 just now
                    break
                pending -= 1
                node, reach = stack[pending]["node"], stack[pending]["weight"]
            else:
                node = child + draw_action(strategy, payload, count, rng)
        elif kind == CHANCE:
            node = child + draw_outcome(tree.chance, payload, count, rng)
        elif kind != TERMINAL:
            node = child + draw_uniform(count, rng)
        elif pending > 0:
            pending -= 1
            node, reach = stack[pending]["node"], stack[pending]["weight"]
        else:
            break
    scratch.counts[NUM_VISITS] = num_visits
    scratch.counts[NODES_TOUCHED] += nodes_touched
    return True
