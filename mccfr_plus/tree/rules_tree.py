"""Builds the tree of a game with compiled rules: `rules_traversal`, then infosets are numbered player by player."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from tqdm import tqdm

from mccfr_plus.games.game import RulesGame
from mccfr_plus.games.rules import Rules
from mccfr_plus.kernels.compile import announce_compilation, compose, kernel
from mccfr_plus.tree import rules_traversal as rules_walk
from mccfr_plus.tree.arrays import INFOSET, NODE, OUTCOME, TreeArrays
from mccfr_plus.tree.budget import Budget
from mccfr_plus.tree.expansion import NUM_EXPANSION
from mccfr_plus.tree.game_error import WrongAnswerError, game_error
from mccfr_plus.tree.info_states import InfoStates
from mccfr_plus.tree.interning import EMPTY, num_places, table_of_rows
from mccfr_plus.tree.key_layout import key_layout
from mccfr_plus.tree.layout import Shape, alias_table
from mccfr_plus.tree.rules_traversal import Grown, Traversal

_VISITS = 2_000_000  # nodes between looks at the budget and Ctrl-C
_GROWTH = 1.25  # realloc moves nothing on Linux, so that little is wasted by lazy in small steps
_FIRST_CAPACITY = 1024


class RulesTree(NamedTuple):
    """What `GameTree` is made of."""

    arrays: TreeArrays
    slot_action: np.ndarray
    outcome_action: np.ndarray
    shape: Shape
    info_states: InfoStates


def build(game: RulesGame, budget: Budget, progress: bool | None) -> RulesTree:
    """Returns the parts of the tree of a game with compiled rules.

    Args:
        game: The game.
        budget: What the tree may cost.
        progress: See `compile_game`.

    Raises:
        BudgetError: If the tree is larger than the budget.
        GameError: If the rules contradict themselves or the game's layout.
    """
    return _Builder(game, budget, progress).run()


@kernel
def _no_outcomes(parameters, table, state, actions, probabilities):
    """Takes the place of `outcomes` in games without chance."""
    return 0


@cache
def _walk_of(rules: Rules) -> Any:
    return compose(
        rules_walk.traversal,
        rule_legal=rules.legal,
        rule_apply=rules.apply,
        rule_returns=rules.returns,
        rule_look=rules.look,
        rule_outcomes=rules.outcomes or _no_outcomes,
    )


class _Builder:
    def __init__(self, game: RulesGame, budget: Budget, progress: bool | None):
        sizes = game.sizes
        self._game = game
        self._budget = budget
        self._places, words = key_layout(sizes)
        max_depth = sizes.max_game_length + sizes.max_chance_nodes
        self._walk = Traversal(
            counts=np.zeros(rules_walk.NUM_COUNTS, np.int64),
            states=np.zeros((max_depth + 1, sizes.state_size), np.int64),
            actions=np.zeros((max_depth, game.most_actions), np.int64),
            frames=np.zeros(max_depth, rules_walk.FRAME),
            last_slot=-1 - np.arange(sizes.num_players),
            seen=np.zeros(sizes.view_size, np.int64),
            key=np.zeros(words, np.int64),
            payoff=np.zeros(sizes.num_players),
            probabilities=np.zeros(max(sizes.max_chance_outcomes, 1)),
        )
        self._walk.states[0] = game.first_state
        self._walk.counts[rules_walk.NUM_NODES] = self._walk.counts[rules_walk.MAX_STACK] = 1
        capacity = max(_FIRST_CAPACITY, 2 * game.most_actions)
        self._grown = Grown(
            nodes=np.zeros(capacity, NODE),
            infosets=np.zeros(capacity, INFOSET),
            keys=np.zeros((capacity, words), np.int64),
            infoset_table=_empty_table(capacity),
            slot_action=np.zeros(capacity, np.int64),
            payoffs=np.zeros((capacity, sizes.num_players), np.int64),
            payoff_table=_empty_table(capacity),
            distribution=np.zeros((capacity, 2), np.int64),
            distribution_table=_empty_table(capacity),
            outcome_action=np.zeros(capacity, np.int64),
            outcome_probability=np.zeros(capacity),
        )
        disable = None if progress is None else not progress
        self._bar = tqdm(
            desc="compiling the tree", unit=" nodes", unit_scale=True, delay=1.0, disable=disable, leave=False
        )

    def run(self) -> RulesTree:
        with self._bar:
            self._run_walk()
        self._budget.check(self._count(rules_walk.NUM_NODES), self._num_bytes())
        return self._finished()

    def _run_walk(self) -> None:
        game, traversal = self._game, _walk_of(self._game.rules)
        while True:
            with announce_compilation(traversal, "the rules of the game", 5):
                status = traversal(
                    game.parameters,
                    game.table,
                    self._places,
                    self._walk,
                    self._grown,
                    game.sizes.num_players,
                    _VISITS,
                )
            if status == rules_walk.DONE:
                return
            if status == rules_walk.PAUSED:
                self._look_around()
            elif status in _GROWS:
                self._grow(status)
            else:
                raise game_error(game, self._history(), WrongAnswerError(_MISTAKES[status]))

    def _count(self, which: int) -> int:
        return int(self._walk.counts[which])

    def _look_around(self) -> None:
        self._budget.check(self._count(rules_walk.NUM_NODES), self._num_bytes())
        if not self._bar.disable:
            visited = self._count(rules_walk.VISITED)
            self._bar.total = round(visited / max(self._fraction_done(), 1e-9))
            self._bar.update(visited - self._bar.n)

    def _num_bytes(self) -> int:
        return sum(array.nbytes for array in self._grown)

    def _grow(self, status: int) -> None:
        """Makes the arrays larger that a traversal has filled, and their hash table if it would be over half full.

        Raises:
            BudgetError: If that would take more memory than allowed. Nothing has lazy then.
        """
        names, table = _GROWS[status]
        arrays = [getattr(self._grown, name) for name in names]  # of one length
        capacity = int(len(arrays[0]) * _GROWTH) + 2 * self._game.most_actions
        if status == rules_walk.MORE_NODES:  # the traversal stops when the budget is spent, not at the next look at it
            capacity = min(capacity, self._budget.max_nodes + self._game.most_actions)
        more_bytes = sum(array.strides[0] for array in arrays) * (capacity - len(arrays[0]))
        places = num_places(capacity)
        if table is not None and 2 * capacity <= len(getattr(self._grown, table)):
            table = None  # large enough
        if table is not None:
            more_bytes += places * np.dtype(np.int32).itemsize
        self._budget.check(self._count(rules_walk.NUM_NODES), self._num_bytes() + more_bytes)
        for array in arrays:
            array.resize((capacity, *array.shape[1:]), refcheck=False)  # in place
        if table is not None:
            self._grown = self._grown._replace(**{table: self._table_of(status, places)})

    def _table_of(self, status: int, places: int) -> np.ndarray:
        lazy = self._grown
        if status == rules_walk.MORE_INFOSETS:
            return table_of_rows(lazy.keys, self._count(rules_walk.NUM_INFOSETS), places)
        if status == rules_walk.MORE_PAYOFFS:
            return table_of_rows(lazy.payoffs, self._count(rules_walk.NUM_PAYOFFS), places)
        return rules_walk.table_of_distributions(lazy, self._count(rules_walk.NUM_DISTRIBUTIONS), places)

    def _history(self) -> list[int]:
        frames, depth = self._walk.frames, self._count(rules_walk.DEPTH)
        return [int(self._walk.actions[d, frames[d]["next"] - 1 - frames[d]["first"]]) for d in range(depth)]

    def _fraction_done(self) -> float:
        fraction, width = 0.0, 1.0
        for frame in self._walk.frames[: self._count(rules_walk.DEPTH)]:
            width /= int(frame["last"]) - int(frame["first"]) + 1
            fraction += (int(frame["next"]) - 1 - int(frame["first"])) * width
        return fraction

    def _finished(self) -> RulesTree:
        # What is not needed any more goes first: at this point memory is at its peak.
        none = np.zeros(0, np.int32)
        self._grown = lazy = self._grown._replace(infoset_table=none, payoff_table=none, distribution_table=none)
        num_players = self._game.sizes.num_players
        num_infosets, num_slots = self._count(rules_walk.NUM_INFOSETS), self._count(rules_walk.NUM_SLOTS)
        lazy.nodes.resize(self._count(rules_walk.NUM_NODES), refcheck=False)
        found = lazy.infosets
        found.resize(num_infosets, refcheck=False)
        found["player"] &= (1 << rules_walk.PLAYER_BITS) - 1
        # The order of first visit is kept within a player.
        order = np.concatenate([np.flatnonzero(found["player"] == p).astype(np.int32) for p in range(num_players)])
        keys = lazy.keys[order]
        infosets = found[order]
        del found, order
        self._grown = lazy = lazy._replace(keys=none, infosets=none)
        old_first_slot = infosets["first_slot"].copy()
        np.cumsum(infosets["num_actions"], out=infosets["first_slot"])
        infosets["first_slot"] -= infosets["num_actions"]
        slot_map = np.empty(num_slots, np.int32)
        slot_action = np.empty(num_slots, np.int64)
        rules_walk.move_slots(old_first_slot, infosets, lazy.slot_action, slot_map, slot_action)
        self._grown = lazy = lazy._replace(slot_action=none)
        rules_walk.renumber(lazy.nodes, infosets, slot_map)
        infoset_range = np.searchsorted(infosets["player"], np.arange(num_players + 1)).astype(np.int64)
        arrays = TreeArrays(
            nodes=lazy.nodes,
            payoffs=lazy.payoffs[: self._count(rules_walk.NUM_PAYOFFS)].copy().view(np.float64),
            chance=self._chance(),
            infosets=infosets,
            infoset_range=infoset_range,
            slot_range=np.append(infosets["first_slot"], num_slots).astype(np.int64)[infoset_range],
            leaf_range=np.zeros(num_players + 1, np.int64),
            leaf_start=np.zeros(1, np.int64),
            leaf_row=np.zeros(0, np.int32),
            leaf_others=np.zeros(0, np.int32),
            leaf_value=np.zeros(0),
            expansion=np.zeros(NUM_EXPANSION, np.int64),
        )
        shape = Shape(
            max_depth=self._count(rules_walk.MAX_DEPTH),
            max_stack=self._count(rules_walk.MAX_STACK),
            perfect_recall=not self._count(rules_walk.IMPERFECT),
        )
        outcome_action = lazy.outcome_action[: self._count(rules_walk.NUM_OUTCOMES)].copy()
        info_states = InfoStates(self._game, keys, infosets["player"])
        return RulesTree(arrays, slot_action, outcome_action, shape, info_states)

    def _chance(self) -> np.ndarray:
        table = np.empty(self._count(rules_walk.NUM_OUTCOMES), OUTCOME)
        distributions = self._grown.distribution[: self._count(rules_walk.NUM_DISTRIBUTIONS)]
        for first, count in distributions.tolist():
            table[first : first + count] = alias_table(self._grown.outcome_probability[first : first + count])
        return table


def _empty_table(capacity: int) -> np.ndarray:
    return np.full(num_places(capacity), EMPTY, np.int32)


# Which arrays expand, and the hash table of what they hold.
_GROWS: dict[int, tuple[tuple[str, ...], str | None]] = {
    rules_walk.MORE_NODES: (("nodes",), None),
    rules_walk.MORE_INFOSETS: (("infosets", "keys"), "infoset_table"),
    rules_walk.MORE_SLOTS: (("slot_action",), None),
    rules_walk.MORE_PAYOFFS: (("payoffs",), "payoff_table"),
    rules_walk.MORE_OUTCOMES: (("distribution", "outcome_action", "outcome_probability"), "distribution_table"),
}

_MISTAKES = {
    rules_walk.TOO_DEEP: "a history is longer than max_game_length + max_chance_nodes of the layout",
    rules_walk.BAD_MOVER: "state[MOVER] is no player, CHANCE or TERMINAL",
    rules_walk.BAD_LEGAL: "`legal` gives no action, or more than num_distinct_actions of the layout",
    rules_walk.BAD_VIEW: "`look` writes an entry that is not in 0 .. size - 1 of its field",
    rules_walk.BAD_CHANCE: (
        "`outcomes` gives no outcome, more than max_chance_outcomes of the layout, or probabilities that are negative "
        "or do not sum to 1"
    ),
    rules_walk.BAD_RETURNS: "`returns` gives a payoff that is not a finite number",
    rules_walk.DIFFERENT_LEGAL: (
        "`look` writes what it wrote at another state that has other legal actions, so that the information states do "
        "not tell apart what the player can tell apart"
    ),
}
