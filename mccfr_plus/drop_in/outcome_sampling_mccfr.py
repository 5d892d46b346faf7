"""Replaces `open_spiel.python.algorithms.outcome_sampling_mccfr`."""

from __future__ import annotations

import pyspiel

from mccfr_plus.averages import uniform
from mccfr_plus.drop_in.base import DropInSolver, Seed
from mccfr_plus.estimators import OutcomeSampling
from mccfr_plus.minimizers import RegretMatching


class OutcomeSamplingSolver(DropInSolver):
    """Outcome sampling MCCFR (Lanctot et al. 2009, section 3.1) with OpenSpiel's exploration of 0.6.

    Differs from OpenSpiel's in the average: it is updated at opponents' infosets of the sampled history (two players)
    or by an additional traversal (more), both on-policy. OpenSpiel weights by reach over sampling probability at the
    updating player's infosets, and misses infosets that the opponents do not reach at that time.

    The tree of a large game is expanded where traversals go, with the texts of its information states. The average
    policy plays uniformly elsewhere, as OpenSpiel's does.

    Args:
        game: A `pyspiel.Game` of any size.
        seed: An integer for a repeatable run, a numpy generator, or None for entropy.

    Raises:
        GameError: If the game cannot be solved.
        ConfigError: If `seed` is something else.

    Examples:
        >>> import mccfr_plus, pyspiel
        >>> game = pyspiel.load_game("kuhn_poker")
        >>> solver = mccfr_plus.OutcomeSamplingSolver(game, seed=1)
        >>> for _ in range(500):
        ...     solver.iteration()
        >>> pyspiel.exploitability(game, solver.average_policy()) < 0.3
        True
    """

    def __init__(self, game: pyspiel.Game, *, seed: Seed = None):
        super().__init__(game, OutcomeSampling(epsilon=0.6), RegretMatching(), uniform(), seed=seed)
