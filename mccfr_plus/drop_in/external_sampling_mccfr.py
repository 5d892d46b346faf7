"""Replaces `open_spiel.python.algorithms.external_sampling_mccfr`.

Examples:
    >>> import pyspiel
    >>> from mccfr_plus.drop_in import external_sampling_mccfr
    >>> solver = external_sampling_mccfr.ExternalSamplingSolver(pyspiel.load_game("kuhn_poker"), seed=1)
    >>> for _ in range(10_000):
    ...     solver.iteration()
    >>> pyspiel.exploitability(pyspiel.load_game("kuhn_poker"), solver.average_policy()) < 0.1
    True
"""

from __future__ import annotations

import pyspiel

# OpenSpiel's own enumeration, so that a program may take it from either place.
from open_spiel.python.algorithms.external_sampling_mccfr import AverageType as AverageType

from mccfr_plus.averages import uniform
from mccfr_plus.drop_in.base import DropInSolver, Seed
from mccfr_plus.errors import ConfigError
from mccfr_plus.estimators import ExternalSampling
from mccfr_plus.minimizers import RegretMatching


class ExternalSamplingSolver(DropInSolver):
    """External sampling MCCFR (Lanctot et al. 2009, section 3.2).

    Differs from OpenSpiel's in that SIMPLE is unbiased for any number of players. OpenSpiel averages player i + 1's
    policy on player i's traversals; with more than two players, their visits depend on the third player's changing
    policy. Here an additional traversal serves the average then.

    The tree of a large game is expanded where traversals go, with the texts of its information states. The average
    policy plays uniformly elsewhere, as OpenSpiel's does.

    Args:
        game: A `pyspiel.Game` of any size.
        average_type: SIMPLE adds the policy at the infosets that a sampled traversal visits; FULL adds the whole policy
            in every iteration, which costs O(all infosets) and has the least variance. FULL adds the policies that
            iterations 1 .. t played, the first of them uniform; OpenSpiel's adds those that come out of them.
        seed: An integer for a repeatable run, a numpy generator, or None for entropy.

    Raises:
        GameError: If the game cannot be solved or has imperfect recall.
        ConfigError: If `average_type` or `seed` is something else.

    Examples:
        >>> import mccfr_plus, pyspiel
        >>> game = pyspiel.load_game("kuhn_poker")
        >>> solver = mccfr_plus.ExternalSamplingSolver(game, seed=1)
        >>> for _ in range(500):
        ...     solver.iteration()
        >>> pyspiel.exploitability(game, solver.average_policy()) < 0.2
        True
    """

    def __init__(self, game: pyspiel.Game, average_type: AverageType = AverageType.SIMPLE, *, seed: Seed = None):
        if not isinstance(average_type, AverageType):
            raise ConfigError(f"average_type={average_type!r}: give AverageType.SIMPLE or AverageType.FULL.")
        average = uniform("exact" if average_type is AverageType.FULL else "auto")
        super().__init__(game, ExternalSampling(), RegretMatching(), average, seed=seed)
