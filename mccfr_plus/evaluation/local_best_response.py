"""Lower bounds on how much can be won against a policy, by one decision of lookahead.

At each own information state: beliefs about the history, expected payoffs after each action, and the best action.
"""

import math
import random
import time
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple, TypeAlias

import numpy as np
import pyspiel

from mccfr_plus.errors import BudgetError
from mccfr_plus.evaluation.behavior import (
    Behavior,
    Distribution,
    Response,
    RowOf,
    joined,
    new_row,
    random_move,
    row_at,
)
from mccfr_plus.evaluation.estimates import Estimate, sum_of
from mccfr_plus.evaluation.play import Stop, lower_bound, payoff_estimate, require_player, sum_of_payoffs
from mccfr_plus.evaluation.strategies import JointPolicy
from mccfr_plus.parameters import check_whole, new_state
from mccfr_plus.trees.loading import load_game

Belief: TypeAlias = list[tuple[pyspiel.State, float]]  # states are not modified; weights do not sum to 1

_MAX_PASSES = 8  # of sampling, in search of consistent histories
_MAX_STATES = 100_000  # of beliefs, of some kilobytes each
_MAX_DECISIONS = 300_000
_MAX_DEPTH = 400  # of an exact expectation, far below Python's limit of recursion
_TIE = 1e-9  # differences below are rounding: the first action is taken, whatever the order of summation


class Lookahead(NamedTuple):
    """Limits of a decision of `local_best_response`: its arguments of these names."""

    max_histories: int = 2000
    num_rollouts: int = 200
    max_nodes: int = 5000

    def scaled(self, factor: float) -> "Lookahead":
        """Returns the limits times a factor, between 1 and the defaults."""
        return Lookahead(*(max(1, min(most, int(factor * own))) for own, most in zip(self, Lookahead(), strict=True)))


class Clock:
    """A deadline of `time.perf_counter`, which may be moved."""

    def __init__(self, deadline: float = math.inf):
        self.deadline = deadline

    def check(self) -> None:
        """Raises BudgetError after the deadline."""
        if time.perf_counter() > self.deadline:
            raise BudgetError("looking ahead takes too long: give more time, or a smaller lookahead.")


NO_LIMIT = Clock()


class Beliefs:
    """The histories of a player's information states, weighted by chance's and the opponents' probabilities.

    They follow from those of the player's last decision; `max_histories` of them are sampled if there are more. Random
    numbers depend on the seed and the information state alone, so that a belief is a function of the information state.
    """

    def __init__(
        self, game: pyspiel.Game, behavior: Behavior, player: int, max_histories: int, seed: int,
        clock: Clock = NO_LIMIT,
    ):  # fmt: skip
        self._game, self._behavior, self._player = game, behavior, player
        self._max_histories, self._seed, self._clock = max_histories, seed, clock
        self._groups: dict[tuple[str, int] | None, dict[str, Belief]] = {}
        self._sampled: set[tuple[str, int] | None] = set()  # keys of groups that are samples
        self._num_kept = 0

    def at(self, state: pyspiel.State) -> Belief:
        """Returns the histories of a decision node's information state; none if they were not found or never happen."""
        replay, last, key = self._game.new_initial_state(), None, None
        start: Belief = [(replay.clone(), 1.0)]
        for action in state.history():
            if replay.current_player() == self._player:
                last = replay.clone(), action
            replay.apply_action(action)
        if last is not None:
            before, action = last
            key = before.information_state_string(self._player), action
            start = [(history.child(action), weight) for history, weight in self.at(before)]
        info_state = state.information_state_string(self._player)
        groups = self._groups.get(key)
        if groups is None:
            if self._num_kept > _MAX_STATES:
                self._groups.clear()
                self._sampled.clear()
                self._num_kept = 0
            found = self._all_next_decisions(start)
            if found is None:
                found = self._sample_next_decisions(start, random.Random(f"{self._seed} {key}"), None)
                self._sampled.add(key)
            groups = self._groups[key] = found
            self._num_kept += sum(map(len, groups.values()))
        if key in self._sampled and info_state not in groups:
            rng = random.Random(f"{self._seed} {key} {info_state}")
            passes = (self._sample_next_decisions(start, rng, info_state) for _ in range(_MAX_PASSES))
            groups[info_state] = next((found[info_state] for found in passes if found), [])
            self._num_kept += len(groups[info_state])
        return groups.get(info_state, [])

    def _all_next_decisions(self, start: Belief) -> dict[str, Belief] | None:
        """Returns all histories at the player's next decisions, by information state; None if they are too many."""
        groups: dict[str, Belief] = {}
        pending = list(start)
        found = 0
        while pending:
            self._clock.check()
            state, weight = pending.pop()
            if state.is_terminal():
                continue
            if state.current_player() == self._player:
                groups.setdefault(state.information_state_string(), []).append((state, weight))
                found += 1
                continue
            row = row_at(state, self._behavior.row)
            if found + len(pending) + len(row.actions) > self._max_histories:
                return None
            pending.extend((state.child(a), weight * p) for a, p in zip(row.actions, row.probabilities, strict=True))
        return groups

    def _sample_next_decisions(self, start: Belief, rng: random.Random, wanted: str | None) -> dict[str, Belief]:
        """Returns sampled histories at the player's next decisions, or only at the information state `wanted`."""
        groups: dict[str, Belief] = {}
        for begin in sample_states(start, self._max_histories, rng):
            self._clock.check()
            state = begin.clone()
            while not state.is_terminal() and state.current_player() != self._player:
                random_move(state, self._behavior.row, rng)
            if not state.is_terminal():
                info_state = state.information_state_string()
                if wanted is None or info_state == wanted:
                    groups.setdefault(info_state, []).append((state, 1.0))
        return groups


