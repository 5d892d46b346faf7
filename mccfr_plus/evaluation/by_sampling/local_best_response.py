"""Lower bounds on how much can be won against a policy, by looking one decision ahead."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pyspiel

from mccfr_plus.evaluation.by_sampling.behavior import Behavior, JointPolicy, Row, new_row
from mccfr_plus.evaluation.by_sampling.beliefs import Beliefs, sample_states
from mccfr_plus.evaluation.by_sampling.controlled_play import ControlledPlay
from mccfr_plus.evaluation.by_sampling.estimate import Estimate, Running, mean_estimate, require_integer, sum_estimate
from mccfr_plus.evaluation.by_sampling.play_until import Stop, play_until, require_player, sum_of_payoffs
from mccfr_plus.evaluation.by_sampling.response import Response
from mccfr_plus.evaluation.by_sampling.rollouts import Rollouts
from mccfr_plus.kernels.random_numbers import new_state
from mccfr_plus.tree.game import load_game

_MAX_DECISIONS = 300_000
_TIE = 1e-9  # differences below are rounding: the first action is taken, whatever the order of summation


class LocalBestResponse(NamedTuple):
    """What a player wins by looking one decision ahead."""

    estimate: Estimate  # a lower bound of the best response's value
    policy: Response  # the evaluated policy, with the player's part replaced


class ExploitabilityBound(NamedTuple):
    """How much all players together can gain at least."""

    estimate: Estimate  # a lower bound of exploitability: NashConv / number of players
    responses: tuple[Estimate, ...]  # per player, a lower bound of the best response's value


class LocalResponder:
    """Decides, at a player's information state, by one step of lookahead.

    Args:
        game: A turn-based game of perfect recall.
        behavior: What the opponents do.
        player: Who responds.
        rollout: What the player is assumed to do after the decision; None for the same as `behavior`.
        max_histories: The largest number of histories that is held for an information state.
        num_rollouts: Plays per action where the expectation is sampled.
        max_nodes: Histories that an exact expectation may take per decision.
        seed: Any integer.
    """

    def __init__(
        self,
        game: pyspiel.Game,
        behavior: Behavior,
        player: int,
        rollout: Behavior | None,
        max_histories: int,
        num_rollouts: int,
        max_nodes: int,
        seed: int,
    ):
        own = rollout or behavior
        self._behavior = behavior
        self._beliefs = Beliefs(game, behavior, player, max_histories, seed)
        self._rollouts = Rollouts(lambda s: (own if s.current_player() == player else behavior).row(s), player)
        self._num_rollouts = num_rollouts
        self._max_nodes = max_nodes
        self._seed = seed
        self._decisions: dict[str, Row] = {}

    def row(self, state: pyspiel.State) -> Row:
        """Returns the decision at a node of the player, a function of the information state alone."""
        info_state = state.information_state_string()
        row = self._decisions.get(info_state)
        if row is None:
            if len(self._decisions) >= _MAX_DECISIONS:
                self._decisions.clear()
            row = self._decisions[info_state] = new_row(info_state, (self._decide(state, info_state),), (1.0,))
        return row

    def _decide(self, state: pyspiel.State, info_state: str) -> int:
        belief = self._beliefs.at(state)
        if not belief:  # nothing is known of where we are: do what the evaluated policy likes best
            row = self._behavior.row(state)
            return row.actions[row.probabilities.index(max(row.probabilities))]
        actions = state.legal_actions()
        if len(actions) == 1:
            return actions[0]
        total = sum(weight for _, weight in belief)
        belief = [(history, weight / total) for history, weight in belief]
        values = self._rollouts.exact(belief, actions, self._max_nodes)
        if values is None:
            rng = random.Random(f"{self._seed} rollouts {info_state}")
            values = self._rollouts.sampled(sample_states(belief, self._num_rollouts, rng), actions, rng)
        best = max(values)
        return next(a for a, v in zip(actions, values, strict=True) if v >= best - _TIE * max(1.0, abs(best)))


class _Responders:
    """Local best responses to one policy, of one player after the other.

    Args:
        game: See `local_best_response`, and below.
        policy: The policy to respond to.
        rollout: Or None.
        max_histories: At least 1, like the next two.
        num_rollouts: As above.
        max_nodes: As above.
        seed: As above.

    Raises:
        ConfigError: If one of the numbers makes no sense.
    """

    def __init__(
        self,
        game: pyspiel.Game | str,
        policy: JointPolicy,
        rollout: JointPolicy | None,
        max_histories: int,
        num_rollouts: int,
        max_nodes: int,
        seed: int | np.random.Generator | None,
    ):
        limits = {"max_histories": max_histories, "num_rollouts": num_rollouts, "max_nodes": max_nodes}
        for name, value in limits.items():
            require_integer(name, value, 1)
        self.game = load_game(game)
        self.behavior = Behavior(self.game, policy)
        self._rollout = None if rollout is None else Behavior(self.game, rollout)
        self._limits = limits
        self._rng = random.Random(int(new_state(seed)[0]))

    def play(self, player: int, stop: Stop) -> tuple[Running, float, Response]:
        """Returns what the player's response won, per game and with control variates, the seconds, and the response."""
        word = self._rng.getrandbits(64)
        responder = LocalResponder(self.game, self.behavior, player, self._rollout, seed=word, **self._limits)
        response = Response(self.game, player, responder.row, self.behavior)
        return *self.play_rows(response.row, player, stop), response

    def play_rows(self, rows: Callable[[pyspiel.State], Row], player: int, stop: Stop) -> tuple[Running, float]:
        """Returns what a player wins where all play by `rows`, per game and with control variates, and the seconds."""
        _, controlled, spent = play_until([ControlledPlay(self.game, rows, player, self._rng)], stop)
        return controlled[0], spent


