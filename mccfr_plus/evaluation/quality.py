"""Values, best responses and exploitability of a policy in a game of any size, within a given time."""

import functools
import math
import random
import time
from typing import Any, NamedTuple

import numpy as np
import pyspiel

from mccfr_plus.errors import BudgetError
from mccfr_plus.evaluation import estimates
from mccfr_plus.evaluation.behavior import Behavior, JointPolicy
from mccfr_plus.evaluation.estimates import MIN_SAMPLES, Estimate, best_look, confidence_of_look
from mccfr_plus.evaluation.head_to_head import head_to_head
from mccfr_plus.evaluation.local_best_response import Choice, ExploitabilityBound, LocalResponses, mean_gain
from mccfr_plus.evaluation.lookahead import Lookahead
from mccfr_plus.evaluation.play import Stop, sum_of_payoffs
from mccfr_plus.evaluation.sampled_best_response import SampledBestResponse, sampled_best_response
from mccfr_plus.kernels.random_numbers import new_state
from mccfr_plus.trees.loading import load_game
from mccfr_plus.trees.size_estimate import estimate_size

GAMES, LOCAL, SAMPLED = "games", "local best response", "sampled best response"

_LEAST_SECONDS = 1e-9  # of a look that comes too late: it plays the fewest games

# Shares of the time; local best responses get the rest.
_RECALL_SHARE = 0.1  # for the test of perfect recall, within these limits, in seconds
_MIN_RECALL_SECONDS, _MAX_RECALL_SECONDS = 0.2, 0.5  # 0.05 shows it of liars_dice_ir, 0.02 in one of three times
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

# Local best responses, with shares of the time for them.
_PILOT_SHARE = 0.1  # for a trial of a lookahead
_COARSE_SHARE = 0.5  # for all trials
_COARSEST = 0.002  # of the largest lookahead
_WORTHWHILE = 1.5  # times as much lookahead, to try it
_MOST_GROWTH = 8.0  # times as much as in the look before, whose cost per game tells little of much larger ones
_FEW_GAMES = 40  # of a player, for an interval; there will be more, as decisions are kept


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
    3. Lower bounds by local best responses: the best of several estimates, with increasing lookahead; their intervals
       are valid simultaneously.

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
    if not _perfect_recall(game, seconds, rng):
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
    local = _local_bound(game, policy, left, **options)
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
    """Returns the best lower bound of exploitability by local best responses within the time; see `estimate_quality`.

    None if the time is too short, or if a sample shows imperfect recall.
    """
    game, rng = load_game(game), np.random.default_rng(int(new_state(seed)[0]))
    if not _perfect_recall(game, seconds, rng):
        return None
    return _local_bound(game, policy, seconds, confidence=confidence, seed=rng, progress=progress)


def _local_bound(
    game: pyspiel.Game, policy: JointPolicy, seconds: float, *, confidence: float, seed: Any, progress: bool
) -> ExploitabilityBound | None:
    """Tries local best responses with increasing lookahead, plays the most promising ones longer, and returns the best
    of all these bounds.

    A response depends on the lookahead and on its samples, and more lookahead is not always better. So the last look
    plays, for each player, the response that promises most after the others, in new games.
    """
    begin = time.perf_counter()
    behavior, rng = Behavior(game, policy), random.Random(int(seed.integers(2**62)))
    runs = game.num_players() * (1 if sum_of_payoffs(game) is not None else 2)

    def responses(look: int | None, seconds: float, deadline: float = math.inf) -> LocalResponses:
        of_look = confidence_of_look(confidence, look)
        stop = Stop(None, seconds / runs, of_look, progress and look is None, deadline)
        return LocalResponses(game, behavior, behavior, stop, rng)

    looks: list[tuple[ExploitabilityBound, list[Choice]]] = []
    scale, more = 0.0, _COARSEST
    while more > _WORTHWHILE * scale:
        trial = time.perf_counter()
        pilot = responses(len(looks) + 1, _PILOT_SHARE * seconds, begin + _COARSE_SHARE * seconds)
        choices = list(pilot.choices(Lookahead().scaled(more)))
        try:
            looks.append((pilot.bound(choices), choices))
        except BudgetError:
            break
        scale, now = more, time.perf_counter()
        least = min(response.samples for response in looks[-1][0].responses)
        games = least * (begin + seconds - now) / (now - trial)
        more = min(1.0, scale * _MOST_GROWTH, scale * games / _FEW_GAMES)
    if not looks:
        return None
    left = max(begin + seconds - time.perf_counter(), _LEAST_SECONDS)
    last = responses(None, left)

    def promise(player: int, look: tuple[ExploitabilityBound, list[Choice]]) -> float:
        """Returns where the interval of a player's response would begin after the last look."""
        found = look[0].responses[player]
        return found.value - found.half_width * math.sqrt(min(found.seconds * runs / left, 1.0))

    best = [max(looks, key=functools.partial(promise, p))[1][p] for p in range(game.num_players())]
    bounds = [*(bound for bound, _ in looks), last.bound(best)]
    of_players = zip(*(bound.responses for bound in bounds), strict=True)
    return ExploitabilityBound(
        best_look([bound.estimate for bound in bounds], confidence),
        tuple(best_look(of_player, confidence) for of_player in of_players),
    )


def _perfect_recall(game: pyspiel.Game, seconds: float, rng: np.random.Generator) -> bool:
    """Returns whether a sample shows no imperfect recall."""
    limit = min(max(_RECALL_SHARE * seconds, _MIN_RECALL_SECONDS), _MAX_RECALL_SECONDS, seconds)
    return estimate_size(game, seconds=limit, seed=rng).perfect_recall


def _sampled_responses(
    game: pyspiel.Game, policy: JointPolicy, game_seconds: float, seconds: float, **options: Any
) -> list[SampledBestResponse]:
    """Returns a response per player, with the most samples that the time allows; none if it allows none."""
    responses: list[SampledBestResponse] = []
    seconds /= game.num_players()
    num_games = int(min(max(_LOWER_SHARE * seconds / game_seconds, MIN_SAMPLES), _MOST_GAMES))
    options |= {"num_games": num_games, "max_nodes": _MAX_NODES}
    for player in range(game.num_players()):
        end, limit, num_samples, cost = time.perf_counter() + seconds, _TRIAL_SHARE * seconds, _FIRST_SAMPLES, 0.0
        while cost <= limit:
            try:
                found = sampled_best_response(game, policy, player, num_samples=num_samples, seconds=limit, **options)
            except BudgetError:
                break
            responses[player:] = [found]
            limit, num_samples = end - time.perf_counter(), num_samples * _MORE_SAMPLES
            cost = _COST_OF_MORE * found.upper.seconds + _LOWER_SHARE * seconds
        if len(responses) == player:
            return []
    return responses
