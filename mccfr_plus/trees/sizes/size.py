"""Estimated sizes of a game with confidence intervals, and the memory and time that they need."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np

from mccfr_plus.errors import ConfigError

# Bytes of a compiled tree; recording a game counts with them, too.
COMPILED_BYTES_PER_NODE = 21  # 16 in the tree, 5 in the recording
COMPILED_BYTES_PER_INFOSET = 250  # key object, dictionary entries, list entries, array rows; its text comes on top

# Bytes that `Solver(tree, "external", "rm")` takes on top: `costs.bytes_on_top` per slot and infoset.
SOLVER_BYTES_PER_SLOT = 50  # strategy, average, what was seen of it, regrets, gradient, reach: 8 each; a stamp: 2
SOLVER_BYTES_PER_INFOSET = 12  # the list of touched infosets

# Bytes of a lazy tree with the tables of `Solver(tree="lazy", "external", "rm")`: `mccfr_plus.solver.costs.costs_of`.
LAZY_BYTES_PER_CHILD = 20  # every child of an expanded node has a record
LAZY_BYTES_PER_INFOSET = 108
LAZY_BYTES_PER_SLOT = 74

# Seconds of kernels on one core of a Xeon at 2.5 GHz; `benchmarks/large_games.py sizes` measures all but traversals.
FULL_SECONDS_PER_NODE = 1e-8  # histories of the tree, all players together: the sequence form
# Histories visited by a sampled traversal, its update included: `benchmarks/speed.py threads` shows 15 to 38 M a second
# for one thread on Liar's dice on a busy machine; trees that are larger than the caches give fewer.
TRAVERSAL_SECONDS_PER_NODE = 5e-8
RULES_SECONDS_PER_NODE = 3e-7  # compiling a game with compiled rules: 110 ns a node, 350 ns more a decision

ESTIMATORS = ("full", "chance", "external", "outcome")

_LARGEST = 300.0  # log10 of what is handed out as a float
_ROUNDING = 1e-9  # of logarithms
_LOG10 = math.log(10.0)
_MAX_SPREAD = 3.0  # standard deviation of logarithms up to which an upper limit is given: a factor of 20


class Interval(NamedTuple):
    """An estimate and the limits of its confidence interval, as logarithms to base 10.

    Attributes:
        log10: Of the estimate; minus infinity for none.
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
        """Whether it is a count."""
        return self.high - self.low < _ROUNDING or self.low == self.high

    def __str__(self) -> str:
        if self.is_exact:
            return as_text(self.log10)
        return f"{as_text(self.log10)} ({as_text(self.low)} to {as_text(self.high)})"


@dataclass(frozen=True)
class InfosetBounds:
    """Lower and upper limits of a player's number of infosets.

    Attributes:
        seen: Number of different infosets met, a certain lower limit.
        at_least: Lower limit, with the estimate's confidence (Chao 1987); can be far below the truth.
        at_most: Log10 of the upper limit of the player's number of decision nodes.
    """

    seen: int
    at_least: float
    at_most: float


