"""Values, best responses and exploitability of a policy in a game of any size, within a given time."""

from __future__ import annotations

import math
import random
import statistics
import time
from typing import Any, NamedTuple

import numpy as np
import pyspiel

from mccfr_plus.errors import BudgetError, ConfigError
from mccfr_plus.evaluation.behavior import Behavior, JointPolicy, random_move
from mccfr_plus.evaluation.estimates import MIN_SAMPLES, Estimate, require_confidence, sum_of
from mccfr_plus.evaluation.head_to_head import head_to_head
from mccfr_plus.evaluation.local_best_response import ExploitabilityBound, exploitability_lower_bound
from mccfr_plus.evaluation.lookahead import Lookahead
from mccfr_plus.evaluation.play import sum_of_payoffs
from mccfr_plus.evaluation.sampled_best_response import SampledBestResponse, sampled_best_response
from mccfr_plus.kernels.random_numbers import new_state
from mccfr_plus.tree.game import load_game
from mccfr_plus.tree.size_estimate import estimate_size

GAMES, LOCAL, SAMPLED = "games", "local best response", "sampled best response"

# Shares of the time; local best responses get the rest.
_RECALL_SHARE = 0.1  # for the test of perfect recall, within these limits, in seconds
_MIN_RECALL_SECONDS, _MAX_RECALL_SECONDS = 0.2, 0.5  # 0.05 shows it of liars_dice_ir, 0.02 in one of three times
_PACE_SHARE = 0.04
_VALUES_SHARE = 0.13
_SAMPLED_SHARE = 0.4

# Sampled best responses, with shares of a player's time for them.
_TRIAL_SHARE = 0.2  # for the first trial, which may be too slow
_LOWER_SHARE = 0.1  # for the games of the lower bound
_FIRST_SAMPLES = 16
_MORE_SAMPLES = 4  # times as many next time
_COST_OF_MORE = 6.0  # times as long: more samples share less
_MOST_GAMES = 2000
_MAX_NODES = 1_000_000_000  # no limit: time is

_PILOT_SHARE = 0.15  # of the time for local best responses
_ENOUGH_GAMES = 400  # of a player; with more, a larger lookahead is worth more than a narrow interval
_FEW_GAMES = 40  # of a player, for an interval
_BELIEF_PASSES = 3  # sampling consistent histories takes up to 8, mostly 1
_COARSE_SHARE = 0.5  # of the time, for the coarsest lookahead: the model may be off by a factor of 2


class Finding(NamedTuple):
    """A number about a policy."""

    quantity: str  # "value", "best response" or "exploitability"
    player: int | None  # None: of all players
    method: str  # "games", "local best response" or "sampled best response"
    estimate: Estimate


class Quality(NamedTuple):
    """Numbers about a policy, and notes on missing ones."""

    findings: tuple[Finding, ...]
    notes: tuple[str, ...]  # what is missing, why, and what would help


