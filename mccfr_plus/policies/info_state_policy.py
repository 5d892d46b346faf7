"""One player's policy by information state string, uniform elsewhere."""

import pyspiel
from open_spiel.python import policy as openspiel_policy


class InfoStatePolicy(openspiel_policy.Policy):
    """One player's strategy as an OpenSpiel policy, uniform at other information states and for other players.

    It accepts states of a simultaneous game and of its turn-based conversion.

    Args:
        player: The player.
        rows: Information state string -> {action: probability}. Not copied.
        game: The game, which some of OpenSpiel's functions need.

    Examples:
        >>> import mccfr_plus, pyspiel
        >>> policy = mccfr_plus.InfoStatePolicy(0, {"2": {1: 1.0}})  # bets with the king
        >>> state = pyspiel.load_game("kuhn_poker").new_initial_state()
        >>> for card in (2, 0):
        ...     state.apply_action(card)
        >>> policy.action_probabilities(state)
        {1: 1.0}
    """

    def __init__(self, player: int, rows: dict[str, dict[int, float]], game: pyspiel.Game | None = None):
        super().__init__(game, [player] if game is None else list(range(game.num_players())))
        self.player = player
        self.rows = rows

    def action_probabilities(self, state: pyspiel.State, player_id: int | None = None) -> dict[int, float]:
        """Returns {action: probability} of the player to move, or of `player_id` at a simultaneous node."""
        player = state.current_player() if player_id is None else player_id
        if player == self.player:
            key = state.information_state_string(player)
            line = f"Current player: {player}\n"  # of OpenSpiel's conversion to turn-based, before the original
            for name in (key, key.removeprefix(line), line + key):
                if name in self.rows:
                    return dict(self.rows[name])
        actions = state.legal_actions(player)
        if not actions:  # as OpenSpiel's own policies do where a player has no choice
            return {0: 1.0}
        return dict.fromkeys(actions, 1.0 / len(actions))
