"""Chance sampling: one outcome at chance nodes, all actions of all players."""

from dataclasses import dataclass
from typing import Any, ClassVar

from mccfr_plus.estimators.base import TraversalSampling
from mccfr_plus.estimators.traversal import ALL_OPPONENTS


@dataclass(frozen=True)
class ChanceSampling(TraversalSampling):
    """Chance sampling: one outcome at chance nodes, everything else visited (Lanctot et al. 2009, section 3).

    Examples:
        >>> import mccfr_plus
        >>> solver = mccfr_plus.Solver("kuhn_poker", mccfr_plus.ChanceSampling(), seed=1)
        >>> solver.run(200).exploitability() < 0.4
        True
    """

    short_name: ClassVar[str] = "chance"
    references: ClassVar[tuple[str, ...]] = ("zinkevich2007regret", "lanctot2009monte")
    switches: ClassVar[dict[Any, Any]] = {ALL_OPPONENTS: True}

    def stochastic_average(self, num_players: int) -> str:
        # Whether an infoset is touched depends on chance alone, so that each own infoset counts in every iteration
        # with the same expected weight, for any number of players.
        return "touched"
