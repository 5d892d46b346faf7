"""Replaces `open_spiel.python.algorithms.outcome_sampling_mccfr`."""

import pyspiel
from open_spiel.python.algorithms import outcome_sampling_mccfr as openspiel_outcome_sampling_mccfr

from mccfr_plus.averages import uniform
from mccfr_plus.drop_in.base import DropInSolver, Seed
from mccfr_plus.drop_in.tables import info_states_of, set_info_states
from mccfr_plus.estimators import OutcomeSampling
from mccfr_plus.minimizers import RegretMatching


class OutcomeSamplingSolver(DropInSolver):
    """Outcome sampling MCCFR (Lanctot et al. 2009, section 3) with OpenSpiel's exploration by default.

    This solver differs from OpenSpiel's solver in the average, which is updated at the opponent's infosets on the
    sampled history or, with more than two players, by an additional traversal. OpenSpiel updates the average at
    the traversing player's infosets, weighted by reach probability / sampling probability, and omits infosets that the
    opponents' current strategies do not reach.

    Args:
        game: A `pyspiel.Game` of any size.
        seed: An integer for a repeatable run, a NumPy generator, or None for a random seed.
        epsilon: Share of uniform exploration at the nodes of the player being updated, in (0, 1].

    Raises:
        GameError: If the game cannot be solved.
        ConfigError: If `seed` or `epsilon` is invalid.

    Examples:
        >>> import mccfr_plus, pyspiel
        >>> solver = mccfr_plus.OutcomeSamplingSolver(pyspiel.load_game("kuhn_poker"), seed=1)
        >>> solver.iteration()
    """

    _openspiel = openspiel_outcome_sampling_mccfr.OutcomeSamplingSolver
    _infostates = property(info_states_of, set_info_states)
    _expl = property(lambda solver: solver.estimator.epsilon)
    _components = (OutcomeSampling, RegretMatching)

    def __init__(self, game: pyspiel.Game, *, seed: Seed = None, epsilon: float = 0.6):
        super().__init__(game, OutcomeSampling(epsilon), RegretMatching(), uniform(), seed=seed)
