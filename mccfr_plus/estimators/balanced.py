"""The exploration-balanced strategy: every sequence is played with at least one part in their number.

Reference: Farina, Kroer, Sandholm 2020, section 4.2.1 and appendix A.
"""

from __future__ import annotations

import numpy as np

from mccfr_plus.kernels.compile import kernel
from mccfr_plus.kernels.scratch import at
from mccfr_plus.tree.game_tree import GameTree


def balanced_strategy(tree: GameTree) -> np.ndarray:
    """Returns everybody's exploration-balanced strategy, ``[num_slots]`` float64.

    With N(I, a) = 1 + sum of N(I') over the infosets I' that follow on sequence (I, a), and N(I) = sum_a N(I, a), which
    count the sequences from there on, an action is played with probability N(I, a) / N(I). By induction from the
    root, the reach of (I, a) is at least N(I, a) / (number of the player's sequences - 1), the empty sequence being the
    one that is not counted.

    Args:
        tree: The game.

    Raises:
        GameError: If the game has imperfect recall: then sequences form no tree.
    """
    tree.require_perfect_recall("the exploration-balanced strategy")
    counts = np.ones(tree.num_slots + tree.num_players)
    strategy = np.empty(tree.num_slots)
    _fill(tree.arrays.infosets, counts, strategy)
    return strategy


@kernel
def _fill(infosets, counts, strategy):
    """Counts from the last infoset to the first: parents come first. `counts` and `strategy` are modified in place."""
    for infoset in range(len(infosets) - 1, -1, -1):
        record = infosets[at(infoset)]
        first, total = record["first_slot"], 0.0
        last = first + record["num_actions"]
        for slot in range(first, last):
            total += counts[at(slot)]
        for slot in range(first, last):
            strategy[at(slot)] = counts[at(slot)] / total
        counts[at(record["parent_slot"])] += total
