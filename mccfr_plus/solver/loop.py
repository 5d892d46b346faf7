"""The loop of all tabular solvers, its slots, which `config.composed` fills, and threads that share one gradient.

Each thread of such a team runs the loop with its own scratch and waits for the others at barriers; the first adds up
and updates. The gradient is the mean of all estimates (Farina, Kroer and Sandholm 2020, section 5.2).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numba
import numpy as np

from mccfr_plus.averages.average import add_visits
from mccfr_plus.kernels.barrier import ROW, SIZE, YIELD, wait
from mccfr_plus.kernels.compile import inline_kernel, kernel
from mccfr_plus.kernels.intrinsics import address_of, load_word, pointer, yield_address
from mccfr_plus.kernels.slots import Constant, optional_slot, required_slot
from mccfr_plus.trees.expansion import EXPANDING, STATUS
from mccfr_plus.trees.public.arrays import TOP
from mccfr_plus.trees.public.sharing import list_part, move_tops
from mccfr_plus.trees.scratch import (
    COUNTS,
    TIED,
    VISIT,
    Scratch,
    at,
    base_of,
    begin_gradient,
    begin_traversal,
    enter,
    list_begin,
    note_beginning,
    scale_gradient,
    throw_away,
)

ALTERNATING = Constant("ALTERNATING", True, "Whether each player is updated before the next gradient is estimated.")
UPDATE_ALL_PLAYERS = Constant("UPDATE_ALL_PLAYERS", False, "Whether the traversal for player 0 serves all players.")
TEAM = Constant("TEAM", False, "Whether threads make one gradient together.")
MAY_END = Constant("MAY_END", False, "Whether traversals may end early: in trees that grow, teams, large batches.")
SHARED = Constant("SHARED", False, "Whether each thread of a team averages and updates its own part of the tree.")
LISTS_VISITS = Constant("LISTS_VISITS", False, "Whether traversals list visits, which are added to the average.")


class State(NamedTuple):
    """What carries from one iteration to the next."""

    strategy: np.ndarray  # [num_slots] float64, of all players
    tables: np.ndarray  # [num_tables, num_slots] float64, the minimizer's
    average: np.ndarray  # [num_slots + num_players] float64, the sums of the average strategy


class Settings(NamedTuple):
    """Parameters of the components."""

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
    """Updates a player's touched infosets; `minimizers.minimizer.minimize` with a minimizer's kernel."""


@optional_slot
def PREPARE_PART(tree, strategy, tables, scratch, player, iteration, parameters):
    """The `prepare` of a minimizer, with `SHARED`, where `MINIMIZE` is without it."""


@required_slot
def ACCUMULATE(tree, strategy, average, scratch, player, weight):
    """Adds the current strategy to the average; see `AverageMethod`."""


# --- threads that make one gradient together ---

# Further entries of a team's first row:
IS_WHOLE = 1  # whether the first thread has found the gradient whole and added it up
IS_TOO_LONG = 3  # whether a thread has listed more than `MOST_LISTED` visits

# Entries of the threads' rows: addresses of arrays of their scratches, and the length of the list of visits.
_GRADIENT, _TOUCHED, _NUM_TOUCHED, _BEHIND, _VISITS, _COUNTS, _NUM_VISITS = range(7)

MOST_LISTED = 1 << 26  # visits of a batch, after which its thread begins no further traversal

NO_TEAM = np.zeros((0, ROW), np.int64)  # where each thread makes gradients of its own


def new_team(scratches: Sequence[Scratch]) -> np.ndarray:
    """Returns the array of a team, ``[threads + 1, ROW]`` int64; the scratches must live as long as it."""
    team = np.zeros((len(scratches) + 1, ROW), np.int64)
    team[0, SIZE], team[0, YIELD] = len(scratches), yield_address()
    for row, scratch in zip(team[1:], scratches, strict=True):
        arrays = scratch.gradient, scratch.touched, scratch.num_touched, scratch.behind, scratch.visits
        row[:_NUM_VISITS] = [address_of(array) for array in (*arrays, scratch.counts)]
        row[_NUM_VISITS] = len(scratch.visits)
    return team


@kernel
def merge(tree, scratch, team, player):
    """Adds the gradients and touched infosets of all threads, in their order, to `scratch`, the first thread's."""
    gradient, stamp, begin = scratch.gradient, scratch.counts[0]["stamp"], list_begin(tree, scratch, player)
    empty, empties = tree.slot_range[-1] + player, tree.slot_range[-1] + len(tree.slot_range) - 1
    for thread in range(1, team[0, SIZE]):
        row = team[thread + 1]
        if TIED():  # where their slots of entries stand in `gradient`; the list behind a slot has served
            place = numba.carray(pointer(row[_BEHIND]), len(gradient), np.int32)
        theirs = numba.carray(pointer(row[_GRADIENT]), len(gradient), np.float64)
        touched = numba.carray(pointer(row[_TOUCHED]), len(scratch.touched), scratch.touched.dtype)
        num_touched = numba.carray(pointer(row[_NUM_TOUCHED]), len(scratch.num_touched), np.int64)[player]
        for position in range(begin, begin + num_touched):
            infoset = touched[at(position)]
            first, count, parent = infoset["first_slot"], infoset["num_actions"], infoset["parent_slot"]
            if TIED() and parent > empties:
                parent = place[at(parent)]
            is_new, base = enter(tree, scratch, player, first, count, parent, stamp)
            for action in range(count):
                theirs_at = base_of(infoset) + action
                added = theirs[at(theirs_at)]
                gradient[at(base + action)] = added if is_new else gradient[at(base + action)] + added
                if TIED():
                    place[at(theirs_at)] = base + action
        gradient[empty] += theirs[empty]


