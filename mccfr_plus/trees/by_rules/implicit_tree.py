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
from mccfr_plus.games.symmetries import Symmetries
from mccfr_plus.kernels.compile import inline_kernel, may_make_arrays, source_of
from mccfr_plus.kernels.intrinsics import address_of
from mccfr_plus.kernels.slots import Bindings, bind
from mccfr_plus.trees import access, expansion
from mccfr_plus.trees.arrays import INFOSET, Shape
from mccfr_plus.trees.by_rules import frames, histories, new_infosets, positions, rows, rule_slots, successors
from mccfr_plus.trees.by_rules.histories import Openings, openings_of
from mccfr_plus.trees.by_rules.payoff_matrix import PayoffMatrix
from mccfr_plus.trees.by_rules.requirements import WORD, log_words_per_slot
from mccfr_plus.trees.by_rules.rules_keys import RulesKeys, places_of
from mccfr_plus.trees.expanding_tree import ExpandingTree
from mccfr_plus.trees.memory import MemoryPlan
from mccfr_plus.trees.needs import RULES
from mccfr_plus.trees.tree import Sizes

_MOST_VISITS = 1 << 28  # that one traversal may list: room that is not used takes no memory


@functools.cache
def _inlined(rule: Any) -> Any:
    """Returns one of a game's kernels, to be inlined: a call per history took as long as all else."""
    return rule if may_make_arrays(rule) else inline_kernel(getattr(rule, "py_func", rule))


