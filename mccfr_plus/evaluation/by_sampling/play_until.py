"""How long to play: until there are enough games, too much time is gone, or the interval is narrow enough."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

import pyspiel
from tqdm import tqdm

from mccfr_plus.errors import ConfigError
from mccfr_plus.evaluation.by_sampling.controlled_play import ControlledPlay
from mccfr_plus.evaluation.by_sampling.estimate import MIN_SAMPLES, Running, require_confidence, student_quantile

_FIRST_LOOK = 100  # rounds before an interval is believed to be narrow


class Stop:
    """When to stop playing: whichever comes first.

    Args:
        num_games: Games in all, or None for no limit.
        seconds: Of wall-clock time, or None for no limit.
        half_width: Of the interval, or None. It is looked at after 100 rounds and then each time there are a tenth
            more, as an interval that is looked at all the time is narrow too early.
        confidence: Of the interval.
        progress: Whether to show a progress bar.

    Raises:
        ConfigError: If a number makes no sense or there is no limit at all.
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
        if num_games is not None and (
            isinstance(num_games, bool) or not isinstance(num_games, int) or num_games < MIN_SAMPLES
        ):
            raise ConfigError(f"num_games={num_games!r}: give an integer >= {MIN_SAMPLES}, or None.")
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
    """Plays in turn and returns, per play, the plain and the controlled payoffs, and the seconds it took.

    At least `MIN_SAMPLES` games are played of each.
    """
    begin = time.perf_counter()
    plain = [Running() for _ in plays]
    controlled = [Running() for _ in plays]
    rounds, look = 0, _FIRST_LOOK
    least = MIN_SAMPLES
    most = math.inf if stop.num_games is None else max(least, math.ceil(stop.num_games / len(plays)))
    total = None if most == math.inf else int(most) * len(plays)
    with tqdm(total=total, unit="game", disable=not stop.progress) as bar:
        while rounds < most:
            for number, play in enumerate(plays):
                payoff, corrected = play.play()
                plain[number].add(payoff)
                controlled[number].add(corrected)
            rounds += 1
            bar.update(len(plays))
            if rounds < least:
                continue
            if stop.seconds is not None and time.perf_counter() - begin > stop.seconds:
                break
            if stop.half_width is not None and rounds >= look:
                look = math.ceil(1.1 * rounds)
                error = math.sqrt(sum(part.variance_of_mean for part in controlled)) / len(plays)
                if error * student_quantile(stop.confidence, rounds - 1) <= stop.half_width:
                    break
    return plain, controlled, time.perf_counter() - begin


def variance_ratio(plain: Sequence[Running], controlled: Sequence[Running]) -> float:
    """Returns how many times as much plain payoffs vary; 1 if nothing varies at all."""
    before = sum(part.variance_of_mean for part in plain)
    after = sum(part.variance_of_mean for part in controlled)
    if before == 0.0:
        return 1.0
    return before / after if after > 0.0 else math.inf


def sum_of_payoffs(game: pyspiel.Game) -> float | None:
    """Returns what all players' payoffs sum up to in every play, or None where that varies."""
    if game.get_type().utility in (pyspiel.GameType.Utility.ZERO_SUM, pyspiel.GameType.Utility.CONSTANT_SUM):
        return game.utility_sum()
    return None


def require_player(game: pyspiel.Game, player: int) -> None:
    """Raises ConfigError unless the game has this player."""
    if isinstance(player, bool) or not isinstance(player, int) or not 0 <= player < game.num_players():
        raise ConfigError(f"player={player!r}: {game} has players 0 to {game.num_players() - 1}.")
