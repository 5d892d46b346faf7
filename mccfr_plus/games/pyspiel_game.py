"""The `pyspiel.Game`, `pyspiel.State` and observer of all games with compiled rules."""

import os
import sys
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pyspiel

from mccfr_plus.errors import shortened
from mccfr_plus.games.game import RulesGame, one_hot_begins
from mccfr_plus.games.rules import CHANCE, MOVER, NOW, RECALLED, TERMINAL


class _Position:
    """The words of a state and values derived from them. One object, because OpenSpiel copies attributes one by one."""

    __slots__ = ("_choices", "game", "mover", "words")

    def __init__(self, game: RulesGame, words: np.ndarray):
        self.game = game  # never changes. No `pyspiel.Game`: OpenSpiel may put another object in its place
        self.words = words
        self.refresh()

    def __deepcopy__(self, memo: dict) -> "_Position":
        return _Position(self.game, self.words.copy())

    def refresh(self) -> None:
        self.mover = self.words.item(MOVER)
        self._choices: tuple[list[int], list[float]] | None = None

    def choices(self) -> tuple[list[int], list[float]]:
        if self._choices is None:
            self._choices = self.game.choices(self.words)
        return self._choices


class PyspielState(pyspiel.State):
    """A state of a `PyspielGame`. Created only by ``game.new_initial_state()``.

    C++ calls the methods with an underscore and the observer. The methods without an underscore spare Python the detour
    through C++, which takes up to ten times as long.
    """

    def __init__(self, game: "PyspielGame"):
        super().__init__(game)
        own = game.rules_game
        self._position = _Position(own, own.first_state.copy())

    @property
    def rules_game(self) -> RulesGame:
        """The game's rules and sizes."""
        return self._position.game

    @property
    def words(self) -> np.ndarray:
        """The state's vector, int64, read-only."""
        words = self._position.words.view()
        words.flags.writeable = False
        return words

    def current_player(self) -> int:
        """Returns the player to move, or the ids of chance or of terminal states (`pyspiel.PlayerId`)."""
        return self._position.mover

    def is_terminal(self) -> bool:
        """Returns whether the game is over."""
        return self._position.mover == TERMINAL

    def is_chance_node(self) -> bool:
        """Returns whether chance is to move."""
        return self._position.mover == CHANCE

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """Returns the outcomes of chance and their probabilities."""
        position = self._position
        if position.mover != CHANCE:
            raise ValueError("chance_outcomes: this is not a chance node; see current_player().")
        return list(zip(*position.choices(), strict=True))

    def returns(self) -> list[float]:
        """Returns each player's payoff; zeros before the end of the game."""
        game = self._position.game
        return game.returns(self._position.words) if self.is_terminal() else [0.0] * game.sizes.num_players

    def look(self, player: int) -> np.ndarray:
        """Returns a player's view: an int64 entry for each place of the game's fields."""
        game = self._position.game
        if not 0 <= player < game.sizes.num_players:
            raise ValueError(f"player={player}: this game has players 0 to {game.sizes.num_players - 1}.")
        return game.look(self._position.words, player)

    def information_state_string(self, player: int | None = None) -> str:
        """Returns a player's information state as a text; by default, that of the player to move."""
        player = self._position.mover if player is None else player
        return self._position.game.view_text(player, self.look(player).tolist())

    def legal_actions(self, player: int | None = None) -> list[int]:
        """Returns a player's legal actions, empty unless it is to move; by default, those of the player to move."""
        return list(self._position.choices()[0]) if player in (None, self._position.mover) else []

    _legal_actions = legal_actions

    def _apply_action(self, action: int) -> None:
        position, game = self._position, self._position.game
        (legal, _), mover = position.choices(), position.mover
        if action not in legal:
            who = {CHANCE: "chance", TERMINAL: "any player, as the game is over"}.get(mover, f"player {mover}")
            given = f"action {action} is not legal in {shortened(game)} for {who}"
            raise ValueError(
                f"{given}: the legal actions after the history {shortened(self.history())} are {shortened(legal)}."
            )
        game.rules.apply(game.parameters, game.table, position.words, action)
        position.refresh()

    def _action_to_string(self, player: int, action: int) -> str:
        game = self._position.game
        return game.outcome_text(action) if player == CHANCE else game.action_text(player, action)

    def __str__(self) -> str:
        game, words = self._position.game, self._position.words
        views = enumerate(game.look(words, player).tolist() for player in range(game.sizes.num_players))
        lines = [game.view_text(player, view, game.sizes.places(hidden=None)) for player, view in views]
        return game.state_text(words) or "\n".join([*lines, f"history={' '.join(map(str, self.history()))}"])


