"""Policies that are tables, their rows for data frames and notebooks, and values of information sets."""

import abc
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from html import escape
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyspiel
from open_spiel.python import policy as openspiel_policy

from mccfr_plus.display import data_frame, html_table
from mccfr_plus.errors import PolicyError
from mccfr_plus.estimators.escher import refresh_values
from mccfr_plus.games.openspiel import TURN_BASED
from mccfr_plus.games.rules import CHANCE
from mccfr_plus.kernels.compile import announce_compilation, kernel
from mccfr_plus.trees.abstraction import AbstractGame
from mccfr_plus.trees.flattening import rows_of
from mccfr_plus.trees.game_tree import GameTree
from mccfr_plus.trees.needs import HISTORIES
from mccfr_plus.trees.order import action_names, openspiel_order, representative_states

_SHOWN = 10  # information states in a notebook
_TOLERANCE = 1e-6  # of the sum of a distribution


class PolicyTable(NamedTuple):
    """The columns of a policy, ``[num_rows]`` each; the rows of an information state are adjacent."""

    player: np.ndarray  # int64
    information_state: list[str]  # its text; 32 hexadecimal digits where only its 128-bit key is known
    action: np.ndarray  # int64, OpenSpiel's
    action_name: list[str]
    probability: np.ndarray  # float64
    reach: np.ndarray | None  # float64, of the information state if all players follow the policy; None: not known

    def columns(self) -> dict[str, Any]:
        """Returns the columns that are known, by name."""
        return {name: column for name, column in self._asdict().items() if column is not None}

    def to_dataframe(self) -> Any:
        """Returns the columns as a pandas data frame. ConfigError if pandas is not installed."""
        return data_frame(self.columns())


class TablePolicy(openspiel_policy.Policy):
    """A policy with a row of probabilities per information state; subclasses look it up, each by another key."""

    @abc.abstractmethod
    def _row_at(self, state: pyspiel.State, player: int) -> dict[int, float] | None:
        """Returns {action: probability} of a player with legal actions; None: uniform play."""

    def action_probabilities(self, state: pyspiel.State, player_id: int | None = None) -> dict[int, float]:
        """Returns {action: probability} of the player to move, or of `player_id` at a simultaneous node.

        Also accepts states of the simultaneous game, and those of the real game of an abstraction. PolicyError if the
        state is of another game.
        """
        if isinstance(self.game, AbstractGame):
            state = self.game.lifted(state)
        player = state.current_player() if player_id is None else player_id
        if player < 0:
            raise PolicyError("a chance, terminal or simultaneous node has no single player to move: give player_id.")
        legal = state.legal_actions(player)
        if not legal:  # as OpenSpiel's own policies do where a player has no choice
            return {0: 1.0}
        row = self._row_at(state, player)
        return dict.fromkeys(legal, 1.0 / len(legal)) if row is None else row


