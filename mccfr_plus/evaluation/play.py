"""Plays games until there are enough, a time is over, or an interval is narrow enough."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

import pyspiel
from tqdm import tqdm

from mccfr_plus.errors import ConfigError
from mccfr_plus.evaluation.control_variates import ControlledPlay
from mccfr_plus.evaluation.estimates import MIN_SAMPLES, Running, require_confidence, require_integer, student_quantile

_FIRST_CHECK = 100  # rounds before the width of an interval is trusted


class Stop:
    """When to stop playing: at the first of these limits.

    Args:
        num_games: Games in all, or None for no limit.
        seconds: Of wall-clock time, or None for no limit.
        half_width: Of the interval, or None. It is checked after 100 rounds and then each time there are a tenth more:
            an interval that is checked all the time is narrow too early.
        confidence: Of the interval.
        progress: Whether to show a progress bar.

    Raises:
        ConfigError: If a number is out of range or there is no limit at all.
    """

    def __init__(
        self,
        num_games: int | None,
        seconds: float | None,
        half_width: float | None,
        confidence: float,
        progress: bool,
    ):
        if num_games is None and seconds is None and half_width is None:
            raise ConfigError("num_games, seconds and half_width are all None: give at least one of them.")
        if num_games is not None:
            require_integer("num_games", num_games, MIN_SAMPLES)
        for name, limit in (("seconds", seconds), ("half_width", half_width)):
            if limit is not None and not 0 < limit < math.inf:
                raise ConfigError(f"{name}={limit!r}: give a positive number, or None.")
        require_confidence(confidence)
        self.num_games = num_games
        self.seconds = seconds
        self.half_width = half_width
        self.confidence = confidence
        self.progress = progress


def play_until(plays: Sequence[ControlledPlay], stop: Stop) -> tuple[list[Running], list[Running], float]:
    """Plays in rounds of one game each; returns, per play, plain and controlled payoffs, and the seconds in all.

    At least `MIN_SAMPLES` rounds are played.
    """
    begin = time.perf_counter()
    plain = [Running() for _ in plays]
    controlled = [Running() for _ in plays]
    rounds, next_check = 0, _FIRST_CHECK
    most = math.inf if stop.num_games is None else max(MIN_SAMPLES, math.ceil(stop.num_games / len(plays)))
    total = None if most == math.inf else int(most) * len(plays)
    with tqdm(total=total, unit="game", disable=not stop.progress) as bar:
        while rounds < most:
            for number, play in enumerate(plays):
                payoff, corrected = play.play()
                plain[number].add(payoff)
                controlled[number].add(corrected)
            rounds += 1
            bar.update(len(plays))
            if rounds < MIN_SAMPLES:
                continue
            if stop.seconds is not None and time.perf_counter() - begin > stop.seconds:
                break
            if stop.half_width is not None and rounds >= next_check:
                next_check = math.ceil(1.1 * rounds)
                error = math.sqrt(sum(mean.variance_of_mean for mean in controlled)) / len(plays)
                if error * student_quantile(stop.confidence, rounds - 1) <= stop.half_width:
                    break
    return plain, controlled, time.perf_counter() - begin


def variance_ratio(plain: Sequence[Running], controlled: Sequence[Running]) -> float:
    """Returns the variance of plain payoffs over that of controlled ones; 1 if nothing varies at all."""
    before = sum(mean.variance_of_mean for mean in plain)
    after = sum(mean.variance_of_mean for mean in controlled)
    if before == 0.0:
        return 1.0
    return before / after if after > 0.0 else math.inf


def sum_of_payoffs(game: pyspiel.Game) -> float | None:
    """Returns the sum of all players' payoffs if it is the same at all terminal histories, else None."""
    if game.get_type().utility in (pyspiel.GameType.Utility.ZERO_SUM, pyspiel.GameType.Utility.CONSTANT_SUM):
        return game.utility_sum()
    return None


def require_player(game: pyspiel.Game, player: int) -> None:
    """Raises ConfigError unless the game has this player."""
    if isinstance(player, bool) or not isinstance(player, int) or not 0 <= player < game.num_players():
        raise ConfigError(f"player={player!r}: {game} has players 0 to {game.num_players() - 1}.")
