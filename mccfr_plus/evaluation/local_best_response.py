"""Approximate best responses, whose payoffs are lower bounds of a best response's value; one decision of lookahead."""

import abc
import math
import random
import time
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any, NamedTuple, TypeAlias

import pyspiel
from open_spiel.python import policy as openspiel_policy

from mccfr_plus.errors import BudgetError
from mccfr_plus.evaluation.play import Estimate, Stop, payoff_estimate, sum_of
from mccfr_plus.evaluation.strategies import (
    Behavior,
    Distribution,
    JointPolicy,
    joined,
    new_row,
    random_move,
    require_player,
    row_at,
)
from mccfr_plus.parameters import Seed, check_whole, new_state
from mccfr_plus.trees.loading import load_game

Group: TypeAlias = list[tuple[pyspiel.State, Any]]  # histories, not modified, each with its share of a whole
Belief: TypeAlias = list[tuple[pyspiel.State, float]]  # weighted by chance's and the opponents' probabilities

_MAX_PASSES = 8  # of sampling, in search of consistent histories
_MAX_STATES = 100_000  # of beliefs, of some kilobytes each
_MAX_DECISIONS = 300_000  # of a response
_MAX_DEPTH = 400  # of an exact expectation, far below Python's limit of recursion
_TIE = 1e-9  # differences below are rounding: the first action is taken, whatever the order of summation


class _TooMany(Exception):
    """A list of all histories, or an exact expectation, would have more histories than allowed."""


class Response(openspiel_policy.Policy):
    """The policy that is evaluated, with one player's strategy replaced by an approximate best response to it."""

    def __init__(self, game: pyspiel.Game, behavior: Behavior, player: int):
        super().__init__(game, list(range(game.num_players())))
        self.player = player
        self.behavior = behavior
        self._decisions: dict[str, Distribution] = {}

    @abc.abstractmethod
    def _decide(self, state: pyspiel.State) -> int | None:
        """Returns the player's action, a function of the information state alone; None: as in the evaluated policy."""

    @abc.abstractmethod
    def _split(self, state: pyspiel.State, share: Any, row: Distribution) -> Group:
        """Returns the histories that follow a choice of chance or of another player."""

    @abc.abstractmethod
    def _count_history(self) -> None:
        """Notes a history that is visited. BudgetError beyond a limit."""

    def row(self, state: pyspiel.State) -> Distribution:
        """Returns the distribution at a decision node."""
        if state.current_player() != self.player:
            return self.behavior.row(state)
        info_state = state.information_state_string()
        row = self._decisions.get(info_state)
        if row is None:
            action = self._decide(state)
            if action is None:  # the behavior keeps its own rows
                return self.behavior.row(state)
            if len(self._decisions) >= _MAX_DECISIONS:
                self._decisions.clear()
            row = self._decisions[info_state] = new_row(info_state, [action], [1.0])
        return row

    def action_probabilities(self, state: pyspiel.State, player_id: int | None = None) -> dict[int, float]:
        """Returns {action: probability} of the player to move; `player_id` is ignored."""
        row = self.row(state)
        return dict(zip(row.actions, row.probabilities, strict=True))

    def lower_bound(self, rng: random.Random, stop: Stop) -> Estimate:
        """Returns the estimate of the player's payoff in new games: a lower bound of the best response's value."""
        return payoff_estimate(self.game, self.row, self.player, rng, "lower bound", stop)

    def _ends_and_decisions(self, pending: Group, most: float = math.inf) -> Iterator[tuple[pyspiel.State, Any]]:
        """Follows histories to their ends or the player's next decisions. _TooMany beyond `most` at a time."""
        num_decisions = 0
        while pending:
            self._count_history()
            state, share = pending.pop()
            if state.is_terminal() or state.current_player() == self.player:
                num_decisions += not state.is_terminal()
                yield state, share
                continue
            row = row_at(state, self.behavior.row)
            if num_decisions + len(pending) + len(row.actions) > most:
                raise _TooMany
            pending.extend(self._split(state, share, row))


