"""The built-in estimators: names, parameters and properties of the rows of one table."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from mccfr_plus.errors import ConfigError
from mccfr_plus.estimators.balanced import balanced_strategy
from mccfr_plus.estimators.base import AverageMethod, Estimator, SamplingWeights, Scheme
from mccfr_plus.estimators.traversal import ALL, BY_AVERAGE, BY_REGRET
from mccfr_plus.tree.game_tree import GameTree


def _check_number(name: str, value: Any, is_right: bool, allowed: str) -> None:
    is_number = not isinstance(value, bool) and isinstance(value, int | float | np.number)
    if not is_number or math.isnan(value) or not is_right:
        raise ConfigError(f"{name}={value!r}: {allowed}.")


def _is(value: Any, low: float, high: float, open_low: bool = False) -> bool:
    is_number = not isinstance(value, bool) and isinstance(value, int | float | np.number)
    return is_number and (low < value if open_low else low <= value) and value <= high


def _check_epsilon(value: Any, paper: str) -> None:
    allowed = "must be a number above 0 (or actions that are not played would never be tried) and at most 1; " + paper
    _check_number("epsilon", value, _is(value, 0, 1, open_low=True), allowed)


def _check_switch(name: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise ConfigError(f"{name}={value!r}: must be True or False.")


@dataclass(frozen=True)
class Full(Estimator):
    """The exact gradient: chance, opponents and own nodes are all visited (CFR).

    With regret matching this is CFR (Zinkevich et al. 2007), with RM+ and a linear average CFR+ (Tammelin et al.
    2015). By default no tree is traversed: the sequence form's matrix gives the same gradient, several times as fast.

    Args:
        traversal: Traversal the tree instead, as the papers' traversals do. Differs from the matrix by rounding.
        pruning: Traversal the tree and leave out what the other players do not reach (Lanctot et al. 2009, section 5). The
            same bits as `traversal`; `nodes_touched` counts what was visited.
    """

    traversal: bool = False
    pruning: bool = False
    scheme: ClassVar[Scheme] = Scheme.FULL
    short_name: ClassVar[str] = "full"
    references: ClassVar[tuple[str, ...]] = ("zinkevich2007regret",)

    def __post_init__(self) -> None:
        _check_switch("traversal", self.traversal)
        _check_switch("pruning", self.pruning)

    def parameters(self) -> np.ndarray:
        is_walk = self.traversal or self.pruning
        return np.array([float(Scheme.FULL_TRAVERSAL if is_walk else Scheme.FULL), float(self.pruning)])

    def average(self, num_players: int) -> AverageMethod:
        return AverageMethod.EXACT

    @property
    def samples(self) -> bool:
        return False

    @property
    def needs_leaves(self) -> bool:
        return not (self.traversal or self.pruning)

    @property
    def needs_whole_tree(self) -> bool:
        return True

    @property
    def visits_all_chance(self) -> bool:
        return True


@dataclass(frozen=True)
class ChanceSampling(Estimator):
    """One outcome at chance nodes, everything else visited (Lanctot et al. 2009, section 3)."""

    scheme: ClassVar[Scheme] = Scheme.CHANCE
    short_name: ClassVar[str] = "chance"
    references: ClassVar[tuple[str, ...]] = ("zinkevich2007regret", "lanctot2009monte")

    def average(self, num_players: int) -> AverageMethod:
        # Whether an infoset is touched depends on chance alone, so that each own infoset counts in every iteration
        # with the same expected weight, for any number of players.
        return AverageMethod.TOUCHED


@dataclass(frozen=True)
class _SamplesOpponents(Estimator):
    """What schemes share that draw opponents' actions on-policy.

    Args:
        sample_per_infoset: Draw one action per opponents' infoset and traversal, as Lanctot et al. 2009 define it, and not one per node.
            On a matrix game an iteration then takes one opponent's action for all own actions: the sublinear method
            of Grigoriadis and Khachiyan 1995.
    """

    sample_per_infoset: bool = False

    def __post_init__(self) -> None:
        _check_switch("sample_per_infoset", self.sample_per_infoset)

    def average(self, num_players: int) -> AverageMethod:
        return AverageMethod.VISITS if num_players == 2 else AverageMethod.OWN_TRAVERSAL

    @property
    def samples_per_infoset(self) -> bool:
        return self.sample_per_infoset


@dataclass(frozen=True)
class OpponentSampling(_SamplesOpponents):
    """One action at opponents' nodes, everything else visited (Farina et al. 2020, section 4.1).

    Args:
        sample_per_infoset: One draw per opponents' infoset and traversal, not per node.
    """

    scheme: ClassVar[Scheme] = Scheme.OPPONENT
    short_name: ClassVar[str] = "opponent"
    references: ClassVar[tuple[str, ...]] = ("zinkevich2007regret", "lanctot2009monte", "farina2020stochastic")

    @property
    def visits_all_chance(self) -> bool:
        return True


@dataclass(frozen=True)
class ExternalSampling(_SamplesOpponents):
    """One outcome at chance and at opponents' nodes, all own actions (Lanctot et al. 2009, section 3.2).

    Args:
        sample_per_infoset: One draw per opponents' infoset and traversal, as the paper defines it, not per node, as OpenSpiel does it.
        prune_below: Own actions whose cumulative regret is below this number, in the game's payoffs, are visited only
            with probability `prune_probability`, and then count for as many; None: all are always visited. Needs a
            minimizer that keeps negative regrets.
        prune_probability: That probability, in (0, 1].
    """

    prune_below: float | None = None
    prune_probability: float = 0.05
    scheme: ClassVar[Scheme] = Scheme.EXTERNAL
    short_name: ClassVar[str] = "external"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.prune_below is not None:
            allowed = "must be a negative number, or actions that are played would be left out, or None"
            _check_number("prune_below", self.prune_below, _is(self.prune_below, -math.inf, 0), allowed)
        allowed = "must be a number above 0 (or a pruned action would never come back) and at most 1"
        _check_number("prune_probability", self.prune_probability, _is(self.prune_probability, 0, 1, True), allowed)

    def parameters(self) -> np.ndarray:
        if self.prune_below is None:
            return np.array([float(self.scheme), ALL, 1.0, 0.0, 0.0])
        return np.array([float(self.scheme), BY_REGRET, float(self.prune_probability), 0.0, float(self.prune_below)])

    @property
    def sampling_weights(self) -> SamplingWeights:
        return SamplingWeights.NONE if self.prune_below is None else SamplingWeights.REGRETS

    @property
    def references(self) -> tuple[str, ...]:  # type: ignore[override]
        """Keys of `mccfr_plus.citations`."""
        return ("zinkevich2007regret", "lanctot2009monte", *(() if self.prune_below is None else ("brown2015regret",)))


@dataclass(frozen=True)
class AverageStrategySampling(_SamplesOpponents):
    """External sampling in which only a subset of own actions is visited, by the average strategy.

    Each own action is visited, independently of the others, with probability

        rho(I, a) = max(epsilon, (beta + tau s(I, a)) / (beta + sum_b s(I, b))),   at most 1,

    s being the sums of the average strategy, and what is found is divided by it. The average must be one that keeps
    sums; with more than two players and stochastic averaging it takes the second traversal that the paper mentions.

    Reference: Gibson, Burch, Lanctot, Szafron 2012, algorithm 1, with its defaults.

    Args:
        epsilon: Smallest probability of a visit, in (0, 1].
        tau: Actions that are played with a probability of at least 1 / tau are visited surely; at least 1.
        beta: While sums are below this, all actions are likely to be visited; at least 0.
        sample_per_infoset: One draw per opponents' infoset and traversal, not per node.
    """

    epsilon: float = 0.05
    tau: float = 1000.0
    beta: float = 1e6
    sample_per_infoset: bool = False
    scheme: ClassVar[Scheme] = Scheme.AVERAGE_STRATEGY
    short_name: ClassVar[str] = "average_strategy"
    references: ClassVar[tuple[str, ...]] = ("zinkevich2007regret", "lanctot2009monte", "gibson2012efficient")

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_epsilon(self.epsilon, "the paper uses 0.05")
        allowed = "must be a finite number, at least 1; the paper uses 1000"
        _check_number("tau", self.tau, _is(self.tau, 1, 1e300), allowed)
        _check_number("beta", self.beta, _is(self.beta, 0, 1e300), "must be a finite number >= 0; the paper uses 1e6")

    def parameters(self) -> np.ndarray:
        return np.array([float(self.scheme), BY_AVERAGE, float(self.epsilon), float(self.tau), float(self.beta)])

    @property
    def sampling_weights(self) -> SamplingWeights:
        return SamplingWeights.AVERAGE


@dataclass(frozen=True)
class OutcomeSampling(Estimator):
    """One history; own actions are drawn epsilon-on-policy (Lanctot et al. 2009, section 3.1).

    Args:
        epsilon: Share of exploration at own nodes, in (0, 1]; the paper's 0.6.
        update_all_players: One history updates all players, who all explore (the paper's algorithm 1), and not one per player in
            which the others play on-policy. Then all players are updated at the end of an iteration.
        sampling: The strategy that is explored: an OpenSpiel policy, or ``[num_slots]`` float64 in the order of the
            `GameTree`; None: all actions are equally likely. Every legal action must have positive probability.
    """

    epsilon: float = 0.6
    update_all_players: bool = False
    sampling: Any = field(default=None, compare=False)
    scheme: ClassVar[Scheme] = Scheme.OUTCOME
    short_name: ClassVar[str] = "outcome"
    references: ClassVar[tuple[str, ...]] = ("zinkevich2007regret", "lanctot2009monte")

    def __post_init__(self) -> None:
        _check_epsilon(self.epsilon, "the paper uses 0.6")
        _check_switch("update_all_players", self.update_all_players)

    def parameters(self) -> np.ndarray:
        return np.array(
            [float(Scheme.SHARED_OUTCOME if self.update_all_players else Scheme.OUTCOME), float(self.epsilon)]
        )

    @property
    def sampling_weights(self) -> SamplingWeights:
        return SamplingWeights.NONE if self.sampling is None else SamplingWeights.SAMPLING

    def sampling_strategy(self, tree: GameTree) -> Any:
        return self.sampling

    def average(self, num_players: int) -> AverageMethod:
        return AverageMethod.VISITS if num_players == 2 or self.update_all_players else AverageMethod.OWN_TRAVERSAL

    @property
    def visits_all_own(self) -> bool:
        return False

    @property
    def updates_all_players(self) -> bool:
        return self.update_all_players

    @property
    def needs_perfect_recall(self) -> bool:
        return False


@dataclass(frozen=True)
class BalancedOutcomeSampling(Estimator):
    """One history; own actions are drawn from the exploration-balanced strategy (Farina et al. 2020, section 4.2.1).

    Every sequence is sampled with at least one part in the number of the player's sequences, whatever is played, so
    that no entry of the gradient is larger than (largest payoff) * (number of sequences - 1).

    Args:
        epsilon: Share of that strategy, in (0, 1]; 1 as in the paper. The rest is on-policy.
    """

    epsilon: float = 1.0
    scheme: ClassVar[Scheme] = Scheme.OUTCOME
    short_name: ClassVar[str] = "balanced"
    references: ClassVar[tuple[str, ...]] = ("zinkevich2007regret", "lanctot2009monte", "farina2020stochastic")

    def __post_init__(self) -> None:
        _check_epsilon(self.epsilon, "the paper uses 1")

    def parameters(self) -> np.ndarray:
        return np.array([float(self.scheme), float(self.epsilon)])

    @property
    def sampling_weights(self) -> SamplingWeights:
        return SamplingWeights.SAMPLING

    def sampling_strategy(self, tree: GameTree) -> np.ndarray:
        return balanced_strategy(tree)

    def average(self, num_players: int) -> AverageMethod:
        return AverageMethod.VISITS if num_players == 2 else AverageMethod.OWN_TRAVERSAL

    @property
    def visits_all_own(self) -> bool:
        return False


@dataclass(frozen=True)
class Escher(Estimator):
    """One history, with values of histories instead of importance weights (McAleer et al. 2023); see `escher`.

    For games with perfect recall whose tree is complete. The players' regrets come out up to a factor per infoset that
    never changes, so that it goes with regret matching and its relatives, not with `FTRL` and `OMD`.

    Args:
        values: ``"exact"``: computed anew every `refresh` iterations. ``"learned"``: moved along each traversal towards the
            expected values of their children.
        refresh: Iterations between two computations of all values; None: a hundredth of the number of histories, so
            that these take about as long as the traversals between them.
        rate: How far learned values move, in (0, 1].
        sampling: From what own actions are drawn in all iterations: ``"uniform"``, or ``"balanced"``, the
            exploration-balanced strategy of Farina et al. 2020. (One that changes would change the factors.)
    """

    values: str = "exact"
    refresh: int | None = None
    rate: float = 1.0
    sampling: str = "uniform"
    scheme: ClassVar[Scheme] = Scheme.ESCHER
    short_name: ClassVar[str] = "escher"
    references: ClassVar[tuple[str, ...]] = ("mcaleer2023escher",)

    def __post_init__(self) -> None:
        if self.values not in ("exact", "learned"):
            raise ConfigError(f"values={self.values!r}: give exact or learned.")
        refresh = self.refresh
        if refresh is not None:
            if isinstance(refresh, bool) or not isinstance(refresh, int | np.integer) or not 1 <= refresh < 2**53:
                raise ConfigError(f"refresh={refresh!r}: must be a whole number of iterations, at least 1, or None.")
            if self.values == "learned":
                raise ConfigError(f"refresh={refresh!r} with values='learned': those are never computed anew.")
        allowed = "must be a number above 0 (or values would never move) and at most 1"
        _check_number("rate", self.rate, _is(self.rate, 0, 1, open_low=True), allowed)
        if self.sampling not in ("uniform", "balanced"):
            raise ConfigError(f"sampling={self.sampling!r}: give uniform or balanced.")

    def parameters(self) -> np.ndarray:
        refresh = -1.0 if self.values == "learned" else float(self.refresh or 0)
        return np.array([float(self.scheme), refresh, float(self.rate)])

    @property
    def sampling_weights(self) -> SamplingWeights:
        return SamplingWeights.NONE if self.sampling == "uniform" else SamplingWeights.SAMPLING

    def sampling_strategy(self, tree: GameTree) -> np.ndarray:
        return balanced_strategy(tree)

    def average(self, num_players: int) -> AverageMethod:
        # An opponent's infoset is visited by its owner's reach times something that never changes.
        return AverageMethod.VISITS if num_players == 2 else AverageMethod.OWN_TRAVERSAL

    @property
    def is_unbiased(self) -> bool:
        return False

    @property
    def keeps_values(self) -> bool:
        return True

    @property
    def needs_whole_tree(self) -> bool:
        return True

    @property
    def visits_all_own(self) -> bool:
        return False
