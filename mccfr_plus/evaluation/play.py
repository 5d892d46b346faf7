"""Games of known strategies, with control variates for a player's payoff, and estimates with confidence intervals.

    payoff - sum over choices (of chance or a player) of coefficient * (value(chosen) - sum over c of P(c) value(c))

has the payoff's mean, as values and coefficients come from earlier games alone: each control variate has mean 0 given
everything before it. The value of a history is the expectation of the known values one step below, exact at the end.
Control variates of different choices are uncorrelated: each group, by number of visits, has its own coefficient.
"""

import itertools
import math
import random
import time
from bisect import bisect_right
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

import pyspiel
from tqdm.auto import tqdm

from mccfr_plus.errors import ConfigError
from mccfr_plus.evaluation.strategies import Behavior, Distribution, JointPolicy, RowOf, joined, row_at
from mccfr_plus.parameters import LARGEST, Seed, check_number, check_whole, new_state
from mccfr_plus.trees.loading import load_game

MIN_SAMPLES = 4  # for an interval

_ENOUGH_PAIRS = 16  # for a coefficient other than 0
_GROUPS = 32  # by binary logarithm of visits
_LOOK_AHEAD = 32  # choices that are checked for ending the game
_MAX_NODES = 300_000  # histories that are kept: some 200 MB

Kind: TypeAlias = Literal["exact", "lower bound", "upper bound", "estimate"]


class Estimate(NamedTuple):
    """A number obtained by sampling, with a confidence interval for its expectation.

    The expectation of a "lower bound" is at most the quantity of interest, so rely on `low`. The expectation of an
    "upper bound" is at least that quantity, so rely on `high`.

    Attributes:
        value: The mean.
        low: Lower end of the interval.
        high: Upper end of the interval.
        kind: ``"exact"``, ``"estimate"``, ``"lower bound"`` or ``"upper bound"``.
        confidence: Confidence level of the interval, between 0 and 1.
        samples: Number of independent games or repetitions in the average.
        seconds: Wall-clock time.

    Examples:
        >>> from mccfr_plus.evaluation import Estimate
        >>> print(Estimate(0.25, 0.2, 0.3, "lower bound", 0.95, 1000, 1.5))
        lower bound 0.25 (95% interval 0.2 to 0.3, 1000 samples, 1.5 s)
    """

    value: float
    low: float
    high: float
    kind: Kind
    confidence: float
    samples: int
    seconds: float

    @property
    def half_width(self) -> float:
        """Half the length of the interval."""
        return (self.high - self.low) / 2

    def __str__(self) -> str:
        return (
            f"{self.kind} {self.value:.6g} ({100 * self.confidence:g}% interval {self.low:.6g} to {self.high:.6g}, "
            f"{self.samples} samples, {self.seconds:.1f} s)"
        )


class Running:
    """Mean and variance of a stream of numbers (Welford 1962)."""

    def __init__(self) -> None:
        self.count = 0
        self.mean = 0.0
        self._squares = 0.0

    def add(self, number: float) -> None:
        self.count += 1
        distance = number - self.mean
        self.mean += distance / self.count
        self._squares += distance * (number - self.mean)

    @property
    def variance_of_mean(self) -> float:
        """The squared standard error of `mean`; infinite for fewer than two numbers."""
        return self._squares / (self.count - 1) / self.count if self.count > 1 else math.inf

    def estimate(self, kind: Kind, confidence: float, seconds: float) -> Estimate:
        """Returns the estimate for the mean of at least `MIN_SAMPLES` numbers, by Student's t distribution."""
        half_width = math.sqrt(self.variance_of_mean) * student_t((1 + confidence) / 2, self.count - 1)
        low, high = self.mean - half_width, self.mean + half_width
        return Estimate(self.mean, low, high, kind, confidence, self.count, seconds)


def student_t(probability: float, freedom: float) -> float:
    """Returns a quantile of Student's t distribution with this many degrees of freedom."""
    from scipy.special import stdtrit  # here, as importing it takes 0.1 s

    return float(stdtrit(freedom, probability))


def sum_of(estimates: Sequence[Estimate], weights: Sequence[float], offset: float, kind: Kind) -> Estimate:
    """Returns the estimate for a weighted sum of independent estimates of one confidence, plus a constant.

    Reference: Zou and Donner 2008, "Construction of confidence limits about effect measures: a general approach".
    """
    value = offset + math.fsum(w * term.value for w, term in zip(weights, estimates, strict=True))
    half_width = math.sqrt(math.fsum((w * term.half_width) ** 2 for w, term in zip(weights, estimates, strict=True)))
    samples = sum(term.samples for term in estimates)
    seconds = math.fsum(term.seconds for term in estimates)
    return Estimate(value, value - half_width, value + half_width, kind, estimates[0].confidence, samples, seconds)


