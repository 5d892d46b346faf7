"""The callback that tells kernels, through pyspiel, what a node of a lazy tree is."""

import functools
import random
import struct
import threading
import time
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
import pyspiel

from mccfr_plus.games.rules import CHANCE, TERMINAL
from mccfr_plus.trees.arrays import NODE
from mccfr_plus.trees.expansion import FAILED, NUM_OUTCOMES, NUM_PAYOFFS, STATUS
from mccfr_plus.trees.flattening import alias_table
from mccfr_plus.trees.info_states import KEY_BYTES, digest_of_text
from mccfr_plus.trees.loading import (
    WrongAnswerError,
    checked_actions,
    checked_outcomes,
    checked_returns,
    game_error,
    read_node,
    unknown_mover,
)
from mccfr_plus.trees.memory import resident_bytes

_ROOT = 0

_HEAD = struct.Struct("<qqq")  # the first three columns of an answer; see `expansion`
_NO_STATE: tuple[int, Any] = -1, None

_FIELDS = NODE.itemsize // 4  # of a node, all int32
_FIRST_CHILD, _PAYLOAD = 2, 3  # among them

# Python's dictionaries of payoffs and of chance events are emptied after so many rows, which take some 20 MB there.
_MOST_PAYOFFS, _MOST_OUTCOMES = 1 << 16, 1 << 17

_ROUNDS, _STATES, _SECONDS, _LONGEST_PLAY = 20, 250, 0.1, 1000  # for measuring how large a state is
_SMALLEST_STATE, _KEEPING_COST = 1000, 200  # bytes of a state, and of its Python object and dictionary entry


class Places(NamedTuple):
    """The arrays of a lazy tree. The first seven are in the order of their addresses in `TreeArrays.expansion`."""

    nodes: np.ndarray
    parents: np.ndarray  # [max_nodes] int32
    infosets: np.ndarray
    keys: np.ndarray  # [max_infosets, 2] int64
    table: np.ndarray  # int32, at least twice as many as infosets
    slot_actions: np.ndarray  # [max_slots] int64
    answers: np.ndarray  # [threads, answer_width] int64
    payoffs: np.ndarray
    chance: np.ndarray
    outcome_actions: np.ndarray  # of each row of `chance`, int64
    expansion: np.ndarray


