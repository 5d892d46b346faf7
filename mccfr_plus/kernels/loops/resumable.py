"""The loop that can stop anywhere and go on: for lazily expanded trees, and for batches that must be interruptible.

When it is interrupted, it stops between two traversals, and the next call goes on there. A traversal ends in the middle
(`expansion.was_cut_short`) if it is interrupted where it would expand, or if the tree is full. Then the loop throws
the gradient under way away, so that the next call makes the same traversals again.
"""

from mccfr_plus.averages.methods import add_visits
from mccfr_plus.kernels.compile import kernel
from mccfr_plus.kernels.intrinsics import load_word
from mccfr_plus.kernels.loops.components import (
    ACCUMULATE,
    ALTERNATING,
    ESTIMATE,
    LISTS_VISITS,
    MINIMIZE,
    begin_gradients,
    num_traversals,
    number_of_iteration,
    step_of,
    weight_of,
)
from mccfr_plus.kernels.scratch import (
    ADDED,
    ITERATION,
    STEP,
    TRAVERSALS_DONE,
    begin_traversal,
    note_beginning,
    scale_gradient,
    throw_away,
    weight_if_new,
)
from mccfr_plus.trees.expansion import INTERRUPTED, STATUS, was_cut_short


@kernel
def resumable(tree, state, scratch, settings, iterations):
    """Runs iterations, fewer if it must stop; see `single` for the arguments."""
    strategy, average, batch = state.strategy, state.average, settings.batch
    num_players, counts, expansion = len(tree.slot_range) - 1, scratch.counts, tree.expansion
    for _ in range(iterations):
        iteration = number_of_iteration(counts, counts[ITERATION])
        weight = weight_of(iteration, settings.gamma, settings.scheduled)
        for step in range(counts[STEP], 2 * num_players):
            player, is_update = step_of(step, num_players)
            if is_update:
                MINIMIZE(tree, strategy, state.tables, scratch, player, iteration, settings.minimizer)
                continue
            done, wanted = counts[TRAVERSALS_DONE], num_traversals(player, batch)
            counts[TRAVERSALS_DONE] = 0
            if done == 0:  # or this gradient has begun
                if ALTERNATING() or step == 0:
                    note_beginning(scratch)
                begin_gradients(tree, scratch, player)
            is_whole, place = True, step * (batch + 1)  # of its first addition to the average
            for number in range(done, wanted):
                if load_word(expansion, STATUS) == INTERRUPTED:
                    counts[STEP], counts[TRAVERSALS_DONE] = step, number
                    return
                begin_traversal(scratch)
                ESTIMATE(settings.estimator, settings.sampling_weights, tree, strategy, scratch, player)
                is_whole = not was_cut_short(expansion)
                if not is_whole:
                    break
                if LISTS_VISITS():
                    add_visits(strategy, average, scratch, weight_if_new(counts, place + number, weight / batch))
            if is_whole:
                if load_word(expansion, STATUS) == INTERRUPTED:
                    counts[STEP], counts[TRAVERSALS_DONE] = step, wanted
                    return
                if batch > 1:
                    scale_gradient(tree, scratch, player, 1.0 / batch)
                weight_of_all = weight_if_new(counts, place + batch, weight)
                is_whole = ACCUMULATE(tree, strategy, average, scratch, player, weight_of_all)
            if not is_whole:
                counts[STEP] = step
                throw_away(scratch, ALTERNATING())
                return
        counts[STEP], counts[ADDED] = 0, 0
        counts[ITERATION] += 1
