"""The loop that can stop anywhere and go on: for lazily expanded trees, and for batches that must be interruptible.

It stops between two traversals when it is interrupted, or when transient nodes are to be evicted
(`expansion.evict`), and goes on there. When the tree could not expand in the middle of a traversal
(`expansion.was_cut_short`), it goes back to the beginning of the transaction (`scratch.begin_transaction`), so that the
next call makes the same traversals again.
"""

from mccfr_plus.averages.methods import add_visits
from mccfr_plus.kernels.compile import inline_kernel, kernel
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
    IS_RETRYING,
    ITERATION,
    STEP,
    TRAVERSALS_DONE,
    begin_transaction,
    begin_traversal,
    commit_transaction,
    note_addition,
    rollback,
    scale_gradient,
    weight_if_new,
)
from mccfr_plus.trees.expansion import INTERRUPTED, MAX_TRANSIENT, NUM_TRANSIENT, STATUS, was_cut_short


@inline_kernel
def eviction_is_due(expansion, is_retrying):
    """Returns whether transient nodes are to be evicted now, between two traversals."""
    transient = expansion[NUM_TRANSIENT]
    return 2 * transient > expansion[MAX_TRANSIENT] or (is_retrying and transient > 0)


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
                if ALTERNATING():
                    commit_transaction(counts)
                continue
            begin_transaction(scratch)
            done, wanted = counts[TRAVERSALS_DONE], num_traversals(player, batch)
            counts[TRAVERSALS_DONE] = 0
            if done == 0:  # or this gradient has begun
                begin_gradients(tree, scratch, player)
            has_failed = False
            for number in range(done, wanted):
                status = load_word(expansion, STATUS)
                if eviction_is_due(expansion, counts[IS_RETRYING] == 1) or status == INTERRUPTED:
                    counts[STEP], counts[TRAVERSALS_DONE] = step, number
                    return
                begin_traversal(scratch)
                ESTIMATE(settings.estimator, settings.sampling_weights, tree, strategy, scratch, player)
                has_failed = was_cut_short(expansion)
                if has_failed:
                    break
                if LISTS_VISITS():
                    add_visits(strategy, average, scratch, weight_if_new(counts, weight / batch))
                    note_addition(counts)
            if not has_failed:
                if load_word(expansion, STATUS) == INTERRUPTED:
                    counts[STEP], counts[TRAVERSALS_DONE] = step, wanted
                    return
                if batch > 1:
                    scale_gradient(tree, scratch, player, 1.0 / batch)
                has_failed = not ACCUMULATE(tree, strategy, average, scratch, player, weight_if_new(counts, weight))
            if has_failed:
                counts[STEP], counts[IS_RETRYING] = step, 1
                rollback(scratch, ALTERNATING())
                return
            note_addition(counts)
        commit_transaction(counts)
        counts[STEP] = 0
        counts[ITERATION] += 1