def sample_states(belief: Belief, count: int, rng: random.Random) -> list[pyspiel.State]:
    """Returns states drawn by weight with evenly spaced quantiles; none if the belief is empty."""
    if not belief:
        return []
    sums = list(accumulate(w for _, w in belief))
    offset = rng.random()
    quantiles = (sums[-1] * (i + offset) / count for i in range(count))
    return [belief[min(bisect_right(sums, q), len(belief) - 1)][0] for q in quantiles]


class _TooLarge(Exception):
    """An exact expectation would take more histories than allowed."""


class Rollouts:
    """Payoffs of one player, if `row_of` gives the distributions at decision nodes."""

    def __init__(self, row_of: RowOf, player: int, clock: Clock = NO_LIMIT):
        self._row_of, self._player, self._clock = row_of, player, clock
        self._nodes_left = 0

    def exact(self, belief: Belief, actions: list[int], max_nodes: int) -> list[float] | None:
        """Returns the expected payoff after each action; None if that takes more than `max_nodes` histories."""
        self._nodes_left = max_nodes
        try:
            return [sum(w * self._expected(state.child(a), 0) for state, w in belief) for a in actions]
        except _TooLarge:
            return None

    def sampled(self, states: list[pyspiel.State], actions: list[int], rng: random.Random) -> list[float]:
        """Returns the average payoff after each action, playing once from each state."""
        return [sum(self._play(state.child(a), rng) for state in states) / len(states) for a in actions]

    def _expected(self, state: pyspiel.State, depth: int) -> float:
        if state.is_terminal():
            return state.player_return(self._player)
        self._nodes_left -= 1
        if self._nodes_left < 0 or depth > _MAX_DEPTH:
            raise _TooLarge
        row = row_at(state, self._row_of)
        outcomes = zip(row.actions, row.probabilities, strict=True)
        return sum(probability * self._expected(state.child(action), depth + 1) for action, probability in outcomes)

    def _play(self, state: pyspiel.State, rng: random.Random) -> float:
        """Returns the payoff of one play. `state` is modified in place."""
        self._clock.check()
        while not state.is_terminal():
            random_move(state, self._row_of, rng)
        return state.player_return(self._player)


