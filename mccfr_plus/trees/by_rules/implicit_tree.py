"""A game that is traversed by its compiled rules: no history is stored, only infosets are."""

from __future__ import annotations

import functools
import os
from functools import cached_property
from typing import Any

import numpy as np
import pyspiel

from mccfr_plus.errors import ConfigError
from mccfr_plus.games.game import RulesGame
from mccfr_plus.kernels.compile import inline_kernel, may_make_arrays, source_of
from mccfr_plus.kernels.intrinsics import address_of
from mccfr_plus.kernels.slots import Bindings, bind
from mccfr_plus.trees import access
from mccfr_plus.trees import expansion as g
from mccfr_plus.trees.arrays import INFOSET, Shape
from mccfr_plus.trees.by_rules import new_infosets, positions
from mccfr_plus.trees.by_rules import rows as r
from mccfr_plus.trees.by_rules import rules_traversal as t
from mccfr_plus.trees.by_rules import successors as n
from mccfr_plus.trees.by_rules.costs import log_words_per_slot
from mccfr_plus.trees.by_rules.histories import words_per_depth
from mccfr_plus.trees.by_rules.new_infosets import num_successor_words, num_uniform
from mccfr_plus.trees.by_rules.openings import Openings, openings_of
from mccfr_plus.trees.by_rules.payoff_matrix import PayoffMatrix
from mccfr_plus.trees.by_rules.requirements import WORD, can_be_implicit, uses_numbers
from mccfr_plus.trees.by_rules.rules_keys import RulesKeys, places_of
from mccfr_plus.trees.expanding_tree import SIZES, ExpandingTree
from mccfr_plus.trees.memory import MemoryPlan
from mccfr_plus.trees.needs import RULES
from mccfr_plus.trees.tree import Sizes

_MOST_VISITS = 1 << 28  # that one traversal may list: room that is not used takes no memory

_OF_OPENINGS = r.OPENING_STATES, r.OPENING_CHANCE, r.OPENING_COUNTS


@functools.cache
def _inlined(rule: Any) -> Any:
    """Returns one of a game's kernels, to be inlined: a call per history took as long as all else."""
    return rule if may_make_arrays(rule) else inline_kernel(getattr(rule, "py_func", rule))


