"""A lazily expanded tree: the arrays of a compiled one, filled through pyspiel where traversals have been."""

import functools
import random
import struct
import threading
import time
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pyspiel

from mccfr_plus.errors import GameError
from mccfr_plus.games.rules import CHANCE, TERMINAL
from mccfr_plus.kernels.intrinsics import callback
from mccfr_plus.trees import expansion, loading
from mccfr_plus.trees.arrays import INFOSET, NODE, OUTCOME, Shape
from mccfr_plus.trees.expanding_tree import ExpandingTree
from mccfr_plus.trees.flattening import alias_table
from mccfr_plus.trees.info_states import KEY_BYTES, Keys, digest_of_text
from mccfr_plus.trees.memory import MemoryPlan, resident_bytes
from mccfr_plus.trees.needs import NODES
from mccfr_plus.trees.recall import absent_minded, has_perfect_recall
from mccfr_plus.trees.tree import Sizes

_ROOT = 0
_FIRST_TABLE = 1 << 12

NODE_COST = NODE.itemsize + 4  # bytes of a node and its parent
INFOSET_COST = INFOSET.itemsize + 16 + 16 + 12  # and of its key, places in the table and entry of the touched list
SLOT_ACTION_COST = 8  # bytes of a slot in the tree
_PAYOFF_COST = 8  # bytes of a player's payoff
_OUTCOME_COST = OUTCOME.itemsize + 8  # bytes of a chance event's outcome and its action

_HEAD = struct.Struct("<qqq")  # the first three columns of an answer; see `expansion`
_NO_STATE: tuple[int, Any] = -1, None

_FIELDS = NODE.itemsize // 4  # of a node, all int32
_FIRST_CHILD, _PAYLOAD = 2, 3  # among them

# Payoffs, and outcomes of chance events, whose rows Python remembers, in some 20 MB each.
_MOST_PAYOFFS, _MOST_OUTCOMES = 1 << 16, 1 << 17

_ROUNDS, _STATES, _SECONDS, _LONGEST_PLAY = 20, 250, 0.1, 1000  # for measuring how large a state is
_SMALLEST_STATE, _KEEPING_COST = 1000, 200  # bytes of a state, and of its Python object and dictionary entry


