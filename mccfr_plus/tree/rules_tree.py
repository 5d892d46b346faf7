"""Builds the tree of a game with compiled rules: feeds `rules_walk.walk`, then numbers infosets player by player."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from tqdm import tqdm

from mccfr_plus._jit import announce_compilation, kernel, rebind
from mccfr_plus.errors import GameError
from mccfr_plus.games.game import RulesGame
from mccfr_plus.games.rules import Rules
from mccfr_plus.tree import rules_walk
from mccfr_plus.tree.arrays import INFOSET, NODE, OUTCOME, TreeArrays
from mccfr_plus.tree.budget import Budget
from mccfr_plus.tree.info_states import InfoStates
from mccfr_plus.tree.interning import EMPTY, table_of_rows
from mccfr_plus.tree.key_layout import key_layout
from mccfr_plus.tree.layout import Shape, alias_table
from mccfr_plus.tree.rules_walk import Grown, Walk

_VISITS = 2_000_000  # nodes between looks at the budget and Ctrl-C
_GROWTH = 1.25  # realloc moves nothing on Linux, so that little is wasted by growing in small steps
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
    outcomes = rules_walk._outcomes
    return rebind(
        rules_walk.walk,
        rule_legal=rules.legal,
        rule_apply=rules.apply,
        rule_returns=rules.returns,
        rule_look=rules.look,
        _outcomes=rebind(outcomes, rule_outcomes=rules.outcomes or _no_outcomes),
    )


class _Builder:
    def __init__(self, game: RulesGame, budget: Budget, progress: bool | None):
        sizes = game.sizes
        self._game = game
        self._budget = budget
        self._places, words = key_layout(sizes)
        max_depth = sizes.max_game_length + sizes.max_chance_nodes
        self._walk = Walk(
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
        game, walk = self._game, _walk_of(self._game.rules)
        while True:
            with announce_compilation(walk):
                status = walk(
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
                raise GameError(f"{game}: {_MISTAKES[status]} after the actions {self._history()}.")

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
        """Makes the arrays larger that a walk has filled."""
        grown = self._grown
        if status == rules_walk.MORE_NODES:
            self._budget.check(self._count(rules_walk.NUM_NODES), self._num_bytes())
        for name in _GROWS[status]:
            array = getattr(grown, name)
            capacity = int(len(array) * _GROWTH) + 2 * self._game.most_actions
            array.resize((capacity, *array.shape[1:]), refcheck=False)  # in place
        if status == rules_walk.MORE_INFOSETS and 2 * len(grown.infosets) > len(grown.infoset_table):
            places = 2 * len(grown.infoset_table)
            count = self._count(rules_walk.NUM_INFOSETS)
            grown = grown._replace(infoset_table=table_of_rows(grown.keys, count, places))
        if status == rules_walk.MORE_PAYOFFS and 2 * len(grown.payoffs) > len(grown.payoff_table):
            places = 2 * len(grown.payoff_table)
            count = self._count(rules_walk.NUM_PAYOFFS)
            grown = grown._replace(payoff_table=table_of_rows(grown.payoffs, count, places))
        if status == rules_walk.MORE_OUTCOMES and 2 * len(grown.distribution) > len(grown.distribution_table):
            places = 2 * len(grown.distribution_table)
            count = self._count(rules_walk.NUM_DISTRIBUTIONS)
            grown = grown._replace(distribution_table=rules_walk.table_of_distributions(grown, count, places))
        self._grown = grown

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
        self._grown = grown = self._grown._replace(infoset_table=none, payoff_table=none, distribution_table=none)
        num_players = self._game.sizes.num_players
        num_infosets, num_slots = self._count(rules_walk.NUM_INFOSETS), self._count(rules_walk.NUM_SLOTS)
        grown.nodes.resize(self._count(rules_walk.NUM_NODES), refcheck=False)
        found = grown.infosets
        found.resize(num_infosets, refcheck=False)
        found["player"] &= (1 << rules_walk.PLAYER_BITS) - 1
        # The order of first visit is kept within a player.
        order = np.concatenate([np.flatnonzero(found["player"] == p).astype(np.int32) for p in range(num_players)])
        keys = grown.keys[order]
        self._grown = grown = grown._replace(keys=none)
        infosets = found[order]
        np.cumsum(infosets["num_actions"], out=infosets["first_slot"])
        infosets["first_slot"] -= infosets["num_actions"]
        slot_map = np.empty(num_slots, np.int32)
        slot_action = np.empty(num_slots, np.int64)
        rules_walk.move_slots(found, order, infosets, grown.slot_action, slot_map, slot_action)
        rules_walk.renumber(grown.nodes, infosets, slot_map)
        infoset_range = np.searchsorted(infosets["player"], np.arange(num_players + 1)).astype(np.int64)
        arrays = TreeArrays(
            nodes=grown.nodes,
            payoffs=grown.payoffs[: self._count(rules_walk.NUM_PAYOFFS)].copy().view(np.float64),
            chance=self._chance(),
            infosets=infosets,
            infoset_range=infoset_range,
            slot_range=np.append(infosets["first_slot"], num_slots).astype(np.int64)[infoset_range],
            leaf_range=np.zeros(num_players + 1, np.int64),
            leaf_start=np.zeros(1, np.int64),
            leaf_row=np.zeros(0, np.int32),
            leaf_others=np.zeros(0, np.int32),
            leaf_value=np.zeros(0),
        )
        shape = Shape(
            max_depth=self._count(rules_walk.MAX_DEPTH),
            max_stack=self._count(rules_walk.MAX_STACK),
            perfect_recall=not self._count(rules_walk.IMPERFECT),
        )
        outcome_action = grown.outcome_action[: self._count(rules_walk.NUM_OUTCOMES)].copy()
        info_states = InfoStates(self._game, keys, infosets["player"])
        return RulesTree(arrays, slot_action, outcome_action, shape, info_states)

    def _chance(self) -> np.ndarray:
        tables = [
            alias_table(self._grown.outcome_probability[first : first + count])
            for first, count in self._grown.distribution[: self._count(rules_walk.NUM_DISTRIBUTIONS)].tolist()
        ]
        return np.concatenate(tables) if tables else np.zeros(0, OUTCOME)


def _empty_table(capacity: int) -> np.ndarray:
    return np.full(1 << (2 * capacity).bit_length(), EMPTY, np.int32)


_GROWS = {
    rules_walk.MORE_NODES: ("nodes",),
    rules_walk.MORE_INFOSETS: ("infosets", "keys"),
    rules_walk.MORE_SLOTS: ("slot_action",),
    rules_walk.MORE_PAYOFFS: ("payoffs",),
    rules_walk.MORE_OUTCOMES: ("distribution", "outcome_action", "outcome_probability"),
}

_MISTAKES = {
    rules_walk.TOO_DEEP: "a history is longer than max_game_length + max_chance_nodes of the layout",
    rules_walk.BAD_MOVER: "state[MOVER] is no player, CHANCE or TERMINAL",
    rules_walk.BAD_LEGAL: "`legal` gives no action, or more than num_distinct_actions of the layout",
    rules_walk.BAD_VIEW: "`look` writes an entry that is not in 0 .. size - 1 of its field",
    rules_walk.BAD_CHANCE: "`outcomes` gives probabilities that are negative or do not sum to 1",
    rules_walk.DIFFERENT_LEGAL: (
        "`look` writes what it wrote at another state that has other legal actions, so that the information states do "
        "not tell apart what the player can tell apart,"
    ),
}
