"""The estimated size of a game: numbers with intervals, the memory that they need, and numbers as text."""

import math
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mccfr_plus.errors import ConfigError

# Bytes of a compiled tree; recording a game counts with them, too.
COMPILED_BYTES_PER_NODE = 21  # 16 in the tree, 5 in the recording
COMPILED_BYTES_PER_INFOSET = 250  # key object, dictionary entries, list entries, array rows; its text comes on top

# Bytes that `Solver(tree, "external", "rm")` takes on top: `costs.bytes_on_top` per slot and infoset.
SOLVER_BYTES_PER_SLOT = 50  # strategy, average, what was seen of it, regrets, gradient, reach: 8 each; a stamp: 2
SOLVER_BYTES_PER_INFOSET = 12  # the list of touched infosets

CONFIDENCE = 0.95  # of the intervals
ESTIMATORS = ("full", "chance", "external", "outcome")

_RESAMPLES = 1_000
_ROUNDING = 1e-9  # of log10
_LARGEST = 300.0  # log10 of the largest number that is returned as a float
_MOST_SPREAD = 1.3  # standard deviation of log10 up to which an upper limit is given: a factor of 20


class Interval(NamedTuple):
    """An estimate and the limits of its 95 % confidence interval, as logarithms to base 10.

    Attributes:
        log10: Of the estimate; minus infinity for 0.
        low: Log10 of the lower limit; equal to `log10`, like `high`, if the number is exact.
        high: Log10 of the upper limit; infinite if none can be given.
    """

    log10: float
    low: float
    high: float

    @property
    def value(self) -> float:
        """The estimate, at most 1e300."""
        return number_of(self.log10)

    @property
    def is_exact(self) -> bool:
        """Whether the number is a count."""
        return self.low == self.high or self.high - self.low < _ROUNDING  # equal infinities have no difference

    def times(self, factor: float) -> "Interval":
        """Returns the interval of a multiple."""
        return Interval(*(log + math.log10(factor) for log in self))

    def __str__(self) -> str:
        limits = "" if self.is_exact else f" ({as_text(self.low)} to {as_text(self.high)})"
        return as_text(self.log10) + limits


@dataclass(frozen=True)
class SizeEstimate:
    """The estimated size of a game.

    Attributes:
        game: OpenSpiel's text of the turn-based game.
        is_exact: Whether all histories were counted.
        histories: All nodes of the tree.
        decision_nodes: Of each player.
        chance_nodes: Chance nodes.
        terminal_nodes: Ends of the game.
        traversals: Histories that one traversal visits under the uniform strategy, by estimator.
        infosets_seen: Number of different information states in the sample, per player: a lower bound.
        perfect_recall: False if an information state was found after two different own pasts.
        depth: Longest history seen, in actions of players and chance.
        compiled_bytes: Memory of the compiled tree and of a solver with external sampling and regret matching. The
            upper limit counts an information set for each decision node.
        is_complete: False if time was up before the first beam reached the end of the game: the numbers then cover the
            levels that it reached, and have no upper limits.
        visited: Number of histories visited.

    Examples:
        >>> import mccfr_plus
        >>> estimate = mccfr_plus.estimate_size("kuhn_poker", seed=1)
        >>> estimate.is_exact, round(estimate.histories.value)
        (True, 58)
    """

    game: str
    is_exact: bool
    histories: Interval
    decision_nodes: tuple[Interval, ...]
    chance_nodes: Interval
    terminal_nodes: Interval
    traversals: dict[str, Interval]
    infosets_seen: tuple[int, ...]
    perfect_recall: bool
    depth: int
    compiled_bytes: Interval
    is_complete: bool
    visited: int

    def nodes_per_iteration(self, estimator: str) -> Interval:
        """Returns how many histories one iteration visits at first, under the uniform strategy, all players together.

        Args:
            estimator: ``"full"``, ``"chance"``, ``"external"`` or ``"outcome"``.

        Raises:
            ConfigError: If it is none of these.
        """
        if estimator not in self.traversals:
            raise ConfigError(f"estimator={estimator!r}: give one of {', '.join(ESTIMATORS)}.")
        return self.traversals[estimator].times(len(self.decision_nodes))

    def fits(self, max_nodes: float, max_bytes: float) -> bool:
        """Returns whether the compiled tree and a solver keep within limits at the upper ends of their intervals."""
        tolerance = 1 + 1e-9  # of the rounding of logarithms
        has_room = number_of(self.compiled_bytes.high) <= max_bytes * tolerance
        return has_room and number_of(self.histories.high) <= max_nodes * tolerance

    def as_dict(self) -> dict[str, Any]:
        """Returns all numbers as plain Python values, ready for JSON; an interval is ``{log10, low, high}``."""
        return _plain(asdict(self))


def _plain(value: Any) -> Any:
    if isinstance(value, Interval):
        return {name: number if math.isfinite(number) else None for name, number in value._asdict().items()}
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


def interval_of(logs: ArrayLike, *, is_exact: bool = False) -> Interval:
    """Returns the mean of independent unbiased estimates, and its percentile bootstrap interval.

    A single estimate has no upper limit; its lower limit is from Markov's inequality, P(estimate >= a mu) <= 1 / a.

    Args:
        logs: Logarithms to base 10 of the estimates, at least one.
        is_exact: Whether they are equal to the number that they estimate.
    """
    estimates, tail = np.asarray(logs), (1 - CONFIDENCE) / 2
    mean = float(log_sum(estimates)) - math.log10(len(estimates))
    if is_exact or mean == -math.inf:
        return Interval(mean, mean, mean)
    if len(estimates) == 1:
        return Interval(mean, mean + math.log10(tail), math.inf)
    draws = np.random.default_rng(0).integers(len(estimates), size=(_RESAMPLES, len(estimates)))
    means = log_sum(estimates[draws]) - math.log10(len(estimates))
    low, high = np.quantile(means, (tail, 1 - tail), method="nearest")  # which does not add infinities
    is_certain = np.std(estimates[np.isfinite(estimates)]) <= _MOST_SPREAD
    return Interval(mean, min(float(low), mean), max(float(high), mean) if is_certain else math.inf)


def log_sum(logs: ArrayLike) -> np.ndarray:
    """Returns log10 of the sum along the last axis of numbers given by their log10."""
    factor = math.log(10.0)
    return np.logaddexp.reduce(np.asarray(logs) * factor, axis=-1) / factor


def number_of(log10: float) -> float:
    """Returns the number of a logarithm, at most 1e300."""
    return 10.0 ** min(log10, _LARGEST)


def as_text(log10: float) -> str:
    """Returns a power of ten as people write it: ``"12 million"``, ``"10^47"``."""
    if log10 == math.inf:
        return "unknown"
    for digits, word in ((12, ""), (9, " billion"), (6, " million")):
        if log10 >= digits:
            return f"10^{log10:.{0 if log10 >= 100 else 1}f}" if not word else f"{10 ** (log10 - digits):.3g}{word}"
    return f"{10**log10:,.0f}" if log10 >= 2 else f"{float(f'{10**log10:.3g}'):g}"
