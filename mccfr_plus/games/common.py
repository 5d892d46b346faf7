"""What several games share: kernels, and how a module's kernels become rules."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from mccfr_plus.games.rules import CHANCE, MOVER, Rules
from mccfr_plus.kernels.compile import inline_kernel, kernel
from mccfr_plus.kernels.intrinsics import at, lowest_bit


@kernel
def chance_begins(parameters, table, state):
    """A game's `start` where chance is to move and all other words are 0."""
    state[MOVER] = CHANCE


@inline_kernel
def list_bits(mask, actions):
    """Writes the positions of the bits that are set, ascending, and returns how many there are."""
    count = 0
    while mask:
        actions[at(count)] = lowest_bit(mask)
        mask &= mask - 1
        count += 1
    return count


@inline_kernel
def equally_likely(count, probabilities):
    """Writes the same probability for each of `count` outcomes, and returns `count`."""
    for index in range(count):
        probabilities[index] = 1.0 / count
    return count


def rules_in(module: Mapping[str, Any]) -> Rules:
    """Returns the rules whose kernels a module defines: `_legal` is `legal`, and so on.

    Without `_start`, chance moves first.
    """
    kernels: dict[str, Any] = {each.name: module.get(f"_{each.name}") for each in fields(Rules)}
    return Rules(**kernels | {"start": kernels["start"] or chance_begins})
