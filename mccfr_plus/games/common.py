"""Kernels that several games share."""

from mccfr_plus.games.rules import CHANCE, MOVER
from mccfr_plus.kernels.compile import inline_kernel, kernel
from mccfr_plus.kernels.intrinsics import at, lowest_bit


@kernel
def chance_begins(parameters, table, state):
    """Writes the initial state of a game in which chance moves first and all other words are 0."""
    state[MOVER] = CHANCE


@inline_kernel
def list_bits(mask, actions):
    """Writes the positions of the set bits in ascending order, and returns their number."""
    count = 0
    while mask:
        actions[at(count)] = lowest_bit(mask)
        mask &= mask - 1
        count += 1
    return count


@inline_kernel
def num_bits(mask):
    """Returns the number of set bits."""
    count = 0
    while mask:
        mask &= mask - 1
        count += 1
    return count


@inline_kernel
def equally_likely(count, probabilities):
    """Writes the same probability for each of `count` outcomes, and returns `count`."""
    for index in range(count):
        probabilities[index] = 1.0 / count
    return count
