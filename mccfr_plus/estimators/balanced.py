"""The exploration-balanced strategy: every sequence has probability at least 1 / (number of sequences).

Reference: Farina, Kroer, Sandholm 2020, section 4.2.1 and appendix A.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mccfr_plus.estimators.base import Estimator, SamplingWeights, check_exploration
from mccfr_plus.estimators.control_variates import EXPECTED, ONE_OWN, controlled_traversal
from mccfr_plus.estimators.outcome import outcome_traversal
from mccfr_plus.kernels.compile import kernel
from mccfr_plus.kernels.slots import bind
from mccfr_plus.trees.needs import INFOSETS, PERFECT_RECALL
from mccfr_plus.trees.scratch import at
from mccfr_plus.trees.tree import Tree


def balanced_strategy(tree: Tree) -> np.ndarray:
    """Returns all players' exploration-balanced strategy, ``[slot_capacity]`` float64.

    With N(I, a) = 1 + sum of N(I') over the infosets I' that follow on sequence (I, a), and N(I) = sum_a N(I, a), which
    count the sequences from there on, an action is played with probability N(I, a) / N(I). By induction from the
    root, the reach of (I, a) is at least N(I, a) / (number of the player's sequences - 1), the empty sequence being the
    one that is not counted.

    Args:
        tree: The game; by rules with all of its infosets.

    Raises:
        GameError: If the game has imperfect recall: then sequences form no tree.
    """
    tree.require_perfect_recall("the exploration-balanced strategy")
    below, strategy = np.zeros(tree.slot_capacity + tree.num_players), np.zeros(tree.slot_capacity)
    _fill(tree.found_infosets, below, strategy)
    return strategy


@kernel
def _fill(infosets, below, strategy):
    """Counts from the last infoset to the first: parents come first. `below` and `strategy` are modified in place."""
    for infoset in range(len(infosets) - 1, -1, -1):
        record = infosets[at(infoset)]
        first, total = record["first_slot"], 0.0
        last = first + record["num_actions"]
        for slot in range(first, last):
            total += 1.0 + below[at(slot)]
        for slot in range(first, last):
            strategy[at(slot)] = (1.0 + below[at(slot)]) / total
        below[at(record["parent_slot"])] += total


@dataclass(frozen=True)
class BalancedOutcomeSampling(Estimator):
    """Outcome sampling with the exploration-balanced strategy (Farina, Kroer, Sandholm 2020, section 4.2.1).

    Each sequence is sampled with probability at least 1 / (number of the player's sequences - 1). So no entry of the
    gradient is larger than (largest payoff) * (number of sequences - 1).

    Args:
        epsilon: Share of that strategy, in (0, 1]; 1 as in the paper. The rest is on-policy.

    Examples:
        >>> import mccfr_plus
        >>> solver = mccfr_plus.Solver("kuhn_poker", mccfr_plus.BalancedOutcomeSampling(), seed=1)
        >>> solver.run(200).exploitability() < 0.4
        True
    """

    epsilon: float = 1.0
    short_name: ClassVar[str] = "balanced"
    visits_all_own: ClassVar[bool] = False
    references: ClassVar[tuple[str, ...]] = ("zinkevich2007regret", "lanctot2009monte", "farina2020stochastic")
    kernel: ClassVar[Any] = staticmethod(outcome_traversal)

    def __post_init__(self) -> None:
        check_exploration(self.epsilon, "the paper uses 1")

    def kernel_with_baseline(self, expected: bool) -> Callable:
        return bind(controlled_traversal, {ONE_OWN: True, EXPECTED: expected}, partial=True)

    def parameters(self) -> np.ndarray:
        return np.array([float(self.epsilon)])

    @property
    def sampling_weights(self) -> SamplingWeights:
        return SamplingWeights.SAMPLING

    @property
    def needs(self) -> frozenset[str]:
        return frozenset({PERFECT_RECALL, INFOSETS})

    def sampling_strategy(self, tree: Tree) -> np.ndarray:
        return balanced_strategy(tree)

    def stochastic_average(self, num_players: int) -> str:
        return "visits" if num_players == 2 else "own_traversal"
