"""Values, best responses and exploitability of a policy in a game of any size, within a given time."""

import math
import random
import time
from typing import Any, NamedTuple

import numpy as np
import pyspiel

from mccfr_plus.errors import BudgetError
from mccfr_plus.evaluation import estimates
from mccfr_plus.evaluation.behavior import Behavior, Response
from mccfr_plus.evaluation.estimates import MIN_SAMPLES, Estimate
from mccfr_plus.evaluation.head_to_head import head_to_head
from mccfr_plus.evaluation.local_best_response import Clock, ExploitabilityBound, LocalResponses, Lookahead, mean_gain
from mccfr_plus.evaluation.play import Stop, sum_of_payoffs
from mccfr_plus.evaluation.sampled_best_response import SampledBestResponse, sampled_best_response
from mccfr_plus.evaluation.strategies import JointPolicy
from mccfr_plus.parameters import new_state
from mccfr_plus.trees.loading import load_game
from mccfr_plus.trees.size_estimate import estimate_size

GAMES, LOCAL, SAMPLED = "games", "local best response", "sampled best response"

_RECALL_SECONDS = 0.1  # for the test of perfect recall: 0.05 shows it of liars_dice_ir, 0.02 in one of three times

# Shares of the time; local best responses get the rest.
_VALUES_SHARE = 0.13
_SAMPLED_SHARE = 0.4

# Sampled best responses, with shares of a player's time for them.
_LEAST_SHARE = 0.2  # for another trial
_LOWER_SHARE = 0.1  # for the games of the lower bound
_FIRST_SAMPLES = 16
_MORE_SAMPLES = 4  # times as many next time
_MOST_GAMES = 2000
_MAX_NODES = 1_000_000_000  # no limit: time is

# Local best responses, with shares of the time for them.
_PILOT_SHARE = 0.1  # for a trial of a lookahead
_COARSE_SHARE = 0.5  # for all trials
_SCALES = (0.01, 0.1, 1.0)  # of the default lookahead
_FEW_GAMES = 60  # of a player, in the time left: with more lookahead they would be too few


class Finding(NamedTuple):
    """A number about a policy."""

    quantity: str  # "value", "best response" or "exploitability"
    player: int | None  # None: all players
    method: str  # "games", "local best response" or "sampled best response"
    estimate: Estimate


