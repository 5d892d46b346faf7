"""Slots for the kernels of a game's rules."""

from typing import Any

from mccfr_plus.games.rules import Rules
from mccfr_plus.kernels.compile import inline_kernel
from mccfr_plus.kernels.slots import optional_slot, required_slot


@required_slot
def RULE_LEGAL(parameters, table, state, actions):
    """The `legal` of the game's rules."""


@optional_slot
def RULE_OUTCOMES(parameters, table, state, actions, probabilities):
    """The `outcomes` of the game's rules; none by default."""
    return 0


@required_slot
def RULE_APPLY(parameters, table, state, action):
    """The `apply` of the game's rules."""


@required_slot
def RULE_RETURNS(parameters, table, state, payoffs):
    """The `returns` of the game's rules."""


@required_slot
def RULE_LOOK(parameters, table, state, player, view):
    """The `look` of the game's rules."""


@required_slot
def RULE_OBSERVE(parameters, table, state, player, action):
    """The `observe` of the game's rules."""


def kernels_of(rules: Rules) -> dict[Any, Any]:
    """Returns the kernels of a game's rules by the slots that they fill."""
    kernels = {RULE_LEGAL: rules.legal, RULE_APPLY: rules.apply, RULE_RETURNS: rules.returns, RULE_LOOK: rules.look}
    return kernels if rules.outcomes is None else {**kernels, RULE_OUTCOMES: rules.outcomes}


@inline_kernel
def keep_possible(actions, probabilities, given):
    """Drops outcomes of probability 0, which would be histories that no play reaches. Returns how many are left."""
    count = 0
    for index in range(given):
        if probabilities[index] > 0.0:
            actions[count], probabilities[count] = actions[index], probabilities[index]
            count += 1
    return count