def _by_info_state(histories: Iterable[tuple[pyspiel.State, Any]]) -> dict[str, Group]:
    """Returns decision nodes by information state; ends are left out."""
    groups: dict[str, Group] = {}
    for state, share in histories:
        if not state.is_terminal():
            groups.setdefault(state.information_state_string(), []).append((state, share))
    return groups


class Lookahead(NamedTuple):
    """Limits of a decision of `local_best_response`: its arguments of these names."""

    max_histories: int
    num_rollouts: int
    max_nodes: int


class LocalResponse(Response):
    """One decision of lookahead, then `rollout`. Random numbers depend on the seed and the information state alone."""

    def __init__(
        self, game: pyspiel.Game, behavior: Behavior, player: int, rollout: Behavior, lookahead: Lookahead, seed: int
    ):
        super().__init__(game, behavior, player)
        self._rollout = joined(player, rollout.row, behavior.row)
        self._lookahead, self._seed = lookahead, seed
        self.deadline = math.inf  # of `time.perf_counter`
        # By the player's last information state and action: beliefs, and whether they are samples.
        self._groups: dict[tuple[str, int] | None, tuple[dict[str, Belief], bool]] = {}
        self._num_kept = self._nodes_left = 0

    def belief(self, state: pyspiel.State) -> Belief:
        """Returns the histories of a node's information state, or `max_histories` samples; none if none were found."""
        replay, last, key = self.game.new_initial_state(), None, None
        start: Belief = [(replay.clone(), 1.0)]
        for action in state.history():
            if replay.current_player() == self.player:
                last = replay.clone(), action
            replay.apply_action(action)
        if last is not None:
            before, action = last
            key = before.information_state_string(self.player), action
            start = [(history.child(action), weight) for history, weight in self.belief(before)]
        info_state = state.information_state_string(self.player)
        if key not in self._groups:
            if self._num_kept > _MAX_STATES:
                self._groups.clear()
                self._num_kept = 0
            try:
                found = _by_info_state(self._ends_and_decisions(list(start), self._lookahead.max_histories)), False
            except _TooMany:
                found = _by_info_state(self._sampled(start, random.Random(f"{self._seed} {key}"))), True
            self._groups[key] = found
            self._num_kept += sum(map(len, found[0].values()))
        groups, are_samples = self._groups[key]
        if are_samples and info_state not in groups:
            rng = random.Random(f"{self._seed} {key} {info_state}")
            passes = (_by_info_state(self._sampled(start, rng)) for _ in range(_MAX_PASSES))
            groups[info_state] = next((found[info_state] for found in passes if info_state in found), [])
            self._num_kept += len(groups[info_state])
        return groups.get(info_state, [])

    def _sampled(self, start: Belief, rng: random.Random) -> Iterator[tuple[pyspiel.State, float]]:
        """Yields ends or next decisions of sampled histories."""
        for begin in sample_states(start, self._lookahead.max_histories, rng):
            self._count_history()
            state = begin.clone()
            while not state.is_terminal() and state.current_player() != self.player:
                random_move(state, self.behavior.row, rng)
            yield state, 1.0

    def _split(self, state: pyspiel.State, share: float, row: Distribution) -> Group:
        return [(state.child(a), share * p) for a, p in zip(row.actions, row.probabilities, strict=True)]

    def _count_history(self) -> None:
        if time.perf_counter() > self.deadline:
            raise BudgetError("the lookahead takes too long: allow more time, or use a smaller lookahead.")

    def _decide(self, state: pyspiel.State) -> int:
        self._count_history()
        belief, actions = self.belief(state), state.legal_actions()
        if not belief:  # no consistent history was found: take the evaluated policy's most likely action
            row = self.behavior.row(state)
            return row.actions[row.probabilities.index(max(row.probabilities))]
        if len(actions) == 1:
            return actions[0]
        total = sum(weight for _, weight in belief)
        belief = [(history, weight / total) for history, weight in belief]
        values = self.exact_payoffs(belief, actions)
        if values is None:
            rng = random.Random(f"{self._seed} rollouts {state.information_state_string()}")
            values = self.sampled_payoffs(sample_states(belief, self._lookahead.num_rollouts, rng), actions, rng)
        best = max(values)
        return next(a for a, v in zip(actions, values, strict=True) if v >= best - _TIE * max(1.0, abs(best)))

    def exact_payoffs(self, belief: Belief, actions: list[int]) -> list[float] | None:
        """Returns the expected payoff after each action; None if that takes more than `max_nodes` histories."""
        self._nodes_left = self._lookahead.max_nodes
        try:
            return [sum(w * self._expected(state.child(a), 0) for state, w in belief) for a in actions]
        except _TooMany:
            return None

    def sampled_payoffs(self, states: list[pyspiel.State], actions: list[int], rng: random.Random) -> list[float]:
        """Returns the average payoff after each action, playing once from each state."""
        return [sum(self._play(state.child(a), rng) for state in states) / len(states) for a in actions]

    def _expected(self, state: pyspiel.State, depth: int) -> float:
        if state.is_terminal():
            return state.player_return(self.player)
        self._nodes_left -= 1
        if self._nodes_left < 0 or depth > _MAX_DEPTH:
            raise _TooMany
        row = row_at(state, self._rollout)
        outcomes = zip(row.actions, row.probabilities, strict=True)
        return sum(probability * self._expected(state.child(action), depth + 1) for action, probability in outcomes)

    def _play(self, state: pyspiel.State, rng: random.Random) -> float:
        self._count_history()
        while not state.is_terminal():
            random_move(state, self._rollout, rng)
        return state.player_return(self.player)


