"""Many histories of a game at once: as nodes of a tree, as pyspiel's states, or as words of compiled rules."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
import pyspiel

from mccfr_plus.games.game import RulesGame
from mccfr_plus.games.rules import CHANCE, MOVER
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
        """Returns uniform numbers in [0, 1), one for each of some histories, ``[len(rows)]``.

        They are a Kronecker sequence with a random shift (Cranley, Patterson 1976), spread evenly where histories are
        equal: with much less variance than independent ones, and still unbiased.
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

    ``slots`` are those of each legal action, ``[num_infosets, num_actions]`` int64; at others, which ``masks`` exclude,
    they are ``num_slots``.
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
        """Returns so many histories at the game's beginning."""
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


class PyspielPositions(Positions):
    """pyspiel's states, which are modified."""

    def __init__(self, states: list[Any], observer: Any):
        self._states, self._observer = states, observer
        self._find_movers()

    def _find_movers(self) -> None:
        self.movers = np.array([state.current_player() for state in self._states], np.int64)

    def take(self, rows: np.ndarray) -> Self:
        taken: set[int] = set()
        states = []
        for row in rows.tolist():
            states.append(self._states[row].clone() if row in taken else self._states[row])
            taken.add(row)
        return type(self)(states, self._observer)

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
        size, write = self._observer.size, self._observer.write
        for state, players, tensor, mask in zip(self._states, whose.tolist(), tensors, masks, strict=True):
            for place, player in enumerate(players):
                write(state, player, tensor[place * size : (place + 1) * size])
            mask[state.legal_actions()] = True

    def returns(self, rows: np.ndarray) -> np.ndarray:
        return np.array([self._states[row].returns() for row in rows.tolist()])


def states_after(game: pyspiel.Game, actions: np.ndarray, lengths: np.ndarray) -> Iterator[pyspiel.State]:
    """Yields the states after histories of actions, ``[n, any number]``, of ``lengths``; best in their order."""
    path: list[int] = []
    states = [game.new_initial_state()]
    for row, length in zip(actions, lengths.tolist(), strict=True):
        history = row[:length].tolist()
        same = 0
        while same < len(path) and same < len(history) and path[same] == history[same]:
            same += 1
        del states[same + 1 :]
        for action in history[same:]:
            states.append(states[-1].child(action))
        path = history
        yield states[-1]


class BatchRules:
    """The rules of a game with `tensor_cells` for many histories at once, and its information-state tensors as a table.

    ``table`` has each player's tensor without information, the first row of each entry of `look`, and the cells of each
    row, ``[num_players, num_rows, most cells]``, filled up with ``size``.
    """

    def __init__(self, game: RulesGame, size: int):
        sizes, players = game.sizes, range(game.sizes.num_players)
        self.game, self.arguments = game, (game.parameters, game.table)
        self.play, self.draw_outcomes, self.observe, self.find_returns = (
            bind(each, kernels_of(game.rules), partial=True)
            for each in (_play, _draw_outcomes, _observe, _find_returns)
        )
        self.factors = np.random.default_rng(0).integers(2**63, size=len(game.first_state))  # of states' keys
        self.actions = np.zeros(game.most_actions, np.int64)
        self.probabilities = np.zeros(max(sizes.max_chance_outcomes, 1))
        self.seen = np.zeros(sizes.view_size, np.int64)
        values = [each.size for each in sizes.fields for _ in range(each.count)]
        rows = [(place, value) for place, count in enumerate(values) for value in range(count)]
        found = [[game.tensor_cells(player, *row) or () for row in rows] for player in players]
        cells = np.full((len(players), len(rows), max(len(each) for own in found for each in own)), size, np.int64)
        first = np.zeros((len(players), size), np.float32)
        for player in players:
            first[player, list(game.tensor_cells(player, -1, 0) or ())] = 1.0
            for row, each in enumerate(found[player]):
                cells[player, row, : len(each)] = each
        self.table = first, np.array(list(itertools.accumulate(values[:-1], initial=0)), np.int64), cells

    def start(self, count: int) -> RulesPositions:
        return RulesPositions(self, np.tile(self.game.first_state, (count, 1)))


class RulesPositions(Positions):
    """Histories as states of compiled rules, ``[n, state_size]`` int64, which are modified."""

    def __init__(self, rules: BatchRules, words: np.ndarray):
        self._rules, self._words, self.movers = rules, words, words[:, MOVER]

    def take(self, rows: np.ndarray) -> Self:
        return type(self)(self._rules, self._words[rows])

    def keys(self, rows: np.ndarray) -> np.ndarray:
        return self._words[rows] @ self._rules.factors

    def play(self, actions: np.ndarray) -> None:
        self.play_on(actions[:, None], np.ones(len(actions), np.int64))

    def play_on(self, actions: np.ndarray, counts: np.ndarray) -> None:
        """Plays the first ``counts`` of the actions, ``[n, any number]``, of players and chance, in each history."""
        self._rules.play(*self._rules.arguments, self._words, np.ascontiguousarray(actions, np.int64), counts)

    def draw_outcomes(self, rows: np.ndarray, draws: np.ndarray) -> None:
        rules = self._rules
        rules.draw_outcomes(*rules.arguments, self._words, rows, draws, rules.actions, rules.probabilities)

    def observe(self, whose: np.ndarray, tensors: np.ndarray, masks: np.ndarray) -> None:
        rules = self._rules
        rules.observe(*rules.arguments, self._words, whose, *rules.table, rules.actions, rules.seen, tensors, masks)

    def returns(self, rows: np.ndarray) -> np.ndarray:
        payoffs = np.zeros((len(rows), self._rules.game.sizes.num_players))
        self._rules.find_returns(*self._rules.arguments, self._words, rows, payoffs)
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