class _Place:
    """A history that is not terminal: its choices, their probabilities and learned values."""

    __slots__ = ("children", "counts", "mass", "row", "total", "value", "values", "visits")

    def __init__(self, row: Distribution):
        self.row = row
        self.children: dict[int, _Place | None] = {}  # by index of the choice; None is a terminal history
        self.values: dict[int, float] = {}  # of choices with a known value
        self.counts: dict[int, int] = {}  # games behind the value of a choice whose places below are not kept
        self.total = self.mass = self.value = 0.0  # sums of probability * value and of probabilities over `values`
        self.visits = 0

    def control(self, index: int) -> tuple[int, float, float] | None:
        """Returns the group of a choice's control variate, the variate and the expected value; None if unknown."""
        if not self.values:
            return None
        # A new choice has the average value of the others: so the expected value is the same.
        group = min(self.visits.bit_length(), _GROUPS - 1)
        return group, self.values.get(index, self.value) - self.value, self.value

    def learn(self, index: int, payoff: float) -> None:
        """Adds a game, after the places below it."""
        self.visits += 1
        child = self.children.get(index, self)
        if child is self:  # places below are not kept
            count = self.counts[index] = self.counts.get(index, 0) + 1
            old = self.values.get(index, 0.0)
            self.set_value(index, old + (payoff - old) / count)
        else:
            self.set_value(index, payoff if child is None else child.value)

    def set_value(self, index: int, value: float) -> None:
        """Sets the value of a choice, and so that of the place."""
        probability, old = self.row.probabilities[index], self.values.get(index)
        self.mass += probability if old is None else 0.0
        self.total += probability * (value - (old or 0.0))
        self.value, self.values[index] = self.total / self.mass, value


class ControlledPlay:
    """Turn-based games with a player's payoffs, plain and with control variates."""

    def __init__(self, game: pyspiel.Game, row_of: RowOf, player: int, rng: random.Random):
        self._game, self._row_of, self._player, self._rng = game, row_of, player, rng
        self._num_nodes = 0
        self._root: _Place | None = None
        self._products = [0.0] * _GROUPS  # by group: sum of (payoff - value before) * control variate
        self._squares = [0.0] * _GROUPS
        self._pairs = [0] * _GROUPS

    def play(self) -> tuple[float, float]:
        """Plays one game; returns the payoff and the payoff less the control variates, of the same mean."""
        state = self._game.new_initial_state()
        node = self._root = self._root or self._new_place(state)
        path: list[tuple[_Place, int, bool]] = []
        controls: list[tuple[int, float, float]] = []
        stored, correction = True, 0.0  # whether `node` is kept
        while True:
            index = bisect_right(node.row.cumulative, self._rng.random())
            path.append((node, index, stored))
            control = node.control(index)
            if control is not None:
                controls.append(control)
                correction += self._coefficient(control[0]) * control[1]
            state.apply_action(node.row.actions[index])
            if index in node.children:
                child = node.children[index]
            else:
                stored = stored and self._num_nodes < _MAX_NODES
                child = None if state.is_terminal() else self._new_place(state)
                if stored:
                    node.children[index] = child
                    self._num_nodes += 1
            if child is None:
                break
            node = child
        payoff = state.player_return(self._player)
        for group, variate, before in controls:
            self._products[group] += (payoff - before) * variate
            self._squares[group] += variate * variate
            self._pairs[group] += 1
        for node, index, stored in reversed(path):
            if stored:
                node.learn(index, payoff)
        return payoff, payoff - correction

    def _new_place(self, state: pyspiel.State) -> _Place:
        place = _Place(row_at(state, self._row_of))
        actions = () if state.is_chance_node() else place.row.actions[:_LOOK_AHEAD]
        for index, action in enumerate(actions):
            child = state.child(action)
            if child.is_terminal():
                place.children[index] = None
                place.set_value(index, child.player_return(self._player))
        return place

    def _coefficient(self, group: int) -> float:
        if self._pairs[group] < _ENOUGH_PAIRS or self._squares[group] == 0.0:
            return 0.0
        return min(max(self._products[group] / self._squares[group], 0.0), 1.0)


class Stop(NamedTuple):
    """When to stop playing: after so many games or seconds, with None for no limit."""

    num_games: int | None
    seconds: float | None
    confidence: float  # of the intervals
    progress: bool  # whether to show a progress bar

    @classmethod
    def checked(cls, num_games: int | None, seconds: float | None, confidence: float, progress: bool) -> "Stop":
        """Raises ConfigError if a number is out of range, or if there is no limit."""
        if num_games is None and seconds is None:
            raise ConfigError("num_games and seconds are both None: give at least one of them.")
        if num_games is not None:
            check_whole("num_games", num_games, MIN_SAMPLES)
        if seconds is not None:
            seconds = check_number("seconds", seconds, 0, LARGEST, "give a positive number, or None")
        most, allowed = math.nextafter(1.0, 0.0), "give a number from 0.5 to below 1, such as 0.95"
        confidence = check_number("confidence", confidence, 0.5, most, allowed, inclusive=True)
        return cls(num_games, seconds, confidence, progress)


