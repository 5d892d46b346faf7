"""The update of a distributed solver: from the sums of all batches to the next strategy."""

from mccfr_plus.kernels.compile import kernel
from mccfr_plus.kernels.loops.components import accumulate, minimize, weight_of
from mccfr_plus.kernels.no_refcount import no_refcount
from mccfr_plus.kernels.scratch import mean_of_traversals


@kernel
def update(tree, state, scratch, settings, first_player, last_player, iteration):
    """Averages and updates the players from `first_player` to `last_player`, in the order of the loops.

    Args:
        tree: `TreeArrays`.
        state: `State`. Modified in place.
        scratch: `Scratch`, with the sums of the gradients of ``settings.batch`` traversals. Modified in place.
        settings: `Settings`. Modified in place.
        first_player: The first one.
        last_player: The last one.
        iteration: Its number, from 1.
    """
    tree, state, scratch, settings = no_refcount(tree), no_refcount(state), no_refcount(scratch), no_refcount(settings)
    weight, count = weight_of(iteration, settings.gamma), last_player + 1 - first_player
    for step in range(2 * count):  # one place that averages and one that minimizes: each is inlined once
        player = first_player + step % count
        if step < count:
            mean_of_traversals(scratch, tree, player, settings.batch)
            accumulate(tree, state.strategy, state.average, scratch, player, weight)
        else:
            minimize(tree, state.strategy, state.tables, scratch, player, iteration, settings.minimizer)
