"""Exact values and best responses in games that are not stored: by one traversal of all histories by their rules.

It adds up every player's gradient; values follow infoset by infoset, from the last one to the first (Johanson, Waugh,
Bowling and Zinkevich 2011, "Accelerating best response calculation in large extensive games", section 3). Subtrees
below a fixed depth are dealt out to the threads in turn, so that the result depends on their number alone.
"""

import itertools
import logging
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed, wait
from typing import NamedTuple

import numpy as np
import pyspiel
from tqdm.auto import tqdm

from mccfr_plus.errors import BudgetError, PolicyError
from mccfr_plus.evaluation import strategies
from mccfr_plus.evaluation.exact import Evaluation
from mccfr_plus.evaluation.strategies import AnyPolicy, JointPolicy
from mccfr_plus.games.game import RulesGame
from mccfr_plus.kernels.compile import announce_compilation, kernel
from mccfr_plus.kernels.slots import Bindings, bind
from mccfr_plus.parameters import check_whole
from mccfr_plus.policies.keyed_policy import KeyedPolicy
from mccfr_plus.trees.abstraction import is_abstraction
from mccfr_plus.trees.batches import states_after
from mccfr_plus.trees.by_rules import payoff_matrix
from mccfr_plus.trees.by_rules.frames import element_of, stabilizer_of
from mccfr_plus.trees.by_rules.histories import ADD_GRADIENTS, LIST_LEAVES, RECORD_HISTORIES, traverse_histories
from mccfr_plus.trees.by_rules.implicit_tree import ImplicitTree, is_keyed, rules_to_evaluate, tree_bytes
from mccfr_plus.trees.expansion import EXPANDING, INTERRUPTED, STATUS, interrupt
from mccfr_plus.trees.loading import load_game
from mccfr_plus.trees.memory import plan_memory
from mccfr_plus.trees.scratch import ALL_PLAYERS, COUNTS

logger = logging.getLogger("mccfr_plus")

_NUM_PIECES = 256  # the progress bar moves between them
_SMALL = 100_000  # histories: a game with fewer is one piece
_NUMBER, _NUMBERS = 8, 3  # bytes, and numbers per slot beside the threads' gradients
_MARGIN = 1.1  # of memory that is advised
_BATCH = 4096  # states
_CELLS = 2**22  # of a batch's table
_SAME = 1e-9  # difference of probabilities of a symmetric policy