class LocalResponse(Response):
    """A response that decides by one step of lookahead. See `local_best_response`."""

    def __init__(
        self, game: pyspiel.Game, behavior: Behavior, player: int, rollout: Behavior, lookahead: Lookahead, seed: int,
        clock: Clock = NO_LIMIT,
    ):  # fmt: skip
        super().__init__(game, player, self._own_row, behavior)
        self._behavior, self._lookahead, self._seed, self._clock = behavior, lookahead, seed, clock
        self._beliefs = Beliefs(game, behavior, player, lookahead.max_histories, seed, clock)
        self._rollouts = Rollouts(joined(player, rollout.row, behavior.row), player, clock)
        self._decisions: dict[str, Distribution] = {}

    def _own_row(self, state: pyspiel.State) -> Distribution:
        """Returns the decision at a node of the player, a function of the information state alone."""
        info_state = state.information_state_string()
        row = self._decisions.get(info_state)
        if row is None:
            if len(self._decisions) >= _MAX_DECISIONS:
                self._decisions.clear()
            self._clock.check()
            row = self._decisions[info_state] = new_row(info_state, [self._decide(state, info_state)], [1.0])
        return row

    def _decide(self, state: pyspiel.State, info_state: str) -> int:
        belief = self._beliefs.at(state)
        if not belief:  # no consistent history was found: take the evaluated policy's most likely action
            row = self._behavior.row(state)
            return row.actions[row.probabilities.index(max(row.probabilities))]
        actions = state.legal_actions()
        if len(actions) == 1:
            return actions[0]
        total = sum(weight for _, weight in belief)
        belief = [(history, weight / total) for history, weight in belief]
        values = self._rollouts.exact(belief, actions, self._lookahead.max_nodes)
        if values is None:
            rng = random.Random(f"{self._seed} rollouts {info_state}")
            values = self._rollouts.sampled(sample_states(belief, self._lookahead.num_rollouts, rng), actions, rng)
        best = max(values)
        return next(a for a, v in zip(actions, values, strict=True) if v >= best - _TIE * max(1.0, abs(best)))


class LocalBestResponse(NamedTuple):
    """A player's payoff with one decision of lookahead."""

    estimate: Estimate  # a lower bound of the best response's value
    policy: Response  # the evaluated policy, with the player's strategy replaced


class ExploitabilityBound(NamedTuple):
    """A lower bound of exploitability."""

    estimate: Estimate  # a lower bound of NashConv / number of players
    responses: tuple[Estimate, ...]  # per player, a lower bound of the best response's value


@dataclass(frozen=True)
class LocalResponses:
    """Local best responses to one policy."""

    game: pyspiel.Game
    behavior: Behavior  # the policy
    rollout: Behavior  # how the responding player plays after the decision
    rng: random.Random  # modified in place
    clock: Clock = NO_LIMIT

    def respond(self, player: int, lookahead: Lookahead) -> Response:
        """Returns a new response of one player, with a seed of its own for what it samples."""
        seed = self.rng.getrandbits(64)
        return LocalResponse(self.game, self.behavior, player, self.rollout, lookahead, seed, self.clock)

    def bound(self, responses: Iterable[Response], stop: Stop) -> ExploitabilityBound:
        """Returns the lower bound of the policy's exploitability by the payoffs of one response per player."""
        values: list[Estimate] = []
        payoffs = tuple(lower_bound(response, self.rng, stop) for response in responses)
        if sum_of_payoffs(self.game) is None:
            row, rng = self.behavior.row, self.rng
            values += [payoff_estimate(self.game, row, p, rng, "estimate", stop) for p in range(len(payoffs))]
        return ExploitabilityBound(mean_gain(self.game, payoffs, values), payoffs)


def mean_gain(game: pyspiel.Game, responses: Sequence[Estimate], values: Sequence[Estimate]) -> Estimate:
    """Returns (sum of the responses' values - sum of the policy's values) / number of players.

    The policy's values are needed only in games without a constant sum of payoffs.
    """
    share, constant = 1 / game.num_players(), sum_of_payoffs(game)
    weights = [share] * len(responses)
    if constant is not None:
        return sum_of(responses, weights, -constant * share, responses[0].kind)
    return sum_of([*responses, *values], [*weights, *[-share] * len(values)], 0.0, responses[0].kind)


