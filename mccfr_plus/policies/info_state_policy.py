"""One player's policy by information state string, uniform elsewhere."""

import pyspiel

from mccfr_plus.policies.table import TablePolicy


class InfoStatePolicy(TablePolicy):
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

    def _row_at(self, state: pyspiel.State, player: int) -> dict[int, float] | None:
        if player != self.player:
            return None
        key = state.information_state_string(player)
        line = f"Current player: {player}\n"  # of OpenSpiel's conversion to turn-based, before the original
        names = (key, key.removeprefix(line), line + key)
        return next((dict(self.rows[name]) for name in names if name in self.rows), None)