class Expander:
    """Writes what a node is: `answer` is the callback of `expansion.expand`.

    It keeps states of the game, because replaying a history from the root costs more than all else. The state of a node
    that is not kept is replayed from its nearest ancestor that is.

    Those that are kept take about `state_bytes`. Where a traversal visits a single history, one state is played on from
    new node to new node instead: copying it at each of them would cost as much as the rest. Histories longer than
    `max_depth` are an error. An error in the game ends the traversal and is kept in `error`; so does Ctrl-C.
    """

    def __init__(
        self,
        game: pyspiel.Game,
        places: Places,
        state_bytes: int,
        max_depth: int | None,
        single_trajectory: bool,
    ):
        self._game = game
        self._places = places
        self._max_depth = max_depth
        self._single_trajectory = single_trajectory
        # Entries of memoryviews are read several times as fast as those of numpy arrays.
        self._nodes = _view(places.nodes, "i")
        self._parents = _view(places.parents, "i")
        self._slot_actions = _view(places.slot_actions, "q")
        self._outcome_actions = _view(places.outcome_actions, "q")
        self._payoff_rows: dict[tuple[float, ...], int] = {}
        self._distributions: dict[tuple, tuple[int, int]] = {}  # to first row and number of outcomes
        # Kept states in two generations: when the young one is full, the old one is dropped.
        self._young: dict[int, pyspiel.State] = {}
        self._old: dict[int, pyspiel.State] = {}
        self._max_states = max(state_bytes // _state_size(game) // 2, 1)  # per generation
        self._last = [_NO_STATE] * len(places.answers)  # per thread, the node expanded last and its state
        self._packers: dict[int, Callable] = {}  # of answers for decision nodes, by number of actions
        self.error: BaseException | None = None
        self.answer = self._make_answer()

    def _make_answer(self) -> Callable[[int, int], None]:
        """Returns the callback, which takes a node and a thread.

        It is one function with everything in local names, because it runs once per new node.
        """
        parents, last, action_to = self._parents, self._last, self._action_to
        buffer, row_bytes = _view(self._places.answers, "B"), self._places.answers.strides[0]
        payoff_rows, state_of = self._payoff_rows, self._state_of
        packers, new_packer, pack_head = self._packers, self._new_packer, _HEAD.pack_into
        single, max_depth, keep = self._single_trajectory, self._max_depth, self._keep
        lock = threading.Lock()  # the interpreter's own is given to other threads in the middle of a function

        def answer(node: int, thread: int) -> None:
            try:
                with lock:
                    if node:
                        above = parents[node]
                        action = action_to(node, above)
                        before, state = last[thread]
                        if before == above:
                            last[thread] = _NO_STATE
                            state.apply_action(action)
                        else:
                            state = (self._young.get(above) or state_of(above)).child(action)
                    else:
                        state = self._game.new_initial_state()
                    player = state.current_player()
                    if player == TERMINAL:
                        returns = tuple(state.returns())
                        payoff = payoff_rows.get(returns)
                        if payoff is None:
                            payoff = self._new_payoff(returns)
                        pack_head(buffer, row_bytes * thread, TERMINAL, 0, payoff)
                        return
                    if max_depth is not None and state.move_number() > max_depth:
                        raise WrongAnswerError(
                            f"more than {max_depth} moves, which is more than its max_game_length and "
                            "max_chance_nodes_in_history say"
                        )
                    if single:
                        last[thread] = node, state
                    else:
                        keep(node, state)
                    if player >= 0:
                        key = digest_of_text(state.information_state_string())
                        actions = state.legal_actions()
                        count = len(actions)
                        pack = packers.get(count) or new_packer(actions)
                        pack(buffer, row_bytes * thread, player, count, 0, key, *actions)
                    elif player == CHANCE:
                        row, count = self._distribution(state)
                        pack_head(buffer, row_bytes * thread, CHANCE, count, row)
                    else:
                        raise unknown_mover(player)
                    return
            except Exception as error:
                self.error = game_error(self._game, self.actions_to(node), error)
            except BaseException as error:  # such as a KeyboardInterrupt, for `LazyTree.check`
                self.error = error
            self._places.expansion[STATUS] = FAILED

        return answer

    def _new_packer(self, actions: list[int]) -> Callable:
        """Returns what packs the answer for a decision node with that many actions."""
        count = len(checked_actions(actions, self._game.num_distinct_actions()))
        packer = self._packers[count] = struct.Struct(f"<qqq{KEY_BYTES}s{count}q").pack_into
        return packer

    # --- rows of leaves and chance nodes: there is room, as these have at most one per node ---

    def _new_payoff(self, returns: tuple[float, ...]) -> int:
        row = int(self._places.expansion[NUM_PAYOFFS])
        self._places.payoffs[row] = checked_returns(returns, self._game.num_players())
        self._places.expansion[NUM_PAYOFFS] += 1
        if row % _MOST_PAYOFFS == 0:
            self._payoff_rows.clear()
        self._payoff_rows[returns] = row
        return row

    def _distribution(self, state: pyspiel.State) -> tuple[int, int]:
        """Returns first row and number of the possible outcomes of a chance node."""
        outcomes = tuple(state.chance_outcomes())
        found = self._distributions.get(outcomes)
        if found is None:
            actions, probabilities = zip(*checked_outcomes(outcomes), strict=True)
            first = int(self._places.expansion[NUM_OUTCOMES])
            end = first + len(actions)
            self._places.chance[first:end] = alias_table(np.array(probabilities))
            self._places.outcome_actions[first:end] = actions
            self._places.expansion[NUM_OUTCOMES] = end
            if first // _MOST_OUTCOMES < end // _MOST_OUTCOMES:
                self._distributions.clear()
            found = self._distributions[outcomes] = first, len(actions)
        return found

    # --- states ---

    def _action_to(self, node: int, above: int) -> int:
        """Returns the action that leads to a node from the one above it."""
        first = _FIELDS * above
        row = self._nodes[first + _PAYLOAD] + node - self._nodes[first + _FIRST_CHILD]
        return self._outcome_actions[row] if self._nodes[first] == CHANCE else self._slot_actions[row]

    def _state_of(self, node: int) -> pyspiel.State:
        """Returns the state of an expanded node, which is kept from now on."""
        path = []
        near, kept = node, None
        while near != _ROOT:
            kept = self._young.get(near) or self._old.get(near)
            if kept is not None:
                break
            path.append(near)
            near = self._parents[near]
        state = self._game.new_initial_state() if kept is None else kept.clone() if path else kept
        for below in reversed(path):
            state.apply_action(self._action_to(below, self._parents[below]))
        self._keep(node, state)
        return state

    def _keep(self, node: int, state: pyspiel.State) -> None:
        if len(self._young) >= self._max_states:
            self._old, self._young = self._young, {}
        self._young[node] = state

    def clear(self) -> None:
        """Drops all states and rows, before another tree is loaded."""
        self._last[:] = [_NO_STATE] * len(self._last)
        for kept in (self._young, self._old, self._payoff_rows, self._distributions):
            kept.clear()

    def actions_to(self, node: int) -> list[int]:
        """Returns the history of a node, in pyspiel's actions."""
        actions = []
        while node != _ROOT:
            above = self._parents[node]
            actions.append(self._action_to(node, above))
            node = above
        return actions[::-1]


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
        while state.move_number() <= _LONGEST_PLAY and (actions := read_node(game, state)[1]):
            make = functools.partial(state.child, rng.choice(actions))
            state = make()
    except Exception as error:
        raise game_error(game, state.history(), error) from error.__cause__
    states: list[pyspiel.State] = []
    largest, end = _SMALLEST_STATE, time.monotonic() + _SECONDS
    # In rounds: the first ones may fill memory that was freed before, and seem to take nothing.
    while len(states) < _ROUNDS * _STATES and time.monotonic() < end:
        before = resident_bytes()
        states += [make() for _ in range(_STATES)]
        largest = max(largest, (resident_bytes() - before) // _STATES)
    return largest + _KEEPING_COST