def sample_states(belief: Belief, count: int, rng: random.Random) -> list[pyspiel.State]:
    """Returns states drawn by weight with evenly spaced quantiles; none if the belief is empty."""
    if not belief:
        return []
    sums = list(accumulate(w for _, w in belief))
    offset = rng.random()
    quantiles = (sums[-1] * (i + offset) / count for i in range(count))
    return [belief[min(bisect_right(sums, q), len(belief) - 1)][0] for q in quantiles]


class LocalBestResponse(NamedTuple):
    """A player's payoff with one decision of lookahead."""

    estimate: Estimate  # a lower bound of the best response's value
    policy: Response  # the evaluated policy, with the player's strategy replaced


class ExploitabilityBound(NamedTuple):
    """A lower bound of exploitability."""

    estimate: Estimate  # a lower bound of NashConv / number of players
    responses: tuple[Estimate, ...]  # per player, a lower bound of the best response's value


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
    seed: Seed = None,
    progress: bool = False,
) -> LocalBestResponse:
    """Returns a lower bound on a best response's payoff: the payoff of a strategy that looks one decision ahead.

    At each of the player's information states, all histories consistent with this state are weighted by their
    probabilities under chance and the opponents' strategies. The player takes the action after which `rollout` has the
    largest expected payoff. Decisions depend only on information states and `seed`, so even if expectations are
    sampled, the decisions form a strategy, and the payoff of this strategy is at most the best response's value.
    Simulated games, with control variates, give an unbiased estimate of this payoff.

    Args:
        game: A game with perfect recall; see `head_to_head` for the arguments not listed here and for errors.
        policy: The policy to respond to.
        player: The responding player, 0 .. num_players - 1.
        rollout: The player's policy after the decision; ``{}`` plays uniformly. Default: `policy`.
        max_histories: Maximum number of histories in an exact belief; larger beliefs are replaced by samples of this
            size.
        num_rollouts: Number of rollouts per action if an expectation is sampled.
        max_nodes: Maximum number of histories visited per decision to compute an expectation exactly.

    Examples:
        >>> from mccfr_plus.evaluation import local_best_response
        >>> result = local_best_response("leduc_poker", {}, player=0, seed=1)
        >>> result.estimate.kind, result.estimate.low > 0.5
        ('lower bound', True)

    Reference: Lisý, Bowling 2017, "Equilibrium approximation quality of current no-limit poker bots". Differs from it
    in supporting any game, all legal actions and any rollout policy, and in the control variates.
    """
    stop, limits = Stop.checked(num_games, seconds, confidence, progress), (max_histories, num_rollouts, max_nodes)
    game, rng = load_game(game), random.Random(int(new_state(seed)[0]))
    require_player(game, player)
    (response,) = _local_responses(game, policy, rollout, Lookahead(*limits), [player], rng)
    return LocalBestResponse(response.lower_bound(rng, stop), response)


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
    seed: Seed = None,
    progress: bool = False,
) -> ExploitabilityBound:
    """Returns a lower bound on a policy's exploitability, from each player's local best response.

    The bound is the sum over players of (value of the local best response - value of the policy) / number of players.
    In games that are not constant-sum, the policy's values are estimated from the same number of additional games.

    Args:
        game: See `local_best_response`, which also documents the errors and the arguments not listed here.
        num_games: Games per player, at least 4; None for no limit.
        seconds: Wall-clock time per player, or None for no limit.

    Examples:
        >>> from mccfr_plus.evaluation import exploitability_lower_bound
        >>> bound = exploitability_lower_bound("kuhn_poker", {}, seed=1)  # of uniform play: 0.458
        >>> 0.3 < bound.estimate.low < 0.458
        True
    """
    stop, limits = Stop.checked(num_games, seconds, confidence, progress), (max_histories, num_rollouts, max_nodes)
    game, rng = load_game(game), random.Random(int(new_state(seed)[0]))
    responses = _local_responses(game, policy, rollout, Lookahead(*limits), range(game.num_players()), rng)
    return bound_of(responses, rng, stop)


