"""The contract for games whose rules are compiled: a state is a vector of integers, the rules are kernels.

The `pyspiel.State` of OpenSpiel's algorithms (`mccfr_plus.games.pyspiel_game`) and the compiled tree
(`mccfr_plus.trees`) are both made from these kernels.

A state's first word, ``state[MOVER]``, says who is to move: a player's number, `CHANCE` or `TERMINAL`, as in
`pyspiel.PlayerId`. The game defines all other words. The kernels, compiled with ``numba.njit``:

    start(parameters, table, state)
        Writes the initial state into a vector of zeros.
    legal(parameters, table, state, actions) -> count
        Writes the legal actions of the player to move, ascending, and returns how many there are.
    outcomes(parameters, table, state, actions, probabilities) -> count
        The same for chance, with probabilities that sum to 1. None if there is no chance in the game.
    apply(parameters, table, state, action)
        Plays a legal action of a player or of chance. Modifies the state in place.
    returns(parameters, table, state, payoffs)
        Writes each player's payoff at the end of the game into a vector of zeros.
    look(parameters, table, state, player, view)
        Writes what the player knows, one entry per place of the layout's `Field`s, into a vector of zeros.

One more kernel is optional, for the player to move. With it, a traversal with compiled rules follows infosets by a
table, which is faster than finding them by what `look` writes:

    observe(parameters, table, state, player, action) -> code
        What the player has learned since its own last action, which is `action`, as a number in
        0 .. max_observations - 1 of the layout. The player's last infoset, `action` and the code determine the infoset,
        and, where the player has perfect recall, the infoset determines these three. Before the player's first action,
        `action` is -1, and the code is in 0 .. max_first_observations - 1 and determines the infoset alone.

``parameters`` is an int64 vector and ``table`` a float64 vector, both made once per game; ``state``, ``actions`` and
``view`` are int64, ``probabilities`` and ``payoffs`` float64. A kernel must not write past their ends: compiled code
does not check it; `mccfr_plus.check_game` does.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import pyspiel

from mccfr_plus.errors import shortened

# The word of a state with the player to move, and its values other than players.
MOVER = 0
CHANCE = int(pyspiel.PlayerId.CHANCE)
TERMINAL = int(pyspiel.PlayerId.TERMINAL)

ALWAYS, RECALLED, NOW = "always", "recalled", "now"  # when a field is seen

_Value = TypeVar("_Value")


@dataclass(frozen=True)
class Rules:
    """The kernels of a game; the module's docstring describes each of them."""

    start: Callable
    legal: Callable
    apply: Callable
    returns: Callable
    look: Callable
    outcomes: Callable | None = None
    observe: Callable | None = None


@dataclass(frozen=True)
class Field:
    """One piece of a player's information: `count` adjacent places, each with a value in 0 .. size - 1.

    An information state consists of the values of all fields except those with ``when="now"``, an observation of all
    fields except those with ``when="recalled"``.

    Args:
        name: The field's name in texts and tensors.
        size: Number of possible values of a place, at least 1.
        count: Number of places.
        private: Whether only the player sees the field.
        when: ``"always"``; ``"recalled"``: part of information states only, such as the order of past moves; ``"now"``:
            part of observations only, such as a score that follows from them.
        symbols: The text of each value. Default: numbers. Places are separated by spaces unless all symbols are single
            characters. Places with an empty symbol are left out.
        write: A function that turns the values of all places into a text instead, different for different values.
        turned: A function that returns the image of a value under a symmetry, a permutation of actions. Default: the
            value itself.
    """

    name: str
    size: int
    count: int = 1
    private: bool = False
    when: str = ALWAYS
    symbols: str | Sequence[str] | None = None
    write: Callable[[int, Sequence[int]], str] | None = None
    turned: Callable[[int, Sequence[int]], int] | None = None

    def __post_init__(self) -> None:
        given = f"Field(name={self.name!r})"
        if self.size < 1 or self.count < 0:
            raise ValueError(f"{given}: size must be at least 1 and count at least 0.")
        if self.when not in (ALWAYS, RECALLED, NOW):
            raise ValueError(f"{given}: `when` must be one of {ALWAYS!r}, {RECALLED!r} and {NOW!r}.")
        if self.symbols is not None and len(self.symbols) != self.size:
            raise ValueError(f"{given}: give {self.size} symbols, one per value.")

    def text(self, player: int, values: Sequence[int]) -> str:
        """Returns the values of the field's places, as the player sees them, as a text."""
        if self.write is not None:
            return self.write(player, values)
        if self.symbols is None:
            return " ".join(map(str, values))
        return self._separator.join([text for value in values if (text := self.symbols[value])])

    @cached_property
    def _separator(self) -> str:
        return "" if max(map(len, self.symbols or ()), default=0) <= 1 else " "


