"""Sampling with control variates: every estimator that samples, with baselines that reduce its variance.

A baseline b(h a) guesses the value of the node behind action a at node h, for the player whose gradient is estimated.
Where a traversal visits child a with probability rho(a), and w is the weight with which it came to h, it adds

    w p(a) (1 - [a was visited] / rho(a)) b(h a)      for each a,

p(a) being chance's or an opponent's probability, or 1 at own nodes, to the gradient: at the player's last slot, or at
own nodes at the slot of a. Its mean is 0 whatever the baseline is, so that every entry of the gradient stays unbiased;
where b is close to what the traversal finds below, it cancels most of that. (Written in values, v(h, a) = b(h a) + [a
was visited] / rho(a) (v(h a) - b(h a)).)

What the traversal finds below a child moves the child's baseline towards it: a mean with a fixed rate, per player and
history; the tables have 8 bytes per player and node. What was found is either

* sampled: v of the child, with all control variates in place. Its mean is right, but it has the variance of 1 / rho; or
* expected: sum over the child's actions of p times their baselines, those that were just moved included. Payoffs of
  leaves are exact once seen, and so are the means above them as far as strategies stay the same: no noise, so that the
  rate can be 1.

References: Schmid et al. 2019, "Variance reduction in Monte Carlo counterfactual regret minimization (VR-MCCFR)",
equations 8 to 10; Davis, Schmid, Bowling 2020, "Low-variance and zero-variance baselines for extensive-form games",
sections 4 (baselines per history) and 5 (expected updates, which have no variance in the end). Differs from them in
that it corrects the gradient over sequences and not values, so that any minimizer can use it, and in that it serves
traversals that visit several children.
"""

from mccfr_plus.estimators.draws import (
    DRAW_FOR_OPPONENT,
    draw_coin,
    draw_exploring,
    draw_outcome,
    exploring_probability,
)
from mccfr_plus.estimators.traversal import ALL_CHANCE, ALL_OPPONENTS, ALL_OWN, INCLUSION, WEIGH_ACTIONS
from mccfr_plus.estimators.visits import LIST_VISIT
from mccfr_plus.games.rules import CHANCE, TERMINAL
from mccfr_plus.kernels.compile import inline_kernel
from mccfr_plus.kernels.intrinsics import head_of
from mccfr_plus.kernels.slots import Constant
from mccfr_plus.trees.access import IS_LAZY
from mccfr_plus.trees.expansion import EXPAND
from mccfr_plus.trees.scratch import NODES_TOUCHED, NUM_VISITS, THREAD, at, touch

ONE_OWN = Constant("ONE_OWN", False, "Whether a single own action is visited, drawn by `draw_exploring`.")
EXPECTED = Constant("EXPECTED", True, "Whether baselines move towards expected values, or towards sampled ones.")


@inline_kernel
def controlled_traversal(parameters, sampling_weights, tree, strategy, scratch, player):
    """Adds one sampled traversal with control variates to `scratch.gradient`. Modified in place.

    The arguments are those of every estimator's kernel, see `Estimator`. The last parameter is the share of what a
    traversal finds in the new baseline, in (0, 1]; with `ONE_OWN` the first one is the exploration at own nodes. The
    baselines are `scratch.values`, which is modified in place.
    """
    nodes, gradient, frames = tree.nodes, scratch.gradient, scratch.frames
    node, slot, weight = 0, tree.slot_range[-1] + player, 1.0
    depth, num_visits, nodes_touched = 0, scratch.counts[NUM_VISITS], 0
    thread = scratch.counts[THREAD]
    baseline, rate = scratch.values, parameters[len(parameters) - 1]
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
            _open_frame(frames[at(depth)], node, slot, weight)
            depth += 1
            if kind == player:
                touch(tree, scratch, player, payload, count, slot)
                if not ONE_OWN() and not ALL_OWN():
                    frames[at(depth - 1)]["total"] = WEIGH_ACTIONS(sampling_weights, payload, count)
            elif kind != CHANCE and not ALL_OPPONENTS():
                index = DRAW_FOR_OPPONENT(strategy, scratch, payload, count)
                num_visits = LIST_VISIT(scratch, num_visits, payload, count, index, weight)
                frames[at(depth - 1)]["index"] = index
        # Go on to the next child that is to be visited, of this node or of one above.
        goes_down = False
        while not goes_down:
            if has_value:
                if depth == 0:
                    scratch.counts[NUM_VISITS] = num_visits
                    scratch.counts[NODES_TOUCHED] += nodes_touched
                    return
                _back_up_value(frames[at(depth - 1)], nodes, baseline, player, rate, value)
            frame = frames[at(depth - 1)]
            record = nodes[at(frame["node"])]
            kind = record["kind"]
            if kind == player:
                if ONE_OWN():
                    goes_down = _take_one_own(
                        parameters, sampling_weights, baseline, strategy, scratch, player, frame, record
                    )
                else:
                    goes_down = _take_next_own(
                        parameters, sampling_weights, baseline, strategy, scratch, player, frame, record
                    )
            elif ALL_CHANCE() if kind == CHANCE else ALL_OPPONENTS():
                goes_down = frame["next"] < record["num_children"]
                if goes_down:
                    frame["index"] = frame["next"]
                    frame["next"] += 1
                    frame["share"] = _share(tree, strategy, kind, record["payload"] + frame["index"])
                    frame["inclusion"] = 0.0
            else:
                goes_down = _take_one_other(tree, baseline, strategy, scratch, player, frame, record)
            if not goes_down:
                has_value, value = True, frame["value"]
                depth -= 1
        has_value = False
        index = frame["index"]
        node, slot, weight = record["first_child"] + index, frame["slot"], frame["weight"]
        if kind == player:
            slot = record["payload"] + index
            if frame["inclusion"] > 0.0:
                weight /= frame["inclusion"]
        elif frame["inclusion"] == 0.0:
            weight *= frame["share"]


