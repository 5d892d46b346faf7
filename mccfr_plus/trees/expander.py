"""The callback that tells kernels, through pyspiel, what a node of a lazy tree is."""

import math
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
from mccfr_plus.trees.expansion import FAILED, FULL, NONE, NUM_OUTCOMES, NUM_PAYOFFS, STATUS
from mccfr_plus.trees.game import (
    WrongAnswerError,
    checked_actions,
    checked_outcomes,
    checked_returns,
    game_error,
    unknown_mover,
)
from mccfr_plus.trees.keys import KEY_BYTES, digest_of_text
from mccfr_plus.trees.layout import alias_table
from mccfr_plus.trees.memory import resident_bytes

_ROOT = 0

_HEAD = struct.Struct("<qqq")  # the first three columns of an answer; see `expansion`
_NO_STATE: tuple[int, Any] = NONE, None

_FIELDS = NODE.itemsize // 4  # of a node, all int32
_FIRST_CHILD, _PAYLOAD = 2, 3  # among them

_ROUNDS, _CLONES, _CLONE_SECONDS, _LONGEST_PLAY = 20, 250, 0.1, 1000  # for measuring how large a state is
# So many different payoffs, and outcomes of different chance events, are stored once, some 20 MB in Python's objects.
_MOST_PAYOFFS, _MOST_OUTCOMES = 1 << 16, 1 << 17
_MEASURED_EVERY = 1024  # kept states between two measurements of the memory of the process
_SMALLEST_STATE, _KEEPING_COST = 1000, 200  # bytes of a state, and of its Python object and dictionary entry


