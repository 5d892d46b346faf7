"""From a sampled gradient to the next strategy: children before parents, over what was touched."""

from mccfr_plus.kernels.compile import inline_kernel
from mccfr_plus.kernels.scratch import at
from mccfr_plus.minimizers.base import Rule
from mccfr_plus.minimizers.dilated import ETA_NOW, dilated, prepare_dilated, step_size
from mccfr_plus.minimizers.hedge import hedge
from mccfr_plus.minimizers.regret_matching import (
    AT,
    discounted,
    next_discount,
    predictive,
    predictive_plus,
    regret_matching,
    regret_matching_plus,
)

_RM, _RM_PLUS, _DISCOUNTED, _PREDICTIVE, _PREDICTIVE_PLUS, _HEDGE, _DILATED = (int(r) for r in list(Rule)[1:])


@inline_kernel
def update_infoset(values, strategy, tables, first, last, iteration, parameters):
    """Runs the built-in rule whose number is ``parameters[0]`` at one infoset. See `Minimizer`."""
    rule = int(parameters[0])
    if rule == _RM:
        return regret_matching(values, strategy, tables, first, last, iteration, parameters)
    if rule == _RM_PLUS:
        return regret_matching_plus(values, strategy, tables, first, last, iteration, parameters)
    if rule == _DISCOUNTED:
        return discounted(values, strategy, tables, first, last, iteration, parameters)
    if rule == _PREDICTIVE:
        return predictive(values, strategy, tables, first, last, iteration, parameters)
    if rule == _PREDICTIVE_PLUS:
        return predictive_plus(values, strategy, tables, first, last, iteration, parameters)
    if rule == _HEDGE:
        return hedge(values, strategy, tables, first, last, iteration, parameters)
    return dilated(values, strategy, tables, first, last, iteration, parameters)


@inline_kernel
def prepare(tree, tables, scratch, player, iteration, parameters):
    """Does what a built-in rule does once per update, before the first infoset. Modified in place."""
    rule = int(parameters[0])
    if rule == _DISCOUNTED:
        if parameters[AT] != iteration:
            next_discount(parameters, iteration)
    elif rule == _HEDGE:
        parameters[ETA_NOW] = step_size(parameters, iteration + 1)  # of the strategy that comes out
    elif rule == _DILATED:
        prepare_dilated(tree, tables, scratch, player, iteration, parameters)


@inline_kernel
def nothing_to_prepare(tree, tables, scratch, player, iteration, parameters):
    """Takes the place of `prepare` for somebody's own rule, whose parameters are nobody else's business."""


@inline_kernel
def minimize(tree, strategy, tables, scratch, player, iteration, parameters):
    """Updates the player's touched infosets, children before parents, and passes their values up.

    First-visit order puts parents first, so that the list is read backwards. An entry without actions stands for an
    infoset that is up to date, whose value is in the gradient. What stands there afterwards means nothing. `strategy`,
    `tables` and `scratch` are modified in place.
    """
    gradient, touched = scratch.gradient, scratch.touched
    prepare(tree, tables, scratch, player, iteration, parameters)
    begin = tree.infoset_range[player]
    for position in range(begin + scratch.num_touched[player] - 1, begin - 1, -1):
        infoset = touched[at(position)]
        first = infoset["first_slot"]
        count = infoset["num_actions"]
        if count > 0:
            value = update_infoset(gradient, strategy, tables, first, first + count, iteration, parameters)
        else:
            value = gradient[at(first)]
        gradient[at(infoset["parent_slot"])] += value
    scratch.reach_valid[player] = 0