class ImplicitTree(ExpandingTree):
    """A game that is traversed by its compiled rules, and whose infosets are numbered when they are first visited.

    Args:
        game: The turn-based pyspiel game.
        rules_game: Its compiled rules, with `observe` or `infoset_number`.
        plan: How many places there are.
        threads: How many threads may traverse it at once.

    Raises:
        ConfigError: If the rules lack both of these kernels.
    """

    kind = "rules"
    provides = frozenset({RULES})
    num_symmetries = 1  # by which infosets are merged, the identity included

    def __init__(self, game: pyspiel.Game, rules_game: RulesGame, plan: MemoryPlan, threads: int = 1):
        sizes = rules_game.sizes
        if not can_be_implicit(rules_game):
            raise ConfigError(
                f"the rules of {game} have neither `observe` nor `infoset_number`, or with too large numbers: see "
                "mccfr_plus.games."
            )
        self.rules_game, self.threads = rules_game, threads
        max_depth = sizes.max_game_length + sizes.max_chance_nodes
        most_children = max(rules_game.most_actions, 1)
        shape = Shape(max_depth=max_depth, max_stack=max_depth * most_children + 1, perfect_recall=True)
        stored = {"infosets": np.zeros(plan.max_infosets, INFOSET), "expansion": np.zeros(r.NUM_WORDS, np.int64)}
        super().__init__(game, plan, shape, **stored)
        self.node_capacity = _MOST_VISITS
        self._successors = np.zeros(self._size_of(num_successor_words, plan.max_slots), np.int64)
        self._blocks = np.zeros(n.BLOCK_WORDS_PER_INFOSET * plan.max_infosets, np.int64)
        self.slot_action = np.zeros(plan.max_slots, np.int32)
        self._info_keys = np.zeros((plan.max_infosets, 2), np.int64)
        self._places = places_of(rules_game)
        self.keys = self._new_keys()
        words = self._size_of(r.words_before_rows)
        words += self._size_of(r.words_per_row) * self._size_of(r.num_rows, max_depth)
        paths, words = 8 * words, words + self._size_of(words_per_depth) * (max_depth + 1)
        words = -(-words // 16) * 16 + 16  # threads write to lines of the cache of their own
        self.max_threads = max(threads, os.cpu_count() or 1)  # an evaluation may use more of them than the solver
        self._rows = np.zeros((self.max_threads, words), np.int64)
        expansion = self._expansion
        expansion[r.ROWS], expansion[r.BYTES_PER_THREAD] = address_of(self._rows), 8 * words
        expansion[r.THREADS], expansion[r.PATHS], expansion[r.MAX_DEPTH] = threads, paths, max_depth
        # Empty arrays have an address, too.
        self._parameters = np.append(rules_game.parameters, 0)
        self._table = np.append(rules_game.table, 0.0)
        self._first_state = rules_game.first_state.copy()
        expansion[r.PARAMETERS], expansion[r.NUM_PARAMETERS] = address_of(self._parameters), len(self._parameters)
        expansion[r.TABLE_OF_RULES], expansion[r.NUM_TABLE] = address_of(self._table), len(self._table)
        expansion[[r.FIRST_STATE, *_OF_OPENINGS]] = address_of(self._first_state)
        expansion[r.PLACES], expansion[r.NUM_PLACES] = address_of(self._places), len(self._places)
        expansion[r.FIRST_UNIFORM] = self.max_slots
        expansion[g.KEYS] = address_of(self._info_keys)
        expansion[n.WORDS], expansion[n.BLOCKS] = address_of(self._successors), address_of(self._blocks)
        expansion[g.SLOT_ACTIONS] = address_of(self.slot_action)

    @cached_property
    def _constants(self) -> dict[Any, int]:
        sizes = self.rules_game.sizes
        return {
            r.STATE_SIZE: sizes.state_size,
            r.NUM_PLAYERS: sizes.num_players,
            n.COUNT_BITS: sizes.num_distinct_actions.bit_length(),
            n.LOG_WORDS_PER_SLOT: log_words_per_slot(self.rules_game),
            r.MAX_ACTIONS: self.rules_game.most_actions,
            r.MAX_OUTCOMES: max(sizes.max_chance_outcomes, 1),
            r.VIEW_SIZE: sizes.view_size,
            r.NUM_NUMBERS: sizes.max_infosets if uses_numbers(self.rules_game) else 0,
        }

    def _new_keys(self) -> RulesKeys:
        return RulesKeys(self.game)

    @property
    def first_strategy(self) -> np.ndarray:
        """A copy of what the bound strategy is now, ``[num_slots]``: at new infosets the one that they got at first."""
        return self._bound[0][: self.num_slots].copy()

    def _size_of(self, kernel: Any, *arguments: int) -> int:
        """Returns what a kernel of `positions` gives for this game, without compiling it."""
        return int(source_of(bind(kernel, self._constants, partial=True))(*arguments))

    @cached_property
    def rule_slots(self) -> dict[Any, Any]:
        """The game's kernels and sizes, by the slots of `positions` that they fill."""
        rules = self.rules_game.rules
        inlined: dict[Any, Any] = {t.RULE_LEGAL: rules.legal, t.RULE_APPLY: rules.apply, t.RULE_RETURNS: rules.returns}
        if self._constants[r.NUM_NUMBERS]:
            inlined[new_infosets.RULE_NUMBER] = rules.infoset_number
        else:
            inlined[new_infosets.RULE_OBSERVE] = rules.observe
        kernels = {place: _inlined(rule) for place, rule in inlined.items()}
        return {**self._constants, **t.kernels_of(rules), **kernels}

    @cached_property
    def bindings(self) -> Bindings:
        functions = {
            access.FIRST_NODE: positions.first_node,
            access.HEAD: positions.head,
            access.PAYLOAD_OF: positions.payload_of,
            access.ADVANCE: positions.step,
            access.PAYOFF: positions.payoff,
            access.KEEP: positions.keep,
            access.RESUME: positions.resume,
            access.REOPEN: positions.reopen,
            access.CHILD_OF: positions.child_of,
            access.OUTCOME_PROBABILITY: positions.outcome_probability,
            access.FETCH_AHEAD: n.fetch_ahead,
            access.FETCH_ROWS_AHEAD: n.fetch_rows_ahead,
            g.EXPAND: positions.cannot_expand,
        }
        return {**super().bindings, **functions, **self.rule_slots}

    def attach(self, ones: np.ndarray | None, *, check_depth: bool, single_trajectory: bool) -> np.ndarray:
        """See `Tree`. Histories have their depth by the rules."""
        strategy = super().attach(ones, check_depth=check_depth, single_trajectory=single_trajectory)
        for count in range(1, self.rules_game.most_actions + 1):
            first = self.max_slots + self._size_of(num_uniform, count - 1)
            strategy[first : first + count] = 1.0 / count
        return strategy

    def set_prior(self, bounds: np.ndarray, keys: np.ndarray, first: np.ndarray, probabilities: np.ndarray) -> None:
        """Makes a policy what new infosets play at first; where it says nothing, play is uniform.

        Args:
            bounds: ``[num_players + 1]`` int64: infosets of player p are bounds[p] .. bounds[p + 1] - 1.
            keys: ``[n, 2]`` int64, sorted within each player; see `RulesKeys`.
            first: ``[n + 1]`` int64, the first row of each infoset.
            probabilities: ``[num_rows]`` float64, of the legal actions in their order.
        """
        self._prior = tuple(np.ascontiguousarray(array) for array in (bounds, keys, first, probabilities))
        self._expansion[r.NUM_PRIOR] = len(keys)
        places = (r.PRIOR_RANGE, r.PRIOR_KEYS, r.PRIOR_FIRST, r.PRIOR_PROBABILITIES)
        for place, array in zip(places, self._prior, strict=True):
            self._expansion[place] = address_of(array)

    @cached_property
    def openings(self) -> Openings | None:
        """Those of the game. From now on, traversals of all histories begin with them."""
        found, words = openings_of(self.rules_game), self._expansion
        if found is not None:
            words[r.NUM_OPENINGS], words[r.NUM_ABOVE] = len(found.states), found.num_above
            words[list(_OF_OPENINGS)] = [address_of(found.states), address_of(found.chance), address_of(found.counts)]
        return found

    @property
    def bytes_left(self) -> int:
        """What infosets leave of the memory, in bytes."""
        return self.plan.tree_bytes - self._cost(self.sizes())

    @property
    def matrix_words(self) -> np.ndarray | None:
        """The words that lead kernels to the payoff matrix; None if there is none."""
        words = self.arrays.expansion[r.MATRIX :]
        return words if words[0] else None

    def set_payoff_matrix(self, matrix: PayoffMatrix, num_histories: int) -> None:
        """Takes the game's payoff matrix, for estimators that use it.

        Args:
            matrix: The matrix, of all infosets.
            num_histories: That a traversal of all visits.
        """
        self._matrix = matrix  # keeps it alive
        self._expansion[r.NUM_HISTORIES] = num_histories
        words = (*map(address_of, matrix[:3]), len(matrix.entries), matrix.column_bits)
        self._expansion[r.MATRIX : r.MATRIX + len(words)] = words

    # --- the state ---

    def sizes(self) -> Sizes:
        return Sizes(*map(self.count, SIZES))._replace(block_words=self.count(n.NUM_BLOCK_WORDS))

    def _cost(self, sizes: Sizes) -> int:
        return super()._cost(sizes) + WORD * sizes.block_words

    def places(self, sizes: Sizes) -> dict[str, np.ndarray]:
        words, ends = self._slot_words(sizes.slots)
        return {
            "infosets": self._infosets[: sizes.infosets],
            "keys": self._info_keys[: sizes.infosets],
            "slot_actions": self.slot_action[: sizes.slots],
            "successors": words,
            "first_successors": ends,
            "successor_blocks": self._blocks[: sizes.block_words],
        }

    def _slot_words(self, num_slots: int) -> tuple[np.ndarray, np.ndarray]:
        """Returns the table of successors without blocks: what so many slots, and the empty sequences, have of it."""
        if self._constants[r.NUM_NUMBERS]:
            return self._successors[:0], self._successors
        used, end = (self._size_of(n.num_words, count) for count in (num_slots, self.plan.max_slots))
        return self._successors[:used], self._successors[end:]

    def begin_loading(self) -> None:
        self._expansion[r.MATRIX] = 0
        for words in self._slot_words(self.num_slots):
            words[:] = 0
        self._blocks[: self.count(n.NUM_BLOCK_WORDS)] = 0

    def end_loading(self, sizes: Sizes) -> None:
        super().end_loading(sizes)
        self._expansion[n.NUM_BLOCK_WORDS] = sizes.block_words

    def __getstate__(self) -> dict:
        return {"game": self.game, "rules_game": self.rules_game, "plan": self.plan, "threads": self.threads}

    def __setstate__(self, state: dict) -> None:
        self.__init__(**state)  # type: ignore[misc]

    # --- infosets ---

    @property
    def max_slots(self) -> int:
        """Largest number of (infoset, action) pairs that may be found; the rest is for infosets without a number."""
        return self.plan.max_slots - self._size_of(num_uniform, self.rules_game.most_actions)

    def _find(self, info_state: str, player: int) -> int | None:
        """Raises ConfigError: there are no texts of information states."""
        raise ConfigError("tree='rules' keeps no texts of information states: give tree='compiled' or tree='lazy'.")
