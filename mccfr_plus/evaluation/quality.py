"""Values, best responses and exploitability of a policy in a game of any size, within a given time."""

import math
import random
import time
from typing import Any, NamedTuple

import numpy as np
import pyspiel

from mccfr_plus.errors import BudgetError
from mccfr_plus.evaluation.local_best_response import (
    ExploitabilityBound,
    LocalResponse,
    Lookahead,
    bound_of,
    mean_gain,
    sum_of_payoffs,
)
from mccfr_plus.evaluation.play import MIN_SAMPLES, Estimate, Stop, head_to_head
from mccfr_plus.evaluation.sampled_best_response import SampledBestResponse, sampled_best_response
from mccfr_plus.evaluation.strategies import Behavior, JointPolicy
from mccfr_plus.parameters import LARGEST, Seed, check_number, new_state
from mccfr_plus.trees.loading import load_game
from mccfr_plus.trees.recall import has_perfect_recall

GAMES, LOCAL, SAMPLED = "games", "local best response", "sampled best response"

_RECALL_SECONDS = 0.1  # of the sample that looks for imperfect recall: 0.02 suffices for liars_dice_ir
_VALUES_SHARE, _SAMPLED_SHARE = 0.13, 0.4  # of the time; local best responses get the rest

# Sampled best responses, with shares of a player's time for them.
_LEAST_SHARE, _LOWER_SHARE = 0.2, 0.1  # for another trial; for the games of the lower bound
_FIRST_SAMPLES, _MORE_SAMPLES = 16, 4  # times as many next time
_MOST_GAMES, _MAX_NODES = 2000, 1_000_000_000  # time ends a run before the second one does

# Local best responses, with shares of the time for them.
_PILOT_SHARE, _COARSE_SHARE = 0.1, 0.5  # for a trial of a lookahead; for all trials
_LOOKAHEADS = (Lookahead(20, 2, 50), Lookahead(200, 20, 500), Lookahead(2000, 200, 5000))
_FEW_GAMES = 60  # of a player, in the time left: with more lookahead they would be too few


class Finding(NamedTuple):
    """A number about a policy."""

    quantity: str  # "value", "best response" or "exploitability"
    player: int | None  # None: all players
    method: str  # "games", "local best response" or "sampled best response"
    estimate: Estimate


class Quality(NamedTuple):
    """Estimates of a policy's quality, and notes on missing numbers.

    Attributes:
        findings: One entry per estimate: quantity, player, method and `Estimate`.
        notes: One note per missing number, saying why the number is missing and how to compute it.

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
    seed: Seed = None,
    progress: bool = False,
) -> Quality:
    """Returns estimates of, and bounds on, a policy's values and exploitability, computed within a given time.

    1. The players' values are estimated from simulated games, with control variates.
    2. Best responses in sampled games, with as many samples as the time allows, give lower and upper bounds on the
       best-response values.
    3. The local best responses that do best in short trials are played in newly simulated games, which gives further
       lower bounds.

    If two methods give a lower bound, both bounds are returned, since the larger of the two would be biased upward.

    Args:
        game: See `head_to_head`, which also documents the errors and the arguments not listed here.
        policy: The policy to evaluate.
        seconds: Approximate wall-clock time. The number of samples depends on the available time, so results may differ
            slightly even with equal seeds.

    Examples:
        >>> from mccfr_plus.evaluation import estimate_quality
        >>> quality = estimate_quality("kuhn_poker", {}, seconds=0.5, seed=1)  # of uniform play
        >>> [(found.quantity, found.player, found.estimate.kind) for found in quality.findings[:2]]
        [('value', 0, 'estimate'), ('value', 1, 'estimate')]
    """
    seconds = check_number("seconds", seconds, 0, LARGEST, "give a positive number")
    confidence = Stop.checked(None, seconds, confidence, progress).confidence
    game = load_game(game)
    rng, begin = np.random.default_rng(int(new_state(seed)[0])), time.perf_counter()
    options: dict[str, Any] = {"confidence": confidence, "seed": rng, "progress": progress}
    values = head_to_head(game, policy, policy, num_games=None, seconds=_VALUES_SHARE * seconds, **options).by_seat
    findings = [Finding("value", player, GAMES, value) for player, value in enumerate(values)]
    if not has_perfect_recall(game, min(_RECALL_SECONDS, seconds)):
        return Quality(tuple(findings), ("the game has imperfect recall: best responses are not defined here.",))
    notes = []
    pace = values[0].seconds / sum(value.samples for value in values)
    sampled = _sampled_responses(game, policy, pace, _SAMPLED_SHARE * seconds, **options)
    if not sampled:
        notes.append(f"no upper bound: the best response to {_FIRST_SAMPLES} samples of the game takes too long.")
    left = max(seconds - (time.perf_counter() - begin), (1 - _SAMPLED_SHARE) / 2 * seconds)
    local = local_bound(game, policy, left, **options)
    if local is None:
        notes.append(f"no local best response: {seconds:g} seconds are too few to look ahead. Give more.")
    else:
        findings += [Finding("best response", p, LOCAL, found) for p, found in enumerate(local.responses)]
    bounds = [(response.lower, response.upper) for response in sampled]
    findings += [Finding("best response", p, SAMPLED, bound) for p, pair in enumerate(bounds) for bound in pair]
    if local is not None:
        findings.append(Finding("exploitability", None, LOCAL, local.estimate))
    gains = [mean_gain(game, responses, values) for responses in zip(*bounds, strict=True)]
    findings += [Finding("exploitability", None, SAMPLED, gain) for gain in gains]
    return Quality(tuple(findings), tuple(notes))


def local_bound(
    game: pyspiel.Game | str, policy: JointPolicy, seconds: float, *, confidence: float = 0.95, seed: Seed = None,
    progress: bool = False,
) -> ExploitabilityBound | None:  # fmt: skip
    """Returns the lower bound of `estimate_quality`; None if time is short or a sample shows imperfect recall."""
    game, rng = load_game(game), random.Random(int(new_state(seed)[0]))
    if not has_perfect_recall(game, min(_RECALL_SECONDS, seconds)):
        return None
    begin, behavior, players = time.perf_counter(), Behavior(game, policy), range(game.num_players())
    runs = len(players) * (1 if sum_of_payoffs(game) is not None else 2)
    pilot = Stop(None, _PILOT_SHARE * seconds / runs, confidence, progress=False)

    def time_left() -> float:
        return max(begin + seconds - time.perf_counter(), _PILOT_SHARE * seconds)

    best: list[tuple[Estimate, LocalResponse]] = []  # of each player
    for lookahead in _LOOKAHEADS:
        trial = time.perf_counter()
        tried = [LocalResponse(game, behavior, p, behavior, lookahead, rng.getrandbits(64)) for p in players]
        for response in tried:
            response.deadline = begin + _COARSE_SHARE * seconds
        try:
            found = bound_of(tried, rng, pilot).responses
        except BudgetError:
            break
        looks = list(zip(found, tried, strict=True))
        # More lookahead is not always better: keep the response whose interval is above.
        best = [new if new[0].high >= old[0].low else old for old, new in zip(best or looks, looks, strict=True)]
        if min(look.samples for look in found) * time_left() / (time.perf_counter() - trial) < _FEW_GAMES:
            break
    if not best:
        return None
    for _, response in best:
        response.deadline = math.inf
    return bound_of((response for _, response in best), rng, Stop(None, time_left() / runs, confidence, progress))


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
