"""Replaces `open_spiel.python.algorithms.cfr_br`: CFR against best responses."""

import pyspiel
from open_spiel.python.algorithms import cfr_br as openspiel_cfr_br

from mccfr_plus.averages import PowerAverage
from mccfr_plus.drop_in.base import Seed
from mccfr_plus.drop_in.cfr import FullCFRSolver
from mccfr_plus.estimators import BestResponseOpponent
from mccfr_plus.minimizers import RegretMatching, RegretMatchingPlus


class CFRBRSolver(FullCFRSolver):
    """CFR-BR: each player runs CFR against the other's best response (Johanson et al. 2012).

    If there are several best responses, OpenSpiel's solver may choose a different one than this solver, and the two
    solvers' policies then differ.

    Args:
        game: A two-player zero-sum `pyspiel.Game`.
        linear_averaging: Whether iteration t has weight t in the average policy.
        regret_matching_plus: Whether cumulative regrets are clipped at 0.
        seed: Not used: the algorithm is deterministic.

    Raises:
        GameError: If the game cannot be compiled, has imperfect recall, or is not a two-player zero-sum game.

    Examples:
        >>> import mccfr_plus, pyspiel
        >>> solver = mccfr_plus.CFRBRSolver(pyspiel.load_game("kuhn_poker"))
        >>> solver.evaluate_and_update_policy()
    """

    _openspiel = openspiel_cfr_br.CFRBRSolver
    _components = (BestResponseOpponent, RegretMatching, RegretMatchingPlus)

    def __init__(
        self, game: pyspiel.Game, linear_averaging: bool = False, regret_matching_plus: bool = False, *,
        seed: Seed = None,
    ):  # fmt: skip
        minimizer = RegretMatchingPlus() if regret_matching_plus else RegretMatching()
        average = PowerAverage(1.0 if linear_averaging else 0.0, "per_history")
        super().__init__(game, BestResponseOpponent(), minimizer, average, seed=seed)
