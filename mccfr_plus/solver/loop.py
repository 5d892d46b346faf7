"""The loop of all tabular solvers, and the slots that `config.composed` fills with the kernels of components."""

from typing import NamedTuple

import numpy as np

from mccfr_plus.averages.methods import add_visits
from mccfr_plus.kernels.compile import inline_kernel, kernel
from mccfr_plus.kernels.intrinsics import load_word
from mccfr_plus.kernels.slots import Constant, required_slot
from mccfr_plus.solver.team import IS_WHOLE, SIZE, add_team_visits, merge, wait
from mccfr_plus.trees.expansion import EXPANDING, STATUS
from mccfr_plus.trees.scratch import (
    begin_gradient,
    begin_traversal,
    note_beginning,
    scale_gradient,
    throw_away,
)

ALTERNATING = Constant("ALTERNATING", True, "Whether each player is updated before the next gradient is estimated.")
UPDATE_ALL_PLAYERS = Constant("UPDATE_ALL_PLAYERS", False, "Whether the traversal for player 0 serves all players.")
TEAM = Constant("TEAM", False, "Whether threads make one gradient together; see `team`.")
MAY_END = Constant("MAY_END", False, "Whether traversals may end early: in trees that grow, teams, large batches.")
LISTS_VISITS = Constant("LISTS_VISITS", False, "Whether traversals list visits, which are added to the average.")


class State(NamedTuple):
    """What carries from one iteration to the next."""

    strategy: np.ndarray  # [num_slots] float64, of all players
    tables: np.ndarray  # [num_tables, num_slots] float64, the minimizer's
    average: np.ndarray  # [num_slots + num_players] float64, the sums of the average strategy


class Settings(NamedTuple):
    """What the components are told."""

    estimator: np.ndarray  # [any] float64: see `Estimator.parameters`
    sampling_weights: np.ndarray  # [num_slots + ...] float64, or empty: see `SamplingWeights`
    minimizer: np.ndarray  # [any] float64: see `Minimizer.parameters`; modified in place
    gamma: float  # exponent of the weights of iterations in the average
    scheduled: np.ndarray  # [any] float64: weights of the first iterations, if they are others; see `weight_of`
    batch: int  # traversals per gradient, of each thread


@required_slot
def ESTIMATE(parameters, sampling_weights, tree, strategy, scratch, player):
    """Adds one sampled gradient to `scratch`; see `Estimator`."""


@required_slot
def MINIMIZE(tree, strategy, tables, scratch, player, iteration, parameters):
    """Updates a player's touched infosets; `minimizers.base.minimize` with a minimizer's kernel."""


@required_slot
def ACCUMULATE(tree, strategy, average, scratch, player, weight):
    """Adds the current strategy to the average; see `AverageMethod`."""


@inline_kernel
def step_of(step, num_players):
    """Returns the player and whether it is updated, in a step 0 .. 2 * num_players - 1 of an iteration."""
    if ALTERNATING():
        return step // 2, step % 2 == 1
    return step % num_players, step >= num_players


@inline_kernel
def number_of_iteration(counts, finished):
    """Returns the number, from 1 on, of this thread's iteration after so many that it has finished."""
    first = 1 if counts["stride"] == 1 else counts["thread"] + 1
    return finished * counts["stride"] + first


@inline_kernel
def weight_of(iteration, gamma, scheduled):
    """Returns the weight of an iteration in the average: an entry of `scheduled` if it is in there, else t^gamma."""
    if iteration < len(scheduled):
        return scheduled[iteration]
    if gamma == 1.0:
        return float(iteration)
    return 1.0 if gamma == 0.0 else float(iteration) ** gamma


@inline_kernel
def weight_once(counts, place, weight):
    """Returns the weight of an addition to the average at a place of the iteration; 0 if it was made already.

    Then the gradient before it was thrown away. `counts` is modified in place.
    """
    if not MAY_END():
        return weight
    if place < counts["added"]:
        return 0.0
    counts["added"] = place + 1
    return weight


@inline_kernel
def begin_gradients(tree, scratch, player):
    """Begins the gradient of the player, or with player 0 those of all that its traversal serves."""
    if not UPDATE_ALL_PLAYERS():
        begin_gradient(tree, scratch, player)
    elif player == 0:
        for other in range(len(tree.slot_range) - 1):
            begin_gradient(tree, scratch, other)


@inline_kernel
def num_traversals(player, batch):
    """Returns how many traversals are made in a player's step."""
    return 0 if UPDATE_ALL_PLAYERS() and player > 0 else batch


@kernel
def loop(tree, state, scratch, settings, team, iterations):
    """Runs iterations: estimate, average, minimize, for each player.

    Where a traversal may end early, the gradient that it belongs to is thrown away, and the next call goes on with it.

    Args:
        tree: `TreeArrays`.
        state: `State`. Modified in place.
        scratch: `Scratch`, the thread's. Modified in place.
        settings: `Settings`, the thread's. Modified in place.
        team: See `new_team`; empty unless threads make one gradient together. Modified in place.
        iterations: How many.
    """
    strategy, average, batch, counts = state.strategy, state.average, settings.batch, scratch.counts[0]
    num_players, is_leader = len(tree.slot_range) - 1, not TEAM() or counts["thread"] == 0
    total = team[0, SIZE] * batch if TEAM() else batch
    for _ in range(iterations):
        iteration = number_of_iteration(counts, counts["iteration"])
        weight = weight_of(iteration, settings.gamma, settings.scheduled)
        # One place that estimates and one that minimizes, in both orders of play: each is inlined once.
        for step in range(counts["step"] if MAY_END() else 0, 2 * num_players):
            player, is_update = step_of(step, num_players)
            if is_update:
                if is_leader:
                    MINIMIZE(tree, strategy, state.tables, scratch, player, iteration, settings.minimizer)
                if TEAM():
                    wait(team)
                continue
            if MAY_END() and (ALTERNATING() or step == 0):
                note_beginning(scratch)
            begin_gradients(tree, scratch, player)
            is_whole, place = True, step * (batch + 1)  # of its first addition to the average
            for number in range(num_traversals(player, batch)):
                begin_traversal(scratch, TEAM() and number > 0)
                ESTIMATE(settings.estimator, settings.sampling_weights, tree, strategy, scratch, player)
                if MAY_END() and load_word(tree.expansion, STATUS) != EXPANDING:
                    is_whole = False
                    break
                if LISTS_VISITS() and not TEAM():
                    add_visits(strategy, average, scratch, weight_once(counts, place + number, weight / batch))
            if TEAM():
                wait(team)
                # Read once: another thread, or Ctrl-C, may change it meanwhile.
                is_whole = is_leader and load_word(tree.expansion, STATUS) == EXPANDING
            if is_whole:
                if TEAM():
                    merge(tree, scratch, team, player)
                    if LISTS_VISITS() and not (UPDATE_ALL_PLAYERS() and player > 0):
                        add_team_visits(strategy, average, team, weight_once(counts, place, weight / total))
                if total > 1:
                    scale_gradient(tree, scratch, player, 1.0 / total)
                weight_of_all = weight_once(counts, place + batch, weight)
                is_whole = ACCUMULATE(tree, strategy, average, scratch, player, weight_of_all)
            if TEAM():
                if is_leader:
                    team[0, IS_WHOLE] = is_whole
                wait(team)
                is_whole = team[0, IS_WHOLE] != 0
            if MAY_END() and not is_whole:
                counts["step"] = step
                throw_away(scratch, ALTERNATING())
                return
        if MAY_END():
            counts["step"], counts["added"] = 0, 0
        counts["iteration"] += 1
