"""Exact values and best responses in games that are not stored: by one traversal of all histories by their rules.

The traversal adds up every player's gradient: at the player's last slot before leaf z, payoff times the reach of chance
and of the others. Values and best responses follow from it as on stored trees, infoset by infoset from the last one to
the first. What at least two players do not reach adds nothing to any gradient and is left out.

Subtrees below a fixed depth are dealt out to the threads in turn, so that the result depends on their number alone.

Reference: Johanson, Waugh, Bowling, Zinkevich 2011, "Accelerating best response calculation in large extensive games",
section 3 (one traversal for all of a player's infosets).
"""

import itertools
import logging
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed, wait
from typing import NamedTuple

import numpy as np
from tqdm.auto import tqdm

from mccfr_plus.errors import BudgetError
from mccfr_plus.evaluation.exact import Evaluation
from mccfr_plus.games.game import RulesGame
from mccfr_plus.kernels.compile import announce_compilation, kernel
from mccfr_plus.kernels.slots import Bindings, bind
from mccfr_plus.trees.access import ALL_PLAYERS
from mccfr_plus.trees.by_rules.histories import ADD_GRADIENTS, LIST_LEAVES, RECORD_HISTORIES, traverse_histories
from mccfr_plus.trees.by_rules.implicit_tree import ImplicitTree
from mccfr_plus.trees.by_rules.payoff_matrix import (
    Leaves,
    both_gradients,
    bytes_of_matrix,
    leaves_to_count,
    room_for_leaves,
)
from mccfr_plus.trees.expansion import EXPANDING, INTERRUPTED, STATUS, interrupt
from mccfr_plus.trees.scratch import COUNTS

logger = logging.getLogger("mccfr_plus")

_NUM_PIECES = 256  # the progress bar moves between them
NUMBER, NUMBERS = 8, 3  # bytes, and numbers per slot beside the threads' gradients
_MARGIN = 1.1  # of memory that is advised
_SMALL = 100_000  # histories: a game with fewer is one piece
_SLOW = "so that every iteration traverses all histories, which takes longer"


class InfosetHistories(NamedTuple):
    """A history of each infoset: the actions of players and chance from the root on."""

    actions: np.ndarray  # [num_infosets, max_depth] uint8 or uint16
    lengths: np.ndarray  # [num_infosets] int16: one more than the number of actions; 0: there is none yet
    frames: np.ndarray  # [num_infosets] int32: the player's frame there (`by_rules.frames`), in games with symmetries

    @classmethod
    def room_for(cls, count: int, max_depth: int, game: RulesGame) -> "InfosetHistories":
        """Returns room for the histories of a number of infosets."""
        dtype = np.uint8 if game.most_actions <= 256 else np.uint16
        return cls(np.zeros((count, max_depth), dtype), np.zeros(count, np.int16), np.zeros(count, np.int32))


class Thread(NamedTuple):
    """What a thread of a traversal of all histories writes."""

    counts: np.ndarray  # as `Scratch.counts`: which words are its own
    gradient: np.ndarray  # [slot_capacity + num_players] float64, of all players
    leaves: Leaves
    found: InfosetHistories  # of all threads


class TraversalInterrupted(Exception):
    """A traversal of all histories that `ExpandingTree.interrupt` has ended. It says how far it came."""


