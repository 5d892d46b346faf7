"""The `pyspiel.Game` around compiled rules."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pyspiel

from mccfr_plus.games.observer import RulesObserver
from mccfr_plus.games.parameters import Parameters
from mccfr_plus.games.rules import NOW, Field, Layout, Rules
from mccfr_plus.games.state import RulesState

logger = logging.getLogger("mccfr_plus")


class RulesGame(pyspiel.Game):
    """A game of OpenSpiel, loaded by ``pyspiel.load_game`` once `register_game` has seen it, whose rules are kernels.

    A subclass sets the attributes below and defines `layout`; it may also define how things are written.

    Attributes:
        short_name: Its name for ``pyspiel.load_game``.
        long_name: Its name for people.
        defaults: Its parameters with their defaults, each a number, truth value or text.
        rules: The kernels.
        utility: What payoffs add up to.
        state_type: The class of its states.
    """

    short_name: ClassVar[str]
    long_name: ClassVar[str]
    defaults: ClassVar[Mapping[str, Any]] = {}
    rules: ClassVar[Rules]
    utility: ClassVar[pyspiel.GameType.Utility] = pyspiel.GameType.Utility.ZERO_SUM
    state_type: ClassVar[type[RulesState]] = RulesState

    @classmethod
    def layout(cls, parameters: Parameters) -> Layout:
        """Returns the sizes of the game with these parameters, which have an entry for each one of `defaults`.

        Raises:
            ValueError: If a parameter is out of range; the message says what is allowed.
        """
        raise NotImplementedError(f"{cls.__name__} must define layout")

    def action_text(self, player: int, action: int) -> str:
        """Returns how an action of a player is written."""
        return str(action)

    def outcome_text(self, outcome: int) -> str:
        """Returns how an outcome of chance is written."""
        return f"chance {outcome}"

    def state_text(self, state: np.ndarray) -> str:
        """Returns how a state is written; an empty text stands for its history."""
        return ""

    def __init__(self, params: Mapping[str, Any] | None = None):
        self.sizes = sizes = type(self).layout(Parameters({**self.defaults, **(params or {})}))
        info = pyspiel.GameInfo(
            num_distinct_actions=sizes.num_distinct_actions,
            max_chance_outcomes=sizes.max_chance_outcomes,
            num_players=sizes.num_players,
            min_utility=sizes.min_utility,
            max_utility=sizes.max_utility,
            utility_sum=sizes.utility_sum,
            max_game_length=sizes.max_game_length,
        )
        super().__init__(self.game_type(), info, params or {})
        # Not made read-only: Numba takes several times as long to accept such an array.
        self.parameters = np.array(sizes.parameters, np.int64)
        self.most_actions = max(sizes.num_distinct_actions, sizes.max_chance_outcomes)
        self._information_state = sizes.places(hidden=NOW)

    @classmethod
    def game_type(cls) -> pyspiel.GameType:
        """Returns what OpenSpiel registers."""
        chance = pyspiel.GameType.ChanceMode
        return pyspiel.GameType(
            short_name=cls.short_name,
            long_name=cls.long_name,
            dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
            chance_mode=chance.EXPLICIT_STOCHASTIC if cls.rules.outcomes else chance.DETERMINISTIC,
            information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
            utility=cls.utility,
            reward_model=pyspiel.GameType.RewardModel.TERMINAL,
            max_num_players=10,
            min_num_players=1,
            provides_information_state_string=True,
            provides_information_state_tensor=True,
            provides_observation_string=True,
            provides_observation_tensor=True,
            provides_factored_observation_string=True,
            parameter_specification=dict(cls.defaults),
        )

    @cached_property
    def table(self) -> np.ndarray:
        """The float64 numbers that the kernels read."""
        table = self.sizes.table
        return np.array(table() if callable(table) else table, np.float64)

    @cached_property
    def first_state(self) -> np.ndarray:
        """The words of the initial state, int64."""
        words = np.zeros(self.sizes.state_size, np.int64)
        self.rules.start(self.parameters, self.table, words)
        return words

    def new_initial_state(self) -> RulesState:
        """Returns the state at the start of the game."""
        return self.state_type(self)

    def make_py_observer(
        self, iig_obs_type: pyspiel.IIGObservationType | None = None, params: Mapping[str, Any] | None = None
    ) -> RulesObserver:
        """Returns an object that observes states, as `open_spiel.python.observation` wants it."""
        return RulesObserver(self, iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False), params)

    def view_text(self, player: int, view: Sequence[int], places: Sequence[tuple[int, Field]] | None = None) -> str:
        """Returns what a player knows as a text.

        Args:
            player: The player.
            view: What `look` wrote, as a list.
            places: What to write, as `Layout.places` gives it; None: an information state.
        """
        texts = [f"player={player}"]
        for begin, each in self._information_state if places is None else places:
            texts.append(f"{each.name}={each.text(view[begin : begin + each.count])}")
        return " ".join(texts)

    def max_chance_nodes_in_history(self) -> int:
        """Returns the most outcomes of chance in one history."""
        return self.sizes.max_chance_nodes


def register_game(game_class: type[RulesGame]) -> type[RulesGame]:
    """Makes a game loadable by ``pyspiel.load_game``; also usable as a decorator of the class.

    Raises:
        ValueError: If OpenSpiel has another game of that name.
    """
    if game_class.short_name in pyspiel.registered_names():
        raise ValueError(f"{game_class.short_name!r} is registered with OpenSpiel already: choose another short_name.")
    pyspiel.register_game(game_class.game_type(), game_class)
    return game_class
