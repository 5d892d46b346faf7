"""Random numbers inside kernels: SplitMix64 on a one-word state.

Passing a `numpy.random.Generator` into a kernel costs 30 us a call, so the state is an array of the solver's
scratch. The generator is the one of Java's `SplittableRandom`; it passes BigCrush.

Reference: Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators", figure 17 (with the mixing
constants of its reference implementation).
"""

from typing import Any, TypeAlias

import numpy as np

from mccfr_plus.errors import ConfigError
from mccfr_plus.kernels.compile import expression_kernel, inline_kernel

Seed: TypeAlias = int | np.random.Generator | None  # see `new_states`

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_A = np.uint64(0xBF58476D1CE4E5B9)
_MIX_B = np.uint64(0x94D049BB133111EB)
_TO_UNIT = 1.0 / (1 << 53)


def new_state(seed: Seed) -> np.ndarray:
    """Returns a fresh generator state, ``[1]`` uint64; see `new_states`."""
    return new_states(seed, 1)


def new_states(seed: Seed, count: int) -> np.ndarray:
    """Returns fresh generator states, ``[count]`` uint64, the first of which does not depend on the count.

    Args:
        seed: An integer >= 0 for a repeatable run, a numpy generator to draw the state from, or None for entropy
            of the operating system.

    Raises:
        ConfigError: If the seed is something else.
    """
    if isinstance(seed, np.random.Generator):
        return seed.integers(0, 2**64, size=count, dtype=np.uint64)
    number = as_python(seed)
    if seed is not None and (isinstance(number, bool) or not isinstance(number, int) or number < 0):
        raise ConfigError(f"seed={seed!r}: give an integer >= 0, a numpy.random.Generator, or None.")
    return np.random.SeedSequence(number).generate_state(count, np.uint64)


def as_python(value: Any) -> Any:
    """Returns a number or truth value of NumPy as Python's, whose arithmetic loses no digits; others as they are."""
    if isinstance(value, np.floating):
        return float(value)  # `item` of a long double is no float
    return value.item() if isinstance(value, np.generic) else value


@inline_kernel
def next_word(rng):
    """Returns the next 64 random bits. `rng` is modified in place."""
    rng[0] += _GOLDEN
    z = rng[0]
    z = (z ^ (z >> np.uint64(30))) * _MIX_A
    z = (z ^ (z >> np.uint64(27))) * _MIX_B
    return z ^ (z >> np.uint64(31))


@expression_kernel
def next_double(rng):
    """Returns a random number in [0, 1) with 53 bits. `rng` is modified in place."""
    return np.float64(next_word(rng) >> np.uint64(11)) * _TO_UNIT
