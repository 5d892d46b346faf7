"""The one loop of all solvers: estimate, average, minimize, for every player, iteration after iteration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mccfr_plus.averages.averaging import PowerAverage, accumulate, add_visits
from mccfr_plus.errors import ConfigError
from mccfr_plus.estimators.base import AverageMethod, Estimator, Scheme
from mccfr_plus.estimators.estimate import estimate, estimate_controlled
from mccfr_plus.kernels.compile import inline_kernel, kernel, rebind
from mccfr_plus.kernels.intrinsics import load_word
from mccfr_plus.kernels.no_refcount import no_refcount
from mccfr_plus.kernels.scratch import (
    IS_RETRYING,
    ITERATION,
    STEP,
    STRIDE,
    THREAD,
    TRAVERSALS_DONE,
    Scratch,
    begin_gradient,
    begin_transaction,
    begin_traversal,
    commit_transaction,
    mean_of_traversals,
    note_addition,
    rollback,
    weight_if_new,
)
from mccfr_plus.kernels.thread_team import (
    ABOVE,
    FAIL,
    GO_ON,
    IS_SHARED,
    PAUSE,
    SIGNAL,
    SIZE,
    add_team_visits,
    gather,
    listed,
    merge,
    take_share,
    wait,
)
from mccfr_plus.kernels.work_partition import NOBODY
from mccfr_plus.minimizers.backward_pass import minimize, nothing_to_prepare
from mccfr_plus.minimizers.base import Minimizer, Rule
from mccfr_plus.tree.arrays import CHANCE, TreeArrays
from mccfr_plus.tree.expansion import EXPANDING, MAX_TRANSIENT, NUM_TRANSIENT, STATUS

_TREE = len(TreeArrays._fields)
_SCRATCH = _TREE + len(Scratch._fields)
_VISITS = int(AverageMethod.VISITS)


@kernel
def loop(
    tree,
    strategy,
    tables,
    average,
    scratch,
    estimator_parameters,
    sampling_weights,
    baseline,
    rate,
    expected,
    minimizer_parameters,
    way,
    gamma,
    visit_mode,
    all_own,
    all_players,
    alternating,
    batch,
    team,
    iterations,
):
    """Runs iterations; fewer if a tree that is_lazy says so, and then the next call goes on where this one was.

    It stops between two traversals when nodes that pass are to be forgotten (`expansion.forget`). When the tree could not
    expand in the middle of a traversal (`expansion.STATUS`), it goes back to where the turn began (`scratch.begin_transaction`), so
    that the next call makes the same traversals again.

    Args:
        tree: `TreeArrays`.
        strategy: ``[num_slots]`` float64. Modified in place.
        tables: ``[num_tables, num_slots]`` float64, the minimizer's. Modified in place.
        average: ``[num_slots + num_players]`` float64, sums of the average strategy. Modified in place.
        scratch: `Scratch`. Modified in place.
        estimator_parameters: See `Estimator.parameters`.
        sampling_weights: See `SamplingWeights`.
        baseline: ``[num_players, num_nodes]`` float64, or no rows for no baselines. Modified in place.
        rate: Of the baselines.
        expected: Whether they move towards expected values.
        minimizer_parameters: See `Minimizer.parameters`. Modified in place.
        way: A value of `AverageMethod`.
        gamma: Exponent of the weights of the average.
        visit_mode: How traversals list visits: `NO_VISITS`, `VISITED` or `DRAWN_ACTIONS`.
        all_own: See `accumulate`.
        all_players: Whether the traversal for player 0 serves all players.
        alternating: Whether each player is updated before the next one's gradient is estimated.
        batch: How many traversals make one gradient; of each thread, if several make one together.
        team: See `team`. Modified in place. None where the tree is complete and every thread makes its gradients
            alone: that loop is compiled without the account of turns.
        iterations: How many.
    """
    tree, scratch = no_refcount(tree), no_refcount(scratch)
    strategy, tables, average = no_refcount(strategy), no_refcount(tables), no_refcount(average)
    sampling_weights, baseline = no_refcount(sampling_weights), no_refcount(baseline)
    estimator_parameters, minimizer_parameters = no_refcount(estimator_parameters), no_refcount(minimizer_parameters)
    num_players = len(tree.slot_range) - 1
    counts, expansion = scratch.counts, tree.expansion
    size, is_leader, owner, first_turn = 1, True, NOBODY, 1
    if team is not None:
        size, owner = team[0, SIZE], counts[THREAD] + 1
        is_leader = size == 1 or counts[THREAD] == 0
        first_turn = 1 - team[0, IS_SHARED]
    first_iteration = 1 if counts[STRIDE] == 1 else counts[THREAD] + 1
    for _ in range(iterations):
        iteration = counts[ITERATION] * counts[STRIDE] + first_iteration
        weight = 1.0
        if gamma == 1.0:
            weight = float(iteration)
        elif gamma != 0.0:
            weight = float(iteration) ** gamma
        first_step = 0
        if team is not None:
            first_step = counts[STEP]
        # One place that estimates and one that minimizes, in both orders of play: each is inlined once.
        for step in range(first_step, 2 * num_players):
            if alternating:
                player, is_update = step // 2, step % 2 == 1
            else:
                player, is_update = step % num_players, step >= num_players
            if is_update:
                if team is None:
                    minimize(tree, strategy, tables, scratch, player, iteration, minimizer_parameters)
                else:
                    # What each thread owns, then what is nobody's.
                    for turn in range(first_turn, 2):
                        share = scratch
                        if size > 1:
                            share = listed(team, scratch, owner if turn == 0 else ABOVE)
                        if turn == 1 and first_turn == 0:
                            wait(team)
                            if is_leader:
                                gather(tree, scratch, team, player)
                        if turn == 0 or is_leader:
                            minimize(tree, strategy, tables, share, player, iteration, minimizer_parameters)
                    if size > 1:
                        wait(team)
                    if alternating:
                        commit_transaction(counts)
                continue
            traversals_done = 0
            if team is not None:
                begin_transaction(scratch)
                traversals_done = counts[TRAVERSALS_DONE]
                counts[TRAVERSALS_DONE] = 0
            if traversals_done > 0:
                pass  # this gradient has begun
            elif not all_players:
                begin_gradient(tree, scratch, player)
            elif player == 0:
                for other in range(num_players):
                    begin_gradient(tree, scratch, other)
            for number in range(traversals_done, 0 if all_players and player > 0 else batch):
                if team is not None and size == 1 and _eviction_is_due(expansion, counts):
                    counts[STEP], counts[TRAVERSALS_DONE] = step, number
                    return
                begin_traversal(scratch, size > 1 and number > 0)
                if len(baseline) > 0:
                    estimate_controlled(
                        estimator_parameters,
                        sampling_weights,
                        baseline,
                        rate,
                        expected,
                        tree,
                        strategy,
                        scratch,
                        player,
                        visit_mode,
                    )
                else:
                    estimate(estimator_parameters, sampling_weights, tree, strategy, scratch, player, visit_mode)
                if team is not None and expansion[STATUS] != EXPANDING:
                    break
                if way == _VISITS and size == 1:
                    added = weight / batch
                    if team is not None:
                        added = weight_if_new(counts, added)
                        note_addition(counts)
                    add_visits(strategy, average, scratch, added)
            signal, added = GO_ON, weight
            if team is not None:
                if size > 1:
                    wait(team)
                # Looked at once: another thread, or Ctrl-C, may change it meanwhile.
                if load_word(expansion, STATUS) != EXPANDING:
                    signal = FAIL
                elif is_leader:
                    if size > 1:
                        merge(tree, scratch, team, player, NOBODY)
                        if way == _VISITS and not (all_players and player > 0):
                            share_of_weight = weight_if_new(counts, weight / (size * batch))
                            add_team_visits(team, strategy, average, share_of_weight, NOBODY)
                            note_addition(counts)
                    added = weight_if_new(counts, weight)
            if is_leader and signal == GO_ON:
                summed = scratch
                if team is not None and size > 1:
                    summed = listed(team, scratch, NOBODY)
                if size * batch > 1:
                    mean_of_traversals(summed, tree, player, size * batch)
                is_added = accumulate(way, tree, strategy, average, summed, player, added, all_own)
                if team is not None:
                    if is_added:
                        note_addition(counts)
                    else:
                        signal = FAIL
            if team is not None:
                if size > 1:
                    if is_leader:
                        team[0, SIGNAL] = PAUSE if signal == GO_ON and _eviction_is_due(expansion, counts) else signal
                    wait(team)
                    signal = team[0, SIGNAL]
                    if signal != FAIL and first_turn == 0:
                        scale, with_visits = 1.0 / (size * batch), not (all_players and player > 0)
                        take_share(tree, strategy, average, scratch, team, player, way, weight, scale, with_visits)
                        if not alternating:  # or somebody would begin the next gradient while others read this one
                            wait(team)
                if signal == FAIL:
                    counts[STEP], counts[IS_RETRYING] = step, 1
                    rollback(scratch, alternating)
                    return
                if signal == PAUSE:
                    counts[STEP] = step + 1
                    return
        if team is not None:
            commit_transaction(counts)
            counts[STEP] = 0
        counts[ITERATION] += 1


@inline_kernel
def _eviction_is_due(expansion, counts):
    """Returns whether nodes that pass are to be forgotten now, between two traversals."""
    transient = expansion[NUM_TRANSIENT]
    return 2 * transient > expansion[MAX_TRANSIENT] or (counts[IS_RETRYING] == 1 and transient > 0)


@kernel
def run(iterations, *flat):
    """Runs `loop` with its arguments in the order of `flatten`."""
    tree = TreeArrays(*flat[:_TREE])
    scratch = Scratch(*flat[_TREE:_SCRATCH])
    rest = flat[_SCRATCH:]
    loop(
        tree,
        rest[0],
        rest[1],
        rest[2],
        scratch,
        rest[3],
        rest[4],
        rest[5],
        rest[6],
        rest[7],
        rest[8],
        rest[9],
        rest[10],
        rest[11],
        rest[12],
        rest[13],
        rest[14],
        rest[15],
        rest[16],
        iterations,
    )


def flatten(tree: TreeArrays, scratch: Scratch, *rest: Any) -> tuple:
    """Returns the arguments of `run` after the number of iterations.

    Numba takes 0.12 us to unpack an array, 0.3 us if it stands in a NamedTuple: `Solver.iteration` would cost 10 us
    more than the iteration itself instead of 5.

    Args:
        tree: First argument of `loop`.
        scratch: Its fifth.
        *rest: All others in their order, without the number of iterations.
    """
    return (*tree, *scratch, *rest)


def runner(estimator: Estimator, minimizer: Minimizer, averaging: PowerAverage) -> Callable:
    """Returns `run`, or a twin of it with the kernels of parts that are not built in.

    Raises:
        ConfigError: If a part that is not built in has no kernel.
    """
    replacements = {"estimate": estimator_kernel_of(estimator), **update_kernels_of(minimizer, averaging)}
    own = {name: part for name, part in replacements.items() if part is not None}
    return rebind(run, loop=rebind(loop, **own)) if own else run


def estimator_kernel_of(estimator: Estimator) -> Callable | None:
    """Returns what takes the place of `estimate` if an estimator is not built in; None if it is.

    Raises:
        ConfigError: If it is not built in and has no kernel.
    """
    if estimator.kernel is not None:
        return rebind(without_visits, estimator_kernel=estimator.kernel)
    if estimator.scheme == Scheme.CUSTOM:
        raise ConfigError(f"{estimator!r} has no kernel: give its class one; see mccfr_plus.Estimator.")
    return None


def update_kernels_of(minimizer: Minimizer, averaging: PowerAverage) -> dict[str, Callable | None]:
    """Returns what takes the places of `minimize` and `accumulate`, each None if its part is built in.

    Raises:
        ConfigError: If a minimizer is not built in and has no kernel.
    """
    own: dict[str, Callable | None] = {"minimize": None, "accumulate": None}
    if minimizer.kernel is not None:
        own["minimize"] = rebind(minimize, update_infoset=minimizer.kernel, prepare=nothing_to_prepare)
    elif minimizer.rule == Rule.CUSTOM:
        raise ConfigError(f"{minimizer!r} has no kernel: give its class one; see mccfr_plus.Minimizer.")
    if averaging.kernel is not None:
        own["accumulate"] = rebind(own_accumulate, average_kernel=averaging.kernel)
    return own


def estimator_kernel(parameters, sampling_weights, tree, strategy, scratch, player):
    """The place of somebody's estimator in `without_visits`."""


