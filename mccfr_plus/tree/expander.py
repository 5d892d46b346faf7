"""What lies behind the nodes of a lazy tree: asks pyspiel, and keeps states so that it need not replay histories."""

from __future__ import annotations

import random
import struct
import threading
import time
from array import array
from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
import pyspiel

from mccfr_plus.errors import BudgetError, GameError, MccfrPlusError
from mccfr_plus.tree.arrays import CHANCE, NODE, TERMINAL
from mccfr_plus.tree.asking import ANSWER_ACTIONS, ANSWER_COUNT, ANSWER_STATE
from mccfr_plus.tree.chance import checked_outcomes
from mccfr_plus.tree.expansion import FAILED, NUM_OUTCOMES, NUM_PAYOFFS, STATUS
from mccfr_plus.tree.keys import KEY_BYTES, Keys
from mccfr_plus.tree.layout import alias_table
from mccfr_plus.tree.memory import resident_bytes
from mccfr_plus.tree.short_cut import ShortCut

_ROOT = 0
_TERMINAL, _CHANCE = int(pyspiel.PlayerId.TERMINAL), int(pyspiel.PlayerId.CHANCE)

_HEAD = struct.Struct("<qqq")  # kind, count, row
_DECISION = struct.Struct("<qqq24s")  # and the key
_FIELDS = NODE.itemsize // 4  # of a node, all int32
_FIRST_CHILD, _PAYLOAD = 2, 3  # among them

_ROUNDS, _CLONES, _CLONE_SECONDS, _LONGEST_PLAY = 20, 250, 0.1, 1000  # for measuring how large a state is
_OWN_SHARE = 8  # one in so many states is kept here, where kernels keep states, too
_SMALLEST_STATE, _KEEPING_COST = 1000, 200  # bytes of a state, and of what keeps it and wraps it


class Places(NamedTuple):
    """The arrays of a lazy tree that the expander reads and writes."""

    nodes: np.ndarray
    parents: np.ndarray
    slot_actions: np.ndarray
    payoffs: np.ndarray
    chance: np.ndarray
    outcome_actions: np.ndarray
    answers: np.ndarray  # [threads, answer_width] int64
    expansion: np.ndarray


