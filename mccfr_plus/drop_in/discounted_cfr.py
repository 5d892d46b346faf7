"""Replaces `open_spiel.python.algorithms.discounted_cfr`: discounted and linear CFR with the same policies."""

from typing import Any, ClassVar

import pyspiel
from open_spiel.python.algorithms import discounted_cfr as openspiel_discounted_cfr

from mccfr_plus.averages import PowerAverage, linear
from mccfr_plus.drop_in.base import Seed
from mccfr_plus.drop_in.cfr import FullCFRSolver
from mccfr_plus.estimators import Full
from mccfr_plus.minimizers import Discounted
from mccfr_plus.minimizers.discounted import AFTER_NEGATIVE, AFTER_POSITIVE, AT, SEEN_NEGATIVE, SEEN_POSITIVE


class _DCFRSolver(FullCFRSolver):
    """Discounted CFR with the arguments of OpenSpiel's class of this name. See `DCFRSolver` for the others and errors.

    Differs from it in simultaneous updates: OpenSpiel's then stays at the uniform policy. `regret_matching_plus` has no
    effect in either.
    """

    _openspiel = openspiel_discounted_cfr._DCFRSolver
    _components = (Full, Discounted)
    alpha = property(lambda solver: solver.minimizer.alpha, doc="The exponent of positive regrets.")
    beta = property(lambda solver: solver.minimizer.beta, doc="The exponent of negative regrets.")
    gamma = property(lambda solver: solver.averaging.gamma, doc="The exponent of the weights of the average.")

    def __init__(
        self, game: pyspiel.Game, alternating_updates: bool, linear_averaging: bool, regret_matching_plus: bool,
        alpha: float, beta: float, gamma: float, *, seed: Seed = None,
    ):  # fmt: skip
        average = PowerAverage(gamma if linear_averaging else 0.0, "per_history")
        super().__init__(game, Full(), Discounted(alpha, beta), average, alternating=alternating_updates, seed=seed)

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name in ("_info_state_nodes", "_iteration"):  # regrets that were assigned have all discounts before it
            tables, parameters = self._engine.tables, self._engine.parameters[0]
            parameters[AT] = self.iterations
            tables[SEEN_POSITIVE], tables[SEEN_NEGATIVE] = parameters[AFTER_POSITIVE], parameters[AFTER_NEGATIVE]


class DCFRSolver(_DCFRSolver):
    """DCFR with alternating updates and, as defaults, the parameters of Brown and Sandholm (2019).

    Args:
        game: A `pyspiel.Game`.
        alpha: Positive regrets are multiplied by t^alpha / (t^alpha + 1) after iteration t.
        beta: Negative regrets are multiplied by t^beta / (t^beta + 1) after iteration t.
        gamma: Iteration t has weight t^gamma in the average policy; finite and at least 0.
        seed: Not used: the algorithm is deterministic.

    Raises:
        GameError: If the game cannot be compiled.
        ConfigError: If alpha, beta or gamma is out of range.

    Reference: Brown and Sandholm 2019, "Solving imperfect-information games via discounted regret minimization".

    Examples:
        >>> import mccfr_plus, pyspiel
        >>> solver = mccfr_plus.DCFRSolver(pyspiel.load_game("kuhn_poker"))
        >>> solver.evaluate_and_update_policy()
    """

    _fixed: ClassVar[dict[str, Any]] = {"alternating": True}

    def __init__(
        self, game: pyspiel.Game, alpha: float = 3 / 2, beta: float = 0, gamma: float = 2, *, seed: Seed = None
    ):
        super().__init__(game, True, True, False, alpha, beta, gamma, seed=seed)


class LCFRSolver(_DCFRSolver):
    """Linear CFR (Brown and Sandholm 2019): alpha = beta = gamma = 1. See `DCFRSolver` for the arguments.

    Examples:
        >>> import mccfr_plus, pyspiel
        >>> solver = mccfr_plus.LCFRSolver(pyspiel.load_game("kuhn_poker"))
        >>> solver.evaluate_and_update_policy()
    """

    _fixed: ClassVar[dict[str, Any]] = {
        "minimizer": Discounted(1, 1),
        "averaging": linear("per_history"),
        "alternating": True,
    }

    def __init__(self, game: pyspiel.Game, *, seed: Seed = None):
        super().__init__(game, True, True, False, 1, 1, 1, seed=seed)
