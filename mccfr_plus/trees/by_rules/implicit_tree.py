"""A game that is traversed by its compiled rules: no history is stored, only infosets are."""

from __future__ import annotations

import functools
import os
from functools import cached_property
from typing import Any

import numpy as np
import pyspiel

from mccfr_plus.errors import ConfigError, GameError
from mccfr_plus.games.game import RulesGame
from mccfr_plus.games.openspiel import compiled_rules, why_no_rules
from mccfr_plus.games.rules import MOVER
from mccfr_plus.games.symmetries import Symmetries
from mccfr_plus.kernels.compile import inline_kernel, may_make_arrays, source_of
from mccfr_plus.kernels.intrinsics import address_of
from mccfr_plus.kernels.slots import Bindings, bind
from mccfr_plus.trees import expansion, scratch
from mccfr_plus.trees.arrays import INFOSET, Shape
from mccfr_plus.trees.by_rules import frames, histories, positions, rows, successors
from mccfr_plus.trees.by_rules.payoff_matrix import PayoffMatrix
from mccfr_plus.trees.expanding_tree import ExpandingTree
from mccfr_plus.trees.info_states import KEY_BYTES
from mccfr_plus.trees.loading import different_actions
from mccfr_plus.trees.memory import MemoryPlan
from mccfr_plus.trees.needs import RULES
from mccfr_plus.trees.recall import sample_recall
from mccfr_plus.trees.tree import Sizes

_MOST_VISITS = 1 << 28  # that one traversal may list: room that is not used takes no memory
_WORD = 8  # bytes of a word of the table of successors
_MOST_CODES_BY_WORD = 2  # of a slot: so many have a word each


def is_keyed(rules: RulesGame) -> bool:
    """Returns whether infosets are found by keys, which takes longer than by the codes of `observe`."""
    sizes = rules.sizes
    if rules.rules.observe is None or not sizes.perfect_recall:
        return True
    most_codes = max(sizes.max_observations, sizes.max_first_observations)
    return (most_codes - 1).bit_length() > successors.bits_of_codes(sizes.num_distinct_actions)


def rules_with_recall(game: pyspiel.Game) -> RulesGame | None:
    """Returns the compiled rules of a game if policies can be evaluated by them, which needs perfect recall."""
    rules = compiled_rules(game)
    return rules if rules is not None and rules.sizes.perfect_recall else None


def rules_to_evaluate(game: pyspiel.Game, symmetry: bool = False) -> RulesGame:
    """Returns the compiled rules by which policies are evaluated; ConfigError if they cannot be."""
    rules = rules_to_traverse(game, symmetry)
    if not rules.sizes.perfect_recall:
        raise ConfigError(
            f"an exact evaluation with compiled rules needs perfect recall, which the rules of {game} do not "
            "guarantee: call mccfr_plus.evaluate, which stores the tree, or mccfr_plus.head_to_head."
        )
    return rules


def rules_to_traverse(game: pyspiel.Game, symmetry: bool = False) -> RulesGame:
    """Returns the compiled rules that a game is traversed by; ConfigError if there are none, or they say too little."""
    rules = compiled_rules(game)
    if rules is None:
        raise ConfigError(f"tree='rules': {why_no_rules(game)} Use tree='compiled' or tree='lazy'.")
    if symmetry and is_keyed(rules):
        raise ConfigError(
            f"symmetry=True needs perfect recall and a kernel `observe`, but {game} lacks at least one of them: "
            "leave symmetry out."
        )
    if symmetry and len(rules.sizes.symmetries) < 2:
        raise ConfigError(f"symmetry=True: the rules of {game} define no symmetries, so leave symmetry out.")
    return rules


def tree_bytes(game: RulesGame) -> tuple[int, int]:
    """Returns the memory of an infoset, without its slots, and of a slot in the tree of a game."""
    action = np.dtype(np.int32).itemsize
    return INFOSET.itemsize + KEY_BYTES, action + (0 if is_keyed(game) else _WORD << _log_words_per_slot(game))


def _log_words_per_slot(game: RulesGame) -> int:
    codes = max(game.sizes.max_observations, 1)
    return 0 if codes > _MOST_CODES_BY_WORD else (codes - 1).bit_length()


@functools.cache
def _inlined(rule: Any) -> Any:
    """Returns one of a game's kernels, to be inlined: a call per history took as long as all else."""
    return rule if may_make_arrays(rule) else inline_kernel(getattr(rule, "py_func", rule))


