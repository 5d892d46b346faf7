"""From a sampled gradient to the next strategy: children before parents, over what was touched."""

from __future__ import annotations

from collections.abc import Callable

from mccfr_plus.errors import ConfigError
from mccfr_plus.kernels.compile import compose, inline_kernel
from mccfr_plus.kernels.scratch import LOOK_AHEAD, at
from mccfr_plus.minimizers.base import Minimizer
from mccfr_plus.tree.access import fetch_ahead, fetch_rows_ahead


@inline_kernel
def update_infoset(values, strategy, tables, first, last, iteration, parameters):
    """The place of a minimizer's kernel."""
    return 0.0


@inline_kernel
def prepare(tree, strategy, tables, scratch, player, iteration, parameters):
    """The place of a minimizer's `prepare`. No-op by default."""


@inline_kernel
def _fetch(infoset, gradient, strategy, tables):
    """Begins to fetch what an update reads, where the game is not stored."""
    fetch_ahead(gradient, infoset["parent_slot"])
    fetch_ahead(gradient, infoset["first_slot"], infoset["num_actions"])
    fetch_ahead(strategy, infoset["first_slot"], infoset["num_actions"])
    fetch_rows_ahead(tables, infoset["first_slot"], infoset["num_actions"])


@inline_kernel
def minimize(tree, strategy, tables, scratch, player, iteration, parameters):
    """Updates the player's touched infosets, children before parents, and passes their values up.

    First-visit order puts parents first, so that the list is read backwards. An entry without actions stands for an
    infoset that is up to date, whose value is in the gradient; so is that of an infoset with one action, which is not
    updated. What stands there afterwards means nothing. `strategy`, `tables` and `scratch` are modified in place.
    """
    gradient, touched = scratch.gradient, scratch.touched
    prepare(tree, strategy, tables, scratch, player, iteration, parameters)
    begin = tree.infoset_range[player]
    last = begin + scratch.num_touched[player] - 1
    for position in range(last, max(last - LOOK_AHEAD, begin - 1), -1):
        _fetch(touched[at(position)], gradient, strategy, tables)
    for position in range(last, begin - 1, -1):
        if position >= begin + LOOK_AHEAD:
            _fetch(touched[at(position - LOOK_AHEAD)], gradient, strategy, tables)
        infoset = touched[at(position)]
        first = infoset["first_slot"]
        count = infoset["num_actions"]
        if count == 2:  # as most often; with a constant there are no loops
            value = update_infoset(gradient, strategy, tables, first, first + 2, iteration, parameters)
        elif count > 2:
            value = update_infoset(gradient, strategy, tables, first, first + count, iteration, parameters)
        else:
            value = gradient[at(first)]
        gradient[at(infoset["parent_slot"])] += value
    scratch.reach_valid[player] = 0


def minimize_with(minimizer: Minimizer) -> Callable:
    """Returns `minimize` with the kernels of a minimizer.

    Raises:
        ConfigError: If it has no kernel.
    """
    if minimizer.kernel is None:
        raise ConfigError(f"{minimizer!r} has no kernel: give its class one; see mccfr_plus.Minimizer.")
    return compose(minimize, update_infoset=minimizer.kernel, prepare=minimizer.prepare or prepare)
