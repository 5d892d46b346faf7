"""Lower bounds on how much can be won against a policy, by one decision of lookahead."""

from __future__ import annotations

import random
from typing import NamedTuple

import numpy as np
import pyspiel

from mccfr_plus.evaluation.behavior import Behavior, JointPolicy, Response
from mccfr_plus.evaluation.estimates import Estimate, Running, mean_estimate, require_integer, sum_estimate
from mccfr_plus.evaluation.lookahead import LocalResponder, Lookahead
from mccfr_plus.evaluation.play import ControlledPlay, Stop, play_until, require_player, sum_of_payoffs
from mccfr_plus.kernels.random_numbers import new_state
from mccfr_plus.tree.game import load_game


class LocalBestResponse(NamedTuple):
    """A player's payoff with one decision of lookahead."""

    estimate: Estimate  # a lower bound of the best response's value
    policy: Response  # the evaluated policy, with the player's strategy replaced


class ExploitabilityBound(NamedTuple):
    """A lower bound of exploitability."""

    estimate: Estimate  # a lower bound of NashConv / number of players
    responses: tuple[Estimate, ...]  # per player, a lower bound of the best response's value


class _Responders:
    """Local best responses to one policy, for one player after the other. See `local_best_response`."""

    def __init__(
        self,
        game: pyspiel.Game | str,
        policy: JointPolicy,
        rollout: JointPolicy | None,
        lookahead: Lookahead,
        seed: int | np.random.Generator | None,
    ):
        for name, value in lookahead._asdict().items():
            require_integer(name, value, 1)
        self.game = load_game(game)
        self.behavior = Behavior(self.game, policy)
        self._rollout = None if rollout is None else Behavior(self.game, rollout)
        self._lookahead = lookahead
        self._rng = random.Random(int(new_state(seed)[0]))

    def response(self, player: int) -> Response:
        seed = self._rng.getrandbits(64)
        responder = LocalResponder(self.game, self.behavior, player, self._rollout, self._lookahead, seed)
        return Response(self.game, player, responder.row, self.behavior)

    def play(self, policy: Response | Behavior, player: int, stop: Stop) -> tuple[Running, float]:
        """Returns a player's payoffs under a policy, with control variates, and the seconds that it took."""
        _, controlled, spent = play_until([ControlledPlay(self.game, policy.row, player, self._rng)], stop)
        return controlled[0], spent


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
    Decisions depend on information states and `seed` only: so this is a legal strategy, also where expectations are
    sampled, and its payoff is at most the best response's value. The estimate of that payoff is unbiased: it
    comes from games with control variates.

    Args:
        game: See `head_to_head`, also for errors and for what is not listed here. It must have perfect recall.
        policy: The policy to respond to.
        player: The responding player, 0 .. num_players - 1.
        rollout: How the player plays after the decision: None for as in `policy`, ``{}`` for uniform play, or any
            other policy.
        max_histories: The most histories of an exact belief; larger beliefs are samples of this size.
        num_rollouts: Plays per action where an expectation is sampled.
        max_nodes: The most histories of an exact expectation, per decision.

    Example:
        >>> from mccfr_plus.evaluation import local_best_response
        >>> result = local_best_response("leduc_poker", {}, player=0, seed=1)
        >>> result.estimate.kind, result.estimate.low > 0.5
        ('lower bound', True)

    Reference: Lisý, Bowling 2017, "Equilibrium approximation quality of current no-limit poker bots", section "Local
    best response". Differs from it in that it takes any game, all legal actions and any rollout policy, and in the
    control variates.
    """
    stop = Stop(num_games, seconds, confidence, progress)
    responders = _Responders(game, policy, rollout, Lookahead(max_histories, num_rollouts, max_nodes), seed)
    require_player(responders.game, player)
    response = responders.response(player)
    payoffs, spent = responders.play(response, player, stop)
    return LocalBestResponse(mean_estimate(payoffs, "lower bound", confidence, spent), response)


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

    It is the sum over players of (value of the local best response - value of the policy) / number of players. The
    policy's values are needed only in games without a constant sum of payoffs. There, as many games estimate them.

    Args:
        game: See `local_best_response`, also for errors and for what is not listed here.
        policy: The policy to evaluate.
        num_games: Games per player, at least 4; None for no limit.
        seconds: Of wall-clock time per player, or None for no limit.

    Example:
        >>> from mccfr_plus.evaluation import exploitability_lower_bound
        >>> bound = exploitability_lower_bound("kuhn_poker", {}, seed=1)  # of uniform play: 0.458
        >>> 0.3 < bound.estimate.low < 0.458
        True

    Reference: Lisý, Bowling 2017, "Equilibrium approximation quality of current no-limit poker bots".
    """
    stop = Stop(num_games, seconds, confidence, progress)
    responders = _Responders(game, policy, rollout, Lookahead(max_histories, num_rollouts, max_nodes), seed)
    players = range(responders.game.num_players())
    played = [responders.play(responders.response(player), player, stop) for player in players]
    responses = tuple(mean_estimate(payoffs, "lower bound", confidence, spent) for payoffs, spent in played)
    constant = sum_of_payoffs(responders.game)
    if constant is None:
        played += [responders.play(responders.behavior, player, stop) for player in players]
    share = 1 / len(players)
    bound = sum_estimate(
        [payoffs for payoffs, _ in played],
        [share if index < len(players) else -share for index in range(len(played))],
        0.0 if constant is None else -constant * share,
        "lower bound",
        confidence,
        sum(spent for _, spent in played),
    )
    return ExploitabilityBound(bound, responses)
