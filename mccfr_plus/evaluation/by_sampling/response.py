"""One player's response to a policy, as an OpenSpiel policy."""

from __future__ import annotations

from collections.abc import Callable

import pyspiel
from open_spiel.python import policy as openspiel_policy

from mccfr_plus.evaluation.by_sampling.behavior import Behavior, Row


class Response(openspiel_policy.Policy):
    """The joint policy that was evaluated, with one player's part replaced by a response to it.

    Args:
        game: The turn-based game.
        player: Who responds.
        row_of: What the player does at a decision node.
        behavior: What all others do.
    """

    def __init__(self, game: pyspiel.Game, player: int, row_of: Callable[[pyspiel.State], Row], behavior: Behavior):
        super().__init__(game, list(range(game.num_players())))
        self.player = player
        self._row_of = row_of
        self._behavior = behavior

    def row(self, state: pyspiel.State) -> Row:
        """Returns what is played at a decision node."""
        return self._row_of(state) if state.current_player() == self.player else self._behavior.row(state)

    def action_probabilities(self, state: pyspiel.State, player_id: int | None = None) -> dict[int, float]:
        """Returns {action: probability} of the player to move; `player_id` is not looked at."""
        row = self.row(state)
        return dict(zip(row.actions, row.probabilities, strict=True))
