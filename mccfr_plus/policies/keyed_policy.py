"""Policies of lazy trees: probabilities under keys of information states, uniform elsewhere."""

import functools
import itertools
import logging
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pyspiel

from mccfr_plus.errors import PolicyError
from mccfr_plus.policies.table import JointTablePolicy, PolicyTable, is_strategy
from mccfr_plus.trees.by_rules.frames import RulesKeys
from mccfr_plus.trees.expanding_tree import ExpandingTree
from mccfr_plus.trees.flattening import rows_of
from mccfr_plus.trees.info_states import Keys
from mccfr_plus.trees.loading import action_name

logger = logging.getLogger("mccfr_plus")

_BLOCK = 1 << 16  # infosets that are copied at once
_KEYS: dict[str, Callable[[pyspiel.Game], Keys]] = {  # ValueError for a game without rules
    Keys.kind: lambda game: Keys(),
    "rules": RulesKeys,
    "symmetric": functools.partial(RulesKeys, symmetry=True),
}


class KeyedTable(NamedTuple):
    """Probabilities under keys, as arrays; infosets in the order of (player, key)."""

    players: np.ndarray  # [num_infosets] int8
    keys: np.ndarray  # [num_infosets, 2] int64
    first: np.ndarray  # [num_infosets + 1] int64: the rows of infoset i are first[i] .. first[i + 1] - 1
    actions: np.ndarray  # [num_rows] int64, OpenSpiel's
    probabilities: np.ndarray  # [num_rows] float64

    def is_consistent(self, num_players: int) -> bool:
        """Returns whether the arrays fit together and hold distributions."""
        count, rows = self.players.size, self.actions.size
        shapes = [(count,), (count, 2), (count + 1,), (rows,), (rows,)]
        dtypes = [np.int8, np.int64, np.int64, np.int64, np.float64]
        if [(array.shape, array.dtype) for array in self] != list(zip(shapes, dtypes, strict=True)):
            return False
        if self.first[0] != 0 or self.first[-1] != rows or (np.diff(self.first) < 1).any():
            return False
        if (np.diff(self.players) < 0).any() or not ((self.players >= 0) & (self.players < num_players)).all():
            return False
        return is_strategy(self.probabilities, self.first[:-1])


def _merged(table: KeyedTable, is_first: np.ndarray, weights: np.ndarray) -> KeyedTable:
    """Returns the table with one infoset for each run of equal ones, which `is_first` begins: their weighted mean."""
    counts, group = np.diff(table.first), np.cumsum(is_first) - 1
    first = np.concatenate([[0], np.cumsum(counts[is_first])])
    rows = rows_of(first[group], counts)
    actions = table.actions[rows_of(table.first[:-1][is_first], counts[is_first])]
    if (counts != counts[is_first][group]).any() or (actions[rows] != table.actions).any():
        raise PolicyError("an information state has two different sets of legal actions: the game is inconsistent.")
    weights = np.where(np.bincount(group, weights)[group] > 0.0, weights, 1.0)  # equal ones where nothing was added
    sums = np.bincount(rows, table.probabilities * np.repeat(weights, counts), first[-1])
    shares = sums / np.repeat(np.bincount(group, weights), counts[is_first])
    return KeyedTable(table.players[is_first], table.keys[is_first], first, actions, shares)