@inline_kernel
def update_shared(tree, state, scratch, team, player, iteration, parameters):
    """Updates the thread's part, and then, by the first thread, what is above all parts, to which they pass values."""
    listed, is_leader = scratch.num_touched[player], scratch.counts[0]["thread"] == 0
    for pass_up in range(2):
        if pass_up == 0:  # minimizers prepare gradients to which nothing was passed yet
            if is_leader:
                list_part(tree, scratch, player, TOP, listed)
            PREPARE_PART(tree, state.strategy, state.tables, scratch, player, iteration, parameters)
            scratch.num_touched[player] = listed
            wait(team)
        elif is_leader:
            for thread in range(1, team[0, SIZE]):
                move_tops(tree, scratch, player, team[thread + 1, _GRADIENT], len(scratch.gradient))
            list_part(tree, scratch, player, TOP, 0)
        if pass_up == 0 or is_leader:
            MINIMIZE(tree, state.strategy, state.tables, scratch, player, iteration, parameters)
        wait(team)


@inline_kernel
def add_team_visits(strategy, average, team, weight):
    """Adds the visits of all threads, in their order, to the sums of the average."""
    for thread in range(team[0, SIZE]):
        row = team[thread + 1]
        visits = numba.carray(pointer(row[_VISITS]), row[_NUM_VISITS], VISIT)
        counts = numba.carray(pointer(row[_COUNTS]), 1, COUNTS)
        add_visits(strategy, average, visits, counts[0]["num_visits"], weight)


# --- the loop ---


@inline_kernel
def step_of(step, num_players):
    """Returns the player and whether it is updated, in a step 0 .. 2 * num_players - 1 of an iteration."""
    if ALTERNATING():
        return step // 2, step % 2 == 1
    return step % num_players, step >= num_players


@inline_kernel
def number_of_iteration(counts):
    """Returns the number, from 1 on, of a thread's next iteration; fast threads take turns."""
    first = 1 if counts["stride"] == 1 else counts["thread"] + 1
    return counts["iteration"] * counts["stride"] + first


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
    """Returns the weight of an addition to the average; 0 if it was made before a gradient was thrown away."""
    if not MAY_END():
        return weight
    if place < counts["added"]:
        return 0.0
    counts["added"] = place + 1
    return weight


@inline_kernel
def begin_gradients(tree, scratch, player):
    """Begins the player's gradient, or with player 0 those of all players that its traversal serves."""
    if TIED() and (ALTERNATING() or player == 0):
        scratch.counts[0]["entry_slots"] = 0
    if not UPDATE_ALL_PLAYERS():
        begin_gradient(tree, scratch, player)
    elif player == 0:
        for other in range(len(tree.slot_range) - 1):
            begin_gradient(tree, scratch, other)


