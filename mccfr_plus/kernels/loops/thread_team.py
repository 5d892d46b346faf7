"""The loop of threads that make one gradient together; see `team`. It runs on complete and on lazy trees.

All threads run it with the same arguments but for their scratch, and wait for one another at barriers.
"""

from mccfr_plus.kernels.compile import kernel
from mccfr_plus.kernels.intrinsics import load_word
from mccfr_plus.kernels.loops.components import (
    ACCUMULATE,
    ALTERNATING,
    ESTIMATE,
    LISTS_VISITS,
    MINIMIZE,
    UPDATE_ALL_PLAYERS,
    begin_gradients,
    num_traversals,
    step_of,
    weight_of,
)
from mccfr_plus.kernels.loops.team import FAIL, GO_ON, SIGNAL, SIZE, add_team_visits, merge, wait
from mccfr_plus.kernels.scratch import (
    ADDED,
    ITERATION,
    STEP,
    THREAD,
    begin_traversal,
    note_beginning,
    scale_gradient,
    throw_away,
    weight_if_new,
)
from mccfr_plus.trees.expansion import EXPANDING, STATUS


@kernel
def thread_team(tree, state, scratch, settings, team, iterations):
    """Runs iterations, fewer if it must stop; then the next call goes on where this one was.

    Args:
        tree: `TreeArrays`.
        state: `State`. Modified in place.
        scratch: `Scratch`, the thread's. Modified in place.
        settings: `Settings`, the thread's. Modified in place.
        team: See `new_thread_team`. Modified in place.
        iterations: How many.
    """
    strategy, average, counts = state.strategy, state.average, scratch.counts
    num_players, is_leader = len(tree.slot_range) - 1, counts[THREAD] == 0
    total = team[0, SIZE] * settings.batch
    for _ in range(iterations):
        iteration = counts[ITERATION] + 1
        weight = weight_of(iteration, settings.gamma, settings.scheduled)
        for step in range(counts[STEP], 2 * num_players):
            player, is_update = step_of(step, num_players)
            if is_update:
                if is_leader:
                    MINIMIZE(tree, strategy, state.tables, scratch, player, iteration, settings.minimizer)
                wait(team)
                continue
            if ALTERNATING() or step == 0:
                note_beginning(scratch)
            begin_gradients(tree, scratch, player)
            for number in range(num_traversals(player, settings.batch)):
                begin_traversal(scratch, number > 0)
                ESTIMATE(settings.estimator, settings.sampling_weights, tree, strategy, scratch, player)
                if tree.expansion[STATUS] != EXPANDING:
                    break
            wait(team)
            if is_leader:
                signal = GO_ON
                # Read once: another thread, or Ctrl-C, may change it meanwhile.
                if load_word(tree.expansion, STATUS) != EXPANDING:
                    signal = FAIL
                else:
                    merge(tree, scratch, team, player)
                    if LISTS_VISITS() and not (UPDATE_ALL_PLAYERS() and player > 0):
                        add_team_visits(strategy, average, team, weight_if_new(counts, 2 * step, weight / total))
                    scale_gradient(tree, scratch, player, 1.0 / total)
                    weight_of_all = weight_if_new(counts, 2 * step + 1, weight)
                    if not ACCUMULATE(tree, strategy, average, scratch, player, weight_of_all):
                        signal = FAIL
                team[0, SIGNAL] = signal
            wait(team)
            if team[0, SIGNAL] == FAIL:
                counts[STEP] = step
                throw_away(scratch, ALTERNATING())
                return
        counts[STEP], counts[ADDED] = 0, 0
        counts[ITERATION] += 1