def play_until(plays: Sequence[ControlledPlay], stop: Stop) -> tuple[list[Running], list[Running], float]:
    """Plays rounds of one game each; returns each play's plain and controlled payoffs, and the seconds of all."""
    begin = time.perf_counter()
    plain, controlled = [Running() for _ in plays], [Running() for _ in plays]
    most = None if stop.num_games is None else max(MIN_SAMPLES, math.ceil(stop.num_games / len(plays)))
    with tqdm(total=most and most * len(plays), unit="game", disable=not stop.progress) as bar:
        for number in itertools.count(1):
            for play, payoffs, corrected in zip(plays, plain, controlled, strict=True):
                for running, payoff in zip((payoffs, corrected), play.play(), strict=True):
                    running.add(payoff)
            bar.update(len(plays))
            seconds = time.perf_counter() - begin
            if number == most or (number >= MIN_SAMPLES and stop.seconds is not None and seconds > stop.seconds):
                break
    return plain, controlled, seconds


def payoff_estimate(
    game: pyspiel.Game, row_of: RowOf, player: int, rng: random.Random, kind: Kind, stop: Stop
) -> Estimate:
    """Returns the estimate of a player's payoff, with control variates."""
    _, (controlled,), seconds = play_until([ControlledPlay(game, row_of, player, rng)], stop)
    return controlled.estimate(kind, stop.confidence, seconds)


class HeadToHead(NamedTuple):
    """The payoff of `first` per game against `second`.

    Attributes:
        estimate: Payoff per game, averaged over seats.
        plain: The same estimate without control variates.
        by_seat: The estimates with `first` in seat 0, 1, ... and `second` in all other seats.
        variance_reduction: Variance of a game's payoff without control variates, divided by the variance with them.

    Examples:
        >>> import mccfr_plus
        >>> result = mccfr_plus.head_to_head("kuhn_poker", {}, {}, num_games=1000, seed=1)
        >>> result.estimate.low < 0 < result.estimate.high, len(result.by_seat)
        (True, 2)
    """

    estimate: Estimate
    plain: Estimate
    by_seat: tuple[Estimate, ...]
    variance_reduction: float

    def __str__(self) -> str:
        return f"{self.estimate}; {self.variance_reduction:.3g} times less variance than payoffs have"


def head_to_head(
    game: pyspiel.Game | str,
    first: JointPolicy,
    second: JointPolicy,
    *,
    num_games: int | None = 10_000,
    seconds: float | None = None,
    confidence: float = 0.95,
    seed: Seed = None,
    progress: bool = False,
) -> HeadToHead:
    """Returns the payoff per game of one policy against another, averaged over all seats.

    With n players, `first` sits in each seat in turn and `second` in the n - 1 other seats. Control variates, learned
    from earlier games, reduce the variance. The estimated payoff is unbiased if the number of games is fixed.

    Args:
        game: A game of any size, or its string; simultaneous moves are converted to turns.
        first: A joint policy: an OpenSpiel policy from Python or C++; a mapping from information states to {action:
            probability}, with uniform play at missing states; a function from states to {action: probability}; or a
            list with one of these per player.
        second: The other joint policy, in any of these forms.
        num_games: Number of games over all seats, rounded up to an equal number per seat (at least 4); None for no
            limit.
        seconds: Wall-clock time, or None for no limit.
        confidence: Confidence level of the intervals, at least 0.5 and less than 1.
        seed: An integer >= 0 for a repeatable result, a NumPy generator, or None.
        progress: Whether to show a progress bar.

    Raises:
        GameError: If the game is unknown, has sampled chance outcomes, or has no information states.
        PolicyError: If a policy has no distribution over the legal actions at a state.
        ConfigError: If a numeric argument or the seed is out of range, or if both `num_games` and `seconds` are None.

    Examples:
        >>> from mccfr_plus.evaluation import head_to_head
        >>> folds = {f"{card}{bet}": {0: 1.0} for card in "012" for bet in ("b", "pb")}
        >>> result = head_to_head("kuhn_poker", {}, folds, num_games=2000, seed=1)  # uniform against one who folds
        >>> result.estimate.kind, result.estimate.low > 0, result.variance_reduction > 2
        ('estimate', True, True)

    Reference: Burch, Schmid, Moravcik, Morrill and Bowling 2018, "AIVAT: a new variance reduction technique for agent
    evaluation in imperfect information games". Differs from it in learning the values, and in not summing over private
    information: all strategies are known, so histories say more.
    """
    stop, game = Stop.checked(num_games, seconds, confidence, progress), load_game(game)
    rows, rng = (Behavior(game, first).row, Behavior(game, second).row), random.Random(int(new_state(seed)[0]))
    plays = [ControlledPlay(game, joined(seat, *rows), seat, rng) for seat in range(game.num_players())]
    *payoffs, spent = play_until(plays, stop)
    plain, controlled = ([seat.estimate("estimate", stop.confidence, spent) for seat in seats] for seats in payoffs)
    weights = [1 / len(plays)] * len(plays)
    mean, plain_mean = (sum_of(each, weights, 0.0, "estimate")._replace(seconds=spent) for each in (controlled, plain))
    before, after = (sum(seat.variance_of_mean for seat in seats) for seats in payoffs)
    variance_reduction = 1.0 if before == 0.0 else before / after if after > 0.0 else math.inf
    return HeadToHead(mean, plain_mean, tuple(controlled), variance_reduction)
