"""Plays games of known strategies, with control variates for a player's payoff.

Each random choice of a game (by chance or by a player) has a control variate: the learned value of the choice minus
the expected value over all choices, times a coefficient. Values and coefficients come from earlier games alone. So each
control variate has mean 0 given everything before it, and

    payoff - sum over choices of coefficient * (value(chosen) - sum over c of P(c) value(c))

has the payoff's mean in every game. With exact values and coefficients of 1 the sum telescopes to a constant.

The value of a history is the expectation of the known values one step below. Values of terminal histories are exact.
Control variates of different choices are uncorrelated: each group, by number of visits, has its own coefficient.

Reference: Burch, Schmid, Moravcik, Morrill, Bowling 2018, "AIVAT: a new variance reduction technique for agent
evaluation in imperfect information games". Differs from it in learned values, and in that it takes no sum over private
information: with all strategies known, histories tell more.
"""

import itertools
import math
import random
import time
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyspiel
from tqdm.auto import tqdm

from mccfr_plus.errors import ConfigError
from mccfr_plus.evaluation import estimates
from mccfr_plus.evaluation.behavior import Distribution, Response, RowOf, row_at
from mccfr_plus.evaluation.estimates import MIN_SAMPLES, Estimate, Kind, Running
from mccfr_plus.parameters import check_whole

_ENOUGH_PAIRS = 16  # for a coefficient other than 0
_GROUPS = 32  # by binary logarithm of visits
_LOOK_AHEAD = 32  # choices that are checked for ending the game
_MAX_NODES = 300_000  # histories that are kept: some 200 MB


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
    """Plays turn-based games and returns a player's payoffs, plain and with control variates."""

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
        stored = True  # whether `node` is kept
        path: list[tuple[_Place, int, bool]] = []
        controls: list[tuple[int, float, float]] = []
        correction = 0.0
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


@dataclass(frozen=True)
class Stop:
    """When to stop playing: after so many games or seconds. ConfigError if a number is out of range."""

    num_games: int | None  # None for no limit, as in the next
    seconds: float | None
    confidence: float  # of the intervals
    progress: bool  # whether to show a progress bar

    def __post_init__(self) -> None:
        if self.num_games is None and self.seconds is None:
            raise ConfigError("num_games and seconds are both None: give at least one of them.")
        if self.num_games is not None:
            check_whole("num_games", self.num_games, MIN_SAMPLES)
        object.__setattr__(self, "seconds", estimates.require_seconds(self.seconds))
        object.__setattr__(self, "confidence", estimates.require_confidence(self.confidence))


def play_until(plays: Sequence[ControlledPlay], stop: Stop) -> tuple[list[Running], list[Running], float]:
    """Plays in rounds of one game each; returns, per play, plain and controlled payoffs, and the seconds in all.

    At least `MIN_SAMPLES` rounds are played.
    """
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
    _, controlled, seconds = play_until([ControlledPlay(game, row_of, player, rng)], stop)
    return estimates.mean_estimate(controlled[0], kind, stop.confidence, seconds)


def lower_bound(response: Response, rng: random.Random, stop: Stop) -> Estimate:
    """Returns the estimate of the responding player's payoff: a lower bound of the best response's value."""
    return payoff_estimate(response.game, response.row, response.player, rng, "lower bound", stop)


def sum_of_payoffs(game: pyspiel.Game) -> float | None:
    """Returns the sum of all players' payoffs if it is the same at all terminal histories, else None."""
    utility = pyspiel.GameType.Utility
    return game.utility_sum() if game.get_type().utility in (utility.ZERO_SUM, utility.CONSTANT_SUM) else None


def require_player(game: pyspiel.Game, player: int) -> None:
    """Raises ConfigError unless the game has this player."""
    if isinstance(player, bool) or not isinstance(player, int | np.integer) or not 0 <= player < game.num_players():
        raise ConfigError(f"player={player!r}: {game} has players 0 to {game.num_players() - 1}.")
