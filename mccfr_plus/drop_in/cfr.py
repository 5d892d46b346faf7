"""Replaces `open_spiel.python.algorithms.cfr`: CFR and CFR+ with the same policies after every iteration."""

from typing import Any, ClassVar

import pyspiel

# For programs that import these two; they work on OpenSpiel's dictionaries, not on this package's arrays.
from open_spiel.python.algorithms.cfr import _InfoStateNode as _InfoStateNode
from open_spiel.python.algorithms.cfr import _update_current_policy as _update_current_policy

from mccfr_plus.averages import linear, uniform
from mccfr_plus.drop_in.base import DropInSolver, Seed
from mccfr_plus.estimators import Full
from mccfr_plus.minimizers import RegretMatching, RegretMatchingPlus


class _CFRSolver(DropInSolver):
    """CFR with the arguments of OpenSpiel's class of this name. See `CFRSolver` for errors.

    Reference: Zinkevich et al. 2007; Tammelin et al. 2015.
    """

    _components: ClassVar[tuple[type, ...]] = (Full, RegretMatching, RegretMatchingPlus)

    def __init__(
        self, game: pyspiel.Game, alternating_updates: bool, linear_averaging: bool, regret_matching_plus: bool, *,
        seed: Seed = None,
    ):  # fmt: skip
        minimizer = RegretMatchingPlus() if regret_matching_plus else RegretMatching()
        average = linear() if linear_averaging else uniform()
        super().__init__(game, Full(), minimizer, average, alternating=alternating_updates, seed=seed)


class CFRSolver(_CFRSolver):
    """CFR (Zinkevich et al. 2007) with alternating updates.

    Args:
        game: A `pyspiel.Game`.
        seed: Not used: a full traversal draws nothing.

    Raises:
        GameError: If the game cannot be compiled or has imperfect recall.

    Examples:
        >>> import mccfr_plus, pyspiel
        >>> game = pyspiel.load_game("kuhn_poker")
        >>> solver = mccfr_plus.CFRSolver(game)
        >>> for _ in range(20):
        ...     solver.evaluate_and_update_policy()
        >>> pyspiel.exploitability(game, solver.average_policy()) < 0.1
        True
    """

    _components = (Full, RegretMatching)
    _fixed: ClassVar[dict[str, Any]] = {"averaging": uniform(), "alternating": True}

    def __init__(self, game: pyspiel.Game, *, seed: Seed = None):
        super().__init__(game, True, False, False, seed=seed)


class CFRPlusSolver(_CFRSolver):
    """CFR+ (Tammelin et al. 2015): RM+, alternating updates, linear average. See `CFRSolver` for the arguments.

    Examples:
        >>> import mccfr_plus, pyspiel
        >>> solver = mccfr_plus.CFRPlusSolver(pyspiel.load_game("kuhn_poker"))
        >>> solver.evaluate_and_update_policy()
    """

    _components = (Full, RegretMatchingPlus)
    _fixed: ClassVar[dict[str, Any]] = {"averaging": linear(), "alternating": True}

    def __init__(self, game: pyspiel.Game, *, seed: Seed = None):
        super().__init__(game, True, True, True, seed=seed)
