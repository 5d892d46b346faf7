"""Many histories at once, and their tensors: as nodes of a tree, pyspiel's states, or words of compiled rules."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
import pyspiel
from open_spiel.python.observation import make_observation

from mccfr_plus.errors import BudgetError, GameError
from mccfr_plus.games.game import RulesGame
from mccfr_plus.games.openspiel import compiled_rules
from mccfr_plus.games.rules import CHANCE, MOVER, TERMINAL
from mccfr_plus.kernels.compile import kernel
from mccfr_plus.kernels.slots import bind
from mccfr_plus.trees.by_rules.rows import (
    RULE_APPLY,
    RULE_LEGAL,
    RULE_LOOK,
    RULE_OUTCOMES,
    RULE_RETURNS,
    kernels_of,
)
from mccfr_plus.trees.game_tree import GameTree

_MAX_BYTES = 2 << 30  # of the tensors of histories
_GOLDEN_RATIO = (5**0.5 - 1) / 2  # its multiples, modulo 1, are spread most evenly


class Positions:
    """Histories that are played on together; the same draws lead to the same histories in all subclasses.

    Subclasses define ``take(rows)``, some histories, perhaps several times, after which the object must not be used;
    ``play(actions)``, where a player is to move in all; ``draw_outcomes(rows, draws)``, given numbers in [0, 1);
    ``returns(rows)``, payoffs ``[len(rows), num_players]``; and ``keys(rows)``, integers that tell histories apart.
    """

    movers: np.ndarray  # [n] int64, who is to move: a player, `CHANCE` or `TERMINAL`
    take: Any
    play: Any
    draw_outcomes: Any
    returns: Any
    keys: Any

    def draws(self, rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Returns uniform numbers in [0, 1), spread evenly over equal histories to reduce the variance, but unbiased.

        They are a Kronecker sequence with a random shift (Cranley and Patterson 1976).
        """
        sequence = (rng.random() + _GOLDEN_RATIO * np.arange(len(rows))) % 1.0
        result = np.empty_like(sequence)
        result[np.argsort(self.keys(rows), kind="stable")] = sequence
        return result

    def pass_chance(self, rng: np.random.Generator) -> int:
        """Draws outcomes until chance is to move in no history; returns the number of histories visited."""
        visited = len(self.movers)
        while len(rows := np.flatnonzero(self.movers == CHANCE)):
            self.draw_outcomes(rows, self.draws(rows, rng))
            visited += len(rows)
        return visited