class ImplicitTree(ExpandingTree):
    """A game that is traversed by its compiled rules, and whose infosets are numbered when they are first visited.

    With `symmetry`, an infoset stands for its symmetry class; see `frames`. `threads` make one gradient together.
    """

    kind = "rules"
    provides = frozenset({RULES})

    def __init__(
        self, game: pyspiel.Game, rules_game: RulesGame, plan: MemoryPlan, threads: int = 1, symmetry: bool = False
    ):
        sizes = rules_game.sizes
        self.rules_game, self.threads = rules_game, threads
        self.symmetries, self._is_keyed = Symmetries(sizes) if symmetry else None, is_keyed(rules_game)
        if not sizes.perfect_recall:
            sample_recall(game)  # raises GameError for absent-mindedness
        max_depth = sizes.max_game_length + sizes.max_chance_nodes
        num_rows = 1 + max_depth * max(rules_game.most_actions, 1)  # the root, and a node's children at each depth
        shape = Shape(max_depth=max_depth, max_stack=num_rows, perfect_recall=sizes.perfect_recall)
        stored = {"infosets": np.zeros(plan.max_infosets, INFOSET), "expansion": np.zeros(rows.NUM_WORDS, np.int64)}
        super().__init__(game, plan, shape, **stored)
        self.max_slots -= rules_game.most_actions * (rules_game.most_actions + 1) // 2  # of infosets without a number
        if self.max_slots < 1:
            few = f"memory={plan.limit / 1e6:,.0f}MB is too little for a game with {rules_game.most_actions:,} actions"
            raise ConfigError(f"{few} that is traversed with compiled rules: raise the limit, or give tree='lazy'.")
        self.node_capacity = _MOST_VISITS
        num_slots = plan.max_slots + sizes.num_players  # the last ones are empty sequences
        num_words = 0 if self._is_keyed else num_slots << _log_words_per_slot(rules_game)
        self._successors = np.zeros(num_words, np.int64)
        self._blocks = np.zeros(successors.most_block_words(plan.max_infosets, self._is_keyed), np.int64)
        self.slot_action = np.zeros(plan.max_slots, np.int32)
        self.keys = frames.RulesKeys(game, symmetry)
        paths = self._size_of(rows.words_before_rows) + self._size_of(rows.words_per_row) * num_rows
        width = paths + self._size_of(histories.words_per_depth) * (max_depth + 1)
        width = -(-width // 16) * 16 + 16  # threads write to lines of the cache of their own
        self.max_threads = max(threads, os.cpu_count() or 1)  # an evaluation may use more of them than the solver
        # Empty arrays have an address, too.
        parameters, table = np.append(rules_game.parameters, 0), np.append(rules_game.table, 0.0)
        first_state, places = rules_game.first_state.copy(), frames.places_of(rules_game)
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
        words[successors.NUM_BLOCK_WORDS] = successors.FIRST_TABLE_WORDS if self._is_keyed else 0

    @cached_property
    def rule_slots(self) -> dict[Any, Any]:
        """The game's kernels and sizes, by the slots of `rows`, `frames` and `successors` that they fill."""
        sizes, rules = self.rules_game.sizes, self.rules_game.rules
        filled: dict[Any, Any] = {
            **rows.kernels_of(rules),
            rows.RULE_LEGAL: _inlined(rules.legal),
            rows.RULE_APPLY: _inlined(rules.apply),
            rows.RULE_RETURNS: _inlined(rules.returns),
            **({} if self._is_keyed else {rows.RULE_OBSERVE: _inlined(rules.observe)}),
            **({rows.RULE_LOOK: _inlined(rules.look)} if self._is_keyed else {}),
            rows.STATE_SIZE: sizes.state_size,
            rows.NUM_PLAYERS: sizes.num_players,
            rows.MAX_ACTIONS: self.rules_game.most_actions,
            rows.MAX_OUTCOMES: max(sizes.max_chance_outcomes, 1),
            rows.VIEW_SIZE: sizes.view_size,
            successors.COUNT_BITS: sizes.num_distinct_actions.bit_length(),
            successors.LOG_WORDS_PER_SLOT: _log_words_per_slot(self.rules_game),
            successors.KEYED: self._is_keyed,
        }
        if self.symmetries is not None:
            filled[frames.NUM_SYMMETRIES] = len(self.symmetries)
            filled[frames.NUM_TURNED] = sizes.num_distinct_actions
            filled[frames.NUM_VALUES] = self.symmetries.values.shape[1]
        return filled

    @property
    def first_strategy(self) -> np.ndarray:
        """A copy of what the bound strategy is now, ``[num_slots]``: at new infosets the one that they got at first."""
        return self._strategy[: self.num_slots].copy()

    def _size_of(self, kernel: Any) -> int:
        """Returns what a kernel gives for this game, without compiling it."""
        return int(source_of(bind(kernel, self.rule_slots, partial=True))())

    @cached_property
    def bindings(self) -> Bindings:
        functions = {
            scratch.FIRST_NODE: positions.first_node,
            scratch.HEAD: positions.head,
            scratch.PAYLOAD_OF: positions.payload_of,
            scratch.ADVANCE: positions.step,
            scratch.PAYOFF: positions.payoff,
            scratch.KEEP: positions.keep,
            scratch.RESUME: positions.resume,
            scratch.REOPEN: positions.reopen,
            scratch.CHILD_OF: positions.child_of,
            scratch.OUTCOME_PROBABILITY: positions.outcome_probability,
            scratch.FETCH_AHEAD: successors.fetch_ahead,
            scratch.FETCH_ROWS_AHEAD: successors.fetch_rows_ahead,
            expansion.EXPAND: positions.cannot_expand,
        }
        return {**super().bindings, **functions, **self.rule_slots}

    def attach(self, *, check_depth: bool, single_trajectory: bool) -> np.ndarray:
        strategy = super().attach(check_depth=check_depth, single_trajectory=single_trajectory)
        counts = np.arange(1, self.rules_game.most_actions + 1)
        strategy[self.max_slots :] = np.repeat(1.0 / counts, counts)
        return strategy

    def set_prior(self, table: Any) -> None:
        """Makes a policy, a `KeyedTable`, what new infosets play at first; elsewhere play is uniform."""
        bounds = np.searchsorted(table.players, np.arange(self.num_players + 1))
        given = map(np.ascontiguousarray, (bounds, table.keys, table.first, table.probabilities))
        words = rows.PRIOR_RANGE, rows.PRIOR_KEYS, rows.PRIOR_FIRST, rows.PRIOR_PROBABILITIES
        self._keep(dict(zip(words, given, strict=True)))
        self._expansion[rows.NUM_PRIOR] = len(table.keys)

    @cached_property
    def openings(self) -> histories.Openings | None:
        """Those of the game. From now on, traversals of all histories begin with them."""
        found, words = histories.openings_of(self.rules_game), self._expansion
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
        """Takes the matrix of all infosets, and the number of histories that a traversal of all visits."""
        self._matrix = matrix  # keeps it alive
        self._expansion[rows.NUM_HISTORIES] = num_histories
        self._expansion[rows.MATRIX :] = (*map(address_of, matrix[:3]), len(matrix.entries), matrix.column_bits)

    def check(self) -> None:
        if self.count(expansion.STATUS) != expansion.ACTIONS_DIFFER:
            return
        self._expansion[expansion.STATUS] = expansion.EXPANDING
        all_rows, size = self._kept[rows.ROWS], self.rules_game.sizes.state_size
        words = all_rows.ravel()[(self.count(expansion.CONFLICT_NODE) - address_of(all_rows)) // _WORD :][:size].copy()
        player, legal = int(words[MOVER]), self.rules_game.choices(words)[0]
        view = self.rules_game.look(words, player)
        is_it = (self.found_keys == frames.key_of_view(view, frames.places_of(self.rules_game))).all(axis=1)
        infoset = int(np.flatnonzero(is_it & (self.found_infosets["player"] == player))[0])
        text = self.rules_game.view_text(player, view.tolist())
        raise GameError(f"{self.game}: {different_actions(text, player, self.legal_actions(infoset), legal)}.")

    # --- the state ---

    def sizes(self) -> Sizes:
        return super().sizes()._replace(block_words=self.count(successors.NUM_BLOCK_WORDS))

    def _cost(self, sizes: Sizes) -> int:
        return super()._cost(sizes) + _WORD * sizes.block_words

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
        used, end = (count << _log_words_per_slot(self.rules_game) for count in (num_slots, self.plan.max_slots))
        return self._successors[:used], self._successors[end:]

    def begin_loading(self) -> None:
        self._expansion[rows.MATRIX] = 0
        for words in self._slot_words(self.num_slots):
            words[:] = 0
        self._blocks[: self.count(successors.NUM_BLOCK_WORDS)] = 0

    def end_loading(self, sizes: Sizes) -> None:
        super().end_loading(sizes)
        self._expansion[successors.NUM_BLOCK_WORDS] = sizes.block_words

    def __reduce__(self) -> tuple:
        return type(self), (self.game, self.rules_game, self.plan, self.threads, self.symmetries is not None)

    def _find(self, info_state: str, player: int) -> int | None:
        raise ConfigError("tree='rules' keeps no information state strings: give tree='compiled' or tree='lazy'.")
