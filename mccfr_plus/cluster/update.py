"""The update of a distributed solver: from the sums of all batches to the next strategy."""

from __future__ import annotations

from collections.abc import Callable

from mccfr_plus.averages import PowerAverage, accumulate
from mccfr_plus.kernels.compile import kernel, rebind
from mccfr_plus.kernels.loop import update_kernels_of
from mccfr_plus.kernels.no_refcount import no_refcount
from mccfr_plus.kernels.scratch import mean_of_traversals
from mccfr_plus.minimizers import Minimizer
from mccfr_plus.minimizers.backward_pass import minimize


@kernel
def update(
    tree,
    strategy,
    tables,
    average,
    scratch,
    parameters,
    average_method,
    gamma,
    all_own,
    first_player,
    last_player,
    traversals,
    now,
):
    """Averages and updates the players from `first_player` to `last_player`, in the order of `loop`.

    Args:
        tree: `TreeArrays`.
        strategy: ``[num_slots]`` float64. Modified in place.
        tables: The minimizer's. Modified in place.
        average: See `accumulate`. Modified in place.
        scratch: `Scratch`, with the sums of the gradients of so many traversals. Modified in place.
        parameters: See `Minimizer.parameters`. Modified in place.
        average_method: A value of `AverageMethod`.
        gamma: Exponent of the weights of the average.
        all_own: See `accumulate`.
        first_player: The first one.
        last_player: The last one.
        traversals: How many.
        now: Number of the iteration, from 1.
    """
    tree, scratch = no_refcount(tree), no_refcount(scratch)
    strategy, tables, average, parameters = (
        no_refcount(strategy),
        no_refcount(tables),
        no_refcount(average),
        no_refcount(parameters),
    )
    weight = weight_of(gamma, now)
    count = last_player + 1 - first_player
    for step in range(2 * count):  # one place that averages and one that minimizes: each is inlined once
        player = first_player + step % count
        if step < count:
            mean_of_traversals(scratch, tree, player, traversals)
            accumulate(average_method, tree, strategy, average, scratch, player, weight, all_own)
        else:
            minimize(tree, strategy, tables, scratch, player, now, parameters)


@kernel
def weight_of(gamma, now):
    """Returns the weight of an iteration in the average."""
    if gamma == 0.0:
        return 1.0
    return float(now) if gamma == 1.0 else float(now) ** gamma


def update_kernel(minimizer: Minimizer, averaging: PowerAverage) -> Callable:
    """Returns `update` for a minimizer and an average.

    Raises:
        ConfigError: If the minimizer is user-defined and has no kernel.
    """
    own = {name: own for name, own in update_kernels_of(minimizer, averaging).items() if own is not None}
    return rebind(update, **own) if own else update
