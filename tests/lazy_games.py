"""Python games of OpenSpiel that go wrong where a test wants them to."""

from __future__ import annotations

import pyspiel

_TYPE = pyspiel.GameType(
    short_name="python_faulty",
    long_name="A game that goes wrong",
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
    parameter_specification={"length": 6},
    provides_factored_observation_string=False,
)


class Fault:
    """What goes wrong, and when: set by tests."""

    method = ""  # of the state
    countdown = 0  # calls of it until then
    error: BaseException | None = None  # to raise; None: the method's answer is `answer`
    answer: object = None

    @classmethod
    def strikes(cls, method: str) -> bool:
        if method != cls.method:
            return False
        cls.countdown -= 1
        if cls.countdown:
            return False
        if cls.error is not None:
            raise cls.error
        return True

    @classmethod
    def set(cls, method: str, countdown: int, error: BaseException | None = None, answer: object = None) -> None:
        cls.method, cls.countdown, cls.error, cls.answer = method, countdown, error, answer


class FaultyGame(pyspiel.Game):
    """Both players choose one of three actions in turn, after a coin was thrown that only the first one sees."""

    moves_too_many = 0  # more than the game says
    recall = "perfect"  # so that no sample of plays looks for it, which a fault would strike instead

    def __init__(self, params: dict | None = None):
        length = int((params or {}).get("length", 6))
        info = pyspiel.GameInfo(
            num_distinct_actions=3,
            max_chance_outcomes=2,
            num_players=2,
            min_utility=-9.0,
            max_utility=9.0,
            utility_sum=0.0,
            max_game_length=length,
        )
        super().__init__(_TYPE, info, params or {})
        self.length = length

    def new_initial_state(self) -> FaultyState:
        return FaultyState(self)

    def make_py_observer(self, iig_obs_type=None, params=None):
        return None


class FaultyState(pyspiel.State):
    def __init__(self, game: FaultyGame):
        super().__init__(game)
        self._length = game.length + game.moves_too_many
        self._coin: int | None = None
        self._moves: list[int] = []

    def current_player(self) -> int:
        if Fault.strikes("current_player"):
            return Fault.answer
        if self._coin is None:
            return pyspiel.PlayerId.CHANCE
        return pyspiel.PlayerId.TERMINAL if len(self._moves) >= self._length else len(self._moves) % 2

    def _legal_actions(self, player: int) -> list[int]:
        if Fault.strikes("legal_actions"):
            return Fault.answer
        return [0, 1, 2]

    def chance_outcomes(self) -> list[tuple[int, float]]:
        if Fault.strikes("chance_outcomes"):
            return Fault.answer
        return [(0, 0.5), (1, 0.5)]

    def _apply_action(self, action: int) -> None:
        Fault.strikes("apply_action")
        if self._coin is None:
            self._coin = action
        else:
            self._moves.append(action)

    def _action_to_string(self, player: int, action: int) -> str:
        return str(action)

    def information_state_string(self, player: int | None = None) -> str:
        Fault.strikes("information_state_string")
        seen = self._coin if self.current_player() == 0 else "?"
        return f"{seen} {self._moves}"

    def is_terminal(self) -> bool:
        return self._coin is not None and len(self._moves) >= self._length

    def returns(self) -> list[float]:
        if Fault.strikes("returns"):
            return Fault.answer
        won = (sum(self._moves) + (self._coin or 0)) % 5 - 2.0
        return [won, -won]

    def __str__(self) -> str:
        return f"{self._coin} {self._moves}"


pyspiel.register_game(_TYPE, FaultyGame)