def evaluate_by_rules(
    game: pyspiel.Game | str,
    policy: JointPolicy | None,
    *,
    memory: str | int | float | None = None,
    threads: int | None = None,
    progress: bool | None = None,
    uniform_elsewhere: bool = False,
    symmetry: bool | None = None,
) -> Evaluation:
    """Returns a policy's exact values in a game with compiled rules, by one traversal of all histories.

    Unless the policy is None or was computed with ``tree="rules"`` and the same `symmetry`, an additional traversal is
    required to find a history of each infoset.

    Args:
        game: A game with compiled rules, or its string.
        policy: See `head_to_head`. None means uniform play.
        memory: Memory limit of the whole process; see `Solver`.
        threads: Number of threads. Default: one per core.
        progress: Whether to show a progress bar after a second. Default: only if standard error is a terminal.
        uniform_elsewhere: Whether play is uniform at infosets that the policy lacks; otherwise, such infosets cause an
            error. A `KeyedPolicy` is always uniform at infosets that its solver has not visited.
        symmetry: Whether to visit only one history per symmetry class. If so, the policy must be symmetric, which is
            checked. Default: the setting with which the policy was computed.

    Raises:
        ConfigError: If the game has no compiled rules or, with `symmetry`, no symmetries, or if the memory limit is too
            small for the evaluation to begin.
        PolicyError: If the policy is for another game, lacks infosets or distributions, or is not symmetric.
        BudgetError: If the infosets do not fit in memory.

    Examples:
        >>> import mccfr_plus
        >>> policy = mccfr_plus.Solver("kuhn_poker", tree="rules", seed=1).run(1000).average_policy()
        >>> found = mccfr_plus.evaluate_by_rules("kuhn_poker", policy)
        >>> abs(found.nash_conv - mccfr_plus.nash_conv("kuhn_poker", policy)) < 1e-12
        True
    """
    loaded = load_game(game)
    lifted = policy if isinstance(policy, KeyedPolicy) and is_abstraction(policy.game, loaded) else None
    if isinstance(policy, KeyedPolicy) and str(policy.game) != str(loaded) and lifted is None:
        raise PolicyError(f"a policy for {policy.game} does not fit {loaded}: evaluate it on its own game.")
    if threads is not None:
        check_whole("threads", threads)
    count = threads or os.cpu_count() or 1
    if symmetry is None:
        symmetry = is_symmetric(policy)
    rules = rules_to_evaluate(loaded, symmetry)
    with_histories = is_tabulated(policy, symmetry) or (lifted is not None and is_keyed(rules))
    if lifted is not None and not with_histories:
        rules = lifted.game.rules_game.of_real_game()  # which finds the policy's keys
    infoset_bytes, slot_bytes = tree_bytes(rules)
    if with_histories:
        infoset_bytes += sum(array.nbytes for array in InfosetHistories.room_for(1, rules)) + _NUMBER  # their order
    slot_bytes += _NUMBER * (count + _NUMBERS)
    plan = plan_memory(memory, node_cost=0, infoset_cost=infoset_bytes, slot_cost=slot_bytes)
    tree = ImplicitTree(loaded, rules, plan, count, symmetry)
    strategy = tree.attach(check_depth=False, single_trajectory=False)
    evaluator = RulesEvaluator(tree, count, progress)
    if isinstance(policy, KeyedPolicy) and not with_histories:
        tree.set_prior(policy.table)
    elif policy is not None:
        evaluator.tabulate(policy, strategy, uniform_elsewhere)
    return evaluator.evaluate(strategy)


def is_symmetric(policy: JointPolicy | None) -> bool:
    return isinstance(policy, KeyedPolicy) and policy.keys.symmetry


def is_tabulated(policy: JointPolicy | None, symmetry: bool) -> bool:
    """Returns whether an exact evaluation tabulates a policy first."""
    is_by_rules = isinstance(policy, KeyedPolicy) and not policy.keys.of_texts
    return policy is not None and not (is_by_rules and is_symmetric(policy) == symmetry)


