"""Kernels that turn the outputs of a player's network into its slots of a strategy table.

Their common arguments:
    outputs: ``[num_rows, num_actions]`` float, by OpenSpiel's actions; illegal ones are ignored.
    actions: See `Features`.
    infosets: ``[num_infosets]`` INFOSET.
    begin: The player's first infoset.
    strategy: ``[num_slots]`` float64. Modified in place at the player's slots.
"""

import numpy as np

from mccfr_plus.kernels.compile import kernel

_SMALLEST_TOTAL = 1e-300  # keeps 1 / total finite


@kernel
def match_advantages(advantages, actions, infosets, begin, argmax, strategy):
    """Fills a player's slots by regret matching on predicted advantages.

    Where no advantage is positive, the action of the largest one is played if `argmax` is set (Brown et al. 2019,
    section 5.2), else a uniform action.
    """
    for row in range(len(advantages)):
        first, width = infosets[begin + row]["first_slot"], infosets[begin + row]["num_actions"]
        total, best = 0.0, 0
        for index in range(width):
            advantage = advantages[row, actions[row, index]]
            total += max(np.float64(advantage), 0.0)
            if advantage > advantages[row, actions[row, best]]:
                best = index
        scale = 1.0 / total if total > _SMALLEST_TOTAL else 0.0
        for index in range(width):
            if scale > 0.0:
                strategy[first + index] = max(np.float64(advantages[row, actions[row, index]]), 0.0) * scale
            elif argmax:
                strategy[first + index] = 1.0 if index == best else 0.0
            else:
                strategy[first + index] = 1.0 / width


@kernel
def fill_softmax(logits, actions, infosets, begin, strategy):
    """Fills a player's slots with the softmax over legal actions."""
    for row in range(len(logits)):
        first, width = infosets[begin + row]["first_slot"], infosets[begin + row]["num_actions"]
        largest = -np.inf
        for index in range(width):
            largest = max(largest, np.float64(logits[row, actions[row, index]]))
        total = 0.0
        for index in range(width):
            strategy[first + index] = np.exp(logits[row, actions[row, index]] - largest)
            total += strategy[first + index]
        for index in range(width):
            strategy[first + index] /= total


@kernel
def find_best(values, actions, counts, best):
    """Writes the index of the best legal action of each row, the first of equally good ones.

    Args:
        values: ``[num_rows, num_actions]`` float, by OpenSpiel's actions; illegal ones are ignored.
        actions: See `Features`.
        counts: See `Features`.
        best: ``[num_rows]`` int32, indices into ``actions[row]``. Modified in place.
    """
    for row in range(len(values)):
        best[row] = 0
        for index in range(1, counts[row]):
            if values[row, actions[row, index]] > values[row, actions[row, best[row]]]:
                best[row] = index
