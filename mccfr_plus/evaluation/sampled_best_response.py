"""Best responses in sampled games: an upper and a lower bound of a best response's value.

In a sampled game, each sample determines chance's choice at each history and the opponents' action at each of their
information states: hashes of its random word. Samples that share a history are traversed together.
"""

import math
import random
import time
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
import pyspiel
from tqdm.auto import tqdm

from mccfr_plus.errors import BudgetError
from mccfr_plus.evaluation.behavior import Behavior, Distribution, Response, chance_row, new_row
from mccfr_plus.evaluation.estimates import MIN_SAMPLES, Estimate, Running, mean_estimate, require_seconds
from mccfr_plus.evaluation.play import Stop, lower_bound, require_player
from mccfr_plus.evaluation.strategies import JointPolicy
from mccfr_plus.kernels.compile import source_of
from mccfr_plus.kernels.random_numbers import next_word
from mccfr_plus.parameters import check_whole, new_state
from mccfr_plus.trees.loading import load_game

Group = list[tuple[pyspiel.State, np.ndarray]]  # histories with the numbers of the samples that come there

_TO_UNIT = 1.0 / (1 << 53)


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
    seed: int | np.random.Generator | None = None,
    progress: bool = False,
) -> SampledBestResponse:
    """Returns bounds of a best response's value, from best responses in sampled games.

    A sampled game has `num_samples` independent draws of chance's choice at each history and of the opponents' action
    at each of their information states. A fixed strategy has the same mean payoff in sampled games as in the game. So
    the mean value of the best strategies of sampled games is at least the best response's value: E max >= max E. That
    is the upper bound; its interval is over `repetitions` independent sampled games. It includes events that no sample
    has, such as rare mistakes: an event that none of n samples has is less likely than log(1 / error) / n (Hanley,
    Lippman-Hand 1983), and pays at most the largest payoff. The lower bound is the payoff of a response in fresh games:
    it takes the action that was best over all repetitions, and follows `policy` elsewhere. Both bounds converge to the
    value as `num_samples` increases.

    Args:
        game: A game with perfect recall; see `head_to_head` for the arguments not listed here and for errors. All own
            actions are traversed: a play must have few own decisions.
        policy: The policy to respond to.
        player: The responding player, 0 .. num_players - 1.
        num_samples: Samples per sampled game, at least 1.
        repetitions: Sampled games, at least 4.
        num_games: Fresh games for the lower bound, at least 4.
        max_nodes: Maximum number of histories of all repetitions together, of some 10 microseconds each.
        seconds: Maximum wall-clock time of all repetitions together, or None for no limit.

    Raises:
        BudgetError: If the traversal takes more than `max_nodes` or `seconds`.

    Examples:
        >>> from mccfr_plus.evaluation import sampled_best_response
        >>> result = sampled_best_response("kuhn_poker", {}, player=0, seed=1)  # to uniform play: 0.5
        >>> result.lower.low < 0.5 < result.upper.high
        True
    """
    stop = Stop(num_games, None, confidence, progress)
    check_whole("num_samples", num_samples)
    check_whole("repetitions", repetitions, MIN_SAMPLES)
    check_whole("max_nodes", max_nodes)
    seconds = require_seconds(seconds)
    game = load_game(game)
    require_player(game, player)
    state = new_state(seed)
    rng, words = random.Random(int(state[0])), np.random.default_rng(state)
    behavior, values, begin = Behavior(game, policy), Running(), time.perf_counter()
    sampled = SampledGames(game, behavior, player, max_nodes, seconds)
    for _ in tqdm(range(repetitions), unit="sampled game", disable=not progress):
        values.add(sampled.solve(words.integers(0, 2**64, num_samples, np.uint64)))
    spent = time.perf_counter() - begin
    best = {info_state: max(sums, key=sums.__getitem__) for info_state, sums in sampled.totals.items()}

    def row_of(state: pyspiel.State) -> Distribution:
        info_state = state.information_state_string()
        action = best.get(info_state)
        return behavior.row(state) if action is None else new_row(info_state, (action,), (1.0,))

    response = Response(game, player, row_of, behavior)
    lower = lower_bound(response, rng, stop)
    unseen = (game.max_utility() - values.mean) * -math.log((1 - stop.confidence) / 2) / (num_samples * repetitions)
    upper = mean_estimate(values, "upper bound", stop.confidence, spent)
    return SampledBestResponse(
        upper=upper._replace(low=upper.low - unseen, high=upper.high + unseen),
        lower=lower._replace(seconds=spent + lower.seconds),
        policy=response,
        nodes=sampled.nodes,
    )