class TreeObserver:
    """Information sets and histories of a tree, as rows of each player and nodes.

    ``slots`` are those of legal actions, which ``masks`` mark, ``[num_infosets, num_actions]``; else ``num_slots``.
    """

    def __init__(self, tree: GameTree, num_actions: int):
        self.tree, self.game, self.num_players, self.num_actions = tree, tree.game, tree.num_players, num_actions
        self.records = tree.arrays.nodes
        self.movers = self.records["kind"].astype(np.int64)
        self.outcome_ends = np.cumsum(tree.arrays.chance["probability"])
        self.slots = np.full((tree.num_infosets, num_actions), tree.num_slots)
        self.slots[tree.infoset_of_slot, tree.slot_action] = np.arange(tree.num_slots)
        self.masks = self.slots < tree.num_slots

    def start(self, count: int) -> TreePositions:
        return TreePositions(self, np.zeros(count, np.int64))

    def numbers(self, nodes: np.ndarray) -> np.ndarray:
        """Returns the information sets of decision nodes, ``[n]``, numbered through all players."""
        return self.tree.infoset_of_slot[self.records["payload"][nodes]]

    def children(self, nodes: np.ndarray) -> np.ndarray:
        """Returns the nodes after each action, ``[n, num_actions]``; those of illegal ones are undefined."""
        records = self.records[nodes]
        return (records["first_child"] - records["payload"])[:, None] + self.slots[self.numbers(nodes)]

    def observe(self, positions: Any, last_actions: Any = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Returns the rows of the players to move, ``[n]``, nodes, ``[n]``, and legal actions, ``[n, num_actions]``."""
        numbers = self.numbers(positions.nodes)
        rows = numbers - self.tree.arrays.infoset_range[positions.movers]
        return rows, positions.nodes, self.masks[numbers]

    def tables(self, strategy: np.ndarray) -> Any:
        """Returns the `Strategies` of a table, ``[num_slots]``."""
        tables = np.split(np.append(strategy, 0.0)[self.slots], self.tree.arrays.infoset_range[1:-1])
        return lambda player, infosets, masks: tables[player][infosets]


class TreePositions(Positions):
    """Histories as nodes of a tree, ``[n]`` int64."""

    def __init__(self, observer: TreeObserver, nodes: np.ndarray):
        self._observer, self.nodes, self.movers = observer, nodes, observer.movers[nodes]

    def take(self, rows: np.ndarray) -> Self:
        return type(self)(self._observer, self.nodes[rows])

    def keys(self, rows: np.ndarray) -> np.ndarray:
        return self.nodes[rows]

    def play(self, actions: np.ndarray) -> None:
        self.nodes = self._observer.children(self.nodes)[np.arange(len(actions)), actions]
        self.movers = self._observer.movers[self.nodes]

    def draw_outcomes(self, rows: np.ndarray, draws: np.ndarray) -> None:
        records, ends = self._observer.records[self.nodes[rows]], self._observer.outcome_ends
        first = records["payload"]
        last = first + records["num_children"] - 1
        begin = np.where(first > 0, ends[first - 1], 0.0)
        outcomes = np.searchsorted(ends, begin + draws * (ends[last] - begin), "right")
        self.nodes[rows] = records["first_child"] + np.clip(outcomes, first, last) - first
        self.movers[rows] = self._observer.movers[self.nodes[rows]]

    def returns(self, rows: np.ndarray) -> np.ndarray:
        tree, records = self._observer.tree, self._observer.records
        return tree.arrays.payoffs[records["payload"][self.nodes[rows]]]


def histories_of(tree: GameTree, what: str) -> np.ndarray:
    """Returns tensors of all non-terminal histories, as an `Observer`'s with chance as one more player to move."""
    kinds, players, num_actions = tree.arrays.nodes["kind"], tree.num_players, tree.game.num_distinct_actions()
    is_kept = kinds != TERMINAL
    rows, num_rows = np.cumsum(is_kept) - 1, int(is_kept.sum())
    movers = players * int(np.prod(tree.game.information_state_tensor_shape()))  # columns before those of the mover
    width = movers + players + 1 + (players - 1) * num_actions
    if 4 * num_rows * width > _MAX_BYTES:
        raise BudgetError(
            f"{what} would keep more than 2 GiB of tensors, for {num_rows:,} histories of {tree.game}: give "
            "representation='batched', or use the tabular mccfr_plus.Solver."
        )
    tensors = np.zeros((num_rows, width), np.float32)
    units, none = np.eye(num_actions, dtype=np.float32), np.zeros((players - 1) * num_actions, np.float32)
    pending = [(0, tree.game.new_initial_state(), none)]  # with the last actions
    while pending:
        node, state, last = pending.pop()
        kind, count, first, payload = tree.arrays.nodes[node].tolist()
        row = tensors[rows[node]]
        row[:movers] = np.concatenate([state.information_state_tensor(player) for player in range(players)])
        row[movers + (players if kind == CHANCE else kind)] = 1.0
        row[movers + players + 1 :] = last
        actions = tree.outcome_action if kind == CHANCE else tree.slot_action
        for index in np.flatnonzero(is_kept[first : first + count]).tolist():
            action = int(actions[payload + index])
            after = last if kind == CHANCE else np.append(last, units[action])[num_actions:]
            pending.append((first + index, state.child(action), after))
    return tensors


def check_has_tensors(game: pyspiel.Game, what: str) -> None:
    """Raises GameError if a game has no information-state tensors; `what` names their reader in the message."""
    if not game.get_type().provides_information_state_tensor:
        raise GameError(
            f"{game.get_type().short_name} provides no information_state_tensor, the input of {what}. "
            "Use the tabular mccfr_plus.Solver, or a game that provides this tensor."
        )


class Observer:
    """Writes tensors of information sets, of ``size`` entries, and of histories, of ``history_size``.

    A history's tensor has all players' tensors, the player to move, and the last actions of players, one fewer than
    there are players, which games with hidden simultaneous moves need. ``by_rules`` uses compiled rules where possible.
    """

    def __init__(self, game: pyspiel.Game, what: str, *, by_rules: bool = True):
        check_has_tensors(game, what)
        self.game, self.num_players, self.num_actions = game, game.num_players(), game.num_distinct_actions()
        self.size = int(np.prod(game.information_state_tensor_shape()))
        self.history_size = self.num_players * (self.size + 1) + (self.num_players - 1) * self.num_actions
        try:
            observation = make_observation(game, pyspiel.IIGObservationType(perfect_recall=True))
        except (RuntimeError, ValueError, NotImplementedError):  # no observer, as in most games in Python
            observation = None
        self.observation = observation if observation is not None and observation.tensor.size == self.size else None
        rules = compiled_rules(game) if by_rules else None
        has_tensors = rules is not None and rules.tensor_cells(0, -1, 0) is not None
        self._rules = RulesPositions(rules, self.size) if rules is not None and has_tensors else None

    def start(self, count: int) -> Positions:
        if self._rules is not None:
            return self._rules.start(count)
        return PyspielPositions([self.game.new_initial_state() for _ in range(count)], self)

    def after(self, actions: np.ndarray, lengths: np.ndarray) -> Positions:
        """Returns the histories of actions of players and chance, ``[n, any number]``, ``lengths`` of each."""
        if self._rules is None:
            return PyspielPositions(list(states_after(self.game, actions, lengths)), self)
        positions = self._rules.start(len(lengths))
        positions.play_on(actions, lengths)
        return positions

    def observe(self, positions: Any, last_actions: Any = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Returns tensors of information sets and of histories in which a player is to move, and legal actions.

        ``last_actions`` of players, ``[n, num_players - 1]``, end with the last one; -1: none. Without them, tensors of
        information sets take the place of those of histories.
        """
        count, players, movers = len(positions.movers), self.num_players, np.ascontiguousarray(positions.movers)
        size = self.size if last_actions is None else self.history_size
        result, masks = np.zeros((count, size), np.float32), np.zeros((count, self.num_actions), bool)
        if last_actions is None:
            positions.observe(movers[:, None], result, masks)
            return result, result, masks
        positions.observe(np.tile(np.arange(players), (count, 1)), result, masks)
        base, all_rows = players * self.size, np.arange(count)
        infosets = result[:, :base].reshape(count, players, self.size)[all_rows, movers]
        result[all_rows, base + movers] = 1.0
        rows, places = np.nonzero(last_actions >= 0)
        result[rows, base + players + places * self.num_actions + last_actions[rows, places]] = 1.0
        return infosets, result, masks


class PyspielPositions(Positions):
    """pyspiel's states, which are modified."""

    def __init__(self, states: list[Any], observer: Any):
        self._states, self._observer = states, observer
        self._find_movers()

    def _find_movers(self) -> None:
        self.movers = np.array([state.current_player() for state in self._states], np.int64)

    def take(self, rows: np.ndarray) -> Self:
        firsts = set(np.unique(rows, return_index=True)[1].tolist())  # the others are copies
        pairs = ((place in firsts, self._states[row]) for place, row in enumerate(rows.tolist()))
        return type(self)([state if is_first else state.clone() for is_first, state in pairs], self._observer)

    def keys(self, rows: np.ndarray) -> np.ndarray:
        return np.array([hash(tuple(self._states[row].history())) for row in rows.tolist()], np.int64)

    def play(self, actions: np.ndarray) -> None:
        for state, action in zip(self._states, actions.tolist(), strict=True):
            state.apply_action(action)
        self._find_movers()

    def draw_outcomes(self, rows: np.ndarray, draws: np.ndarray) -> None:
        for row, number in zip(rows.tolist(), draws.tolist(), strict=True):
            outcomes, probabilities = zip(*self._states[row].chance_outcomes(), strict=True)
            ends = np.cumsum(probabilities)
            index = int(np.searchsorted(ends, number * ends[-1], "right"))
            self._states[row].apply_action(outcomes[min(index, len(outcomes) - 1)])
        self._find_movers()

    def observe(self, whose: np.ndarray, tensors: np.ndarray, masks: np.ndarray) -> None:
        """Writes tensors of players ``whose``, ``[n, k]``, side by side in a row, and legal actions to ``masks``."""
        size, observation = self._observer.size, self._observer.observation
        for state, players, tensor, mask in zip(self._states, whose.tolist(), tensors, masks, strict=True):
            for place, player in enumerate(players):
                if observation is not None:
                    observation.set_from(state, player)
                found = state.information_state_tensor(player) if observation is None else observation.tensor
                tensor[place * size : (place + 1) * size] = found
            mask[state.legal_actions()] = True

    def returns(self, rows: np.ndarray) -> np.ndarray:
        return np.array([self._states[row].returns() for row in rows.tolist()])


def states_after(game: pyspiel.Game, actions: np.ndarray, lengths: np.ndarray) -> Iterator[pyspiel.State]:
    """Yields the states after histories of actions, ``[n, any number]``, of ``lengths``; best in their order."""
    path: list[int] = []
    states = [game.new_initial_state()]
    for row, length in zip(actions, lengths.tolist(), strict=True):
        history = row[:length].tolist()
        pairs = zip(path, history, strict=False)
        same = len(list(itertools.takewhile(lambda pair: pair[0] == pair[1], pairs)))
        del states[same + 1 :]
        for action in history[same:]:
            states.append(states[-1].child(action))
        path = history
        yield states[-1]


class RulesPositions(Positions):
    """Histories as states of compiled rules with `tensor_cells`, ``[n, state_size]`` int64, which are modified.

    `_table` has each player's tensor without information, the first row of each entry of `look`, and the cells of each
    row, ``[num_players, num_rows, most cells]``, filled up with ``size``.
    """

    _words: np.ndarray

    def __init__(self, game: RulesGame, size: int):
        sizes, players = game.sizes, range(game.sizes.num_players)
        self._game, self._arguments = game, (game.parameters, game.table)
        self._play, self._draw_outcomes, self._observe, self._find_returns = (
            bind(each, kernels_of(game.rules), partial=True)
            for each in (_play, _draw_outcomes, _observe, _find_returns)
        )
        self._factors = np.random.default_rng(0).integers(2**63, size=len(game.first_state))  # of states' keys
        self._actions = np.zeros(game.most_actions, np.int64)
        self._probabilities = np.zeros(max(sizes.max_chance_outcomes, 1))
        self._seen = np.zeros(sizes.view_size, np.int64)
        values = [each.size for each in sizes.fields for _ in range(each.count)]
        rows = [(place, value) for place, count in enumerate(values) for value in range(count)]
        found = [[game.tensor_cells(player, *row) or () for row in rows] for player in players]
        cells = np.full((len(players), len(rows), max(len(each) for own in found for each in own)), size, np.int64)
        first = np.zeros((len(players), size), np.float32)
        for player in players:
            first[player, list(game.tensor_cells(player, -1, 0) or ())] = 1.0
            for row, each in enumerate(found[player]):
                cells[player, row, : len(each)] = each
        self._table = first, np.array(list(itertools.accumulate(values[:-1], initial=0)), np.int64), cells

    def _of(self, words: np.ndarray) -> Self:
        other = copy.copy(self)
        other._words, other.movers = words, words[:, MOVER]
        return other

    def start(self, count: int) -> Self:
        return self._of(np.tile(self._game.first_state, (count, 1)))

    def take(self, rows: np.ndarray) -> Self:
        return self._of(self._words[rows])

    def keys(self, rows: np.ndarray) -> np.ndarray:
        return self._words[rows] @ self._factors

    def play(self, actions: np.ndarray) -> None:
        self.play_on(actions[:, None], np.ones(len(actions), np.int64))

    def play_on(self, actions: np.ndarray, counts: np.ndarray) -> None:
        """Plays the first ``counts`` of the actions, ``[n, any number]``, of players and chance, in each history."""
        self._play(*self._arguments, self._words, np.ascontiguousarray(actions, np.int64), counts)

    def draw_outcomes(self, rows: np.ndarray, draws: np.ndarray) -> None:
        self._draw_outcomes(*self._arguments, self._words, rows, draws, self._actions, self._probabilities)

    def observe(self, whose: np.ndarray, tensors: np.ndarray, masks: np.ndarray) -> None:
        scratch = self._actions, self._seen
        self._observe(*self._arguments, self._words, whose, *self._table, *scratch, tensors, masks)

    def returns(self, rows: np.ndarray) -> np.ndarray:
        payoffs = np.zeros((len(rows), self._game.sizes.num_players))
        self._find_returns(*self._arguments, self._words, rows, payoffs)
        return payoffs


@kernel
def _play(parameters, table, words, actions, counts):
    for row in range(len(words)):
        for number in range(counts[row]):
            RULE_APPLY(parameters, table, words[row], actions[row, number])


@kernel
def _draw_outcomes(parameters, table, words, rows, draws, actions, probabilities):
    for number in range(len(rows)):
        state = words[rows[number]]
        count = RULE_OUTCOMES(parameters, table, state, actions, probabilities)
        total = 0.0
        for index in range(count):
            total += probabilities[index]
        index, end = 0, probabilities[0]
        while end <= draws[number] * total and index < count - 1:
            index += 1
            end += probabilities[index]
        RULE_APPLY(parameters, table, state, actions[index])


@kernel
def _observe(parameters, table, words, whose, first, begins, cells, actions, seen, tensors, masks):
    size, most = first.shape[1], cells.shape[2]
    for row in range(len(words)):
        state = words[row]
        for index in range(RULE_LEGAL(parameters, table, state, actions)):
            masks[row, actions[index]] = True
        for number in range(whose.shape[1]):
            player, begin = whose[row, number], number * size
            for cell in range(size):
                tensors[row, begin + cell] = first[player, cell]
            for place in range(len(seen)):
                seen[place] = 0
            RULE_LOOK(parameters, table, state, player, seen)
            for place in range(len(seen)):
                for index in range(most):
                    cell = cells[player, begins[place] + seen[place], index]
                    if cell == size:
                        break
                    if cell >= 0:
                        tensors[row, begin + cell] = 1.0
                    else:
                        tensors[row, begin + ~cell] = 0.0


@kernel
def _find_returns(parameters, table, words, rows, payoffs):
    for number in range(len(rows)):
        RULE_RETURNS(parameters, table, words[rows[number]], payoffs[number])
