"""Best responses in sampled games: an upper and a lower bound of a best response's value."""

import math
import random
import time
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
import pyspiel
from tqdm.auto import tqdm

from mccfr_plus.errors import BudgetError
from mccfr_plus.evaluation.local_best_response import Group, Response
from mccfr_plus.evaluation.play import MIN_SAMPLES, Estimate, Running, Stop
from mccfr_plus.evaluation.strategies import Behavior, Distribution, JointPolicy, require_player
from mccfr_plus.kernels.compile import source_of
from mccfr_plus.kernels.intrinsics import next_word
from mccfr_plus.parameters import LARGEST, Seed, check_number, check_whole, new_state
from mccfr_plus.trees.loading import load_game


class SampledBestResponse(NamedTuple):
    """Two bounds of a best response's value, and the strategy that reaches the lower one."""

    upper: Estimate  # of the best response's value
    lower: Estimate  # of the best response's value: the payoff of `policy` in fresh games
    policy: Response  # the evaluated policy, with the player's strategy replaced
    nodes: int  # histories that were traversed


def sampled_best_response(
    game: pyspiel.Game | str,
    policy: JointPolicy,
    player: int,
    *,
    num_samples: int = 1000,
    repetitions: int = 8,
    num_games: int = 1000,
    max_nodes: int = 5_000_000,
    seconds: float | None = None,
    confidence: float = 0.95,
    seed: Seed = None,
    progress: bool = False,
) -> SampledBestResponse:
    """Returns bounds on the value of a best response, from best responses in sampled games.

    A sampled game has `num_samples` independent draws of the chance outcome at each chance node and of the
    opponents' action at each of their information states. A fixed strategy's mean payoff in sampled games equals its
    payoff in the original game, so the value of a best response in a sampled game is, in expectation, at least the best
    response's value in the original game: E max >= max E. The confidence interval of this upper bound is computed from
    `repetitions` sampled games. It accounts for events that occur in none of the n = `num_samples` * `repetitions`
    samples: with confidence 1 - error, their probability is below log(1 / error) / n (Hanley and Lippman-Hand 1983),
    and the payoff when they occur is at most the largest payoff in the game. The lower bound is the payoff, in new
    games, of a strategy that plays the actions that were best over all repetitions and follows `policy` elsewhere. Both
    bounds converge to the best response's value as `num_samples` increases. All actions of the responding player are
    traversed, so this player must have few decisions per game. See `head_to_head` for the arguments not listed here and
    for errors.

    Args:
        game: A game with perfect recall.
        policy: The policy to respond to.
        player: The responding player, 0 .. num_players - 1.
        num_samples: Number of draws at each chance node and at each of the opponents' information states in a sampled
            game, at least 1.
        repetitions: Number of sampled games, at least 4.
        num_games: Number of new games for the lower bound, at least 4.
        max_nodes: Maximum number of histories over all repetitions; each history takes some 10
            microseconds.
        seconds: Maximum wall-clock time of all repetitions together, or None for no limit.

    Raises:
        BudgetError: If the traversal exceeds `max_nodes` or `seconds`.

    Examples:
        >>> from mccfr_plus.evaluation import sampled_best_response
        >>> result = sampled_best_response("kuhn_poker", {}, player=0, seed=1)  # to uniform play: 0.5
        >>> result.lower.low < 0.5 < result.upper.high
        True
    """
    stop = Stop.checked(num_games, None, confidence, progress)
    if seconds is not None:
        check_number("seconds", seconds, 0, LARGEST, "give a positive number, or None")
    check_whole("num_samples", num_samples)
    check_whole("repetitions", repetitions, MIN_SAMPLES)
    check_whole("max_nodes", max_nodes)
    game, state = load_game(game), new_state(seed)
    require_player(game, player)
    rng, words = random.Random(int(state[0])), np.random.default_rng(state)
    values, begin = Running(), time.perf_counter()
    response = SampledResponse(game, Behavior(game, policy), player, max_nodes, seconds)
    for _ in tqdm(range(repetitions), unit="sampled game", disable=not progress):
        values.add(response.solve(words.integers(0, 2**64, num_samples, np.uint64)))
    spent = time.perf_counter() - begin
    lower = response.lower_bound(rng, stop)
    unseen = (game.max_utility() - values.mean) * -math.log((1 - stop.confidence) / 2) / (num_samples * repetitions)
    upper = values.estimate("upper bound", stop.confidence, spent)
    upper = upper._replace(low=upper.low - unseen, high=upper.high + unseen)
    return SampledBestResponse(upper, lower._replace(seconds=spent + lower.seconds), response, response.nodes)