class ImplicitTree(ExpandingTree):
    """A game that is traversed by its compiled rules, and whose infosets are numbered when they are first visited.

    Args:
        game: The turn-based pyspiel game.
        rules_game: Its compiled rules; see `requirements.rules_to_traverse`.
        plan: How many places there are.
        threads: How many threads may traverse it at once.
        symmetry: Whether an infoset stands for all that symmetries turn into it; see `frames`.

    Attributes:
        symmetries: The symmetries by which infosets are merged, or None.
    """

    kind = "rules"
    provides = frozenset({RULES})

    def __init__(
        self,
        game: pyspiel.Game,
        rules_game: RulesGame,
        plan: MemoryPlan,
        threads: int = 1,
        symmetry: bool = False,
    ):
        sizes = rules_game.sizes
        self.rules_game, self.threads = rules_game, threads
        self.symmetries = Symmetries(sizes) if symmetry else None
        max_depth = sizes.max_game_length + sizes.max_chance_nodes
        most_children = max(rules_game.most_actions, 1)
        shape = Shape(max_depth=max_depth, max_stack=max_depth * most_children + 1, perfect_recall=True)
        stored = {"infosets": np.zeros(plan.max_infosets, INFOSET), "expansion": np.zeros(rows.NUM_WORDS, np.int64)}
        super().__init__(game, plan, shape, **stored)
        self.node_capacity = _MOST_VISITS
        num_slots = plan.max_slots + sizes.num_players  # the last ones are empty sequences
        self._successors = np.zeros(self._size_of(successors.num_words, num_slots), np.int64)
        self._blocks = np.zeros(successors.BLOCK_WORDS_PER_INFOSET * plan.max_infosets, np.int64)
        self.slot_action = np.zeros(plan.max_slots, np.int32)
        self.keys = RulesKeys(game, symmetry)
        num_rows = 1 + max_depth * most_children  # the root, and the children of a node at each depth
        paths = self._size_of(rows.words_before_rows) + self._size_of(rows.words_per_row) * num_rows
        width = paths + self._size_of(histories.words_per_depth) * (max_depth + 1)
        width = -(-width // 16) * 16 + 16  # threads write to lines of the cache of their own
        self.max_threads = max(threads, os.cpu_count() or 1)  # an evaluation may use more of them than the solver
        # Empty arrays have an address, too.
        parameters, table = np.append(rules_game.parameters, 0), np.append(rules_game.table, 0.0)
        first_state, places = rules_game.first_state.copy(), places_of(rules_game)
        self._keep(
            {
                rows.ROWS: np.zeros((self.max_threads, width), np.int64),
                rows.PARAMETERS: parameters,
                rows.TABLE_OF_RULES: table,
                rows.FIRST_STATE: first_state,
                rows.OPENING_STATES: first_state,
                rows.OPENING_CHANCE: first_state,
                rows.OPENING_COUNTS: first_state,
                rows.PLACES: places,
                rows.SYMMETRIES: frames.packed(self.symmetries),
                expansion.KEYS: self._info_keys,
                expansion.SLOT_ACTIONS: self.slot_action,
                successors.WORDS: self._successors,
                successors.BLOCKS: self._blocks,
            }
        )
        words = self._expansion
        words[rows.BYTES_PER_THREAD], words[rows.PATHS] = 8 * width, 8 * paths
        words[rows.THREADS], words[rows.MAX_DEPTH], words[rows.FIRST_UNIFORM] = threads, max_depth, self.max_slots
        words[rows.NUM_PARAMETERS], words[rows.NUM_TABLE] = len(parameters), len(table)
        words[rows.NUM_PLACES] = len(places)

    @cached_property
    def _constants(self) -> dict[Any, int]:
        sizes = self.rules_game.sizes
        constants = {
            rows.STATE_SIZE: sizes.state_size,
            rows.NUM_PLAYERS: sizes.num_players,
            rows.MAX_ACTIONS: self.rules_game.most_actions,
            rows.MAX_OUTCOMES: max(sizes.max_chance_outcomes, 1),
            rows.VIEW_SIZE: sizes.view_size,
            successors.COUNT_BITS: sizes.num_distinct_actions.bit_length(),
            successors.LOG_WORDS_PER_SLOT: log_words_per_slot(self.rules_game),
        }
        if self.symmetries is not None:
            constants[frames.NUM_SYMMETRIES] = len(self.symmetries)
            constants[frames.NUM_TURNED] = sizes.num_distinct_actions
            constants[frames.NUM_VALUES] = self.symmetries.values.shape[1]
        return constants

    @property
    def first_strategy(self) -> np.ndarray:
        """A copy of what the bound strategy is now, ``[num_slots]``: at new infosets the one that they got at first."""
        return self._strategy[: self.num_slots].copy()

    def _size_of(self, kernel: Any, *arguments: int) -> int:
        """Returns what a kernel of `positions` gives for this game, without compiling it."""
        return int(source_of(bind(kernel, self._constants, partial=True))(*arguments))

    @cached_property
    def rule_slots(self) -> dict[Any, Any]:
        """The game's kernels and sizes, by the slots of `positions` that they fill."""
        rules = self.rules_game.rules
        inlined: dict[Any, Any] = {
            rule_slots.RULE_LEGAL: rules.legal,
            rule_slots.RULE_APPLY: rules.apply,
            rule_slots.RULE_RETURNS: rules.returns,
            rule_slots.RULE_OBSERVE: rules.observe,
        }
        kernels = {place: _inlined(rule) for place, rule in inlined.items()}
        return {**self._constants, **rule_slots.kernels_of(rules), **kernels}

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
            access.FETCH_AHEAD: successors.fetch_ahead,
            access.FETCH_ROWS_AHEAD: successors.fetch_rows_ahead,
            expansion.EXPAND: positions.cannot_expand,
        }
        return {**super().bindings, **functions, **self.rule_slots}

    def attach(self, ones: np.ndarray | None, *, check_depth: bool, single_trajectory: bool) -> np.ndarray:
        """See `Tree`. Histories have their depth by the rules."""
        strategy = super().attach(ones, check_depth=check_depth, single_trajectory=single_trajectory)
        for count in range(1, self.rules_game.most_actions + 1):
            first = self.max_slots + self._size_of(new_infosets.num_uniform, count - 1)
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
        given = (np.ascontiguousarray(array) for array in (bounds, keys, first, probabilities))
        words = rows.PRIOR_RANGE, rows.PRIOR_KEYS, rows.PRIOR_FIRST, rows.PRIOR_PROBABILITIES
        self._keep(dict(zip(words, given, strict=True)))
        self._expansion[rows.NUM_PRIOR] = len(keys)

    @cached_property
    def openings(self) -> Openings | None:
        """Those of the game. From now on, traversals of all histories begin with them."""
        found, words = openings_of(self.rules_game), self._expansion
        if found is not None:
            words[rows.NUM_OPENINGS], words[rows.NUM_ABOVE] = len(found.states), found.num_above
            places = rows.OPENING_STATES, rows.OPENING_CHANCE, rows.OPENING_COUNTS
            self._keep(dict(zip(places, found[:3], strict=True)))
        return found

    @property
    def bytes_left(self) -> int:
        """What infosets leave of the memory, in bytes."""
        return self.plan.tree_bytes - self._cost(self.sizes())

    @property
    def matrix_words(self) -> np.ndarray | None:
        """The words that lead kernels to the payoff matrix; None if there is none."""
        words = self.arrays.expansion[rows.MATRIX :]
        return words if words[0] else None

    def set_payoff_matrix(self, matrix: PayoffMatrix, num_histories: int) -> None:
        """Takes the game's payoff matrix, for estimators that use it.

        Args:
            matrix: The matrix, of all infosets.
            num_histories: That a traversal of all visits.
        """
        self._matrix = matrix  # keeps it alive
        self._expansion[rows.NUM_HISTORIES] = num_histories
        self._expansion[rows.MATRIX :] = (*map(address_of, matrix[:3]), len(matrix.entries), matrix.column_bits)

    # --- the state ---

    def sizes(self) -> Sizes:
        return super().sizes()._replace(block_words=self.count(successors.NUM_BLOCK_WORDS))

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
        used, end = (self._size_of(successors.num_words, count) for count in (num_slots, self.plan.max_slots))
        return self._successors[:used], self._successors[end:]

    def begin_loading(self) -> None:
        self._expansion[rows.MATRIX] = 0
        for words in self._slot_words(self.num_slots):
            words[:] = 0
        self._blocks[: self.count(successors.NUM_BLOCK_WORDS)] = 0

    def end_loading(self, sizes: Sizes) -> None:
        super().end_loading(sizes)
        self._expansion[successors.NUM_BLOCK_WORDS] = sizes.block_words

    def __getstate__(self) -> dict:
        arguments = {"game": self.game, "rules_game": self.rules_game, "plan": self.plan, "threads": self.threads}
        return arguments | {"symmetry": self.symmetries is not None}

    def __setstate__(self, state: dict) -> None:
        self.__init__(**state)  # type: ignore[misc]

    # --- infosets ---

    @property
    def max_slots(self) -> int:
        """Largest number of (infoset, action) pairs that may be found; the rest is for infosets without a number."""
        return self.plan.max_slots - self._size_of(new_infosets.num_uniform, self.rules_game.most_actions)

    def _find(self, info_state: str, player: int) -> int | None:
        """Raises ConfigError: there are no texts of information states."""
        raise ConfigError("tree='rules' keeps no texts of information states: give tree='compiled' or tree='lazy'.")