def local_best_response(
    game: pyspiel.Game | str,
    policy: JointPolicy,
    player: int,
    *,
    num_games: int | None = 1000,
    seconds: float | None = None,
    half_width: float | None = None,
    rollout: JointPolicy | None = None,
    max_histories: int = 2000,
    num_rollouts: int = 200,
    max_nodes: int = 5000,
    confidence: float = 0.95,
    seed: int | np.random.Generator | None = None,
    progress: bool = False,
) -> LocalBestResponse:
    """Returns what a player wins against a policy by looking one decision ahead: at most what a best response wins.

    At each of the player's information states, all histories that are consistent with it are weighted by the
    probabilities of chance and of the opponents' strategies; then the action is taken after which `rollout` wins most.
    The value comes from games that are played out, with control variates, and is an unbiased estimate of what this
    strategy wins. It is a legal strategy whatever is approximate inside, as decisions depend on information states
    and `seed` only: so the mean is at most the best response's value.

    Args:
        game: A game or a game string of any size, of perfect recall; simultaneous moves are made turn-based.
        policy: The policy to respond to: any of OpenSpiel's, from Python or C++; a mapping from information states to
            {action: probability}, uniform where it has no entry; a function from states to that; or a list of one of
            these per player.
        player: Who responds, 0 .. num_players - 1.
        num_games: Games to play, at least 4; None for no limit.
        seconds: Of wall-clock time, or None for no limit.
        half_width: Stop when the interval reaches no further than this to either side; None for never.
        rollout: What the player is assumed to do after the decision; None for what `policy` does, ``{}`` for uniform
            play, or any other policy.
        max_histories: Up to so many consistent histories beliefs are exact, beyond they are samples of this size.
        num_rollouts: Plays per action where an expectation is sampled.
        max_nodes: Histories that an expectation may take, per decision, to be computed exactly.
        confidence: Of the interval, from 0.5 to below 1.
        seed: An integer >= 0 for a repeatable result, a numpy generator, or None.
        progress: Whether to show a progress bar.

    Raises:
        GameError: If the game is unknown, or has no explicit chance or no information states.
        PolicyError: If a policy is none, or does not answer with a distribution where it is asked.
        ConfigError: If a number, the player or the seed makes no sense, or there is no limit at all.

    Example:
        >>> from mccfr_plus.evaluation.by_sampling import local_best_response
        >>> result = local_best_response("leduc_poker", {}, player=0, seed=1)
        >>> result.estimate.kind, result.estimate.low > 0.5
        ('lower bound', True)

    Reference: Lisý, Bowling 2017, "Equilibrium approximation quality of current no-limit poker bots", section "Local
    best response". Differs from it in that it takes any game, all legal actions and any rollout policy, and in the
    control variates.
    """
    stop = Stop(num_games, seconds, half_width, confidence, progress)
    responders = _Responders(game, policy, rollout, max_histories, num_rollouts, max_nodes, seed)
    require_player(responders.game, player)
    won, spent, response = responders.play(player, stop)
    return LocalBestResponse(mean_estimate(won, "lower bound", confidence, spent), response)


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

    It is the sum over players of (value of the local best response - value of the policy) / number of players. Where
    payoffs always have the same sum, so have the policy's values; elsewhere they are estimated by as many games.

    Args:
        game: See `local_best_response`, also for errors and for what is not listed here.
        policy: The policy to evaluate.
        num_games: Games per player, at least 4; None for no limit.
        seconds: Of wall-clock time per player, or None for no limit.

    Example:
        >>> from mccfr_plus.evaluation.by_sampling import exploitability_lower_bound
        >>> bound = exploitability_lower_bound("kuhn_poker", {}, seed=1)  # of uniform play: 0.458
        >>> 0.3 < bound.estimate.low < 0.458
        True

    Reference: Lisý, Bowling 2017, "Equilibrium approximation quality of current no-limit poker bots".
    """
    stop = Stop(num_games, seconds, None, confidence, progress)
    responders = _Responders(game, policy, rollout, max_histories, num_rollouts, max_nodes, seed)
    players = range(responders.game.num_players())
    parts, weights, responses, seconds_spent = [], [], [], 0.0
    for player in players:
        won, spent, _ = responders.play(player, stop)
        responses.append(mean_estimate(won, "lower bound", confidence, spent))
        parts.append(won)
        weights.append(1 / len(players))
        seconds_spent += spent
    constant = sum_of_payoffs(responders.game)
    if constant is None:
        for player in players:
            won, spent = responders.play_rows(responders.behavior.row, player, stop)
            parts.append(won)
            weights.append(-1 / len(players))
            seconds_spent += spent
    offset = 0.0 if constant is None else -constant / len(players)
    bound = sum_estimate(parts, weights, offset, "lower bound", confidence, seconds_spent)
    return ExploitabilityBound(bound, tuple(responses))
