"""A game that only processes which import this module know."""

import pyspiel
from open_spiel.python.games import kuhn_poker

NAME = "python_hidden_kuhn"

_KNOWN = pyspiel.load_game("python_kuhn_poker").get_type()
_TYPE = pyspiel.GameType(
    short_name=NAME,
    long_name="Kuhn poker under another name",
    **{
        field: getattr(_KNOWN, field)
        for field in (
            "dynamics",
            "chance_mode",
            "information",
            "utility",
            "reward_model",
            "max_num_players",
            "min_num_players",
            "provides_information_state_string",
            "provides_information_state_tensor",
            "provides_observation_string",
            "provides_observation_tensor",
            "provides_factored_observation_string",
        )
    },
    parameter_specification={},
)


class HiddenGame(kuhn_poker.KuhnPokerGame):
    def __init__(self, params=None):
        super(kuhn_poker.KuhnPokerGame, self).__init__(_TYPE, kuhn_poker._GAME_INFO, params or {})


pyspiel.register_game(_TYPE, HiddenGame)