class RulesEvaluator:
    """Evaluates strategies of a game that is not stored.

    Args:
        tree: The game. Infosets that were not found before are numbered on the way.
        threads: Number of threads; None: one per core, within the tree's limit.
        progress: Whether to show a progress bar on work over a second; None: if standard error is a terminal.
    """

    def __init__(self, tree: ImplicitTree, threads: int | None = None, progress: bool | None = None):
        self._tree, self._openings = tree, tree.openings
        self._num_threads = min(threads or os.cpu_count() or 1, tree.max_threads)
        self._progress = progress
        self.num_histories = 0  # of the last traversal
        self._num_pieces = _NUM_PIECES

    def evaluate(self, strategy: np.ndarray) -> Evaluation:
        """Returns the evaluation of a strategy, ``[num_slots]`` float64, uniform at newly found infosets.

        BudgetError if the infosets do not fit the memory.
        """
        tree, known = self._tree, len(strategy)
        begin = np.ascontiguousarray(strategy, np.float64)
        threads = self._threads(1 if tree.matrix_words is not None else self._num_threads)
        if tree.matrix_words is not None:
            with announce_compilation(both_gradients, "the evaluation by a payoff matrix", 2):
                reach = np.zeros(tree.slot_capacity + 2)
                both_gradients(tree.arrays, tree.matrix_words, begin, reach, threads[0].gradient)
        else:
            self._traverse("exact evaluation", threads, begin)
        gradient = threads[0].gradient[: tree.num_slots]
        roots = threads[0].gradient[tree.slot_capacity :]
        for other in threads[1:]:
            gradient += other.gradient[: tree.num_slots]
            roots += other.gradient[tree.slot_capacity :]
        full = tree.first_strategy
        full[:known] = begin[: tree.num_slots]
        result = Evaluation(roots, roots.copy())
        below, values, best = gradient.copy(), result.values, result.best_response_values
        _values(tree.found_infosets, full, gradient, below, tree.slot_capacity, values, best)
        return result

    def compile_numbering(self, *, with_leaves: bool) -> None:
        """Compiles what `number_infosets`, or `find_payoff_matrix`, needs."""
        self._compiled(self._threads(1)[0], {ADD_GRADIENTS: False, LIST_LEAVES: with_leaves})

    def number_infosets(self) -> None:
        """Numbers all infosets, by one thread, so that their order is always the same.

        Raises:
            BudgetError: If the infosets do not fit the memory.
            TraversalInterrupted: If it was interrupted. Infosets that have a number keep it.
        """
        options = {ADD_GRADIENTS: False, LIST_LEAVES: False}
        self._traverse("numbering information sets", self._threads(1), np.zeros(0), options)

    def find_payoff_matrix(self) -> None:
        """Gives the tree of a two-player game its payoff matrix, by two traversals, if the matrix fits the memory.

        Infosets without a number get one; see `number_infosets`, also for errors.
        """
        tree, options = self._tree, {ADD_GRADIENTS: False, LIST_LEAVES: True}
        leaves = leaves_to_count(tree.slot_capacity)
        thread = self._threads(1)[0]._replace(leaves=leaves)
        self._traverse("counting leaves", [thread], np.zeros(0), options)
        count = int(leaves.places.sum())
        missing = bytes_of_matrix(count, tree.num_slots) - tree.bytes_left
        if missing > 0:
            sizes = f"{count:,} leaves does not fit memory={tree.plan.limit / 1e6:.0f}MB"
            more = f"memory={(tree.plan.limit + _MARGIN * missing) / 1e6:.0f}MB"
            logger.warning("the payoff matrix of %s, %s: give %s.", sizes, _SLOW, more)
        elif (room := room_for_leaves(leaves, tree.num_slots)) is None:
            logger.warning("there are too many different payoffs for a payoff matrix, %s.", _SLOW)
        else:
            matrix, leaves = room
            self._traverse("listing leaves", [thread._replace(leaves=leaves)], np.zeros(0), options)
            tree.set_payoff_matrix(matrix, self.num_histories)

    def find_histories(self) -> InfosetHistories:
        """Numbers all infosets of a new tree, and returns a history of each. BudgetError if memory is too small."""
        tree, options = self._tree, {ADD_GRADIENTS: False, RECORD_HISTORIES: True}
        found = InfosetHistories.room_for(tree.plan.max_infosets, tree.shape.max_depth, tree.rules_game)
        threads = [thread._replace(found=found) for thread in self._threads(self._num_threads)]
        self._traverse("finding information sets", threads, np.zeros(0), options)
        return InfosetHistories(*(array[: tree.num_infosets] for array in found))

    def _threads(self, count: int) -> list[Thread]:
        tree, width = self._tree, self._tree.slot_capacity + self._tree.num_players
        none = leaves_to_count(0), InfosetHistories.room_for(0, 0, tree.rules_game)
        threads = [Thread(np.zeros(1, COUNTS), np.zeros(width), *none) for _ in range(count)]
        for number, thread in enumerate(threads):
            thread.counts[0]["thread"] = number
        return threads

    def _traverse(
        self, what: str, threads: list[Thread], strategy: np.ndarray, constants: Bindings | None = None
    ) -> None:
        """Traverses all histories, and counts them."""
        traverse = self._compiled(threads[0], constants)
        tree, disable = self._tree, None if self._progress is None else not self._progress
        total, count, (_, status) = self._num_pieces, len(threads), tree.arrays_to_run_on(False)
        bar = tqdm(total=total, desc=what, unit=" parts", delay=1.0, disable=disable, leave=False)
        begin, done, stop = time.monotonic(), itertools.count(), threading.Event()

        def work(number: int) -> int:
            histories = 0
            for piece in range(number, total, count):
                if stop.is_set():
                    break
                has_ended, visited = traverse(tree.arrays, threads[number], strategy, ALL_PLAYERS, piece, total)
                if not has_ended and status[STATUS] == INTERRUPTED:
                    raise TraversalInterrupted
                if not has_ended:
                    raise BudgetError(
                        f"all information sets must have a number, and {tree.num_infosets:,} have filled "
                        f"memory={tree.plan.limit / 1e6:,.0f}MB: give more."
                    )
                histories += visited
                next(done)
                bar.update()
            return histories

        with bar, ThreadPoolExecutor(count, thread_name_prefix="mccfr_plus") as pool:
            running = [pool.submit(work, number) for number in range(count)]
            try:
                histories = sum(future.result() for future in as_completed(running))
            except BaseException as error:
                stop.set()
                interrupt(status)
                wait(running)
                status[STATUS] = EXPANDING
                if isinstance(error, KeyboardInterrupt | TraversalInterrupted):
                    seconds = time.monotonic() - begin
                    raise type(error)(f"{what}: {next(done)} of {total} parts in {seconds:.0f} s") from None
                raise
        self.num_histories = histories
        self._num_pieces = 1 if histories < _SMALL else _NUM_PIECES

    def _compiled(self, thread: Thread, constants: Bindings | None = None) -> Callable[..., tuple]:
        """Returns the kernel that traverses all histories, compiled."""
        tree, nothing = self._tree, self._num_pieces
        traverse = bind(traverse_histories, {**tree.rule_slots, **(constants or {})}, partial=True)
        with announce_compilation(traverse, "the evaluation by rules", 5):
            traverse(tree.arrays, thread, np.zeros(0), ALL_PLAYERS, nothing, self._num_pieces)
        return traverse


@kernel
def _values(infosets, strategy, gradient, below, capacity, values, best_values):
    """Adds up the on-policy and the best-response value of every player, with parents before children in `infosets`.

    `gradient` and its copy `below` are ``[num_slots]``, of all players. `values` and its copy `best_values`,
    ``[num_players]``, are the gradients at the empty sequences, the first of which is slot `capacity`. All four are
    modified in place.
    """
    for index in range(len(infosets) - 1, -1, -1):
        first, count = infosets[index]["first_slot"], infosets[index]["num_actions"]
        parent = infosets[index]["parent_slot"]
        best, value = gradient[first], 0.0
        for slot in range(first, first + count):
            best = max(best, gradient[slot])
            value += strategy[slot] * below[slot]
        if parent < capacity:
            gradient[parent] += best
            below[parent] += value
        else:
            best_values[parent - capacity] += best
            values[parent - capacity] += value
