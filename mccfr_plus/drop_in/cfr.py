"""Replaces `open_spiel.python.algorithms.cfr`: CFR and CFR+ with the same policies after every iteration."""

from typing import Any, ClassVar

import pyspiel
from open_spiel.python.algorithms import cfr as openspiel_cfr

# For programs that import it.
from open_spiel.python.algorithms.cfr import _InfoStateNode as _InfoStateNode

from mccfr_plus.averages import linear, uniform
from mccfr_plus.drop_in.base import DropInSolver, Seed
from mccfr_plus.drop_in.tables import Snapshot, nodes_of, set_nodes
from mccfr_plus.estimators import Full
from mccfr_plus.minimizers import RegretMatching, RegretMatchingPlus


class FullCFRSolver(DropInSolver):
    """Base class of the solvers that traverse the whole game, with their table of nodes."""

    _info_state_nodes = property(nodes_of, set_nodes)
    _root_node = property(lambda solver: solver.game.new_initial_state())
    _alternating_updates = property(lambda solver: bool(solver.config.alternating))
    _linear_averaging = property(lambda solver: solver.averaging.gamma > 0)
    _regret_matching_plus = property(lambda solver: isinstance(solver.minimizer, RegretMatchingPlus))


def _update_current_policy(current_policy: Any, info_state_nodes: Any) -> None:
    """OpenSpiel's function for dictionaries of its nodes; a solver here already plays by the nodes assigned to it."""
    if not isinstance(info_state_nodes, Snapshot):
        openspiel_cfr._update_current_policy(current_policy, info_state_nodes)


class _CFRSolver(FullCFRSolver):
    """CFR with the arguments of OpenSpiel's class of this name. See `CFRSolver` for errors.

    Reference: Zinkevich et al. 2007; Tammelin et al. 2015.
    """

    _openspiel = openspiel_cfr._CFRSolver
    _components: ClassVar[tuple[type, ...]] = (Full, RegretMatching, RegretMatchingPlus)

    def __init__(
        self, game: pyspiel.Game, alternating_updates: bool, linear_averaging: bool, regret_matching_plus: bool, *,
        seed: Seed = None,
    ):  # fmt: skip
        minimizer = RegretMatchingPlus() if regret_matching_plus else RegretMatching()
        average = linear("per_history") if linear_averaging else uniform("per_history")
        super().__init__(game, Full(), minimizer, average, alternating=alternating_updates, seed=seed)


class CFRSolver(_CFRSolver):
    """CFR (Zinkevich et al. 2007) with alternating updates.

    Args:
        game: A `pyspiel.Game`.
        seed: Not used: the algorithm is deterministic.

    Raises:
        GameError: If the game cannot be compiled.

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
    _fixed: ClassVar[dict[str, Any]] = {"averaging": uniform("per_history"), "alternating": True}

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
    _fixed: ClassVar[dict[str, Any]] = {"averaging": linear("per_history"), "alternating": True}

    def __init__(self, game: pyspiel.Game, *, seed: Seed = None):
        super().__init__(game, True, True, True, seed=seed)