class RulesObserver:
    """Writes the player and the fields of an observation as one-hot vectors.

    `tensor` is float32 of one dimension; `dict` has views of the same memory for each field, ``[count, size]``.
    """

    def __init__(self, game: RulesGame, kind: pyspiel.IIGObservationType, params: Mapping[str, Any] | None):
        if params:
            raise ValueError(f"observers of {shortened(game)} take no parameters: leave out {shortened(dict(params))}.")
        private = kind.private_info == pyspiel.PrivateInfoType.SINGLE_PLAYER
        hidden = NOW if kind.perfect_recall else RECALLED
        self._game = game
        self._places = game.sizes.places(hidden, private=private, public=kind.public_info)
        begins, size = one_hot_begins(game.sizes.num_players, self._places)
        self._entries, self._begins = np.array(list(begins), np.int64), np.array(list(begins.values()), np.int64)
        self.tensor = np.zeros(size, np.float32)
        end = game.sizes.num_players
        self.dict = {"player": self.tensor[:end]}
        for _, each in self._places:
            begin, end = end, end + each.count * each.size
            self.dict[each.name] = self.tensor[begin:end].reshape(each.count, each.size)

    def set_from(self, state: Any, player: int) -> None:
        """Writes the player's observation of a state to `tensor` and `dict`."""
        view = state.look(player)  # first: it may refuse the player
        self.tensor.fill(0.0)
        self.tensor[player] = 1.0
        self.tensor[self._begins + view[self._entries]] = 1.0

    def string_from(self, state: Any, player: int) -> str:
        """Returns the player's observation of a state as a text."""
        return self._game.view_text(player, state.look(player).tolist(), self._places)


class PyspielGame(pyspiel.Game):
    """A `RulesGame` as an OpenSpiel game. Created by ``pyspiel.load_game``."""

    rules_class: ClassVar[type[RulesGame]]

    def __init__(self, params: Mapping[str, Any] | None = None):
        own = self.rules_class(params)
        names = ["num_distinct_actions", "max_chance_outcomes", "num_players", "min_utility", "max_utility"]
        names += ["utility_sum", "max_game_length"]
        info = pyspiel.GameInfo(**{name: getattr(own.sizes, name) for name in names})
        super().__init__(game_type(self.rules_class), info, params or {})
        self.rules_game = own

    @cached_property
    def rules_game(self) -> RulesGame:
        """The game's rules and sizes."""
        # OpenSpiel may hand out another Python object for the same game, with nothing in it.
        return self.rules_class(self.get_parameters())

    def __reduce__(self) -> tuple:
        # Not by its text, in which OpenSpiel rounds parameters that are floats.
        return pyspiel.load_game, (self.get_type().short_name, self.get_parameters())

    def new_initial_state(self) -> PyspielState:
        """Returns the state at the start of the game."""
        return PyspielState(self)

    def make_py_observer(
        self, iig_obs_type: pyspiel.IIGObservationType | None = None, params: Mapping[str, Any] | None = None
    ) -> RulesObserver:
        """Returns an observer for `open_spiel.python.observation`."""
        kind = iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False)
        return RulesObserver(self.rules_game, kind, params)

    def max_chance_nodes_in_history(self) -> int:
        """Returns the maximum number of chance nodes in a history."""
        return self.rules_game.sizes.max_chance_nodes


def game_type(game: type[RulesGame]) -> pyspiel.GameType:
    """Returns the type under which OpenSpiel registers a game."""
    chance = pyspiel.GameType.ChanceMode
    return pyspiel.GameType(
        short_name=game.short_name,
        long_name=game.long_name,
        dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
        chance_mode=chance.EXPLICIT_STOCHASTIC if game.rules.outcomes else chance.DETERMINISTIC,
        information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
        utility=game.utility,
        reward_model=pyspiel.GameType.RewardModel.TERMINAL,
        max_num_players=10,
        min_num_players=1,
        parameter_specification=dict(game.defaults),
        provides_information_state_string=True,
        provides_information_state_tensor=True,
        provides_observation_string=True,
        provides_observation_tensor=True,
        provides_factored_observation_string=True,
    )


_registered: dict[str, type[RulesGame]] = {}


def register_game(game: type[RulesGame]) -> type[RulesGame]:
    """Registers a game for ``pyspiel.load_game``; can be used as a decorator of the class.

    A class that is defined a second time replaces the first, since a notebook cell may run twice, and Numba imports a
    program as a module to load its kernels from disk.

    Raises:
        ValueError: If the class is incomplete, or OpenSpiel has another game with this name.
    """
    lacking = [what for what in ("short_name", "long_name", "rules") if not hasattr(game, what)]
    lacking += sorted(game.__abstractmethods__)
    if lacking:
        raise ValueError(f"{game.__name__} cannot be registered: define {', '.join(lacking)}.")
    name = game.short_name
    former = _registered.get(name)
    if name in pyspiel.registered_names() and (former is None or _origin(former) != _origin(game)):
        raise ValueError(f"{name!r} is already registered with OpenSpiel: choose another short_name.")
    loaded = type(game.__name__, (PyspielGame,), {"rules_class": game, "__module__": game.__module__})
    pyspiel.register_game(game_type(game), loaded)
    _registered[name] = game
    return game


def _origin(game: type[RulesGame]) -> tuple[str, str]:
    """Returns the file in which a class is defined, or its module if that has no file, and the name of the class."""
    file = getattr(sys.modules.get(game.__module__), "__file__", None)
    return os.path.realpath(file) if file else game.__module__, game.__qualname__