def _local_responses(
    game: pyspiel.Game, policy: JointPolicy, rollout: JointPolicy | None, lookahead: Lookahead, players: Iterable[int],
    rng: random.Random,
) -> Iterator[LocalResponse]:  # fmt: skip
    """Yields the responses of players; ConfigError if a limit of `lookahead` is out of range."""
    for name, limit in lookahead._asdict().items():
        check_whole(name, limit)
    behavior = Behavior(game, policy)
    own = behavior if rollout is None else Behavior(game, rollout)
    for player in players:
        yield LocalResponse(game, behavior, player, own, lookahead, rng.getrandbits(64))


def bound_of(responses: Iterable[Response], rng: random.Random, stop: Stop) -> ExploitabilityBound:
    """Returns the lower bound of a policy's exploitability by the payoffs of one response per player."""
    payoffs, values = [], list[Estimate]()
    for response in responses:
        payoffs.append(response.lower_bound(rng, stop))
    game, row = response.game, response.behavior.row
    if sum_of_payoffs(game) is None:
        values = [payoff_estimate(game, row, player, rng, "estimate", stop) for player in range(len(payoffs))]
    return ExploitabilityBound(mean_gain(game, payoffs, values), tuple(payoffs))


def mean_gain(game: pyspiel.Game, responses: Sequence[Estimate], values: Sequence[Estimate]) -> Estimate:
    """Returns (sum of responses' values - sum of the policy's) / players; a constant sum replaces `values`."""
    share, constant = 1 / game.num_players(), sum_of_payoffs(game)
    if constant is not None:
        return sum_of(responses, [share] * len(responses), -constant * share, responses[0].kind)
    weights = [share] * len(responses) + [-share] * len(values)
    return sum_of([*responses, *values], weights, 0.0, responses[0].kind)


def sum_of_payoffs(game: pyspiel.Game) -> float | None:
    """Returns the sum of all players' payoffs if it is the same at all terminal histories, else None."""
    utility = pyspiel.GameType.Utility
    return game.utility_sum() if game.get_type().utility in (utility.ZERO_SUM, utility.CONSTANT_SUM) else None
