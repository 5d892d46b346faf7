"""What regret matchers do at one infoset.

With v(a) the sampled values, x the strategy that was played and r(a) = v(a) - sum_b x(b) v(b), they keep cumulative
regrets R and play in proportion to what is positive of them; where nothing is positive the next strategy is uniform.
"""

from mccfr_plus.kernels.compile import inline_kernel
from mccfr_plus.trees.scratch import at

REGRET = 0  # the row of the tables that holds cumulative regrets

_SMALLEST_TOTAL = 1e-300  # keeps 1 / total finite


@inline_kernel
def expected_value(values, strategy, first, last):
    """Returns the expected value of the strategy at one infoset."""
    value = 0.0
    for slot in range(first, last):
        value += strategy[at(slot)] * values[at(slot)]
    return value


@inline_kernel
def play_in_proportion(shares, strategy, first, last, total):
    """Makes the strategy's entries proportional to shares that sum to `total`, or uniform if that is 0.

    `strategy` is modified in place. Only probabilities are written to it, at every moment: in fast mode another thread
    reads it meanwhile, and regrets in the place of probabilities would grow without end.
    """
    if total > _SMALLEST_TOTAL:
        scale = 1.0 / total
        for slot in range(first, last):
            strategy[at(slot)] = shares[at(slot)] * scale
    else:
        for slot in range(first, last):
            strategy[at(slot)] = 1.0 / (last - first)
