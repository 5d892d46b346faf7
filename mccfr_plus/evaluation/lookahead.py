"""How far a local best response can look ahead in a given time, from the measured pace of games."""

from __future__ import annotations

import random
import statistics
import time
from typing import NamedTuple

import pyspiel

from mccfr_plus.evaluation.behavior import Behavior, random_move
from mccfr_plus.evaluation.control_variates import ControlledPlay
from mccfr_plus.evaluation.estimates import MIN_SAMPLES

_GAMES = 40  # that an interval should come from
_BELIEF_PASSES = 3  # sampling consistent histories takes up to 8, mostly 1
_COARSE_SHARE = 0.5  # of the time, for the coarsest lookahead: the model may be off by a factor of 2


class Lookahead(NamedTuple):
    """Limits of a decision of `local_best_response`: its arguments of these names."""

    max_histories: int = 2000
    num_rollouts: int = 200
    max_nodes: int = 5000

    def scaled(self, factor: float) -> Lookahead:
        """Returns the limits times a factor, between 1 and the defaults."""
        return Lookahead(*(max(1, min(most, int(factor * own))) for own, most in zip(self, Lookahead(), strict=True)))


class Pace(NamedTuple):
    """The length of games and the time to play them."""

    move_seconds: float  # of a move, chance's too, policy included
    game_seconds: float  # of a game with control variates
    moves: float  # of a game, chance's too
    decisions: float  # of one player in a game
    actions: float  # of a decision

    def response_seconds(self, lookahead: Lookahead) -> float:
        """Returns an estimate of the seconds of a local best response's game, if no decision repeats."""
        between = self.moves / max(self.decisions, 1.0)
        replay = self.decisions * self.moves / 4  # of all own decisions before this one
        belief = _BELIEF_PASSES * between * lookahead.max_histories
        rollouts = self.actions * lookahead.num_rollouts * self.moves / 2
        decision = (replay + belief + rollouts + lookahead.max_nodes) * self.move_seconds
        return self.game_seconds + self.decisions * decision


def pace_of(game: pyspiel.Game, behavior: Behavior, seconds: float, rng: random.Random) -> Pace:
    """Measures the pace of games.

    Args:
        game: A turn-based game.
        behavior: How all players play.
        seconds: For how long to measure; one game at least.
        rng: Source of all random choices.
    """
    moves = decisions = actions = 0
    paces: list[float] = []
    end = time.perf_counter() + seconds / 2
    while not paces or time.perf_counter() < end:
        begin = time.perf_counter()
        state = game.new_initial_state()
        while not state.is_terminal():
            if not state.is_chance_node():
                decisions += 1
                actions += len(state.legal_actions())
            random_move(state, behavior.row, rng)
        moves += len(state.history())
        paces.append((time.perf_counter() - begin) / max(len(state.history()), 1))
    play = ControlledPlay(game, behavior.row, 0, rng)
    plays: list[float] = []
    end = time.perf_counter() + seconds / 2
    while not plays or time.perf_counter() < end:
        begin = time.perf_counter()
        play.play()
        plays.append(time.perf_counter() - begin)
    return Pace(
        # Medians: first-time work and other programs slow single games down.
        move_seconds=statistics.median(paces),
        game_seconds=statistics.median(plays),
        moves=moves / len(paces),
        decisions=decisions / len(paces) / game.num_players(),
        actions=actions / max(decisions, 1),
    )


def lookahead_within(pace: Pace, seconds: float) -> Lookahead | None:
    """Returns the largest lookahead with which enough games end in time; None if even the coarsest is too slow.

    Args:
        pace: Of the game.
        seconds: For the games of one player.
    """
    lookahead = Lookahead()
    while _GAMES * pace.response_seconds(lookahead) > seconds:
        if lookahead.num_rollouts == 1:
            return lookahead if MIN_SAMPLES * pace.response_seconds(lookahead) <= _COARSE_SHARE * seconds else None
        lookahead = lookahead.scaled(0.5)
    return lookahead
