"""Average strategies: weights per iteration, and the kernels that add the current strategy up.

In iteration t every sequence's sum grows, in expectation, by w_t * c(I) * reach_i(I) * x(I, a): own reach times
strategy times the iteration's weight, and a factor c(I) that does not change over time and so drops out when an
infoset's sums are normalized. How the expectation comes about depends on the estimator:

* exactly, for all of the player's sequences (`Average.EXACT`), O(all sequences);
* at the own infosets that a walk touched, where that depends on chance alone (`TOUCHED`);
* at opponents' infosets that a walk visited on their policy: their own reach is the probability of the visit
  (`VISITS`, Lanctot et al. 2009, appendix A.1, "stochastically-weighted averaging"). Right for two players only: with
  more, the visits also depend on the third player's changing strategy, which is the bias of OpenSpiel's SIMPLE;
* by a walk of its own (`OWN_WALK`): the other players act uniformly at random whatever their strategies, so that the
  average is right for any number of players, at the price of one more sampled walk. OpenSpiel's FULL has the same
  expectation and walks the whole tree.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from mccfr_plus._jit import inline_kernel, kernel
from mccfr_plus.errors import ConfigError
from mccfr_plus.estimators.base import Average
from mccfr_plus.estimators.walk import draw_action, draw_outcome
from mccfr_plus.rng import next_double
from mccfr_plus.tree.arrays import CHANCE, TERMINAL
from mccfr_plus.workspace import NODES_TOUCHED, NUM_VISITS, at, note_visit, push, refresh_reach

_EXACT, _TOUCHED, _VISITS, _OWN_WALK = (
    int(a) for a in (Average.EXACT, Average.TOUCHED, Average.VISITS, Average.OWN_WALK)
)


@dataclass(frozen=True)
class PowerAverage:
    """The average in which iteration t has weight t^gamma (Brown, Sandholm 2019: gamma = 2 for DCFR).

    Args:
        gamma: The exponent, finite and at least 0.
        exact: Add the whole strategy up in every iteration, O(all sequences), whatever the estimator samples. This
            has the least variance; OpenSpiel calls it FULL.
    """

    gamma: float = 2.0
    exact: bool = False
    short_name: ClassVar[str] = "power"

    def __post_init__(self) -> None:
        gamma = self.gamma
        if isinstance(gamma, bool) or not isinstance(gamma, int | float) or not math.isfinite(gamma) or gamma < 0:
            raise ConfigError(f"gamma={gamma!r}: the exponent of an average must be a finite number >= 0.")


def uniform(exact: bool = False) -> PowerAverage:
    """Returns the average in which all iterations weigh the same."""
    return PowerAverage(0.0, exact)


def linear(exact: bool = False) -> PowerAverage:
    """Returns the average in which iteration t has weight t, as in CFR+."""
    return PowerAverage(1.0, exact)


@inline_kernel
def accumulate(way, tree, strategy, average, workspace, player, weight, all_own):
    """Adds the current strategies to the sums of the average, in the way `Average` names.

    Args:
        way: A value of `Average`.
        tree: `TreeArrays`.
        strategy: ``[num_slots]``.
        average: ``[num_slots]`` float64, the sums. Modified in place.
        workspace: `Workspace`, as the estimator left it. Modified in place.
        player: The player whose gradient was estimated.
        weight: Weight of this iteration.
        all_own: For `OWN_WALK`, whether to visit all own actions, by their reach, instead of drawing one.
    """
    if way == _EXACT:
        refresh_reach(tree, strategy, workspace, player)
        for slot in range(tree.slot_range[player], tree.slot_range[player + 1]):
            average[at(slot)] += weight * workspace.reach[at(slot)]
    elif way == _TOUCHED:
        _add_touched(tree, strategy, average, workspace, player, weight)
    else:
        if way == _OWN_WALK:
            own_walk(tree, strategy, workspace, player, all_own)
        for visit in range(workspace.counts[NUM_VISITS]):
            entry = workspace.visits[at(visit)]
            first, scale = entry["first_slot"], weight * entry["weight"]
            for slot in range(first, first + entry["num_actions"]):
                average[at(slot)] += scale * strategy[at(slot)]


@kernel
def _add_touched(tree, strategy, average, workspace, player, weight):
    """Adds reach times strategy at the player's touched infosets. `average` and `workspace` are modified in place."""
    reach = workspace.reach
    begin = tree.infoset_range[player]
    for position in range(begin, begin + workspace.num_touched[player]):
        infoset = workspace.touched[position]
        first = infoset["first_slot"]
        above = reach[infoset["parent_slot"]]
        for slot in range(first, first + infoset["num_actions"]):
            reach[slot] = above * strategy[slot]
            average[slot] += weight * reach[slot]


@kernel
def own_walk(tree, strategy, workspace, player, all_own):
    """Lists the player's infosets in `workspace.visits`, in expectation by own reach alone. Modified in place.

    Chance is drawn on-policy and other players uniformly, neither of which changes over time. Own actions are drawn
    on-policy, or all visited that have positive reach, with that reach as weight.
    """
    nodes, stack, rng = tree.nodes, workspace.stack, workspace.rng
    pending, num_visits, nodes_touched = 0, 0, 0
    node, reach = 0, 1.0
    while True:
        nodes_touched += 1
        record = nodes[node]
        kind, count, child, payload = record["kind"], record["num_children"], record["first_child"], record["payload"]
        if kind == player:
            note_visit(workspace, num_visits, payload, count, reach)
            num_visits += 1
            if all_own:
                for action in range(count):
                    if strategy[payload + action] > 0.0:
                        push(stack, pending, child + action, payload + action, reach * strategy[payload + action])
                        pending += 1
                pending -= 1
                node, reach = stack[pending]["node"], stack[pending]["weight"]
            else:
                node = child + draw_action(strategy, payload, count, rng)
        elif kind == CHANCE:
            node = child + draw_outcome(tree.chance, payload, count, rng)
        elif kind != TERMINAL:
            node = child + int(next_double(rng) * count)
        elif pending > 0:
            pending -= 1
            node, reach = stack[pending]["node"], stack[pending]["weight"]
        else:
            break
    workspace.counts[NUM_VISITS] = num_visits
    workspace.counts[NODES_TOUCHED] += nodes_touched