class Expander:
    """Tells kernels, through a callback, what a node is that nobody has visited.

    An error in the game ends the traversal and is kept in `error`; so does Ctrl-C.

    Args:
        game: The turn-based game.
        places: The tree's arrays.
        keys: Gives the keys of infosets.
        state_bytes: Memory for states that are kept, in bytes.
        max_depth: The longest history that traversals can take, or None for any.
    """

    def __init__(self, game: pyspiel.Game, places: Places, keys: Keys, state_bytes: int, max_depth: int | None):
        self._game = game
        self._places = places
        self._keys = keys
        self._max_depth = max_depth
        # Entries of memoryviews are read and written several times as fast as those of numpy arrays.
        self._nodes = _view(places.nodes, "i")
        self._parents = _view(places.parents, "i")
        self._slot_actions = _view(places.slot_actions, "q")
        self._answers = _view(places.answers, "q")
        self._answer_width = places.answers.shape[1]
        self._payoff_rows: dict[tuple[float, ...], int] = {}
        self._distributions: dict[tuple, tuple[int, int]] = {}  # to first row and number of outcomes
        self._outcome_actions = _view(places.outcome_actions, "q")
        self._hands: list[pyspiel.State | None] = [None] * len(places.answers)  # what each thread was last asked for
        self._young: dict[int, pyspiel.State] = {}  # states that are kept
        self._old: dict[int, pyspiel.State] = {}
        num_states = max(state_bytes // _state_size(game), 2)
        self.short_cut: ShortCut | None = None
        if keys.kind == "hash" and max_depth is None and ShortCut.can_ask(game):
            own = max(num_states // _OWN_SHARE, 2)  # of what kernels do not ask themselves: mostly chance nodes
            self.short_cut = ShortCut(game, places, KEY_BYTES, num_states - own, len(places.answers))
            num_states = own
        self._max_states = num_states // 2  # per generation
        self.error: BaseException | None = None
        self.answer = self._make_answer()

    def _make_answer(self) -> Callable[[int, int], None]:
        """Returns the callback. For a node it writes what that is, for -1 - node the actions of the one asked for last.

        An error is kept in `error`. One function with everything in local names, because it runs once per new
        node: as methods of the class it took twice as long.
        """
        nodes, parents, slot_actions, outcome_actions = (
            self._nodes,
            self._parents,
            self._slot_actions,
            self._outcome_actions,
        )
        row_bytes, buffer = 8 * self._answer_width, _view(self._places.answers, "B")
        width, answers = self._answer_width, self._answers
        pack_head, pack_decision, new_key = _HEAD.pack_into, _DECISION.pack_into, self._keys.new
        hands, payoff_rows, checked = self._hands, self._payoff_rows, self._keys.checked
        list_actions, older_state, max_states = self._list_actions, self._older_state, self._max_states
        depth_matters = self._max_depth is not None

        def answer(node: int, thread: int) -> None:
            try:
                if node < 0:
                    list_actions(thread)
                    return
                if node:
                    above = parents[node]
                    state = self._young.get(above)
                    if state is None:
                        state = older_state(above)
                    first = _FIELDS * above
                    row = nodes[first + _PAYLOAD] + node - nodes[first + _FIRST_CHILD]
                    state = state.child(outcome_actions[row] if nodes[first] == CHANCE else slot_actions[row])
                else:
                    state = self._game.new_initial_state()
                player = state.current_player()
                if player == _TERMINAL:
                    returns = tuple(state.returns())
                    payoff = payoff_rows.get(returns)
                    if payoff is None:
                        payoff = self._new_payoff(returns)
                    pack_head(buffer, row_bytes * thread, TERMINAL, 0, payoff)
                    return
                if depth_matters:
                    self._check_depth(state)
                if len(self._young) >= max_states:
                    self._old, self._young = self._young, {}
                self._young[node] = state
                hands[thread] = state
                answers[width * thread + ANSWER_STATE] = id(state)
                if player >= 0:
                    pack_decision(buffer, row_bytes * thread, player, 0, 0, new_key(state.information_state_string()))
                    if checked:
                        list_actions(thread)
                elif player == _CHANCE:
                    row, count = self._distribution(state)
                    pack_head(buffer, row_bytes * thread, CHANCE, count, row)
                else:
                    self._refuse_kind(player)
                return
            except MccfrPlusError as error:
                self.error = error
            except Exception as error:
                self.error = self._named(error, node if node >= 0 else -1 - node)
            except BaseException as error:
                self.error = error
            self._places.expansion[STATUS] = FAILED

        if len(hands) == 1:
            return answer
        lock = threading.Lock()  # the interpreter's own does not last for a whole function

        def answer_one(node: int, thread: int) -> None:
            with lock:
                answer(node, thread)

        return answer_one

    def _check_depth(self, state: pyspiel.State) -> None:
        if state.move_number() > self._max_depth:
            raise GameError(
                f"{self._game} has a history of more than {self._max_depth} moves, which is more than its "
                "max_game_length and max_chance_nodes_in_history say."
            )

    def _refuse_kind(self, player: int) -> None:
        raise GameError(
            f"{self._game.get_type().short_name} has a node of a kind that is no decision, chance or terminal node "
            f"(current player {player}): only turn-based games with explicit chance can be solved."
        )

    def _list_actions(self, thread: int) -> None:
        state = self._hands[thread]
        actions = state.legal_actions()  # type: ignore[union-attr]
        if not actions:
            raise GameError(
                f"{self._game.get_type().short_name} has a decision node without legal actions, at information state "
                f"{state.information_state_string()!r}."  # type: ignore[union-attr]
            )
        first = self._answer_width * thread + ANSWER_ACTIONS
        self._answers[first : first + len(actions)] = array("q", actions)
        self._answers[self._answer_width * thread + ANSWER_COUNT] = len(actions)

    # --- what leaves and chance nodes point at ---

    def _new_payoff(self, returns: tuple[float, ...]) -> int:
        row = int(self._places.expansion[NUM_PAYOFFS])
        if row == len(self._places.payoffs):
            raise BudgetError(f"{self._game} has more than {row:,} different payoffs, for which there is no room.")
        self._places.payoffs[row] = returns
        self._payoff_rows[returns] = row
        self._places.expansion[NUM_PAYOFFS] += 1
        return row

    def _distribution(self, state: pyspiel.State) -> tuple[int, int]:
        outcomes = tuple(state.chance_outcomes())
        found = self._distributions.get(outcomes)
        if found is None:
            possible = checked_outcomes(self._game, outcomes)
            found = self._distributions.get(possible)
            if found is None:
                first, count = int(self._places.expansion[NUM_OUTCOMES]), len(possible)
                if first + count > len(self._places.chance):
                    raise BudgetError(f"{self._game} has too many different chance events: there is no room for them.")
                table = alias_table(np.array([probability for _, probability in possible]))
                self._places.chance[first : first + count] = table
                self._places.outcome_actions[first : first + count] = [action for action, _ in possible]
                self._places.expansion[NUM_OUTCOMES] += count
                found = self._distributions[possible] = first, count
            self._distributions[outcomes] = found
        return found

    # --- states ---

    def _action(self, above: int, node: int) -> int:
        first = _FIELDS * above
        row = self._nodes[first + _PAYLOAD] + node - self._nodes[first + _FIRST_CHILD]
        return self._outcome_actions[row] if self._nodes[first] == CHANCE else self._slot_actions[row]

    def _older_state(self, node: int) -> pyspiel.State:
        """Returns the state of a node that is in the tree, from the nearest state that is kept."""
        path = []
        near = node
        while near != _ROOT and near not in self._old and near not in self._young:
            path.append(near)
            near = self._parents[near]
        kept = self._young if near in self._young else self._old
        state = kept.get(near)
        if state is None:
            state = self._game.new_initial_state()
        elif path:
            state = state.clone()
        for below in reversed(path):
            state.apply_action(self._action(near, below))
            near = below
        self._young[node] = state
        return state

    def evict_states(self, max_node: int) -> None:
        """Forgets the states of all nodes from a number on, which are about to be others."""
        self._young = {node: state for node, state in self._young.items() if node < max_node}
        self._old = {node: state for node, state in self._old.items() if node < max_node}
        if self.short_cut is not None:
            self.short_cut.evict_states(max_node)

    def evict_all(self) -> None:
        """Forgets all states, and which payoffs and chance events have rows: those of another tree come."""
        self.evict_states(0)
        self._payoff_rows.clear()
        self._distributions.clear()
        if self.short_cut is not None:
            self.short_cut.forget_payoffs()

    def actions_to(self, node: int) -> list[int]:
        """Returns the history of a node, in pyspiel's actions."""
        actions = []
        while node != _ROOT:
            above = self._parents[node]
            actions.append(self._action(above, node))
            node = above
        return actions[::-1]

    def _named(self, error: Exception, node: int) -> GameError:
        history = self.actions_to(node)
        what = f"at history {history}"
        if history:
            what = f"at history {history[:-1]}, action {history[-1]}"
        named = GameError(f"{self._game} raised {type(error).__name__} {what}: {error}")
        named.__cause__ = error
        return named


def _view(array: np.ndarray, kind: Literal["B", "i", "q"]) -> memoryview:
    """Returns an array's memory as bytes, int32 or int64."""
    return memoryview(array).cast("B").cast(kind)  # type: ignore[arg-type]


def _state_size(game: pyspiel.Game) -> int:
    """Returns about how many bytes a state takes, by making many."""
    rng, state = random.Random(0), game.new_initial_state()
    states: list[pyspiel.State] = []
    while not state.is_terminal():  # states expand with their histories
        actions = state.legal_actions()
        if not actions or state.move_number() > _LONGEST_PLAY:
            break
        state.apply_action(rng.choice(actions))
    largest, begin = _SMALLEST_STATE, time.monotonic()
    # In rounds: the first ones may fill memory that was freed before, and seem to take nothing.
    while len(states) < _ROUNDS * _CLONES and time.monotonic() - begin < _CLONE_SECONDS:
        before = resident_bytes()
        states += [state.clone() for _ in range(_CLONES)]
        largest = max(largest, (resident_bytes() - before) // _CLONES)
    return largest + _KEEPING_COST