class LazyTree(ExpandingTree):
    """A game whose nodes are expanded through pyspiel when they are first sampled.

    Where recall is known to be imperfect (`recall`), an infoset is known by its information state, and tied; otherwise
    by the player's last slot, too, so that recall is perfect by construction.

    Replaying a history from the root costs more than all else, so about ``plan.state_bytes`` of states are kept. Others
    are replayed from their nearest ancestor that is. Where a traversal visits a single history, one state is played on
    from new node to new node instead: copying it at each of them would cost as much as the rest.
    """

    kind = "lazy"
    provides = frozenset({NODES})

    def __init__(self, game: pyspiel.Game | str, plan: MemoryPlan, threads: int = 1):
        game = loading.load_game(game)
        self.keys, self.threads = Keys(), threads
        num_players, total = game.num_players(), plan.max_nodes
        width = expansion.ANSWER_ACTIONS + max(game.num_distinct_actions(), num_players)
        num_outcomes = total + game.max_chance_outcomes()  # those of a chance node are written before its children
        max_depth = game.max_game_length() + game.max_chance_nodes_in_history() + 1
        nodes, infosets = np.zeros(total, NODE), np.zeros(plan.max_infosets, INFOSET)
        words = np.zeros(expansion.NUM_EXPANSION, np.int64)
        self._payoffs, self._chance = np.zeros((total, num_players)), np.zeros(num_outcomes, OUTCOME)
        stored = {"nodes": nodes, "payoffs": self._payoffs, "chance": self._chance}
        shape = Shape(max_depth, max_stack=total, perfect_recall=has_perfect_recall(game))
        super().__init__(game, plan, shape, **stored, infosets=infosets, expansion=words)
        self.slot_action, self.node_capacity = np.zeros(plan.max_slots, np.int64), total
        parents = np.zeros(total, np.int32)
        arrays = nodes, parents, infosets, self._info_keys, self.slot_action, self._strategy, words
        self.tables = expansion.Tables(*arrays)
        self._answers, self._outcome_action = np.zeros((threads, width), np.int64), np.zeros(num_outcomes, np.int64)
        # Entries of memoryviews are read several times as fast as those of NumPy arrays.
        self._fields, self._parents = _view(nodes, "i"), _view(parents, "i")
        self._slot_actions, self._outcome_actions = _view(self.slot_action, "q"), _view(self._outcome_action, "q")
        self._payoff_of = functools.lru_cache(_MOST_PAYOFFS)(self._new_payoff)
        most = max(_MOST_OUTCOMES // max(game.max_chance_outcomes(), 1), 1)
        self._distribution_of = functools.lru_cache(most)(self._new_distribution)
        # Kept states in two generations: when the young one is full, the old one is dropped.
        self._young: dict[int, pyspiel.State] = {}
        self._old: dict[int, pyspiel.State] = {}
        self._last = [_NO_STATE] * threads  # per thread, the node expanded last and its state
        self._error: BaseException | None = None  # has ended a traversal

    def attach(self, *, check_depth: bool, single_trajectory: bool) -> np.ndarray:
        strategy = super().attach(check_depth=check_depth, single_trajectory=single_trajectory)
        self._max_states = max(self.plan.state_bytes // _state_size(self.game) // 2, 1)  # per generation
        max_table = max(1 << (2 * self.plan.max_infosets - 1).bit_length(), _FIRST_TABLE)
        things = {
            expansion.CALLBACK: callback(self._new_answer(check_depth, single_trajectory)),
            expansion.NODES: self.tables.nodes,
            expansion.PARENTS: self.tables.parents,
            expansion.KEYS: self._info_keys,
            expansion.TABLE: np.zeros(max_table, np.int32),
            expansion.SLOT_ACTIONS: self.slot_action,
            expansion.ANSWERS: self._answers,
        }
        self._keep(things)
        words = self._expansion
        words[expansion.ANSWER_WIDTH] = self._answers.shape[1]
        words[expansion.NUM_NODES], words[expansion.TABLE_SIZE] = 1, _FIRST_TABLE
        words[expansion.HAS_TIES] = not self.perfect_recall
        words[expansion.PAYOFF_COST], words[expansion.OUTCOME_COST] = _PAYOFF_COST * self.num_players, _OUTCOME_COST
        return strategy

    def _new_answer(self, check_depth: bool, is_single: bool) -> Callable[[int, int], None]:
        """Returns the callback of `expansion.EXPAND`: one function with all in local names, as it runs per new node."""
        max_depth = self.shape.max_depth if check_depth else None
        fields, parents, last = self._fields, self._parents, self._last
        slot_actions, outcome_actions = self._slot_actions, self._outcome_actions
        buffer, row_bytes = _view(self._answers, "B"), self._answers.strides[0]
        payoff_of, state_of, keep = self._payoff_of, self._state_of, self._keep_state
        most, packers = self.game.num_distinct_actions(), dict[int, Callable]()  # by number of actions
        lock = threading.Lock()  # the interpreter's own is given to other threads in the middle of a function

        def answer(node: int, thread: int) -> None:
            try:
                with lock:
                    if node:
                        above = parents[node]
                        first = _FIELDS * above  # as in `_action_to`, without a call
                        row = fields[first + _PAYLOAD] + node - fields[first + _FIRST_CHILD]
                        action = outcome_actions[row] if fields[first] == CHANCE else slot_actions[row]
                        before, state = last[thread]
                        if before == above:
                            last[thread] = _NO_STATE
                            state.apply_action(action)
                        else:
                            state = (self._young.get(above) or state_of(above)).child(action)
                    else:
                        state = self.game.new_initial_state()
                    player = state.current_player()
                    if player == TERMINAL:
                        _HEAD.pack_into(buffer, row_bytes * thread, TERMINAL, 0, payoff_of(tuple(state.returns())))
                        return
                    if max_depth is not None and state.move_number() > max_depth:
                        raise loading.WrongAnswerError(
                            f"a history has more than {max_depth} moves, the limit implied by max_game_length and "
                            "max_chance_nodes_in_history"
                        )
                    if is_single:
                        last[thread] = node, state
                    else:
                        keep(node, state)
                    if player >= 0:
                        key = digest_of_text(state.information_state_string())
                        actions = state.legal_actions()
                        count = len(actions)
                        if (pack := packers.get(count)) is None:
                            layout = f"{_HEAD.format}{KEY_BYTES}s{len(loading.checked_actions(actions, most))}q"
                            pack = packers[count] = struct.Struct(layout).pack_into
                        pack(buffer, row_bytes * thread, player, count, 0, key, *actions)
                    elif player == CHANCE:
                        row, count = self._distribution_of(tuple(state.chance_outcomes()))
                        _HEAD.pack_into(buffer, row_bytes * thread, CHANCE, count, row)
                    else:
                        raise loading.unknown_mover(player)
                    return
            except Exception as error:
                self._error = loading.game_error(self.game, self._history_of(node), error)
            except BaseException as error:  # such as a KeyboardInterrupt, for `check`
                self._error = error
            self._expansion[expansion.STATUS] = expansion.FAILED

        return answer

    # There is room for rows of leaves and chance nodes, as these have at most one per node.

    def _new_payoff(self, returns: tuple[float, ...]) -> int:
        row = self.count(expansion.NUM_PAYOFFS)
        self._payoffs[row] = loading.checked_returns(returns, self.num_players)
        self._expansion[expansion.NUM_PAYOFFS] += 1
        return row

    def _new_distribution(self, outcomes: tuple) -> tuple[int, int]:
        """Returns first row and number of the possible outcomes of a chance node."""
        actions, probabilities = zip(*loading.checked_outcomes(outcomes), strict=True)
        first = self.count(expansion.NUM_OUTCOMES)
        end = first + len(actions)
        self._chance[first:end] = alias_table(np.array(probabilities))
        self._outcome_action[first:end] = actions
        self._expansion[expansion.NUM_OUTCOMES] = end
        return first, len(actions)

    def check(self) -> None:
        status, error, self._error = self.count(expansion.STATUS), self._error, None
        if status in (expansion.FAILED, expansion.ACTIONS_DIFFER, expansion.ABSENT_MINDED):
            self._expansion[expansion.STATUS] = expansion.EXPANDING
        if status == expansion.FAILED:
            raise error or GameError(f"{self.game} could not return a node, because of an earlier error.")
        if status == expansion.ACTIONS_DIFFER:
            state = self._state_of(self.count(expansion.CONFLICT_NODE))
            known, player = self.legal_actions(self.count(expansion.CONFLICT_INFOSET)), state.current_player()
            text = state.information_state_string()
            problem = loading.different_actions(text, player, known, state.legal_actions())
            raise loading.game_error(self.game, state.history(), problem)
        if status == expansion.ABSENT_MINDED:
            state = self._state_of(self.count(expansion.CONFLICT_NODE))
            raise absent_minded(self.game, state.history(), state.current_player(), state.information_state_string())

    # --- kept states ---

    def _action_to(self, node: int, above: int) -> int:
        """Returns the action that leads to a node from the one above it."""
        first = _FIELDS * above
        row = self._fields[first + _PAYLOAD] + node - self._fields[first + _FIRST_CHILD]
        return self._outcome_actions[row] if self._fields[first] == CHANCE else self._slot_actions[row]

    def _state_of(self, node: int) -> pyspiel.State:
        """Returns a node's state, which is kept from now on."""
        path, near, kept = [], node, None
        while near != _ROOT and (kept := self._young.get(near) or self._old.get(near)) is None:
            path.append(near)
            near = self._parents[near]
        state = self.game.new_initial_state() if kept is None else kept.clone() if path else kept
        for below in reversed(path):
            state.apply_action(self._action_to(below, self._parents[below]))
        self._keep_state(node, state)
        return state

    def _keep_state(self, node: int, state: pyspiel.State) -> None:
        if len(self._young) >= self._max_states:
            self._old, self._young = self._young, {}
        self._young[node] = state

    def _history_of(self, node: int) -> list[int]:
        """Returns the history of a node, in pyspiel's actions."""
        actions = []
        while node != _ROOT:
            above = self._parents[node]
            actions.append(self._action_to(node, above))
            node = above
        return actions[::-1]

    # --- a checkpoint's part ---

    def _cost(self, sizes: Sizes) -> int:
        rows = sizes.payoffs * _PAYOFF_COST * self.num_players + sizes.outcomes * _OUTCOME_COST
        return super()._cost(sizes) + sizes.nodes * self.plan.node_cost + rows

    def places(self, sizes: Sizes) -> dict[str, np.ndarray]:
        nodes, infosets, slots, payoffs, outcomes, _ = sizes
        return {
            "nodes": self.tables.nodes[:nodes],
            "parents": self.tables.parents[:nodes],
            "infosets": self.tables.infosets[:infosets],
            "keys": self._info_keys[:infosets],
            "slot_actions": self.slot_action[:slots],
            "payoffs": self._payoffs[:payoffs],
            "chance": self._chance[:outcomes],
            "outcome_actions": self._outcome_action[:outcomes],
        }

    def begin_loading(self) -> None:
        self.tables.nodes[: self.num_nodes] = 0
        self._last[:] = [_NO_STATE] * self.threads
        for states in (self._young, self._old):
            states.clear()
        for rows in (self._payoff_of, self._distribution_of):
            rows.cache_clear()

    def end_loading(self, sizes: Sizes) -> None:
        super().end_loading(sizes)
        expansion.enter(self.tables, 0)

    def __reduce__(self) -> tuple:
        return LazyTree, (self.game, self.plan, self.threads)

    def _find(self, info_state: str, player: int) -> int | None:
        is_it = (self.found_keys == self.keys.find(info_state)).all(axis=1) & (self.found_infosets["player"] == player)
        found = np.flatnonzero(is_it)
        if len(found) > 1:
            raise GameError(
                f"player {player} reaches the information state {info_state!r} after {len(found)} different sequences "
                f"of its own moves, which {self.game.get_type().short_name} does not tell apart: this "
                "state does not correspond to a single information set."
            )
        return int(found[0]) if len(found) else None


def _view(array: np.ndarray, kind: Literal["B", "i", "q"]) -> memoryview:
    """Returns an array's memory as bytes, int32 or int64."""
    return memoryview(array).cast("B").cast(kind)  # type: ignore[arg-type]


def _state_size(game: pyspiel.Game) -> int:
    """Returns about how many bytes a kept state takes, by making many at the end of a random play, as states grow.

    They are made like those that are kept, by `child`: a copy has no room for a next action, and is smaller.
    """
    rng, state = random.Random(0), game.new_initial_state()
    make: Callable[[], pyspiel.State] = state.clone
    try:
        while state.move_number() <= _LONGEST_PLAY and (actions := loading.read_node(game, state)[1]):
            make = functools.partial(state.child, rng.choice(actions))
            state = make()
    except Exception as error:
        raise loading.game_error(game, state.history(), error) from error.__cause__
    states: list[pyspiel.State] = []
    largest, end = _SMALLEST_STATE, time.monotonic() + _SECONDS
    while len(states) < _ROUNDS * _STATES and time.monotonic() < end:  # the first rounds may fill memory freed before
        before = resident_bytes()
        states += [make() for _ in range(_STATES)]
        largest = max(largest, (resident_bytes() - before) // _STATES)
    return largest + _KEEPING_COST