class SampledGames:
    """One player's best decisions in sampled games, with a limit of histories and seconds for all of them together."""

    def __init__(self, game: pyspiel.Game, behavior: Behavior, player: int, max_nodes: int, seconds: float | None):
        self._game, self._behavior, self._player = game, behavior, player
        self._max_nodes, self._seconds = max_nodes, seconds
        self._end = math.inf if seconds is None else time.perf_counter() + seconds
        self.nodes = 0  # histories that were traversed
        self.totals: dict[str, dict[int, float]] = {}  # sums of payoffs, by own information state and action

    def solve(self, words: np.ndarray) -> float:
        """Returns the largest average payoff in the sampled game of one random word per sample.

        Adds the payoffs over all samples if best actions follow to `totals`.
        """
        self._words = words
        payoff, groups = self._spread([(self._game.new_initial_state(), np.arange(len(words)))])
        payoff += sum(self._best(info_state, group) for info_state, group in groups.items())
        return payoff / len(words)

    def _best(self, info_state: str, group: Group) -> float:
        """Returns the sum over samples of payoffs from an own information state on, and adds to `totals`."""
        sums = self.totals.setdefault(info_state, {})
        best = -np.inf
        for action in group[0][0].legal_actions():
            value, groups = self._spread([(state.child(action), samples) for state, samples in group])
            value += sum(self._best(key, below) for key, below in groups.items())
            sums[action] = sums.get(action, 0.0) + value
            best = max(best, value)
        return best

    def _spread(self, pending: Group) -> tuple[float, dict[str, Group]]:
        """Follows all samples to the end or the next own decision; returns summed payoffs and these decisions."""
        payoff = 0.0
        groups: dict[str, Group] = {}
        while pending:
            state, samples = pending.pop()
            self._count_history()
            if state.is_terminal():
                payoff += state.player_return(self._player) * len(samples)
            elif state.is_chance_node():
                pending.extend(self._split(state, samples, chance_row(state), f"chance {state.history()}"))
            elif state.current_player() == self._player:
                groups.setdefault(state.information_state_string(), []).append((state, samples))
            else:
                row = self._behavior.row(state)
                pending.extend(self._split(state, samples, row, f"{state.current_player()} {row.info_state}"))
        return payoff, groups

    def _count_history(self) -> None:
        self.nodes += 1
        is_late = self.nodes % 256 == 0 and time.perf_counter() >= self._end
        if is_late or self.nodes > self._max_nodes:
            limit = f"seconds={self._seconds}" if is_late else f"max_nodes={self._max_nodes}"
            raise BudgetError(
                f"the best response in {len(self._words)} samples of {self._game.get_type().short_name} takes more "
                f"than {limit}: give num_samples={max(1, len(self._words) // 4)}, or a larger limit."
            )

    def _split(self, state: pyspiel.State, samples: np.ndarray, row: Distribution, place: str) -> Group:
        """Returns the histories that a choice leads to, each with the samples that choose it."""
        if len(row.actions) == 1:
            return [(state.child(row.actions[0]), samples)]
        chosen = np.searchsorted(row.cumulative, uniforms(self._words[samples], place), side="right")
        if len(samples) == 1:  # faster
            return [(state.child(row.actions[chosen[0]]), samples)]
        return [(state.child(row.actions[c]), samples[chosen == c]) for c in np.unique(chosen).tolist()]


def uniforms(words: np.ndarray, place: str) -> np.ndarray:
    """Returns a number in [0, 1) for each sample's word at a place: a hash of both, by SplitMix64 on arrays."""
    next_words, key = source_of(next_word), blake2b(place.encode(), digest_size=8).digest()
    hashed = next_words([next_words([words.copy()]) ^ np.uint64(int.from_bytes(key, "little"))])
    return (hashed >> np.uint64(11)) * _TO_UNIT
