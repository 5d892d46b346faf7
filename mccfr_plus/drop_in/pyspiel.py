"""Replaces the module `pyspiel`: its solvers of CFR, CFR+, external and outcome sampling are this package's, everything
else, `CFRBRSolver` included, is pyspiel's own.

Differs from `mccfr_plus.drop_in.cfr` and its neighbours as the C++ classes differ from the Python ones: policies are
C++ ones, and the sampling solvers have a fixed seed by default.

Examples:
    >>> from mccfr_plus.drop_in import pyspiel
    >>> game = pyspiel.load_game("leduc_poker")
    >>> solver = pyspiel.CFRPlusSolver(game)
    >>> for _ in range(100):
    ...     solver.evaluate_and_update_policy()
    >>> pyspiel.exploitability(game, solver.average_policy()) < 0.1
    True
"""

from typing import Any

import numpy as np
import pyspiel

from mccfr_plus.drop_in import cfr
from mccfr_plus.drop_in.base import DropInSolver, Seed
from mccfr_plus.drop_in.external_sampling_mccfr import AverageType, ExternalSamplingSolver
from mccfr_plus.drop_in.outcome_sampling_mccfr import OutcomeSamplingSolver
from mccfr_plus.errors import ConfigError

_MERSENNE_DEFAULT = 5489  # std::mt19937::default_seed, which C++ takes for a negative seed
_MERSENNE_SEEDS = 1 << 32  # C++ takes seeds modulo this


class _CppPolicies(DropInSolver):
    """A drop-in whose policies are C++ ones, as pyspiel's functions and bots expect them: uniform where unknown."""

    def average_policy(self) -> pyspiel.PartialTabularPolicy:  # type: ignore[override]
        """Returns a copy of the average policy, which approximates an equilibrium."""
        return pyspiel.PartialTabularPolicy(self.tabular_average_policy().policy_table())

    def current_policy(self) -> pyspiel.PartialTabularPolicy:  # type: ignore[override]
        """Returns a copy of the policy of the next iteration."""
        return pyspiel.PartialTabularPolicy(self.tabular_current_policy().policy_table())


class CFRSolver(_CppPolicies, cfr.CFRSolver):
    """CFR (Zinkevich et al. 2007) with alternating updates. See `mccfr_plus.drop_in.cfr.CFRSolver`."""


class CFRPlusSolver(_CppPolicies, cfr.CFRPlusSolver):
    """CFR+ (Tammelin et al. 2015): RM+, alternating updates, linear average. See `mccfr_plus.drop_in.cfr`."""


class ExternalSamplingMCCFRSolver(_CppPolicies, ExternalSamplingSolver):
    """External sampling MCCFR; differs from OpenSpiel's as `mccfr_plus.drop_in.ExternalSamplingSolver` does.

    Args:
        game: A `pyspiel.Game` of any size; a large game is expanded where traversals go.
        seed: An integer for a repeatable run (negative ones modulo 2^32, as in C++), a NumPy generator, or None for
            entropy. The default is a fixed seed, as in C++.
        avg_type: ``pyspiel.MCCFRAverageType.SIMPLE`` or ``FULL``.

    Raises:
        GameError: If the game cannot be solved or has imperfect recall.
        ConfigError: If `avg_type` or `seed` is invalid.
    """

    def __init__(
        self, game: pyspiel.Game, seed: Seed = 0, avg_type: pyspiel.MCCFRAverageType = pyspiel.MCCFRAverageType.SIMPLE
    ):
        if not isinstance(avg_type, pyspiel.MCCFRAverageType):
            raise ConfigError(
                f"avg_type={avg_type!r}: give pyspiel.MCCFRAverageType.SIMPLE or pyspiel.MCCFRAverageType.FULL."
            )
        if isinstance(seed, int | np.integer) and seed < 0:
            seed = int(seed) % _MERSENNE_SEEDS
        super().__init__(game, AverageType[avg_type.name], seed=seed)


class OutcomeSamplingMCCFRSolver(_CppPolicies, OutcomeSamplingSolver):
    """Outcome sampling MCCFR; differs from OpenSpiel's as `mccfr_plus.drop_in.OutcomeSamplingSolver` does.

    Args:
        game: A `pyspiel.Game` of any size; a large game is expanded where traversals go.
        epsilon: Share of uniform exploration at the nodes of the player being updated, in (0, 1].
        seed: An integer for a repeatable run (all negative ones, such as the default, are the same fixed seed,
            as in C++), a NumPy generator, or None for entropy.

    Raises:
        GameError: If the game cannot be solved.
        ConfigError: If `epsilon` or `seed` is out of range.
    """

    def __init__(self, game: pyspiel.Game, epsilon: float = 0.6, seed: Seed = -1):
        if isinstance(seed, int | np.integer) and seed < 0:
            seed = _MERSENNE_DEFAULT
        super().__init__(game, seed=seed, epsilon=epsilon)


def __getattr__(name: str) -> Any:
    return getattr(pyspiel, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(pyspiel)})
