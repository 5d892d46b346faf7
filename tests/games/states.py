"""States after given actions, for histories that are worked out by hand."""

import pyspiel


def after(game, *actions):
    """Returns the state of a game, or of a game string, after actions."""
    state = (pyspiel.load_game(game) if isinstance(game, str) else game).new_initial_state()
    for action in actions:
        state.apply_action(action)
    return state
