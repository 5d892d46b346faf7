"""How far a local best response can look ahead in a given time: measured by playing, before the time is spent."""

from __future__ import annotations

import random
import statistics
import time
from typing import NamedTuple

import pyspiel

from mccfr_plus.evaluation.by_sampling.behavior import Behavior, chance_row
from mccfr_plus.evaluation.by_sampling.controlled_play import ControlledPlay
from mccfr_plus.evaluation.by_sampling.estimate import MIN_SAMPLES

_GAMES = 40  # that an interval should come from
_BELIEF_PASSES = 3  # sampling histories that fit takes up to 8, mostly 1
_PATIENCE = 0.5  # how much of the time a coarse look may take by this reckoning, which may be off by a factor of 2


class Lookahead(NamedTuple):
    """What a decision of `local_best_response` may cost; see its arguments of these names."""

    max_histories: int = 2000
    num_rollouts: int = 200
    max_nodes: int = 5000

    def times(self, factor: float) -> Lookahead:
        """Returns so many times as much, between 1 and the defaults."""
        return Lookahead(*(max(1, min(most, int(factor * own))) for own, most in zip(self, Lookahead(), strict=True)))


class Pace(NamedTuple):
    """How long games are, and how long it takes to play them."""

    move_seconds: float  # of a move, chance's too, with asking the policy
    game_seconds: float  # of a game with control variates
    moves: float  # of a game, chance's too
    decisions: float  # of one player in a game
    actions: float  # of a decision

    def response_seconds(self, lookahead: Lookahead) -> float:
        """Returns about how long a game of a local best response takes, in seconds, with nothing remembered."""
        between = self.moves / max(self.decisions, 1.0)
        replay = self.decisions * self.moves / 4  # of all own decisions before this one
        belief = _BELIEF_PASSES * between * lookahead.max_histories
        rollouts = self.actions * lookahead.num_rollouts * self.moves / 2
        decision = (replay + belief + rollouts + lookahead.max_nodes) * self.move_seconds
        return self.game_seconds + self.decisions * decision


def pace_of(game: pyspiel.Game, behavior: Behavior, seconds: float, rng: random.Random) -> Pace:
    """Returns how fast games are played.

    Args:
        game: A turn-based game.
        behavior: How it is played.
        seconds: For how long to look; one game at least.
        rng: Source of all random choices.
    """
    moves = decisions = actions = 0
    paces: list[float] = []
    end = time.perf_counter() + seconds / 2
    while not paces or time.perf_counter() < end:
        begin = time.perf_counter()
        state = game.new_initial_state()
        while not state.is_terminal():
            row = chance_row(state) if state.is_chance_node() else behavior.row(state)
            if not state.is_chance_node():
                decisions += 1
                actions += len(state.legal_actions())
            state.apply_action(rng.choices(row.actions, row.probabilities)[0])
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
        # Medians, as what is done for the first time, and other programs, make a game slow now and then.
        move_seconds=statistics.median(paces),
        game_seconds=statistics.median(plays),
        moves=moves / len(paces),
        decisions=decisions / len(paces) / game.num_players(),
        actions=actions / max(decisions, 1),
    )


def lookahead_within(pace: Pace, seconds: float) -> Lookahead | None:
    """Returns how far to look ahead so that enough games end in time; None if not even the coarsest look does.

    Args:
        pace: Of the game.
        seconds: For the games of one player.
    """
    lookahead = Lookahead()
    while _GAMES * pace.response_seconds(lookahead) > seconds:
        if lookahead.num_rollouts == 1:
            return lookahead if MIN_SAMPLES * pace.response_seconds(lookahead) <= _PATIENCE * seconds else None
        lookahead = lookahead.times(0.5)
    return lookahead
