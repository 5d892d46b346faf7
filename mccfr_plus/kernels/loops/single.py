"""The loop on complete trees: one thread, or threads that share the tables and do not wait for one another."""

from mccfr_plus.averages.methods import add_visits
from mccfr_plus.kernels.compile import kernel
from mccfr_plus.kernels.loops.components import (
    ACCUMULATE,
    ESTIMATE,
    LISTS_VISITS,
    MINIMIZE,
    begin_gradients,
    num_traversals,
    number_of_iteration,
    step_of,
    weight_of,
)
from mccfr_plus.kernels.scratch import ITERATION, begin_traversal, scale_gradient


@kernel
def single(tree, state, scratch, settings, iterations):
    """Runs iterations.

    Args:
        tree: `TreeArrays`.
        state: `State`. Modified in place.
        scratch: `Scratch`. Modified in place.
        settings: `Settings`. Modified in place.
        iterations: How many.
    """
    strategy, average, batch = state.strategy, state.average, settings.batch
    num_players, counts = len(tree.slot_range) - 1, scratch.counts
    for _ in range(iterations):
        iteration = number_of_iteration(counts, counts[ITERATION])
        weight = weight_of(iteration, settings.gamma, settings.scheduled)
        # One place that estimates and one that minimizes, in both orders of play: each is inlined once.
        for step in range(2 * num_players):
            player, is_update = step_of(step, num_players)
            if is_update:
                MINIMIZE(tree, strategy, state.tables, scratch, player, iteration, settings.minimizer)
                continue
            begin_gradients(tree, scratch, player)
            for _ in range(num_traversals(player, batch)):
                begin_traversal(scratch)
                ESTIMATE(settings.estimator, settings.sampling_weights, tree, strategy, scratch, player)
                if LISTS_VISITS():
                    add_visits(strategy, average, scratch, weight / batch)
            if batch > 1:
                scale_gradient(tree, scratch, player, 1.0 / batch)
            ACCUMULATE(tree, strategy, average, scratch, player, weight)
        counts[ITERATION] += 1
