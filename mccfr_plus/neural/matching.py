"""Regret matching on what a network predicts."""

import numpy as np

from mccfr_plus.kernels.compile import kernel

_SMALLEST_TOTAL = 1e-300  # keeps 1 / total finite


@kernel
def match_advantages(advantages, actions, infosets, begin, argmax, strategy):
    """Fills a player's part of the strategy table by regret matching on predicted advantages.

    Where no advantage is positive, the action of the largest one is played (Brown et al. 2019, section 5.2), or all
    alike.

    Args:
        advantages: ``[num_rows, num_actions]`` float, by OpenSpiel's actions; illegal ones are not looked at.
        actions: See `Features`.
        infosets: ``[num_infosets]`` INFOSET.
        begin: The player's first infoset.
        argmax: Whether the largest advantage is played where none is positive.
        strategy: ``[num_slots]`` float64. Modified in place at the player's slots.
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
