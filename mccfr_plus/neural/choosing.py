"""From what networks say of all information sets to tables that episodes are played by."""

import numpy as np

from mccfr_plus.kernels.compile import kernel


@kernel
def fill_softmax(logits, actions, infosets, begin, strategy):
    """Fills a player's part of a strategy table with the softmax over legal actions.

    Args:
        logits: ``[num_rows, num_actions]`` float, by OpenSpiel's actions; illegal ones are not looked at.
        actions: See `Features`.
        infosets: ``[num_infosets]`` INFOSET.
        begin: The player's first infoset.
        strategy: ``[num_slots]`` float64. Modified in place at the player's slots.
    """
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
    """Finds the best legal action everywhere, the first of equally good ones.

    Args:
        values: ``[num_rows, num_actions]`` float, by OpenSpiel's actions; illegal ones are not looked at.
        actions: See `Features`.
        counts: See `Features`.
        best: ``[num_rows]`` int32, an output: indices into ``actions[row]``.
    """
    for row in range(len(values)):
        best[row] = 0
        for index in range(1, counts[row]):
            if values[row, actions[row, index]] > values[row, actions[row, best[row]]]:
                best[row] = index