class KeyedPolicy(JointTablePolicy):
    """A joint policy that is defined at the information states found by a solver and is uniform elsewhere.

    Args:
        game: The turn-based game.
        table: The probabilities.
        keys: Maps information states to the keys of `table`.

    Examples:
        >>> import mccfr_plus, pyspiel
        >>> solver = mccfr_plus.Solver("phantom_ttt", "outcome", tree="lazy", seed=1)
        >>> policy = solver.run(100).average_policy()
        >>> state = pyspiel.load_game("phantom_ttt").new_initial_state()
        >>> len(policy.action_probabilities(state))
        9
    """

    _elsewhere = ", uniform where nothing was found"

    def __init__(self, game: pyspiel.Game, table: KeyedTable, keys: Keys):
        super().__init__(game, list(range(game.num_players())))
        self.table = table
        self.keys = keys
        self.num_infosets = len(table.players)
        bounds = np.searchsorted(table.players, np.arange(game.num_players() + 1))
        self._ranges = [slice(int(a), int(b)) for a, b in itertools.pairwise(bounds)]

    @classmethod
    def of_kind(cls, game: pyspiel.Game, table: KeyedTable, kind: str) -> "KeyedPolicy":
        """Returns the policy of a table. Raises LookupError or ValueError if the game has no keys of this kind."""
        return cls(game, table, _KEYS[kind](game))

    @classmethod
    def of_tree(
        cls, tree: ExpandingTree, strategy: np.ndarray, masses: Callable[[], np.ndarray] | None = None
    ) -> "KeyedPolicy":
        """Returns the policy of a strategy, ``[num_slots]``, at the infosets found so far.

        Infosets with the same information state (imperfect recall) are averaged with weights `masses` (default: equal).
        """
        infosets, info_keys = tree.found_infosets, tree.found_keys
        order = np.lexsort((info_keys[:, 1], info_keys[:, 0], infosets["player"]))
        counts = infosets["num_actions"][order].astype(np.int64)
        first = np.concatenate([[0], np.cumsum(counts)])
        actions, probabilities = np.empty(first[-1], np.int64), np.empty(first[-1])
        for begin in range(0, len(order), _BLOCK):  # all rows at once would take half as much again
            end = min(begin + _BLOCK, len(order))
            rows = slice(first[begin], first[end])
            source = rows_of(infosets["first_slot"][order[begin:end]], counts[begin:end])
            actions[rows], probabilities[rows] = tree.found_actions[source], strategy[source]
        players = infosets["player"][order].astype(np.int8)
        table = KeyedTable(players, info_keys[order], first, actions, probabilities)
        is_first = np.ones(len(order), bool)
        is_first[1:] = (np.diff(table.players) != 0) | (np.diff(table.keys, axis=0) != 0).any(axis=1)
        if not is_first.all():
            table = _merged(table, is_first, np.ones(len(order)) if masses is None else masses()[order])
            logger.warning(
                "%s has imperfect recall: where several sequences of actions lead a player to the same information "
                "state, the policy plays the mean over these sequences, and this mean need not approach an "
                "equilibrium.",
                tree.game.get_type().short_name,
            )
        return cls(tree.game, table, tree.keys)

    def on_tree(self, tree: ExpandingTree, strategy: np.ndarray) -> np.ndarray:
        """Returns a copy of `strategy` with this policy's probabilities wherever this policy has any.

        Raises:
            PolicyError: If none fit.
        """
        if str(self.game) != str(tree.game) or self.keys.kind != tree.keys.kind:
            given, needed = (f"{each.game} with {each.keys.kind!r} keys" for each in (self, tree))
            raise PolicyError(f"a policy for {given} does not fit {needed}: solve the game with the policy's options.")
        result, infosets = strategy.copy(), tree.found_infosets
        pairs = ((self.table.players, self.table.keys), (infosets["player"], tree.found_keys))
        rows = (np.column_stack([players.astype(np.int64), keys]) for players, keys in pairs)
        mine, theirs = (each.view(np.dtype((np.void, each.shape[1] * each.itemsize))).ravel() for each in rows)
        _, own, found = np.intersect1d(mine, theirs, assume_unique=True, return_indices=True)
        counts = np.diff(self.table.first)[own]
        slots = rows_of(infosets["first_slot"][found], counts)
        result[slots] = self.table.probabilities[rows_of(self.table.first[own], counts)]
        return result

    def find(self, info_state: str, player: int) -> dict[int, float] | None:
        """Returns {action: probability} at an information state, or None if its string is not found."""
        key = self.keys.find(info_state)
        return None if key is None else self._row(key, player)

    def at_view(self, view: Sequence[int], player: int) -> dict[int, float] | None:
        """Returns {action: probability} for a view, as the rules' `look` writes it, or None if the view is not found.

        The policy must have been computed with ``tree="rules"``. Entries of the view that are not part of an
        information state are ignored.
        """
        if not isinstance(self.keys, RulesKeys):
            raise PolicyError(f"{self.keys.kind!r} keys are not views of compiled rules: solve with tree='rules'.")
        return self.keys.row_of([self._row(key, player) for key in self.keys.of_view(np.array(view, np.int64))])

    def _row(self, key: tuple[int, int], player: int) -> dict[int, float] | None:
        own = self._ranges[player]
        index = own.start + int(np.searchsorted(self.table.keys[own, 0], key[0]))
        while index < own.stop and self.table.keys[index, 0] == key[0]:
            if self.table.keys[index, 1] == key[1]:
                rows = slice(self.table.first[index], self.table.first[index + 1])
                actions, probabilities = self.table.actions[rows].tolist(), self.table.probabilities[rows].tolist()
                return dict(zip(actions, probabilities, strict=True))
            index += 1
        return None

    def _row_at(self, state: pyspiel.State, player: int) -> dict[int, float] | None:
        found = self.keys.row_of([self._row(key, player) for key in self.keys.of_state(state, player)])
        legal = state.legal_actions(player)
        if found is not None and list(found) != legal:
            text = state.information_state_string(player)
            raise PolicyError(
                f"information state {text!r} of player {player} has actions {legal} here, but {list(found)} in "
                f"{self.game}, for which the policy was made: use the policy in that game."
            )
        return found

    def to_table(self, most: int | None = None) -> PolicyTable:
        counts = np.diff(self.table.first)[:most]
        end = int(counts.sum())
        players = np.repeat(self.table.players[:most], counts).astype(np.int64)
        keys = [f"{low:016x}{high:016x}" for low, high in self.table.keys[:most].view(np.uint64).tolist()]
        texts = [key for key, count in zip(keys, counts.tolist(), strict=True) for _ in range(count)]
        actions = self.table.actions[:end]
        pairs = list(zip(players.tolist(), actions.tolist(), strict=True))
        words = {pair: action_name(self.game, *pair) for pair in set(pairs)}
        names = [words[pair] for pair in pairs]
        return PolicyTable(players, texts, actions, names, self.table.probabilities[:end], reach=None)

    def to_pyspiel(self) -> pyspiel.TabularPolicy:
        """Raises PolicyError, because a `KeyedPolicy` contains only hashes of information states."""
        raise PolicyError(
            "OpenSpiel's C++ policies are tables indexed by information state strings, but this policy stores only "
            "hashes of these strings. Use the policy as it is (for a drop-in solver, Solver.average_policy(solver)), "
            "convert it with to_tabular(), which visits all states, or solve with tree='compiled'."
        )

    def __reduce__(self) -> tuple:
        return type(self).of_kind, (self.game, self.table, self.keys.kind)