class InfoStatePolicy(TablePolicy):
    """A policy that follows one player's strategy where it is defined and is uniform everywhere else.

    The policy accepts states of a simultaneous-move game and of its turn-based conversion.

    Args:
        player: The player who follows the strategy.
        rows: A mapping from information state strings to {action: probability}. Not copied.
        game: The game, required by some of OpenSpiel's functions.

    Examples:
        >>> import mccfr_plus, pyspiel
        >>> policy = mccfr_plus.InfoStatePolicy(0, {"2": {1: 1.0}})  # bets with the king
        >>> state = pyspiel.load_game("kuhn_poker").new_initial_state().child(2).child(0)
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


class JointTablePolicy(TablePolicy):
    """A table policy of all players, whose rows can be listed."""

    _elsewhere: ClassVar[str] = ""  # what it plays where it has no row, for the title
    num_infosets: int  # information states that it has probabilities for

    @abc.abstractmethod
    def to_table(self, most: int | None = None) -> PolicyTable:
        """Returns arrays with one row per information state and action, for at most `most` information states.

        The columns are those of `to_dataframe`. If reach probabilities are known, the states reached most often come
        first.
        """

    def to_dataframe(self) -> Any:
        """Returns a row per information state and action as a pandas data frame.

        The columns are ``player``, ``information_state``, ``action`` (OpenSpiel's number), ``action_name``,
        ``probability`` and ``reach``, the probability of the information state if all players follow the policy. A
        `KeyedPolicy` has no ``reach``, and its ``information_state`` is the key in hexadecimal digits.

        Examples:
            >>> import mccfr_plus
            >>> policy = mccfr_plus.Solver("kuhn_poker", "full").run(1000).average_policy()
            >>> policy.to_dataframe().shape
            (24, 6)
        """
        return self.to_table().to_dataframe()

    def _repr_html_(self) -> str:
        table, rows = self.to_table(_SHOWN), list[list[str]]()
        for i, text in enumerate(table.information_state):
            played = f"{table.action_name[i]} {table.probability[i]:.3f}"
            if rows and rows[-1][:2] == [str(table.player[i]), text]:
                rows[-1][2] += f", {played}"
            else:
                reach = [] if table.reach is None else [f"{table.reach[i]:.4g}"]
                rows.append([str(table.player[i]), text, played, *reach])
        heading = ["player", "information state", "actions", *(["reach"] if table.reach is not None else [])]
        more = f", {len(rows)} of which are shown" if self.num_infosets > len(rows) else ""
        title = f"<b>Policy of {escape(str(self.game))}{self._elsewhere}</b>: {self.num_infosets:,} information states"
        return f"{title}{more}{html_table(heading, rows, numbers_from=3)}"


class TreePolicy(JointTablePolicy, openspiel_policy.TabularPolicy, Mapping):
    """A joint policy of all players: an `open_spiel.python.policy.TabularPolicy`.

    The policy's indexed attributes (``states``, ``action_probability_array``, ...) are built on first use; writing to
    ``action_probability_array`` changes the policy. The policy is also a mapping from information state strings to
    ``[(action, probability), ...]``, which `pyspiel.exploitability` and `pyspiel.nash_conv` accept. Later iterations of
    the solver do not change the policy.

    Args:
        tree: The game.
        strategy: ``[num_slots]`` float64, probabilities that sum to 1 at each infoset. Copied.

    Examples:
        >>> import mccfr_plus, pyspiel
        >>> solver = mccfr_plus.Solver("kuhn_poker", estimator="full")
        >>> policy = solver.run(100).average_policy()
        >>> pyspiel.exploitability(pyspiel.load_game("kuhn_poker"), policy) < 0.05
        True
    """

    def __init__(self, tree: GameTree, strategy: np.ndarray):
        # Not TabularPolicy's own, which traverses the game.
        openspiel_policy.Policy.__init__(self, tree.game, list(range(tree.num_players)))
        self.tree = tree
        self.num_infosets, self.game_type = tree.num_infosets, tree.game.get_type()
        self._strategy = np.array(strategy, np.float64)
        if self._strategy.shape != (tree.num_slots,):
            shape, pairs = self._strategy.shape, f"{tree.num_slots} (information state, action) pairs"
            raise PolicyError(f"a strategy of shape {shape} does not fit {tree.game}, which has {pairs}.")

    def strategy(self) -> np.ndarray:
        """Returns a copy of the probabilities, ``[num_slots]`` float64."""
        if "action_probability_array" in self.__dict__:
            return self.action_probability_array[self._row_of[self.tree.infoset_of_slot], self.tree.slot_action]
        return self._strategy.copy()

    def _row_at(self, state: pyspiel.State, player: int) -> dict[int, float]:
        infoset = self.tree.infoset_of_state(state, player)
        if infoset is None:
            text = state.information_state_string(player)
            raise PolicyError(f"information state {text!r} of player {player} does not occur in {self.game}.")
        return dict(self._actions_and_probabilities(infoset))

    def _actions_and_probabilities(self, infoset: int) -> list[tuple[int, float]]:
        actions = self.tree.legal_actions(infoset)
        if "action_probability_array" in self.__dict__:
            row = self.action_probability_array[self._row_of[infoset]]
            return [(action, float(row[action])) for action in actions]
        return list(zip(actions, self._strategy[self.tree.slots(infoset)].tolist(), strict=True))

    def __getitem__(self, info_state: str) -> list[tuple[int, float]]:
        infoset = self.tree.infoset(info_state) if isinstance(info_state, str) else None
        if infoset is None:
            raise KeyError(info_state)
        return self._actions_and_probabilities(infoset)

    def __iter__(self) -> Iterator[str]:
        return iter(distinct(self.tree.info_states, self.game))

    def __len__(self) -> int:
        return self.num_infosets

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    # --- attributes of OpenSpiel's TabularPolicy, built on first use ---

    @cached_property
    def _order(self) -> np.ndarray:
        return openspiel_order(self.tree.require_whole("OpenSpiel's order of information states"))

    @cached_property
    def _row_of(self) -> np.ndarray:
        return np.argsort(self._order)  # the inverse permutation

    @cached_property
    def state_lookup(self) -> dict[str, int]:  # type: ignore[override]
        lookup: dict[str, int] = {}
        for row, infoset in enumerate(self._order):
            lookup.setdefault(self.tree.info_states[infoset], row)
        return lookup

    @cached_property
    def states_per_player(self) -> list[list[str]]:  # type: ignore[override]
        ranges = pairwise(self.tree.arrays.infoset_range)
        return [[self.tree.info_states[i] for i in self._order[first:last]] for first, last in ranges]

    @cached_property
    def states(self) -> list[pyspiel.State]:  # type: ignore[override]
        return representative_states(self.tree, self._order)

    @cached_property
    def state_in(self) -> np.ndarray | None:  # type: ignore[override]
        if self.game_type.provides_information_state_tensor:
            return np.array([s.information_state_tensor() for s in self.states])
        if self.game_type.provides_observation_tensor:
            return np.array([s.observation_tensor() for s in self.states])
        return None

    @cached_property
    def legal_actions_mask(self) -> np.ndarray:  # type: ignore[override]
        mask = np.zeros((self.tree.num_infosets, self.game.num_distinct_actions()), np.int64)
        mask[self._row_of[self.tree.infoset_of_slot], self.tree.slot_action] = 1
        return mask

    @cached_property
    def action_probability_array(self) -> np.ndarray:  # type: ignore[override]
        table = np.zeros((self.tree.num_infosets, self.game.num_distinct_actions()))
        table[self._row_of[self.tree.infoset_of_slot], self.tree.slot_action] = self._strategy
        return table

    def to_tabular(self, states: dict | None = None) -> openspiel_policy.TabularPolicy:
        """Returns an OpenSpiel `TabularPolicy` with the same probabilities, for the turn-based game."""
        return self.__copy__() if states is None else super().to_tabular(states)

    def to_dict(self) -> dict[str, list[tuple[int, float]]]:
        """Returns {information state: [(action, probability), ...]} with all actions, for the original game."""
        rows, text_of = super().to_dict(), _without_turn if self.tree.is_converted else str
        return dict(zip(distinct([text_of(text) for text in rows], self.game), rows.values(), strict=True))

    def to_pyspiel(self) -> pyspiel.TabularPolicy:
        """Returns a C++ tabular policy with the same probabilities, for pyspiel's own functions and bots.

        If the game has simultaneous moves, the policy also accepts states of its turn-based conversion.
        """
        texts = distinct(self.tree.info_states, self.game)
        rows = {text: self._actions_and_probabilities(i) for i, text in enumerate(texts)}
        if self.game_type.short_name == TURN_BASED:
            found = dict(zip(map(_without_turn, rows), rows.values(), strict=True))
            rows |= found if len(found) == len(rows) else {}  # players may share texts
        return pyspiel.TabularPolicy(rows)

    def to_table(self, most: int | None = None) -> PolicyTable:
        return table_of_tree(self.tree, self.strategy(), most)

    def __repr__(self) -> str:
        return f"TreePolicy({str(self.game)!r}, {len(self):,} information states)"

    def __reduce__(self) -> tuple:
        return type(self), (self.tree, self.strategy())


def distinct(texts: Sequence[str], game: pyspiel.Game) -> Sequence[str]:
    """Returns the information states. PolicyError if players share any, as a table of texts has one player each."""
    if len(set(texts)) < len(texts):
        text = Counter(texts).most_common(1)[0][0]
        raise PolicyError(
            f"several players of {game} have the information state string {text!r}, so a table indexed by strings "
            "cannot tell them apart. Use the policies as they are."
        )
    return texts


def _without_turn(text: str) -> str:
    """Returns an information state without the line that OpenSpiel's turn-based conversion puts before it."""
    return text.partition("\n")[2] if text.startswith("Current player: ") else text


def table_of_tree(tree: Any, strategy: np.ndarray, most: int | None = None) -> PolicyTable:
    """Returns the table of a strategy, ``[num_slots]``, or only its `most` infosets with the largest reach.

    A public tree gives no reach, and its first `most` infosets.
    """
    tree.require_texts()
    reach, infosets = None, np.arange(tree.num_infosets)
    if HISTORIES in tree.provides:
        no_values, of_nodes, reach = np.empty((0, 0)), np.ones((tree.num_nodes, 1)), np.zeros(tree.num_infosets)
        with announce_compilation(_add_up, "the reach of information sets", 1):
            _add_up(tree.arrays, strategy, no_values, of_nodes, tree.infoset_of_slot, reach, np.empty(0), np.empty(0))
        infosets = infosets if most is None else np.argsort(-reach, kind="stable")
    infosets = infosets[:most]
    records, text_of = tree.arrays.infosets[infosets], _without_turn if tree.is_converted else str
    slots = rows_of(records["first_slot"], records["num_actions"])
    numbers, names = tree.infoset_of_slot[slots], action_names(tree, infosets)
    texts = [text_of(tree.info_states[infoset]) for infoset in infosets.tolist()]
    return PolicyTable(
        tree.arrays.infosets["player"].astype(np.int64)[numbers],
        [text for text, own in zip(texts, names, strict=True) for _ in own],
        tree.slot_action[slots],
        [name for own in names for name in own],
        strategy[slots],
        None if reach is None else reach[numbers],
    )


def is_strategy(probabilities: np.ndarray, firsts: np.ndarray) -> bool:
    """Returns whether each row is a distribution; rows follow one another and begin at `firsts`."""
    totals = np.add.reduceat(probabilities, firsts) if len(firsts) else np.ones(0)
    return bool((probabilities >= 0).all() and (np.abs(totals - 1) <= _TOLERANCE).all())


class InfosetValues(NamedTuple):
    """Arrays over information sets, and over slots (information set, action)."""

    reach: np.ndarray  # [num_infosets] probability that play reaches it if all players follow the strategy
    values: np.ndarray  # [num_infosets] the player's expected payoff then; NaN where the others' reach is 0
    action_values: np.ndarray  # [num_slots] the same after the action
    regrets: np.ndarray  # [num_slots] action value - value


def infoset_values(tree: GameTree, strategy: np.ndarray) -> InfosetValues:
    """Returns reach, values and regrets of a strategy, ``[num_slots]``.

    Values are counterfactual values (Zinkevich et al. 2007, equation 6) divided by the others' reach.
    """
    num_nodes, num_players = tree.num_nodes, tree.num_players
    values, probabilities = np.empty((num_players, num_nodes)), np.ones((num_nodes, num_players + 1))
    reach, weights, action_values = np.zeros(tree.num_infosets), np.zeros(tree.num_infosets), np.zeros(tree.num_slots)
    with announce_compilation(_add_up, "the values of information sets", 2):
        for player in range(num_players):
            refresh_values(tree.arrays, strategy, values[player], player)
        _add_up(tree.arrays, strategy, values, probabilities, tree.infoset_of_slot, reach, weights, action_values)
    infosets = tree.arrays.infosets
    with np.errstate(invalid="ignore"):
        action_values /= np.repeat(weights, infosets["num_actions"])  # 0 / 0 is NaN
    sums = np.add.reduceat(strategy * action_values, infosets["first_slot"]) if len(infosets) else np.zeros(0)
    return InfosetValues(reach, sums, action_values, action_values - np.repeat(sums, infosets["num_actions"]))


@kernel
def _add_up(tree, strategy, values, probabilities, infoset_of_slot, reach, weights, action_values):
    """Adds up reach, weights (the others' reach) and weighted action values over the histories of each infoset.

    `probabilities`, ``[num_nodes, num_players + 1]`` ones, become those of a node without the player's own choices; in
    the last column with all choices. If `values`, ``[num_players, num_nodes]``, is empty, only reach is added up.
    """
    nodes, num_players = tree.nodes, len(values)
    for node in range(len(nodes)):  # parents come before children
        kind, child, payload = nodes[node]["kind"], nodes[node]["first_child"], nodes[node]["payload"]
        for index in range(nodes[node]["num_children"]):
            label = payload + index
            probability = tree.chance[label]["probability"] if kind == CHANCE else strategy[label]
            for player in range(num_players + 1):
                factor = 1.0 if player == kind and num_players else probability
                probabilities[child + index, player] = probabilities[node, player] * factor
            if kind >= 0 and num_players:
                action_values[label] += probabilities[node, kind] * values[kind, child + index]
        if kind >= 0:
            reach[infoset_of_slot[payload]] += probabilities[node, num_players]
            if num_players:
                weights[infoset_of_slot[payload]] += probabilities[node, kind]
