"""Baselines as control variates: `traversal` with less variance.

Where a traversal visits child a of a node with probability rho(a), and w is the weight with which it came there, it
adds to the gradient, with a guess b(a) of the value behind a,

    w p(a) (1 - [a was visited] / rho(a)) b(a)      for each a,

p(a) being chance's or an opponent's probability, or 1 at own nodes: at the player's last slot, or at own nodes at the
slot of a. Its mean is 0. Guesses move toward what traversals find below; see docs/background/estimators.md.

References: Schmid et al. 2019, equations 8 to 10; Davis, Schmid and Bowling 2020, sections 4 and 5. Differs from them
in that it corrects the gradient and not values, and in that several children may be visited.
"""

from dataclasses import dataclass
from typing import ClassVar

from mccfr_plus.estimators.traversal import (
    ALL_CHANCE,
    ALL_OPPONENTS,
    ALL_OWN,
    DRAW_FOR_OPPONENT,
    INCLUSION,
    LIST_VISIT,
    ONE_OWN,
    WEIGH_ACTIONS,
    draw_coin,
    draw_exploring,
    draw_outcome,
    exploring_probability,
)
from mccfr_plus.games.rules import CHANCE, TERMINAL
from mccfr_plus.kernels.compile import inline_kernel
from mccfr_plus.kernels.intrinsics import head_of
from mccfr_plus.kernels.slots import Constant
from mccfr_plus.parameters import Component, choice, number
from mccfr_plus.trees.expansion import EXPAND
from mccfr_plus.trees.scratch import IS_LAZY, at, touch

EXPECTED = Constant("EXPECTED", True, "Whether baselines move toward expected values, or toward sampled ones.")


@inline_kernel
def controlled_traversal(parameters, sampling_weights, tree, strategy, scratch, player):
    """Adds one sampled traversal with control variates to `scratch.gradient`; see `Estimator`.

    The last parameter is the share of what a traversal finds in the new baseline, in (0, 1]; with `ONE_OWN` the first
    one is the exploration at own nodes. The baselines, `scratch.values`, are modified in place.
    """
    nodes, gradient, frames = tree.nodes, scratch.gradient, scratch.frames
    node, slot, weight = 0, tree.slot_range[-1] + player, 1.0
    depth, num_visits, nodes_touched = 0, scratch.counts[0]["num_visits"], 0
    thread, rate = scratch.counts[0]["thread"], parameters[len(parameters) - 1]
    while True:
        # Arrive at a node: a leaf has a value, any other node gets a frame.
        record = nodes[at(node)]
        kind, count = head_of(nodes, at(node))
        has_value, value = kind == TERMINAL, 0.0
        if IS_LAZY() and count == 0 and not has_value:  # not visited yet
            if EXPAND(tree.expansion, node, thread):
                continue
            return
        nodes_touched += 1
        payload = record["payload"]
        if has_value:
            value = tree.payoffs[at(payload), at(player)]
            gradient[at(slot)] += weight * value
        else:
            frame = frames[at(depth)]
            frame["node"], frame["slot"], frame["weight"], frame["value"] = node, slot, weight, 0.0
            frame["next"], frame["index"] = 0, 0
            depth += 1
            if kind == player:
                frame["base"] = touch(tree, scratch, player, payload, count, slot)
                if ONE_OWN():
                    frame["index"] = draw_exploring(
                        strategy, sampling_weights, payload, count, parameters[0], scratch.rng
                    )
                elif not ALL_OWN():
                    frame["total"] = WEIGH_ACTIONS(sampling_weights, payload, count)
            elif kind == CHANCE:
                if not ALL_CHANCE():
                    frame["index"] = draw_outcome(tree.chance, payload, count, scratch.rng)
            elif not ALL_OPPONENTS():
                index = DRAW_FOR_OPPONENT(strategy, scratch, payload, count)
                num_visits = LIST_VISIT(scratch, num_visits, payload, count, index, weight)
                frame["index"] = index
        # Go on to the next child that is to be visited, of this node or of one above.
        goes_down = False
        while not goes_down:
            if has_value:
                if depth == 0:
                    scratch.counts[0]["num_visits"] = num_visits
                    scratch.counts[0]["nodes_touched"] += nodes_touched
                    return
                _back_up_value(frames[at(depth - 1)], nodes, scratch.values, player, rate, value)
            frame = frames[at(depth - 1)]
            record = nodes[at(frame["node"])]
            kind = record["kind"]
            if not ONE_OWN() and kind == player:
                goes_down = _take_next_own(parameters, sampling_weights, strategy, scratch, player, frame, record)
            elif ALL_CHANCE() if kind == CHANCE else ALL_OPPONENTS():
                goes_down = frame["next"] < record["num_children"]
                if goes_down:
                    frame["index"] = frame["next"]
                    frame["next"] += 1
                    frame["share"] = _share(tree, strategy, kind, record["payload"] + frame["index"])
                    frame["inclusion"] = 0.0
            else:
                goes_down = _take_drawn(parameters, sampling_weights, tree, strategy, scratch, player, frame, record)
            if not goes_down:
                has_value, value = True, frame["value"]
                depth -= 1
        has_value = False
        index = frame["index"]
        node, slot, weight = record["first_child"] + index, frame["slot"], frame["weight"]
        if kind == player:
            slot = frame["base"] + index
            if frame["inclusion"] > 0.0:
                weight /= frame["inclusion"]
        elif frame["inclusion"] == 0.0:
            weight *= frame["share"]