class Quality(NamedTuple):
    """Numbers about a policy, and notes on missing ones.

    Attributes:
        findings: Each with quantity, player, method and `Estimate`.
        notes: What is missing, why, and what would help.

    Examples:
        >>> import mccfr_plus
        >>> quality = mccfr_plus.estimate_quality("kuhn_poker", {}, seconds=0.5, seed=1)
        >>> quality.findings[0].estimate.low < 0.125 < quality.findings[0].estimate.high
        True
    """

    findings: tuple[Finding, ...]
    notes: tuple[str, ...]


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
    2. Lower and upper bounds by best responses in sampled games, with as many samples as the time allows; none if a
       trial with a few samples takes too long.
    3. Lower bounds by local best responses, in new games of those that did best in short trials with increasing
       lookahead.

    Bounds of one quantity by two methods are two numbers: the larger of two lower bounds is biased upwards.

    Args:
        game: See `head_to_head`, also for the arguments not listed here and for errors.
        policy: The policy to evaluate.
        seconds: Wall-clock time, approximately. It limits the samples, so that results of equal seeds differ slightly.

    Examples:
        >>> from mccfr_plus.evaluation import estimate_quality
        >>> quality = estimate_quality("kuhn_poker", {}, seconds=0.5, seed=1)  # of uniform play: 0.458
        >>> for found in quality.findings[:2]:
        ...     print(found.quantity, found.player, found.estimate.kind)
        value 0 estimate
        value 1 estimate
    """
    seconds = estimates.require_seconds(seconds, optional=False)
    confidence = estimates.require_confidence(confidence)
    game = load_game(game)
    rng, begin = np.random.default_rng(int(new_state(seed)[0])), time.perf_counter()
    options: dict[str, Any] = {"confidence": confidence, "seed": rng, "progress": progress}
    values = head_to_head(game, policy, policy, num_games=None, seconds=_VALUES_SHARE * seconds, **options).by_seat
    findings = [Finding("value", player, GAMES, value) for player, value in enumerate(values)]
    if not _perfect_recall(game, seconds, random.Random(int(rng.integers(2**62)))):
        return Quality(tuple(findings), ("the game has imperfect recall: best responses are not defined here.",))
    notes = []
    pace = values[0].seconds / sum(value.samples for value in values)
    sampled = _sampled_responses(game, policy, pace, _SAMPLED_SHARE * seconds, **options)
    if not sampled:
        notes.append(
            "no upper bound: the best response in a sampled game traverses all own actions, and takes too long even "
            f"with {_FIRST_SAMPLES} samples."
        )
    left = max(seconds - (time.perf_counter() - begin), (1 - _SAMPLED_SHARE) / 2 * seconds)
    local = local_bound(game, policy, left, **options)
    if local is None:
        notes.append(
            f"no local best response: looking ahead takes too long for {seconds:g} seconds. Give it more, or compare "
            "with another policy by head-to-head play."
        )
    else:
        findings += [Finding("best response", p, LOCAL, found) for p, found in enumerate(local.responses)]
    bounds = [(response.lower, response.upper) for response in sampled]
    findings += [Finding("best response", p, SAMPLED, bound) for p, pair in enumerate(bounds) for bound in pair]
    if local is not None:
        findings.append(Finding("exploitability", None, LOCAL, local.estimate))
    for responses in zip(*bounds, strict=True):
        findings.append(Finding("exploitability", None, SAMPLED, mean_gain(game, responses, values)))
    return Quality(tuple(findings), tuple(notes))


def local_bound(
    game: pyspiel.Game | str,
    policy: JointPolicy,
    seconds: float,
    *,
    confidence: float = 0.95,
    seed: int | np.random.Generator | None = None,
    progress: bool = False,
) -> ExploitabilityBound | None:
    """Returns a lower bound of exploitability by local best responses within the time; see `estimate_quality`.

    It tries responses with increasing lookahead, which is not always better, and plays new games with the best ones.
    None if the time is too short, or if a sample shows imperfect recall.
    """
    game, rng = load_game(game), random.Random(int(new_state(seed)[0]))
    if not _perfect_recall(game, seconds, rng):
        return None
    begin, behavior, players = time.perf_counter(), Behavior(game, policy), range(game.num_players())
    clock = Clock(begin + _COARSE_SHARE * seconds)
    responses = LocalResponses(game, behavior, behavior, rng, clock)
    runs = len(players) * (1 if sum_of_payoffs(game) is not None else 2)
    pilot = Stop(None, _PILOT_SHARE * seconds / runs, confidence, progress=False)

    def time_left() -> float:
        return max(begin + seconds - time.perf_counter(), _PILOT_SHARE * seconds)

    best: list[tuple[Estimate, Response]] = []  # of each player
    for scale in _SCALES:
        trial = time.perf_counter()
        tried = [responses.respond(player, Lookahead().scaled(scale)) for player in players]
        try:
            found = responses.bound(tried, pilot).responses
        except BudgetError:
            break
        looks = list(zip(found, tried, strict=True))
        # The one with more lookahead, unless its interval is below the other one's.
        best = [new if new[0].high >= old[0].low else old for old, new in zip(best or looks, looks, strict=True)]
        if min(look.samples for look in found) * time_left() / (time.perf_counter() - trial) < _FEW_GAMES:
            break
    if not best:
        return None
    clock.deadline = math.inf
    return responses.bound((response for _, response in best), Stop(None, time_left() / runs, confidence, progress))


def _perfect_recall(game: pyspiel.Game, seconds: float, rng: random.Random) -> bool:
    """Returns whether a sample shows no imperfect recall."""
    return estimate_size(game, seconds=min(_RECALL_SECONDS, seconds), seed=rng.getrandbits(62)).perfect_recall


def _sampled_responses(
    game: pyspiel.Game, policy: JointPolicy, game_seconds: float, seconds: float, **options: Any
) -> list[SampledBestResponse]:
    """Returns a response per player, with the most samples that the time allows; none if it allows none."""
    responses: list[SampledBestResponse] = []
    seconds /= game.num_players()
    num_games = int(min(max(_LOWER_SHARE * seconds / game_seconds, MIN_SAMPLES), _MOST_GAMES))
    options |= {"num_games": num_games, "max_nodes": _MAX_NODES}
    for player in range(game.num_players()):
        end, num_samples = time.perf_counter() + seconds, _FIRST_SAMPLES
        while (left := end - time.perf_counter()) > _LEAST_SHARE * seconds:
            try:
                found = sampled_best_response(game, policy, player, num_samples=num_samples, seconds=left, **options)
            except BudgetError:
                break
            responses[player:] = [found]
            num_samples *= _MORE_SAMPLES
        if len(responses) == player:
            return []
    return responses
