"""Stands in for `open_spiel.python.algorithms.outcome_sampling_mccfr`.

Example:
    >>> import pyspiel
    >>> from mccfr_plus.drop_in import outcome_sampling_mccfr
    >>> solver = outcome_sampling_mccfr.OutcomeSamplingSolver(pyspiel.load_game("kuhn_poker"), seed=1)
    >>> for _ in range(20_000):
    ...     solver.iteration()
    >>> pyspiel.exploitability(pyspiel.load_game("kuhn_poker"), solver.average_policy()) < 0.2
    True
"""

from __future__ import annotations

import numpy as np
import pyspiel

from mccfr_plus.averages import uniform
from mccfr_plus.drop_in.base import DropInSolver
from mccfr_plus.estimators import OutcomeSampling
from mccfr_plus.minimizers import RegretMatching


class OutcomeSamplingSolver(DropInSolver):
    """Outcome sampling MCCFR (Lanctot et al. 2009, section 3.1) with OpenSpiel's exploration of 0.6.

    Differs from OpenSpiel's in where the average is taken: at opponents' infosets of the sampled history (two
    players) or by a traversal of its own (more), both on-policy; OpenSpiel weights by reach over sampling probability
    at the updating player's infosets, which leaves out what the opponents do not reach at that time.

    A game too large to be traversed as a whole is_lazy where traversals go, and keeps the texts of its information states: the
    average policy then has those that were found, and plays uniformly elsewhere, as OpenSpiel's.

    Args:
        game: A `pyspiel.Game` of any size.
        seed: An integer for a repeatable run, a numpy generator, or None for entropy.

    Raises:
        GameError: If the game cannot be solved.
        ConfigError: If `seed` is something else.
    """

    def __init__(self, game: pyspiel.Game, *, seed: int | np.random.Generator | None = None):
        super().__init__(game, OutcomeSampling(epsilon=0.6), RegretMatching(), uniform(), seed=seed)
