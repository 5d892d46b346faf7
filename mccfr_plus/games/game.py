"""A game with compiled rules: its sizes, its kernels and its texts."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pyspiel

from mccfr_plus.errors import shortened
from mccfr_plus.games.rules import CHANCE, MOVER, NOW, Field, Layout, Parameters, Rules


def one_hot_begins(num_players: int, places: Sequence[tuple[int, Field]]) -> tuple[dict[int, int], int]:
    """Returns where the one-hot vector of each entry of `look` begins in a tensor, and the tensor's size."""
    sizes = [each.size for _, each in places for _ in range(each.count)]
    *begins, end = np.cumsum([num_players, *sizes]).tolist()
    entries = (begin + index for begin, each in places for index in range(each.count))
    return dict(zip(entries, begins, strict=True)), end


class RulesGame(ABC):
    """A game whose rules are kernels. OpenSpiel can load it after `register_game`.

    A subclass sets the attributes below and defines `layout`; it may also define texts. In OpenSpiel, the game is a
    `mccfr_plus.games.PyspielGame`.

    Args:
        params: Parameters that differ from the defaults.

    Raises:
        ValueError: If a parameter is unknown or out of range.

    Attributes:
        short_name: The game's name for ``pyspiel.load_game``.
        long_name: The game's title.
        defaults: The parameters and their default values: numbers, booleans or strings.
        rules: The kernels.
        utility: The type of the payoffs, such as zero-sum.
        action_names: Names of actions; if empty, `action_text` writes them, by default as numbers.
        given: The parameters with the defaults filled in.
        sizes: The `Layout` for these parameters.
    """

    short_name: ClassVar[str]
    long_name: ClassVar[str]
    defaults: ClassVar[Mapping[str, Any]] = {}
    rules: ClassVar[Rules]
    deal: Any = None  # a `games.deal.Deal`, if the public tree can be made from it
    utility: ClassVar[pyspiel.GameType.Utility] = pyspiel.GameType.Utility.ZERO_SUM
    action_names: ClassVar[Sequence[str]] = ()

    def __init__(self, params: Mapping[str, Any] | None = None):
        unknown = set(params or {}) - set(self.defaults)
        if unknown:
            raise ValueError(f"{self.short_name} has no parameter {shortened(', '.join(sorted(unknown)))}.")
        self.given = Parameters({**self.defaults, **(params or {})})
        self.sizes = self.layout(self.given)
        if any(number != int(number) for number in self.sizes.parameters):
            given = f"parameters={shortened(self.sizes.parameters)}"
            raise ValueError(f"{given} of the layout must be integers: put fractions into `table`.")
        # Not made read-only: Numba takes several times as long to accept such an array.
        self.parameters = np.array(self.sizes.parameters, np.int64)
        self.most_actions = max(self.sizes.num_distinct_actions, self.sizes.max_chance_outcomes)
        self._information_state = self.sizes.places(hidden=NOW)
        self._one_hot, _ = one_hot_begins(self.sizes.num_players, self._information_state)

    def __reduce__(self) -> tuple:
        return type(self), (dict(self.given),)

    def __str__(self) -> str:
        return f"{self.short_name}({','.join(f'{name}={value}' for name, value in self.given.items())})"

    __repr__ = __str__

    @classmethod
    @abstractmethod
    def layout(cls, parameters: Parameters) -> Layout:
        """Returns the sizes of the game with these parameters, which have an entry for each one of `defaults`.

        Raises:
            ValueError: If a parameter is out of range; the message states the allowed values.
        """

    def action_text(self, player: int, action: int) -> str:
        """Returns the name of a player's action."""
        return self.action_names[action] if self.action_names else str(action)

    def outcome_text(self, outcome: int) -> str:
        """Returns the name of an outcome of chance."""
        return f"chance {outcome}"

    def state_text(self, state: np.ndarray) -> str:
        """Returns a state as a text; by default empty: states are then shown by all fields and the history."""
        return ""

    def tensor_cells(self, player: int, place: int, value: int) -> Sequence[int] | None:
        """Returns the entries of a player's information-state tensor that become 1 if an entry of `look` has a value.

        Place -1 stands for a player without information. An entry that becomes 0 is ``~number``. Returns None if
        tensors do not have this form.
        """
        if place < 0:
            return [player]
        return [self._one_hot[place] + value] if place in self._one_hot else []

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

    def words_after(self, history: Sequence[int]) -> np.ndarray:
        """Returns the words of the state after a history, int64."""
        words = self.first_state.copy()
        for action in history:
            self.rules.apply(self.parameters, self.table, words, action)
        return words

    def view_after(self, history: Sequence[int], player: int) -> np.ndarray:
        """Returns what a public tree tells a player after a history: the output of `look`."""
        return self.look(self.words_after(history), player)

    def choices(self, words: np.ndarray) -> tuple[list[int], list[float]]:
        """Returns the legal actions, or the outcomes of chance and their probabilities; nothing at the end."""
        actions, probabilities, count = np.empty(self.most_actions, np.int64), np.empty(0), 0
        if words[MOVER] >= 0:
            count = self.rules.legal(self.parameters, self.table, words, actions)
        elif words[MOVER] == CHANCE and self.rules.outcomes is not None:
            probabilities = np.empty(self.sizes.max_chance_outcomes)
            count = self.rules.outcomes(self.parameters, self.table, words, actions, probabilities)
        return actions[:count].tolist(), probabilities[:count].tolist()

    def returns(self, words: np.ndarray) -> list[float]:
        """Returns each player's payoff at the end of the game."""
        payoffs = np.zeros(self.sizes.num_players)
        self.rules.returns(self.parameters, self.table, words, payoffs)
        return payoffs.tolist()

    def look(self, words: np.ndarray, player: int) -> np.ndarray:
        """Returns a player's view of a state: an int64 entry for each place of the game's fields."""
        view = np.zeros(self.sizes.view_size, np.int64)
        self.rules.look(self.parameters, self.table, words, player, view)
        return view

    def view_text(self, player: int, view: Sequence[int], places: Sequence[tuple[int, Field]] | None = None) -> str:
        """Returns the output of `look` as a text; `places` are those of `Layout.places`, or of information states."""
        places = self._information_state if places is None else places
        texts = [f"{each.name}={each.text(player, view[begin : begin + each.count])}" for begin, each in places]
        return " ".join([f"player={player}", *texts])


class OpenSpielRules(RulesGame):
    """The compiled rules of one of OpenSpiel's own games, in place of its C++: same actions, chance, payoffs, infosets.

    Their order is also OpenSpiel's, so that a tree from the rules is bitwise the one through pyspiel. `layout` refuses
    parameters that have no rules.
    """

    @abstractmethod
    def view_text(self, player: int, view: Sequence[int], places: Any = None) -> str:
        """Returns OpenSpiel's information state of the player to move; `places` is ignored: it writes observations."""

    def tensor_cells(self, player: int, place: int, value: int) -> Sequence[int] | None:
        """Returns the entries of OpenSpiel's tensor; None if only OpenSpiel can write it."""
        return None