@dataclass(frozen=True)
class SizeEstimate:
    """The estimated size of a game, and the memory and time that it needs.

    Attributes:
        game: OpenSpiel's text of the turn-based game.
        confidence: Of each interval.
        is_exact: Whether all histories were counted; then intervals are points.
        is_complete: False if time was up before one beam came to the end of the game: then the numbers are of the
            levels that were reached, and there are no upper limits.
        is_cut_off: Whether time was up before the sample was as large as asked for.
        histories: All nodes of the tree.
        decision_nodes: Of each player.
        chance_nodes: Chance nodes.
        terminal_nodes: Ends of the game.
        paying_nodes: Those at which not all payoffs are 0: the entries of a payoff matrix.
        infosets: Of each player, between two limits.
        mean_actions: Mean number of actions at each player's decision nodes.
        most_actions: Largest number of actions seen at a decision node of each player.
        mean_length: Mean length of a random play, in actions of players and chance.
        longest_seen: Longest history seen.
        perfect_recall: False if an infoset was met after two different own pasts.
        external: Histories visited by one traversal of external sampling for each player, under the uniform strategy.
        chance_sampled: Histories visited by one traversal of chance sampling.
        played: Histories on one random play, the root included: a traversal of outcome sampling.
        slots_per_infoset: Mean number of actions of the infosets seen.
        text_length: Mean length of their texts, in characters.
        nodes_per_second: Histories that a traversal through pyspiel visits per second, as measured.
        has_compiled_rules: Whether compiling does without pyspiel.
        num_runs: Number of independent beams.
        width: Histories per level in each of them.
        num_nodes_seen: Histories visited, pilots included.
        seconds: How long it took, in seconds.

    Examples:
        >>> import mccfr_plus
        >>> estimate = mccfr_plus.estimate_size("kuhn_poker", seed=1)
        >>> estimate.is_exact, round(estimate.histories.value)
        (True, 58)
    """

    game: str
    confidence: float
    is_exact: bool
    is_complete: bool
    is_cut_off: bool
    histories: Interval
    decision_nodes: tuple[Interval, ...]
    chance_nodes: Interval
    terminal_nodes: Interval
    paying_nodes: Interval
    infosets: tuple[InfosetBounds, ...]
    mean_actions: tuple[float, ...]
    most_actions: tuple[int, ...]
    mean_length: float
    longest_seen: int
    perfect_recall: bool
    external: tuple[Interval, ...]
    chance_sampled: Interval
    played: Interval
    slots_per_infoset: float
    text_length: float
    nodes_per_second: float = field(compare=False)
    has_compiled_rules: bool
    num_runs: int
    width: int
    num_nodes_seen: int
    seconds: float = field(compare=False)

    def compiled_bytes(self) -> Interval:
        """Returns the memory that compiling takes, texts of information states included, in bytes."""
        texts = 0.0 if self.has_compiled_rules else self.text_length  # those are written when they are read
        return self._bytes(COMPILED_BYTES_PER_NODE, COMPILED_BYTES_PER_INFOSET + texts)

    def solver_bytes(self) -> Interval:
        """Returns what a solver with external sampling and regret matching takes on top of a tree, in bytes."""
        per_infoset = SOLVER_BYTES_PER_INFOSET + self.slots_per_infoset * SOLVER_BYTES_PER_SLOT
        return self._bytes(0, per_infoset)

    def lazy_bytes(self) -> Interval:
        """Returns the memory of a lazy tree once everything was visited, with its solver's, in bytes."""
        per_infoset = LAZY_BYTES_PER_INFOSET + self.slots_per_infoset * LAZY_BYTES_PER_SLOT
        return self._bytes(LAZY_BYTES_PER_CHILD, per_infoset)

    def compile_seconds(self) -> Interval:
        """Returns how long compiling takes, in CPU seconds on this machine."""
        per_node = RULES_SECONDS_PER_NODE if self.has_compiled_rules else 1 / self.nodes_per_second
        return _times(self.histories, per_node)

    def nodes_per_iteration(self, estimator: str) -> Interval:
        """Returns how many histories one iteration visits at first, under the uniform strategy, all players together.

        Args:
            estimator: ``"full"``, ``"chance"``, ``"external"`` or ``"outcome"``.

        Raises:
            ConfigError: If it is none of these.
        """
        if estimator == "external":
            return Interval(*(_log10_sum(side) for side in zip(*self.external, strict=True)))
        found = {"full": self.histories, "chance": self.chance_sampled, "outcome": self.played}
        if estimator not in found:
            raise ConfigError(f"estimator={estimator!r}: give one of {', '.join(ESTIMATORS)}.")
        return _times(found[estimator], len(self.decision_nodes))

    def seconds_per_iteration(self, estimator: str) -> Interval:
        """Returns how long one iteration takes on a compiled tree, in seconds, to the order of magnitude.

        Args:
            estimator: As for `nodes_per_iteration`.

        Raises:
            ConfigError: If it is none of those.
        """
        if estimator == "full":
            return _times(self.histories, FULL_SECONDS_PER_NODE)
        return _times(self.nodes_per_iteration(estimator), TRAVERSAL_SECONDS_PER_NODE)

    def fits(self, max_nodes: float, max_bytes: float) -> bool:
        """Returns whether the compiled tree and a solver keep within limits even at the upper ends of their intervals.

        The memory counts an infoset for each decision node where no more is known, so that False is no proof
        that a game is too large, and True is as certain as the confidence.

        Args:
            max_nodes: The largest number of histories.
            max_bytes: The largest memory, in bytes.
        """
        num_bytes = number_of(_log10_sum([self.compiled_bytes().high, self.solver_bytes().high]))
        # The tolerance is for the rounding of logarithms.
        return number_of(self.histories.high) <= max_nodes * (1 + 1e-9) and num_bytes <= max_bytes * (1 + 1e-9)

    def as_dict(self) -> dict[str, Any]:
        """Returns all numbers as plain Python values, ready for JSON; an interval is ``{log10, low, high}``."""
        values = asdict(self)
        for name in ("compiled_bytes", "solver_bytes", "lazy_bytes", "compile_seconds"):
            values[name] = getattr(self, name)()
        values["nodes_per_iteration"] = {name: self.nodes_per_iteration(name) for name in ESTIMATORS}
        values["seconds_per_iteration"] = {name: self.seconds_per_iteration(name) for name in ESTIMATORS}
        return _plain(values)

    def _bytes(self, per_node: float, per_infoset: float) -> Interval:
        low = log10_of(sum(bounds.at_least for bounds in self.infosets))
        high = _log10_sum([bounds.at_most for bounds in self.infosets])
        # Of what is known to a factor only, the middle of the factor.
        middle = low if self.is_exact else (low + _log10_sum([nodes.log10 for nodes in self.decision_nodes])) / 2
        limits = zip(self.histories, (middle, low, high), strict=True)
        return Interval(
            *(
                _log10_sum([log10_of(per_node) + nodes if per_node else -math.inf, log10_of(per_infoset) + infosets])
                for nodes, infosets in limits
            )
        )