class _NoRoomError(Exception):
    """There is no room for another row."""


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

    An error in the game ends the traversal and is kept in `error`; so does Ctrl-C.

    Args:
        state_bytes: Memory for states that are kept, in bytes.
        max_depth: The longest history that traversals can take, or None for any.
        single_trajectory: Whether a traversal visits a single history, so that one state can be played on from new node
            to new node. Copying it at each of them would cost as much as the rest.
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
        self._num_outcomes = 0  # of these
        # Kept states in two generations: when the young one is full, the old one is dropped.
        self._young: dict[int, pyspiel.State] = {}
        self._old: dict[int, pyspiel.State] = {}
        self._max_states = max(state_bytes // _state_size(game) // 2, 1)  # per generation
        # Of the process while the first generation grows: states deep in a game may be larger than was measured.
        self._most_bytes: float = resident_bytes() + state_bytes
        self._last = [_NO_STATE] * len(places.answers)  # per thread, the node expanded last and its state
        self._packers: dict[int, Callable] = {}  # of answers for decision nodes, by number of actions
        self.error: BaseException | None = None
        self.answer = self._make_answer()

    def _make_answer(self) -> Callable[[int, int], None]:
        """Returns the callback, which takes a node and a thread.

        It is one function with everything in local names, because it runs once per new node.
        """
        nodes, parents, last = self._nodes, self._parents, self._last
        slot_actions, outcome_actions = self._slot_actions, self._outcome_actions
        buffer, row_bytes = _view(self._places.answers, "B"), self._places.answers.strides[0]
        payoff_rows, state_of = self._payoff_rows, self._state_of
        packers, new_packer, pack_head = self._packers, self._new_packer, _HEAD.pack_into
        single, max_depth, keep = self._single_trajectory, self._max_depth, self._keep

        def answer(node: int, thread: int) -> None:
            try:
                if node:
                    above = parents[node]
                    first = _FIELDS * above
                    row = nodes[first + _PAYLOAD] + node - nodes[first + _FIRST_CHILD]
                    action = outcome_actions[row] if nodes[first] == CHANCE else slot_actions[row]
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
            except _NoRoomError:
                self._places.expansion[STATUS] = FULL
                return
            except Exception as error:
                self.error = game_error(self._game, self.actions_to(node), error)
            except BaseException as error:  # such as a KeyboardInterrupt, for `LazyTree.check`
                self.error = error
            self._places.expansion[STATUS] = FAILED

        if len(last) == 1:
            return answer
        lock = threading.Lock()  # the interpreter's own is given to other threads in the middle of a function

        def answer_alone(node: int, thread: int) -> None:
            with lock:
                answer(node, thread)

        return answer_alone

    def _new_packer(self, actions: list[int]) -> Callable:
        """Returns what packs the answer for a decision node with that many actions."""
        count = len(checked_actions(actions, self._game.num_distinct_actions()))
        packer = self._packers[count] = struct.Struct(f"<qqq{KEY_BYTES}s{count}q").pack_into
        return packer

    # --- rows of leaves and chance nodes ---

    def _new_payoff(self, returns: tuple[float, ...]) -> int:
        row = int(self._places.expansion[NUM_PAYOFFS])
        if row == len(self._places.payoffs):
            raise _NoRoomError
        self._places.payoffs[row] = checked_returns(returns, self._game.num_players())
        if len(self._payoff_rows) == _MOST_PAYOFFS:
            self._payoff_rows.clear()
        self._payoff_rows[returns] = row
        self._places.expansion[NUM_PAYOFFS] += 1
        return row

    def _distribution(self, state: pyspiel.State) -> tuple[int, int]:
        outcomes = tuple(state.chance_outcomes())
        found = self._distributions.get(outcomes)
        if found is None:
            self._num_outcomes += len(outcomes)
            if self._num_outcomes > _MOST_OUTCOMES:
                self._distributions.clear()
                self._num_outcomes = len(outcomes)
            possible = checked_outcomes(outcomes)
            found = self._distributions.get(possible)
            if found is None:
                first, count = int(self._places.expansion[NUM_OUTCOMES]), len(possible)
                if first + count > len(self._places.chance):
                    raise _NoRoomError
                table = alias_table(np.array([probability for _, probability in possible]))
                self._places.chance[first : first + count] = table
                self._places.outcome_actions[first : first + count] = [action for action, _ in possible]
                self._places.expansion[NUM_OUTCOMES] += count
                found = self._distributions[possible] = first, count
            self._distributions[outcomes] = found
        return found

    # --- states ---

    def _action(self, above: int, node: int) -> int:
        """Returns the action that leads from a node to one of its children."""
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
            state.apply_action(self._action(near, below))
            near = below
        self._keep(node, state)
        return state

    def _keep(self, node: int, state: pyspiel.State) -> None:
        count = len(self._young)
        if count % _MEASURED_EVERY == _MEASURED_EVERY - 1 and resident_bytes() > self._most_bytes:
            self._max_states = count
        if count >= self._max_states:
            self._old, self._young = self._young, {}
            self._most_bytes = math.inf
        self._young[node] = state

    def state_at(self, node: int) -> pyspiel.State:
        """Returns the state of any node of the tree, replayed from the root."""
        state = self._game.new_initial_state()
        for action in self.actions_to(node):
            state.apply_action(action)
        return state

    def clear(self) -> None:
        """Drops all states and rows, before another tree is loaded."""
        self._last[:] = [_NO_STATE] * len(self._last)
        self._most_bytes = math.inf
        self._young, self._old = {}, {}
        self._payoff_rows.clear()
        self._distributions.clear()
        self._num_outcomes = 0

    def actions_to(self, node: int) -> list[int]:
        """Returns the history of a node, in pyspiel's actions."""
        actions = []
        while node != _ROOT:
            above = self._parents[node]
            actions.append(self._action(above, node))
            node = above
        return actions[::-1]


def _view(array: np.ndarray, kind: Literal["B", "i", "q"]) -> memoryview:
    """Returns an array's memory as bytes, int32 or int64."""
    return memoryview(array).cast("B").cast(kind)  # type: ignore[arg-type]


def _state_size(game: pyspiel.Game) -> int:
    """Returns about how many bytes a state takes, by making many at the end of a random play, as states grow."""
    rng, state = random.Random(0), game.new_initial_state()
    try:
        while not state.is_terminal() and state.move_number() <= _LONGEST_PLAY:
            player = state.current_player()
            if player == CHANCE:
                actions = [action for action, _ in checked_outcomes(state.chance_outcomes())]
            elif player >= 0:
                actions = checked_actions(state.legal_actions(), game.num_distinct_actions())
            else:
                raise unknown_mover(player)
            state.apply_action(rng.choice(actions))
    except Exception as error:
        raise game_error(game, state.history(), error) from error.__cause__
    states: list[pyspiel.State] = []
    largest, begin = _SMALLEST_STATE, time.monotonic()
    # In rounds: the first ones may fill memory that was freed before, and seem to take nothing.
    while len(states) < _ROUNDS * _CLONES and time.monotonic() - begin < _CLONE_SECONDS:
        before = resident_bytes()
        states += [state.clone() for _ in range(_CLONES)]
        largest = max(largest, (resident_bytes() - before) // _CLONES)
    return largest + _KEEPING_COST
