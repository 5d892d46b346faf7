"""A game in plain Python: coin toss (Brown, Sandholm 2017, "Safe and nested subgame solving", figure 1).

Chance tosses a coin that only player 0 sees. Player 0 either sells the coin, for 0.5 if it shows heads and for -0.5
otherwise, or plays. If player 0 plays, player 1 guesses the side; player 0 loses 1 if the guess is right and wins 1 if
it is wrong.

Import this module to register the game: `pyspiel.load_game("coin_toss")`.
"""

import pyspiel

SELL, PLAY = 0, 1
HEADS = 0

GAME_TYPE = pyspiel.GameType(
    short_name="coin_toss",
    long_name="Coin toss",
    dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
    chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
    information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
    utility=pyspiel.GameType.Utility.ZERO_SUM,
    reward_model=pyspiel.GameType.RewardModel.TERMINAL,
    max_num_players=2,
    min_num_players=2,
    provides_information_state_string=True,
    provides_information_state_tensor=False,
    provides_observation_string=False,
    provides_observation_tensor=False,
)
GAME_INFO = pyspiel.GameInfo(
    num_distinct_actions=2, max_chance_outcomes=2, num_players=2, min_utility=-1.0, max_utility=1.0, max_game_length=2
)


class CoinToss(pyspiel.Game):
    """The game."""

    def __init__(self, params=None):
        super().__init__(GAME_TYPE, GAME_INFO, params or {})

    def new_initial_state(self):
        return CoinTossState(self)

    def make_py_observer(self, iig_obs_type=None, params=None):
        return CoinTossObserver()


class CoinTossState(pyspiel.State):
    """A state: the moves so far, the coin first."""

    def __init__(self, game):
        super().__init__(game)
        self.moves = []

    def is_terminal(self):
        return len(self.moves) == 3 or self.moves[1:] == [SELL]

    def current_player(self):
        if self.is_terminal():
            return pyspiel.PlayerId.TERMINAL
        return pyspiel.PlayerId.CHANCE if not self.moves else len(self.moves) - 1

    def chance_outcomes(self):
        return [(0, 0.5), (1, 0.5)]

    def _legal_actions(self, player):
        return [0, 1]

    def _apply_action(self, action):
        self.moves.append(action)

    def returns(self):
        if not self.is_terminal():
            return [0.0, 0.0]
        if self.moves[1] == SELL:
            payoff = 0.5 if self.moves[0] == HEADS else -0.5
        else:
            payoff = -1.0 if self.moves[2] == self.moves[0] else 1.0
        return [payoff, -payoff]

    def information_state_string(self, player=None):
        player = self.current_player() if player is None else player
        return f"coin {'HT'[self.moves[0]]}" if player == 0 else "guess"

    def _action_to_string(self, player, action):
        return ("sell", "play")[action] if player == 0 else "HT"[action]

    def __str__(self):
        return " ".join(map(str, self.moves))


class CoinTossObserver:
    """Tells OpenSpiel's C++ algorithms what players know: they do not ask a state in Python."""

    def __init__(self):
        self.tensor, self.dict = None, {}  # there are only strings

    def set_from(self, state, player):
        pass

    def string_from(self, state, player):
        return state.information_state_string(player)


pyspiel.register_game(GAME_TYPE, CoinToss)
