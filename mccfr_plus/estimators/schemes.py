"""The built-in estimators: names, parameters and properties of the rows of one table, and the kernel behind them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mccfr_plus._jit import inline_kernel
from mccfr_plus.errors import ConfigError
from mccfr_plus.estimators.base import Average, Estimator, Scheme
from mccfr_plus.estimators.full import full_gradient
from mccfr_plus.estimators.outcome import outcome_walk
from mccfr_plus.estimators.walk import walk

_FULL, _CHANCE, _OPPONENT, _EXTERNAL = (int(s) for s in (Scheme.FULL, Scheme.CHANCE, Scheme.OPPONENT, Scheme.EXTERNAL))


@dataclass(frozen=True)
class Full(Estimator):
    """The exact gradient: chance, opponents and own nodes are all visited (CFR).

    With regret matching this is CFR (Zinkevich et al. 2007), with RM+ and a linear average CFR+ (Tammelin et al.
    2015).
    """

    scheme: ClassVar[Scheme] = Scheme.FULL
    short_name: ClassVar[str] = "full"

    def average(self, num_players: int) -> Average:
        return Average.EXACT

    @property
    def needs_leaves(self) -> bool:
        return True

    @property
    def walks_all_chance(self) -> bool:
        return True


@dataclass(frozen=True)
class ChanceSampling(Estimator):
    """One outcome at chance nodes, everything else visited (Lanctot et al. 2009, section 3)."""

    scheme: ClassVar[Scheme] = Scheme.CHANCE
    short_name: ClassVar[str] = "chance"

    def average(self, num_players: int) -> Average:
        # Whether an infoset is touched depends on chance alone, so that each own infoset counts in every iteration
        # with the same expected weight, for any number of players.
        return Average.TOUCHED


@dataclass(frozen=True)
class OpponentSampling(Estimator):
    """One action at opponents' nodes, everything else visited (Farina et al. 2020, section 4.1)."""

    scheme: ClassVar[Scheme] = Scheme.OPPONENT
    short_name: ClassVar[str] = "opponent"

    def average(self, num_players: int) -> Average:
        return Average.VISITS if num_players == 2 else Average.OWN_WALK

    @property
    def walks_all_chance(self) -> bool:
        return True


@dataclass(frozen=True)
class ExternalSampling(Estimator):
    """One outcome at chance and at opponents' nodes, all own actions (Lanctot et al. 2009, section 3.2)."""

    scheme: ClassVar[Scheme] = Scheme.EXTERNAL
    short_name: ClassVar[str] = "external"

    def average(self, num_players: int) -> Average:
        return Average.VISITS if num_players == 2 else Average.OWN_WALK


@dataclass(frozen=True)
class OutcomeSampling(Estimator):
    """One history; own actions are drawn epsilon-on-policy (Lanctot et al. 2009, section 3.1).

    Args:
        epsilon: Share of uniform exploration at own nodes, in (0, 1]; the paper's 0.6.
    """

    epsilon: float = 0.6
    scheme: ClassVar[Scheme] = Scheme.OUTCOME
    short_name: ClassVar[str] = "outcome"

    def __post_init__(self) -> None:
        if isinstance(self.epsilon, bool) or not isinstance(self.epsilon, int | float) or not 0 < self.epsilon <= 1:
            raise ConfigError(
                f"epsilon={self.epsilon!r}: must be a number above 0 (or actions that are not played would never be "
                "tried) and at most 1; the paper uses 0.6."
            )

    def parameters(self) -> np.ndarray:
        return np.array([float(self.scheme), float(self.epsilon)])

    def average(self, num_players: int) -> Average:
        return Average.VISITS if num_players == 2 else Average.OWN_WALK

    @property
    def walks_all_own(self) -> bool:
        return False

    @property
    def needs_perfect_recall(self) -> bool:
        return False


@inline_kernel
def estimate(parameters, tree, strategy, workspace, player):
    """Runs the built-in scheme whose number is ``parameters[0]``. `workspace` is modified in place."""
    scheme = int(parameters[0])
    # There is room for visits if an average is made of them; with more than two players it would be a wrong one.
    list_visits = len(tree.slot_range) == 3 and len(workspace.visits) > 0
    if scheme == _FULL:
        full_gradient(tree, strategy, workspace, player)
    elif scheme <= _EXTERNAL:
        all_opponents = scheme == _CHANCE
        walk(tree, strategy, workspace, player, scheme == _OPPONENT, all_opponents, list_visits and not all_opponents)
    else:
        outcome_walk(tree, strategy, workspace, player, parameters[1], list_visits)