@inline_kernel
def _share(tree, strategy, kind, row):
    return tree.chance[at(row)]["probability"] if kind == CHANCE else strategy[at(row)]


@inline_kernel
def _back_up_value(frame, nodes, baseline, player, rate, value):
    """Adds the value of a node's visited child to the node's, and moves its baseline. Modified in place."""
    if frame["inclusion"] > 0.0:
        child = nodes[at(frame["node"])]["first_child"] + frame["index"]
        guess = baseline[at(player), at(child)]
        step = rate * (value - guess)
        baseline[at(player), at(child)] = guess + step
        frame["value"] += frame["share"] * (step if EXPECTED() else (value - guess) / frame["inclusion"])
    else:
        frame["value"] += frame["share"] * value


@inline_kernel
def _take_drawn(parameters, sampling_weights, tree, strategy, scratch, player, frame, record):
    """Takes the one child that was drawn, once. Returns whether it did. Modified in place."""
    if frame["next"] > 0:
        return False
    kind, first, count, weight = record["kind"], record["payload"], record["num_children"], frame["weight"]
    gradient, baseline, index, mean = scratch.gradient, scratch.values, frame["index"], 0.0
    for action in range(count):
        guess = baseline[at(player), at(record["first_child"] + action)]
        mean += _share(tree, strategy, kind, first + action) * guess
        if ONE_OWN() and kind == player:
            gradient[at(frame["base"] + action)] += weight * guess
    guess = baseline[at(player), at(record["first_child"] + index)]
    share = _share(tree, strategy, kind, first + index)
    if ONE_OWN() and kind == player:
        inclusion = exploring_probability(strategy, sampling_weights, first + index, count, parameters[0])
        gradient[at(frame["base"] + index)] -= weight * guess / inclusion
    else:
        inclusion = share  # drawn on-policy: the two cancel in the weight of what is below
        gradient[at(frame["slot"])] += weight * (mean - guess)
    frame["next"], frame["value"], frame["share"], frame["inclusion"] = count, mean, share, inclusion
    return True


@inline_kernel
def _take_next_own(parameters, sampling_weights, strategy, scratch, player, frame, record):
    """Finds the next own action to visit, of all or of a drawn subset. Returns whether it did. Modified in place."""
    while frame["next"] < record["num_children"]:
        index = frame["next"]
        frame["next"] += 1
        slot = record["payload"] + index
        probability = INCLUSION(parameters, sampling_weights, slot, frame["total"])
        is_visited = True
        if probability < 1.0:
            is_visited = draw_coin(probability, scratch.rng)
            guess = scratch.values[at(player), at(record["first_child"] + index)]
            frame["value"] += strategy[at(slot)] * guess
            scale = 1.0 - 1.0 / probability if is_visited else 1.0
            scratch.gradient[at(frame["base"] + index)] += frame["weight"] * scale * guess
        if is_visited:
            frame["index"] = index
            frame["share"] = strategy[at(slot)]
            frame["inclusion"] = probability if probability < 1.0 else 0.0
            return True
    return False


@dataclass(frozen=True)
class Baseline(Component):
    """A running mean of each history's value, used as a control variate for sampling estimators (Schmid et al. 2019).

    Args:
        rate: Weight of the newest value in the mean, in (0, 1]. Small rates average out noise, which only sampled
            values have. Large rates follow the changing strategies faster.
        backup: Which values are averaged: ``"expected"``, the expectation of the children's baselines (Davis et al.
            2020), or ``"sampled"``, the value that the traversal sampled (Schmid et al. 2019, who use a rate of 0.5).

    Examples:
        >>> solver = mccfr_plus.Solver("kuhn_poker", "outcome", baseline=mccfr_plus.Baseline(), seed=1)
        >>> solver.run(200).exploitability() < 0.4
        True
    """

    rate: float = number(1.0, above=0, most=1)
    backup: str = choice("expected", ("expected", "sampled"))
    short_name: ClassVar[str] = "mean"
    references: ClassVar[tuple[str, ...]] = ("schmid2019variance", "davis2020low")
