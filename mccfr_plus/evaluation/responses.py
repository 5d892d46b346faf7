"""Approximate best responses as policies, and the payoff that each of them has."""

import random

import pyspiel
from open_spiel.python import policy as openspiel_policy

from mccfr_plus.evaluation.behavior import Behavior, RowOf, joined
from mccfr_plus.evaluation.estimates import Estimate, Kind
from mccfr_plus.evaluation.play import Stop, payoff_estimate


class Response(openspiel_policy.Policy):
    """The joint policy that was evaluated, with one player's strategy replaced by a response to it.

    Args:
        row_of: The response: the distribution at each of the player's nodes, a function of the information state.
        behavior: The policy that was evaluated.
    """

    def __init__(self, game: pyspiel.Game, player: int, row_of: RowOf, behavior: Behavior):
        super().__init__(game, list(range(game.num_players())))
        self.player = player
        self.row = joined(player, row_of, behavior.row)

    def action_probabilities(self, state: pyspiel.State, player_id: int | None = None) -> dict[int, float]:
        """Returns {action: probability} of the player to move; `player_id` is ignored."""
        row = self.row(state)
        return dict(zip(row.actions, row.probabilities, strict=True))

    def payoff(self, rng: random.Random, stop: Stop, kind: Kind = "lower bound") -> Estimate:
        """Returns the estimate of the player's payoff: a lower bound of the best response's value."""
        return payoff_estimate(self.game, self.row, self.player, rng, kind, stop)