def estimate_quality(
    game: pyspiel.Game | str,
    policy: JointPolicy,
    *,
    seconds: float = 20.0,
    confidence: float = 0.95,
    seed: int | np.random.Generator | None = None,
    progress: bool = False,
) -> Quality:
    """Returns bounds and estimates of a policy's values, best responses and exploitability, within a given time.

    1. The players' values, by games with control variates.
    2. Lower and upper bounds by best responses in sampled games, with as many samples as the time allows. There are
       none if a trial with a few samples takes too long.
    3. Lower bounds by local best responses, with as much lookahead as the time allows.

    Bounds of one quantity by two methods are two numbers: the larger of two lower bounds is biased upwards.

    Args:
        game: See `head_to_head`, also for errors and for what is not listed here.
        policy: The policy to evaluate.
        seconds: Of wall-clock time, approximately.
        seed: An integer >= 0, a numpy generator, or None. As time limits the samples, two calls with the same seed are
            close, not equal.

    Example:
        >>> from mccfr_plus.evaluation import estimate_quality
        >>> quality = estimate_quality("kuhn_poker", {}, seconds=0.5, seed=1)  # of uniform play: 0.458
        >>> for found in quality.findings:
        ...     if found.quantity == "exploitability":
        ...         print(found.estimate.kind, "by", found.method)
        lower bound by local best response
        lower bound by sampled best response
        upper bound by sampled best response
    """
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds < math.inf:
        raise ConfigError(f"seconds={seconds!r}: give a positive number.")
    require_confidence(confidence)
    game = load_game(game)
    word = int(new_state(seed)[0])
    rng = np.random.default_rng(word)
    begin = time.perf_counter()
    pace = pace_of(game, Behavior(game, policy), _PACE_SHARE * seconds, random.Random(word))
    options: dict[str, Any] = {"confidence": confidence, "seed": rng, "progress": progress}
    values = head_to_head(game, policy, policy, num_games=None, seconds=_VALUES_SHARE * seconds, **options).by_seat
    findings = [Finding("value", player, GAMES, value) for player, value in enumerate(values)]
    if not _perfect_recall(game, seconds, rng):
        return Quality(tuple(findings), ("the game has imperfect recall: best responses are not defined here.",))
    notes = []
    sampled = _sampled_responses(game, policy, pace, _SAMPLED_SHARE * seconds, **options)
    if not sampled:
        notes.append(
            "no upper bound: the best response in a sampled game traverses all own actions, and takes too long even "
            f"with {_FIRST_SAMPLES} samples."
        )
    left = max(seconds - (time.perf_counter() - begin), (1 - _SAMPLED_SHARE) / 2 * seconds)
    local = local_bound(game, policy, left, pace=pace, **options)
    if local is None:
        needed = MIN_SAMPLES * game.num_players() * pace.game_seconds
        notes.append(
            f"no local best response: a game has {pace.moves:.0f} moves and a decision {pace.actions:.0f} actions, too "
            f"many for looking ahead in {seconds:g} seconds (playing alone takes {needed:.2g}). Give it more, or "
            "compare with another policy by head-to-head play."
        )
    else:
        findings += [Finding("best response", p, LOCAL, found) for p, found in enumerate(local.responses)]
    bounds = [(response.lower, response.upper) for response in sampled if response.upper is not None]
    findings += [Finding("best response", p, SAMPLED, bound) for p, pair in enumerate(bounds) for bound in pair]
    if local is not None:
        findings.append(Finding("exploitability", None, LOCAL, local.estimate))
    for responses in zip(*bounds, strict=True):
        findings.append(Finding("exploitability", None, SAMPLED, _gain(game, list(responses), values)))
    return Quality(tuple(findings), tuple(notes))


def local_bound(
    game: pyspiel.Game | str,
    policy: JointPolicy,
    seconds: float,
    *,
    pace: Pace | None = None,
    confidence: float = 0.95,
    seed: int | np.random.Generator | None = None,
    progress: bool = False,
) -> ExploitabilityBound | None:
    """Returns `exploitability_lower_bound` with as much lookahead as the time allows.

    None if it allows nothing, or if a sample shows imperfect recall.

    Args:
        game: See `estimate_quality`, also for what is not listed here and for errors.
        policy: The policy to evaluate.
        seconds: Of wall-clock time, for all players together, approximately.
        pace: Of the game, if it is known already.
    """
    game = load_game(game)
    rng = np.random.default_rng(int(new_state(seed)[0]))
    if pace is None:
        if not _perfect_recall(game, seconds, rng):
            return None
        share = _PACE_SHARE * seconds
        pace = pace_of(game, Behavior(game, policy), share, random.Random(int(rng.integers(2**62))))
    runs = game.num_players() * (1 if sum_of_payoffs(game) is not None else 2)
    lookahead = lookahead_within(pace, seconds / runs)
    if lookahead is None:
        return None

    def bound(seconds: float, lookahead: Lookahead, progress: bool) -> ExploitabilityBound:
        limits = {"num_games": None, "seconds": seconds / runs, **lookahead._asdict()}
        return exploitability_lower_bound(game, policy, confidence=confidence, seed=rng, progress=progress, **limits)

    if lookahead != Lookahead():
        # The pace does not know how often decisions repeat; those are kept.
        begin = time.perf_counter()
        pilot = bound(_PILOT_SHARE * seconds, lookahead, False)
        spent = time.perf_counter() - begin
        seconds = max(seconds - spent, seconds / 2)
        games = min(response.samples for response in pilot.responses)
        lookahead = lookahead.scaled(max(1.0, games * seconds / spent / _ENOUGH_GAMES))
    return bound(seconds, lookahead, progress)


