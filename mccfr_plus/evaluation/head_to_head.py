"""The payoff of one policy against another, in all seats, with a confidence interval."""

import math
import random
from typing import NamedTuple

import numpy as np
import pyspiel

from mccfr_plus.evaluation.behavior import Behavior, joined
from mccfr_plus.evaluation.estimates import Estimate, Running, mean_estimate, sum_of
from mccfr_plus.evaluation.play import ControlledPlay, Stop, play_until
from mccfr_plus.evaluation.strategies import JointPolicy
from mccfr_plus.parameters import new_state
from mccfr_plus.trees.loading import load_game


class HeadToHead(NamedTuple):
    """The payoff of `first` per game against `second`.

    Attributes:
        estimate: Payoff per game, average over seats.
        plain: The average payoff of the same games, without control variates.
        by_seat: The same with `first` in seat 0, 1, ... and `second` in all others.
        variance_reduction: Variance of a game's payoff over that of its payoff minus control variates.

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
    seed: int | np.random.Generator | None = None,
    progress: bool = False,
) -> HeadToHead:
    """Returns the payoff of one policy per game against another, on average over all seats.

    With n players, `first` sits in each seat in turn and `second` in the n - 1 others. Control variates, learned from
    earlier games, reduce the variance. The estimate is unbiased for a fixed number of games.

    Args:
        game: A game or a game string of any size; simultaneous moves are made turn-based.
        first: A joint policy: any of OpenSpiel's, from Python or C++; a mapping from information states to
            {action: probability}, uniform where it has no entry; a function from states to that; or a list of one of
            these per player.
        second: Likewise.
        num_games: Games over all seats, rounded up to the same number in each (at least 4); None for no limit.
        seconds: Wall-clock time, or None for no limit.
        confidence: Confidence of the intervals, from 0.5 to below 1.
        seed: An integer >= 0 for a repeatable result, a numpy generator, or None.
        progress: Whether to show a progress bar.

    Raises:
        GameError: If the game is unknown, or has no explicit chance or no information states.
        PolicyError: If a policy has no distribution over the legal actions at a state.
        ConfigError: If a number or the seed is out of range, or there is no limit at all.

    Examples:
        >>> from mccfr_plus.evaluation import head_to_head
        >>> folds = {f"{card}{bet}": {0: 1.0} for card in "012" for bet in ("b", "pb")}
        >>> result = head_to_head("kuhn_poker", {}, folds, num_games=2000, seed=1)  # uniform against one who folds
        >>> result.estimate.kind, result.estimate.low > 0, result.variance_reduction > 2
        ('estimate', True, True)

    Reference: Burch, Schmid, Moravcik, Morrill, Bowling 2018, "AIVAT: a new variance reduction technique for agent
    evaluation in imperfect information games".
    """
    stop = Stop(num_games, seconds, confidence, progress)
    game = load_game(game)
    rows, rng = (Behavior(game, first).row, Behavior(game, second).row), random.Random(int(new_state(seed)[0]))
    plays = [ControlledPlay(game, joined(seat, *rows), seat, rng) for seat in range(game.num_players())]
    plain, controlled, spent = play_until(plays, stop)

    def by_seat(payoffs: list[Running]) -> tuple[Estimate, ...]:
        return tuple(mean_estimate(seat, "estimate", stop.confidence, spent) for seat in payoffs)

    def average(seats: tuple[Estimate, ...]) -> Estimate:
        return sum_of(seats, [1 / len(seats)] * len(seats), 0.0, "estimate")._replace(seconds=spent)

    before, after = (sum(seat.variance_of_mean for seat in payoffs) for payoffs in (plain, controlled))
    variance_reduction = 1.0 if before == 0.0 else before / after if after > 0.0 else math.inf
    seats = by_seat(controlled)
    return HeadToHead(average(seats), average(by_seat(plain)), seats, variance_reduction)