@inline_kernel
def _open_frame(frame, node, slot, weight):
    """Fills a frame for a node of which no child was visited yet. Modified in place."""
    frame["node"] = node
    frame["slot"] = slot
    frame["next"] = 0
    frame["index"] = 0
    frame["weight"] = weight
    frame["value"] = 0.0


@inline_kernel
def _share(tree, strategy, kind, row):
    """Returns the probability of a child by chance or by the strategy."""
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
def _take_one_own(parameters, sampling_weights, baseline, strategy, scratch, player, frame, record):
    """Draws the one own action to visit, unless that was done. Returns whether it did. Modified in place."""
    if frame["next"] > 0:
        return False
    epsilon = parameters[0]
    first, count, weight = record["payload"], record["num_children"], frame["weight"]
    index = draw_exploring(strategy, sampling_weights, first, count, epsilon, scratch.rng)
    inclusion_of_it = exploring_probability(strategy, sampling_weights, first + index, count, epsilon)
    for action in range(count):
        guess = baseline[at(player), at(record["first_child"] + action)]
        frame["value"] += strategy[at(first + action)] * guess
        scratch.gradient[at(first + action)] += weight * guess
    guess = baseline[at(player), at(record["first_child"] + index)]
    scratch.gradient[at(first + index)] -= weight * guess / inclusion_of_it
    frame["next"] = count
    frame["index"] = index
    frame["share"] = strategy[at(first + index)]
    frame["inclusion"] = inclusion_of_it
    return True


@inline_kernel
def _take_next_own(parameters, sampling_weights, baseline, strategy, scratch, player, frame, record):
    """Finds the next own action to visit, of all or of a drawn subset. Returns whether it did. Modified in place."""
    while frame["next"] < record["num_children"]:
        index = frame["next"]
        frame["next"] += 1
        slot = record["payload"] + index
        probability = INCLUSION(parameters, sampling_weights, slot, frame["total"])
        is_visited = True
        if probability < 1.0:
            is_visited = draw_coin(probability, scratch.rng)
            guess = baseline[at(player), at(record["first_child"] + index)]
            frame["value"] += strategy[at(slot)] * guess
            scale = 1.0 - 1.0 / probability if is_visited else 1.0
            scratch.gradient[at(slot)] += frame["weight"] * scale * guess
        if is_visited:
            frame["index"] = index
            frame["share"] = strategy[at(slot)]
            frame["inclusion"] = probability if probability < 1.0 else 0.0
            return True
    return False


@inline_kernel
def _take_one_other(tree, baseline, strategy, scratch, player, frame, record):
    """Draws chance's outcome, or takes the opponent's drawn action, once. Returns whether it did. Modified in place."""
    if frame["next"] > 0:
        return False
    kind, first, count = record["kind"], record["payload"], record["num_children"]
    if kind == CHANCE:
        frame["index"] = draw_outcome(tree.chance, first, count, scratch.rng)
    mean = 0.0
    for action in range(count):
        mean += _share(tree, strategy, kind, first + action) * baseline[at(player), at(record["first_child"] + action)]
    guess = baseline[at(player), at(record["first_child"] + frame["index"])]
    scratch.gradient[at(frame["slot"])] += frame["weight"] * (mean - guess)
    frame["value"] = mean
    frame["next"] = count
    frame["share"] = _share(tree, strategy, kind, first + frame["index"])
    frame["inclusion"] = frame["share"]  # drawn on-policy: the two cancel in the weight of what is below
    return True
