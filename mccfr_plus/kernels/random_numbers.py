"""Random numbers inside kernels: SplitMix64 (Steele, Lea, Flood 2014, figure 17; constants of their implementation).

The state is one word of scratch arrays, from `mccfr_plus.parameters.new_states`: a `numpy.random.Generator` costs 30 us
a call. The generator passes BigCrush.
"""

import numpy as np

from mccfr_plus.kernels.compile import expression_kernel, inline_kernel

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_A = np.uint64(0xBF58476D1CE4E5B9)
_MIX_B = np.uint64(0x94D049BB133111EB)
_TO_UNIT = 1.0 / (1 << 53)


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
