"""Replaces `open_spiel.python.algorithms.external_sampling_mccfr`."""

import pyspiel
from open_spiel.python.algorithms import external_sampling_mccfr as openspiel_external_sampling_mccfr

# OpenSpiel's own enumeration, so that a program may take it from either place.
from open_spiel.python.algorithms.external_sampling_mccfr import AverageType as AverageType

from mccfr_plus.averages import uniform
from mccfr_plus.drop_in.base import DropInSolver, Seed
from mccfr_plus.drop_in.tables import info_states_of, set_info_states
from mccfr_plus.errors import ConfigError
from mccfr_plus.estimators import ExternalSampling
from mccfr_plus.minimizers import RegretMatching


class ExternalSamplingSolver(DropInSolver):
    """External sampling MCCFR (Lanctot et al. 2009, section 3, equation 11).

    Unlike in OpenSpiel, the SIMPLE average is unbiased for any number of players. OpenSpiel averages player i + 1's
    policy during player i's traversals. With more than two players, whether an information state is visited then
    depends on a third player's changing policy, which biases the average; this solver therefore makes an additional
    traversal for the average.

    Args:
        game: A `pyspiel.Game` of any size.
        average_type: SIMPLE adds the policy at the infosets that a sampled traversal visits. FULL adds the whole policy
            in every iteration, in time linear in the number of infosets, and has the lower variance. FULL averages the
            policies played in iterations 1 .. t, of which the first is uniform; OpenSpiel averages those obtained after
            the iterations.
        seed: An integer for a repeatable run, a NumPy generator, or None for a random seed.

    Raises:
        GameError: If the game cannot be solved or has imperfect recall.
        ConfigError: If `average_type` or `seed` is invalid.

    Examples:
        >>> import mccfr_plus, pyspiel
        >>> solver = mccfr_plus.ExternalSamplingSolver(pyspiel.load_game("kuhn_poker"), seed=1)
        >>> solver.iteration()
    """

    _openspiel = openspiel_external_sampling_mccfr.ExternalSamplingSolver
    _infostates = property(info_states_of, set_info_states)
    _average_type = property(lambda solver: AverageType["FULL" if solver.averaging.method == "exact" else "SIMPLE"])
    _components = (ExternalSampling, RegretMatching)

    def __init__(self, game: pyspiel.Game, average_type: AverageType = AverageType.SIMPLE, *, seed: Seed = None):
        if not isinstance(average_type, AverageType):
            raise ConfigError(f"average_type={average_type!r}: give AverageType.SIMPLE or AverageType.FULL.")
        average = uniform("exact" if average_type is AverageType.FULL else "auto")
        super().__init__(game, ExternalSampling(), RegretMatching(), average, seed=seed)