def local_best_response(
    game: pyspiel.Game | str,
    policy: JointPolicy,
    player: int,
    *,
    num_games: int | None = 1000,
    seconds: float | None = None,
    rollout: JointPolicy | None = None,
    max_histories: int = 2000,
    num_rollouts: int = 200,
    max_nodes: int = 5000,
    confidence: float = 0.95,
    seed: int | np.random.Generator | None = None,
    progress: bool = False,
) -> LocalBestResponse:
    """Returns a player's payoff against a policy with one decision of lookahead: at most that of a best response.

    At each of the player's information states, all consistent histories are weighted by the probabilities of chance and
    of the opponents' strategies. The player takes the action after which `rollout` has the largest expected payoff.
    Decisions depend on information states and `seed` only: so this is a strategy, also where expectations are sampled,
    and its payoff is at most the best response's value. Games with control variates estimate it without bias.

    Args:
        game: A game with perfect recall; see `head_to_head` for the arguments not listed here and for errors.
        policy: The policy to respond to.
        player: The responding player, 0 .. num_players - 1.
        rollout: The player's policy after the decision: None for `policy`, ``{}`` for uniform play, or any other.
        max_histories: Maximum number of histories of an exact belief; larger beliefs are samples of this size.
        num_rollouts: Plays per action where an expectation is sampled.
        max_nodes: Maximum number of histories of an exact expectation, per decision.

    Examples:
        >>> from mccfr_plus.evaluation import local_best_response
        >>> result = local_best_response("leduc_poker", {}, player=0, seed=1)
        >>> result.estimate.kind, result.estimate.low > 0.5
        ('lower bound', True)

    Reference: Lisý, Bowling 2017, "Equilibrium approximation quality of current no-limit poker bots". Differs from it
    in that it takes any game, all legal actions and any rollout policy, and in the control variates.
    """
    stop, lookahead = Stop(num_games, seconds, confidence, progress), Lookahead(max_histories, num_rollouts, max_nodes)
    responses = _local_responses(game, policy, rollout, lookahead, seed)
    require_player(responses.game, player)
    response = responses.respond(player, lookahead)
    return LocalBestResponse(lower_bound(response, responses.rng, stop), response)


def exploitability_lower_bound(
    game: pyspiel.Game | str,
    policy: JointPolicy,
    *,
    num_games: int | None = 1000,
    seconds: float | None = None,
    rollout: JointPolicy | None = None,
    max_histories: int = 2000,
    num_rollouts: int = 200,
    max_nodes: int = 5000,
    confidence: float = 0.95,
    seed: int | np.random.Generator | None = None,
    progress: bool = False,
) -> ExploitabilityBound:
    """Returns a lower bound of a policy's exploitability, from each player's local best response.

    It is the sum over players of (value of the local best response - value of the policy) / number of players. In games
    without a constant sum of payoffs, as many games again estimate the policy's values.

    Args:
        game: See `local_best_response`, also for the arguments not listed here and for errors.
        policy: The policy to evaluate.
        num_games: Games per player, at least 4; None for no limit.
        seconds: Wall-clock time per player, or None for no limit.

    Examples:
        >>> from mccfr_plus.evaluation import exploitability_lower_bound
        >>> bound = exploitability_lower_bound("kuhn_poker", {}, seed=1)  # of uniform play: 0.458
        >>> 0.3 < bound.estimate.low < 0.458
        True
    """
    stop, lookahead = Stop(num_games, seconds, confidence, progress), Lookahead(max_histories, num_rollouts, max_nodes)
    responses = _local_responses(game, policy, rollout, lookahead, seed)
    players = range(responses.game.num_players())
    return responses.bound((responses.respond(player, lookahead) for player in players), stop)


def _local_responses(
    game: pyspiel.Game | str,
    policy: JointPolicy,
    rollout: JointPolicy | None,
    lookahead: Lookahead,
    seed: int | np.random.Generator | None,
) -> LocalResponses:
    for name, value in lookahead._asdict().items():
        check_whole(name, value)
    game = load_game(game)
    behavior = Behavior(game, policy)
    own = behavior if rollout is None else Behavior(game, rollout)
    return LocalResponses(game, behavior, own, random.Random(int(new_state(seed)[0])))