class InfosetHistories(NamedTuple):
    """A history of each infoset: the actions of players and chance from the root on."""

    actions: np.ndarray  # [num_infosets, max_depth] uint8 or uint16
    lengths: np.ndarray  # [num_infosets] int16: one more than the number of actions; 0: there is none yet
    frames: np.ndarray  # [num_infosets] int32: the player's frame there (`by_rules.frames`), in games with symmetries

    @classmethod
    def room_for(cls, count: int, game: RulesGame) -> "InfosetHistories":
        max_depth = max(game.sizes.max_game_length + game.sizes.max_chance_nodes, 1)
        dtype = np.uint8 if game.most_actions <= 256 else np.uint16
        return cls(np.zeros((count, max_depth), dtype), np.zeros(count, np.int16), np.zeros(count, np.int32))

    def after(self, infosets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns the histories of some infosets: actions, ``[n, max_depth]``, and their numbers, ``[n]``."""
        return self.actions[infosets], self.lengths[infosets].astype(np.int64) - 1

    def state(self, game: pyspiel.Game, infosets: np.ndarray) -> pyspiel.State:
        """Returns the state at the first of some infosets."""
        return next(states_after(game, *self.after(infosets[:1])))

    def order(self) -> np.ndarray:
        """Returns the infosets in the order of their actions, so that a state takes few moves from the one before."""
        rows = self.actions.view(np.dtype((np.void, self.actions.strides[0])))
        return np.argsort(rows.ravel(), kind="stable")


class Thread(NamedTuple):
    counts: np.ndarray  # as `Scratch.counts`: which words are its own
    gradient: np.ndarray  # [slot_capacity + num_players] float64, of all players
    leaves: payoff_matrix.Leaves
    found: InfosetHistories  # of all threads


class TraversalInterrupted(Exception):
    """A traversal of all histories that `ExpandingTree.interrupt` has ended. It says how far it came."""


class RulesEvaluator:
    """Evaluates strategies of a game that is not stored; infosets that were not found before are numbered on the way.

    By default there is a thread per core, within the tree's limit. BudgetError if the infosets do not fit the memory.
    """

    def __init__(self, tree: ImplicitTree, threads: int | None = None, progress: bool | None = None):
        self._tree, self._openings = tree, tree.openings
        self._num_threads = min(threads or os.cpu_count() or 1, tree.max_threads)
        self._disable = None if progress is None else not progress
        self.num_histories = 0  # of the last traversal
        self._num_pieces = _NUM_PIECES

    def evaluate(self, strategy: np.ndarray) -> Evaluation:
        """Returns the evaluation of a strategy, ``[num_slots]`` float64, uniform at newly found infosets."""
        tree, known = self._tree, len(strategy)
        begin = np.ascontiguousarray(strategy, np.float64)
        threads = self._threads(1 if tree.matrix_words is not None else self._num_threads)
        if tree.matrix_words is not None:
            with announce_compilation(payoff_matrix.both_gradients, "the evaluation by a payoff matrix", 2):
                reach = np.zeros(tree.slot_capacity + 2)
                payoff_matrix.both_gradients(tree.arrays, tree.matrix_words, begin, reach, threads[0].gradient)
        else:
            self._traverse("exact evaluation", threads, begin)
        gradient = threads[0].gradient[: tree.num_slots]
        roots = threads[0].gradient[tree.slot_capacity :]
        for other in threads[1:]:
            gradient += other.gradient[: tree.num_slots]
            roots += other.gradient[tree.slot_capacity :]
        full = tree.first_strategy
        full[:known] = begin[: tree.num_slots]
        best = roots.copy()
        result = Evaluation(roots, best, best)
        below, values = gradient.copy(), result.values
        _values(tree.found_infosets, full, gradient, below, tree.slot_capacity, values, best)
        return result

    def compile_numbering(self, *, with_leaves: bool) -> None:
        self._compiled(self._threads(1)[0], {ADD_GRADIENTS: False, LIST_LEAVES: with_leaves})

    def number_infosets(self) -> None:
        """Numbers all infosets, by one thread, so that their order is always the same. Interrupted, it may go on."""
        options = {ADD_GRADIENTS: False, LIST_LEAVES: False}
        self._traverse("numbering information sets", self._threads(1), np.zeros(0), options)

    def find_payoff_matrix(self) -> None:
        """Numbers all infosets, and gives the tree of a two-player game its payoff matrix if that fits the memory."""
        tree, options = self._tree, {ADD_GRADIENTS: False, LIST_LEAVES: True}
        leaves = payoff_matrix.leaves_to_count(tree.slot_capacity)
        thread = self._threads(1)[0]._replace(leaves=leaves)
        self._traverse("counting leaves", [thread], np.zeros(0), options)
        count = int(leaves.places.sum())
        missing = payoff_matrix.bytes_of(count, tree.num_slots) - tree.bytes_left
        if missing > 0:
            sizes = f"{count:,} leaves does not fit memory={tree.plan.limit / 1e6:.0f}MB"
            more = f"memory={(tree.plan.limit + _MARGIN * missing) / 1e6:.0f}MB"
            why = f"the payoff matrix of {sizes}: give {more}"
        elif (room := payoff_matrix.room_for_leaves(leaves, tree.num_slots)) is None:
            why = "there are too many different payoffs for a payoff matrix"
        else:
            matrix, leaves = room
            self._traverse("listing leaves", [thread._replace(leaves=leaves)], np.zeros(0), options)
            tree.set_payoff_matrix(matrix, self.num_histories)
            return
        logger.warning("%s. Every iteration traverses all histories, which takes longer than using this matrix.", why)

    def tabulate(self, policy: JointPolicy, strategy: np.ndarray, uniform_elsewhere: bool) -> None:
        """Numbers all infosets of a new tree, and writes a policy to its `strategy`, ``[slot_capacity]``."""
        tree, group = self._tree, self._tree.symmetries
        found = InfosetHistories.room_for(tree.plan.max_infosets, tree.rules_game)
        threads = [thread._replace(found=found) for thread in self._threads(self._num_threads)]
        options = {ADD_GRADIENTS: False, RECORD_HISTORIES: True}
        self._traverse("finding information sets", threads, np.zeros(0), options)
        histories = InfosetHistories(*(array[: tree.num_infosets] for array in found))
        if group is None:
            for infosets, masks, table in self._tables(policy, histories, uniform_elsewhere):
                first = tree.found_infosets["first_slot"][infosets]
                strategy[(first[:, None] + masks.cumsum(1) - 1)[masks]] = table[masks]
            return
        for element, permutation in enumerate(group.permutations):
            turned = histories._replace(actions=permutation.astype(histories.actions.dtype)[histories.actions])
            for infosets, masks, table in self._tables(policy, turned, uniform_elsewhere):
                for number, (infoset, mask, row) in enumerate(zip(infosets.tolist(), masks, table, strict=True)):
                    frame, slots, legal = int(histories.frames[infoset]), tree.slots(infoset), np.flatnonzero(mask)
                    own = group.products[element_of(frame), group.inverses[element]]
                    action = group.representatives(stabilizer_of(frame))[group.permutations[own, legal]]
                    members = action == tree.found_actions[slots, None]  # of each slot's orbit
                    if not element:
                        strategy[slots] = members @ row[legal]
                    even = members.T @ (strategy[slots] / members.sum(1))
                    if np.abs(even - row[legal]).max() > _SAME:
                        given, needed = (np.round(each, 6).tolist() for each in (row[legal], even))
                        where = _where(turned.state(tree.game, infosets[[number]]))
                        raise PolicyError(
                            f"symmetry=True needs a symmetric policy, but {where} the probabilities are {given}, "
                            f"whereas symmetry requires {needed}: evaluate the policy without symmetry."
                        )

    def _tables(
        self, policy: JointPolicy, histories: InfosetHistories, uniform_elsewhere: bool
    ) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Yields infosets, ``[n]``, their legal actions and probabilities, both ``[n, num_actions]``."""
        tree = self._tree
        policies = strategies.one_per_player(policy, tree.num_players)
        answers = [_answer_after(tree.game, one) for one in policies]
        may_lack = [uniform_elsewhere or isinstance(one, KeyedPolicy) for one in policies]
        order, owner = histories.order(), tree.found_infosets["player"]
        num_actions = tree.game.num_distinct_actions()
        missing, example = 0, ""
        batch_size = max(1, min(_BATCH, _CELLS // num_actions))
        what, unit = "tabulating the policy", " infosets"
        with tqdm(total=len(order), desc=what, unit=unit, delay=1.0, disable=self._disable, leave=False) as bar:
            for start in range(0, len(order), batch_size):
                batch = order[start : start + batch_size]
                masks, table = np.zeros((len(batch), num_actions), bool), np.zeros((len(batch), num_actions))
                for player, answer in enumerate(answers):
                    own = np.flatnonzero(owner[batch] == player)
                    masks[own], given, known = answer(player, *histories.after(batch[own]))
                    table[own] = np.where(known[:, None], given, masks[own] / masks[own].sum(1, keepdims=True))
                    if not known.all() and not may_lack[player]:
                        missing += int((~known).sum())
                        example = example or _where(histories.state(tree.game, batch[own][~known]))
                    wrong = ~strategies.are_distributions(table[own], masks[own])
                    if wrong.any():
                        state, row = histories.state(tree.game, batch[own][wrong]), table[own][wrong][0].tolist()
                        strategies.distribution(dict(enumerate(row)), state.legal_actions(), _where(state))  # raises
                yield batch, masks, table
                bar.update(len(batch))
        if missing:
            raise PolicyError(
                f"the policy has no probabilities at {missing:,} of the {len(order):,} information sets of "
                f"{tree.game}, such as {example}: give a complete policy, or uniform_elsewhere=True."
            )

    def _threads(self, count: int) -> list[Thread]:
        tree, width = self._tree, self._tree.slot_capacity + self._tree.num_players
        none = payoff_matrix.leaves_to_count(0), InfosetHistories.room_for(0, tree.rules_game)
        threads = [Thread(np.zeros(1, COUNTS), np.zeros(width), *none) for _ in range(count)]
        for number, thread in enumerate(threads):
            thread.counts[0]["thread"] = number
        return threads

    def _traverse(
        self, what: str, threads: list[Thread], strategy: np.ndarray, constants: Bindings | None = None
    ) -> None:
        traverse = self._compiled(threads[0], constants)
        tree, total, count = self._tree, self._num_pieces, len(threads)
        status, begin, done = tree.arrays_to_run_on(False)[1], time.monotonic(), itertools.count()
        bar = tqdm(total=total, desc=what, unit=" parts", delay=1.0, disable=self._disable, leave=False)

        def work(number: int) -> int:
            histories = 0
            for piece in range(number, total, count):
                has_ended, visited = traverse(tree.arrays, threads[number], strategy, ALL_PLAYERS, piece, total)
                if not has_ended and status[STATUS] == INTERRUPTED:
                    raise TraversalInterrupted
                tree.check()
                if not has_ended:
                    raise BudgetError(
                        f"the information sets do not fit into memory={tree.plan.limit / 1e6:,.0f}MB, which is full "
                        f"after {tree.num_infosets:,} of them: raise the limit."
                    )
                histories += visited
                next(done)
                bar.update()
            return histories

        with bar, ThreadPoolExecutor(count) as pool:
            running = [pool.submit(work, number) for number in range(count)]
            try:
                histories = sum(future.result() for future in as_completed(running))
            except BaseException as error:
                interrupt(status)  # the other threads
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
        with announce_compilation(traverse, "the evaluation with compiled rules", 5):
            traverse(tree.arrays, thread, np.zeros(0), ALL_PLAYERS, nothing, self._num_pieces)
        return traverse


@kernel
def _values(infosets, strategy, gradient, below, capacity, values, best_values):
    """Adds up the on-policy and the best-response value of every player; `below` is a copy of `gradient`.

    `values` and its copy `best_values` are the gradients at the empty sequences, the first of which is slot `capacity`.
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


def _answer_after(game: pyspiel.Game, policy: AnyPolicy) -> Callable[..., tuple[np.ndarray, ...]]:
    """Returns a function from a player and histories to the legal actions, their probabilities, and which are known."""
    at_once = getattr(policy, "probabilities_after", None)  # of networks
    if at_once is not None:
        return lambda _, actions, lengths: (*at_once(actions, lengths), np.ones(len(lengths), bool))
    answer = strategies.answers_of(policy)

    def after(player: int, actions: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        table = np.zeros((len(lengths), game.num_distinct_actions()))
        masks, known = np.zeros(table.shape, bool), np.zeros(len(lengths), bool)
        for row, state in enumerate(states_after(game, actions, lengths)):
            legal, found = state.legal_actions(), answer(state, player)
            masks[row, legal] = True
            try:
                row_found = strategies.row_of(found, legal)
            except (TypeError, ValueError):
                row_found = strategies.distribution(found, legal, _where(state))  # raises PolicyError
            if row_found is not None:
                table[row, legal], known[row] = row_found, True
        return masks, table, known

    return after


def _where(state: pyspiel.State) -> str:
    return f"at information state {state.information_state_string()!r} of player {state.current_player()}"
