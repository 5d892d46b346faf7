"""Many histories of a game as the words of its compiled rules, played on and observed by kernels."""

from __future__ import annotations

import itertools
from typing import Any, Self

import numpy as np

from mccfr_plus.games.game import RulesGame
from mccfr_plus.games.rules import MOVER
from mccfr_plus.kernels.compile import compose, kernel
from mccfr_plus.neural.sampling.positions import Positions
from mccfr_plus.tree.by_rules.rules_traversal import rule_apply, rule_legal, rule_look, rule_outcomes, rule_returns


class BatchRules:
    """The rules of a game with `tensor_cells` for many histories at once, and its information-state tensors as a table.

    ``table`` has, of each player, the tensor of one who knows nothing, ``[num_players, size]`` float32; where the rows
    of each entry of `look` begin; and the cells of each row, ``[num_players, num_rows, most cells]``, filled up with
    ``size``.
    """

    def __init__(self, game: RulesGame, size: int):
        sizes, players = game.sizes, range(game.sizes.num_players)
        self.game, self.arguments, rules = game, (game.parameters, game.table), game.rules
        names: dict[str, Any] = {f"rule_{name}": getattr(rules, name) for name in ("legal", "apply", "returns", "look")}
        names["rule_outcomes"] = rules.outcomes or rule_outcomes
        self.play, self.draw_outcomes, self.observe, self.find_returns = (
            compose(each, strict=False, **names) for each in (_play, _draw_outcomes, _observe, _find_returns)
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
        """Returns so many histories at the game's beginning."""
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
            rule_apply(parameters, table, words[row], actions[row, number])


@kernel
def _draw_outcomes(parameters, table, words, rows, draws, actions, probabilities):
    for number in range(len(rows)):
        state = words[rows[number]]
        count = rule_outcomes(parameters, table, state, actions, probabilities)
        total = 0.0
        for index in range(count):
            total += probabilities[index]
        index, end = 0, probabilities[0]
        while end <= draws[number] * total and index < count - 1:
            index += 1
            end += probabilities[index]
        rule_apply(parameters, table, state, actions[index])


@kernel
def _observe(parameters, table, words, whose, first, begins, cells, actions, seen, tensors, masks):
    size, most = first.shape[1], cells.shape[2]
    for row in range(len(words)):
        state = words[row]
        for index in range(rule_legal(parameters, table, state, actions)):
            masks[row, actions[index]] = True
        for number in range(whose.shape[1]):
            player, begin = whose[row, number], number * size
            for cell in range(size):
                tensors[row, begin + cell] = first[player, cell]
            for place in range(len(seen)):
                seen[place] = 0
            rule_look(parameters, table, state, player, seen)
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
        rule_returns(parameters, table, words[rows[number]], payoffs[number])