class SampledResponse(Response):
    """The best decisions in sampled games, with limits for all of these games together.

    A sample's random word is hashed for chance's choice at each history and for the opponents' action at each of their
    information states. Samples that share a history are traversed together.
    """

    def __init__(self, game: pyspiel.Game, behavior: Behavior, player: int, max_nodes: int, seconds: float | None):
        super().__init__(game, behavior, player)
        self._max_nodes, self._seconds = max_nodes, seconds
        self._end = math.inf if seconds is None else time.perf_counter() + seconds
        self._totals: dict[str, dict[int, float]] = {}  # sums of payoffs, by own information state and action
        self.nodes = 0  # histories that were traversed

    def solve(self, words: np.ndarray) -> float:
        """Returns the largest average payoff in the sampled game of one random word per sample."""
        self._words = words
        return self._value([(self.game.new_initial_state(), np.arange(len(words)))]) / len(words)

    def _value(self, group: Group) -> float:
        """Returns the sum over samples of payoffs under the best decisions, and adds them to the totals."""
        payoff = 0.0
        groups: dict[str, Group] = {}
        for state, samples in self._ends_and_decisions(group):
            if state.is_terminal():
                payoff += state.player_return(self.player) * len(samples)
            else:
                groups.setdefault(state.information_state_string(), []).append((state, samples))
        return payoff + sum(self._best(info_state, below) for info_state, below in groups.items())

    def _best(self, info_state: str, group: Group) -> float:
        sums = self._totals.setdefault(info_state, {})
        best = -math.inf
        for action in group[0][0].legal_actions():
            value = self._value([(state.child(action), samples) for state, samples in group])
            sums[action] = sums.get(action, 0.0) + value
            best = max(best, value)
        return best

    def _decide(self, state: pyspiel.State) -> int | None:
        sums = self._totals.get(state.information_state_string())
        return None if sums is None else max(sums, key=sums.__getitem__)

    def _count_history(self) -> None:
        self.nodes += 1
        is_late = self.nodes % 256 == 0 and time.perf_counter() >= self._end
        if is_late or self.nodes > self._max_nodes:
            limit = f"seconds={self._seconds}" if is_late else f"max_nodes={self._max_nodes}"
            raise BudgetError(
                f"computing the best response in {len(self._words)} samples of {self.game.get_type().short_name} takes "
                f"more than {limit}: give num_samples={max(1, len(self._words) // 4)}, or a larger limit."
            )

    def _split(self, state: pyspiel.State, share: np.ndarray, row: Distribution) -> Group:
        if len(row.actions) == 1:
            return [(state.child(row.actions[0]), share)]
        is_chance = row.info_state is None
        place = f"chance {state.history()}" if is_chance else f"{state.current_player()} {row.info_state}"
        chosen = np.searchsorted(row.cumulative, uniforms(self._words[share], place), side="right")
        if len(share) == 1:  # faster
            return [(state.child(row.actions[chosen[0]]), share)]
        return [(state.child(row.actions[c]), share[chosen == c]) for c in np.unique(chosen).tolist()]


def uniforms(words: np.ndarray, place: str) -> np.ndarray:
    """Returns a number in [0, 1) for each sample's word at a place: a hash of both, by SplitMix64 on arrays."""
    next_words, key = source_of(next_word), blake2b(place.encode(), digest_size=8).digest()
    hashed = next_words([next_words([words.copy()]) ^ np.uint64(int.from_bytes(key, "little"))])
    return (hashed >> np.uint64(11)) * 2.0**-53
