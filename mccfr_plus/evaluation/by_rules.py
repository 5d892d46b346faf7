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
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed, wait
from typing import NamedTuple

import numpy as np
from tqdm.auto import tqdm

from mccfr_plus.errors import BudgetError
from mccfr_plus.evaluation.exact import Evaluation
from mccfr_plus.evaluation.tabulation import InfosetHistories
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
    no_leaves,
    num_entries,
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
        threads = self._threads(InfosetHistories.none())
        if tree.matrix_words is not None:
            threads = threads[:1]
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
        self._compiled(self._threads(InfosetHistories.none())[0], {ADD_GRADIENTS: False, LIST_LEAVES: with_leaves})

    def number_infosets(self) -> None:
        """Numbers all infosets, by one thread, so that their order is always the same.

        Raises:
            BudgetError: If the infosets do not fit the memory.
            TraversalInterrupted: If it was interrupted. Infosets that have a number keep it.
        """
        threads = self._threads(InfosetHistories.none())[:1]
        self._traverse("numbering information sets", threads, np.zeros(0), {ADD_GRADIENTS: False, LIST_LEAVES: False})

    def find_payoff_matrix(self) -> None:
        """Gives the tree of a two-player game its payoff matrix, by two traversals, if the matrix fits the memory.

        Infosets without a number get one; see `number_infosets`, also for errors.
        """
        tree, threads = self._tree, self._threads(InfosetHistories.none())
        counted = [leaves_to_count(tree.slot_capacity) for _ in threads]
        options = {ADD_GRADIENTS: False, LIST_LEAVES: True}

        def with_leaves(leaves: Sequence[Leaves]) -> list[Thread]:
            return [thread._replace(leaves=own) for thread, own in zip(threads, leaves, strict=True)]

        # One after the other, so that infosets get the same numbers every time.
        self._traverse("counting leaves", with_leaves(counted), np.zeros(0), options, is_serial=True)
        missing = bytes_of_matrix(num_entries(counted), tree.num_slots, len(threads)) - tree.bytes_left
        if missing > 0:
            sizes = f"{num_entries(counted):,} leaves does not fit memory={tree.plan.limit / 1e6:.0f}MB"
            more = f"memory={(tree.plan.limit + _MARGIN * missing) / 1e6:.0f}MB"
            logger.warning("the payoff matrix of %s, %s: give %s.", sizes, _SLOW, more)
        elif (room := room_for_leaves(counted, tree.num_slots)) is None:
            logger.warning("there are too many different payoffs for a payoff matrix, %s.", _SLOW)
        else:
            matrix, listed = room
            self._traverse("listing leaves", with_leaves(listed), np.zeros(0), options)
            tree.set_payoff_matrix(matrix, self.num_histories)

    def find_histories(self) -> InfosetHistories:
        """Numbers all infosets of a new tree, and returns a history of each. BudgetError if memory is too small."""
        found = InfosetHistories.room_for(self._tree)
        options = {ADD_GRADIENTS: False, RECORD_HISTORIES: True}
        self._traverse("finding information sets", self._threads(found), np.zeros(0), options)
        count = self._tree.num_infosets
        return InfosetHistories(found.actions[:count], found.lengths[:count], found.frames[:count])

    def _threads(self, found: InfosetHistories) -> list[Thread]:
        tree = self._tree
        none, width = no_leaves(), tree.slot_capacity + tree.num_players
        threads = [Thread(np.zeros(1, COUNTS), np.zeros(width), none, found) for _ in range(self._num_threads)]
        for number, thread in enumerate(threads):
            thread.counts[0]["thread"] = number
        return threads

    def _traverse(
        self,
        what: str,
        threads: list[Thread],
        strategy: np.ndarray,
        constants: Bindings | None = None,
        *,
        is_serial: bool = False,
    ) -> None:
        """Traverses all histories, and counts them. If it is serial, pieces follow one another."""
        traverse = self._compiled(threads[0], constants)
        tree, disable = self._tree, None if self._progress is None else not self._progress
        total, count, (_, status) = self._num_pieces, len(threads), tree.arrays_to_run_on(False)
        bar = tqdm(total=total, desc=what, unit=" parts", delay=1.0, disable=disable, leave=False)
        begin, done, stop = time.monotonic(), itertools.count(), threading.Event()

        def work(pieces: Iterable[int]) -> int:
            histories = 0
            for piece in pieces:
                if stop.is_set():
                    break
                has_ended, visited = traverse(tree.arrays, threads[piece % count], strategy, ALL_PLAYERS, piece, total)
                if not has_ended:
                    raise TraversalInterrupted if status[STATUS] == INTERRUPTED else BudgetError(_why_full(tree))
                histories += visited
                next(done)
                bar.update()
            return histories

        groups = [range(total)] if is_serial else [range(number, total, count) for number in range(count)]
        with bar, ThreadPoolExecutor(len(groups), thread_name_prefix="mccfr_plus") as pool:
            running = [pool.submit(work, group) for group in groups]
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


def _why_full(tree: ImplicitTree) -> str:
    return (
        f"all information sets must have a number, and {tree.num_infosets:,} have filled "
        f"memory={tree.plan.limit / 1e6:,.0f}MB: give more."
    )


@kernel
def _values(infosets, strategy, gradient, below, capacity, values, best_values):
    """Adds up the on-policy and the best-response value of every player.

    Args:
        infosets: ``[num_infosets]`` INFOSET, parents first.
        strategy: ``[num_slots]``.
        gradient: ``[num_slots]``, all players' gradients. Modified in place.
        below: A copy of `gradient`, for the values of the strategy. Modified in place.
        capacity: Slot of player 0's empty sequence.
        values: ``[num_players]``, the gradients at the empty sequences. Modified in place, as is `best_values`.
        best_values: The same.
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