def _perfect_recall(game: pyspiel.Game, seconds: float, rng: np.random.Generator) -> bool:
    """Returns whether a sample shows no imperfect recall."""
    limit = min(max(_RECALL_SHARE * seconds, _MIN_RECALL_SECONDS), _MAX_RECALL_SECONDS, seconds)
    return estimate_size(game, seconds=limit, seed=rng).perfect_recall


def _sampled_responses(
    game: pyspiel.Game, policy: JointPolicy, pace: Pace, seconds: float, **options: Any
) -> list[SampledBestResponse]:
    """Returns a response per player, with the most samples that the time allows; none if it allows none."""
    responses = []
    seconds /= game.num_players()
    num_games = int(min(max(_LOWER_SHARE * seconds / pace.game_seconds, MIN_SAMPLES), _MOST_GAMES))
    for player in range(game.num_players()):
        end = time.perf_counter() + seconds
        limits: dict[str, Any] = {"num_samples": _FIRST_SAMPLES, "num_games": num_games, "max_nodes": _MAX_NODES}
        limit, found = _TRIAL_SHARE * seconds, None
        while True:
            try:
                found = sampled_best_response(game, policy, player, seconds=limit, **limits, **options)
            except BudgetError:
                break
            limit = end - time.perf_counter()
            assert found.upper is not None  # as there is no limit of depth
            if _COST_OF_MORE * found.upper.seconds + _LOWER_SHARE * seconds > limit:
                break
            limits["num_samples"] *= _MORE_SAMPLES
        if found is None:
            return []
        responses.append(found)
    return responses


def _gain(game: pyspiel.Game, responses: list[Estimate], values: tuple[Estimate, ...]) -> Estimate:
    """Returns the sum of all players' gains by responses, divided by their number."""
    share = 1 / game.num_players()
    constant = sum_of_payoffs(game)
    kind = responses[0].kind
    if constant is not None:
        return sum_of(responses, [share] * len(responses), -constant * share, kind)
    weights = [share] * len(responses) + [-share] * len(values)
    return sum_of([*responses, *values], weights, 0.0, kind)


class Pace(NamedTuple):
    """The length of games and the time to play them."""

    move_seconds: float  # of a move, chance's too, policy included
    moves: float  # of a game, chance's too
    decisions: float  # of one player in a game
    actions: float  # of a decision

    @property
    def game_seconds(self) -> float:
        """Seconds of a game."""
        return self.moves * self.move_seconds

    def response_seconds(self, lookahead: Lookahead) -> float:
        """Returns an estimate of the seconds of a local best response's game, if no decision repeats."""
        between = self.moves / max(self.decisions, 1.0)
        replay = self.decisions * self.moves / 4  # of all own decisions before this one
        belief = _BELIEF_PASSES * between * lookahead.max_histories
        rollouts = self.actions * lookahead.num_rollouts * self.moves / 2
        decision = (replay + belief + rollouts + lookahead.max_nodes) * self.move_seconds
        return self.game_seconds + self.decisions * decision


def pace_of(game: pyspiel.Game, behavior: Behavior, seconds: float, rng: random.Random) -> Pace:
    """Plays for so many seconds, at least one game, and returns the pace."""
    moves = decisions = actions = 0
    paces: list[float] = []
    end = time.perf_counter() + seconds
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
    return Pace(
        move_seconds=statistics.median(paces),  # first-time work and other programs slow single games down
        moves=moves / len(paces),
        decisions=decisions / len(paces) / game.num_players(),
        actions=actions / max(decisions, 1),
    )


def lookahead_within(pace: Pace, seconds: float) -> Lookahead | None:
    """Returns the largest lookahead with which enough of a player's games end in time; None if there is none."""
    lookahead = Lookahead()
    while _FEW_GAMES * pace.response_seconds(lookahead) > seconds:
        if lookahead.num_rollouts == 1:
            return lookahead if MIN_SAMPLES * pace.response_seconds(lookahead) <= _COARSE_SHARE * seconds else None
        lookahead = lookahead.scaled(0.5)
    return lookahead