@dataclass(frozen=True)
class Layout:
    """The sizes of a game with given parameters.

    Args:
        state_size: Number of words of a state.
        fields: The players' information, in the order in which `look` writes it.
        num_distinct_actions: Actions of players are 0 .. num_distinct_actions - 1.
        max_game_length: Maximum number of players' actions in one history.
        min_utility: Smallest payoff.
        max_utility: Largest payoff.
        max_chance_outcomes: Outcomes of chance are 0 .. max_chance_outcomes - 1; 0: no chance.
        max_chance_nodes: Maximum number of chance outcomes in one history.
        num_players: Number of players.
        utility_sum: Sum of all players' payoffs; None if it varies.
        parameters: The kernels' argument ``parameters``.
        table: The kernels' argument ``table``, or a function that returns it, called when it is first needed.
        max_observations: Upper limit (exclusive) of the codes of `observe`; 0 if there is no such kernel.
        max_first_observations: Upper limit (exclusive) of the codes of `observe` before a player's first action.
        perfect_recall: Whether an infoset determines the player's earlier infosets and actions.
        symmetries: Permutations of the players' actions that preserve legal actions, payoffs and codes of `observe`: a
            group, the identity first; see `mccfr_plus.games.symmetries`. Default: none.
    """

    state_size: int
    fields: tuple[Field, ...]
    num_distinct_actions: int
    max_game_length: int
    min_utility: float
    max_utility: float
    max_chance_outcomes: int = 0
    max_chance_nodes: int = 0
    num_players: int = 2
    utility_sum: float | None = 0.0
    parameters: Sequence[int] | np.ndarray = ()
    table: Sequence[float] | np.ndarray | Callable[[], np.ndarray] = field(default=(), repr=False)
    max_observations: int = 0
    max_first_observations: int = 0
    perfect_recall: bool = True
    symmetries: Sequence[Sequence[int]] = ()

    def __post_init__(self) -> None:
        if self.state_size < 1:
            raise ValueError(f"state_size={self.state_size}: a state needs a word that stores the player to move.")
        names = ["player", *(each.name for each in self.fields)]  # observers keep these by name
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"the field name {name!r} is taken: give each field a different name.")

    @property
    def view_size(self) -> int:
        """Number of entries that `look` writes."""
        return sum(each.count for each in self.fields)

    def places(self, hidden: str | None, *, private: bool = True, public: bool = True) -> list[tuple[int, Field]]:
        """Returns fields, each with its first index in the output of `look`.

        Fields whose `when` is `hidden` are left out: `NOW` for information states, `RECALLED` for observations.
        """
        begins = itertools.accumulate((each.count for each in self.fields), initial=0)
        placed = zip(begins, self.fields, strict=False)
        return [(i, each) for i, each in placed if each.when != hidden and (private if each.private else public)]


class Parameters(dict[str, Any]):
    """The parameters of a game by name, with the defaults filled in.

    The methods raise a ValueError that states the given and the allowed values.
    """

    def require(self, is_allowed: object, message: str, *names: str) -> None:
        """Raises a ValueError with the parameters' values and a message unless a condition holds."""
        if not is_allowed:
            given = ", ".join(f"{name}={shortened(repr(self[name]))}" for name in names)
            raise ValueError(f"{given}: {message}.")

    def whole_number(self, name: str, least: int, most: int, why: str = "") -> int:
        """Returns an integer within inclusive bounds; `why` explains the bounds."""
        value = self[name]
        is_allowed = isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
        self.require(is_allowed, f"give an integer from {least:,} to {most:,}{why and f' ({why})'}", name)
        return value

    def one_of(self, name: str, choices: Mapping[str, _Value]) -> _Value:
        """Returns the value that a text stands for."""
        self.require(self[name] in choices, f"give one of {', '.join(choices)}", name)
        return choices[self[name]]

    def switch(self, name: str) -> bool:
        """Returns True or False."""
        self.require(isinstance(self[name], bool), "give True or False", name)
        return self[name]