@kernel
def loop(tree, state, scratch, settings, team, iterations):
    """Runs iterations: estimate, average, minimize, for each player. All but `tree` is modified in place.

    A gradient whose traversal ends early is thrown away, and the next call begins it again. `scratch` and `settings`
    are the thread's; `team` is `new_team`'s or `NO_TEAM`.
    """
    strategy, average, batch, counts = state.strategy, state.average, settings.batch, scratch.counts[0]
    num_players, is_leader = len(tree.slot_range) - 1, not TEAM() or counts["thread"] == 0
    total = team[0, SIZE] * batch if TEAM() else batch
    for _ in range(iterations):
        iteration = number_of_iteration(counts)
        weight = weight_of(iteration, settings.gamma, settings.scheduled)
        # One place that estimates and one that minimizes, in both orders of play: each is inlined once.
        for step in range(counts["step"] if MAY_END() else 0, 2 * num_players):
            player, is_update = step_of(step, num_players)
            if is_update:
                if SHARED():
                    update_shared(tree, state, scratch, team, player, iteration, settings.minimizer)
                    continue
                if is_leader:
                    MINIMIZE(tree, strategy, state.tables, scratch, player, iteration, settings.minimizer)
                if TEAM():
                    wait(team)
                continue
            if MAY_END() and (ALTERNATING() or step == 0):
                note_beginning(scratch)
            begin_gradients(tree, scratch, player)
            is_whole, place = True, step * (batch + 1)  # of its first addition to the average
            for number in range(0 if UPDATE_ALL_PLAYERS() and player > 0 else batch):
                begin_traversal(scratch, TEAM() and number > 0)
                ESTIMATE(settings.estimator, settings.sampling_weights, tree, strategy, scratch, player)
                if MAY_END() and load_word(tree.expansion, STATUS) != EXPANDING:
                    is_whole = False
                    break
                if LISTS_VISITS() and not TEAM():
                    weight_of_one = weight_once(counts, place + number, weight / batch)
                    add_visits(strategy, average, scratch.visits, counts["num_visits"], weight_of_one)
                if LISTS_VISITS() and TEAM() and counts["num_visits"] > MOST_LISTED:
                    team[0, IS_TOO_LONG] = 1
                    break
            if TEAM():
                wait(team)
                # Read once: another thread, or Ctrl-C, may change it meanwhile.
                is_whole = is_leader and load_word(tree.expansion, STATUS) == EXPANDING and team[0, IS_TOO_LONG] == 0
            if SHARED() and is_whole:
                for thread in range(1, team[0, SIZE]):
                    move_tops(tree, scratch, player, team[thread + 1, _GRADIENT], len(scratch.gradient))
            if TEAM() and is_whole and not SHARED():
                merge(tree, scratch, team, player)
                is_whole = not TIED() or load_word(tree.expansion, STATUS) == EXPANDING  # there may have been no room
            if is_whole and not SHARED():
                if TEAM() and LISTS_VISITS() and not (UPDATE_ALL_PLAYERS() and player > 0):
                    add_team_visits(strategy, average, team, weight_once(counts, place, weight / total))
                if total > 1:
                    scale_gradient(tree, scratch, player, 1.0 / total)
                weight_of_all = weight_once(counts, place + batch, weight)
                is_whole = ACCUMULATE(tree, strategy, average, scratch, player, weight_of_all)
                if MAY_END() and not is_whole and weight_of_all != 0.0:  # nothing was added
                    counts["added"] -= 1
            if TEAM():
                if is_leader:
                    team[0, IS_WHOLE] = is_whole
                wait(team)
                is_whole = team[0, IS_WHOLE] != 0
            if SHARED() and is_whole:
                ACCUMULATE(tree, strategy, average, scratch, player, weight_once(counts, place + batch, weight))
            if MAY_END() and not is_whole:
                counts["step"] = step
                throw_away(scratch, ALTERNATING())
                return
        if MAY_END():
            counts["step"], counts["added"] = 0, 0
        counts["iteration"] += 1