@kernel
def without_visits(parameters, sampling_weights, tree, strategy, scratch, player, visit_mode):
    """Runs somebody's estimator, which lists no visits."""
    estimator_kernel(parameters, sampling_weights, tree, strategy, scratch, player)


def average_kernel(tree, strategy, average, scratch, player, weight):
    """The place of somebody's average in `own_accumulate`."""


@kernel
def own_accumulate(way, tree, strategy, average, scratch, player, weight, all_own):
    """Runs somebody's average."""
    average_kernel(tree, strategy, average, scratch, player, weight)
    return True


@kernel
def max_visits(nodes, player, own, all_chance, all_own):
    """Returns the largest number of visits that a traversal for the player can list.

    Args:
        nodes: ``[num_nodes]`` NODE.
        player: For whom the traversal goes.
        own: Whether the player's own infosets are listed, or those of the others.
        all_chance: Whether all chance outcomes are visited instead of one.
        all_own: The same for the player's own actions.
    """
    bound = np.zeros(len(nodes), np.int64)
    for node in range(len(nodes) - 1, -1, -1):
        kind, first, count = nodes[node]["kind"], nodes[node]["first_child"], nodes[node]["num_children"]
        all_children = (kind == CHANCE and all_chance) or (kind == player and all_own)
        best = 0
        for child in range(first, first + count):
            best = best + bound[child] if all_children else max(best, bound[child])
        bound[node] = best + (1 if kind >= 0 and (kind == player) == own else 0)
    return bound[0]
