"""Builds the tree of a game with compiled rules: runs `rules_traversal` in arrays that it enlarges as needed."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from mccfr_plus.games.game import RulesGame
from mccfr_plus.games.rules import Rules
from mccfr_plus.kernels.compile import announce_compilation
from mccfr_plus.kernels.slots import bind
from mccfr_plus.trees.arrays import INFOSET, NODE
from mccfr_plus.trees.by_rules import rules_traversal as t
from mccfr_plus.trees.flattening import FlatTree, flatten
from mccfr_plus.trees.game_errors import WrongAnswerError, game_error
from mccfr_plus.trees.info_states import InfoStates, key_places
from mccfr_plus.trees.interning import EMPTY, num_places, table_of_rows
from mccfr_plus.trees.memory import Budget
from mccfr_plus.trees.recording import compiling_bar, show_fraction

_VISITS = 2_000_000  # nodes between two checks of the budget and of Ctrl-C
_GROWTH = 1.25  # of an array that is full; realloc moves nothing on Linux, so that small steps cost little
_FIRST_CAPACITY = 1024
_FIRST_DISTRIBUTIONS = 16


def build(game: RulesGame, budget: Budget, progress: bool | None) -> tuple[FlatTree, InfoStates]:
    """Returns the tree of a game with compiled rules, and its information states.

    Args:
        game: The game.
        budget: Limits of the tree.
        progress: See `compile_game`.

    Raises:
        BudgetError: If the tree is larger than the budget.
        GameError: If the rules contradict themselves or the game's layout.
    """
    return _Builder(game, budget, progress).run()


@cache
def _traversal_of(rules: Rules) -> Any:
    return bind(t.traversal, t.kernels_of(rules))


class _Builder:
    def __init__(self, game: RulesGame, budget: Budget, progress: bool | None):
        sizes = game.sizes
        self._game = game
        self._budget = budget
        self._places, words = key_places(sizes)
        most_outcomes = max(sizes.max_chance_outcomes, 1)
        max_depth = sizes.max_game_length + sizes.max_chance_nodes
        self._progress = t.Traversal(
            counts=np.zeros(t.NUM_COUNTS, np.int64),
            states=np.zeros((max_depth + 1, sizes.state_size), np.int64),
            actions=np.zeros((max_depth, game.most_actions), np.int64),
            num_actions=np.zeros(max_depth + 1, np.int64),
            num_taken=np.zeros(max_depth + 1, np.int64),
            seen=np.zeros(sizes.view_size, np.int64),
            key=np.zeros(words, np.int64),
            payoff=np.zeros(sizes.num_players),
            distribution=np.zeros(2 * most_outcomes, np.int64),
            probabilities=np.zeros(most_outcomes),
        )
        self._progress.states[0] = game.first_state
        capacity = max(_FIRST_CAPACITY, 2 * game.most_actions)
        self._arrays = t.FoundArrays(
            kinds=np.zeros(capacity, np.int8),
            payloads=np.zeros(capacity, np.int32),
            infosets=np.zeros(capacity, INFOSET),
            keys=np.zeros((capacity, words), np.int64),
            infoset_table=_empty_table(capacity),
            slot_action=np.zeros(capacity, np.int64),
            payoffs=np.zeros((capacity, sizes.num_players), np.int64),
            payoff_table=_empty_table(capacity),
            distributions=np.zeros((_FIRST_DISTRIBUTIONS, 2 * most_outcomes), np.int64),
            distribution_table=_empty_table(_FIRST_DISTRIBUTIONS),
        )
        self._bar = compiling_bar(progress)

    def run(self) -> tuple[FlatTree, InfoStates]:
        with self._bar:
            self._traverse()
        self._check_budget()
        return self._finished()

    def _traverse(self) -> None:
        game, traversal = self._game, _traversal_of(self._game.rules)
        while True:
            with announce_compilation(traversal, "the rules of the game", 5):
                status = traversal(
                    game.parameters,
                    game.table,
                    self._places,
                    self._progress,
                    self._arrays,
                    game.sizes.num_players,
                    _VISITS,
                )
            if status == t.DONE:
                return
            if status == t.PAUSED:
                self._check_budget()
                show_fraction(self._bar, self._count(t.NUM_NODES), *self._path())
            elif status in _FULL:
                self._enlarge(status)
            else:
                raise game_error(game, self._history(), WrongAnswerError(_MISTAKES[status]))

    def _count(self, which: int) -> int:
        return int(self._progress.counts[which])

    def _check_budget(self, more_bytes: int = 0) -> None:
        nodes = self._count(t.NUM_NODES)
        num_bytes = sum(array.nbytes for array in self._arrays) + NODE.itemsize * nodes
        self._budget.check(nodes, num_bytes + more_bytes)

    def _enlarge(self, status: int) -> None:
        """Enlarges the arrays that are full, and their hash table if it would be over half full.

        Raises:
            BudgetError: If that would take more memory than allowed. Nothing has changed then.
        """
        names, table, count = _FULL[status]
        arrays = [getattr(self._arrays, name) for name in names]  # of one length
        is_wide = status == t.MORE_DISTRIBUTIONS
        capacity = int(len(arrays[0]) * _GROWTH) + (1 if is_wide else 2 * self._game.most_actions)
        if status == t.MORE_NODES:  # the traversal stops when the budget is spent, not at the next check
            capacity = min(capacity, self._budget.max_nodes + 1)
        more_bytes = sum(array.strides[0] for array in arrays) * (capacity - len(arrays[0]))
        places = num_places(capacity)
        is_table_full = table != "" and 2 * capacity > len(getattr(self._arrays, table))
        if is_table_full:
            more_bytes += places * np.dtype(np.int32).itemsize
        self._check_budget(more_bytes)
        for array in arrays:
            array.resize((capacity, *array.shape[1:]), refcheck=False)  # in place
        if is_table_full:
            self._arrays = self._arrays._replace(**{table: table_of_rows(arrays[-1], self._count(count), places)})

    def _path(self) -> tuple[list[int], list[int]]:
        """Returns the numbers of actions of the nodes on the path, and how many of them were taken."""
        depth = self._count(t.DEPTH)
        return self._progress.num_actions[:depth].tolist(), self._progress.num_taken[:depth].tolist()

    def _history(self) -> list[int]:
        return [int(self._progress.actions[depth, taken - 1]) for depth, taken in enumerate(self._path()[1])]

    def _finished(self) -> tuple[FlatTree, InfoStates]:
        # What is not needed any more goes first: at this point memory is at its peak.
        found = {name: array for name, array in self._arrays._asdict().items() if not name.endswith("_table")}
        del self._arrays
        for names, _, count in _FULL.values():
            for name in names:
                found[name].resize((self._count(count), *found[name].shape[1:]), refcheck=False)
        found["infosets"]["player"] &= (1 << t.PLAYER_BITS) - 1
        actions, bits = np.hsplit(found["distributions"], 2)
        rows = zip(actions.tolist(), bits.view(np.float64).tolist(), strict=True)
        flat = flatten(  # which frees the arrays that it has replaced
            self._count(t.MAX_DEPTH),
            found.pop("kinds"),
            found.pop("payloads"),
            found.pop("infosets"),
            found.pop("slot_action"),
            [[pair for pair in zip(*row, strict=True) if pair[1] > 0] for row in rows],
            found["payoffs"].view(np.float64),
        )
        return flat, InfoStates(self._game, found["keys"][flat.order], flat.arrays.infosets["player"])


def _empty_table(capacity: int) -> np.ndarray:
    return np.full(num_places(capacity), EMPTY, np.int32)


# Which arrays are full, the hash table of the last one, and the number of their rows.
_FULL: dict[int, tuple[tuple[str, ...], str, int]] = {
    t.MORE_NODES: (("kinds", "payloads"), "", t.NUM_NODES),
    t.MORE_INFOSETS: (("infosets", "keys"), "infoset_table", t.NUM_INFOSETS),
    t.MORE_SLOTS: (("slot_action",), "", t.NUM_SLOTS),
    t.MORE_PAYOFFS: (("payoffs",), "payoff_table", t.NUM_PAYOFFS),
    t.MORE_DISTRIBUTIONS: (("distributions",), "distribution_table", t.NUM_DISTRIBUTIONS),
}

_MISTAKES = {
    t.TOO_DEEP: "a history is longer than max_game_length + max_chance_nodes of the layout",
    t.BAD_MOVER: "state[MOVER] is no player, CHANCE or TERMINAL",
    t.BAD_LEGAL: "`legal` gives no action, or more than num_distinct_actions of the layout",
    t.BAD_VIEW: "`look` writes an entry that is not in 0 .. size - 1 of its field",
    t.BAD_CHANCE: (
        "`outcomes` gives no outcome, more than max_chance_outcomes of the layout, or probabilities that are negative "
        "or do not sum to 1"
    ),
    t.BAD_RETURNS: "`returns` gives a payoff that is not a finite number",
    t.DIFFERENT_LEGAL: (
        "`look` writes what it wrote at another state that has other legal actions, so that the information states do "
        "not tell apart what the player can tell apart"
    ),
}
