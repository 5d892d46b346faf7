"""Parts of samples in which chance ends all histories before anyone decides."""

import dataclasses

import numpy as np
import pyspiel
import pytest

torch = pytest.importorskip("torch")
from mccfr_plus.neural import (  # noqa: E402
    DREAM,
    ESCHER,
    NFSP,
    BatchedDeepCFR,
    BatchedDREAM,
    BatchedESCHER,
    BatchedNFSP,
    DeepCFR,
    TrainingConfig,
)

KIND = pyspiel.GameType
TYPE = KIND(
    short_name="python_coin_first",
    long_name="A coin, which may end the game before both players choose once",
    dynamics=KIND.Dynamics.SEQUENTIAL,
    chance_mode=KIND.ChanceMode.EXPLICIT_STOCHASTIC,
    information=KIND.Information.IMPERFECT_INFORMATION,
    utility=KIND.Utility.ZERO_SUM,
    reward_model=KIND.RewardModel.TERMINAL,
    max_num_players=2,
    min_num_players=2,
    provides_information_state_string=True,
    provides_information_state_tensor=True,
    provides_observation_string=False,
    provides_observation_tensor=False,
    parameter_specification={},
)
INFO = pyspiel.GameInfo(
    num_distinct_actions=2,
    max_chance_outcomes=2,
    num_players=2,
    min_utility=-1.0,
    max_utility=1.0,
    utility_sum=0.0,
    max_game_length=2,
)


class CoinFirst(pyspiel.Game):
    def __init__(self, params=None):
        super().__init__(TYPE, INFO, params or {})

    def new_initial_state(self):
        return CoinState(self)

    def make_py_observer(self, iig_obs_type=None, params=None):
        return Observer()

    def information_state_tensor_shape(self):
        return [2]


class Observer:
    """A player sees who it is."""

    def __init__(self):
        self.tensor = np.zeros(2, np.float32)
        self.dict = {"player": self.tensor}

    def set_from(self, state, player):
        self.tensor[:] = np.arange(2) == player

    def string_from(self, state, player):
        return str(player)


class CoinState(pyspiel.State):
    def __init__(self, game):
        super().__init__(game)
        self._moves = []

    def current_player(self):
        if not self._moves:
            return pyspiel.PlayerId.CHANCE
        return pyspiel.PlayerId.TERMINAL if self.is_terminal() else len(self._moves) - 1

    def is_terminal(self):
        return len(self._moves) == 3 or self._moves[:1] == [0]

    def _legal_actions(self, player):
        return [0, 1]

    def chance_outcomes(self):
        return [(0, 0.5), (1, 0.5)]

    def _apply_action(self, action):
        self._moves.append(action)

    def _action_to_string(self, player, action):
        return str(action)

    def returns(self):
        value = 2.0 * (self._moves[1] == self._moves[2]) - 1.0 if len(self._moves) == 3 else 0.0
        return [value, -value]


pyspiel.register_game(TYPE, CoinFirst)

SMALL = {"hidden_layers": (4,), "train_steps": 2}
KWARGS = SMALL | {"traversals": 3, "parallel_traversals": 1}
SOLVERS = [
    *((kind, KWARGS) for kind in (DeepCFR, DREAM, BatchedDeepCFR, BatchedDREAM)),
    *((kind, KWARGS | {"value_traversals": 1}) for kind in (ESCHER, BatchedESCHER)),
    *((kind, {"hidden_layers": (4,), "episodes": 4, "parallel_episodes": 1}) for kind in (NFSP, BatchedNFSP)),
    *((BatchedDREAM, KWARGS | {"minimizer": minimizer, "traversals": 1}) for minimizer in ("dcfr+", "pdcfr+")),
]


@pytest.mark.parametrize(("kind", "options"), SOLVERS)
def test_parts_without_decisions(kind, options):
    config = kind.config_class(**options)
    trained = [f"{name}_training" for name in ("baseline", "value", "policy") if hasattr(config, f"{name}_training")]
    config = dataclasses.replace(config, **dict.fromkeys(trained, TrainingConfig(**SMALL)))
    solver = kind("python_coin_first", config, seed=1).run(8)
    assert -1 <= solver.evaluate().values[0] <= 1