def log10_of(number: float) -> float:
    """Returns the logarithm to base 10 of a number that may be 0."""
    return math.log10(number) if number > 0 else -math.inf


def _log10_sum(logs: Sequence[float]) -> float:
    top = max(logs)
    return top if math.isinf(top) else top + math.log10(sum(10.0 ** (x - top) for x in logs))


def _times(interval: Interval, factor: float) -> Interval:
    return Interval(*(x + math.log10(factor) for x in interval))


def _plain(value: Any) -> Any:
    if isinstance(value, Interval):
        return {name: number if math.isfinite(number) else None for name, number in value._asdict().items()}
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def exactly(log: float) -> Interval:
    """Returns a number that is known, from its logarithm to base e."""
    return Interval(*([float(log) / _LOG10] * 3))


def interval_of(logs: Sequence[float], confidence: float, *, least: float = -math.inf) -> Interval:
    """Returns the mean of independent estimates and an interval for what they estimate.

    The mean is unbiased if they are. The interval is Cox's for the mean of a log-normal distribution, with Student's t
    as in Olsson: with y the logarithms of n estimates and s^2 their variance,

        mean(y) + s^2 / 2 +- t sqrt(s^2 / n + s^4 / (2 (n - 1))).

    Markov's inequality, P(mean >= a mu) <= 1 / a, gives another lower limit, mean x (1 - confidence) / 2, which needs
    nothing but unbiased estimates; the higher one is taken. Nothing of the kind gives an upper limit: where it would
    hang on estimates being log-normal far beyond what was seen, there is none.

    Args:
        logs: Logarithms to base e of the estimates, at least one.
        confidence: Between 0 and 1.
        least: Logarithm of a number that the truth is known to reach.

    Reference: Olsson 2005, "Confidence intervals for the mean of a log-normal distribution", section 3.2.
    """
    y = np.asarray(logs, float)
    count, top = len(y), float(np.max(logs))
    if top == -math.inf:
        return exactly(top)  # none was met
    mean = top + math.log(float(np.exp(y - top).mean()))
    low, high = mean + math.log((1 - confidence) / 2), math.inf
    if count > 1 and np.isfinite(y).all():
        variance = float(y.var(ddof=1))
        centre = float(y.mean()) + variance / 2
        width = math.sqrt(variance / count + variance**2 / (2 * (count - 1)))
        reach = student_t((1 + confidence) / 2, count - 1) * width
        low = max(low, centre - reach)
        if variance <= _MAX_SPREAD**2:
            high = centre + reach
    mean = max(mean, least)
    return Interval(mean / _LOG10, max(min(low, mean), least) / _LOG10, max(high, mean) / _LOG10)


def student_t(probability: float, freedom: float) -> float:
    """Returns a quantile of Student's t distribution with this many degrees of freedom."""
    from scipy.special import stdtrit  # here, as importing it takes 0.1 s

    return float(stdtrit(freedom, probability))


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
