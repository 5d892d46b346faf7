"""Lower bounds on how much can be won against a policy, by one decision of lookahead."""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyspiel

from mccfr_plus.evaluation.behavior import Behavior, JointPolicy
from mccfr_plus.evaluation.estimates import Estimate, sum_of
from mccfr_plus.evaluation.lookahead import LocalResponder, Lookahead
from mccfr_plus.evaluation.play import Stop, payoff_estimate, require_player, sum_of_payoffs
from mccfr_plus.evaluation.responses import Response
from mccfr_plus.kernels.random_numbers import new_state
from mccfr_plus.parameters import check_whole
from mccfr_plus.trees.loading import load_game


class LocalBestResponse(NamedTuple):
    """A player's payoff with one decision of lookahead."""

    estimate: Estimate  # a lower bound of the best response's value
    policy: Response  # the evaluated policy, with the player's strategy replaced


class ExploitabilityBound(NamedTuple):
    """A lower bound of exploitability."""

    estimate: Estimate  # a lower bound of NashConv / number of players
    responses: tuple[Estimate, ...]  # per player, a lower bound of the best response's value


class Choice(NamedTuple):
    """What determines a local best response."""

    lookahead: Lookahead
    seed: int  # of the expectations that are sampled


@dataclass(frozen=True)
class LocalResponses:
    """Local best responses to one policy."""

    game: pyspiel.Game
    behavior: Behavior  # the policy
    own: Behavior  # how the responding player plays after the decision
    stop: Stop  # for each player
    rng: random.Random  # modified in place

    def choices(self, lookahead: Lookahead) -> Iterator[Choice]:
        """Yields a new choice for each player, drawn when it is needed."""
        return (Choice(lookahead, self.rng.getrandbits(64)) for _ in range(self.game.num_players()))

    def respond(self, player: int, choice: Choice) -> LocalBestResponse:
        """Returns one player's response and the estimate of its payoff."""
        responder = LocalResponder(self.game, self.behavior, player, self.own, *choice, self.stop.deadline)
        policy = Response(self.game, player, responder.row, self.behavior)
        return LocalBestResponse(policy.payoff(self.rng, self.stop), policy)

    def bound(self, choices: Iterable[Choice]) -> ExploitabilityBound:
        """Returns the lower bound of the policy's exploitability by the responses of one choice per player."""
        players, values = range(self.game.num_players()), []
        responses = tuple(self.respond(player, choice).estimate for player, choice in enumerate(choices))
        if sum_of_payoffs(self.game) is None:
            row, rng = self.behavior.row, self.rng
            values = [payoff_estimate(self.game, row, player, rng, "estimate", self.stop) for player in players]
        return ExploitabilityBound(mean_gain(self.game, responses, values), responses)


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
    responses = _prepare(game, policy, rollout, lookahead, stop, seed)
    require_player(responses.game, player)
    return responses.respond(player, next(responses.choices(lookahead)))


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
    responses = _prepare(game, policy, rollout, lookahead, stop, seed)
    return responses.bound(responses.choices(lookahead))


def _prepare(
    game: pyspiel.Game | str,
    policy: JointPolicy,
    rollout: JointPolicy | None,
    lookahead: Lookahead,
    stop: Stop,
    seed: int | np.random.Generator | None,
) -> LocalResponses:
    for name, value in lookahead._asdict().items():
        check_whole(name, value)
    game = load_game(game)
    behavior = Behavior(game, policy)
    own = behavior if rollout is None else Behavior(game, rollout)
    return LocalResponses(game, behavior, own, stop, random.Random(int(new_state(seed)[0])))
