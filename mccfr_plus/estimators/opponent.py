"""Opponent sampling: one action at opponents' nodes, all chance outcomes and own actions."""

from dataclasses import dataclass
from typing import Any, ClassVar

from mccfr_plus.estimators.base import OpponentsSampled
from mccfr_plus.estimators.traversal import ALL_CHANCE


@dataclass(frozen=True)
class OpponentSampling(OpponentsSampled):
    """Opponent sampling: one action at opponents' nodes, everything else visited (Farina et al. 2020, section 4.1).

    Args:
        sample_per_infoset: One draw per opponents' infoset and traversal, not per node.

    Examples:
        >>> import mccfr_plus
        >>> solver = mccfr_plus.Solver("kuhn_poker", mccfr_plus.OpponentSampling(), seed=1)
        >>> solver.run(200).exploitability() < 0.4
        True
    """

    short_name: ClassVar[str] = "opponent"
    references: ClassVar[tuple[str, ...]] = ("zinkevich2007regret", "lanctot2009monte", "farina2020stochastic")
    switches: ClassVar[dict[Any, Any]] = {ALL_CHANCE: True}
    visits_all_chance: ClassVar[bool] = True
